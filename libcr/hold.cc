// SPDX-License-Identifier: LGPL-2.1-or-later
// What follows the callbacks of a thread: hooks, and who waits for whom.
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

}  // namespace

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
