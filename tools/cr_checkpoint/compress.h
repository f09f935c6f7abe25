// SPDX-License-Identifier: GPL-2.0-only
// zstd between the module and the file.
#pragma once

#include <zstd.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cr_checkpoint/inlet.h"

namespace cryo {

class Compressor {
 public:
  // Compressed data go to `out`; `name` is how messages call it.
  Compressor(int out, std::string name, int level);

  // See Inlet.
  [[nodiscard]] int input() const { return inlet_.input(); }
  void finish() { inlet_.finish(); }
  void stop() noexcept { inlet_.stop(); }
  void cancel() noexcept { inlet_.cancel(); }

 private:
  struct FreeContext {
    void operator()(ZSTD_CCtx* context) const { ::ZSTD_freeCCtx(context); }
  };

  void set(ZSTD_cParameter parameter, int value, const char* what);
  void compress_all();
  void compress(std::span<const std::byte> data, ZSTD_EndDirective directive);
  void write_all(std::span<const std::byte> data);

  int out_;
  std::string name_;
  std::unique_ptr<ZSTD_CCtx, FreeContext> context_;
  std::vector<std::byte> in_buffer_;
  std::vector<std::byte> out_buffer_;
  Inlet inlet_;  // last: its thread uses all the others
};

}  // namespace cryo
