// SPDX-License-Identifier: GPL-2.0-only
#include "cr_restart/pid_namespace.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/unique_fd.h"
#include "context/mountinfo.h"
#include "cr_restart/forward.h"
#include "cr_restart/job_terminal.h"
#include "restart/common/proc_files.h"
#include "restart/ns/namespaces.h"
#include "restart/rights/credentials.h"
#include "restart/rights/thread_ids.h"

namespace cryo {
namespace {

constexpr int kOwnIds = 4096;  // the last ids before pid_max: those of cr_restart, which are seldom a job's
constexpr useconds_t kFirstLook = 10000;  // us, at whether anybody is left;
constexpr useconds_t kLongestLook = 1000000;

struct PipeEnds {
  UniqueFd read, write;
};

PipeEnds make_pipe_ends() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) fail_errno("--pid-ns: cannot create a pipe");
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

pid_t fork_here(const char* what) {
  const pid_t pid = ::fork();
  if (pid < 0) fail_errno("--pid-ns: cannot fork {}", what);
  return pid;
}

// ENOSPC is a limit's (unshare(2)), and no lack of room.
[[noreturn]] void fail_unshare(const char* what, bool own_users) {
  const int error = errno;
  const std::string hint = own_users ? user_namespace_switch() : std::string();
  if (error == ENOSPC)
    fail(EPERM,
         "--pid-ns: cannot create {}: limit reached: user.max_user_namespaces, user.max_pid_namespaces or "
         "user.max_mnt_namespaces (sysctl -a), or 32 nested ones{}",
         what, hint);
  fail(error, "--pid-ns: cannot create {}: {}{}", what, errno_text(error), hint);
}

// AppArmor may let the namespace be made, and refuse what can be done in it.
[[noreturn]] void fail_inside(const char* what) {
  const int error = errno;
  fail(error, "--pid-ns: the user namespace was created, but does not permit to {}: {}{}", what,
       errno_text(error), user_namespace_switch());
}

void write_file(const char* path, const std::string& text) {
  const UniqueFd fd(::open(path, O_WRONLY | O_CLOEXEC));
  if (!fd || ::write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    fail_inside(fmt::format("write {}", path).c_str());
}

// Whoever may not make other namespaces may make them in a user namespace of his own (user_namespaces(7)).
void make_in_user_namespace() {
  const uid_t uid = ::geteuid();
  const gid_t gid = ::getegid();
  if (!make_namespaces(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS))
    fail_unshare("a user namespace, which it takes without CAP_SYS_ADMIN", true);
  write_file("/proc/self/setgroups", "deny");
  write_file("/proc/self/uid_map", fmt::format("{0} {0} 1\n", uid));
  write_file("/proc/self/gid_map", fmt::format("{0} {0} 1\n", gid));
}

// Returns whether it took a user namespace.
bool make_pid_namespace() {
  const bool own_users = !make_namespaces(CLONE_NEWPID | CLONE_NEWNS);
  if (own_users && errno != EPERM) fail_unshare("a pid namespace", false);
  if (own_users) make_in_user_namespace();
  // What is mounted outside from now on is to be seen inside, too, and not the other way round.
  const bool slave = ::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) == 0;
  if (!slave && own_users) fail_inside("mount");
  if (!slave) fail_errno("--pid-ns: cannot make the mount namespace a slave");
  return own_users;
}

// The next process gets an id at the end of them all.  Where that cannot be had, it is 2.
void skip_low_ids() {
  int last = 0;
  if (!(std::ifstream("/proc/sys/kernel/pid_max") >> last)) return;
  std::ofstream("/proc/sys/kernel/ns_last_pid") << std::max(last - kOwnIds, 1);
}

// As mount(2) takes them: others may be locked in a mount namespace of a user.
unsigned long options_of_proc() {
  struct statvfs old {};
  if (::statvfs("/proc", &old) != 0) return MS_NOSUID | MS_NODEV | MS_NOEXEC;
  const unsigned long same = ST_NOSUID | ST_NODEV | ST_NOEXEC | ST_NOATIME | ST_NODIRATIME;
  if (old.f_flag & ST_RELATIME) return (old.f_flag & same) | MS_RELATIME;
  return (old.f_flag & same) | (old.f_flag & ST_NOATIME ? 0UL : static_cast<unsigned long>(MS_STRICTATIME));
}

// A new one over the old one, with what is mounted in that: to the job's mount namespaces, which are copies
// of this one, it is what the old one was to them.  Returns an errno value.
int mount_proc() {
  struct statx old {};
  const auto mounts = parse_mountinfo(read_proc("self/mountinfo"));
  if (!mounts) return EIO;
  if (::statx(AT_FDCWD, "/proc", 0, STATX_MNT_ID, &old) != 0) return errno;
  std::vector<std::pair<std::string, UniqueFd>> inside;
  for (const Mount& mount : *mounts)
    if (mount.parent == old.stx_mnt_id && mount.id != old.stx_mnt_id)
      inside.emplace_back(mount.point,
                          UniqueFd(::open_tree(AT_FDCWD, mount.point.c_str(),
                                               OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE |
                                                   AT_NO_AUTOMOUNT | AT_SYMLINK_NOFOLLOW)));
  if (::mount("proc", "/proc", "proc", options_of_proc(), nullptr) != 0) return errno;
  // What cannot be had is missed by whoever needs it.
  for (const auto& [point, tree] : inside)
    if (tree) (void)::move_mount(tree.get(), "", AT_FDCWD, point.c_str(), MOVE_MOUNT_F_EMPTY_PATH);
  // So that a copy can be the slave that the old one was.
  return ::mount(nullptr, "/proc", nullptr, MS_SHARED, nullptr) == 0 ? 0 : errno;
}

// Process 1.  Its namespace would end with it: it stays while anybody else is there.  `inside` ends with
// cr_restart; until its children are ours there is a moment.
[[noreturn]] void be_first(const UniqueFd& ready, const UniqueFd& inside) {
  ::signal(SIGCHLD, SIG_IGN);  // nobody waits for the orphans of a job
  int error = mount_proc();
  if (error == 0) skip_low_ids();
  ::setsid();
  if (error == 0 && ::chdir("/") != 0) error = errno;
  if (::write(ready.get(), &error, sizeof(error)) != sizeof(error) || error != 0) ::_exit(1);
  // Whoever reads what cr_restart writes is not to wait for us.
  const unsigned int kept = static_cast<unsigned int>(inside.get());
  if (kept > 0) ::close_range(0, kept - 1, 0);
  ::close_range(kept + 1, ~0U, 0);
  for (char byte; ::read(inside.get(), &byte, 1) != 0 || errno == EINTR;) errno = 0;
  for (useconds_t look = kFirstLook; ::kill(-1, 0) == 0 || errno != ESRCH;
       look = std::min(2 * look, kLongestLook))
    ::usleep(look);
  ::_exit(0);
}

// Whoever makes a user namespace has all capabilities there, also among those that programs may get.
void drop_capabilities(std::uint64_t bounding) {
  for (int capability = 0; capability < 64; ++capability)
    if ((bounding >> capability & 1) == 0) ::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
  if (!set_capabilities(0, 0, 0))
    fail_errno("--pid-ns: cannot drop the capabilities that the user namespace gives");
}

void await_first(const UniqueFd& ready) {
  int error = 0;
  const ssize_t got = ::read(ready.get(), &error, sizeof(error));
  if (got != sizeof(error)) fail(ECHILD, "--pid-ns: process 1 of the pid namespace has ended early");
  errno = error;
  if (error != 0) fail_errno("--pid-ns: cannot mount /proc for the pid namespace");
}

// A group of its own, which has a number inside, and is told from others there.
void lead_group(bool in_front) {
  const UniqueFd terminal(::open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (::setpgid(0, 0) != 0) fail_errno("--pid-ns: cannot create a process group");
  if (in_front && terminal) ::tcsetpgrp(terminal.get(), ::getpgrp());
}

bool is_in_front() {
  const UniqueFd terminal(::open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC));
  return terminal && ::tcgetpgrp(terminal.get()) == ::getpgrp();
}

}  // namespace

