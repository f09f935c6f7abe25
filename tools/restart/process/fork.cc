// SPDX-License-Identifier: GPL-2.0-only
#include "restart/process/fork.h"

#include <cryo/ioctl.h>
#include <dirent.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/unique_fd.h"
#include "restart/common/id_holder.h"
#include "restart/common/proc_files.h"
#include "restart/rights/credentials.h"
#include "restart/stub/shared_report.h"

namespace cryo {
namespace {

pid_t move_cursor(int device_fd, pid_t pid) {
  cryo_pid_cursor cursor{};
  cursor.size = sizeof(cursor);
  cursor.pid = pid;
  if (::ioctl(device_fd, CRYO_IOC_PID_CURSOR, &cursor) != 0)
    fail_errno(
        "cannot choose pid {}: that requires CAP_CHECKPOINT_RESTORE or the module parameter pid_choice", pid);
  return cursor.previous;
}

// The default timer slack of a process is its parent's current one.
class TimerSlack {
 public:
  explicit TimerSlack(std::uint64_t ns) : old_(::prctl(PR_GET_TIMERSLACK)) {
    if (ns != 0) ::prctl(PR_SET_TIMERSLACK, ns);
  }
  ~TimerSlack() { ::prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(old_)); }
  TimerSlack(const TimerSlack&) = delete;
  TimerSlack& operator=(const TimerSlack&) = delete;

 private:
  int old_;
};

// fork(), but for the C library's: its handlers are of no use in a process that is about to lose it.
// `set_tid`: the pid that the kernel is asked for, 0: none; with those in the namespaces above?
pid_t clone_process(const ForkRequest& request, pid_t set_tid, bool with_outer, pid_t wanted) {
  clone_args args{};
  std::vector<pid_t> set_tids;  // the innermost namespace first
  if (request.sibling)
    args.flags = CLONE_PARENT;
  else
    args.exit_signal = static_cast<std::uint64_t>(request.exit_signal);
  if (set_tid != 0) {
    if (request.new_pid_namespace) set_tids.push_back(1);
    set_tids.push_back(set_tid);
    if (with_outer) set_tids.insert(set_tids.end(), request.outer.begin(), request.outer.end());
    args.set_tid = reinterpret_cast<std::uint64_t>(set_tids.data());
    args.set_tid_size = set_tids.size();
  }
  if (request.new_pid_namespace) args.flags |= CLONE_NEWPID;
  if (request.shared == nullptr) return static_cast<pid_t>(::syscall(SYS_clone3, &args, sizeof(args)));
  const long result = request.shared->clone(args, wanted);
  if (result >= 0) return static_cast<pid_t>(result);
  errno = static_cast<int>(-result);
  return -1;
}

// In the namespaces above the caller's.
void move_outer_cursors(const ForkRequest& request) {
  for (std::size_t i = 0; i < request.outer.size(); ++i) {
    cryo_nested_cursor cursor{sizeof(cryo_nested_cursor), request.outer[i], static_cast<__u32>(i + 1), 0};
    if (::ioctl(request.handle_fd, CRYO_RST_PID_CURSOR, &cursor) != 0)
      fail_errno("cannot choose pid {} in an outer pid namespace", request.outer[i]);
  }
}

// Once more from where a restart has set them: what others fork meanwhile gets the ids from there on.
void put_outer_cursors_back(const ForkRequest& request) {
  for (std::size_t i = 0; i < request.outer.size(); ++i) {
    cryo_nested_cursor cursor{sizeof(cryo_nested_cursor), stub::kCursorBack, static_cast<__u32>(i + 1), 0};
    (void)::ioctl(request.handle_fd, CRYO_RST_PID_CURSOR, &cursor);
  }
}

// Of a child, or of one of its parent.
pid_t outer_pid(int handle_fd, pid_t pid) {
  cryo_outer_pid outer{sizeof(cryo_outer_pid), pid, 0, 0};
  if (::ioctl(handle_fd, CRYO_RST_OUTER_PID, &outer) != 0)
    fail_errno("cannot ask for the pid in an outer pid namespace");
  return outer.outer;
}

bool has_outer_pid(const ForkRequest& request, pid_t pid) {
  if (request.outer.empty() && request.outer_taken == nullptr) return true;
  const pid_t outer = outer_pid(request.handle_fd, pid);
  return request.outer_taken != nullptr ? !request.outer_taken->contains(outer)
                                        : outer == request.outer.back();
}

// For a child that cannot see by itself whether it has the right pid: some of what it would do before it is
// killed lasts, such as a mount of /proc.
class GoAhead {
 public:
  GoAhead() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) fail_errno("cannot create a pipe");
    read_.reset(ends[0]);
    write_.reset(ends[1]);
  }
  // In the child.  False: its pid is wrong, or its parent has ended.
  [[nodiscard]] bool wait() {
    char byte = 0;
    write_.reset();
    return ::read(read_.get(), &byte, 1) == 1;
  }
  void give() {
    if (::write(write_.get(), "", 1) != 1) fail_errno("cannot write to a pipe");
  }

 private:
  UniqueFd read_, write_;
};

