// SPDX-License-Identifier: GPL-2.0-only
#include "restart/rights/names.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <signal.h>
#include <sys/fanotify.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <numeric>
#include <optional>

#include "base/error.h"
#include "base/open_regular.h"
#include "base/place.h"
#include "restart/common/proc_files.h"
#include "restart/rights/created_paths.h"
#include "restart/rights/credentials.h"
#include "restart/rights/thread_ids.h"
#include "restart/stub/stub.h"

namespace cryo {
namespace {

constexpr std::uint32_t kOverflowId = 65534;
constexpr timespec kLeasePause{0, 50000000};
constexpr int kLeastLeaseSeconds = 60, kMostLeaseSeconds = 180;

// What is left of the time that a process waits for leases to be broken, for all of its files together: who
// has leases on many of them gets no more.
struct LeaseWait {
  pid_t pid = 0;
  int tries = 0;
};
LeaseWait g_lease_wait;

// The kernel breaks one that is not given up after /proc/sys/fs/lease-break-time, in seconds.
int lease_seconds() {
  const int break_time = std::atoi(read_proc("sys/fs/lease-break-time").c_str());
  return std::clamp(2 * std::min(break_time, kMostLeaseSeconds), kLeastLeaseSeconds, kMostLeaseSeconds);
}

// Before the next try to open what could not be, as a lease on it is being broken.
bool wait_for_lease() {
  constexpr int kTriesInSecond = 1000000000 / kLeasePause.tv_nsec;
  if (g_lease_wait.pid != ::getpid()) g_lease_wait = {::getpid(), lease_seconds() * kTriesInSecond};
  if (g_lease_wait.tries == 0) return errno = EWOULDBLOCK, false;
  --g_lease_wait.tries;
  ::nanosleep(&kLeasePause, nullptr);
  return true;
}

UniqueFd reopen_place(int fd, int flags) {
  UniqueFd again;
  do again = open_proc(fmt::format("self/fd/{}", fd), flags | O_NONBLOCK | O_NOCTTY);
  while (!again && errno == EWOULDBLOCK && wait_for_lease());
  constexpr int kStatusFlags = O_APPEND | O_DIRECT | O_NOATIME;
  if (again && !(flags & O_NONBLOCK) && ::fcntl(again.get(), F_SETFL, flags & kStatusFlags) != 0) return {};
  return again;
}

bool has_rights_of_root(const Creds& creds) {
  constexpr std::uint64_t kFiles = (1U << CAP_DAC_OVERRIDE) | (1U << CAP_DAC_READ_SEARCH);
  return creds.head.fsuid == 0 || (creds.head.cap_effective & kFiles) != 0;
}

const NamesOf* g_current = nullptr;
bool g_any_links = false;

}  // namespace

// ---- whose names ----

std::vector<std::size_t> everybody(const Context& context) {
  std::vector<std::size_t> all(context.processes.size());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

struct NamesState {
  static const std::vector<Rights>& rights(const std::string& what) {
    if (g_current == nullptr) fail(EPERM, "{}: internal error: no owner is set for this path", what);
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
  if (rights_.empty())
    rights_.push_back({kOverflowId, kOverflowId, std::vector<std::uint32_t>{}, 0, false, false});
}

NamesOf::NamesOf(const Context& context, const std::vector<std::size_t>& processes, const File& file)
    : NamesOf(context, processes) {
  if (!file.opener || has_rights_of_root(*file.opener)) return;
  const cryo_creds& head = file.opener->head;
  Rights opener{head.fsuid,
                head.fsgid,
                file.opener->groups,
                head.cap_effective,
                false,
                false,
                OwnIds{head.uid, head.euid, head.gid, head.egid}};
  if (std::find(rights_.begin(), rights_.end(), opener) == rights_.end())
    rights_.insert(rights_.begin(), std::move(opener));
}

// Where no process of the job is of its user any more: that user's, and nothing else.
NamesOf NamesOf::maker_of(const Context& context, std::uint32_t inode) {
  const auto found = context.inodes.find(inode);
  if (found == context.inodes.end()) return {context, everybody(context)};
  const std::uint32_t uid = found->second.head.uid, gid = found->second.head.gid;
  for (std::size_t i = 0; i < context.processes.size(); ++i) {
    const Process& process = context.processes[i];
    if (!process.creds) continue;
    if (number_outside(context, process.namespaces.user, process.creds->head.fsuid, false) == uid)
      return {context, i};
  }
  if (uid == ::geteuid()) return {};
  return {kOwn, rights_of_user(context, uid, gid)};
}

NamesOf::~NamesOf() {
  g_current = outer_;
}

NamesToCheck::NamesToCheck(const Context& context, const std::vector<std::size_t>& processes) {
  if (!look_from_outside(context, processes)) names_.emplace(context, processes);
}

NamesToCheck::NamesToCheck(const Context& context, const std::vector<std::size_t>& processes,
                           const File& file) {
  if (!look_from_outside(context, processes)) names_.emplace(context, processes, file);
}

bool NamesToCheck::look_from_outside(const Context& context, const std::vector<std::size_t>& processes) {
  const bool inside = std::any_of(processes.begin(), processes.end(), [&context](std::size_t process) {
    return context.processes[process].namespaces.user != 0;
  });
  if (!inside) return false;
  names_.emplace(context, std::vector<std::size_t>{});
  names_->rights_.clear();
  return true;
}

CallersNames::CallersNames() {
  g_any_links = true;
}

CallersNames::~CallersNames() {
  g_any_links = false;
}

std::size_t NamesOf::current() {
  return g_current == nullptr ? kOwn : g_current->process_;
}

// ---- calls ----

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

// Names of cr_restart's user may have any links in them; and who has no capability has no right to lose.
bool is_plain(const std::string& path) {
  return g_current == nullptr || NamesState::rights(path).empty() || is_own_descriptor(path) || g_any_links ||
         is_capable_of_nothing();
}

int open_name(int directory, const std::string& path, int flags, mode_t mode = 0) {
  if (is_plain(path)) return ::openat(directory, path.c_str(), flags | O_CLOEXEC, mode);
  return open_at(directory, path, flags, mode);
}

// `work` is called with a directory, what is there, and AT_SYMLINK_NOFOLLOW where that is not followed.
template <typename Work>
int with_name(const std::string& path, bool follow, const Work& work, int directory = AT_FDCWD) {
  if (is_plain(path)) return work(directory, path.c_str(), follow ? 0 : AT_SYMLINK_NOFOLLOW);
  const std::optional<NameAt> place = find_place(directory, path, follow);
  return place ? work(place->directory.get(), place->name.c_str(), AT_SYMLINK_NOFOLLOW) : -1;
}

// For calls that take a path: by what has been found there, which is not looked for once more.
template <typename Work>
int by_place(const std::string& path, bool follow, const Work& work) {
  if (is_plain(path)) return work(path.c_str(), false);
  const UniqueFd place(open_at(AT_FDCWD, path, O_PATH | (follow ? 0 : O_NOFOLLOW)));
  return place ? work(fmt::format("/proc/self/fd/{}", place.get()).c_str(), true) : -1;
}

// As mkostemp(3), where the way to it is walked once.
template <typename Make>
int make_unused(std::string& path, const Make& make) {
  for (int i = 0; i < 100; ++i) {
    replace_template(path);
    const int made = with_name(path, false, [&](int at, const char* name, int) { return make(at, name); });
    if (made >= 0 || errno != EEXIST) return made;
  }
  return -1;
}

// bind(2) and connect(2) have no directory to begin at.
int look_at_way(const sockaddr* address, socklen_t size) {
  const auto* name = reinterpret_cast<const sockaddr_un*>(address);
  constexpr std::size_t kPath = offsetof(sockaddr_un, sun_path);
  if (address->sa_family != AF_UNIX || size <= kPath || name->sun_path[0] == '\0') return 0;
  const std::string path(name->sun_path, ::strnlen(name->sun_path, size - kPath));
  return is_plain(path) || path.empty() || find_place(AT_FDCWD, path, true) ? 0 : -1;
}

int mark_mount(int fd, unsigned flags, std::uint64_t mask, const std::string& path) {
  const UniqueFd place(open_without_links(AT_FDCWD, path, O_PATH));
  struct ::statx now {};
  if (!place || !names::look(place.get(), now)) return -1;
  if ((now.stx_attributes & STATX_ATTR_MOUNT_ROOT) == 0) return errno = ESTALE, -1;
  return ::fanotify_mark(fd, flags & ~static_cast<unsigned>(FAN_MARK_DONT_FOLLOW), mask, AT_FDCWD,
                         fmt::format("/proc/self/fd/{}", place.get()).c_str());
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
  // Numbers of file systems without a device are given out again, and what a user has mounted there (FUSE)
  // has said of its inodes what its server wanted.  A tmpfs that has such a number since then has no older
  // file.
  struct statfs system {};
  if (now.stx_dev_major == 0 && (::fstatfs(fd, &system) != 0 || system.f_type != TMPFS_MAGIC)) return false;
  // Where the file system does not record when a file was made: it has not been changed at all since.
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
  do fd.reset(open_name(again.directory, again.path, again.flags | O_NONBLOCK | O_NOCTTY));
  while (!fd && errno == EWOULDBLOCK && wait_for_lease());
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
  // Others have no leases, and open(2) may mean something else by O_NONBLOCK.
  if (S_ISREG(again.mode)) return reopen_place(place.get(), again.flags);
  return open_proc(fmt::format("self/fd/{}", place.get()), again.flags | O_NOCTTY);
}

UniqueFd look_up(const Again& again) {
  return UniqueFd(
      open_name(again.directory, again.path, O_PATH | (again.flags & (O_NOFOLLOW | O_DIRECTORY))));
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
  const UniqueFd place = look_up(again);
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
    UniqueFd place = look_up(again);
    if (!place) return fd;
    check_type(place.get(), again);
    fd = open_place(std::move(place), again);
  }
  if (!fd) return fd;
  for (std::size_t i = 1; i < rights.size(); ++i)
    if (!opens_the_same(rights[i], fd.get(), again)) return {};
  return fd;
}

// With the rights `also` for so long as that takes, and no longer: nobody waits for somebody's lease
// meanwhile.
UniqueFd open_with_mode(int place, mode_t also, const Again& again) {
  std::optional<DeathDeferred> deferred;
  if (again.created != nullptr) deferred.emplace(*again.created);
  const NameOfDescriptor own = name_of_descriptor(place);
  struct stat before;
  if (::fstat(place, &before) != 0) return {};
  const mode_t now = before.st_mode & 07777;
  if (::fchmodat(own.directory, own.name.c_str(), now | also, 0) != 0) return {};
  UniqueFd fd = open_proc(fmt::format("self/fd/{}", place), (again.flags & ~O_NOFOLLOW) | O_NONBLOCK);
  const int error = errno;
  if (::fchmodat(own.directory, own.name.c_str(), now, 0) != 0)
    fail_errno("{}: cannot give it back the mode {:04o}", again.path, now);
  errno = error;
  return fd;
}

// A file that was made read-only and open for writing at once, or got less rights since: its owner gives
// himself those that he lacks, for the moment. Nothing: they are not his.
UniqueFd open_as_owner(const std::vector<Rights>& rights, const Again& again) {
  RightsKept kept;
  struct stat now;
  const UniqueFd place = look_up(again);
  if (rights.size() > 1 || (!rights.empty() && !kept.take(rights.front(), Extent::kOpener)) || !place ||
      ::fstat(place.get(), &now) != 0 || !S_ISREG(now.st_mode) || now.st_uid != set_fsuid(kAsk))
    return {};
  const int mode = again.flags & O_ACCMODE;
  const mode_t wanted = (mode != O_WRONLY ? S_IRUSR : 0U) | (mode != O_RDONLY ? S_IWUSR : 0U);
  UniqueFd fd;
  do fd = open_with_mode(place.get(), wanted, again);
  while (!fd && errno == EWOULDBLOCK && wait_for_lease());
  if (fd && !(again.flags & O_NONBLOCK) &&
      ::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) & ~O_NONBLOCK) != 0)
    return {};
  return fd;
}

