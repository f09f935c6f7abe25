// SPDX-License-Identifier: GPL-2.0-only
#include "restart/ipc/mqueue.h"

#include <fcntl.h>
#include <mqueue.h>
#include <signal.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <ctime>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/random_part.h"
#include "restart/files/file_kinds.h"
#include "restart/ns/namespaces.h"
#include "restart/rights/created_paths.h"
#include "restart/rights/names.h"
#include "restart/rights/thread_ids.h"
#include "restart/stub/step_kind.h"

namespace cryo {
namespace {

const StepKind kNotifyStep("register for notification (mq_notify)", [](const FailedCall& call) {
  return fmt::format("descriptor {}: cannot register for notification (mq_notify)", call.index);
});

constexpr std::string_view kTag = "mqueue:";
constexpr int kQueueNameTries = 100;

// Numbers of inodes are not used twice until the machine boots, and then anybody can count up to one.  In an
// IPC namespace of the job all queues are the job's.
bool same_queue(const Inode& inode, int fd) {
  struct stat now;
  if (::fstat(fd, &now) != 0 || now.st_ino != inode.head.ino) return false;
  return inode.mqueue->head.ns != 0 || now.st_uid == inode.head.uid || now.st_uid == names::owner();
}

// It may have been opened below a mounted mqueue file system.
std::string queue_name(const std::string& path) {
  return "/" + path.substr(path.rfind('/') + 1);
}

mq_attr attributes(const cryo_mqueue& saved) {
  mq_attr attributes{};
  attributes.mq_maxmsg = static_cast<long>(saved.max_messages);
  attributes.mq_msgsize = static_cast<long>(saved.message_size);
  return attributes;
}

void drain(int queue, const cryo_mqueue& saved, const std::string& name) {
  std::vector<char> buffer(saved.message_size);
  const timespec past{};
  // No more than there can be in it, twice: somebody may go on sending.
  for (std::uint64_t left = 2 * saved.max_messages + 1; left > 0; --left) {
    if (::mq_timedreceive(queue, buffer.data(), buffer.size(), nullptr, &past) >= 0 || errno == EINTR)
      continue;
    if (errno == ETIMEDOUT || errno == EAGAIN) return;
    fail_errno("cannot empty the message queue {}", name);
  }
  fail(EBUSY, "cannot empty the message queue {}: another process keeps sending to it", name);
}

void fill(int queue, const MqueueState& state, const std::string& name) {
  const timespec past{};
  for (const Message& message : state.messages)
    if (::mq_timedsend(queue, reinterpret_cast<const char*>(message.text.data()), message.text.size(),
                       static_cast<unsigned>(message.type), &past) != 0)
      fail_errno("cannot put a message of {} bytes back into the message queue {}", message.text.size(),
                 name);
}

}  // namespace

namespace {

// Whose processes may not open it need not: nothing has come to it or gone since.
bool is_untouched(const Inode& inode, int fd) {
  struct stat now;
  mq_attr state{};
  return same_queue(inode, fd) && ::fstat(fd, &now) == 0 && now.st_mtim.tv_sec == inode.head.mtime_sec &&
         now.st_mtim.tv_nsec == static_cast<long>(inode.head.mtime_nsec) && ::mq_getattr(fd, &state) == 0 &&
         static_cast<std::size_t>(state.mq_curmsgs) == inode.mqueue->messages.size();
}

struct LeftBehind {
  UniqueFd fd;           // none: see the rest
  bool whole = false;    // it is as it was, and nothing is to be put back
  int error = 0;         // ENOENT: there is none
  std::string obstacle;  // in other cases
};

// A queue that is there already is changed by what those may do who have it: who was given it, or opened it
// with other rights, could not put back himself what was in it.
LeftBehind find_queue(const Inode& inode, const std::string& name) {
  LeftBehind found;
  found.fd = names::mq_open(name, O_RDWR);
  found.error = found.fd ? 0 : errno;
  if (found.error == EACCES) {
    const OwnNames own;
    found.fd = names::mq_open(name, O_RDWR);
    found.whole = found.fd && is_untouched(inode, found.fd.get());
    if (!found.whole) {
      found.obstacle =
          "may not be opened for reading and writing by the process, and differs from the checkpoint: if "
          "nothing else needs it, remove it, and it is recreated";
      found.fd.reset();
    }
  } else if (found.error != 0) {
    found.obstacle = fmt::format("cannot be opened: {}", errno_text(found.error));
  } else if (!same_queue(inode, found.fd.get())) {
    found.error = EEXIST;
    found.obstacle = "another message queue has its name";
    found.fd.reset();
  }
  return found;
}

}  // namespace

std::string queue_problem(const Inode& inode, const std::string& path, int& code) {
  if ((inode.head.flags & CRYO_INODE_DELETED) || inode.mqueue->head.ns != 0) return {};
  const LeftBehind found = find_queue(inode, queue_name(path));
  if (found.fd || found.error == ENOENT) return {};
  code = found.error;
  return found.obstacle;
}

bool is_queue_there(const Inode& inode, const std::string& path) {
  return (inode.head.flags & CRYO_INODE_DELETED) == 0 && find_queue(inode, queue_name(path)).error != ENOENT;
}

namespace {

struct Owner {
  std::uint32_t uid, gid;
};

// As it is called where the queue is.
Owner owner_of(const FileRestoreInput& input, const Inode& inode) {
  const std::uint32_t ns = inode.mqueue->head.ns;
  if (ns == 0) return {inode.head.uid, inode.head.gid};
  return {input.namespaces.id_inside(ns, inode.head.uid, false),
          input.namespaces.id_inside(ns, inode.head.gid, true)};
}

}  // namespace

UniqueFd MessageQueues::create(const Inode& inode, const std::string& name) {
  mq_attr wanted = attributes(inode.mqueue->head);
  const DeathDeferred deferred(input_.created);
  UniqueFd fd = names::mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &wanted);
  // Others end with their namespace.
  if (fd && inode.mqueue->head.ns == 0) input_.created.add_open(std::string(kTag) + name, fd.get());
  return fd;
}

