// SPDX-License-Identifier: GPL-2.0-only
#include "restart/names.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <signal.h>
#include <sys/fanotify.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <numeric>

#include "base/error.h"
#include "restart/credentials.h"
#include "restart/proc_files.h"
#include "restart/stub.h"

namespace cryo {
namespace {

constexpr auto kAsk = static_cast<std::uint32_t>(-1);  // setfsuid(2): only answers
constexpr std::uint32_t kNobody = 65534;
constexpr timespec kLeasePause{0, 50000000};
constexpr int kLeaseTries = 1200;  // a minute: more than /proc/sys/fs/lease-break-time

// All of the thread alone: there is no other that makes something.
std::uint32_t set_fsuid(std::uint32_t uid) {
  return static_cast<std::uint32_t>(::syscall(SYS_setfsuid, uid));
}

std::uint32_t set_fsgid(std::uint32_t gid) {
  return static_cast<std::uint32_t>(::syscall(SYS_setfsgid, gid));
}

bool set_uids(std::uint32_t real, std::uint32_t effective, std::uint32_t saved) {
  return ::syscall(SYS_setresuid, real, effective, saved) == 0;
}

bool set_gids(std::uint32_t real, std::uint32_t effective, std::uint32_t saved) {
  return ::syscall(SYS_setresgid, real, effective, saved) == 0;
}

bool set_groups(const std::vector<std::uint32_t>& groups) {
  return ::syscall(SYS_setgroups, groups.size(), groups.data()) == 0;
}

std::vector<std::uint32_t> own_groups() {
  std::vector<std::uint32_t> groups(static_cast<std::size_t>(std::max(0, ::getgroups(0, nullptr))));
  const int got = ::getgroups(static_cast<int>(groups.size()), groups.data());
  groups.resize(static_cast<std::size_t>(std::max(0, got)));
  return groups;
}

bool set_capabilities(std::uint64_t effective, std::uint64_t permitted, std::uint64_t inheritable) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
  for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; ++i)
    data[i] = {static_cast<__u32>(effective >> (32 * i)), static_cast<__u32>(permitted >> (32 * i)),
               static_cast<__u32>(inheritable >> (32 * i))};
  return ::syscall(SYS_capset, &header, data) == 0;
}

bool is_capable_of_nothing() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
  if (::syscall(SYS_capget, &header, data) != 0) fail_errno("capget");
  return data[0].permitted == 0 && data[1].permitted == 0;
}

// In the parent of the user namespace `ns`, and so on up to cr_restart's.
std::optional<std::uint32_t> number_outside(const Context& context, std::uint32_t ns, std::uint32_t id,
                                            bool group) {
  while (ns != 0) {
    const Namespace& space = context.namespaces.at(ns);
    const std::vector<cryo_id_range>& ranges = group ? space.gids : space.uids;
    const auto range = std::find_if(ranges.begin(), ranges.end(), [id](const cryo_id_range& other) {
      return id >= other.first && id - other.first < other.count;
    });
    if (range == ranges.end()) return {};
    id = range->lower_first + (id - range->first);
    ns = space.head.owner;
  }
  return id;
}

// Who made the outermost of its user namespaces.
std::uint32_t maker_of(const Context& context, std::uint32_t ns) {
  while (context.namespaces.at(ns).head.owner != 0) ns = context.namespaces.at(ns).head.owner;
  return context.namespaces.at(ns).user->owner_uid;
}

const NamesOf* g_current = nullptr;

}  // namespace

Rights rights_of(const Context& context, const Process& process) {
  if (process.namespaces.user == 0) return rights_inside(context, process);
  const std::uint32_t ns = process.namespaces.user;
  const cryo_creds& head = process.creds->head;
  Rights rights;
  rights.uid = number_outside(context, ns, head.fsuid, false).value_or(maker_of(context, ns));
  rights.gid = number_outside(context, ns, head.fsgid, true).value_or(kNobody);
  rights.groups.emplace();
  if (process.outer_groups) {
    rights.groups = *process.outer_groups;
  } else {
    for (const std::uint32_t group : process.creds->groups)
      if (const auto outside = number_outside(context, ns, group, true)) rights.groups->push_back(*outside);
    std::sort(rights.groups->begin(), rights.groups->end());
  }
  const auto outside = [&](std::uint32_t id, bool group, std::uint32_t otherwise) {
    return number_outside(context, ns, id, group).value_or(otherwise);
  };
  rights.ids = {outside(head.uid, false, rights.uid), outside(head.euid, false, rights.uid),
                outside(head.gid, true, rights.gid), outside(head.egid, true, rights.gid)};
  return rights;
}