bool may_have(const ForkRequest& request, pid_t pid) {
  return request.taken == nullptr || !request.taken->contains(pid);
}

// A child with a wrong pid ends at once, unless it cannot see that itself; the child of another process is
// left to that one, which has to know of it before it ends.
void take_away(const ForkRequest& request, pid_t stray) {
  if (!request.sibling) {
    ::kill(stray, SIGKILL);
    ::waitpid(stray, nullptr, __WALL);
    return;
  }
  leave_to_waiter(request, stray);
  ::kill(stray, SIGKILL);
  wake_waiter(*request.ledger, request.waiter);
}

}  // namespace

void leave_to_waiter(const ForkRequest& request, pid_t stray) {
  // The waiter takes those before it, several times in this time.
  for (int i = 0; !note_stray(*request.ledger, {stray, request.waiter, request.exit_signal}); ++i) {
    constexpr int kTries = 500;
    constexpr timespec kPause{0, 10000000};
    if (i == kTries) fail(EBUSY, "too many processes were started on this machine");
    ::nanosleep(&kPause, nullptr);
  }
}

namespace {

// Of several numbers, /proc shows those where cr_restart is.
[[noreturn]] void fail_taken(const ForkRequest& request) {
  const bool nested = !request.outer.empty();
  const pid_t number = nested ? request.outer.back() : request.pid;
  const std::string inside = nested ? fmt::format(" ({} in its pid namespace)", request.pid) : std::string();
  if (const std::string holder = IdHolders(std::chrono::milliseconds(0)).find(number); !holder.empty())
    fail(EBUSY, "pid {}{} is in use by {}", number, inside, holder);
  fail(EBUSY, "cannot get pid {}{}: lost to other processes in {} attempts", number, inside, request.tries);
}

}  // namespace

