// SPDX-License-Identifier: GPL-2.0-only
// Sections about inodes, open files and descriptors.
#include <sys/stat.h>

#include <algorithm>
#include <limits>

#include "context/file_kinds.h"
#include "context/staging.h"

namespace cryo {
namespace {

constexpr std::uint32_t kInodeFlags = CRYO_INODE_DELETED | CRYO_INODE_CONTENTS | CRYO_INODE_MEMFD |
                                      CRYO_INODE_SHMEM | CRYO_INODE_SYSV | CRYO_INODE_POSIX_SHM |
                                      CRYO_INODE_FALLBACK;
constexpr std::uint32_t kSocketFlags =
    CRYO_SOCK_REUSEADDR | CRYO_SOCK_REUSEPORT | CRYO_SOCK_V6ONLY | CRYO_SOCK_UNLINKED | CRYO_SOCK_FREEBIND;
constexpr std::uint64_t kMaxOffset = ~0ULL >> 1;

}  // namespace

void parse_inode(Staging& staging, const Payload& payload) {
  Inode& inode = staging.inodes.define(id_of(payload), payload);
  inode.id = payload.object();
  inode.head = payload.fixed<cryo_inode>();
  if (inode.head.flags & ~kInodeFlags)
    staging.unknown(payload.section(), "inode {}: unknown flags {:#x}", inode.id,
                    inode.head.flags & ~kInodeFlags);
  if (inode.head.flags & CRYO_INODE_FALLBACK &&
      (!(inode.head.flags & CRYO_INODE_CONTENTS) || (inode.head.mode & S_IFMT) != S_IFREG))
    payload.damaged("inode {}: to fall back to contents that are not there, or to something else than a file",
                    inode.id);
  if (inode.head.size > kMaxOffset)
    payload.damaged("inode {}: its size {} is too large", inode.id, inode.head.size);
}

void parse_file(Staging& staging, const Payload& payload) {
  File& file = staging.files.define(id_of(payload), payload);
  file.id = payload.object();
  file.head = payload.fixed<cryo_file>();
  file.path = payload.string();
  const cryo_file& head = file.head;
  const FileKindModel* model = file_kind_model(head.kind);
  if (model == nullptr) staging.unknown(payload.section(), "file {}: unknown kind {}", file.id, head.kind);
  if (model != nullptr && model->opened_by_path && file.path.empty())
    payload.damaged("file {}: an empty path", file.id);
  if (head.owner_signal > kMaxSignal || head.owner_thread > 1 ||
      (head.owner_thread != 0 && head.owner_pid < 0))
    payload.damaged("file {}: signal {} to {} {}", file.id, head.owner_signal,
                    head.owner_thread != 0 ? "thread" : "process", head.owner_pid);
  if (head.owner_known > 1)
    payload.damaged("file {}: an unknown kind of owner {}", file.id, head.owner_known);
  if (head.how & ~CRYO_OPENED_MADE)
    staging.unknown(payload.section(), "file {}: made in an unknown way {:#x}", file.id, head.how);
  if (head.outside & ~(CRYO_OUTSIDE_SHARED | CRYO_OUTSIDE_WRITER))
    staging.unknown(payload.section(), "file {}: in an unknown use outside {:#x}", file.id, head.outside);
  if (head.kind == CRYO_FILE_STDIO && head.stdio_fd > std::numeric_limits<std::int32_t>::max())
    payload.damaged("file {}: {} cannot be a descriptor", file.id, head.stdio_fd);
}

void parse_fds(Staging& staging, const Payload& payload) {
  staging.once(payload);
  const auto pid = pid_of(payload);
  auto fds = payload.array<cryo_fd>();
  std::sort(fds.begin(), fds.end(), [](const cryo_fd& a, const cryo_fd& b) { return a.fd < b.fd; });
  for (std::size_t i = 0; i < fds.size(); ++i) {
    const cryo_fd& fd = fds[i];
    if (fd.fd > std::numeric_limits<std::int32_t>::max())
      payload.damaged("process {}: {} cannot be a descriptor", pid, fd.fd);
    if (i > 0 && fds[i - 1].fd == fd.fd)
      payload.damaged("process {}: descriptor {} appears twice", pid, fd.fd);
    if (fd.flags & ~CRYO_FD_CLOEXEC)
      staging.unknown(payload.section(), "process {}: descriptor {}: unknown flags {:#x}", pid, fd.fd,
                      fd.flags & ~CRYO_FD_CLOEXEC);
  }
  staging.processes.mention(pid, payload.section()).fds = std::move(fds);
}

void parse_locks(Staging& staging, const Payload& payload) {
  staging.once(payload);
  const auto pid = pid_of(payload);
  auto locks = payload.array<cryo_lock>();
  for (const cryo_lock& lock : locks) {
    if (lock.kind == 0 || lock.kind > CRYO_LOCK_LEASE)
      staging.unknown(payload.section(), "process {}: file {}: unknown kind of lock {}", pid, lock.file,
                      lock.kind);
    if (lock.start > lock.end || lock.end > kMaxOffset)
      payload.damaged("process {}: file {}: a lock of bytes {} to {}", pid, lock.file, lock.start, lock.end);
  }
  staging.processes.mention(pid, payload.section()).locks = std::move(locks);
}

void parse_pipe(Staging& staging, const Payload& payload) {
  staging.once(payload);
  Pipe pipe{payload.fixed<cryo_pipe>(), {}};
  auto rest = payload.tail();
  for (std::uint32_t i = 0; i < pipe.head.packets; ++i) {
    if (rest.size() < sizeof(cryo_pipe_packet)) payload.damaged("packet {} is outside of it", i);
    const auto head = grown<cryo_pipe_packet>(rest);
    rest = rest.subspan(sizeof(head));
    if (rest.size() < head.length) payload.damaged("packet {} of {} bytes is outside of it", i, head.length);
    const auto data = rest.first(head.length);
    pipe.packets.push_back({head.flags, Bytes(data.begin(), data.end())});
    rest = rest.subspan(head.length);
  }
  if (!rest.empty()) payload.damaged("{} bytes after the last packet", rest.size());
  staging.inodes.mention(id_of(payload), payload.section()).pipe = std::move(pipe);
}

void parse_epoll(Staging& staging, const Payload& payload) {
  staging.once(payload);
  auto targets = payload.array<cryo_epoll_target>();
  for (const cryo_epoll_target& target : targets) {
    if (target.fd > std::numeric_limits<std::int32_t>::max())
      payload.damaged("file {}: {} cannot be a descriptor", payload.object(), target.fd);
    if (target.flags & ~CRYO_EPOLL_QUEUED)
      staging.unknown(payload.section(), "file {}: unknown flags {:#x} of a target", payload.object(),
                      target.flags & ~CRYO_EPOLL_QUEUED);
  }
  file_of(staging, payload).epoll = std::move(targets);
}

void parse_socket(Staging& staging, const Payload& payload) {
  staging.once(payload);
  Socket socket{payload.fixed<cryo_socket>(), payload.tail_bytes(), {}};
  const std::size_t path_len = socket.head.path_len;
  if (path_len >= kMaxPath || path_len > socket.address.size())
    payload.damaged("a path of {} bytes", path_len);
  const std::size_t address_len = socket.address.size() - path_len;
  socket.path.assign(reinterpret_cast<const char*>(socket.address.data()) + address_len, path_len);
  if (path_len != 0 && (socket.path.front() != '/' || socket.path.find('\0') != std::string::npos))
    payload.damaged("the path of a socket is not absolute");
  socket.address.resize(address_len);
  if (socket.address.size() > kMaxSockaddr) payload.damaged("an address of {} bytes", socket.address.size());
  if (socket.head.flags & ~kSocketFlags)
    staging.unknown(payload.section(), "file {}: unknown flags {:#x}", payload.object(),
                    socket.head.flags & ~kSocketFlags);
  file_of(staging, payload).socket = std::move(socket);
}

void parse_eventfd(Staging& staging, const Payload& payload) {
  staging.once(payload);
  file_of(staging, payload).eventfd = payload.fixed<cryo_eventfd>();
}

void parse_build_id(Staging& staging, const Payload& payload) {
  staging.once(payload);
  const auto id = payload.tail_bytes();
  if (id.empty() || id.size() > CRYO_BUILD_ID_MAX) payload.damaged("a build-id of {} bytes", id.size());
  file_of(staging, payload).build_id = id;
}

void parse_file_end(Staging& staging, const Payload& payload) {
  staging.once(payload);
  const auto end = payload.fixed<cryo_file_end>();
  if (end.length == 0 || end.length > CRYO_END_BYTES_MAX)
    payload.damaged("inode {}: the last {} bytes of it", payload.object(), end.length);
  staging.inodes.mention(id_of(payload), payload.section()).end = end;
}

void require_contents(const FileInContext& in) {
  in.require(in.inode && (in.inode->head.flags & CRYO_INODE_CONTENTS) != 0, "contents");
}

namespace {

void require_inode(const FileInContext& in) {
  in.require(in.inode != nullptr, "INODE");
}

}  // namespace

const FileKindModel kPathModel = {.kind = CRYO_FILE_PATH, .name = "path", .opened_by_path = true};
const FileKindModel kContentsModel = {
    .kind = CRYO_FILE_CONTENTS, .name = "contents", .check = require_contents};
const FileKindModel kTerminalModel = {.kind = CRYO_FILE_CTTY, .name = "controlling-terminal"};
const FileKindModel kStdioModel = {.kind = CRYO_FILE_STDIO, .name = "stdio"};
const FileKindModel kPipeModel = {
    .kind = CRYO_FILE_PIPE, .name = "pipe", .check = [](const FileInContext& in) {
      in.require(in.inode && in.inode->pipe, "PIPE");
    }};
const FileKindModel kEpollModel = {.kind = CRYO_FILE_EPOLL, .name = "epoll"};
const FileKindModel kEventfdModel = {
    .kind = CRYO_FILE_EVENTFD, .name = "eventfd", .check = [](const FileInContext& in) {
      in.require(in.file.eventfd.has_value(), "EVENTFD");
    }};
const FileKindModel kFifoModel = {.kind = CRYO_FILE_FIFO, .name = "fifo", .check = require_inode};
const FileKindModel kDeviceModel = {
    .kind = CRYO_FILE_DEVICE, .name = "device", .opened_by_path = true, .check = require_inode};
const FileKindModel kClosedModel = {
    .kind = CRYO_FILE_CLOSED, .name = "closed-device", .opened_by_path = true, .check = require_inode};
const FileKindModel kRemovedDirectoryModel = {.kind = CRYO_FILE_REMOVED_DIR,
                                              .name = "removed-directory",
                                              .opened_by_path = true,
                                              .check = require_inode};
const FileKindModel kClientModel = {.kind = CRYO_FILE_CLIENT, .name = "libcr-registration"};
const FileKindModel kRequestModel = {.kind = CRYO_FILE_REQUEST, .name = "checkpoint-request"};
const FileKindModel kOutputModel = {.kind = CRYO_FILE_OUTPUT, .name = "this-context"};

}  // namespace cryo