Rights rights_of_user(const Context& context, std::uint32_t uid, std::uint32_t gid) {
  for (const Process& process : context.processes) {
    if (!process.creds || process.namespaces.user != 0) continue;
    if (process.creds->head.euid == uid && process.creds->head.egid == gid) return rights_of(context, process);
  }
  return {uid, gid, std::vector<std::uint32_t>{}, 0, false, false, OwnIds{uid, uid, gid, gid}};
}

Rights ipc_rights_of(const Context& context, const Process& process) {
  Rights rights = rights_of(context, process);
  rights.effective = true;
  const std::uint32_t ns = process.namespaces.user;
  if (const auto uid = number_outside(context, ns, process.creds->head.euid, false))
    rights.uid = *uid;
  else
    rights.uid = maker_of(context, ns);
  return rights;
}

Rights rights_inside(const Context& context, const Process& process) {
  const cryo_creds& head = process.creds->head;
  Rights rights{head.fsuid, head.fsgid, process.creds->groups, head.cap_effective, false, false};
  // What it was outside may have no number to come back to.
  rights.for_good = process.namespaces.user != 0;
  if (!rights.for_good) rights.ids = {head.uid, head.euid, head.gid, head.egid};
  // Those it has been given before it entered.
  if (needs_outer_groups(context, process)) rights.groups.reset();
  return rights;
}

// ---- whose names ----

