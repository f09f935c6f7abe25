// SPDX-License-Identifier: GPL-2.0-only
// Memory for what system calls that are drawn up point to.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "restart/stub/calls.h"

namespace cryo {

class Arena {
 public:
  virtual ~Arena() = default;
  // Zeroed, at the address where the calls will find it.
  [[nodiscard]] virtual void* allocate(std::size_t size, std::size_t alignment) = 0;

  template <typename T>
  [[nodiscard]] T* array(std::size_t count) {
    static_assert(std::is_trivially_copyable_v<T>);
    return static_cast<T*>(allocate(count * sizeof(T), alignof(T)));
  }
  template <typename T>
  [[nodiscard]] T* copy(std::span<const T> values) {
    T* to = array<T>(values.size());
    if (!values.empty()) std::memcpy(to, values.data(), values.size_bytes());
    return to;
  }
  template <typename T>
  [[nodiscard]] T* copy(const std::vector<T>& values) {
    return copy(std::span<const T>(values));
  }
  [[nodiscard]] const stub::Call* copy(const CallList& list) { return copy(list.calls()); }

 protected:
  Arena() = default;
  Arena(const Arena&) = default;
  Arena& operator=(const Arena&) = default;
};

// For calls that are made while there is a C++ library.
class HeapArena : public Arena {
 public:
  [[nodiscard]] void* allocate(std::size_t size, std::size_t) override {
    // Of operator new, which suits all fundamental types.
    return parts_.emplace_back(std::make_unique<std::byte[]>(size)).get();
  }

 private:
  std::vector<std::unique_ptr<std::byte[]>> parts_;
};

}  // namespace cryo
