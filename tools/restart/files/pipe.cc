// SPDX-License-Identifier: GPL-2.0-only
// Pipes with both ends in the process.
#include <fcntl.h>
#include <linux/capability.h>
#include <unistd.h>

#include "base/error.h"
#include "base/parse.h"
#include "context/describe.h"
#include "restart/common/proc_files.h"
#include "restart/files/file_kinds.h"
#include "restart/files/files.h"
#include "restart/files/reopen.h"

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

namespace {

struct Pipes {
  std::map<std::uint32_t, PipeEnds> ends;     // by inode: those that no file has taken yet
  std::map<std::uint32_t, UniqueFd> any_end;  // by inode: to open further ends by
};

UniqueFd open_pipe_end(FileMaking& making, const File& file, const FileUse& use) {
  auto& [pipes, any_end] = making.state<Pipes>();
  const Inode& inode = making.input.context.inode(file.head.inode);
  if (!pipes.contains(inode.id)) {
    const NamesOf maker = NamesOf::maker_of(making.input.context, inode.id);
    PipeEnds ends = make_pipe(inode);
    any_end.emplace(inode.id, making.input.descriptors.park_copy(ends.reader.get()));
    pipes.emplace(inode.id, PipeEnds{making.input.descriptors.park(std::move(ends.reader)),
                                     making.input.descriptors.park(std::move(ends.writer))});
  }
  PipeEnds& ends = pipes.at(inode.id);
  const int mode = static_cast<int>(file.head.flags) & O_ACCMODE;
  // The kernel sets O_LARGEFILE in every open() of a 64-bit process, and in pipes and sockets does not.
  const ArchDescription* description = arch_description(making.input.context.header.arch);
  const bool opened = description != nullptr && (file.head.flags & description->open_flags.large_file) != 0;
  if (!opened && mode == O_RDONLY && ends.reader) return std::move(ends.reader);
  if (!opened && mode == O_WRONLY && ends.writer) return std::move(ends.writer);
  return reopen(any_end.at(inode.id).get(), open_flags(file, use) & ~O_DIRECT, "a pipe");
}

}  // namespace

void check_pipe(FileCheck& at, const Inode& inode) {
  if (capable(at.own, CAP_SYS_RESOURCE)) return;
  const std::string text = read_proc("sys/fs/pipe-max-size");
  const auto limit = parse_number<std::uint64_t>(text.substr(0, text.find('\n'))).value_or(0);
  if (inode.pipe->head.capacity > limit)
    at.problem(EPERM, "a pipe of {} bytes is larger than /proc/sys/fs/pipe-max-size allows ({})",
               inode.pipe->head.capacity, limit);
}

const FileKind kPipeKind = {
    .kind = CRYO_FILE_PIPE,
    .check = [](FileCheck& at, const File& file,
                const FileUse&) { check_pipe(at, at.context.inode(file.head.inode)); },
    .open = open_pipe_end,
    .is_nameless = true};

}  // namespace cryo
