// SPDX-License-Identifier: GPL-2.0-only
// Ids are handed out in order, so the module is told which one comes next.  A timer whose signal was pending
// is not given the signal, but set so that it expires at once: then it is the kernel that knows of the
// signal, and counts and goes on from it when it is delivered.
#include "restart/threads/posix_timers.h"

#include <linux/capability.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "restart/process/timers.h"
#include "restart/stub/step_kind.h"

namespace cryo {
namespace {

const StepKind kPosixTimerStep("restore a POSIX timer", [](const FailedCall& call) {
  return fmt::format("cannot restore POSIX timer {}", call.index);
});

constexpr std::int64_t kNoOverrun = -1;  // no expiration that no signal has told of: cryo_posix_timer.overrun

// The beginning of siginfo_t of a timer's signal.
struct TimerSigInfo {
  std::int32_t signal;
  std::int32_t error;
  std::int32_t code;
  std::int32_t padding;
  std::int32_t timer;
};

bool is_of(const SigInfo& info, const cryo_posix_timer& timer) {
  TimerSigInfo head;
  std::memcpy(&head, info.data(), sizeof(head));
  return head.code == SI_TIMER && head.timer == timer.id &&
         head.signal == static_cast<std::int32_t>(timer.signal);
}

bool is_cpu_clock(const cryo_posix_timer& timer) {
  return timer.clockid < 0;
}

// How a timer is set, and the count that goes with it.
struct Setting {
  int flags = 0;
  std::int64_t value = 0;  // 0: not at all
  std::int64_t overrun = 0;
};

// It expires as soon as it is set, with `remaining` (not positive) as the time of its first expiry.
Setting expired(const cryo_posix_timer& timer, std::int64_t remaining) {
  Setting setting{0, 1, timer.overrun};
  const bool monotonic = timer.clockid == CLOCK_MONOTONIC || timer.clockid == CLOCK_BOOTTIME ||
                         timer.clockid == CLOCK_BOOTTIME_ALARM || timer.clockid == CLOCK_TAI;
  if (monotonic && now_on(timer.clockid) + remaining > 0) {
    setting.flags = TIMER_ABSTIME;
    setting.value = now_on(timer.clockid) + remaining;
    return setting;
  }
  // An absolute time would bind it to the date (realtime clock), or is not to be had (a CPU clock begins
  // anew): the expirations up to the checkpoint are counted here.  A CPU clock may stand still from now on,
  // and only an absolute time is over at once there.
  if (is_cpu_clock(timer)) setting.flags = TIMER_ABSTIME;
  if (timer.interval_ns != 0)
    setting.overrun += static_cast<std::int64_t>(static_cast<std::uint64_t>(-remaining) / timer.interval_ns);
  return setting;
}

Setting setting_of(const cryo_system& system, const cryo_posix_timer& timer) {
  const bool pending = timer.flags & CRYO_TIMER_PENDING;
  if (!pending && !(timer.flags & CRYO_TIMER_ARMED)) return {0, 0, timer.overrun};
  std::int64_t remaining = timer.remaining_ns;
  std::int64_t forwarded = 0;
  if (pending && remaining > 0) {
    // Asked for what is left, the kernel has moved the timer on, and counted that.
    const auto interval = static_cast<std::int64_t>(timer.interval_ns);
    forwarded = interval == 0 ? 0 : (remaining - 1) / interval + 1;
    remaining = interval == 0 ? 0 : remaining - forwarded * interval;
  }
  Setting setting;
  if (timer.flags & CRYO_TIMER_ABSOLUTE)
    setting = {TIMER_ABSTIME, static_cast<std::int64_t>(system.realtime_ns) + remaining, timer.overrun};
  else if (remaining > 0)
    setting = {0, remaining, timer.overrun};
  else if (timer.notify == SIGEV_NONE)
    setting = {0, expiry_of(remaining, timer.interval_ns).next_ns, timer.overrun};
  else
    setting = expired(timer, remaining);
  setting.overrun = std::max<std::int64_t>(setting.overrun - forwarded, -1);
  return setting;
}

class TimerPlanner {
 public:
  TimerPlanner(const Context& context, const ThreadPlanInput& input, CallList& calls, StubArea& area)
      : context_(context), input_(input), calls_(calls), area_(area) {}

  void plan();

 private:
  [[nodiscard]] std::int32_t tid(const cryo_posix_timer& timer, std::int32_t saved) const;
  [[nodiscard]] std::int32_t clock(const cryo_posix_timer& timer) const;
  void module(std::uint32_t what, const cryo_posix_timer& timer, std::int64_t overrun);
  void create(const cryo_posix_timer& timer);
  void confirm(const cryo_posix_timer& timer);
  void set(const cryo_posix_timer& timer);