std::vector<std::size_t> everybody(const Context& context) {
  std::vector<std::size_t> all(context.processes.size());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

struct NamesState {
  static const std::vector<Rights>& rights(const std::string& what) {
    if (g_current == nullptr) fail(EPERM, "{}: nobody has said whose name this is", what);
    return g_current->rights_;
  }
};

NamesOf::NamesOf() : process_(kOwn), outer_(g_current) {
  g_current = this;
}

NamesOf::NamesOf(std::size_t process, Rights rights) : NamesOf() {
  process_ = process;
  rights_.push_back(std::move(rights));
}

NamesOf::NamesOf(const Context& context, std::size_t process)
    : NamesOf(context, std::vector<std::size_t>{process}) {}

NamesOf::NamesOf(const Context& context, const std::vector<std::size_t>& processes) : NamesOf() {
  for (const std::size_t process : processes) {
    if (!context.processes[process].creds) continue;  // it has exited
    Rights rights = rights_of(context, context.processes[process]);
    if (std::find(rights_.begin(), rights_.end(), rights) != rights_.end()) continue;
    if (rights_.empty()) process_ = process;
    rights_.push_back(std::move(rights));
  }
  // Those without any of root's first: what several have is made with their rights.
  std::stable_partition(rights_.begin(), rights_.end(), [](const Rights& rights) { return rights.uid != 0; });
  for (const std::size_t process : processes)
    if (!rights_.empty() && context.processes[process].creds &&
        rights_of(context, context.processes[process]) == rights_.front()) {
      process_ = process;
      break;
    }
  if (rights_.empty()) rights_.push_back({kNobody, kNobody, std::vector<std::uint32_t>{}, 0, false, false});
}

// Where no process of the job is of its user any more: that user's, and nothing else.
NamesOf NamesOf::maker_of(const Context& context, std::uint32_t inode) {
  const auto found = context.inodes.find(inode);
  if (found == context.inodes.end()) return {context, everybody(context)};
  const std::uint32_t uid = found->second.head.uid, gid = found->second.head.gid;
  for (std::size_t i = 0; i < context.processes.size(); ++i) {
    const Process& process = context.processes[i];
    if (!process.creds) continue;
    if (number_outside(context, process.namespaces.user, process.creds->head.fsuid, false) == uid) return {context, i};
  }
  if (uid == ::geteuid()) return {};
  return {kOwn, rights_of_user(context, uid, gid)};
}

NamesOf::~NamesOf() {
  g_current = outer_;
}

NamesToCheck::NamesToCheck(const Context& context, const std::vector<std::size_t>& processes) {
  const bool inside = std::any_of(processes.begin(), processes.end(), [&context](std::size_t process) {
    return context.processes[process].namespaces.user != 0;
  });
  names_.emplace(context, inside ? std::vector<std::size_t>{} : processes);
  if (inside) names_->rights_.clear();
}

std::size_t NamesOf::current() {
  return g_current == nullptr ? kOwn : g_current->process_;
}

// ---- rights ----

SteadyProcess::SteadyProcess() : dumpable_(::prctl(PR_GET_DUMPABLE)), parent_(::getppid()) {
  if (::prctl(PR_GET_PDEATHSIG, &death_signal_) != 0) death_signal_ = 0;
}

void SteadyProcess::steady() const {
  if (dumpable_ == 1) ::prctl(PR_SET_DUMPABLE, 1);
  steady_unseen();
}

void SteadyProcess::steady_unseen() const {
  if (death_signal_ == 0) return;
  ::prctl(PR_SET_PDEATHSIG, death_signal_);
  if (::getppid() != parent_) ::_exit(stub::kFailureStatus);
}

void SteadyProcess::unseen() const {
  if (is_capable_of_nothing()) return steady();
  if (::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) fail_errno("PR_SET_DUMPABLE");
  steady_unseen();
}

RightsKept::RightsKept() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
  if (::syscall(SYS_capget, &header, data) != 0) fail_errno("capget");
  for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; ++i) {
    effective_ |= std::uint64_t{data[i].effective} << (32 * i);
    permitted_ |= std::uint64_t{data[i].permitted} << (32 * i);
    inheritable_ |= std::uint64_t{data[i].inheritable} << (32 * i);
  }
  uid_ = set_fsuid(kAsk);
  gid_ = set_fsgid(kAsk);
  if (::getresuid(&ids_.uid, &ids_.euid, &suid_) != 0 || ::getresgid(&ids_.gid, &ids_.egid, &sgid_) != 0)
    fail_errno("cannot ask for the user and group ids");
  groups_ = own_groups();
}

OwnIds RightsKept::ids_for(const Rights& rights, Extent extent) const {
  OwnIds ids = ids_;
  if (rights.effective) ids.euid = rights.uid;
  if (!rights.ids || extent == Extent::kFiles) return ids;
  ids.euid = rights.ids->euid;
  ids.egid = rights.ids->egid;
  if (extent == Extent::kMaker) ids.uid = rights.ids->uid, ids.gid = rights.ids->gid;
  return ids;
}

// With all that is permitted in effect.  The kernel takes that from who has been root and has no id of root's any more.
bool RightsKept::set_all(const Rights& rights, const OwnIds& ids, std::uint64_t capabilities) const {
  if (rights.groups && *rights.groups != groups_ && !set_groups(*rights.groups)) return false;
  if (ids != ids_ && (!set_gids(ids.gid, ids.egid, kAsk) || !set_uids(ids.uid, ids.euid, suid_ == 0 ? kAsk : ids_.euid)))
    return false;
  // What of it went with the effective user.
  if (ids != ids_ && !set_capabilities(permitted_, permitted_, inheritable_)) return false;
  set_fsgid(rights.gid);
  set_fsuid(rights.uid);
  errno = EPERM;
  return set_fsgid(kAsk) == rights.gid && set_fsuid(kAsk) == rights.uid &&
         set_capabilities(capabilities, permitted_, inheritable_);
}

