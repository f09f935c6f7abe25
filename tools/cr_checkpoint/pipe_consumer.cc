// SPDX-License-Identifier: GPL-2.0-only
#include "cr_checkpoint/pipe_consumer.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <exception>
#include <iterator>
#include <utility>

#include "base/error.h"

namespace cryo {
namespace {

constexpr int kPipeBytes = 1 << 20;  // fewer changes between the module and the thread

}  // namespace

PipeConsumer::PipeConsumer(std::string purpose) : purpose_(std::move(purpose)) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) fail_errno("cannot create a pipe to {}", purpose_);
  reader_.reset(ends[0]);
  input_.reset(ends[1]);
  end_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!end_ || ::fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0) fail_errno("cannot prepare to {}", purpose_);
  ::fcntl(ends[1], F_SETPIPE_SZ, kPipeBytes);  // the limit for the user may be lower: then it stays as it is
}

void PipeConsumer::start(std::function<void()> work) {
  thread_ = std::thread([this, work = std::move(work)] { thread_main(work); });
}

void PipeConsumer::stop() noexcept {
  cancel();
  end_input();
  if (thread_.joinable()) thread_.join();
}

// Not by closing: the module keeps the pipe open as long as its request exists.
void PipeConsumer::end_input() noexcept {
  ::eventfd_write(end_.get(), 1);
  input_.reset();
}

void PipeConsumer::finish() {
  end_input();
  if (thread_.joinable()) thread_.join();
  if (error_ != 0) throw Error(error_, error_text_);
}

void PipeConsumer::thread_main(const std::function<void()>& work) noexcept {
  try {
    work();
  } catch (const Error& error) {
    error_ = error.code();
    error_text_ = error.what();
  } catch (const std::exception& error) {
    error_ = ENOMEM;
    error_text_ = fmt::format("cannot {}: {}", purpose_, error.what());
  }
  reader_.reset();  // whoever writes to the input does not wait for us any more
}

void PipeConsumer::check_cancelled() const {
  if (cancelled_) fail(ECANCELED, "cannot {}: cancelled", purpose_);
}

std::size_t PipeConsumer::read(std::span<std::byte> to) {
  for (;;) {
    check_cancelled();
    const ssize_t got = ::read(reader_.get(), to.data(), to.size());
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EAGAIN) fail_errno("cannot read what there is to {}", purpose_);
    if (complete_) return 0;
    wait_for_input();
    // Asked before the next read: what came before the end is read, even if both came at once.
    pollfd end{end_.get(), POLLIN, 0};
    complete_ = ::poll(&end, 1, 0) == 1;
  }
}

void PipeConsumer::wait_for_input() {
  pollfd wait[] = {{reader_.get(), POLLIN, 0}, {end_.get(), POLLIN, 0}};
  if (::poll(wait, std::size(wait), -1) < 0 && errno != EINTR) fail_errno("poll");
}

}  // namespace cryo
