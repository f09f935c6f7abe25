// SPDX-License-Identifier: GPL-2.0-only
#include "restart/ns/pid_namespaces.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/unique_fd.h"
#include "restart/common/helper_process.h"
#include "restart/common/proc_files.h"
#include "restart/rights/thread_ids.h"

namespace cryo {
namespace {

constexpr pid_t kFirst = 1;  // of a namespace: it ends with it

class Translator {
 public:
  Translator(const Context& context, std::uint32_t ns) : context_(context), ns_(ns) {}

  void apply(std::int32_t& id) const { id = number_in(context_, ns_, id); }
  // Negative: a group.
  void apply_owner(std::int32_t& id) const {
    id = id < 0 ? -number_in(context_, ns_, -id) : number_in(context_, ns_, id);
  }
  void apply(Process& process) const {
    for (std::int32_t* id : {&process.head.pid, &process.head.ppid, &process.head.pgid, &process.head.sid})
      apply(*id);
    for (Thread& thread : process.threads) {
      apply(thread.head.tid);
      apply(thread.head.pid);
      apply(thread.seccomp.shared_with);
      if (thread.fs) apply(thread.fs->head.same_as);
    }
    for (cryo_posix_timer& timer : process.posix_timers.timers) {
      apply(timer.clock_tid);
      apply(timer.notify_tid);
    }
  }

 private:
  const Context& context_;
  std::uint32_t ns_;
};

const Process* find(const Context& context, pid_t pid) {
  const auto found = std::find_if(context.processes.begin(), context.processes.end(),
                                  [pid](const Process& process) { return process.head.pid == pid; });
  return found == context.processes.end() ? nullptr : &*found;
}

bool has_first(const Context& context, std::uint32_t ns) {
  return std::any_of(context.processes.begin(), context.processes.end(), [&](const Process& process) {
    return process.namespaces.pid == ns && number_in(context, ns, process.head.pid) == kFirst;
  });
}

bool is_empty(const Context& context, std::uint32_t ns) {
  return ns != 0 && context.namespaces.at(ns).head.flags != 0;
}

// One byte, and a descriptor.
struct DescriptorMessage {
  DescriptorMessage() { head = {nullptr, 0, &part, 1, control, sizeof(control), 0}; }
  DescriptorMessage(const DescriptorMessage&) = delete;
  DescriptorMessage& operator=(const DescriptorMessage&) = delete;

  void put(int fd) {
    cmsghdr* item = CMSG_FIRSTHDR(&head);
    item->cmsg_level = SOL_SOCKET;
    item->cmsg_type = SCM_RIGHTS;
    item->cmsg_len = CMSG_LEN(sizeof(fd));
    std::memcpy(CMSG_DATA(item), &fd, sizeof(fd));
  }
  [[nodiscard]] UniqueFd take() {
    const cmsghdr* item = CMSG_FIRSTHDR(&head);
    int fd = -1;
    if (item != nullptr && item->cmsg_type == SCM_RIGHTS) std::memcpy(&fd, CMSG_DATA(item), sizeof(fd));
    return UniqueFd(fd);
  }

