// SPDX-License-Identifier: LGPL-2.1-or-later
// What follows the callbacks of a thread: who waits for whom.
#include <sys/ioctl.h>

#include "internal.h"

namespace cryo::libcr {
namespace {

int change(std::atomic<int>& setting, int flags) {
  if (flags == CR_HOLD_READ) return setting.load();
  if (flags < CR_HOLD_NONE || flags > CR_HOLD_BOTH) return fail(EINVAL);
  return setting.exchange(flags);
}

int change_of_thread(int flags) {
  const int before = t_thread->hold;
  if (flags < CR_HOLD_READ || flags > CR_HOLD_DFLT) return fail(EINVAL);
  if (flags != CR_HOLD_READ) t_thread->hold = flags;
  return before;
}

bool is_held(const Thread& thread) {
  const int hold = thread.hold == CR_HOLD_DFLT ? g_process.hold_init.load() : thread.hold;
  return (hold & CR_HOLD_RSTRT) != 0;
}

// What is not to be held goes on; all do if it cannot be told.
void let_go(pid_t tid) {
  cryo_client_go go{};
  go.size = sizeof(go);
  go.tid = tid;
  if (::ioctl(g_process.client_fd, CRYO_CLIENT_GO, &go) == 0 || tid == 0) return;
  go.tid = 0;
  ::ioctl(g_process.client_fd, CRYO_CLIENT_GO, &go);
}

void let_task_go(pid_t tid, int) {
  let_go(tid);
}

}  // namespace

bool wants_hold() {
  if (has_hook(CR_HOOK_RSTRT_NO_CALLBACKS)) return true;  // nothing is to run before it
  if ((g_process.hold_uninit & CR_HOLD_RSTRT) != 0) return true;
  const ProcessLock lock;
  for (const Thread* thread = g_process.threads; thread != nullptr; thread = thread->next)
    if (is_held(*thread)) return true;
  return false;
}

// No lock: all that could change the list are held, or are let go by this.
void let_unheld_go() {
  if (find_threads()) g_process.started = start_of_process();  // ask_threads() says what it means if not
  ask_uninitialised(CR_HOOK_RSTRT_NO_CALLBACKS);
  if ((g_process.hold_uninit & CR_HOLD_RSTRT) == 0 && !visit_uninitialised(let_task_go, 0)) let_go(0);
  for (Thread *thread = g_process.threads, *next; thread != nullptr; thread = next) {
    next = thread->next;
    if (static_cast<Phase>(thread->phase.load()) == Phase::kRunning || !is_held(*thread)) let_go(thread->tid);
  }
}

}  // namespace cryo::libcr

using namespace cryo::libcr;

LIBCR_PUBLIC int cr_hold_ctrl(int scope, int flags) {
  if (t_thread == nullptr) return fail(CR_ENOINIT);
  switch (scope) {
    case CR_HOLD_SCOPE_THREAD:
      return change_of_thread(flags);
    case CR_HOLD_SCOPE_INIT:
      return change(g_process.hold_init, flags);
    case CR_HOLD_SCOPE_UNINIT:
      return change(g_process.hold_uninit, flags);
    default:
      return fail(EINVAL);
  }
}
