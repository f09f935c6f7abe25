// SPDX-License-Identifier: GPL-2.0-only
#include "restart/process/timers.h"

#include <algorithm>

#include "base/error.h"
#include "base/units.h"

namespace cryo {
namespace {}  // namespace

bool is_alarm_clock(std::int32_t clockid) {
  return clockid == CLOCK_REALTIME_ALARM || clockid == CLOCK_BOOTTIME_ALARM;
}

bool is_calendar_clock(std::int32_t clockid) {
  return clockid == CLOCK_REALTIME || clockid == CLOCK_REALTIME_ALARM || clockid == CLOCK_TAI;
}

std::int64_t now_on(std::int32_t clockid) {
  timespec now{};
  // Clocks with alarm show the same time, and cannot be read on machines without a wake-up device.
  if (clockid == CLOCK_REALTIME_ALARM) clockid = CLOCK_REALTIME;
  if (clockid == CLOCK_BOOTTIME_ALARM) clockid = CLOCK_BOOTTIME;
  if (::clock_gettime(clockid, &now) != 0) fail_errno("cannot read clock {}", clockid);
  return now.tv_sec * kNsPerSec + now.tv_nsec;
}

cryo_restart_block after_reboot(cryo_restart_block wait, const cryo_system& system) {
  const auto clock = static_cast<std::int32_t>(wait.clockid);
  if ((wait.kind != CRYO_RESTART_FUTEX && wait.kind != CRYO_RESTART_NANOSLEEP) ||
      (clock != CLOCK_MONOTONIC && clock != CLOCK_BOOTTIME) || (wait.time_flags & CRYO_TIME_REMAINING) != 0)
    return wait;
  const auto saved =
      static_cast<std::int64_t>(clock == CLOCK_BOOTTIME ? system.boottime_ns : system.monotonic_ns);
  const bool waits_for_ever = wait.time_ns == INT64_MAX;
  if (waits_for_ever || now_on(clock) >= saved) return wait;
  wait.time_flags |= CRYO_TIME_REMAINING;
  wait.time_ns = std::max<std::int64_t>(wait.time_ns, 0) - saved;
  return wait;
}

timespec timespec_of(std::int64_t ns) {
  return {ns / kNsPerSec, ns % kNsPerSec};
}

Expiry expiry_of(std::int64_t remaining, std::uint64_t interval) {
  if (remaining > 0) return {.armed = true, .next_ns = remaining, .expired = 0};
  if (interval == 0) return {.armed = false, .next_ns = 0, .expired = 1};
  const auto late = static_cast<std::uint64_t>(-remaining);
  const std::uint64_t next = interval - late % interval;
  return {.armed = true, .next_ns = static_cast<std::int64_t>(next), .expired = late / interval + 1};
}

}  // namespace cryo
