// SPDX-License-Identifier: GPL-2.0-only
#include "restart/restart.h"

#include <cryo/ioctl.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "base/error.h"
#include "base/exit_codes.h"
#include "restart/child.h"
#include "restart/created_paths.h"
#include "restart/failure.h"
#include "restart/spawn.h"
#include "restart/stop_signal.h"

namespace cryo {
namespace {

constexpr long kPollNs = 10000000;

UniqueFd open_device() {
  UniqueFd device(::open(CRYO_DEVICE_PATH, O_RDWR | O_CLOEXEC));
  if (!device && (errno == ENOENT || errno == ENXIO || errno == ENODEV))
    fail(ENOSYS, "the kernel module is not loaded ({}: {})", CRYO_DEVICE_PATH, std::strerror(errno));
  if (!device) fail_errno("cannot open {}", CRYO_DEVICE_PATH);
  cryo_version version{};
  version.size = sizeof(version);
  if (::ioctl(device.get(), CRYO_IOC_VERSION, &version) != 0)
    fail_errno("{}: CRYO_IOC_VERSION", CRYO_DEVICE_PATH);
  if (version.abi_major != CRYO_ABI_MAJOR)
    fail(kErrVersion, "the kernel module speaks interface {}, cr_restart {}", version.abi_major,
         CRYO_ABI_MAJOR);
  return device;
}

UniqueFd open_handle(int device, std::size_t threads) {
  cryo_restart args{};
  args.size = sizeof(args);
  args.threads = static_cast<__u32>(threads);
  UniqueFd handle(::ioctl(device, CRYO_IOC_RESTART, &args));
  if (!handle) fail_errno("the kernel module refuses a restart with {} threads", threads);
  return handle;
}

// A blocked signal is pending even if it is to be ignored (nohup): that one does not count.
bool is_pending_termination() {
  sigset_t pending;
  if (::sigpending(&pending) != 0) return false;
  for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM}) {
    struct sigaction action {};
    if (sigismember(&pending, signal) == 1 && ::sigaction(signal, nullptr, &action) == 0 &&
        action.sa_handler != SIG_IGN)
      return true;
  }
  return false;
}

// Memory that the child shares with its parent, from before the fork on.
class SharedReport {
 public:
  SharedReport() {
    void* memory =
        ::mmap(nullptr, sizeof(stub::Report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) fail_errno("cannot map {} bytes", sizeof(stub::Report));
    report_ = new (memory) stub::Report{};
  }
  ~SharedReport() { ::munmap(report_, sizeof(stub::Report)); }
  SharedReport(const SharedReport&) = delete;
  SharedReport& operator=(const SharedReport&) = delete;

  [[nodiscard]] stub::Report& operator*() const { return *report_; }
  [[nodiscard]] stub::Report* get() const { return report_; }
  [[nodiscard]] stub::Report* operator->() const { return report_; }

 private:
  stub::Report* report_;
};

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

}  // namespace

// One try; destroyed before it is over, it leaves nothing behind.
class Restart::Attempt {
 public:
  Attempt(Restart& restart, const Process& process)
      : restart_(restart),
        process_(process),
        device_(open_device()),
        handle_(open_handle(device_.get(), process.threads.size())) {}
  ~Attempt();
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;

  pid_t run(const Findings& findings);

 private:
  void create(const Findings& findings);
  void wait_for_threads();
  void commit();
  [[nodiscard]] bool child_is_dead() const;
  [[noreturn]] void fail_dead();
  void read_log();

  Restart& restart_;
  const Process& process_;
  UniqueFd device_;
  UniqueFd handle_;
  SharedReport report_;
  Spawned child_;
  bool succeeded_ = false;
};

Restart::Attempt::~Attempt() {
  restore_cursor(child_, device_.get());
  if (succeeded_) return;
  if (child_.pid > 0) {
    ::kill(child_.pid, SIGKILL);
    ::waitpid(child_.pid, nullptr, 0);
  }
  // Directories among them are empty once what was made after them is gone.
  const std::vector<std::string> created = CreatedPaths(*report_).list();
  for (auto path = created.rbegin(); path != created.rend(); ++path) std::remove(path->c_str());
}

void Restart::Attempt::create(const Findings& findings) {
  const RestartOptions& options = restart_.options_;
  ChildInput input{restart_.context_, process_, options, findings.nice_not_permitted};
  input.context_fd = restart_.source_.fd();
  input.handle_fd = handle_.get();
  input.device_fd = device_.get();
  input.report = report_.get();
  input.parent = ::getpid();
  const TimerSlack slack(process_.threads.front().head.default_timer_slack_ns);
  child_ = spawn(options.restore_pid ? process_.head.pid : 0, device_.get(), [&input] { become(input); });
}

bool Restart::Attempt::child_is_dead() const {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(child_.pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid != 0;
}

// The child's own words where it left some, else how it died.
void Restart::Attempt::fail_dead() {
  if (__atomic_load_n(&report_->failed, __ATOMIC_ACQUIRE))
    fail(report_->error != 0 ? report_->error : EIO, "{}",
         describe_failure(*report_, restart_.context_, process_));
  siginfo_t info{};
  ::waitid(P_PID, static_cast<id_t>(child_.pid), &info, WEXITED | WNOHANG | WNOWAIT);
  fail(EIO, "pid {} {} {} {}", process_.head.pid,
       info.si_code == CLD_EXITED ? "exited with status" : "died of signal", info.si_status,
       describe_progress(*report_));
}

void Restart::Attempt::wait_for_threads() {
  const auto threads = static_cast<std::uint32_t>(process_.threads.size());
  for (;;) {
    const std::uint32_t arrived = __atomic_load_n(&report_->arrived, __ATOMIC_ACQUIRE);
    if (arrived == threads) return;
    if (child_is_dead()) fail_dead();
    if (is_pending_termination()) fail(EINTR, "given up because of a signal");
    const timespec timeout{0, kPollNs};
    ::syscall(SYS_futex, &report_->arrived, FUTEX_WAIT, arrived, &timeout);
  }
}

void Restart::Attempt::read_log() {
  char text[4096];
  for (ssize_t got; (got = ::read(handle_.get(), text, sizeof(text))) > 0;)
    restart_.kernel_log_.append(text, static_cast<std::size_t>(got));
}

void Restart::Attempt::commit() {
  cryo_commit args{};
  args.size = sizeof(args);
  args.signal = restart_.options_.signal;
  if (args.signal == 0 && (process_.head.flags & CRYO_PROC_STOPPED))
    args.signal = stop_signal(process_, child_.pid);
  const int result = ::ioctl(handle_.get(), CRYO_RST_COMMIT, &args);
  const int error = errno;
  read_log();
  if (result == 0) return;
  if (__atomic_load_n(&report_->failed, __ATOMIC_ACQUIRE)) fail_dead();
  fail(error, "pid {}: the module could not resume it: {}", process_.head.pid, std::strerror(error));
}

pid_t Restart::Attempt::run(const Findings& findings) {
  create(findings);
  wait_for_threads();
  commit();
  succeeded_ = true;
  return child_.pid;
}

pid_t Restart::launch(const Findings& findings) {
  return Attempt(*this, context_.processes.front()).run(findings);
}

}  // namespace cryo
