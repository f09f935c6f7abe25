// SPDX-License-Identifier: GPL-2.0-only
// Rights of a process of the context, taken for as long as an object lives.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "restart/rights/rights.h"
#include "restart/rights/steady_process.h"

namespace cryo {

// How much of a process the caller becomes for the time being.
enum class Extent {
  kFiles,   // what the file system asks for
  kOpener,  // what an open file remembers, too: effective ids
  kMaker,   // what kernel objects remember, and are charged to: all ids
};

// The caller's rights to files, as long as it lives: then they are what they were.
class RightsKept {
 public:
  RightsKept() = default;
  ~RightsKept();
  RightsKept(const RightsKept&) = delete;
  RightsKept& operator=(const RightsKept&) = delete;

  // Once. False, with errno: they could not be taken, and are unchanged. A caller without any capability
  // keeps its own.  Throws Error.
  [[nodiscard]] bool take(const Rights& rights, Extent extent = Extent::kFiles);

 private:
  void read_capabilities();
  void read_ids();
  [[nodiscard]] bool has_already(const Rights& rights, Extent extent);
  [[nodiscard]] OwnIds ids_for(const Rights& rights, Extent extent) const;
  [[nodiscard]] bool set_all(const Rights& rights, const OwnIds& ids, std::uint64_t capabilities) const;
  void restore() const;
  std::uint64_t effective_ = 0, permitted_ = 0, inheritable_ = 0;
  std::uint32_t uid_ = 0, gid_ = 0, suid_ = 0, sgid_ = 0;
  OwnIds ids_;
  std::vector<std::uint32_t> groups_;
  std::optional<SteadyProcess> steady_;
  bool for_good_ = false;
  bool changed_ = false;
  bool other_ids_ = false;
};

}  // namespace cryo