std::string open_error(int error) {
  if (error != EWOULDBLOCK) return way_error(error);
  return fmt::format(
      "other processes have leases on files of the job (fcntl(2), F_SETLEASE), and did not give them up in "
      "{} "
      "seconds: see /proc/locks, and try again",
      lease_seconds());
}

}  // namespace

UniqueFd names::open_again(const Again& again) {
  const std::vector<Rights>& rights = NamesState::rights(again.path);
  UniqueFd fd = open_as_all(rights, again);
  if (fd) return fd;
  const int error = errno;
  if (error == EACCES && (again.flags & O_PATH) == 0 && (fd = open_as_owner(rights, again))) return fd;
  errno = error;
  if (rights.empty() || (error != EACCES && error != EPERM))
    fail(error, "cannot open {}: {}", again.path, open_error(error));
  UniqueFd place = look_up(again);
  if (place && is_same_file(place.get(), again)) {
    // Not by its name once more: that may lead elsewhere by then.
    Again found{again};
    found.flags &= ~O_NOFOLLOW;
    if (again.flags & O_PATH) return place;
    fd = open_place(std::move(place), found);
    if (fd) return fd;
  }
  fail(error, "cannot open {} as user {}, whose process has it: {}", again.path, rights.front().uid,
       open_error(error));
}

