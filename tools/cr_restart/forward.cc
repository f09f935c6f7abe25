// SPDX-License-Identifier: GPL-2.0-only
#include "cr_restart/forward.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "base/unique_fd.h"
#include "cr_restart/job_terminal.h"

namespace cryo {
namespace {

constexpr std::size_t kKernelSigsetBytes = 8;  // of rt_sigprocmask(2), on all architectures with 64 signals

// For the handler, which runs while none of these changes: see wait_for_one().
const Job* forward_job = nullptr;  // none: it has ended
JobTerminal* job_terminal = nullptr;

// The terminal sends it to a whole process group; that it has been hung up it tells the leader of its session
// alone.
bool is_from_terminal(int signal, const siginfo_t* info) {
  if (info->si_code != SI_KERNEL) return false;
  switch (signal) {
    case SIGINT:
    case SIGQUIT:
    case SIGTSTP:
    case SIGTTIN:
    case SIGTTOU:
    case SIGWINCH:
      return true;
    default:
      return signal == SIGHUP && ::getsid(0) != ::getpid();
  }
}

bool is_led_by_other(pid_t group, pid_t child) {
  const auto& all = forward_job->processes;
  return group != child && std::find(all.begin(), all.end(), group) != all.end();
}

// A child in our group has got what the terminal sends already; of another group all are to get it, once. Who
// continues this process continues what has been stopped with it.
void pass_on(pid_t child, int signal, const siginfo_t* info) {
  const pid_t group = ::getpgid(child);
  const bool terminal = is_from_terminal(signal, info),
             whole = (terminal || signal == SIGCONT) && group > 0 && group != ::getpgrp();
  if (terminal && group == ::getpgrp()) return;
  if (whole && is_led_by_other(group, child)) return;
  if (info->si_code == SI_QUEUE)
    ::sigqueue(child, signal, info->si_value);
  else
    ::kill(whole && group == child ? -group : child, signal);
}

void forward(int signal, siginfo_t* info, void*) {
  const int saved_errno = errno;
  pid_t first = 0;
  if (forward_job == nullptr) return;
  for (const pid_t child : forward_job->processes) {
    if (child == 0) continue;
    if (first == 0) first = child;
    pass_on(child, signal, info);
  }
  if (first != 0 && (signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU)) {
    job_terminal->stopping(first);
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
  // Not by the C library, which leaves out 32 and 33, its own: a timer with SIGEV_THREAD sends one to what is
  // being made.
  ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &old, kKernelSigsetBytes);
  return old;
}

Forwarding::Forwarding(const Job& job, const sigset_t& mask, JobTerminal& terminal) {
  forward_job = &job;
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

Forwarding::~Forwarding() {
  const sigset_t mask = block_all_signals();
  forward_job = nullptr;
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

// The terminal has sent its signal to the group of the job, and not to this one.  A restart in our place may
// have another group in the foreground than its own, that of its job; and stops for the terminal when this
// one has that.
void stop_with(const Job& job, pid_t child, JobTerminal& terminal) {
  const UniqueFd tty(::open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC));
  const pid_t group = ::getpgid(child);
  if (!tty || group <= 0 || group == ::getpgrp()) return;
  const pid_t front = ::tcgetpgrp(tty.get());
  if (!job.is_restart && front != group) return;
  const sigset_t mask = block_all_signals();
  const bool in_front = front == ::getpgrp();
  terminal.stopped();
  if (in_front || stop_until_continued()) {
    terminal.continued();
    // In the background it has no terminal, as any job there.
    if (::tcgetpgrp(tty.get()) == ::getpgrp()) ::tcsetpgrp(tty.get(), group);
    ::kill(-group, SIGCONT);
    drop_pending(SIGCONT);
  }
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
}

}  // namespace

namespace {

// False: `child` runs, and may have been stopped meanwhile.  It is not waited for as stopped: by which signal
// it was stopped, the next checkpoint wants to know, too.  Its number may be somebody else's once it has been
// waited for: no signal comes between the two.
std::optional<bool> wait_for_one(const Job& job, pid_t& child, int& status, JobTerminal& terminal) {
  siginfo_t info{};
  const int result = ::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT);
  if (result != 0 && errno != EINTR) return std::nullopt;
  if (info.si_pid != child) return false;
  if (info.si_code == CLD_STOPPED) {
    stop_with(job, child, terminal);
    return false;
  }
  const sigset_t mask = block_all_signals();
  status = wait_for(child);
  child = 0;
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
  return true;
}

}  // namespace

std::optional<int> wait_for_job(Job& job, JobTerminal& terminal) {
  struct sigaction action {};
  action.sa_handler = [](int) {};
  ::sigaction(SIGCHLD, &action, nullptr);
  sigset_t blocked, mask;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &blocked, &mask);
  sigdelset(&mask, SIGCHLD);
  for (int result = 0;; ::sigsuspend(&mask)) {
    std::size_t left = 0;
    for (std::size_t i = 0; i < job.processes.size(); ++i) {
      int status = 0;
      if (job.processes[i] == 0) continue;
      const std::optional<bool> ended = wait_for_one(job, job.processes[i], status, terminal);
      if (!ended && i == 0) return std::nullopt;
      if (!ended) job.processes[i] = 0;
      if (!ended) continue;
      if (*ended && i == job.status_of) result = status;
      if (!*ended) ++left;
    }
    if (left == 0) return result;
  }
}

void exit_as(int status) {
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
