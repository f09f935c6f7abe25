// SPDX-License-Identifier: GPL-2.0-only
#include "base/parallel.h"

#include <algorithm>
#include <atomic>

#include "base/crew.h"
#include "base/processors.h"

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
  Crew crew([&] { next = count; });
  for (std::size_t i = 1; i < threads; ++i)
    if (!crew.start(take_turns)) break;
  crew.run(take_turns);
  crew.join();
}

}  // namespace cryo
