// SPDX-License-Identifier: GPL-2.0-only
#include "restart/stub/address_space.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "restart/common/proc_files.h"
#include "stub_arch.h"

namespace cryo {
namespace {

// Well above vm.mmap_min_addr everywhere.
constexpr std::uint64_t kLowest = 16 << 20;

std::uint64_t parse_hex(const std::string& line, std::size_t from, std::size_t to) {
  std::uint64_t value = 0;
  const auto result = std::from_chars(line.data() + from, line.data() + to, value, 16);
  if (result.ec != std::errc() || result.ptr != line.data() + to)
    fail(EIO, "/proc/self/maps has an unknown format: {}", line);
  return value;
}

OwnMapping parse_mapping(const std::string& line) {
  const std::size_t dash = line.find('-');
  const std::size_t blank = line.find(' ');
  if (dash == std::string::npos || blank == std::string::npos || dash > blank)
    fail(EIO, "/proc/self/maps has an unknown format: {}", line);
  OwnMapping mapping;
  mapping.range = {parse_hex(line, 0, dash), parse_hex(line, dash + 1, blank)};
  std::size_t field = blank;  // permissions, offset, device, inode, name
  for (int skipped = 0; skipped < 4 && field != std::string::npos; ++skipped)
    field = line.find(' ', field + 1);
  const std::size_t name = field == std::string::npos ? field : line.find_first_not_of(' ', field);
  if (name != std::string::npos) mapping.name = line.substr(name);
  return mapping;
}

}  // namespace

void AddressSpace::use(AddressRange range) {
  if (range.start >= range.end) return;
  const auto first = std::find_if(used_.begin(), used_.end(),
                                  [&](const AddressRange& other) { return other.end >= range.start; });
  auto last = first;
  for (; last != used_.end() && last->start <= range.end; ++last) {
    range.start = std::min(range.start, last->start);
    range.end = std::max(range.end, last->end);
  }
  used_.insert(used_.erase(first, last), range);
}

AddressRange AddressSpace::take_hole(std::uint64_t size, std::uint64_t alignment) {
  size = (size + page_size_ - 1) / page_size_ * page_size_;
  const auto aligned = [alignment](std::uint64_t address) {
    return (address + alignment - 1) / alignment * alignment;
  };
  std::uint64_t start = aligned(kLowest);
  for (const AddressRange& range : used_) {
    if (range.start >= start && range.start - start >= size) break;
    start = std::max(start, aligned(range.end));
  }
  if (start > stub::address_end() || stub::address_end() - start < size)
    fail(ENOMEM, "no hole of {} bytes in the address space", size);
  use({start, start + size});
  return {start, start + size};
}

std::vector<OwnMapping> own_mappings() {
  // Part by part: what would hold all of it would be one more mapping.
  const UniqueFd maps = open_proc("self/maps");
  if (!maps) fail_errno("cannot read /proc/self/maps");
  std::vector<OwnMapping> mappings;
  std::string rest;
  char part[4096];
  ssize_t got = 0;
  while ((got = ::read(maps.get(), part, sizeof(part))) > 0) {
    rest.append(part, static_cast<std::size_t>(got));
    std::size_t from = 0;
    for (std::size_t end; (end = rest.find('\n', from)) != std::string::npos; from = end + 1)
      mappings.push_back(parse_mapping(rest.substr(from, end - from)));
    rest.erase(0, from);
  }
  if (got < 0) fail_errno("cannot read /proc/self/maps");
  return mappings;
}

}  // namespace cryo
