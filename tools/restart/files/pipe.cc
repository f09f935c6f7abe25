// SPDX-License-Identifier: GPL-2.0-only
// Pipes with both ends in the process.
#include <fcntl.h>
#include <unistd.h>

#include "base/error.h"
#include "restart/files/files.h"

namespace cryo {

void fill_pipe(const Pipe& pipe, int reader, int writer) {
  const int capacity = static_cast<int>(pipe.head.capacity);
  if (::fcntl(reader, F_GETPIPE_SZ) != capacity && ::fcntl(reader, F_SETPIPE_SZ, capacity) < 0)
    fail_errno("cannot create a pipe of {} bytes", capacity);
  for (const PipePacket& packet : pipe.packets) {
    // What has been in it fits; if not, an error is better than waiting for a reader.
    const int flags = O_NONBLOCK | (packet.flags ? O_DIRECT : 0);
    if (::fcntl(writer, F_SETFL, flags) != 0) fail_errno("cannot prepare a pipe");
    const ssize_t wrote = ::write(writer, packet.data.data(), packet.data.size());
    if (wrote != static_cast<ssize_t>(packet.data.size())) {
      if (wrote >= 0) errno = EAGAIN;
      fail_errno("cannot put {} bytes back into a pipe", packet.data.size());
    }
  }
  if (::fcntl(writer, F_SETFL, 0) != 0) fail_errno("cannot prepare a pipe");
}

PipeEnds make_pipe(const Inode& inode) {
  int fds[2];
  if (as_maker([&] { return ::pipe2(fds, O_CLOEXEC); }) != 0) fail_errno("cannot create a pipe");
  PipeEnds ends{UniqueFd(fds[0]), UniqueFd(fds[1])};
  fill_pipe(*inode.pipe, fds[0], fds[1]);
  return ends;
}

}  // namespace cryo
