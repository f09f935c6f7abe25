// SPDX-License-Identifier: LGPL-2.1-or-later
// Critical sections: who is in one, and who waits for that.
//
// A thread is inside when it says so by a word of its own, and no checkpoint was wanted after that. A handler
// that interrupts these functions, and enters and leaves, leaves the thread outside: whoever was on its way
// in looks at that last.
#include "internal.h"

namespace cryo::libcr {
namespace {

// The compiler's order is the thread's own, and so a handler's.
void change_depth(Thread& thread, int by) {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  thread.section_depth.store(thread.section_depth.load(std::memory_order_relaxed) + by,
                             std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

bool is_anybody_inside() {
  const ProcessLock lock;
  for (const Thread* thread = g_process.threads; thread != nullptr; thread = thread->next)
    if (thread->in_section != 0) return true;
  return false;
}

// A process without callbacks is told as well, once it has something to protect. Where the device is not
// there is no checkpoint either.
int prepare_section() {
  if (g_process.registered) return 0;
  const ProcessLock lock;
  return register_process() == 0 || errno == ENOSYS ? 0 : -1;
}

// Nobody has to enter there: no checkpoint begins before it is through.
bool is_in_round() {
  return t_chain != nullptr || is_helper();
}

// In a handler that has interrupted somebody with the lock: the helper may wait for that, and we would for
// the helper.
int enter_at_once(bool wait) {
  if (!g_process.registered) return fail(EDEADLK);
  if (g_process.sections.enter(*t_thread, false)) return 0;
  return wait ? fail(EDEADLK) : 1;
}

int enter(bool wait) {
  if (is_in_round()) return 0;
  if (t_thread == nullptr) return fail(CR_ENOINIT);
  if (!SectionLock::is_inside(*t_thread)) {
    if (ProcessLock::is_mine()) return enter_at_once(wait);
    if (prepare_section() != 0) return -1;
  }
  return g_process.sections.enter(*t_thread, wait) ? 0 : 1;
}

}  // namespace

bool SectionLock::is_inside(const Thread& thread) {
  return thread.section_depth.load(std::memory_order_relaxed) > 0 && thread.in_section != 0;
}

bool SectionLock::is_other_inside() {
  const ProcessLock lock;
  for (const Thread* thread = g_process.threads; thread != nullptr; thread = thread->next)
    if (thread != t_thread && thread->in_section != 0) return true;
  return false;
}

bool SectionLock::come_in(Thread& thread, bool wait) {
  for (;;) {
    thread.in_section = 1;
    if (!closed()) return true;
    thread.in_section = 0;
    tell_left();
    if (!wait) return false;
    futex_wait(closed_, 1, -1);
  }
}

bool SectionLock::enter(Thread& thread, bool wait) {
  if (is_inside(thread)) {
    change_depth(thread, 1);
    return true;
  }
  for (;;) {
    if (!come_in(thread, wait)) return false;
    change_depth(thread, 1);
    if (thread.in_section != 0) return true;
    change_depth(thread, -1);
  }
}

void SectionLock::leave(Thread& thread) {
  const bool last = thread.section_depth.load(std::memory_order_relaxed) == 1;
  change_depth(thread, -1);
  if (!last) return;
  thread.in_section = 0;
  if (closed()) tell_left();
}

void SectionLock::tell_left() {
  left_.fetch_add(1);
  futex_wake_all(left_);
}

bool SectionLock::wait_empty(int ms) {
  const std::uint32_t left = left_;
  if (!is_anybody_inside()) return true;
  futex_wait(left_, left, ms);
  return !is_anybody_inside();
}

void SectionLock::open() {
  closed_ = 0;
  futex_wake_all(closed_);
}

}  // namespace cryo::libcr

using namespace cryo::libcr;

LIBCR_PUBLIC int cr_enter_cs(cr_client_id_t) {
  return enter(true);
}

LIBCR_PUBLIC int cr_tryenter_cs(cr_client_id_t) {
  return enter(false);
}

// Leaving what was not entered means that something else is not protected: better an end than that. A
// checkpoint that has waited for it comes at once; for who has blocked its signal when that is let in, as it
// may hold locks that callbacks take.
LIBCR_PUBLIC int cr_leave_cs(cr_client_id_t) {
  if (is_in_round()) return 0;
  if (t_thread == nullptr) return fail(CR_ENOINIT);
  if (t_thread->section_depth == 0) std::abort();
  g_process.sections.leave(*t_thread);
  if (is_round_open() && !blocks_own_signal()) run_own_callbacks(rounds_begun());
  return 0;
}
