// SPDX-License-Identifier: GPL-2.0-only
// The hashes by which pages and contexts are known: see <cryo/format_memory.h>.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "context/model.h"
#include "context/source.h"

namespace cryo {

[[nodiscard]] Hash hash_of(std::span<const std::byte> page);

// In parts.
class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(const Hasher&) = delete;
  Hasher& operator=(const Hasher&) = delete;

  void add(std::span<const std::byte> data);
  [[nodiscard]] Hash value() const;

 private:
  struct State;

  std::unique_ptr<State> state_;
};

// Of a context: walks over its headers, which it checks.  Throws Error (EBADMSG) when one is damaged, or it
// is cut.
[[nodiscard]] Hash identity_of(const Source& source);

}  // namespace cryo
