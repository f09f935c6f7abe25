// SPDX-License-Identifier: GPL-2.0-only
#include "restart/ipc/sysv.h"

#include <cryo/ioctl.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <functional>
#include <optional>

#include "base/error.h"
#include "restart/files/file_kinds.h"
#include "restart/ipc/ipc_users.h"
#include "restart/memory/huge_sizes.h"
#include "restart/memory/tags.h"
#include "restart/ns/namespaces.h"
#include "restart/rights/created_paths.h"

namespace cryo {
namespace {

constexpr std::uint32_t kOverflowUser = 65534;  // whoever has no number in a user namespace
constexpr int kIdTries = 100;                   // while others make objects, too

union SemArgument {
  int value;
  semid_ds* status;
  unsigned short* values;
};

struct ObjectKind {
  std::uint32_t number;  // CRYO_IPC_KIND_*
  const char* tag;       // in the list of what was made
  const char* what;
  const char* sysctl;
  char option;  // of ipcrm(1)
};
constexpr ObjectKind kShm{CRYO_IPC_KIND_SHM, "shm", "shared memory", "/proc/sys/kernel/shm_next_id", 'm'};
constexpr ObjectKind kSem{CRYO_IPC_KIND_SEM, "sem", "semaphores", "/proc/sys/kernel/sem_next_id", 's'};
constexpr ObjectKind kMsg{CRYO_IPC_KIND_MSG, "msg", "message queue", "/proc/sys/kernel/msg_next_id", 'q'};

std::string describe(const ObjectKind& kind, const cryo_ipc_perm& perm) {
  return fmt::format("System V {} {} (key {:#x})", kind.what, perm.id, static_cast<std::uint32_t>(perm.key));
}

// What there is under the id of an object of the context.
struct Found {
  bool exists = false;
  bool same = false;     // it is the one that was saved
  std::string obstacle;  // why it cannot be used
  ipc_perm perm{};
};

bool of_context(const Context& context, pid_t pid) {
  return std::any_of(context.processes.begin(), context.processes.end(),
                     [pid](const Process& process) { return process.head.pid == pid; });
}

// A process that is no part of the context, runs, and was the last to use the object.
bool used_elsewhere(const Context& context, pid_t pid) {
  return pid > 0 && !of_context(context, pid) && pid != ::getpid() && (::kill(pid, 0) == 0 || errno == EPERM);
}

bool gone() {
  return errno == EINVAL || errno == EIDRM;
}

Found unreadable() {
  return {true, false, fmt::format("exists, but cannot be inspected: {}", errno_text(errno)), {}};
}

// Any user may make one with a key and id that are free.  Who has made it may always change it: that is who
// made the one of the checkpoint, or whoever restarts, who made it anew.
bool is_of_same_owner(const cryo_ipc_perm& saved, const ipc_perm& now) {
  if (saved.ns != 0) return true;  // nobody else makes any there
  return now.uid == saved.uid && now.gid == saved.gid && (now.cuid == saved.cuid || now.cuid == ::geteuid());
}

Found find_shm(const cryo_shm& saved) {
  shmid_ds now;
  if (::shmctl(saved.perm.id, IPC_STAT, &now) != 0) return gone() ? Found{} : unreadable();
  Found found{true, false, {}, now.shm_perm};
  found.same = now.shm_perm.__key == saved.perm.key && now.shm_segsz == saved.size &&
               now.shm_ctime == saved.perm.changed && is_of_same_owner(saved.perm, now.shm_perm);
  if (!found.same)
    found.obstacle = "its id is taken by another segment";
  else if (now.shm_nattch != 0)
    found.obstacle = fmt::format("still exists, and is attached {} times", now.shm_nattch);
  return found;
}

Found find_sem(const Context& context, const SemSet& saved) {
  semid_ds now;
  const int id = saved.head.perm.id;
  if (::semctl(id, 0, IPC_STAT, SemArgument{.status = &now}) != 0) return gone() ? Found{} : unreadable();
  Found found{true, false, {}, now.sem_perm};
  found.same = now.sem_perm.__key == saved.head.perm.key && now.sem_nsems == saved.values.size() &&
               is_of_same_owner(saved.head.perm, now.sem_perm);
  if (!found.same) found.obstacle = "its id is taken by another set";
  for (int i = 0; found.same && i < static_cast<int>(saved.values.size()); ++i) {
    const int pid = ::semctl(id, i, GETPID);
    if (used_elsewhere(context, pid))
      found.obstacle = fmt::format("still exists, and process {} was the last to use it", pid);
    if (::semctl(id, i, GETNCNT) > 0 || ::semctl(id, i, GETZCNT) > 0)
      found.obstacle = "still exists, and a process waits for it";
  }
  return found;
}

Found find_msg(const Context& context, const MsgQueue& saved) {
  msqid_ds now;
  if (::msgctl(saved.head.perm.id, IPC_STAT, &now) != 0) return gone() ? Found{} : unreadable();
  Found found{true, false, {}, now.msg_perm};
  found.same = now.msg_perm.__key == saved.head.perm.key && now.msg_ctime == saved.head.perm.changed &&
               is_of_same_owner(saved.head.perm, now.msg_perm);
  if (!found.same) found.obstacle = "its id is taken by another queue";
  for (const pid_t pid : {now.msg_lspid, now.msg_lrpid})
    if (found.same && used_elsewhere(context, pid))
      found.obstacle = fmt::format("still exists, and process {} was the last to use it", pid);
  return found;
}

bool key_taken(const ObjectKind& kind, std::int32_t key) {
  if (key == IPC_PRIVATE) return false;
  const int id = kind.number == CRYO_IPC_KIND_SHM   ? ::shmget(key, 0, 0)
                 : kind.number == CRYO_IPC_KIND_SEM ? ::semget(key, 0, 0)
                                                    : ::msgget(key, 0);
  return id >= 0 || errno != ENOENT;
}

// Empty when the object can be had.
std::string problem_of(const ObjectKind& kind, const cryo_ipc_perm& perm, const Found& found) {
  if (!found.obstacle.empty()) return fmt::format("{}: {}", describe(kind, perm), found.obstacle);
  if (!found.exists && key_taken(kind, perm.key))
    return fmt::format("{}: its key is taken by another object", describe(kind, perm));
  return {};
}

// It is the one of the context, and there is somebody who may not put back what was in it.
std::string refusal_of(const ObjectKind& kind, const cryo_ipc_perm& perm, const Found& found,
                       const std::vector<Rights>& users) {
  const std::string text = found.exists ? ipc_refusal(users, found.perm) : std::string();
  if (text.empty()) return text;
  return fmt::format("{}: {}: if nothing else needs it, remove it (ipcrm -{} {}), and it is recreated",
                     describe(kind, perm), text, kind.option, perm.id);
}

bool choose_by_sysctl(const ObjectKind& kind, std::int32_t id) {
  const UniqueFd fd(::open(kind.sysctl, O_WRONLY | O_CLOEXEC));
  const std::string text = std::to_string(id);
  return fd && ::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

void choose_id(const ObjectKind& kind, std::int32_t id) {
  cryo_ipc_id wanted{};
  wanted.size = sizeof(wanted);
  wanted.kind = kind.number;
  wanted.id = id;
  const UniqueFd device(::open("/dev/" CRYO_DEVICE_NAME, O_RDWR | O_CLOEXEC));
  if (device && ::ioctl(device.get(), CRYO_IOC_IPC_ID, &wanted) == 0) return;
  const int error = errno;
  if (!choose_by_sysctl(kind, id))
    fail(error, "cannot choose the id {} of System V {}: {}{}", id, kind.what, errno_text(error),
         error == EPERM ? " (that requires CAP_CHECKPOINT_RESTORE or the module parameter ipc_id_choice)"
                        : "");
}

class ObjectMaker {
 public:
  ObjectMaker(const FileRestoreInput& input, const IpcUsers& users, std::uint32_t ns)
      : input_(input), users_(users), ns_(ns) {}

  void make_all();

 private:
  void make(const Inode& inode);
  void make(const SemSet& set);
  void make(const MsgQueue& queue);
  [[nodiscard]] std::uint32_t user(std::uint32_t id) const;
  [[nodiscard]] std::uint32_t group(std::uint32_t id) const;
  void obtain(const ObjectKind& kind, const cryo_ipc_perm& perm, const Found& found,
              const std::function<int()>& create, const std::function<void(int)>& remove);
  void note_again(const ObjectKind& kind, int id);
  void fill(const Inode& inode, const Found& found);
  void lock(const cryo_shm& saved, const Found& found) const;
  void fill(const MsgQueue& queue, msqid_ds& status);

  // What is there already is changed with the rights of one of its users.
  class AsUser {
   public:
    AsUser(const ObjectKind& kind, const cryo_ipc_perm& perm, const Found& found,
           const std::vector<Rights>& users);

   private:
    std::optional<RightsKept> kept_;
  };

  const FileRestoreInput& input_;
  const IpcUsers& users_;
  std::string noted_;  // of the object that is being made; empty: it is not to be removed
  std::uint32_t ns_;   // that this process is in
};

ObjectMaker::AsUser::AsUser(const ObjectKind& kind, const cryo_ipc_perm& perm, const Found& found,
                            const std::vector<Rights>& users) {
  if (!found.exists) return;
  if (const std::string text = refusal_of(kind, perm, found, users); !text.empty()) fail(EACCES, "{}", text);
  if (users.empty()) return;
  if (!kept_.emplace().take(users.front()))
    fail_errno("{}: cannot be changed as user {}", describe(kind, perm), users.front().uid);
}

std::uint32_t ObjectMaker::user(std::uint32_t id) const {
  return ns_ == 0 ? id : input_.namespaces.id_inside(ns_, id, false);
}

std::uint32_t ObjectMaker::group(std::uint32_t id) const {
  return ns_ == 0 ? id : input_.namespaces.id_inside(ns_, id, true);
}

// Somebody may have removed it meanwhile, and have had another object get its id. What tells them apart:
// nothing of it changes by use. Empty, with errno: it cannot be looked at.
std::string note_of(const ObjectKind& kind, int id) {
  shmid_ds shm{};
  semid_ds sem{};
  msqid_ds msg{};
  const bool found = kind.number == CRYO_IPC_KIND_SHM ? ::shmctl(id, IPC_STAT, &shm) == 0
                     : kind.number == CRYO_IPC_KIND_SEM
                         ? ::semctl(id, 0, IPC_STAT, SemArgument{.status = &sem}) == 0
                         : ::msgctl(id, IPC_STAT, &msg) == 0;
  if (!found) return {};
  const ipc_perm& perm = kind.number == CRYO_IPC_KIND_SHM   ? shm.shm_perm
                         : kind.number == CRYO_IPC_KIND_SEM ? sem.sem_perm
                                                            : msg.msg_perm;
  return fmt::format("{}:{}:{}:{}:{}:{}:{}", kind.tag, id, perm.__key, perm.cuid, perm.cgid, shm.shm_cpid,
                     shm.shm_ctime + sem.sem_ctime + msg.msg_ctime);
}

// With the saved id, new or as it was left.
void ObjectMaker::obtain(const ObjectKind& kind, const cryo_ipc_perm& perm, const Found& found,
                         const std::function<int()>& create, const std::function<void(int)>& remove) {
  noted_.clear();
  const std::string problem = problem_of(kind, perm, found);
  if (!problem.empty()) fail(EEXIST, "{}", problem);
  if (found.exists) return;
  for (int i = 0; i < kIdTries; ++i) {
    choose_id(kind, perm.id);
    const DeathDeferred deferred(input_.created);
    const int id = create();
    if (id < 0) fail_errno("cannot create {}", describe(kind, perm));
    if (id == perm.id) {
      // Others end with their namespace.
      if (ns_ != 0) return;
      noted_ = note_of(kind, id);
      input_.created.add(noted_);
      return;
    }
    remove(id);
  }
  fail(EBUSY, "{}: cannot get its id: lost to other processes in {} attempts", describe(kind, perm),
       kIdTries);
}

// After each change of its status, while death is deferred.
void ObjectMaker::note_again(const ObjectKind& kind, int id) {
  const std::string note = noted_.empty() ? noted_ : note_of(kind, id);
  // Nothing but the time changes by that: else it is another one by now, and no business of ours.
  if (note == noted_ || note.substr(0, note.rfind(':')) != noted_.substr(0, noted_.rfind(':'))) return;
  input_.created.add(note);
  input_.created.remove(noted_);
  noted_ = note;
}

// A segment that is attached keeps its id: what has been found out of it before that may have been of another
// one, as whoever may remove it can have a new one get the id.
void check_attached(const cryo_shm& saved, const std::function<bool(const ipc_perm&)>& is_right) {
  shmid_ds now;
  if (::shmctl(saved.perm.id, IPC_STAT, &now) != 0) fail_errno("{}", describe(kShm, saved.perm));
  // Another process may have attached one already that is to go with its last user.
  const bool going = (now.shm_perm.mode & SHM_DEST) != 0;
  const bool named = going ? (saved.flags & CRYO_SHM_DESTROYED) != 0 : now.shm_perm.__key == saved.perm.key;
  if (!named || now.shm_segsz != saved.size || !is_right(now.shm_perm))
    fail(EEXIST, "{}: another segment has taken its id", describe(kShm, saved.perm));
}

// As setting the values of a set takes as many as there are in it by then.
class SemValues {
 public:
  explicit SemValues(const std::vector<std::uint32_t>& values);
  ~SemValues() { ::munmap(memory_, size_ + guard_); }
  SemValues(const SemValues&) = delete;
  SemValues& operator=(const SemValues&) = delete;
  [[nodiscard]] unsigned short* data() const { return data_; }

 private:
  const std::size_t guard_ = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  std::size_t size_;
  void* memory_;
  unsigned short* data_;
};

// The last one ends where nothing can be read.
SemValues::SemValues(const std::vector<std::uint32_t>& values)
    : size_((values.size() * sizeof(unsigned short) + guard_ - 1) / guard_ * guard_),
      memory_(::mmap(nullptr, size_ + guard_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
  if (memory_ == MAP_FAILED) fail_errno("mmap");
  std::byte* const end = static_cast<std::byte*>(memory_) + size_;
  data_ = reinterpret_cast<unsigned short*>(end) - values.size();
  std::transform(values.begin(), values.end(), data_,
                 [](std::uint32_t value) { return static_cast<unsigned short>(value); });
  if (::mprotect(end, guard_, PROT_NONE) != 0) fail_errno("mprotect");
}

// A segment, in front of memory that nobody may touch: one in huge pages is longer than its size says, and
// one in others that has got its id by then is not.
class Attached {
 public:
  Attached(const cryo_shm& saved, std::uint64_t unit);
  ~Attached() { ::munmap(reserved_, reserved_size_); }
  Attached(const Attached&) = delete;
  Attached& operator=(const Attached&) = delete;
  [[nodiscard]] std::byte* memory() const { return memory_; }
  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] bool is_whole() const;

 private:
  const std::uint64_t size_;  // in whole pages of its kind
  const std::uint64_t reserved_size_;
  void* reserved_;
  std::byte* memory_;
};

Attached::Attached(const cryo_shm& saved, std::uint64_t unit)
    : size_((saved.size + unit - 1) / unit * unit),
      reserved_size_(size_ + 2 * unit),
      reserved_(
          ::mmap(nullptr, reserved_size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
  if (reserved_ == MAP_FAILED) fail_errno("mmap");
  const auto start = (reinterpret_cast<std::uint64_t>(reserved_) + unit - 1) / unit * unit;
  // Not SHM_REMAP, which maps one that is longer over what lies behind: there is room for this one, and no
  // more.
  if (::munmap(reinterpret_cast<void*>(start), size_) != 0) fail_errno("munmap");
  memory_ = static_cast<std::byte*>(::shmat(saved.perm.id, reinterpret_cast<void*>(start), 0));
  if (memory_ != reinterpret_cast<std::byte*>(start)) {
    const int error = errno;
    ::munmap(reserved_, reserved_size_);
    fail(error, "cannot attach {}: {}", describe(kShm, saved.perm), errno_text(error));
  }
}

// Without reading: a container may not let us see our own memory by a system call.
bool Attached::is_whole() const {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  unsigned char present = 0;
  return ::mincore(memory_ + size_ - page, page, &present) == 0;
}

void ObjectMaker::fill(const Inode& inode, const Found& found) {
  const cryo_shm& saved = *inode.shm;
  const std::uint64_t page = input_.context.header.page_size;
  const Attached segment(saved, std::max<std::uint64_t>(inode.huge_size, page));
  check_attached(saved, [&](const ipc_perm& now) {
    if (found.exists) return now.uid == found.perm.uid && now.cuid == found.perm.cuid;
    return saved.perm.ns != 0 || now.cuid == ::geteuid();
  });
  if (!segment.is_whole()) fail(EEXIST, "{}: another segment has taken its id", describe(kShm, saved.perm));
  std::byte* const memory = segment.memory();
  const std::uint64_t whole = segment.size();
  if (found.exists) std::memset(memory, 0, whole);
  for (const PageChunk& chunk : input_.context.pages) {
    if (chunk.kind != CRYO_PAGES_INODE || chunk.object != inode.id) continue;
    const int fd = input_.context_fds[chunk.ancestor];
    std::uint64_t from = chunk.data_offset;
    for (const cryo_page_run& run : chunk.runs) {
      // The reader has seen to it that a run ends within the last page of the segment.
      std::byte* to = memory + run.start;
      for (std::uint64_t left = run.nr_pages * page; left > 0;) {
        const ssize_t got = ::pread(fd, to, left, static_cast<off_t>(from));
        if (got <= 0)
          fail(got < 0 ? errno : ENODATA, "cannot read the contents of {}", describe(kShm, saved.perm));
        to += got;
        from += static_cast<std::uint64_t>(got);
        left -= static_cast<std::uint64_t>(got);
      }
    }
  }
  const auto start = reinterpret_cast<std::uint64_t>(memory);
  set_memory_tags(input_.context, inode.id, {start, start + whole}, found.exists, describe(kShm, saved.perm));
  if (::shmdt(memory) != 0) fail_errno("cannot detach {}", describe(kShm, saved.perm));
}

// Before it is given away: whose it is by then may have another one get the id.
void ObjectMaker::lock(const cryo_shm& saved, const Found& found) const {
  const bool locked = found.exists && (found.perm.mode & SHM_LOCKED) != 0;
  if ((saved.flags & CRYO_SHM_MLOCKED) && !locked && ::shmctl(saved.perm.id, SHM_LOCK, nullptr) != 0)
    fail_errno("cannot lock {}", describe(kShm, saved.perm));
}

void ObjectMaker::make(const Inode& inode) {
  const cryo_shm& saved = *inode.shm;
  const Found found = find_shm(saved);
  obtain(
      kShm, saved.perm, found,
      [&] {
        return ::shmget(saved.perm.key, saved.size, IPC_CREAT | IPC_EXCL | 0600 | shm_flags(inode.huge_size));
      },
      [](int id) { ::shmctl(id, IPC_RMID, nullptr); });
  const AsUser as_user(kShm, saved.perm, found, users_.of_shm(inode.id));
  fill(inode, found);
  lock(saved, found);
  shmid_ds status;
  if (::shmctl(saved.perm.id, IPC_STAT, &status) != 0) fail_errno("{}", describe(kShm, saved.perm));
  status.shm_perm.uid = user(saved.perm.uid);
  status.shm_perm.gid = group(saved.perm.gid);
  status.shm_perm.mode = static_cast<unsigned short>(saved.perm.mode);
  {
    const DeathDeferred deferred(input_.created);
    if (!found.exists && ::shmctl(saved.perm.id, IPC_SET, &status) != 0)
      fail_errno("cannot set owner and mode of {}", describe(kShm, saved.perm));
    note_again(kShm, saved.perm.id);
  }
}

void ObjectMaker::make(const SemSet& set) {
  const cryo_ipc_perm& perm = set.head.perm;
  const int count = static_cast<int>(set.values.size());
  const Found found = find_sem(input_.context, set);
  obtain(
      kSem, perm, found, [&] { return ::semget(perm.key, count, IPC_CREAT | IPC_EXCL | 0600); },
      [](int id) { ::semctl(id, 0, IPC_RMID); });
  const AsUser as_user(kSem, perm, found, users_.of_sem(perm.id));
  const DeathDeferred deferred(input_.created);
  const SemValues values(set.values);
  if (::semctl(perm.id, 0, SETALL, SemArgument{.values = values.data()}) != 0)
    fail_errno("cannot set the values of {}", describe(kSem, perm));
  semid_ds status;
  if (::semctl(perm.id, 0, IPC_STAT, SemArgument{.status = &status}) != 0)
    fail_errno("{}", describe(kSem, perm));
  status.sem_perm.uid = user(perm.uid);
  status.sem_perm.gid = group(perm.gid);
  status.sem_perm.mode = static_cast<unsigned short>(perm.mode);
  if (!found.exists && ::semctl(perm.id, 0, IPC_SET, SemArgument{.status = &status}) != 0)
    fail_errno("cannot set owner and mode of {}", describe(kSem, perm));
  note_again(kSem, perm.id);
}

// What was sent since belongs to nobody who is left.
void drain(const cryo_ipc_perm& perm) {
  msqid_ds status;
  if (::msgctl(perm.id, IPC_STAT, &status) != 0) fail_errno("{}", describe(kMsg, perm));
  std::array<char, 65536> buffer;
  // No more than there can be in it: somebody may go on sending.
  for (std::uint64_t left = status.msg_qnum + status.msg_qbytes + 1; left > 0; --left) {
    const ssize_t got =
        ::msgrcv(perm.id, buffer.data(), buffer.size() - sizeof(long), 0, IPC_NOWAIT | MSG_NOERROR);
    if (got >= 0 || errno == EINTR) continue;
    if (errno == ENOMSG) return;
    fail_errno("cannot empty {}", describe(kMsg, perm));
  }
  fail(EBUSY, "cannot empty {}: another process keeps sending to it", describe(kMsg, perm));
}

void ObjectMaker::fill(const MsgQueue& queue, msqid_ds& status) {
  const cryo_ipc_perm& perm = queue.head.perm;
  for (const Message& message : queue.messages) {
    std::vector<char> buffer(sizeof(long) + message.text.size());
    const long type = static_cast<long>(message.type);
    std::memcpy(buffer.data(), &type, sizeof(type));
    if (!message.text.empty())
      std::memcpy(buffer.data() + sizeof(type), message.text.data(), message.text.size());
    if (::msgsnd(perm.id, buffer.data(), message.text.size(), IPC_NOWAIT) == 0) continue;
    // It may hold more than a new one does.
    status.msg_qbytes = std::max<msglen_t>(status.msg_qbytes, queue.head.bytes);
    if (errno != EAGAIN || ::msgctl(perm.id, IPC_SET, &status) != 0 ||
        ::msgsnd(perm.id, buffer.data(), message.text.size(), IPC_NOWAIT) != 0)
      fail_errno("cannot put a message of {} bytes back into {}", message.text.size(), describe(kMsg, perm));
  }
}

void ObjectMaker::make(const MsgQueue& queue) {
  const cryo_ipc_perm& perm = queue.head.perm;
  const Found found = find_msg(input_.context, queue);
  obtain(
      kMsg, perm, found, [&] { return ::msgget(perm.key, IPC_CREAT | IPC_EXCL | 0600); },
      [](int id) { ::msgctl(id, IPC_RMID, nullptr); });
  const AsUser as_user(kMsg, perm, found, users_.of_msg());
  if (found.exists) drain(perm);
  const DeathDeferred deferred(input_.created);
  msqid_ds status;
  if (::msgctl(perm.id, IPC_STAT, &status) != 0) fail_errno("{}", describe(kMsg, perm));
  fill(queue, status);
  if (found.exists && status.msg_qbytes == queue.head.bytes) return;
  status.msg_qbytes = queue.head.bytes;
  status.msg_perm.uid = user(perm.uid);
  status.msg_perm.gid = group(perm.gid);
  status.msg_perm.mode = static_cast<unsigned short>(perm.mode);
  if (::msgctl(perm.id, IPC_SET, &status) != 0)
    fail_errno("cannot set owner, mode and size of {}", describe(kMsg, perm));
  note_again(kMsg, perm.id);
}

// As somebody had chosen them for objects that are still to be made.
void choose_next_ids(const cryo_ns_ipc& ipc) {
  for (const ObjectKind* kind : {&kShm, &kSem, &kMsg})
    if (const std::uint32_t next = ipc.next_id[kind->number]; next != 0)
      choose_id(*kind, static_cast<std::int32_t>(next - 1));
}

void ObjectMaker::make_all() {
  for (const auto& [id, inode] : input_.context.inodes)
    if (inode.shm && inode.shm->perm.ns == ns_) make(inode);
  for (const SemSet& set : input_.context.sem_sets)
    if (set.head.perm.ns == ns_) make(set);
  for (const MsgQueue& queue : input_.context.msg_queues)
    if (queue.head.perm.ns == ns_) make(queue);
}

}  // namespace

void check_sysv(const Context& context, Findings& findings) {
  const IpcUsers users(context);
  const auto report = [&](const ObjectKind& kind, const cryo_ipc_perm& perm, const Found& found,
                          const std::vector<Rights>& theirs) {
    if (const std::string text = problem_of(kind, perm, found); !text.empty())
      findings.problem(EEXIST, "{}", text);
    else if (const std::string refused = refusal_of(kind, perm, found, theirs); !refused.empty())
      findings.problem(EACCES, "{}", refused);
  };
  for (const auto& [id, inode] : context.inodes)
    if (inode.shm && inode.shm->perm.ns == 0)
      report(kShm, inode.shm->perm, find_shm(*inode.shm), users.of_shm(id));
  for (const SemSet& set : context.sem_sets)
    if (set.head.perm.ns == 0)
      report(kSem, set.head.perm, find_sem(context, set), users.of_sem(set.head.perm.id));
  for (const MsgQueue& queue : context.msg_queues)
    if (queue.head.perm.ns == 0) report(kMsg, queue.head.perm, find_msg(context, queue), users.of_msg());
}

bool is_segment_there(const cryo_shm& saved) {
  return saved.perm.ns == 0 && find_shm(saved).same;
}

SysvNeeds sysv_needs(const Context& context) {
  SysvNeeds needs;
  for (const auto& [id, inode] : context.inodes) {
    if (!inode.shm || inode.shm->perm.ns != 0 || find_shm(*inode.shm).exists) continue;
    ++needs.segments;
    needs.pages += (inode.shm->size + context.header.page_size - 1) / context.header.page_size;
    needs.largest_segment = std::max<std::uint64_t>(needs.largest_segment, inode.shm->size);
  }
  for (const SemSet& set : context.sem_sets) {
    if (set.head.perm.ns != 0 || find_sem(context, set).exists) continue;
    ++needs.sets;
    needs.semaphores += set.values.size();
    needs.largest_set = std::max<std::uint64_t>(needs.largest_set, set.values.size());
  }
  for (const MsgQueue& queue : context.msg_queues) {
    if (queue.head.perm.ns != 0) continue;
    for (const Message& message : queue.messages)
      needs.largest_message = std::max<std::uint64_t>(needs.largest_message, message.text.size());
    needs.queues += find_msg(context, queue).exists ? 0 : 1;
  }
  return needs;
}

bool needs_sysv_ids(const Context& context) {
  const SysvNeeds needs = sysv_needs(context);
  return needs.segments + needs.sets + needs.queues != 0;
}

void restore_sysv(const FileRestoreInput& input) {
  const IpcUsers users(input.context);
  ObjectMaker(input, users, 0).make_all();
  for (const auto& [id, ns] : input.context.namespaces) {
    if (!ns.ipc) continue;
    const UniqueFd done = input.namespaces.inside_ipc(id, [&, number = id] {
      ObjectMaker(input, users, number).make_all();
      choose_next_ids(*input.context.namespaces.at(number).ipc);
      return UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    });
  }
}

void attach_segment(const Context& context, const Process& process, const cryo_shm& saved,
                    const AddressRange& place, bool read_only) {
  void* const at = ::shmat(saved.perm.id, reinterpret_cast<void*>(place.start), read_only ? SHM_RDONLY : 0);
  if (at == reinterpret_cast<void*>(-1)) fail_errno("cannot attach {}", describe(kShm, saved.perm));
  const std::uint32_t ns = process.namespaces.user;
  check_attached(saved, [&](const ipc_perm& now) {
    if (ns == 0 || saved.perm.ns != 0) return is_of_same_owner(saved.perm, now);
    return now.uid == number_inside(context, ns, saved.perm.uid).value_or(kOverflowUser);
  });
}

namespace {

// Down and up again at once: only the undoing of one of them is noted.
int note_undo(const cryo_sem_undo& undo, bool back) {
  const auto number = static_cast<unsigned short>(undo.number);
  const auto amount = static_cast<short>(back ? -undo.adjustment : undo.adjustment);
  std::array<sembuf, 2> operations{
      {{number, static_cast<short>(-amount), SEM_UNDO | IPC_NOWAIT}, {number, amount, IPC_NOWAIT}}};
  // Up first: a semaphore at zero could not go down.
  if (amount > 0) std::swap(operations[0], operations[1]);
  return ::semop(undo.id, operations.data(), operations.size());
}

bool is_set_of_job(const Context& context, std::int32_t id) {
  const auto has_id = [id](const SemSet& set) { return set.head.perm.id == id && set.head.perm.ns == 0; };
  const auto set = std::find_if(context.sem_sets.begin(), context.sem_sets.end(), has_id);
  semid_ds now;
  return set != context.sem_sets.end() && ::semctl(id, 0, IPC_STAT, SemArgument{.status = &now}) == 0 &&
         now.sem_perm.__key == set->head.perm.key && now.sem_nsems == set->values.size() &&
         is_of_same_owner(set->head.perm, now.sem_perm);
}

// The set may have gone, and one of anybody's have the id: as the process, therefore; in a user namespace it
// has no right to that anyway. Who has given up rights since he changed the semaphore has that to be undone
// all the same.
int restore_undo(const Context& context, const Process& process, const cryo_sem_undo& undo) {
  if (process.namespaces.user != 0) return note_undo(undo, false);
  int error = 0;
  {
    RightsKept kept;
    if (!kept.take(ipc_rights_of(context, process)))
      fail_errno("pid {}: cannot act as its user for the moment", process.head.pid);
    if (note_undo(undo, false) != 0) error = errno;
  }
  if (error != EACCES) return errno = error, error == 0 ? 0 : -1;
  if (!is_set_of_job(context, undo.id)) return errno = EIDRM, -1;
  if (note_undo(undo, false) != 0) return -1;
  if (is_set_of_job(context, undo.id)) return 0;
  (void)note_undo(undo, true);
  return errno = EIDRM, -1;
}

}  // namespace

void restore_sem_undo(const Context& context, const Process& process) {
  for (const cryo_sem_undo& undo : process.sem_undo) {
    if (restore_undo(context, process, undo) != 0)
      fail_errno(
          "cannot restore the SEM_UNDO adjustment of pid {} for semaphore {} of System V semaphore set {}",
          process.head.pid, undo.number, undo.id);
  }
}

std::string sysv_note(const std::string& tag, int id) {
  for (const ObjectKind* kind : {&kShm, &kSem, &kMsg})
    if (tag == kind->tag) return note_of(*kind, id);
  return {};
}

bool remove_sysv(const std::string& name) {
  const std::string tag = name.substr(0, name.find(':'));
  int id = 0;
  if ((tag != kShm.tag && tag != kSem.tag && tag != kMsg.tag) ||
      std::sscanf(name.c_str() + tag.size(), ":%d:", &id) != 1)
    return false;
  const std::string note = sysv_note(tag, id);
  // Who may not look at it removes no other user's, either.
  if (note != name && !(note.empty() && errno == EACCES)) return true;
  if (tag == kShm.tag) ::shmctl(id, IPC_RMID, nullptr);
  if (tag == kSem.tag) ::semctl(id, 0, IPC_RMID);
  if (tag == kMsg.tag) ::msgctl(id, IPC_RMID, nullptr);
  return true;
}

const CreatedObject kCreatedSysv = {
    .remove = [](const std::string& name, std::uint64_t, std::uint64_t) { return remove_sysv(name); },
    .with_rights_of_process = false};

// It is mapped only.
const FileKind kSysvKind = {.kind = CRYO_FILE_SYSV};

}  // namespace cryo
