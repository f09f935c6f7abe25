// SPDX-License-Identifier: GPL-2.0-only
// Timers with a clock of their choice: timerfd and timer_create.
//
// They are started by the stub, as late as possible, so that the time of the restart is not taken from
// what they had left.
#pragma once

#include <ctime>
#include <map>

#include "context/model.h"
#include "restart/stub/calls.h"
#include "restart/stub/stub_area.h"

namespace cryo {

// CLOCK_REALTIME_ALARM, CLOCK_BOOTTIME_ALARM.
[[nodiscard]] bool is_alarm_clock(std::int32_t clockid);
// One on which a point in time means the same after a reboot.
[[nodiscard]] bool is_calendar_clock(std::int32_t clockid);
// The clock's time now, in nanoseconds.
[[nodiscard]] std::int64_t now_on(std::int32_t clockid);
// A call that waits until a time of CLOCK_MONOTONIC or CLOCK_BOOTTIME, which is behind where it was at the
// checkpoint (`system`), as after a reboot: waits for what was left. Others are as they were.
[[nodiscard]] cryo_restart_block after_reboot(cryo_restart_block wait, const cryo_system& system);
[[nodiscard]] timespec timespec_of(std::int64_t ns);

// When a timer expires next, and how often it has expired by now.
struct Expiry {
  bool armed = false;
  std::int64_t next_ns = 0;  // from now, positive when armed
  std::uint64_t expired = 0;
};
// `remaining` to the next expiry, which may be over, of a timer that runs.
[[nodiscard]] Expiry expiry_of(std::int64_t remaining, std::uint64_t interval);

// The settings of all timerfds among `fds`.
void plan_timerfds(const Context& context, const std::map<std::uint32_t, int>& fds, CallList& calls,
                   StubArea& area);
[[nodiscard]] std::size_t timerfd_plan_size(std::size_t files);

}  // namespace cryo
