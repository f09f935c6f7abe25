// SPDX-License-Identifier: GPL-2.0-only
#include "restart/engine/guardian.h"

#include <cryo/ioctl.h>
#include <fcntl.h>
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
#include "restart/engine/fork.h"
#include "restart/engine/shared_report.h"
#include "restart/rights/created_paths.h"

namespace cryo {
namespace {

constexpr timespec kGuardianPause{0, 10000000};
constexpr int kRounds = 3000;  // of a pause each: processes that are being killed end sooner

// Nothing that others wait for the end of, and no signal that is meant for cr_restart.
void stand_aside(std::array<int, 3> keep) {
  ::setsid();
  sigset_t all;
  sigfillset(&all);
  ::sigprocmask(SIG_BLOCK, &all, nullptr);
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  for (int number = 0; null && number < 3; ++number) ::dup2(null.get(), number);
  unsigned next = 3;
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

// True for the end of cr_restart, false when it has said that nothing is to be done.
bool has_died(int line) {
  char word = 0;
  ssize_t got = 0;
  do {
    got = ::read(line, &word, 1);
  } while (got < 0 && errno == EINTR);
  return got == 0;
}

bool all_ended(const Ledger& ledger, std::span<const Place> places) {
  const auto ended = [](pid_t pid) { return pid <= 0 || has_ended(pid); };
  return ended(ledger.maker) &&
         std::all_of(places.begin(), places.end(), [&](const Place& place) { return ended(place.pid); });
}

[[noreturn]] void guard(int line, Ledger* ledger, std::size_t places, GuardianFds fds,
                        const Context& context) {
  stand_aside({line, fds.device, fds.handle});
  if (!has_died(line)) ::_exit(0);
  const std::span<const Place> all(places_of(ledger), places);
  for (int round = 0; round < kRounds; ++round) {
    // The first of it may not have been forked by then; it would see that its parent is gone, and end.
    ::nanosleep(&kGuardianPause, nullptr);
    restore_cursor(fds.device);
    if (!all_ended(*ledger, all)) continue;
    if (has_been_let_go(*ledger, fds.handle)) break;
    (void)CreatedPaths(*ledger, &context).remove_all();
    break;
  }
  ::_exit(0);
}

// By a process that ends then.
[[noreturn]] void start(int line, Ledger* ledger, std::size_t places, GuardianFds fds,
                        const std::set<pid_t>& wanted, const Context& context) {
  for (;;) {
    const pid_t pid = ::fork();
    if (pid == 0 && wanted.contains(::getpid())) ::_exit(0);
    if (pid == 0) guard(line, ledger, places, fds, context);
    if (pid < 0 || !wanted.contains(pid)) ::_exit(pid < 0);
    ::waitpid(pid, nullptr, 0);
  }
}

}  // namespace

Guardian::Guardian(Ledger* ledger, std::size_t places, GuardianFds fds, const std::set<pid_t>& wanted,
                   const Context& context) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) fail_errno("pipe");
  const UniqueFd reader(ends[0]);
  line_ = UniqueFd(ends[1]);
  const pid_t between = ::fork();
  if (between < 0) fail_errno("fork");
  if (between == 0) {
    line_.reset();
    start(reader.get(), ledger, places, fds, wanted, context);
  }
  int status = 0;
  while (::waitpid(between, &status, 0) < 0 && errno == EINTR) {
  }
  if (status != 0) fail(EAGAIN, "cannot start the process that cleans up when cr_restart is killed");
}

Guardian::~Guardian() {
  // It is gone when this fails, and then there is nobody to tell.
  [[maybe_unused]] const ssize_t written = ::write(line_.get(), "e", 1);
}

}  // namespace cryo
