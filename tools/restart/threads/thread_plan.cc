// SPDX-License-Identifier: GPL-2.0-only
#include "restart/threads/thread_plan.h"

#include <linux/prctl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>

#include <algorithm>
#include <cstdlib>

#include "base/consent.h"
#include "base/error.h"
#include "restart/common/restart_arch.h"
#include "restart/files/io_uring.h"
#include "restart/memory/mempolicy.h"
#include "restart/process/affinity.h"
#include "restart/process/process_state.h"
#include "restart/process/seccomp.h"
#include "restart/process/stop_signal.h"
#include "restart/process/timers.h"
#include "restart/stub/step_kind.h"
#include "restart/threads/posix_timers.h"

namespace cryo {
namespace {

const StepKind kThreadNameStep("set a thread's name",
                               [](const FailedCall&) -> std::string { return "cannot set its name"; });
const StepKind kThreadPointersStep("register addresses of a thread",
                                   [](const FailedCall& call) -> std::string {
                                     return call.index != 0
                                                ? "cannot set the list of robust futexes"
                                                : "cannot set its clear_child_tid address (set_tid_address)";
                                   });
const StepKind kAltStackStep("set the alternate signal stack");
const StepKind kAffinityStep("set the CPU affinity");
const StepKind kSchedulerStep("set the scheduling policy");
const StepKind kIoPriorityStep("set the I/O priority");
const StepKind kTimerSlackStep("set the timer slack");
const StepKind kPendingSignalStep("make a signal pending again", [](const FailedCall& call) {
  return fmt::format("cannot make signal {} pending again", call.index);
});
const StepKind kRseqStep("register its restartable sequences area (rseq)");
const StepKind kTimerStep("start an interval timer", [](const FailedCall& call) {
  return fmt::format("cannot start interval timer {}", call.index);
});
const StepKind kSigactionStep("set a signal action", [](const FailedCall& call) {
  return fmt::format("cannot set the action of signal {}", call.index);
});
const StepKind kPersonalityStep("set the personality");
const StepKind kDumpableStep("set PR_SET_DUMPABLE");

// Of some threads only.
void plan_no_new_privs(const cryo_thread& head, CallList& calls) {
  if (head.flags & CRYO_THREAD_NO_NEW_PRIVS)
    calls.add(kCredentialsStep, 8, SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

constexpr std::uint64_t kSignalSetSize = 8;      // the kernel's sigset_t
constexpr std::uint64_t kRobustHeadSize = 24;    // struct robust_list_head
constexpr std::uint32_t kAutodisarm = 1U << 31;  // SS_AUTODISARM
constexpr std::uint64_t kSchedFlags = 0x7;       // RESET_ON_FORK, RECLAIM, DL_OVERRUN
constexpr int kIoPriorityProcess = 1;            // IOPRIO_WHO_PROCESS
constexpr std::size_t kThreadCalls = 25;         // of one thread, the most there can be
constexpr std::size_t kCredentialCalls = 152;    // capabilities are one call each

// struct sched_attr of sched_setattr(2), first version; the kernel's header does not go with libc's.
struct SchedAttributes {
  std::uint32_t size;
  std::uint32_t policy;
  std::uint64_t flags;
  std::int32_t nice;
  std::uint32_t priority;
  std::uint64_t runtime;
  std::uint64_t deadline;
  std::uint64_t period;
  std::uint32_t util_min;  // second version, used where there are clamps
  std::uint32_t util_max;
};
static_assert(sizeof(SchedAttributes) == 56);
constexpr std::uint32_t kFirstVersion = 48;
constexpr std::uint64_t kClampMin = 0x20;  // SCHED_FLAG_UTIL_CLAMP_MIN
constexpr std::uint64_t kClampMax = 0x40;

std::uint64_t signal_bit(int signal) {
  return 1ULL << (signal - 1);
}

// What the kernel reports for a signal of which it could not queue the siginfo.
SigInfo empty_siginfo(int signal) {
  siginfo_t info{};
  info.si_signo = signal;
  info.si_code = SI_USER;
  SigInfo bytes{};
  static_assert(sizeof(info) == sizeof(bytes));
  std::memcpy(bytes.data(), &info, sizeof(info));
  return bytes;
}

int signal_of(const SigInfo& info) {
  std::int32_t signal;
  std::memcpy(&signal, info.data(), sizeof(signal));
  return signal;
}

// The queue in its order, then the signals without siginfo.
std::vector<SigInfo> queued_signals(const SignalQueue& queue) {
  std::vector<SigInfo> infos;
  std::uint64_t without = queue.signals & ~(signal_bit(SIGKILL) | signal_bit(SIGSTOP));
  for (const SigInfo& info : queue.siginfos) {
    const int signal = signal_of(info);
    if (signal < 1 || signal > 64 || signal == SIGKILL || signal == SIGSTOP) continue;
    without &= ~signal_bit(signal);
    infos.push_back(info);
  }
  for (int signal = 1; signal <= 64; ++signal)
    if (without & signal_bit(signal)) infos.push_back(empty_siginfo(signal));
  return infos;
}

class ThreadPlanner {
 public:
  ThreadPlanner(const ThreadPlanInput& input, const CpuMask& job_cpus, const CpuMask& cpus_here,
                const Thread& thread, StubArea& area)
      : input_(input),
        job_cpus_(job_cpus),
        cpus_here_(cpus_here),
        thread_(thread),
        head_(thread.head),
        area_(area) {}

  // `before`: what the leader does before it creates the thread.
  void plan(stub::Thread& out, CallList before);

 private:
  [[nodiscard]] bool leader() const { return head_.flags & CRYO_THREAD_LEADER; }
  // Does what the module does once in each process.
  [[nodiscard]] bool finishes_process() const {
    const std::vector<Thread>& all = input_.process.threads;
    return &thread_ == &all[has_exited(all.front()) ? 1 : 0];
  }
  [[nodiscard]] std::int32_t tid() const { return input_.options.restore_pid ? head_.tid : 0; }
  void plan_exited(stub::Thread& out);
  void plan_identity();
  void plan_alt_stack();
  void plan_scheduling();
  void plan_pending();
  [[nodiscard]] std::vector<Regset> regsets() const;
  [[nodiscard]] cryo_resume* resume();
  void share_tables(cryo_resume& resume) const;
  [[nodiscard]] std::uint32_t what_parent_knows() const;

  const ThreadPlanInput& input_;
  const CpuMask& job_cpus_;
  const CpuMask& cpus_here_;  // to be had
  const Thread& thread_;
  const cryo_thread& head_;
  StubArea& area_;
  CallList calls_;
};

void ThreadPlanner::plan_identity() {
  char* name = area_.array<char>(sizeof(head_.comm) + 1);
  std::memcpy(name, head_.comm, sizeof(head_.comm));
  calls_.add(kThreadNameStep, 0, SYS_prctl, PR_SET_NAME, name, 0, 0, 0);
  calls_.add(kThreadPointersStep, 0, SYS_set_tid_address, head_.clear_child_tid);
  calls_.add(kThreadPointersStep, 1, SYS_set_robust_list, head_.robust_list, kRobustHeadSize);
}

void ThreadPlanner::plan_alt_stack() {
  auto* stack = area_.array<stack_t>(1);
  stack->ss_sp = reinterpret_cast<void*>(head_.altstack_sp);
  stack->ss_size = head_.altstack_size;
  const std::uint32_t flags = head_.altstack_size == 0 ? +SS_DISABLE : head_.altstack_flags & kAutodisarm;
  stack->ss_flags = static_cast<int>(flags);
  calls_.add(kAltStackStep, 0, SYS_sigaltstack, stack, 0);
}

void ThreadPlanner::plan_scheduling() {
  if (!thread_.cpus.empty()) {
    const CpuMask cpus = affinity_here(thread_, job_cpus_, cpus_here_);
    calls_.add(kAffinityStep, 0, SYS_sched_setaffinity, 0, cpus.size() * sizeof(std::uint64_t),
               area_.copy(cpus));
  }
  auto* attr = area_.array<SchedAttributes>(1);
  attr->size = kFirstVersion;
  attr->policy = head_.sched_policy;
  attr->flags = head_.sched_flags & kSchedFlags;
  attr->nice = head_.nice;
  attr->priority = head_.sched_priority;
  attr->runtime = head_.sched_runtime;
  attr->deadline = head_.sched_deadline;
  attr->period = head_.sched_period;
  if (thread_.uclamp) {
    attr->size = sizeof(*attr);
    if (thread_.uclamp->min != CRYO_UCLAMP_NONE)
      attr->flags |= kClampMin, attr->util_min = thread_.uclamp->min;
    if (thread_.uclamp->max != CRYO_UCLAMP_NONE)
      attr->flags |= kClampMax, attr->util_max = thread_.uclamp->max;
  }
  const auto& keep = input_.nice_not_permitted;
  if (std::find(keep.begin(), keep.end(), head_.tid) != keep.end())
    attr->nice = ::getpriority(PRIO_PROCESS, 0);
  calls_.add(kSchedulerStep, 0, SYS_sched_setattr, 0, attr, 0);
  if (::syscall(SYS_ioprio_get, kIoPriorityProcess, 0) != static_cast<long>(head_.ioprio))
    calls_.add(kIoPriorityStep, 0, SYS_ioprio_set, kIoPriorityProcess, 0, head_.ioprio);
  if (thread_.mempolicy) plan_thread_policy(*thread_.mempolicy, calls_, area_);
  if (head_.timer_slack_ns != 0)
    calls_.add(kTimerSlackStep, 0, SYS_prctl, PR_SET_TIMERSLACK, head_.timer_slack_ns, 0, 0, 0);
}

void ThreadPlanner::plan_pending() {
  const std::int32_t pid = input_.options.restore_pid ? input_.process.head.pid : ::getpid();
  for (const SigInfo& info : queued_signals(without_timer_signals(thread_.pending, input_.process))) {
    if (tid() == 0 && !leader())
      fail(EINVAL, "thread {} has pending signals, which --no-restore-pid cannot restore", head_.tid);
    SigInfo* bytes = area_.array<SigInfo>(1);
    *bytes = info;
    const std::int32_t target = tid() != 0 ? tid() : pid;
    const auto signal = static_cast<std::uint32_t>(signal_of(info));
    calls_.add(kPendingSignalStep, signal, SYS_rt_tgsigqueueinfo, pid, target, signal, bytes);
  }
}

// Of a stop, or that it goes on, if the parent is one of the job: any other is a new one, that knows nothing.
// Who runs callbacks first has not stopped yet.
std::uint32_t ThreadPlanner::what_parent_knows() const {
  const std::uint32_t flags = input_.process.head.flags;
  const auto is_parent = [this](const Process& other) { return other.head.pid == input_.process.head.ppid; };
  const auto& processes = input_.context.processes;
  if (!input_.holders.empty() || std::none_of(processes.begin(), processes.end(), is_parent)) return 0;
  const std::uint32_t continued = flags & CRYO_PROC_CONTINUED ? CRYO_RESUME_CONTINUED : 0;
  if (!(flags & CRYO_PROC_STOPPED) || flags & CRYO_PROC_STOP_BEGUN) return continued;
  return CRYO_RESUME_STOP_TOLD | (flags & CRYO_PROC_STOP_WAITED ? CRYO_RESUME_STOP_WAITED : 0);
}

// The numbers are names for the module: those that say the same get the same.
void ThreadPlanner::share_tables(cryo_resume& resume) const {
  const cryo_shared_tables& shared = input_.process.shared;
  const std::int32_t pid = input_.process.outer_pid;
  resume.files_of = shared.files;
  if (!thread_.fs) resume.fs_of = shared.fs;
  if (!finishes_process()) return;
  if (shared.files == pid) resume.flags |= CRYO_RESUME_OWNS_FILES;
  if (shared.fs == pid && !thread_.fs) resume.flags |= CRYO_RESUME_OWNS_FS;
}

std::vector<Regset> ThreadPlanner::regsets() const {
  std::vector<Regset> sets = restart_regsets(thread_.regsets);
  const std::uint64_t at = instruction_pointer(sets);
  if (const auto& move = input_.moved_code; move && at >= move->from.start && at < move->from.end)
    set_instruction_pointer(sets, at - move->from.start + move->to);
  return sets;
}

cryo_resume* ThreadPlanner::resume() {
  std::vector<cryo_regset> sets;
  for (const Regset& regset : regsets())
    sets.push_back({.note = regset.head.note,
                    .length = static_cast<std::uint32_t>(regset.data.size()),
                    .data = reinterpret_cast<std::uint64_t>(area_.copy(regset.data))});
  cryo_resume* resume = area_.array<cryo_resume>(1);
  resume->size = sizeof(*resume);
  resume->sigmask = head_.sigmask;
  resume->saved_sigmask = head_.saved_sigmask;
  if (head_.flags & CRYO_THREAD_RESTORE_SIGMASK) resume->flags |= CRYO_RESUME_RESTORE_SIGMASK;
  static_assert(sizeof(resume->restart) == sizeof(head_.restart));
  std::memcpy(&resume->restart, &head_.restart, sizeof(resume->restart));
  if (input_.process.namespaces.time == 0 && !input_.options.time_namespace)
    resume->restart = after_reboot(resume->restart, input_.context.system);
  resume->regsets = reinterpret_cast<std::uint64_t>(area_.copy(sets));
  resume->nr_regsets = static_cast<std::uint32_t>(sets.size());
  plan_seccomp(input_.process, thread_, *resume, area_);
  resume->close_fd = -1;
  resume->exe_fd = -1;
  if (!input_.holders.empty() && !input_.holders.contains(head_.tid)) resume->flags |= CRYO_RESUME_HELD;
  share_tables(*resume);
  if (input_.late_death_signal) resume->death_signal = static_cast<std::uint32_t>(head_.pdeath_signal);
  if (finishes_process()) {
    resume->flags |= CRYO_RESUME_LEADER;
    resume->unmap_start = area_.range().start;
    resume->unmap_len = area_.range().size();
    resume->close_fd = input_.handle_fd;
    resume->exe_fd = input_.exe_fd;
    if (input_.process.head.dumpable == 1) resume->flags |= CRYO_RESUME_DUMPABLE;
    resume->flags |= what_parent_knows();
    if (input_.process.head.flags & CRYO_PROC_STOPPED)
      resume->signal = stop_signal(input_.process, ::getpid(), (resume->flags & CRYO_RESUME_STOP_TOLD) != 0);
  }
  return resume;
}

// Of a leader that is going to exit again, only its name stays.
void ThreadPlanner::plan_exited(stub::Thread& out) {
  plan_identity();
  out.tid = tid();
  out.calls = area_.copy(calls_);
  out.nr_calls = static_cast<std::uint32_t>(calls_.calls().size());
}

void ThreadPlanner::plan(stub::Thread& out, CallList before) {
  if (has_exited(thread_)) return plan_exited(out);
  CallList last;
  plan_identity();
  plan_alt_stack();
  plan_scheduling();
  if (!leader()) {
    before.add(kTimerSlackStep, 0, SYS_prctl, PR_SET_TIMERSLACK, head_.default_timer_slack_ns, 0, 0, 0);
    plan_credentials(thread_credentials(thread_, input_.credentials), calls_, area_);
    plan_no_new_privs(head_, calls_);
  }
  // A change of credentials clears it: the leader's comes after that, in plan_leader().
  const int death_signal = input_.late_death_signal ? 0 : static_cast<int>(head_.pdeath_signal);
  calls_.add(kDeathSignalStep, 0, SYS_prctl, PR_SET_PDEATHSIG, leader() ? SIGKILL : death_signal, 0, 0, 0);
  if (leader()) plan_real_user(input_.credentials, calls_);
  plan_pending();
  plan_rings(input_.context, head_.tid, input_.fds, last);
  if ((head_.flags & CRYO_THREAD_RSEQ) && head_.rseq != 0)
    last.add(kRseqStep, 0, SYS_rseq, head_.rseq, head_.rseq_len, 0, head_.rseq_sig);
  out.tid = tid();
  out.before = area_.copy(before);
  out.nr_before = static_cast<std::uint32_t>(before.calls().size());
  out.calls = area_.copy(calls_);
  out.nr_calls = static_cast<std::uint32_t>(calls_.calls().size());
  out.last = area_.copy(last);
  out.nr_last = static_cast<std::uint32_t>(last.calls().size());
  out.resume = resume();
  out.registers = registers_to_claim(regsets());
  if (!leader()) {
    out.stack_size = stub::kThreadStackSize;
    out.stack = area_.allocate(out.stack_size, 16);
  }
}

timeval rounded_up(std::uint64_t ns) {
  const std::uint64_t us = (ns + 999) / 1000;
  return {static_cast<time_t>(us / 1000000), static_cast<suseconds_t>(us % 1000000)};
}

void plan_limits(const Process& process, CallList& calls, StubArea& area) {
  for (std::uint32_t i = 0; i < process.rlimits.size(); ++i) {
    auto* limit = area.array<cryo_rlimit>(1);
    *limit = limit_here(process, i);
    calls.add(kLimitStep, i, SYS_prlimit64, 0, i, limit, 0);
  }
}

void plan_timers(const Process& process, CallList& calls, StubArea& area) {
  for (std::uint32_t i = 0; i < process.itimers.size(); ++i) {
    auto* timer = area.array<itimerval>(1);
    timer->it_value = rounded_up(process.itimers[i].value_ns);
    timer->it_interval = rounded_up(process.itimers[i].interval_ns);
    calls.add(kTimerStep, i, SYS_setitimer, i, timer, 0);
  }
}

// Of a process that gets another user's ids, and had consented: what cr_restart has said was for its own.
void plan_consent(const ThreadPlanInput& input, CallList& calls, StubArea& area) {
  if (!input.credentials.to || input.device_fd < 0 || ::secure_getenv(kNoConsentVariable) != nullptr) return;
  if ((input.process.head.flags & CRYO_PROC_CONSENTED) == 0) return;
  const cryo_creds& to = input.credentials.to->head;
  if (to.uid != to.euid || to.uid != to.suid || !takes_consent(input.device_fd)) return;
  auto* args = area.array<cryo_consent>(1);
  args->size = sizeof(*args);
  args->consent = CRYO_CONSENT_GIVE;
  calls.add(kCredentialsStep, 9, SYS_ioctl, input.device_fd, CRYO_IOC_CONSENT, args);
}

}  // namespace

stub::Thread* plan_threads(const ThreadPlanInput& input, StubArea& area, stub::Parameters* parameters) {
  const std::vector<Thread>& threads = input.process.threads;
  auto* out = area.array<stub::Thread>(threads.size());
  const std::vector<std::uint32_t> order = input.directories.order();
  const CpuMask job_cpus = cpus_of_job(input.context);
  // Not by binding this process as each thread was: where that has been, somebody else may leave no time for
  // it.
  const CpuMask to_be_had = has_cpus(job_cpus) ? cpus_here() : CpuMask();
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    CallList before;
    if (i > 0) input.directories.plan_before(order[i], order[i - 1], before, area);
    out[i].parameters = parameters;
    out[i].index = order[i];
    ThreadPlanner(input, job_cpus, to_be_had, threads[order[i]], area).plan(out[i], std::move(before));
  }
  return out;
}

void plan_process(const Process& process, CallList& calls, StubArea& area) {
  for (std::uint32_t i = 0; i < process.sigactions.size(); ++i) {
    const int signal = static_cast<int>(i) + 1;
    if (signal == SIGKILL || signal == SIGSTOP) continue;
    // The kernel's struct sigaction has the same members in the same order on all three architectures.
    auto* action = area.array<cryo_sigaction>(1);
    *action = process.sigactions[i];
    calls.add(kSigactionStep, i + 1, SYS_rt_sigaction, signal, action, 0, kSignalSetSize);
  }
  calls.add(kPersonalityStep, 0, SYS_personality, process.head.personality);
}

void plan_leader(const ThreadPlanInput& input, CallList& calls, StubArea& area) {
  const Process& process = input.process;
  const cryo_thread& leader = process.threads.front().head;
  plan_limits(process, calls, area);
  plan_credentials(input.credentials, calls, area);
  plan_consent(input, calls, area);
  // prctl() does not take 2 (suid_dumpable); 0 is the stricter of the others. With a user's ids nobody may
  // get at the memory that it shares with cr_restart: then it is set when that has gone
  // (CRYO_RESUME_DUMPABLE).
  const bool others = std::any_of(process.threads.begin(), process.threads.end(),
                                  [](const Thread& thread) { return thread.creds.has_value(); });
  const bool now = process.head.dumpable == 1 && !input.credentials.to && !others;
  calls.add(kDumpableStep, 0, SYS_prctl, PR_SET_DUMPABLE, now ? 1 : 0, 0, 0, 0);
  calls.add(kDeathSignalStep, 0, SYS_prctl, PR_SET_PDEATHSIG,
            input.late_death_signal ? 0 : leader.pdeath_signal, 0, 0, 0);
  const std::int32_t pid = input.options.restore_pid ? process.head.pid : ::getpid();
  for (const SigInfo& info : queued_signals(without_timer_signals(process.pending, process))) {
    SigInfo* bytes = area.array<SigInfo>(1);
    *bytes = info;
    const auto signal = static_cast<std::uint32_t>(signal_of(info));
    calls.add(kPendingSignalStep, signal, SYS_rt_sigqueueinfo, pid, signal, bytes);
  }
  plan_timers(process, calls, area);
  plan_no_new_privs(leader, calls);  // the others would have it from it: they are there by now
}

std::size_t thread_plan_size(const Process& process, const CredentialChange& credentials) {
  constexpr std::size_t kCallSize = sizeof(stub::Call) + CRYO_SIGINFO_SIZE;  // with what it points to
  const std::size_t groups = process.creds->groups.size() * sizeof(std::uint32_t);
  const std::size_t credential_size = credentials.to ? kCredentialCalls * kCallSize + groups : 0;
  const auto pending_size = [](const SignalQueue& queue) { return queued_signals(queue).size() * kCallSize; };
  std::size_t size =
      (process.sigactions.size() + process.rlimits.size() + process.itimers.size()) * kCallSize;
  size += kThreadCalls * kCallSize + pending_size(process.pending) + credential_size;
  for (const Thread& thread : process.threads) {
    if (thread.creds)
      size += kCredentialCalls * kCallSize + thread.creds->groups.size() * sizeof(std::uint32_t);
    size += sizeof(stub::Thread) + sizeof(cryo_resume) + stub::kThreadStackSize + 64;
    size += kThreadCalls * kCallSize + pending_size(thread.pending) + credential_size;
    size += affinity_size(thread) + seccomp_size(thread.seccomp) + kPolicySize;
    for (const Regset& regset : thread.regsets)
      size += sizeof(cryo_regset) + std::max<std::size_t>(regset.data.size(), kMaxRegsetSize) + 64;
  }
  return size;
}

const StepKind kLimitStep("set a resource limit", [](const FailedCall& call) {
  return fmt::format("cannot set the limit of {}", limit_name(call.index));
});

}  // namespace cryo