UniqueFd MessageQueues::make(const Inode& inode, const std::string& name) {
  const cryo_mqueue& saved = inode.mqueue->head;
  const Owner owner = owner_of(input_, inode);
  if (saved.ns != 0) {
    // A user that has no number in the namespace can make nothing there.
    set_fsgid(owner.gid);
    set_fsuid(owner.uid);
  }
  const bool deleted = inode.head.flags & CRYO_INODE_DELETED;
  std::string own = name;
  UniqueFd fd;
  for (int i = 0; !fd && i < kQueueNameTries && (i == 0 || (deleted && errno == EEXIST)); ++i) {
    if (deleted) own = "/cryo." + random_part();  // nobody knows it before
    fd = create(inode, own);
  }
  if (!fd && errno == EEXIST && !deleted) return refill(inode, own);
  if (!fd) fail_errno("cannot create the message queue {}", own);
  // Where the process may not give it away, it is its user's.
  (void)names::fchown(fd.get(), owner.uid, owner.gid);
  if (names::fchmod(fd.get(), inode.head.mode & 07777) != 0) fail_errno("cannot set the mode of {}", own);
  if (deleted) {
    if (names::mq_unlink(own) != 0) fail_errno("cannot unlink the message queue {}", own);
    if (saved.ns == 0) input_.created.remove(std::string(kTag) + own);
  }
  if (saved.ns != 0 || !is_hidden(input_.context, inode, fd.get())) fill(fd.get(), *inode.mqueue, own);
  return fd;
}

// It was left behind: what came since is for nobody.
UniqueFd MessageQueues::refill(const Inode& inode, const std::string& name) {
  LeftBehind found = find_queue(inode, name);
  if (!found.fd) fail(found.error, "the message queue {}: {}", name, found.obstacle);
  if (!found.whole) {
    drain(found.fd.get(), inode.mqueue->head, name);
    fill(found.fd.get(), *inode.mqueue, name);
  }
  return std::move(found.fd);
}