bool RightsKept::take(const Rights& rights, Extent extent) {
  if (permitted_ == 0) return true;
  const std::uint64_t wanted = permitted_ & rights.capabilities;
  const OwnIds ids = ids_for(rights, extent);
  const bool other_groups = rights.groups && *rights.groups != groups_;
  if (rights.uid == uid_ && rights.gid == gid_ && !other_groups && ids == ids_ && wanted == effective_) return true;
  steady_.emplace();
  changed_ = true;
  for_good_ = rights.for_good;
  other_ids_ = ids != ids_;
  if (!set_capabilities(permitted_, permitted_, inheritable_) || !set_all(rights, ids, wanted)) {
    const int error = errno;
    restore();
    changed_ = false;
    errno = error;
    return false;
  }
  if (other_ids_)
    steady_->steady_unseen();
  else
    steady_->steady();
  return true;
}

void RightsKept::restore() const {
  // Nothing of it can fail: all of it was so before, and the capabilities are still permitted.
  bool good = set_capabilities(permitted_, permitted_, inheritable_);
  if (other_ids_) {  // those that have no number in a user namespace cannot be set
    good &= set_gids(ids_.gid, ids_.egid, sgid_) && set_uids(ids_.uid, ids_.euid, suid_);
    good &= set_capabilities(permitted_, permitted_, inheritable_);
  }
  if (!for_good_) {
    set_fsuid(uid_);
    set_fsgid(gid_);
    good &= own_groups() == groups_ || set_groups(groups_);
    good &= set_fsuid(kAsk) == uid_ && set_fsgid(kAsk) == gid_;
  }
  good &= set_capabilities(effective_, permitted_, inheritable_);
  if (!good) ::_exit(stub::kFailureStatus);
  steady_->steady();
}

RightsKept::~RightsKept() {
  if (!changed_) return;
  const int error = errno;
  restore();
  errno = error;
}

namespace {

// Calls `work` once with the rights of the first of those whose names these are.
// `also`: capabilities that the call takes for something other than the name.
template <typename Work>
auto with_rights(const std::string& what, const Work& work, std::uint64_t also = 0,
                 Extent extent = Extent::kFiles) -> decltype(work()) {
  const std::vector<Rights>& all = NamesState::rights(what);
  if (all.empty()) return work();
  Rights rights = all.front();
  rights.capabilities |= also;
  RightsKept kept;
  if (!kept.take(rights, extent)) return decltype(work())(-1);
  return work();
}

constexpr std::uint64_t bit(int capability) {
  return std::uint64_t{1} << capability;
}

}  // namespace

AsMaker::AsMaker(std::uint64_t also) {
  const std::vector<Rights>& all = NamesState::rights("a kernel object");
  if (all.empty()) return;
  Rights rights = all.front();
  rights.capabilities |= also;
  if (!kept_.take(rights, Extent::kMaker)) fail_errno("cannot act as user {} for the moment", rights.uid);
}

// ---- files of the checkpoint ----

bool is_same_file(int fd, const Again& again) {
  struct ::statx now {};
  if (::statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, &now) != 0) return false;
  // Numbers of file systems without a device are given out again, and what a user has mounted there (FUSE) has
  // said of its inodes what its server wanted.  A tmpfs that has such a number since then has no older file.
  struct statfs system {};
  if (now.stx_dev_major == 0 && (::fstatfs(fd, &system) != 0 || system.f_type != TMPFS_MAGIC)) return false;
  // Where the file system does not tell when a file was made: it has not been changed at all since.
  const struct statx_timestamp& time = (now.stx_mask & STATX_BTIME) != 0 ? now.stx_btime : now.stx_ctime;
  const auto seconds = static_cast<std::int64_t>(again.created_ns / 1000000000);
  const bool older =
      time.tv_sec < seconds || (time.tv_sec == seconds && time.tv_nsec <= again.created_ns % 1000000000);
  return older && ::makedev(now.stx_dev_major, now.stx_dev_minor) == again.dev && now.stx_ino == again.ino &&
         (again.mode == 0 || (now.stx_mode & S_IFMT) == (again.mode & S_IFMT)) &&
         (!again.uid || *again.uid == now.stx_uid);
}

