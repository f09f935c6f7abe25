// SPDX-License-Identifier: GPL-2.0-only
#include "cr_restart/job_terminal.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <ctime>
#include <iterator>

#include "base/error.h"
#include "cr_restart/forward.h"

namespace cryo {
namespace {

constexpr int kLooks = 100;            // at a job that is about to stop,
constexpr long kLookEvery = 10000000;  // ns

bool same(const termios& a, const termios& b) {
  return a.c_iflag == b.c_iflag && a.c_oflag == b.c_oflag && a.c_cflag == b.c_cflag &&
         a.c_lflag == b.c_lflag && std::equal(std::begin(a.c_cc), std::end(a.c_cc), std::begin(b.c_cc));
}

// What a program asks for. What the line is and what its keys send remains: speed, parity, the erase
// character, UTF-8.
termios merged(const termios& now, const cryo_terminal& saved) {
  termios modes = now;
  modes.c_iflag = (saved.iflag & ~IUTF8) | (now.c_iflag & IUTF8);
  modes.c_oflag = saved.oflag;
  modes.c_lflag = saved.lflag;
  std::copy_n(saved.cc, std::min(std::size(saved.cc), std::size(modes.c_cc)), modes.c_cc);
  modes.c_cc[VERASE] = now.c_cc[VERASE];
  return modes;
}

}  // namespace

const Process* JobTerminal::owner(const Context& context) {
  const auto& all = context.processes;
  const auto owner =
      std::find_if(all.begin(), all.end(), [](const Process& p) { return p.terminal.has_value(); });
  if (owner == all.end()) return nullptr;
  const std::int32_t group = owner->terminal->pgid;
  // Else the modes are those of who had it, a shell at its prompt say.
  return group != 0 &&
                 std::any_of(all.begin(), all.end(), [&](const Process& p) { return p.head.pgid == group; })
             ? &*owner
             : nullptr;
}

void JobTerminal::put(const cryo_terminal& saved, pid_t pid) {
  UniqueFd fd(::open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!fd || ::getsid(pid) != ::getsid(0)) return;
  const pid_t foreground = ::tcgetpgrp(fd.get());
  if (foreground != ::getpgrp() && foreground != ::getpgid(pid)) return;
  if (::tcgetattr(fd.get(), &before_) != 0) fail_errno("cannot ask for the modes of the terminal");
  const termios wanted = merged(before_, saved);
  if (::tcsetattr(fd.get(), TCSANOW, &wanted) != 0) fail_errno("cannot set the modes of the terminal");
  fd_ = std::move(fd);
  held_ = true;
}

void JobTerminal::announce() const {
  const pid_t foreground = fd_ ? ::tcgetpgrp(fd_.get()) : -1;
  if (foreground <= 0) return;
  ::kill(-foreground, SIGWINCH);
  // The job has it; forwarded it would come twice.
  struct sigaction old {};
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGWINCH, &ignore, &old);
  ::sigaction(SIGWINCH, &old, nullptr);
}

void JobTerminal::give_back() {
  if (!held_) return;
  held_ = false;
  // Blocked, the signal for changing a terminal from the background does not hinder. One that was hung up
  // takes nothing.
  const sigset_t old = block_all_signals();
  ::tcsetattr(fd_.get(), TCSANOW, &before_);
  ::sigprocmask(SIG_SETMASK, &old, nullptr);
}

// A program that catches the signal sets the terminal before it stops.
void JobTerminal::stopping(pid_t child) {
  if (!held_) return;
  for (int look = 0; look < kLooks; ++look) {
    siginfo_t info{};
    if (::waitid(P_PID, static_cast<id_t>(child), &info, WSTOPPED | WEXITED | WNOHANG | WNOWAIT) != 0 ||
        info.si_pid != 0)
      break;
    const timespec pause{0, kLookEvery};
    ::nanosleep(&pause, nullptr);
  }
  stopped();
}

void JobTerminal::stopped() {
  if (held_ && ::tcgetattr(fd_.get(), &job_) == 0) give_back();
}

void JobTerminal::continued() {
  if (!fd_ || held_ || ::tcgetpgrp(fd_.get()) != ::getpgrp()) return;
  termios now{};
  // One that sets it itself is doing so in this moment; so has a shell that keeps the modes of each of its
  // jobs.
  if (!same(job_, before_) && ::tcgetattr(fd_.get(), &now) == 0 && same(now, before_))
    ::tcsetattr(fd_.get(), TCSANOW, &job_);
  held_ = true;
}

}  // namespace cryo