  const Context& context_;
  const ThreadPlanInput& input_;
  CallList& calls_;
  StubArea& area_;
};

// The thread that is to get the signal, where it is one's own choice.
std::int32_t told_thread(const cryo_posix_timer& timer) {
  return timer.notify & SIGEV_THREAD_ID ? timer.notify_tid : 0;
}

// Whose time it counts: 0: the process's, or it counts another time.
std::int32_t counted_thread(const cryo_posix_timer& timer) {
  return is_cpu_clock(timer) ? timer.clock_tid : 0;
}

std::string of_lost_thread(const cryo_posix_timer& timer, std::int32_t thread) {
  return fmt::format("POSIX timer {} belongs to thread {}, which --no-restore-pid cannot restore", timer.id,
                     thread);
}

std::int32_t TimerPlanner::tid(const cryo_posix_timer& timer, std::int32_t saved) const {
  if (input_.options.restore_pid) return saved;
  if (saved == input_.process.head.pid) return ::getpid();
  fail(EINVAL, "{}", of_lost_thread(timer, saved));
}

std::int32_t TimerPlanner::clock(const cryo_posix_timer& timer) const {
  // The leader makes the timers: its own clock is that of whoever asks.
  if (counted_thread(timer) == 0 || timer.clock_tid == input_.process.head.pid) return timer.clockid;
  const auto thread = static_cast<std::uint32_t>(tid(timer, timer.clock_tid));
  return static_cast<std::int32_t>(~thread << 3 | (static_cast<std::uint32_t>(timer.clockid) & 7));
}

void TimerPlanner::module(std::uint32_t what, const cryo_posix_timer& timer, std::int64_t overrun) {
  auto* state = area_.array<cryo_timer_state>(1);
  state->size = sizeof(*state);
  state->what = what;
  state->id = timer.id;
  state->overrun = overrun;
  state->overrun_last = timer.overrun_last;
  calls_.add(kPosixTimerStep, static_cast<std::uint32_t>(timer.id), SYS_ioctl, input_.handle_fd,
             CRYO_RST_TIMER, state);
}

void TimerPlanner::create(const cryo_posix_timer& timer) {
  module(CRYO_TIMER_NEXT_ID, timer, 0);
  auto* event = area_.array<sigevent>(1);
  event->sigev_value.sival_ptr = reinterpret_cast<void*>(timer.value);
  event->sigev_signo = static_cast<int>(timer.signal);
  event->sigev_notify = static_cast<int>(timer.notify);
  if (timer.notify & SIGEV_THREAD_ID) event->_sigev_un._tid = tid(timer, timer.notify_tid);
  calls_.add(kPosixTimerStep, static_cast<std::uint32_t>(timer.id), SYS_timer_create, clock(timer), event,
             area_.array<std::int32_t>(1));
}

// By id, which fails when the timer has got another one: of the newest timer, which is found at once.
void TimerPlanner::confirm(const cryo_posix_timer& timer) {
  module(CRYO_TIMER_COUNTS, timer, kNoOverrun);
}

void TimerPlanner::set(const cryo_posix_timer& timer) {
  const Setting setting = setting_of(context_.system, timer);
  if (setting.value > 0) {
    auto* spec = area_.array<itimerspec>(1);
    spec->it_value = timespec_of(setting.value);
    spec->it_interval = timespec_of(static_cast<std::int64_t>(timer.interval_ns));
    calls_.add(kPosixTimerStep, static_cast<std::uint32_t>(timer.id), SYS_timer_settime, timer.id,
               setting.flags, spec, 0);
  }
  if (setting.overrun != kNoOverrun || timer.overrun_last != 0)
    module(CRYO_TIMER_COUNTS, timer, setting.overrun);
}

void TimerPlanner::plan() {
  const PosixTimers& saved = input_.process.posix_timers;
  std::vector<cryo_posix_timer> timers = saved.timers;
  std::sort(timers.begin(), timers.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  for (const cryo_posix_timer& timer : timers) {
    create(timer);
    confirm(timer);
  }
  // Those that expire at once do so in the order in which they have expired before.
  std::stable_sort(timers.begin(), timers.end(),
                   [](const auto& a, const auto& b) { return a.remaining_ns < b.remaining_ns; });
  for (const cryo_posix_timer& timer : timers) set(timer);
  if (saved.next_id == 0) return;
  cryo_posix_timer next{};
  next.id = static_cast<std::int32_t>(saved.next_id);
  module(CRYO_TIMER_NEXT_ID, next, 0);
}

}  // namespace

SignalQueue without_timer_signals(SignalQueue queue, const Process& process) {
  for (const cryo_posix_timer& timer : process.posix_timers.timers) {
    if (!(timer.flags & CRYO_TIMER_PENDING)) continue;
    const auto its = std::find_if(queue.siginfos.begin(), queue.siginfos.end(),
                                  [&](const SigInfo& info) { return is_of(info, timer); });
    if (its == queue.siginfos.end()) continue;
    queue.siginfos.erase(its);
    const bool others = std::any_of(queue.siginfos.begin(), queue.siginfos.end(), [&](const SigInfo& info) {
      std::uint32_t signal;
      std::memcpy(&signal, info.data(), sizeof(signal));
      return signal == timer.signal;
    });
    if (!others) queue.signals &= ~(1ULL << (timer.signal - 1));
  }
  return queue;
}

void plan_posix_timers(const Context& context, const ThreadPlanInput& input, CallList& calls,
                       StubArea& area) {
  TimerPlanner(context, input, calls, area).plan();
}

std::size_t posix_timer_plan_size(const Process& process) {
  constexpr std::size_t kSize =
      5 * sizeof(stub::Call) + 3 * sizeof(cryo_timer_state) + sizeof(sigevent) + sizeof(itimerspec) + 64;
  return (process.posix_timers.timers.size() + 1) * kSize;
}

void check_posix_timers(const CheckInput& input, Findings& findings) {
  const std::int32_t pid = input.process.head.pid;
  for (const cryo_posix_timer& timer : input.process.posix_timers.timers) {
    if (is_alarm_clock(timer.clockid) && !capable(input.own, CAP_WAKE_ALARM))
      findings.problem(EPERM, "pid {}: POSIX timer {} wakes the machine, which requires CAP_WAKE_ALARM", pid,
                       timer.id);
    for (const std::int32_t thread : {told_thread(timer), counted_thread(timer)})
      if (!input.options.restore_pid && thread != 0 && thread != pid)
        findings.problem(EINVAL, "pid {}: {}", pid, of_lost_thread(timer, thread));
  }
}

}  // namespace cryo
