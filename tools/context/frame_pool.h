// SPDX-License-Identifier: GPL-2.0-only
// Threads that decompress the frames of a stream, each to its place in the copy.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/thread_pool.h"
#include "context/temporary.h"
#include "context/unpack.h"

namespace cryo {

class FramePool {
 public:
  FramePool(const TemporaryFile& copy, const std::string& name);
  ~FramePool() { stop(); }

  // Takes a whole frame, once there is room for it: not more of them wait than there are threads. False when
  // there can be no thread. Throws the first Error of any thread.
  [[nodiscard]] bool put(std::vector<std::byte>& frame, const FramePlace& place);
  // Waits until all are unpacked. Throws the first Error of any thread.
  void finish();

 private:
  using Frame = std::pair<std::vector<std::byte>, FramePlace>;

  void unpack();
  [[nodiscard]] bool next(Frame& frame);
  [[nodiscard]] bool has_thread();
  void stop();

  const TemporaryFile& copy_;
  const std::string& name_;
  std::size_t most_threads_;
  std::size_t threads_ = 0;
  std::mutex mutex_;  // for all below
  std::condition_variable changed_;
  std::deque<Frame> frames_;
  std::size_t idle_ = 0;
  bool ended_ = false;
  bool stopped_ = false;
  ThreadPool pool_;  // last: its threads use all the others
};

}  // namespace cryo
