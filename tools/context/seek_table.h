// SPDX-License-Identifier: GPL-2.0-only
// The table of the frames of a zstd file: zstd's "seekable format" (contrib/seekable_format in its sources,
// zstd_seekable_compression_format.md, version 0.1.0).
//
// It is a skippable frame at the end of the file, which other decompressors pass over. All numbers have the
// least significant byte first:
//
//     4  0x184D2A5E       magic number of a skippable frame
//     4  bytes from here to the end of the frame
//     N times: 4 bytes of the frame in the file, 4 bytes of what is in it (and 4 of a checksum, if flagged)
//     4  N, 0x8000000 at most
//     1  bit 7: there are checksums; bits 2 to 6: zero
//     4  0x8F92EAB1
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace cryo {

struct FrameSizes {
  std::uint32_t packed;    // in the file
  std::uint32_t unpacked;  // of what is in it
};

// Empty when there are more frames than such a table can have.
[[nodiscard]] std::vector<std::byte> make_seek_table(std::span<const FrameSizes> frames);

// That of the file from `start` to `end`: its frames fill the place before the table without a gap, and none
// promises more than zstd can pack into it. Nothing when there is no table. Throws Error when there is one
// that does not fit the file.
[[nodiscard]] std::optional<std::vector<FrameSizes>> find_seek_table(int fd, std::uint64_t start,
                                                                     std::uint64_t end,
                                                                     const std::string& name);

}  // namespace cryo
