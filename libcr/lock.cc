// SPDX-License-Identifier: LGPL-2.1-or-later
// Waiting without libpthread's help, because some of it happens in signal handlers.
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"

namespace cryo::libcr {

void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t value, int ms) {
  const ErrnoSaver saver;
  const timespec limit{ms / 1000, ms % 1000 * 1000000L};
  ::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, ms < 0 ? nullptr : &limit, nullptr, 0);
}

void futex_wake_all(const std::atomic<std::uint32_t>& word) {
  const ErrnoSaver saver;
  ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 0x7fffffff, nullptr, nullptr, 0);
}

std::int64_t now_ms() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * std::int64_t{1000} + time.tv_nsec / 1000000;
}

namespace {

constexpr int kSpins = 50;
constexpr timespec kPause{0, 2000000};

std::atomic_ref<cr_spinlock_t> word_of(cr_spinlock_t* lock) {
  return std::atomic_ref<cr_spinlock_t>(*lock);
}

}  // namespace

}  // namespace cryo::libcr

using namespace cryo::libcr;

LIBCR_PUBLIC void cr_spinlock_init(cr_spinlock_t* lock) {
  word_of(lock).store(CR_SPINLOCK_INITIALIZER);
}

LIBCR_PUBLIC int cr_spinlock_trylock(cr_spinlock_t* lock) {
  return word_of(lock).exchange(1, std::memory_order_acquire) == 0 ? 1 : 0;
}

LIBCR_PUBLIC void cr_spinlock_lock(cr_spinlock_t* lock) {
  const ErrnoSaver saver;
  for (int tries = 0; cr_spinlock_trylock(lock) == 0; ++tries) {
    if (tries < kSpins)
      ::sched_yield();
    else
      ::nanosleep(&kPause, nullptr);
  }
}

LIBCR_PUBLIC void cr_spinlock_unlock(cr_spinlock_t* lock) {
  word_of(lock).store(CR_SPINLOCK_INITIALIZER, std::memory_order_release);
}