pid_t fork_with_pid(const ForkRequest& request) {
  const TimerSlack slack(request.timer_slack_ns);
  bool use_cursor = request.pid != 0 && !is_capable(CAP_CHECKPOINT_RESTORE) && !is_capable(CAP_SYS_ADMIN);
  // Where it is allowed in all of them, no fork of others comes between.
  bool with_outer = !use_cursor && request.pid != 0 && !request.outer.empty();
  for (int attempt = 0; attempt < request.tries; ++attempt) {
    pid_t previous = 0;
    if (use_cursor) previous = move_cursor(request.device_fd, request.pid);
    if (!with_outer) move_outer_cursors(request);
    const pid_t wanted = use_cursor && !request.new_pid_namespace ? request.pid : 0;
    std::optional<GoAhead> go;
    // One that shares our memory waits for let_go().
    if (request.shared == nullptr &&
        (request.new_pid_namespace || !request.outer.empty() || request.outer_taken != nullptr))
      go.emplace();
    const pid_t pid = clone_process(request, use_cursor ? 0 : request.pid, with_outer, wanted);
    if (pid == 0) {
      if (wanted != 0 && ::syscall(SYS_getpid) != wanted) ::_exit(0);
      if (!may_have(request, static_cast<pid_t>(::syscall(SYS_getpid)))) ::_exit(0);
      if (go && !go->wait()) ::_exit(0);
      return 0;
    }
    // Others' forks go on where they were: the ids from here on are wanted, too.
    const int error = errno;
    if (previous > 0) (void)move_cursor(request.device_fd, stub::kCursorBack);
    if (!with_outer) put_outer_cursors_back(request);
    errno = error;
    if (pid < 0 && errno == EPERM && request.pid != 0 && !use_cursor) {
      use_cursor = !with_outer;
      with_outer = false;
      continue;
    }
    // Somebody has the id, often for a moment only.
    const bool is_taken = pid < 0 && errno == EEXIST;
    if (pid < 0 && !is_taken) fail_errno("cannot create the process");
    if (!is_taken && (request.pid == 0 || pid == request.pid) && may_have(request, pid) &&
        has_outer_pid(request, pid)) {
      const bool nested = !request.outer.empty() || request.outer_taken != nullptr;
      if (request.noted != nullptr) *request.noted = nested ? outer_pid(request.handle_fd, pid) : pid;
      if (request.shared != nullptr) request.shared->let_go();
      if (go) go->give();
      return pid;
    }
    if (!is_taken) take_away(request, pid);
    if (!is_taken && request.shared != nullptr) request.shared->wait_until_gone();
    const timespec pause{0, attempt < stub::kQuickTidTries ? 0 : stub::kTidPauseNs};
    ::nanosleep(&pause, nullptr);
  }
  fail_taken(request);
}

void restore_cursor(int device_fd) {
  // Where it stands is a matter of taste of the next fork: no reason to fail.
  try {
    (void)move_cursor(device_fd, stub::kCursorBack);
  } catch (const Error&) {
  }
}

bool has_ended(pid_t pid) {
  return life_of(pid) == Life::kEnded;
}

namespace {

char state_in(const std::string& stat) {
  // Behind the name, which may have anything in it.
  const std::size_t at = stat.rfind(')');
  return at != std::string::npos && at + 2 < stat.size() ? stat[at + 2] : '\0';
}

// A process whose main thread has exited is stopped as another one is.
bool has_stopped_thread(pid_t pid) {
  UniqueFd fd = open_proc(fmt::format("{}/task", pid), O_RDONLY | O_DIRECTORY);
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(fd ? ::fdopendir(fd.release()) : nullptr, ::closedir);
  while (const dirent* entry = dir ? ::readdir(dir.get()) : nullptr) {
    if (entry->d_name[0] == '.' || entry->d_name == std::to_string(pid)) continue;
    const char state = state_in(read_proc(fmt::format("{}/task/{}/stat", pid, entry->d_name)));
    if (state != '\0' && state != 'Z' && state != 'X') return state == 'T';
  }
  return false;
}

}  // namespace

Life life_of(pid_t pid) {
  const std::string line = read_proc(fmt::format("{}/stat", pid));
  if (line.empty()) return Life::kEnded;
  char state = 0;
  int threads = 0;
  // Behind the name, which may have anything in it.
  const char* fields = line.c_str() + std::min(line.size(), line.rfind(')') + 1);
  std::sscanf(fields, " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %d", &state,
              &threads);
  const bool exited = state == 0 || state == 'Z' || state == 'X';
  if (exited && threads <= 1) return Life::kEnded;
  return state == 'T' || (exited && has_stopped_thread(pid)) ? Life::kStopped : Life::kRuns;
}

pid_t parent_pid_of(pid_t pid) {
  const std::string line = read_proc(fmt::format("{}/stat", pid));
  pid_t parent = 0;
  const char* fields = line.c_str() + std::min(line.size(), line.rfind(')') + 1);
  return std::sscanf(fields, " %*c %d", &parent) == 1 ? parent : 0;
}

}  // namespace cryo
