// SPDX-License-Identifier: GPL-2.0-only
#include "base/parallel.h"

#include <algorithm>
#include <atomic>

#include "base/processors.h"
#include "base/thread_pool.h"

namespace cryo {
namespace {

// Things of up to 2 MiB: with fewer for each, a thread costs more than it saves.
constexpr std::size_t kLeastForThread = 4;

}  // namespace

void for_each_in_parallel(std::size_t count, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  const auto take_turns = [&] {
    for (std::size_t i = next++; i < count; i = next++) work(i);
  };
  const std::size_t threads = std::min(count / kLeastForThread, processors());
  ThreadPool pool([&] { next = count; });
  for (std::size_t i = 1; i < threads; ++i)
    if (!pool.start(take_turns)) break;
  pool.run(take_turns);
  pool.join();
}

}  // namespace cryo
