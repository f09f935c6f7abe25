// SPDX-License-Identifier: GPL-2.0-only
// Copies a stream, decompressed when it is zstd, into an unnamed temporary file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/unique_fd.h"

namespace cryo {

struct Spool {
  UniqueFd fd;
  std::uint64_t size = 0;
  bool compressed = false;  // the stream was
};

// Reads `fd` to its end.  Throws Error when the stream is neither a context nor zstd (at once, before
// anything is copied), when the zstd stream is cut or damaged, or when the copy fails.
[[nodiscard]] Spool spool(int fd, const std::string& name);

// Whether a stream that starts with `start` (4 bytes at least, or it is not) is zstd's.
[[nodiscard]] bool is_zstd(std::span<const std::byte> start);
// Whether what the file `fd`, which is zstd's, holds begins as a context does. Nothing: it cannot be read or
// decompressed.
[[nodiscard]] std::optional<bool> holds_context(int fd);

}  // namespace cryo