namespace {

bool is_one(int one, int other) {
  struct stat a, b;
  return ::fstat(one, &a) == 0 && ::fstat(other, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

// By its name, where O_NOFOLLOW is to be seen in its flags. What has the name by then may be another file,
// which must not hold us up.
UniqueFd open_by_name(const UniqueFd& place, const Again& again) {
  UniqueFd fd;
  for (int i = 0; !fd && i < kLeaseTries; ++i) {
    if (i > 0) ::nanosleep(&kLeasePause, nullptr);
    fd.reset(::openat(again.directory, again.path.c_str(), again.flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    if (!fd && errno != EWOULDBLOCK) break;  // a lease, which is being broken
  }
  if (!fd) return fd;
  if (!is_one(fd.get(), place.get())) return errno = ESTALE, UniqueFd();
  if (again.flags & O_NONBLOCK) return fd;
  if (::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) & ~O_NONBLOCK) != 0) return {};
  return fd;
}

// The file behind `place`, an O_PATH descriptor.
UniqueFd open_place(UniqueFd place, const Again& again) {
  if (again.flags & O_PATH) return place;
  if (again.flags & O_NOFOLLOW) return open_by_name(place, again);
  return open_proc(fmt::format("self/fd/{}", place.get()), again.flags | O_NOCTTY);
}

UniqueFd find_place(const Again& again) {
  return UniqueFd(::openat(again.directory, again.path.c_str(),
                           O_PATH | O_CLOEXEC | (again.flags & (O_NOFOLLOW | O_DIRECTORY))));
}

void check_type(int fd, const Again& again) {
  struct stat now;
  if (::fstat(fd, &now) != 0) fail_errno("cannot stat {}", again.path);
  if (again.mode != 0 && (now.st_mode & S_IFMT) != (again.mode & S_IFMT))
    fail(ESTALE, "{} is no longer a file of the same type", again.path);
}

// Would `rights`, too, have opened what is open as `fd`?  With errno.
bool opens_the_same(const Rights& rights, int fd, const Again& again) {
  RightsKept kept;
  if (!kept.take(rights)) return false;
  const UniqueFd place = find_place(again);
  if (!place) return false;
  if (!is_one(place.get(), fd)) return errno = EACCES, false;
  if (again.flags & O_PATH) return true;
  const int mode = again.flags & O_ACCMODE;
  const int wanted = (mode != O_WRONLY ? R_OK : 0) | (mode != O_RDONLY ? W_OK : 0);
  constexpr int kFlags = AT_EMPTY_PATH | AT_EACCESS;
  return ::syscall(SYS_faccessat2, place.get(), "", wanted, kFlags) == 0;
}

// Nothing, with errno: one of them may not.
UniqueFd open_as_all(const std::vector<Rights>& rights, const Again& again) {
  UniqueFd fd;
  {
    RightsKept kept;
    if (!rights.empty() && !kept.take(rights.front(), Extent::kOpener)) return fd;
    UniqueFd place = find_place(again);
    if (!place) return fd;
    check_type(place.get(), again);
    fd = open_place(std::move(place), again);
  }
  if (!fd) return fd;
  check_type(fd.get(), again);
  for (std::size_t i = 1; i < rights.size(); ++i)
    if (!opens_the_same(rights[i], fd.get(), again)) return {};
  return fd;
}

// A file that was made read-only and open for writing at once, or got less rights since: its owner gives himself those that he lacks, for
// the moment. Nothing: they are not his.
UniqueFd open_as_owner(const std::vector<Rights>& rights, const Again& again) {
  RightsKept kept;
  struct stat now;
  const UniqueFd place = find_place(again);
  if (rights.size() > 1 || (!rights.empty() && !kept.take(rights.front(), Extent::kOpener)) || !place ||
      ::fstat(place.get(), &now) != 0 || !S_ISREG(now.st_mode) || now.st_uid != set_fsuid(kAsk))
    return {};
  const std::string path = fmt::format("/proc/self/fd/{}", place.get());
  const int mode = again.flags & O_ACCMODE;
  const mode_t wanted = (mode != O_WRONLY ? S_IRUSR : 0U) | (mode != O_RDONLY ? S_IWUSR : 0U);
  if (::chmod(path.c_str(), (now.st_mode & 07777) | wanted) != 0) return {};
  UniqueFd fd = open_proc(path.substr(6), again.flags & ~O_NOFOLLOW);
  const int error = errno;
  if (::chmod(path.c_str(), now.st_mode & 07777) != 0)
    fail_errno("{}: cannot give it back the mode {:04o}", again.path, now.st_mode & 07777);
  errno = error;
  return fd;
}

}  // namespace

UniqueFd names::open_again(const Again& again) {
  const std::vector<Rights>& rights = NamesState::rights(again.path);
  UniqueFd fd = open_as_all(rights, again);
  if (fd) return fd;
  const int error = errno;
  if (error == EACCES && (again.flags & O_PATH) == 0 && (fd = open_as_owner(rights, again))) return fd;
  errno = error;
  if (rights.empty() || (error != EACCES && error != EPERM)) fail_errno("cannot open {}", again.path);
  UniqueFd place = find_place(again);
  if (place && is_same_file(place.get(), again)) {
    // Not by its name once more: that may lead elsewhere by then.
    Again found{again};
    found.flags &= ~O_NOFOLLOW;
    if (again.flags & O_PATH) return place;
    fd = open_place(std::move(place), found);
    if (fd) return fd;
  }
  fail(error, "cannot open {} as user {}, whose process has it: {}", again.path, rights.front().uid,
       std::strerror(error));
}

bool names::is_there(const Again& again) {
  const UniqueFd place = find_place(again);
  return place && is_same_file(place.get(), again);
}

void names::enter(const Again& again) {
  Again directory{again};
  directory.flags = O_PATH | O_DIRECTORY;
  const UniqueFd place = names::open_again(directory);
  if (with_rights(again.path, [&] { return ::fchdir(place.get()); }) == 0) return;
  const int error = errno;
  if ((error == EACCES || error == EPERM) && is_same_file(place.get(), again) && ::fchdir(place.get()) == 0)
    return;
  fail(error, "cannot change to the directory {}: {}", again.path, std::strerror(error));
}

std::uint32_t names::owner() {
  const std::vector<Rights>& rights = NamesState::rights("a file");
  return rights.empty() || is_capable_of_nothing() ? ::geteuid() : rights.front().uid;
}

bool names::look(int fd, struct ::statx& now) {
  return ::statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, &now) == 0;
}

bool names::are_owner_of(const std::string& path) {
  struct stat now;
  return names::stat(path, now) == 0 && S_ISREG(now.st_mode) && now.st_uid == names::owner();
}

bool names::may_give_away() {
  const std::vector<Rights>& rights = NamesState::rights("a file");
  return !is_capable_of_nothing() && (rights.empty() || (rights.front().capabilities & bit(CAP_CHOWN)) != 0);
}

int names::set_time(int place, const cryo_inode& wanted) {
  const std::string path = fmt::format("/proc/self/fd/{}", place);
  const timespec times[] = {{0, UTIME_OMIT}, {wanted.mtime_sec, static_cast<long>(wanted.mtime_nsec)}};
  return with_rights(path, [&] { return ::utimensat(AT_FDCWD, path.c_str(), times, 0); });
}

int names::set_attributes(int place, const cryo_inode& wanted) {
  const std::string path = fmt::format("/proc/self/fd/{}", place);
  return with_rights(path, [&] {
    struct stat now;
    if (::fstat(place, &now) != 0) return -1;
    if (::chmod(path.c_str(), wanted.mode & 07777) != 0) return -1;
    if (now.st_uid == wanted.uid && now.st_gid == wanted.gid) return 0;
    return ::fchownat(place, "", wanted.uid, wanted.gid, AT_EMPTY_PATH);
  });
}

// ---- system calls ----

UniqueFd names::open(const std::string& path, int flags, mode_t mode) {
  return UniqueFd(
      with_rights(path, [&] { return ::open(path.c_str(), flags | O_CLOEXEC, mode); }, 0, Extent::kOpener));
}

UniqueFd names::open_fifo(const std::string& path, int flags) {
  return UniqueFd(
      with_rights(path, [&] { return ::open(path.c_str(), flags | O_CLOEXEC); }, 0, Extent::kMaker));
}

UniqueFd names::make_temporary(std::string& name_template) {
  return UniqueFd(with_rights(
      name_template, [&] { return ::mkostemp(name_template.data(), O_CLOEXEC); }, 0, Extent::kOpener));
}

bool names::make_temporary_directory(std::string& name_template) {
  return with_rights(name_template, [&] { return ::mkdtemp(name_template.data()) == nullptr ? -1 : 0; }) == 0;
}

UniqueFd names::make_memfd(const std::string& name) {
  return UniqueFd(as_maker([&] { return ::memfd_create(name.c_str(), MFD_CLOEXEC); }));
}

int names::stat(const std::string& path, struct stat& now) {
  return with_rights(path, [&] { return ::stat(path.c_str(), &now); });
}

int names::lstat(const std::string& path, struct stat& now) {
  return with_rights(path, [&] { return ::lstat(path.c_str(), &now); });
}

int names::access(const std::string& path, int mode, int flags) {
  return with_rights(path, [&] { return ::faccessat(AT_FDCWD, path.c_str(), mode, AT_EACCESS | flags); });
}

int names::unlinkat(int directory, const std::string& name, int flags) {
  return with_rights(name, [&] { return ::unlinkat(directory, name.c_str(), flags); });
}

int names::mkdir(const std::string& path, mode_t mode) {
  return with_rights(path, [&] { return ::mkdir(path.c_str(), mode); });
}

int names::mkfifo(const std::string& path, mode_t mode) {
  return with_rights(path, [&] { return ::mkfifo(path.c_str(), mode); });
}

int names::chmod(const std::string& path, mode_t mode) {
  return with_rights(path, [&] { return ::chmod(path.c_str(), mode); });
}

int names::chown(const std::string& path, uid_t uid, gid_t gid) {
  return with_rights(path, [&] { return ::lchown(path.c_str(), uid, gid); });
}

int names::rename(const std::string& from, const std::string& to) {
  return with_rights(to, [&] { return ::rename(from.c_str(), to.c_str()); });
}

int names::link(const std::string& from, const std::string& to) {
  return with_rights(to, [&] { return ::link(from.c_str(), to.c_str()); });
}

int names::fchmod(int fd, mode_t mode) {
  return with_rights("a file", [&] { return ::fchmod(fd, mode); });
}

int names::fchown(int fd, uid_t uid, gid_t gid) {
  return with_rights("a file", [&] { return ::fchown(fd, uid, gid); });
}

int names::chdir(const std::string& path) {
  return with_rights(path, [&] { return ::chdir(path.c_str()); });
}

int names::bind(int fd, const sockaddr* address, socklen_t size) {
  return with_rights("a socket", [&] { return ::bind(fd, address, size); });
}

int names::connect(int fd, const sockaddr* address, socklen_t size) {
  return with_rights("a socket", [&] { return ::connect(fd, address, size); });
}

ssize_t names::sendmsg(int fd, const msghdr& message, int flags) {
  return with_rights(
      "a socket", [&] { return ::sendmsg(fd, &message, flags); },
      bit(CAP_SYS_ADMIN) | bit(CAP_SETUID) | bit(CAP_SETGID), Extent::kMaker);
}

UniqueFd names::mq_open(const std::string& name, int flags, mode_t mode, mq_attr* attributes) {
  return UniqueFd(with_rights(
      name, [&] { return ::mq_open(name.c_str(), flags, mode, attributes); }, bit(CAP_SYS_RESOURCE),
      Extent::kMaker));
}

int names::mq_unlink(const std::string& name) {
  return with_rights(name, [&] { return ::mq_unlink(name.c_str()); });
}

int names::inotify_add_watch(int fd, const std::string& path, std::uint32_t mask) {
  return with_rights(path, [&] { return ::inotify_add_watch(fd, path.c_str(), mask); });
}

int names::fanotify_mark(int fd, unsigned flags, std::uint64_t mask, const std::string& path) {
  return with_rights(
      path, [&] { return ::fanotify_mark(fd, flags, mask, AT_FDCWD, path.c_str()); }, bit(CAP_SYS_ADMIN));
}

}  // namespace cryo