UniqueFd names::reopen_regular(int fd, int flags) {
  return UniqueFd(with_rights(
      fmt::format("/proc/self/fd/{}", fd), [&] { return reopen_place(fd, flags).release(); }, 0,
      Extent::kOpener));
}

bool names::is_there(const Again& again) {
  const UniqueFd place = look_up(again);
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
  fail(error, "cannot change to the directory {}: {}", again.path, errno_text(error));
}

int names::set_lease(int fd, int type) {
  if (::fcntl(fd, F_SETLEASE, type) == 0) return 0;
  return errno == EACCES ? with_rights("a file", [&] { return ::fcntl(fd, F_SETLEASE, type); }) : -1;
}

bool names::may_read_all(const cryo_inode& inode) {
  const std::vector<Rights>& rights = NamesState::rights("a file");
  return is_capable_of_nothing() ||
         std::all_of(rights.begin(), rights.end(), [&](const Rights& one) { return may_read(one, inode); });
}

std::uint32_t names::owner() {
  const std::vector<Rights>& rights = NamesState::rights("a file");
  return rights.empty() || is_capable_of_nothing() ? ::geteuid() : rights.front().uid;
}

bool names::look(int fd, struct ::statx& now) {
  return ::statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME | STATX_MNT_ID, &now) == 0;
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

