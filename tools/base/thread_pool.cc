// SPDX-License-Identifier: GPL-2.0-only
#include "base/thread_pool.h"

#include <system_error>
#include <utility>

namespace cryo {

ThreadPool::~ThreadPool() {
  if (threads_.empty()) return;
  stop_();
  wait();
}

bool ThreadPool::start(const std::function<void()>& work) {
  threads_.reserve(threads_.size() + 1);  // nothing throws once there is a thread
  try {
    threads_.emplace_back([this, work] { run(work); });
  } catch (const std::system_error&) {
    return false;
  }
  return true;
}

void ThreadPool::run(const std::function<void()>& work) noexcept {
  try {
    work();
  } catch (...) {
    {
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
    }
    stop_();
  }
}

void ThreadPool::wait() noexcept {
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void ThreadPool::join() {
  wait();
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

}  // namespace cryo
