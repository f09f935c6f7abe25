// SPDX-License-Identifier: GPL-2.0-only
#include "context/seek_table.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "context/frame_scanner.h"
#include "context/read_at.h"

namespace cryo {
namespace {

constexpr std::uint32_t kTableFrameMagic = 0x184D2A5E;
constexpr std::uint32_t kTableMagic = 0x8F92EAB1;
constexpr std::uint32_t kMostFrames = 0x8000000;
constexpr std::size_t kTableHead = 8;
constexpr std::size_t kTableFooter = 9;
constexpr std::byte kHasChecksums{0x80};
constexpr std::byte kReservedBits{0x7c};
constexpr std::uint32_t kSmallestFrame = 8;  // a skippable one without contents

void put(std::vector<std::byte>& to, std::uint32_t value) {
  for (int shift = 0; shift < 32; shift += 8) to.push_back(static_cast<std::byte>(value >> shift));
}

std::uint32_t get(std::span<const std::byte> from) {
  std::uint32_t value = 0;
  for (unsigned int i = 0; i < 4; ++i) value |= static_cast<std::uint32_t>(from[i]) << (8 * i);
  return value;
}

// What is at the end of a file, and is damaged from now on if it does not fit.
class TableReader {
 public:
  TableReader(int fd, std::uint64_t start, std::uint64_t end, const std::string& name)
      : fd_(fd), start_(start), end_(end), name_(name) {}

  std::optional<std::vector<FrameSizes>> read();

 private:
  template <typename... Args>
  [[noreturn]] void damaged(fmt::format_string<Args...> format, Args&&... args) const {
    fail(EBADMSG, "{}: damaged seek table: {} (zstd -d reads the file without it)", name_,
         fmt::format(format, std::forward<Args>(args)...));
  }

  void check_head(std::uint64_t at, std::uint64_t size) const;
  void read_entries(std::uint64_t at, std::size_t entry_size, std::vector<FrameSizes>& frames) const;
  void add(const FrameSizes& frame, std::vector<FrameSizes>& frames) const;

  int fd_;
  std::uint64_t start_;
  std::uint64_t end_;
  const std::string& name_;
};

void TableReader::check_head(std::uint64_t at, std::uint64_t size) const {
  std::array<std::byte, kTableHead> head;
  read_at(fd_, at, head, name_);
  const auto bytes = std::span<const std::byte>(head);
  if (get(bytes) != kTableFrameMagic || get(bytes.subspan(4)) != size - kTableHead)
    damaged("it does not begin at byte {}, where one of {} bytes would", at, size);
}

void TableReader::add(const FrameSizes& frame, std::vector<FrameSizes>& frames) const {
  if (frame.packed < kSmallestFrame || frame.unpacked > frame.packed * kMostPerByte)
    damaged("frame {} cannot have {} bytes with {} in them", frames.size(), frame.packed, frame.unpacked);
  frames.push_back(frame);
}

// In parts: memory is taken for frames that are possible.
void TableReader::read_entries(std::uint64_t at, std::size_t entry_size,
                               std::vector<FrameSizes>& frames) const {
  constexpr std::size_t kEntriesAtOnce = 8192;
  std::uint64_t packed = start_;
  const std::uint64_t entries_end = end_ - kTableFooter;
  std::vector<std::byte> block;
  for (std::uint64_t from = at + kTableHead; from < entries_end; from += block.size()) {
    block.resize(std::min<std::uint64_t>(kEntriesAtOnce * entry_size, entries_end - from));
    read_at(fd_, from, block, name_);
    for (std::size_t i = 0; i < block.size(); i += entry_size) {
      const auto entry = std::span<const std::byte>(block).subspan(i, entry_size);
      add({get(entry), get(entry.subspan(4))}, frames);
      packed += frames.back().packed;
    }
  }
  if (packed != at) damaged("its frames end at byte {}, and it begins at {}", packed, at);
}

std::optional<std::vector<FrameSizes>> TableReader::read() {
  if (end_ < start_ || end_ - start_ < kTableHead + kTableFooter) return std::nullopt;
  std::array<std::byte, kTableFooter> footer;
  read_at(fd_, end_ - kTableFooter, footer, name_);
  const auto bytes = std::span<const std::byte>(footer);
  if (get(bytes.subspan(5)) != kTableMagic) return std::nullopt;
  const std::uint32_t count = get(bytes);
  if ((footer[4] & kReservedBits) != std::byte{})
    damaged("unknown kind {:#04x}", std::to_integer<int>(footer[4]));
  const std::size_t entry_size = (footer[4] & kHasChecksums) != std::byte{} ? 12 : 8;
  const std::uint64_t size = kTableHead + std::uint64_t{count} * entry_size + kTableFooter;
  if (count > kMostFrames || size > end_ - start_)
    damaged("{} frames are not in {} bytes", count, end_ - start_);
  check_head(end_ - size, size);
  std::vector<FrameSizes> frames;
  read_entries(end_ - size, entry_size, frames);
  return frames;
}

}  // namespace

std::vector<std::byte> make_seek_table(std::span<const FrameSizes> frames) {
  std::vector<std::byte> table;
  if (frames.size() > kMostFrames) return table;
  const std::size_t size = kTableHead + 8 * frames.size() + kTableFooter;
  table.reserve(size);
  put(table, kTableFrameMagic);
  put(table, static_cast<std::uint32_t>(size - kTableHead));
  for (const FrameSizes& frame : frames) {
    put(table, frame.packed);
    put(table, frame.unpacked);
  }
  put(table, static_cast<std::uint32_t>(frames.size()));
  table.push_back(std::byte{});
  put(table, kTableMagic);
  return table;
}

std::optional<std::vector<FrameSizes>> find_seek_table(int fd, std::uint64_t start, std::uint64_t end,
                                                       const std::string& name) {
  return TableReader(fd, start, end, name).read();
}

}  // namespace cryo