UniqueFd names::open_below(int directory, const std::string& path, int flags, mode_t mode) {
  return UniqueFd(with_rights(
      path, [&] { return open_name(directory, path, flags, mode); }, 0, Extent::kOpener));
}

UniqueFd names::open_in_root(int directory, const std::string& path, int flags) {
  struct open_how how {};
  how.flags = static_cast<unsigned>(flags | O_CLOEXEC);
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  return UniqueFd(with_rights(
      path,
      [&] { return static_cast<int>(::syscall(SYS_openat2, directory, path.c_str(), &how, sizeof(how))); }, 0,
      Extent::kOpener));
}

UniqueFd names::open(const std::string& path, int flags, mode_t mode) {
  return names::open_below(AT_FDCWD, path, flags, mode);
}

UniqueFd names::open_regular(const std::string& path) {
  return UniqueFd(with_rights(
      path,
      [&] {
        const UniqueFd place(open_name(AT_FDCWD, path, O_PATH));
        struct stat now;
        struct statfs system;
        if (!place || ::fstat(place.get(), &now) != 0 || ::fstatfs(place.get(), &system) != 0) return -1;
        if (!S_ISREG(now.st_mode) || is_kernel_interface(system)) return errno = ESTALE, -1;
        const NameOfDescriptor own = name_of_descriptor(place.get());
        return ::openat(own.directory, own.name.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
      },
      0, Extent::kOpener));
}

UniqueFd names::open_fifo(const std::string& path, int flags, int directory) {
  return UniqueFd(with_rights(
      path, [&] { return open_name(directory, path, flags); }, 0, Extent::kMaker));
}

UniqueFd names::make_temporary(std::string& name_template) {
  return UniqueFd(with_rights(
      name_template,
      [&] {
        return make_unused(name_template, [](int at, const char* name) {
          return ::openat(at, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        });
      },
      0, Extent::kOpener));
}

bool names::make_temporary_directory(std::string& name_template) {
  return with_rights(name_template, [&] {
           return make_unused(name_template,
                              [](int at, const char* name) { return ::mkdirat(at, name, 0700); });
         }) == 0;
}

UniqueFd names::make_memfd(const std::string& name) {
  return UniqueFd(as_maker([&] { return ::memfd_create(name.c_str(), MFD_CLOEXEC); }));
}

int names::stat(const std::string& path, struct stat& now) {
  return with_rights(path, [&] {
    return with_name(path, true,
                     [&](int at, const char* name, int flag) { return ::fstatat(at, name, &now, flag); });
  });
}

int names::lstat(const std::string& path, struct stat& now) {
  return with_rights(path, [&] {
    return with_name(path, false,
                     [&](int at, const char* name, int flag) { return ::fstatat(at, name, &now, flag); });
  });
}

int names::access(const std::string& path, int mode, int flags) {
  return with_rights(path, [&] {
    return with_name(path, (flags & AT_SYMLINK_NOFOLLOW) == 0, [&](int at, const char* name, int flag) {
      return static_cast<int>(::syscall(SYS_faccessat2, at, name, mode, AT_EACCESS | flags | flag));
    });
  });
}

int names::access_open(int place, int mode) {
  return with_rights("a file", [&] {
    return static_cast<int>(::syscall(SYS_faccessat2, place, "", mode, AT_EACCESS | AT_EMPTY_PATH));
  });
}

int names::unlinkat(int directory, const std::string& name, int flags) {
  return with_rights(name, [&] {
    return with_name(
        name, false, [&](int at, const char* last, int) { return ::unlinkat(at, last, flags); }, directory);
  });
}

int names::mkdir_below(int directory, const std::string& path, mode_t mode) {
  return with_rights(path, [&] {
    return with_name(
        path, false, [&](int at, const char* name, int) { return ::mkdirat(at, name, mode); }, directory);
  });
}

int names::mkdir(const std::string& path, mode_t mode) {
  return names::mkdir_below(AT_FDCWD, path, mode);
}

int names::mkfifo(const std::string& path, mode_t mode) {
  return with_rights(path, [&] {
    return with_name(path, false, [&](int at, const char* name, int) { return ::mkfifoat(at, name, mode); });
  });
}

int names::chmod(const std::string& path, mode_t mode) {
  return with_rights(path, [&] {
    if (is_plain(path)) return ::chmod(path.c_str(), mode);
    const UniqueFd file(open_at(AT_FDCWD, path, O_PATH));
    const NameOfDescriptor own = name_of_descriptor(file.get());
    return file ? ::fchmodat(own.directory, own.name.c_str(), mode, 0) : -1;
  });
}

int names::chown(const std::string& path, uid_t uid, gid_t gid) {
  return with_rights(path, [&] {
    return with_name(path, false, [&](int at, const char* name, int flag) {
      return ::fchownat(at, name, uid, gid, flag);
    });
  });
}

int names::rename(const std::string& from, const std::string& to) {
  return with_rights(to, [&] {
    return with_name(from, false, [&](int at, const char* name, int) {
      return with_name(to, false, [&](int to_at, const char* to_name, int) {
        return ::renameat(at, name, to_at, to_name);
      });
    });
  });
}

int names::link(const std::string& from, const std::string& to) {
  return with_rights(to, [&] {
    return with_name(from, false, [&](int at, const char* name, int) {
      return with_name(to, false, [&](int to_at, const char* to_name, int) {
        return ::linkat(at, name, to_at, to_name, 0);
      });
    });
  });
}

int names::remove_acl(int fd) {
  constexpr const char* kAcl = "system.posix_acl_access";
  if (::fgetxattr(fd, kAcl, nullptr, 0) < 0) return 0;
  return with_rights("a file", [&] { return ::fremovexattr(fd, kAcl); });
}

int names::fchmod(int fd, mode_t mode) {
  return with_rights("a file", [&] { return ::fchmod(fd, mode); });
}

int names::fchown(int fd, uid_t uid, gid_t gid) {
  return with_rights("a file", [&] { return ::fchown(fd, uid, gid); });
}

int names::chdir(const std::string& path) {
  return with_rights(path, [&] {
    const UniqueFd place(open_name(AT_FDCWD, path, O_PATH | O_DIRECTORY));
    return place ? ::fchdir(place.get()) : -1;
  });
}

int names::chroot_here() {
  return with_rights(
      "the root directory", [&] { return ::chroot("."); }, bit(CAP_SYS_CHROOT));
}

int names::bind(int fd, const sockaddr* address, socklen_t size) {
  return with_rights("a socket",
                     [&] { return look_at_way(address, size) != 0 ? -1 : ::bind(fd, address, size); });
}

int names::connect(int fd, const sockaddr* address, socklen_t size) {
  return with_rights("a socket",
                     [&] { return look_at_way(address, size) != 0 ? -1 : ::connect(fd, address, size); });
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
  return with_rights(path, [&] {
    return by_place(path, (mask & IN_DONT_FOLLOW) == 0, [&](const char* place, bool found) {
      return ::inotify_add_watch(fd, place, found ? mask & ~IN_DONT_FOLLOW : mask);
    });
  });
}

int names::fanotify_mark(int fd, unsigned flags, std::uint64_t mask, const std::string& path) {
  return with_rights(
      path,
      [&] {
        // With it, events of all that anybody opens come with open files: of no other mount than the one that
        // has been there.
        if ((flags & (FAN_MARK_MOUNT | FAN_MARK_FILESYSTEM)) != 0) return mark_mount(fd, flags, mask, path);
        return by_place(path, (flags & FAN_MARK_DONT_FOLLOW) == 0, [&](const char* place, bool found) {
          return ::fanotify_mark(fd, found ? flags & ~static_cast<unsigned>(FAN_MARK_DONT_FOLLOW) : flags,
                                 mask, AT_FDCWD, place);
        });
      },
      bit(CAP_SYS_ADMIN));
}

}  // namespace cryo
