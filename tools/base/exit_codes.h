// SPDX-License-Identifier: GPL-2.0-only
// Exit codes of the tools. They are part of the interface: BLCR's, so that batch systems that know
// cr_checkpoint and cr_restart go on working. The manual pages list them.
#pragma once

#include <cerrno>

namespace cryo {

// BLCR's own error numbers, above errno's; the shell sees the low eight bits (50, 51, ...).
inline constexpr int kErrTempFail = 2354;   // CR_ETEMPFAIL: a callback put the checkpoint off
inline constexpr int kErrPermFail = 2355;   // CR_EPERMFAIL: a callback refused for good
inline constexpr int kErrNoSupport = 2356;  // CR_ENOSUPPORT: the target holds what cannot be saved
inline constexpr int kErrVersion = 2357;    // CR_EVERSION: tool and module do not fit together
inline constexpr int kErrBadArch = 2359;    // CR_EBADARCH: context of another architecture
inline constexpr int kErrPtraced = 2360;    // CR_EPTRACED: the target is being traced
inline constexpr int kErrPtracer = 2361;    // CR_EPTRACER: the target traces others

inline constexpr int kExitUsage = 255;       // bad option or argument: nothing was tried
inline constexpr int kExitSignalBase = 128;  // + signal number: given up because of that signal

// 0 EPERM=1 ESRCH=3 EINTR=4 EIO=5 EACCES=13 EBUSY=16 EEXIST=17 EINVAL=22 EFBIG=27 ENOSPC=28 EPIPE=32
// ENOSYS=38 (the module is not loaded) EOPNOTSUPP->52 EVERSION->53 ETIMEDOUT=110 ECANCELED=125
[[nodiscard]] constexpr int exit_code(int error) {
  if (error == EOPNOTSUPP) error = kErrNoSupport;
  const int code = error & 0xff;
  return error != 0 && code == 0 ? kExitUsage : code;
}

}  // namespace cryo
