// SPDX-License-Identifier: GPL-2.0-only
#include "base/progress_line.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>

#include "base/bytes.h"

namespace cryo::progress {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kQuiet{2000}, kInterval{200};
constexpr std::int64_t kOff = -1;

std::atomic<const char*> g_tool{nullptr};
std::atomic<std::int64_t> g_next{kOff};  // when to draw, by Clock
std::atomic<std::int64_t> g_start{0};
std::atomic<std::uint64_t> g_bytes{0};
std::atomic<bool> g_drawn{false};

std::int64_t now() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now().time_since_epoch()).count();
}

}  // namespace

void begin(const char* tool) {
  if (::isatty(STDERR_FILENO) != 1) return;
  g_tool = tool;
  g_start = now();
  g_next = g_start + kQuiet.count();
}

void step(const char* what, std::uint64_t bytes) {
  std::int64_t next = g_next.load(std::memory_order_relaxed);
  if (next == kOff) return;
  const std::uint64_t done = g_bytes += bytes;
  const std::int64_t at = now();
  // One of those that come at once draws.
  if (at < next || !g_next.compare_exchange_strong(next, at + kInterval.count())) return;
  fmt::print(stderr, "\r{}: {}: {}, {} s\x1b[K", g_tool.load(), what, bytes_text(done),
             (at - g_start) / 1000);
  std::fflush(stderr);
  g_drawn = true;
}

void clear() {
  if (!g_drawn.exchange(false)) return;
  std::fputs("\r\x1b[K", stderr);
  std::fflush(stderr);
}

}  // namespace cryo::progress
