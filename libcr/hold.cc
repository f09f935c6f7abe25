// SPDX-License-Identifier: LGPL-2.1-or-later
// What follows the callbacks of a thread: hooks, and who waits for whom.
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "internal.h"

namespace cryo::libcr {

void run_hook(cr_hook_event_t event) {
  const cr_hook_fn_t hook = g_process.hooks[event].load();
  if (hook != nullptr) hook(event);
}

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

// What is not to be held goes on; all do if it cannot be told (cr_restart --no-restore-pid).
void let_go(pid_t tid) {
  cryo_client_go go{};
  go.size = sizeof(go);
  go.tid = tid;
  if (::ioctl(g_process.client_fd, CRYO_CLIENT_GO, &go) == 0 || tid == 0) return;
  go.tid = 0;
  ::ioctl(g_process.client_fd, CRYO_CLIENT_GO, &go);
}

bool is_initialised(pid_t tid) {
  for (const Thread* thread = g_process.threads; thread != nullptr; thread = thread->next)
    if (thread->tid == tid) return true;
  return false;
}

struct DirectoryEntry {
  std::uint64_t inode;
  std::int64_t next;
  unsigned short length;
  unsigned char type;
  char name[];
};

void let_go_unless_initialised(const char* name) {
  const auto tid = static_cast<pid_t>(std::strtol(name, nullptr, 10));
  if (tid != 0 && tid != static_cast<pid_t>(::syscall(SYS_gettid)) && !is_initialised(tid)) let_go(tid);
}

// Without the C library, of which a held thread may have a lock.
void let_others_go() {
  alignas(DirectoryEntry) char entries[4096];
  const int fd = ::open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return let_go(0);
  for (long got; (got = ::syscall(SYS_getdents64, fd, entries, sizeof(entries))) > 0;) {
    for (long at = 0; at < got;) {
      const auto* entry = reinterpret_cast<const DirectoryEntry*>(entries + at);
      let_go_unless_initialised(entry->name);
      at += entry->length;
    }
  }
  ::close(fd);
}

}  // namespace

bool wants_hold() {
  if ((g_process.hold_uninit & CR_HOLD_RSTRT) != 0) return true;
  const MutexGuard guard(g_process.mutex);
  for (const Thread* thread = g_process.threads; thread != nullptr; thread = thread->next)
    if (is_held(*thread)) return true;
  return false;
}

// No lock: all that could change the list are held, or are let go by this.
void let_unheld_go() {
  if ((g_process.hold_uninit & CR_HOLD_RSTRT) == 0) let_others_go();
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

LIBCR_PUBLIC cr_hook_fn_t cr_register_hook(cr_hook_event_t event, cr_hook_fn_t func) {
  if (t_thread == nullptr) {
    errno = CR_ENOINIT;
    return CR_HOOK_FN_ERROR;
  }
  if (static_cast<unsigned>(event) >= CR_NUM_HOOKS) {
    errno = EINVAL;
    return CR_HOOK_FN_ERROR;
  }
  return g_process.hooks[event].exchange(func);
}
