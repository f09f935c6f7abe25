// SPDX-License-Identifier: GPL-2.0-only
#include "restart/spawn.h"

#include <cryo/ioctl.h>
#include <linux/capability.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "restart/credentials.h"
#include "restart/stub.h"

namespace cryo {
namespace {

pid_t move_cursor(int device_fd, pid_t pid) {
  cryo_pid_cursor cursor{};
  cursor.size = sizeof(cursor);
  cursor.pid = pid;
  if (::ioctl(device_fd, CRYO_IOC_PID_CURSOR, &cursor) != 0)
    fail_errno("cannot choose pid {}: that takes CAP_CHECKPOINT_RESTORE or the module's pid choice", pid);
  return cursor.previous;
}

// fork(), but for the C library's: its handlers are of no use in a process that is about to lose it.
pid_t clone_process(pid_t set_tid, UniqueFd& pidfd) {
  int fd = -1;
  clone_args args{};
  args.flags = CLONE_PIDFD;
  args.pidfd = reinterpret_cast<std::uint64_t>(&fd);
  args.exit_signal = SIGCHLD;
  if (set_tid != 0) {
    args.set_tid = reinterpret_cast<std::uint64_t>(&set_tid);
    args.set_tid_size = 1;
  }
  const long pid = ::syscall(SYS_clone3, &args, sizeof(args));
  if (pid > 0) pidfd = UniqueFd(fd);
  return static_cast<pid_t>(pid);
}

}  // namespace

Spawned spawn(pid_t wanted, int device_fd, const std::function<void()>& child) {
  Spawned spawned;
  const Creds own = own_credentials();
  bool use_cursor = wanted != 0 && !capable(own, CAP_CHECKPOINT_RESTORE) && !capable(own, CAP_SYS_ADMIN);
  for (int attempt = 0; attempt < stub::kMaxTidTries; ++attempt) {
    if (use_cursor) {
      const pid_t previous = move_cursor(device_fd, wanted);
      if (!spawned.cursor) spawned.cursor = previous;
    }
    spawned.pid = clone_process(use_cursor ? 0 : wanted, spawned.pidfd);
    if (spawned.pid == 0) {
      if (use_cursor && ::syscall(SYS_getpid) != wanted) ::_exit(0);
      child();
      ::_exit(stub::kFailureStatus);
    }
    if (spawned.pid < 0 && errno == EPERM && wanted != 0 && !use_cursor) {
      use_cursor = true;
      continue;
    }
    if (spawned.pid < 0 && errno == EEXIST) fail(EBUSY, "pid {} is in use", wanted);
    if (spawned.pid < 0) fail_errno("cannot create the process");
    if (wanted == 0 || spawned.pid == wanted) return spawned;
    ::waitpid(spawned.pid, nullptr, 0);
  }
  restore_cursor(spawned, device_fd);
  fail(EBUSY, "pid {} was not to be had in {} tries", wanted, stub::kMaxTidTries);
}

void restore_cursor(const Spawned& spawned, int device_fd) {
  // Where it stands is a matter of taste of the next fork: no reason to fail.
  if (!spawned.cursor) return;
  try {
    (void)move_cursor(device_fd, *spawned.cursor);
  } catch (const Error&) {
  }
}

}  // namespace cryo
