// SPDX-License-Identifier: GPL-2.0-only
// Rights of a process of the context, taken for as long as an object lives.
#pragma once

#include <optional>

#include "restart/rights/rights.h"
#include "restart/rights/steady_process.h"
#include "restart/rights/thread_ids.h"

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
  [[nodiscard]] bool set_all(const Rights& rights, const OwnIds& ids) const;
  void restore();
  ThreadCredentials before_;
  std::optional<SteadyProcess> steady_;
  bool for_good_ = false;
  bool changed_ = false;
  bool other_ids_ = false;
};

}  // namespace cryo
