// SPDX-License-Identifier: GPL-2.0-only
// Levels of processors that a program can be kept to, so that it can be restarted on others of the
// same architecture. arch/<a>/user/cpu_levels.cc has those of its architecture, or
// tools/cr_run/no_cpu_levels.cc stands for it.
#pragma once

#include <span>

namespace cryo {

struct CpuLevel {
  const char* name;
  const char* hidden;   // value of glibc.cpu.hwcaps that has the C library do without what is above the level
  const char* openssl;  // the same for OPENSSL_ia32cap, which libcrypto has of its own
  bool (*is_here)();    // whether this processor has all that the level asks for
};

// The lowest first; empty: the architecture has none.
[[nodiscard]] std::span<const CpuLevel> cpu_levels();

}  // namespace cryo