std::optional<int> enter_pid_namespace() {
  ::signal(SIGCHLD, SIG_DFL);  // ignored, as a caller may have left it, there would be nothing to wait for
  const bool in_front = is_in_front();
  const Creds before = own_credentials();
  const bool own_users = make_pid_namespace();
  // Those without a number inside are what they were, and nobody can set others there.
  if (own_users) keep_outer_groups(before.groups);
  PipeEnds ready = make_pipe_ends(), inside = make_pipe_ends();
  if (fork_here("process 1 of the pid namespace") == 0) {
    inside.write.reset();
    be_first(ready.write, inside.read);
  }
  ready.write.reset();
  await_first(ready.read);
  const sigset_t mask = block_all_signals();
  const pid_t child = fork_here("into the pid namespace");
  if (child == 0) {
    lead_group(in_front);
    ::sigprocmask(SIG_SETMASK, &mask, nullptr);
    if (own_users) drop_capabilities(before.head.cap_bset);
    (void)inside.write.release();  // until the end of this process
    return std::nullopt;
  }
  ::setpgid(child, child);  // whoever comes first
  inside.write.reset();
  JobTerminal terminal;
  Job job{{child}, 0, true};
  const Forwarding forwarding(job, mask, terminal);
  const std::optional<int> status = wait_for_job(job, terminal);
  if (!status) fail_errno("cannot wait for pid {}", child);
  return status;
}

}  // namespace cryo
