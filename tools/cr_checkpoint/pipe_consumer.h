// SPDX-License-Identifier: GPL-2.0-only
// A pipe into which the module, or another stage, writes, and whose reader is a thread of this program.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <thread>

#include "base/unique_fd.h"

namespace cryo {

class PipeConsumer {
 public:
  // `purpose` is for messages: "compress FILE".
  explicit PipeConsumer(std::string purpose);
  PipeConsumer(const PipeConsumer&) = delete;
  PipeConsumer& operator=(const PipeConsumer&) = delete;
  ~PipeConsumer() { stop(); }

  // Where the data come in.
  [[nodiscard]] int input() const { return input_.get(); }

  // What the thread does.  When it throws, the writer of the input sees EPIPE.
  void start(std::function<void()> work);

  // For the thread: 0 at the end of the input.  Throws Error, ECANCELED after cancel().
  [[nodiscard]] std::size_t read(std::span<std::byte> to);
  // Throws ECANCELED after cancel().
  void check_cancelled() const;

  // All data are in the pipe: waits until the thread is through. Others may have the input open still, as the
  // module does. Throws what the thread has thrown.
  void finish();

  // The data are of no use any more: waits until the thread has ended.
  void stop() noexcept;

  // From any thread: finish() will throw ECANCELED.
  void cancel() noexcept { cancelled_ = true; }

 private:
  void thread_main(const std::function<void()>& work) noexcept;
  void wait_for_input();
  void end_input() noexcept;

  std::string purpose_;
  UniqueFd input_;
  UniqueFd reader_;
  UniqueFd end_;           // eventfd: the input is complete
  bool complete_ = false;  // the thread knows that
  std::atomic<bool> cancelled_ = false;
  int error_ = 0;  // of the thread, once it has ended
  std::string error_text_;
  std::thread thread_;  // last: it uses all the others
};

}  // namespace cryo
