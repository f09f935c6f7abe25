// SPDX-License-Identifier: GPL-2.0-only
#include "base/processors.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <memory>

namespace cryo {
namespace {

struct FreeCpuSet {
  void operator()(cpu_set_t* set) const { CPU_FREE(set); }
};

}  // namespace

std::size_t processors() {
  constexpr std::size_t kMostProcessors = 1 << 20;
  // The kernel refuses a set that is smaller than its own.
  for (std::size_t room = CPU_SETSIZE; room <= kMostProcessors; room *= 2) {
    const std::unique_ptr<cpu_set_t, FreeCpuSet> set(CPU_ALLOC(room));
    if (!set) break;
    const std::size_t size = CPU_ALLOC_SIZE(room);
    if (::sched_getaffinity(0, size, set.get()) == 0)
      return static_cast<std::size_t>(std::max(1, CPU_COUNT_S(size, set.get())));
    if (errno != EINVAL) break;
  }
  return 1;
}

}  // namespace cryo
