// SPDX-License-Identifier: GPL-2.0-only
#include "cr_checkpoint/compress.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <iterator>
#include <utility>

#include "base/error.h"

namespace cryo {
namespace {

constexpr int kPipeBytes = 1 << 20;  // fewer changes between the module and the thread
constexpr std::size_t kReadBytes = 1 << 20;

}  // namespace

Compressor::Compressor(int out, std::string name, int level)
    : out_(out),
      name_(std::move(name)),
      context_(::ZSTD_createCCtx()),
      in_buffer_(kReadBytes),
      out_buffer_(::ZSTD_CStreamOutSize()) {
  if (!context_) fail(ENOMEM, "no memory to compress {}", name_);
  set(ZSTD_c_compressionLevel, level, "level");
  set(ZSTD_c_checksumFlag, 1, "checksum");
  // A libzstd without threads refuses this, and compresses in our thread.
  ::ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_nbWorkers,
                           static_cast<int>(std::thread::hardware_concurrency()));
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) fail_errno("cannot create a pipe to compress {}", name_);
  reader_.reset(ends[0]);
  input_.reset(ends[1]);
  end_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!end_ || ::fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0) fail_errno("cannot prepare to compress {}", name_);
  ::fcntl(ends[1], F_SETPIPE_SZ, kPipeBytes);  // the limit for the user may be lower: then it stays as it is
  thread_ = std::thread([this] { thread_main(); });
}

void Compressor::stop() noexcept {
  cancel();
  end_input();
  if (thread_.joinable()) thread_.join();
}

void Compressor::set(ZSTD_cParameter parameter, int value, const char* what) {
  const std::size_t result = ::ZSTD_CCtx_setParameter(context_.get(), parameter, value);
  if (::ZSTD_isError(result)) fail(EINVAL, "compression {} {}: {}", what, value, ::ZSTD_getErrorName(result));
}

// Not by closing: the module keeps the pipe open as long as its request exists.
void Compressor::end_input() noexcept {
  ::eventfd_write(end_.get(), 1);
  input_.reset();
}

void Compressor::finish() {
  end_input();
  thread_.join();
  if (error_ != 0) throw Error(error_, error_text_);
}

void Compressor::thread_main() noexcept {
  try {
    compress_all();
  } catch (const Error& error) {
    error_ = error.code();
    error_text_ = error.what();
  } catch (const std::exception& error) {
    error_ = ENOMEM;
    error_text_ = fmt::format("cannot compress {}: {}", name_, error.what());
  }
  reader_.reset();  // whoever writes to the input does not wait for us any more
}

void Compressor::compress_all() {
  while (const std::size_t got = read_input()) compress(std::span(in_buffer_).first(got), ZSTD_e_continue);
  compress({}, ZSTD_e_end);
}

// 0 at the end of the input.
std::size_t Compressor::read_input() {
  bool complete = false;
  for (;;) {
    const ssize_t got = ::read(reader_.get(), in_buffer_.data(), in_buffer_.size());
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EAGAIN) fail_errno("cannot read what is to be compressed into {}", name_);
    if (complete) return 0;
    wait_for_input();
    // Asked before the next read: what came before the end is read, even if both came at once.
    pollfd end{end_.get(), POLLIN, 0};
    complete = ::poll(&end, 1, 0) == 1;
  }
}

void Compressor::wait_for_input() {
  pollfd wait[] = {{reader_.get(), POLLIN, 0}, {end_.get(), POLLIN, 0}};
  if (::poll(wait, std::size(wait), -1) < 0 && errno != EINTR) fail_errno("poll");
}

void Compressor::compress(std::span<const std::byte> data, ZSTD_EndDirective directive) {
  ZSTD_inBuffer in{data.data(), data.size(), 0};
  std::size_t left;
  do {
    if (cancelled_) fail(ECANCELED, "compression of {} was cancelled", name_);
    ZSTD_outBuffer out{out_buffer_.data(), out_buffer_.size(), 0};
    left = ::ZSTD_compressStream2(context_.get(), &out, &in, directive);
    if (::ZSTD_isError(left)) fail(ENOMEM, "cannot compress {}: {}", name_, ::ZSTD_getErrorName(left));
    write_all(std::span(out_buffer_).first(out.pos));
  } while (directive == ZSTD_e_end ? left != 0 : in.pos < in.size);
}

void Compressor::write_all(std::span<const std::byte> data) {
  while (!data.empty()) {
    const ssize_t done = ::write(out_, data.data(), data.size());
    if (done < 0) fail_errno("cannot write to {}", name_);
    data = data.subspan(static_cast<std::size_t>(done));
  }
}

}  // namespace cryo
