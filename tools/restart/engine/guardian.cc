// SPDX-License-Identifier: GPL-2.0-only
#include "restart/engine/guardian.h"

#include <cryo/ioctl.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <span>

#include "base/error.h"
#include "restart/process/fork.h"
#include "restart/rights/created_paths.h"
#include "restart/stub/shared_report.h"

namespace cryo {
namespace {

constexpr timespec kGuardianPause{0, 10000000};
constexpr int kRounds = 3000;  // of a pause each: processes that are being killed end sooner

// Nothing that others wait for the end of, and no signal that is meant for cr_restart.  What is kept may have
// a number that a caller has left free of 0 to 2: it gets another one.
void stand_aside(int& line, GuardianFds& fds) {
  ::setsid();
  sigset_t all;
  sigfillset(&all);
  ::sigprocmask(SIG_BLOCK, &all, nullptr);
  for (int* const fd : {&line, &fds.device, &fds.handle})
    if (*fd <= STDERR_FILENO) *fd = ::fcntl(*fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  for (int number = 0; null && number < 3; ++number) ::dup2(null.get(), number);
  unsigned next = 3;
  std::array<int, 3> keep{line, fds.device, fds.handle};
  std::sort(keep.begin(), keep.end());
  for (const int fd : keep) {
    const auto number = static_cast<unsigned>(fd);
    if (number > next) ::syscall(SYS_close_range, next, number - 1, 0);
    next = std::max(next, number + 1);
  }
  ::syscall(SYS_close_range, next, ~0U, 0);
}

// The job has been let go: what it has made is its own, even if it has ended by itself meanwhile. While that
// was being done, only the module knows.
bool has_been_let_go(const Ledger& ledger, int handle_fd) {
  return __atomic_load_n(&ledger.committing, __ATOMIC_ACQUIRE) != 0 &&
         ::ioctl(handle_fd, CRYO_RST_STATUS, 0) != 0;
}

// Nothing arrives but its end of file.
void wait_for_end_of_cr_restart(int line) {
  char word = 0;
  while (::read(line, &word, 1) != 0 && errno == EINTR) continue;
}

bool all_ended(const Ledger& ledger, std::span<const Place> places) {
  const auto ended = [](pid_t pid) { return pid <= 0 || has_ended(pid); };
  return ended(ledger.maker) && std::all_of(places.begin(), places.end(), [&](const Place& place) {
           return ended(place.pid) && ended(place.door);
         });
}

[[noreturn]] void guard(int line, const SharedReport& report, std::size_t processes, GuardianFds fds,
                        const Context& context) {
  stand_aside(line, fds);
  wait_for_end_of_cr_restart(line);
  Ledger& ledger = report.ledger();
  for (int round = 0; round < kRounds; ++round) {
    // The first of it may not have been forked by then; it would see that its parent is gone, and end.
    ::nanosleep(&kGuardianPause, nullptr);
    restore_cursor(fds.device);
    if (!all_ended(ledger, report.places())) continue;
    if (has_been_let_go(ledger, fds.handle)) break;
    (void)CreatedPaths(ledger, &context)
        .remove_all(may_be_cutting(*report, processes) ? Cutting::kByServers : Cutting::kNo);
    break;
  }
  ::_exit(0);
}

// As fork(2), of a child without an exit signal; `self` is its pidfd.
pid_t fork_silently(UniqueFd& self) {
  int fd = -1;
  clone_args args{};
  args.flags = CLONE_PIDFD;
  args.pidfd = reinterpret_cast<std::uint64_t>(&fd);
  const auto pid = static_cast<pid_t>(::syscall(SYS_clone3, &args, sizeof(args)));
  if (pid > 0) self.reset(fd);
  return pid;
}

// Whoever else had the number by now would not be meant.
void wait_for(const UniqueFd& self) {
  siginfo_t info{};
  while (::waitid(P_PIDFD, static_cast<id_t>(self.get()), &info, WEXITED | __WALL) != 0 && errno == EINTR)
    continue;
}

}  // namespace

Guardian::Guardian(const SharedReport& report, std::size_t processes, GuardianFds fds,
                   const std::set<pid_t>& wanted, const Context& context) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) fail_errno("pipe");
  const UniqueFd reader(ends[0]);
  line_ = UniqueFd(ends[1]);
  for (;;) {
    pid_ = fork_silently(self_);
    if (pid_ < 0) fail_errno("cannot start the process that cleans up when cr_restart is killed");
    if (pid_ == 0 && wanted.contains(::getpid())) ::_exit(0);
    if (pid_ == 0) {
      line_.reset();
      guard(reader.get(), report, processes, fds, context);
    }
    if (!wanted.contains(pid_)) return;
    wait_for(self_);
  }
}

Guardian::~Guardian() {
  // Not by a message to it, as it may have been stopped.
  (void)::syscall(SYS_pidfd_send_signal, self_.get(), SIGKILL, nullptr, 0);
  wait_for(self_);
}

}  // namespace cryo
