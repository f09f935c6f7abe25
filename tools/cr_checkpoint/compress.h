// SPDX-License-Identifier: GPL-2.0-only
// zstd between the module and the file: a pipe whose reader is a thread that compresses.
#pragma once

#include <zstd.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/unique_fd.h"

namespace cryo {

class Compressor {
 public:
  // Compressed data go to `out`; `name` is how messages call it.
  Compressor(int out, std::string name, int level);
  Compressor(const Compressor&) = delete;
  Compressor& operator=(const Compressor&) = delete;
  ~Compressor() { stop(); }

  // Where the data come in.
  [[nodiscard]] int input() const { return input_.get(); }

  // All data are in the pipe: waits until they are written. Others may have the input open still, as the module
  // does. Throws the error that stopped the thread, if one did: the writer of the input sees only EPIPE then.
  void finish();

  // The data are of no use any more: waits until the thread has ended.
  void stop() noexcept;

  // From any thread: finish() will throw ECANCELED.
  void cancel() noexcept { cancelled_ = true; }

 private:
  struct FreeContext {
    void operator()(ZSTD_CCtx* context) const { ::ZSTD_freeCCtx(context); }
  };

  void set(ZSTD_cParameter parameter, int value, const char* what);
  void thread_main() noexcept;
  void compress_all();
  std::size_t read_input();
  void wait_for_input();
  void end_input() noexcept;
  void compress(std::span<const std::byte> data, ZSTD_EndDirective directive);
  void write_all(std::span<const std::byte> data);

  int out_;
  std::string name_;
  std::unique_ptr<ZSTD_CCtx, FreeContext> context_;
  std::vector<std::byte> in_buffer_;
  std::vector<std::byte> out_buffer_;
  UniqueFd input_;
  UniqueFd reader_;
  UniqueFd end_;  // eventfd: the input is complete
  std::atomic<bool> cancelled_ = false;
  int error_ = 0;  // of the thread, once it has ended
  std::string error_text_;
  std::thread thread_;  // last: it uses all the others
};

}  // namespace cryo
