// SPDX-License-Identifier: LGPL-2.1-or-later
// Asking for a restart: not in this version, programs run cr_restart(1).
#include "internal.h"

using namespace cryo::libcr;

LIBCR_PUBLIC int cri_init_restart_args_t(cr_version_t version, cr_restart_args_t* args) {
  if (version != CR_RESTART_ARGS_VERSION) return fail(EINVAL);
  *args = {CR_RESTART_ARGS_VERSION, -1, 0, CR_RSTRT_RESTORE_PID, nullptr};
  return 0;
}

LIBCR_PUBLIC int cr_request_restart(cr_restart_args_t*, cr_restart_handle_t*) {
  return fail(ENOSYS);
}

LIBCR_PUBLIC int cr_wait_restart(cr_restart_handle_t*, struct timeval*) {
  return fail(ENOSYS);
}

LIBCR_PUBLIC int cr_log_restart(cr_restart_handle_t*, unsigned int, char*) {
  return fail(ENOSYS);
}

LIBCR_PUBLIC int cr_reap_restart(cr_restart_handle_t*) {
  return fail(ENOSYS);
}

LIBCR_PUBLIC int cr_poll_restart_msg(cr_restart_handle_t*, struct timeval*, char**) {
  errno = ENOSYS;
  return CR_POLL_RSTRT_ERR_PRE;
}

LIBCR_PUBLIC int cr_poll_restart(cr_restart_handle_t*, struct timeval*) {
  errno = ENOSYS;
  return CR_POLL_RSTRT_ERR_PRE;
}