  char byte = 0;
  iovec part{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr head{};
};

}  // namespace

pid_t number_in(const Context& context, std::uint32_t ns, pid_t id) {
  if (ns == 0 || id == 0) return id;
  for (const Process& process : context.processes)
    for (const cryo_nested_id& one : process.nested_ids)
      if (one.ns == ns && one.id == id) return one.number;
  return 0;
}

std::vector<pid_t> numbers_above(const Context& context, std::uint32_t ns, pid_t id) {
  std::vector<pid_t> numbers;
  while (ns != 0) {
    ns = context.namespaces.at(ns).head.parent;
    numbers.push_back(number_in(context, ns, id));
  }
  return numbers;
}

Context seen_from(const Context& context, std::uint32_t ns) {
  Context seen = context;
  const Translator translator(context, ns);
  for (Process& process : seen.processes) translator.apply(process);
  for (auto& [id, file] : seen.files) {
    translator.apply_owner(file.head.owner_pid);
    if (file.socket) translator.apply(file.socket->head.peer_pid);
    if (file.connection) translator.apply(file.connection->head.peer_pid);
    if (file.uring) translator.apply(file.uring->head.issuer);
    if (!file.pty) continue;
    translator.apply(file.pty->head.sid);
    translator.apply(file.pty->head.pgid);
  }
  for (auto& [id, inode] : seen.inodes)
    if (inode.mqueue) translator.apply(inode.mqueue->head.notify_pid);
  return seen;
}

PidNamespaces::PidNamespaces(const Context& context, const Descriptors& descriptors) : context_(context) {
  for (const Process& process : context.processes) {
    const std::uint32_t ns = process.namespaces.pid_for_children;
    if (ns == process.namespaces.pid || boxes_.contains(ns) || is_empty(context, ns)) continue;
    // For one that never comes, who asks for it would wait for ever.
    if (!has_first(context, ns)) fail(EINVAL, "pid namespace {} has no first process", ns);
    int fds[2];
    if (::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, fds) != 0)
      fail_errno("cannot create a pair of sockets");
    FdPair ends{UniqueFd(fds[0]), UniqueFd(fds[1])};
    boxes_.emplace(ns,
                   FdPair(descriptors.park(std::move(ends.first)), descriptors.park(std::move(ends.second))));
  }
}

void PidNamespaces::leave(std::uint32_t ns) const {
  const auto box = boxes_.find(ns);
  if (box == boxes_.end()) return;
  const UniqueFd own = open_proc("self/ns/pid");
  if (!own) fail_errno("cannot open its pid namespace");
  DescriptorMessage message;
  message.put(own.get());
  if (::sendmsg(box->second.first.get(), &message.head, MSG_DONTWAIT) < 0)
    fail_errno("cannot hand over its pid namespace");
}

// It stays there, for others.  Who leaves it has been forked, but may not have run yet.
void PidNamespaces::enter_for_children(const Process& process) const {
  const std::uint32_t ns = process.namespaces.pid_for_children;
  if (ns == process.namespaces.pid || is_empty(context_, ns)) return;
  DescriptorMessage message;
  if (::recvmsg(boxes_.at(ns).second.get(), &message.head, MSG_PEEK | MSG_CMSG_CLOEXEC) < 0)
    fail_errno("its children's pid namespace {} has not been handed over", ns);
  const UniqueFd fd = message.take();
  if (!fd || !enter_namespace(fd.get(), CLONE_NEWPID))
    fail_errno("cannot enter pid namespace {} for its children", ns);
}

void make_empty_for_children(const Context& context, const Process& process) {
  const std::uint32_t ns = process.namespaces.pid_for_children;
  if (ns == process.namespaces.pid || !is_empty(context, ns)) return;
  if (!make_namespaces(CLONE_NEWPID)) fail_errno("cannot create pid namespace {} for its children", ns);
  if ((context.namespaces.at(ns).head.flags & CRYO_PIDNS_ENDED) == 0) return;
  Assistant first([] { return 0; });
  if (const int error = first.run(); error != 0) fail(error, "the first process of pid namespace {}", ns);
}

// A process is born in the namespace of its parent, or is the first one of a new one just below it.
void check_pid_namespaces(const Context& context, const RestartOptions& options, Findings& findings) {
  for (const Process& process : context.processes) {
    const std::uint32_t own = process.namespaces.pid;
    const Process* parent = find(context, process.head.ppid);
    const std::uint32_t above = parent == nullptr ? 0 : parent->namespaces.pid;
    if (own == 0 && above == 0) continue;
    if (!options.restore_pid)
      findings.problem(EINVAL, "pid {}: is in a pid namespace of its own, where ids have to be restored",
                       process.head.pid);
    const bool first = own != 0 && context.namespaces.at(own).head.parent == above &&
                       number_in(context, own, process.head.pid) == kFirst;
    if (own != above && !first)
      findings.problem(EOPNOTSUPP, "pid {}: has been forked into a pid namespace that its parent is not in",
                       process.head.pid);
  }
}

}  // namespace cryo
