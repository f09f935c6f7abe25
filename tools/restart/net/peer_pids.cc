// SPDX-License-Identifier: GPL-2.0-only
// Who is at the other end of a Unix socket (SO_PEERCRED) is noted when it is connected, by the maker.  The
// process that it was can be named only when it exists again.
//
// A process that was gone is there for a moment: a child of the maker has its number, names itself, and ends.
// The socket keeps the number, as it did.
#include <cryo/ioctl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "restart/common/child_end.h"
#include "restart/common/id_holder.h"
#include "restart/common/proc_files.h"
#include "restart/net/sockets.h"
#include "restart/process/fork.h"

namespace cryo {
namespace {

bool is_listening(const File& file) {
  return file.socket && file.socket->head.family == AF_UNIX;
}

// Whom a socket names: by `set(peer, flags)`.
template <typename Set>
void for_each_peer(const Context& context, const File& file, const Set& set) {
  if (is_listening(file)) set(file.socket->head.peer_pid, 0);
  if (file.head.kind != CRYO_FILE_UNIX) return;
  const cryo_sock_state& state = file.connection->head;
  set(state.peer_pid, 0);
  // One that waits to be accepted has no descriptor.
  if (state.state != CRYO_SOCK_CONNECTED) return;
  const File& other = context.file(state.peer);
  if (other.head.kind == CRYO_FILE_WAITING) set(other.connection->head.peer_pid, CRYO_PEER_PID_OTHER_END);
}

bool is_of_job(const Context& context, pid_t pid) {
  return std::any_of(context.processes.begin(), context.processes.end(),
                     [pid](const Process& process) { return process.head.pid == pid; });
}

bool is_thread_of_job(const Context& context, pid_t pid) {
  return std::any_of(context.processes.begin(), context.processes.end(), [pid](const Process& process) {
    return std::any_of(process.threads.begin(), process.threads.end(),
                       [pid](const Thread& thread) { return thread.head.tid == pid; });
  });
}

int name_peer(int handle_fd, int fd, pid_t pid, std::uint32_t flags) {
  cryo_peer_pid args{};
  args.size = sizeof(args);
  args.fd = fd;
  args.pid = pid;
  args.flags = flags;
  return ::ioctl(handle_fd, CRYO_RST_PEER_PID, &args);
}

// Of the sockets by file. False: not all of them.
bool name_as_peer(const Context& context, const std::map<std::uint32_t, UniqueFd>& fds, int handle_fd,
                  pid_t gone) {
  bool all = true;
  for (const auto& [id, fd] : fds)
    for_each_peer(context, context.file(id), [&](pid_t peer, std::uint32_t flags) {
      if (peer == gone && name_peer(handle_fd, fd.get(), gone, flags) != 0) all = false;
    });
  return all;
}

// Nobody but this process waits for it.  A process group or session may have the number, too: those of a
// job's launcher often do.
bool have_named(const GonePeerInput& input, pid_t gone) {
  if (!IdHolders(std::chrono::milliseconds(0)).find(gone).empty()) return false;
  pid_t pid = -1;
  try {
    pid = fork_with_pid(
        {.pid = gone, .device_fd = input.device_fd, .ledger = input.ledger, .tries = stub::kQuickTidTries});
  } catch (const Error&) {
    return false;  // it has been given to somebody
  }
  if (pid == 0) ::_exit(name_as_peer(input.context, input.fds, input.handle_fd, gone) ? 0 : 1);
  return wait_for_end(pid) == 0;
}

// By the numbers that cr_restart sees: who is in a pid namespace of the job names nobody who is gone.
bool is_for_nested_only(const Context& context, const FileUse& use) {
  const auto is_nested = [&](std::size_t index) { return context.processes[index].namespaces.pid != 0; };
  return !use.processes.empty() && std::all_of(use.processes.begin(), use.processes.end(), is_nested);
}

}  // namespace

bool has_peer(const File& file) {
  return is_listening(file) || file.head.kind == CRYO_FILE_UNIX;
}

std::set<pid_t> gone_peers(const Context& context) {
  std::set<pid_t> gone;
  for (const auto& [id, use] : file_uses(context)) {
    if (is_for_nested_only(context, use)) continue;
    for_each_peer(context, context.file(id), [&](pid_t peer, std::uint32_t) {
      if (peer > 0 && !is_of_job(context, peer) && !is_thread_of_job(context, peer)) gone.insert(peer);
    });
  }
  return gone;
}

std::set<pid_t> name_gone_peers(const GonePeerInput& input) {
  const long most = std::strtol(read_proc("sys/kernel/pid_max").c_str(), nullptr, 10);
  std::set<pid_t> named;
  for (const pid_t peer : gone_peers(input.context))
    if ((most <= 0 || peer < most) && have_named(input, peer)) named.insert(peer);
  return named;
}

namespace {

void set_peer(int handle_fd, int fd, pid_t pid, std::uint32_t flags) {
  if (name_peer(handle_fd, fd, pid, flags) == 0) return;
  fail(errno, "cannot make pid {} the peer of the socket at descriptor {}: {}{}", pid, fd, errno_text(errno),
       errno == EPERM ? " (the module's parameter peer_pid is off: ask the administrator)" : "");
}

}  // namespace

void clear_peer_pid(int handle_fd, int fd) {
  set_peer(handle_fd, fd, 0, CRYO_PEER_PID_OTHER_END);
}

// Nobody, rather than the maker, when the process is gone or not one of the job.  A job that has not its old
// ids is one process, and this is it.
void name_peers(const Context& context, const RestartOptions& options, const std::set<pid_t>& named_before,
                const std::map<std::uint32_t, int>& fds, int handle_fd) {
  for (const auto& [id, fd] : fds)
    for_each_peer(context, context.file(id), [&, at = fd](pid_t saved, std::uint32_t flags) {
      if (named_before.contains(saved)) return;
      const pid_t pid = !is_of_job(context, saved) ? 0 : options.restore_pid ? saved : ::getpid();
      set_peer(handle_fd, at, pid, flags);
    });
}

}  // namespace cryo
