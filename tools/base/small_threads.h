// SPDX-License-Identifier: GPL-2.0-only
// Threads that are made soon, and take little.
#pragma once

#include <malloc.h>
#include <pthread.h>

namespace cryo {

// For all threads created from now on: with the default 8 MiB stack the kernel backs its top with a huge page
// and clears 2 MiB; a malloc arena per thread costs three system calls. Failure only costs speed, so errors
// are ignored.
inline void use_small_threads() noexcept {
  constexpr std::size_t kStack = 512 << 10;  // libzstd, which does the most on it, keeps its tables elsewhere
  ::mallopt(M_ARENA_MAX, 1);
  pthread_attr_t attributes;
  if (::pthread_attr_init(&attributes) != 0) return;
  if (::pthread_attr_setstacksize(&attributes, kStack) == 0) ::pthread_setattr_default_np(&attributes);
  ::pthread_attr_destroy(&attributes);
}

}  // namespace cryo
