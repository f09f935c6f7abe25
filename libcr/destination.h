// SPDX-License-Identifier: LGPL-2.1-or-later
// The file of cr_request_file(): what it has had stays until the new context is whole.
#pragma once

#include <limits.h>
#include <sys/types.h>

namespace cryo::libcr {

// Where the context is written to, and what is to be done with that when it is over; malloc()ed.
struct Destination {
  int fd;     // another file's, maybe, as the program sees it, too
  dev_t dev;  // what was opened
  ino_t ino;
  char* place;  // its own name then, malloc()ed; NULL: `path` says where it is
  enum : unsigned char { kGiven, kInPlace, kTemporary } kind;
  char name[NAME_MAX + 1];  // of the temporary file
  char path[];              // that it is to have
};

enum class Outcome { kWritten, kFailed, kRestarted };

// A temporary file beside `path`; or what has that name is opened to be written in place: no regular file, or
// one in whose place no other can be put. NULL with errno.
Destination* open_destination(const char* path);
// A copy of a descriptor. NULL with errno.
Destination* destination_of(int fd);
// Gives it its name, or removes it, and closes and frees all. In a restarted process the file is not ours any
// more.
void end_destination(Destination* destination, Outcome outcome);

}  // namespace cryo::libcr
