// SPDX-License-Identifier: GPL-2.0-only
#include "cr_checkpoint/compress.h"

#include <unistd.h>

#include <thread>
#include <utility>

#include "base/error.h"

namespace cryo {
namespace {

constexpr std::size_t kReadBytes = 1 << 20;

}  // namespace

Compressor::Compressor(int out, std::string name, int level)
    : out_(out),
      name_(std::move(name)),
      context_(::ZSTD_createCCtx()),
      in_buffer_(kReadBytes),
      out_buffer_(::ZSTD_CStreamOutSize()),
      inlet_("compress " + name_) {
  if (!context_) fail(ENOMEM, "no memory to compress {}", name_);
  set(ZSTD_c_compressionLevel, level, "level");
  set(ZSTD_c_checksumFlag, 1, "checksum");
  // A libzstd without threads refuses this, and compresses in our thread.
  ::ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_nbWorkers,
                           static_cast<int>(std::thread::hardware_concurrency()));
  inlet_.start([this] { compress_all(); });
}

void Compressor::set(ZSTD_cParameter parameter, int value, const char* what) {
  const std::size_t result = ::ZSTD_CCtx_setParameter(context_.get(), parameter, value);
  if (::ZSTD_isError(result)) fail(EINVAL, "compression {} {}: {}", what, value, ::ZSTD_getErrorName(result));
}

void Compressor::compress_all() {
  while (const std::size_t got = inlet_.read(in_buffer_))
    compress(std::span(in_buffer_).first(got), ZSTD_e_continue);
  compress({}, ZSTD_e_end);
}

void Compressor::compress(std::span<const std::byte> data, ZSTD_EndDirective directive) {
  ZSTD_inBuffer in{data.data(), data.size(), 0};
  std::size_t left;
  do {
    inlet_.check_cancelled();
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
