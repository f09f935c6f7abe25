// SPDX-License-Identifier: GPL-2.0-only
#include "cr_restart/forward.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "base/unique_fd.h"
#include "cr_restart/job_terminal.h"

namespace cryo {
namespace {

constexpr std::size_t kKernelSigsetBytes = 8;  // of rt_sigprocmask(2), on all architectures with 64 signals

// For the handler.
volatile sig_atomic_t forward_target = 0;
JobTerminal* job_terminal = nullptr;

// What the terminal sends, it sends to the whole group: a child in ours has got it already.
bool child_has_it(const siginfo_t* info) {
  return info->si_code == SI_KERNEL && ::getpgid(forward_target) == ::getpgrp();
}

void forward(int signal, siginfo_t* info, void*) {
  const int saved_errno = errno;
  const pid_t child = forward_target;
  if (!child_has_it(info)) {
    if (info->si_code == SI_QUEUE)
      ::sigqueue(child, signal, info->si_value);
    else
      ::kill(child, signal);
  }
  if (signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU) {
    job_terminal->stopping(child);
    ::raise(SIGSTOP);
    job_terminal->continued();
  }
  errno = saved_errno;
}

// Faults of this process are its own, and of the end of the child it is told by waiting.
bool is_forwarded(int signal) {
  switch (signal) {
    case SIGKILL:
    case SIGSTOP:
    case SIGCHLD:
    case SIGSEGV:
    case SIGBUS:
    case SIGFPE:
    case SIGILL:
      return false;
    default:
      return signal < 32 || signal >= SIGRTMIN;
  }
}

}  // namespace

sigset_t block_all_signals() {
  sigset_t all, old;
  std::memset(&all, 0xff, sizeof(all));
  sigemptyset(&old);
  // Not by the C library, which leaves out 32 and 33, its own: a timer with SIGEV_THREAD sends one to what is being made.
  ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &old, kKernelSigsetBytes);
  return old;
}

void forward_signals_to(pid_t child, const sigset_t& mask, JobTerminal& terminal) {
  forward_target = child;
  job_terminal = &terminal;
  struct sigaction action {};
  action.sa_sigaction = forward;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigfillset(&action.sa_mask);
  for (int signal = 1; signal <= SIGRTMAX; ++signal) {
    struct sigaction old {};
    // What was ignored when cr_restart was started (nohup) does not reach the child either.
    if (!is_forwarded(signal) || ::sigaction(signal, nullptr, &old) != 0 || old.sa_handler == SIG_IGN)
      continue;
    if (::sigaction(signal, &action, nullptr) != 0) fail_errno("cannot catch signal {}", signal);
  }
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
}

int wait_for(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR) fail_errno("cannot wait for pid {}", child);
  return status;
}

namespace {

// False: it did not come to that, as nobody in this session could continue it.  All signals are blocked.
bool stop_until_continued() {
  struct sigaction old {};
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  ::sigaction(SIGTSTP, &action, &old);
  sigset_t stop, pending;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTSTP);
  ::raise(SIGTSTP);
  ::sigprocmask(SIG_UNBLOCK, &stop, nullptr);
  ::sigprocmask(SIG_BLOCK, &stop, nullptr);
  ::sigaction(SIGTSTP, &old, nullptr);
  return ::sigpending(&pending) == 0 && sigismember(&pending, SIGCONT) != 0;
}

void drop_pending(int signal) {
  struct sigaction old {};
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(signal, &ignore, &old);
  ::sigaction(signal, &old, nullptr);
}

// The terminal has sent its signal to the group of the job, and not to this one.
void stop_with(pid_t child, JobTerminal& terminal) {
  const UniqueFd tty(::open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC));
  const pid_t group = ::getpgid(child);
  if (!tty || group <= 0 || group == ::getpgrp() || ::tcgetpgrp(tty.get()) != group) return;
  const sigset_t mask = block_all_signals();
  terminal.stopped();
  if (stop_until_continued()) {
    terminal.continued();
    // In the background it has no terminal, as any job there.
    if (::tcgetpgrp(tty.get()) == ::getpgrp()) ::tcsetpgrp(tty.get(), group);
    ::kill(-group, SIGCONT);
    drop_pending(SIGCONT);
  }
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
}

}  // namespace

// It is not waited for as stopped: by which signal it was stopped, the next checkpoint wants to know, too.
std::optional<int> wait_for_job(pid_t child, JobTerminal& terminal) {
  struct sigaction action {};
  action.sa_handler = [](int) {};
  ::sigaction(SIGCHLD, &action, nullptr);
  sigset_t blocked, mask;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &blocked, &mask);
  sigdelset(&mask, SIGCHLD);
  for (;;) {
    siginfo_t info{};
    const int result = ::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT);
    if (result != 0 && errno != EINTR) return std::nullopt;
    if (info.si_pid == child && info.si_code != CLD_STOPPED) return wait_for(child);
    if (info.si_pid == child) stop_with(child, terminal);
    ::sigsuspend(&mask);
  }
}

void end_like(int status) {
  if (WIFEXITED(status)) std::exit(WEXITSTATUS(status));
  const int signal = WTERMSIG(status);
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  ::signal(signal, SIG_DFL);
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, signal);
  ::sigprocmask(SIG_UNBLOCK, &one, nullptr);
  ::raise(signal);
  std::exit(128 + signal);
}

Foreground::Foreground() : terminal_(::open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC)) {
  if (terminal_ >= 0 && ::tcgetpgrp(terminal_) != ::getpgrp()) {
    ::close(terminal_);
    terminal_ = -1;
  }
}

Foreground::~Foreground() {
  if (terminal_ < 0) return;
  // Blocked, the signal for changing a terminal from the background does not hinder.
  const sigset_t old = block_all_signals();
  if (::tcgetpgrp(terminal_) != ::getpgrp()) ::tcsetpgrp(terminal_, ::getpgrp());
  ::sigprocmask(SIG_SETMASK, &old, nullptr);
  ::close(terminal_);
}

}  // namespace cryo
