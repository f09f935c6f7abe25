// SPDX-License-Identifier: GPL-2.0-only
// Threads that work on one thing together: the first error of any of them is the error of all.
#pragma once

#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace cryo {

// One thread starts the others and joins them.
class ThreadPool {
 public:
  // `stop` makes all threads end soon; it is called by a thread that has failed, and may be called again.
  explicit ThreadPool(std::function<void()> stop) : stop_(std::move(stop)) {}
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  ~ThreadPool();

  // False when there can be no more threads: that is no error as long as there are others.
  [[nodiscard]] bool start(const std::function<void()>& work);
  // Work of the calling thread, whose errors are treated like those of the others.
  void run(const std::function<void()>& work) noexcept;
  // Waits for all threads. Throws the first error.
  void join();

 private:
  void wait() noexcept;

  std::function<void()> stop_;
  std::mutex mutex_;
  std::exception_ptr error_;  // the first one
  std::vector<std::thread> threads_;
};

}  // namespace cryo
