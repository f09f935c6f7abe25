// SPDX-License-Identifier: GPL-2.0-only
// CPUs that threads may run on: those of the checkpoint may be switched off, or not be in the cpuset of
// today.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "context/model.h"
#include "restart/common/cpu_mask.h"

namespace cryo {

// All that are on, and in the cpuset that the caller is in, whatever it is bound to itself.
[[nodiscard]] CpuMask cpus_to_be_had();
// The same, without a process that is made for it: where the control group of the caller has room for no
// other.
[[nodiscard]] CpuMask cpus_here();
// The same of a process that joins its own control group.
[[nodiscard]] CpuMask cpus_to_be_had(const Context& context, std::size_t process, const CpuMask& by_caller);
[[nodiscard]] CpuMask common_cpus(const CpuMask& a, const CpuMask& b);
[[nodiscard]] bool has_cpus(const CpuMask& mask);
// Their sizes are the kernels'.
[[nodiscard]] bool is_same(const CpuMask& a, const CpuMask& b);
// "0-3,8", as kernel and taskset(1) write it.
[[nodiscard]] std::string cpus_text(const CpuMask& mask);

// All on which a thread of the job may run.
[[nodiscard]] CpuMask cpus_of_job(const Context& context);
// Whether a thread gets every CPU to be had in place of its own: none of them can be had; or not all, and it
// was not bound to less than its job, which had what a cpuset or a batch system gave it.
[[nodiscard]] bool is_unbound_here(const CpuMask& own, const CpuMask& of_job, const CpuMask& there);
// Of a thread in the caller's control groups, in which `there` are to be had: every CPU, or its own, of which
// the kernel leaves out what is not.
[[nodiscard]] CpuMask affinity_here(const Thread& thread, const CpuMask& of_job, const CpuMask& there);
[[nodiscard]] std::size_t affinity_size(const Thread& thread);

}  // namespace cryo
