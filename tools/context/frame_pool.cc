// SPDX-License-Identifier: GPL-2.0-only
#include "context/frame_pool.h"

#include "base/processors.h"

namespace cryo {

FramePool::FramePool(const TemporaryFile& copy, const std::string& name)
    : copy_(copy), name_(name), most_threads_(processors()), pool_([this] { stop(); }) {}

void FramePool::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  frames_.clear();
  changed_.notify_all();
}

void FramePool::finish() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }
  pool_.join();
}

// Another one starts while all have something to do.
bool FramePool::has_thread() {
  {
    const std::lock_guard lock(mutex_);
    if (threads_ == most_threads_ || idle_ > frames_.size()) return threads_ != 0;
  }
  if (pool_.start([this] { unpack(); }))
    ++threads_;
  else
    most_threads_ = threads_;
  return threads_ != 0;
}

bool FramePool::put(std::vector<std::byte>& frame, const FramePlace& place) {
  if (!has_thread()) return false;
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return stopped_ || frames_.size() < threads_; });
  if (stopped_) {
    lock.unlock();
    finish();  // throws
    return true;
  }
  frames_.emplace_back(std::move(frame), place);
  frame = {};
  changed_.notify_all();
  return true;
}

bool FramePool::next(Frame& frame) {
  std::unique_lock lock(mutex_);
  ++idle_;
  changed_.wait(lock, [this] { return stopped_ || ended_ || !frames_.empty(); });
  --idle_;
  if (frames_.empty()) return false;
  frame = std::move(frames_.front());
  frames_.pop_front();
  changed_.notify_all();
  return true;
}

void FramePool::unpack() {
  FrameUnpacker unpacker(copy_, name_);
  for (Frame frame; next(frame);) {
    unpacker.begin(frame.second);
    unpacker.append(frame.first);
    unpacker.end();
  }
}

}  // namespace cryo
