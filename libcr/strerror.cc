// SPDX-License-Identifier: LGPL-2.1-or-later
#include <string.h>

#include "internal.h"

// Named by a linker's -u, so that --as-needed keeps the library.
extern "C" {
__attribute__((visibility("default"))) int cr_link_me = 1;
extern __attribute__((visibility("default"))) const int cri_signum = CR_SIGNUM;
}

// The handler of CR_SIGNUM, by the name that other libraries of this family look for.
LIBCR_PUBLIC void cri_sig_handler(int signal, siginfo_t* info, void* context) {
  cryo::libcr::on_signal(signal, info, context);
}

LIBCR_PUBLIC const char* cr_strerror(int error) {
  switch (error) {
    case CR_ETEMPFAIL:
      return "Checkpoint temporarily refused by a callback";
    case CR_EPERMFAIL:
      return "Checkpoint permanently refused by a callback";
    case CR_ENOSUPPORT:
      return "A process has state that cannot be saved";
    case CR_EVERSION:
      return "Library and kernel module versions do not match";
    case CR_EOMITTED:
      return "The process omitted itself from the checkpoint";
    case CR_EBADARCH:
      return "Context of another architecture";
    case CR_EPTRACED:
      return "A process is being traced";
    case CR_EPTRACER:
      return "A process traces others";
    case CR_ERSTRTABRT:
      return "Restart given up by a callback";
    case CR_ERESTARTED:
      return "The request was made before the restart";
    case CR_ENOTCB:
      return "Not in a callback";
    case CR_ENOINIT:
      return "The thread has not called cr_init()";
    default:
      return ::strerror(error);
  }
}