UniqueFd MessageQueues::make_anywhere(const Inode& inode, const std::string& name) {
  const std::uint32_t ns = inode.mqueue->head.ns;
  if (ns == 0) return make(inode, name);
  return input_.namespaces.inside_ipc(ns, [&] {
    const OwnNames own;
    return make(inode, name);
  });
}

void MessageQueues::make_unused(const File& file) {
  const Inode& inode = input_.context.inode(file.head.inode);
  const NamesOf theirs(input_.context, everybody(input_.context));
  const UniqueFd fd = make_anywhere(inode, queue_name(file.path));
}

void make_unused_queues(FileRestoreInput& input) {
  const std::map<std::uint32_t, FileUse> uses = file_uses(input.context);
  MessageQueues queues(input);
  for (const auto& [id, file] : input.context.files)
    if (file.head.kind == CRYO_FILE_MQUEUE && !uses.contains(id)) queues.make_unused(file);
}

UniqueFd MessageQueues::open(const File& file, const FileUse& use) {
  const Inode& inode = input_.context.inode(file.head.inode);
  auto base = queues_.find(inode.id);
  if (base == queues_.end())
    base =
        queues_.emplace(inode.id, input_.descriptors.park(make_anywhere(inode, queue_name(file.path)))).first;
  const int flags = open_flags(file, use) & ~O_NOFOLLOW;
  UniqueFd fd(::open(fmt::format("/proc/self/fd/{}", base->second.get()).c_str(), flags | O_CLOEXEC));
  if (!fd) fail_errno("cannot open the message queue {}", file.path);
  return fd;
}

void plan_queue_notifications(const Context& context, const Process& process, CallList& calls,
                              StubArea& area) {
  std::set<std::uint32_t> asked;  // inodes: a queue that is open twice has one to tell
  for (const cryo_fd& fd : process.fds) {
    const File& file = context.file(fd.file);
    if (file.head.kind != CRYO_FILE_MQUEUE) continue;
    const cryo_mqueue& saved = context.inode(file.head.inode).mqueue->head;
    if (saved.notify_pid != process.head.pid || !asked.insert(file.head.inode).second) continue;
    sigevent* event = area.array<sigevent>(1);
    event->sigev_notify = static_cast<int>(saved.notify);
    event->sigev_signo = static_cast<int>(saved.notify_signal);
    event->sigev_value.sival_ptr = reinterpret_cast<void*>(saved.notify_value);
    calls.add(kNotifyStep, fd.fd, SYS_mq_notify, fd.fd, event);
  }
}

namespace {

// What cannot be opened by its mode is taken for the same: it has the name that was free, and who may unlink
// it has made it.
bool is_queue(const std::string& name, std::uint64_t dev, std::uint64_t ino) {
  struct stat now;
  UniqueFd fd = names::mq_open(name, O_RDONLY);
  if (!fd && errno == EACCES) {
    const OwnNames own;
    fd = names::mq_open(name, O_RDONLY);
  }
  if (!fd) return errno == EACCES;
  return ::fstat(fd.get(), &now) == 0 && now.st_dev == dev && now.st_ino == ino;
}

// Not one that has the name by now.
bool remove_queue(const std::string& name, std::uint64_t dev, std::uint64_t ino) {
  if (!name.starts_with(kTag)) return false;
  if (const std::string queue = name.substr(kTag.size()); is_queue(queue, dev, ino))
    (void)names::mq_unlink(queue);
  return true;
}

}  // namespace

const CreatedObject kCreatedQueue = {.remove = remove_queue, .with_rights_of_process = true};

namespace {

void check_queue(FileCheck& at, const File& file, const FileUse& use) {
  const NamesOf theirs(at.context, use.processes);
  int code = EEXIST;
  const std::string text = queue_problem(at.context.inode(file.head.inode), file.path, code);
  if (!text.empty()) at.problem(code, "{}", text);
}

}  // namespace

const FileKind kMqueueKind = {.kind = CRYO_FILE_MQUEUE,
                              .check = check_queue,
                              .open = [](FileMaking& making, const File& file, const FileUse& use) {
                                return making.state<MessageQueues>().open(file, use);
                              }};

}  // namespace cryo
