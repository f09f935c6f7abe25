// SPDX-License-Identifier: GPL-2.0-only
// Seccomp: installed by the module when a thread resumes, behind the last system call of the restart.
#pragma once

#include <cryo/ioctl.h>

#include "context/model.h"
#include "restart/stub/stub_area.h"

namespace cryo {

// Of a thread of `process`.
void plan_seccomp(const Process& process, const Thread& thread, cryo_resume& resume, StubArea& area);

// Bytes of the stub's area, at most.
[[nodiscard]] std::size_t seccomp_size(const Seccomp& seccomp);

}  // namespace cryo
