// SPDX-License-Identifier: LGPL-2.1-or-later
// What handles of checkpoints and of restarts have in common: a descriptor to wait for, and a text.
#pragma once

#include <sys/time.h>

namespace cryo::libcr {

// As cr_wait_checkpoint(): 1 readable, 0 not in time (NULL: no limit), -1 with errno. Leaves in `timeout`
// what is left of it.
int wait_readable(int fd, struct timeval* timeout);

// Is it a checkpoint's, and not whatever else has the number by now?
bool is_checkpoint(int fd);

// The text that can be read from `fd`, a checkpoint's, all of it each time: bytes with NUL that it takes, 0
// when there is none; up to `size` bytes of it, NUL-terminated, in `text`. -1 with errno.
int copy_log(int fd, unsigned int size, char* text);

// The descriptor is going to be closed.
void forget_log(int fd);

// The body of the functions cr_poll_*: waits, takes the text, takes the result.
struct PollSteps {
  bool (*is_handle)(int fd);                          // with errno
  int (*log)(int fd, unsigned int size, char* text);  // as copy_log()
  int (*reap)(int fd);
  int error_before;  // CR_POLL_*_ERR_*
  int error_after;
  int error_log;
};
// Returns what `reap` does, but 1 for 0.
int poll_handle(const PollSteps& steps, int fd, struct timeval* timeout, char** message);

}  // namespace cryo::libcr
