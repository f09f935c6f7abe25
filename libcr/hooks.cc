// SPDX-License-Identifier: LGPL-2.1-or-later
// Hooks: what is called after the callbacks of a thread, or in a thread that has none.
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "internal.h"

namespace cryo::libcr {
namespace {

// Their addresses mark our signals and say which hook is meant.
char g_tags[CR_NUM_HOOKS];

void send_hook(pid_t tid, int event) {
  if (blocks_signal(tid)) return;
  siginfo_t info{};
  info.si_signo = CR_SIGNUM;
  info.si_code = SI_QUEUE;
  info.si_pid = ::getpid();
  info.si_uid = ::getuid();
  info.si_value.sival_ptr = &g_tags[event];
  ::syscall(SYS_rt_tgsigqueueinfo, ::getpid(), tid, CR_SIGNUM, &info);  // or it has ended meanwhile
}

}  // namespace

void run_hook(cr_hook_event_t event) {
  const cr_hook_fn_t hook = g_process.hooks[event].load();
  if (hook != nullptr) hook(event);
}

bool has_hook(cr_hook_event_t event) {
  return g_process.hooks[event].load() != nullptr;
}

void ask_uninitialised(cr_hook_event_t event) {
  if (!has_hook(event)) return;
  keep_handler();
  visit_uninitialised(send_hook, event);
}

bool run_hook_of_signal(const void* tag) {
  const auto at = reinterpret_cast<std::uintptr_t>(tag) - reinterpret_cast<std::uintptr_t>(g_tags);
  if (at >= CR_NUM_HOOKS) return false;
  if (t_thread == nullptr) run_hook(static_cast<cr_hook_event_t>(at));
  return true;
}

}  // namespace cryo::libcr

using namespace cryo::libcr;

LIBCR_PUBLIC cr_hook_fn_t cr_register_hook(cr_hook_event_t event, cr_hook_fn_t func) {
  if (t_thread == nullptr) {
    errno = CR_ENOINIT;
    return CR_HOOK_FN_ERROR;
  }
  if (static_cast<unsigned>(event) >= CR_NUM_HOOKS || func == CR_HOOK_FN_ERROR) {
    errno = EINVAL;
    return CR_HOOK_FN_ERROR;
  }
  return g_process.hooks[event].exchange(func);
}
