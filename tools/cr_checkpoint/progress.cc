// SPDX-License-Identifier: GPL-2.0-only
#include "cr_checkpoint/progress.h"

#include <cryo/client.h>
#include <cryo/ioctl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "base/bytes.h"

namespace cryo {
namespace {

constexpr std::chrono::milliseconds kQuietTime{1000};  // most checkpoints are over by then
constexpr std::chrono::milliseconds kInterval{100};

const char* state_text(std::uint32_t state) {
  switch (state) {
    case CRYO_STATE_NEW:
    case CRYO_STATE_FREEZING:
      return "waiting for the threads to stop";
    case CRYO_STATE_NOTIFYING:
      return "waiting for callbacks";
    case CRYO_STATE_CAPTURING:
      return "capturing";
    case CRYO_STATE_WRITING:
      return "writing memory";
    default:
      return "bringing the context to the disk";
  }
}

}  // namespace

Progress::Progress(const Request& request, pid_t target, bool wanted)
    : request_(request),
      target_(target),
      wanted_(wanted && ::isatty(STDERR_FILENO) == 1),
      next_(Clock::now() + kQuietTime) {}

int Progress::wait_ms() const {
  if (!wanted_) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(next_ - Clock::now());
  return static_cast<int>(std::max<std::int64_t>(left.count(), 0));
}

void Progress::update() {
  if (!wanted_ || Clock::now() < next_) return;
  draw();
  next_ = Clock::now() + kInterval;
}

void Progress::draw() {
  const cryo_ckpt_status status = request_.status();
  std::string line = fmt::format("\rcr_checkpoint: process {}: {}", target_, state_text(status.state));
  if (status.state == CRYO_STATE_WRITING && status.bytes_total != 0)
    line += fmt::format(": {:3}% of {}",
                        std::min<std::uint64_t>(status.bytes_written * 100 / status.bytes_total, 100),
                        bytes_text(status.bytes_total));
  std::fputs((line + "\x1b[K").c_str(), stderr);
  drawn_ = true;
}

void Progress::clear() {
  if (!drawn_) return;
  std::fputs("\r\x1b[K", stderr);
  drawn_ = false;
}

}  // namespace cryo
