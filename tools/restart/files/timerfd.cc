// SPDX-License-Identifier: GPL-2.0-only
#include <linux/capability.h>
#include <sys/ioctl.h>
#include <sys/timerfd.h>

#include <algorithm>

#include "base/error.h"
#include "restart/files/file_kinds.h"
#include "restart/files/files.h"
#include "restart/process/timers.h"
#include "restart/stub/step_kind.h"

namespace cryo {
namespace {

const StepKind kTimerfdStep("set a timer descriptor", [](const FailedCall& call) {
  return fmt::format("cannot set the timer of descriptor {}", call.index);
});

constexpr unsigned long kSetTicks = _IOW('T', 0, std::uint64_t);  // TFD_IOC_SET_TICKS

// What timerfd_settime() gets, and how many expirations read() is to find.
struct TimerfdSetting {
  itimerspec spec{};
  std::uint64_t ticks = 0;
};

TimerfdSetting setting_of(const Context& context, const cryo_timerfd& saved) {
  const bool absolute = saved.settime_flags & TFD_TIMER_ABSTIME;
  std::int64_t remaining = saved.remaining_ns;
  // A date stays what it is. On clocks that begin with the machine a point in time means nothing
  // later on, and the timer has what was left.
  if (absolute && is_calendar_clock(saved.clockid))
    remaining -= now_on(CLOCK_REALTIME) - static_cast<std::int64_t>(context.system.realtime_ns);

  TimerfdSetting setting;
  setting.spec.it_interval = timespec_of(static_cast<std::int64_t>(saved.interval_ns));
  setting.ticks = saved.ticks;
  Expiry expiry;
  if (saved.flags & CRYO_TIMERFD_ARMED) {
    expiry = expiry_of(remaining, saved.interval_ns);
    setting.ticks += expiry.expired;
  } else if (saved.ticks != 0 && saved.interval_ns != 0) {
    // It expired and goes on when it is read: the first expiry has been counted.
    expiry = expiry_of(remaining, saved.interval_ns);
    setting.ticks += std::max<std::uint64_t>(expiry.expired, 1) - 1;
  }
  if (!expiry.armed) return setting;
  const std::int64_t value = absolute ? now_on(saved.clockid) + expiry.next_ns : expiry.next_ns;
  setting.spec.it_value = timespec_of(value);
  return setting;
}

}  // namespace

UniqueFd make_timerfd(const File& file) {
  const cryo_timerfd& saved = *file.timerfd;
  constexpr std::uint64_t kAlarm = std::uint64_t{1} << CAP_WAKE_ALARM;
  UniqueFd fd(as_maker([&] { return ::timerfd_create(saved.clockid, TFD_CLOEXEC | TFD_NONBLOCK); }, kAlarm));
  if (!fd) fail_errno("cannot create a timerfd of clock {}", saved.clockid);
  return fd;
}

void plan_timerfds(const Context& context, const std::map<std::uint32_t, int>& fds, CallList& calls,
                   StubArea& area) {
  for (const auto& [id, fd] : fds) {
    const File& file = context.file(id);
    if (file.head.kind != CRYO_FILE_TIMERFD) continue;
    const TimerfdSetting setting = setting_of(context, *file.timerfd);
    auto* spec = area.array<itimerspec>(1);
    *spec = setting.spec;
    const auto number = static_cast<std::uint32_t>(fd);
    calls.add(kTimerfdStep, number, SYS_timerfd_settime, fd, file.timerfd->settime_flags, spec, 0);
    if (setting.ticks == 0) continue;
    auto* ticks = area.array<std::uint64_t>(1);
    *ticks = setting.ticks;
    calls.add(kTimerfdStep, number, SYS_ioctl, fd, kSetTicks, ticks);
  }
}

std::size_t timerfd_plan_size(std::size_t files) {
  return files * (2 * sizeof(stub::Call) + sizeof(itimerspec) + 2 * sizeof(std::uint64_t));
}

namespace {

void check_timerfd(FileCheck& at, const File& file, const FileUse&) {
  if (is_alarm_clock(file.timerfd->clockid) && !capable(at.own, CAP_WAKE_ALARM))
    at.problem(EPERM, "a timer that wakes the machine requires CAP_WAKE_ALARM");
}

}  // namespace

const FileKind kTimerfdKind = {
    .kind = CRYO_FILE_TIMERFD,
    .check = check_timerfd,
    .open = [](FileMaking&, const File& file, const FileUse&) { return make_timerfd(file); }};

}  // namespace cryo
