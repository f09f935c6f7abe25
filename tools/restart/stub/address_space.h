// SPDX-License-Identifier: GPL-2.0-only
// Which addresses are taken, and where a hole is.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace cryo {

struct AddressRange {
  std::uint64_t start = 0;
  std::uint64_t end = 0;  // first address behind it

  [[nodiscard]] std::uint64_t size() const { return end - start; }
  [[nodiscard]] bool overlaps(const AddressRange& other) const {
    return start < other.end && other.start < end;
  }
};

// Where shared anonymous memory of the job is, by inode id: see memory/shared_memory.h.
using SharedMemory = std::map<std::uint32_t, AddressRange>;

class AddressSpace {
 public:
  explicit AddressSpace(std::uint64_t page_size) : page_size_(page_size) {}

  // Ranges may overlap.
  void use(AddressRange range);
  // Lowest page-aligned hole of `size` bytes, taken at once.  Throws Error (ENOMEM).
  [[nodiscard]] AddressRange take_hole(std::uint64_t size) { return take_hole(size, page_size_); }
  // The same, with another alignment, which is a multiple of the page.
  [[nodiscard]] AddressRange take_hole(std::uint64_t size, std::uint64_t alignment);

 private:
  std::uint64_t page_size_;
  std::vector<AddressRange> used_;  // ascending, not overlapping, not touching
};

// One line of /proc/self/maps.
struct OwnMapping {
  AddressRange range;
  std::string name;  // path or [name], may be empty
};
[[nodiscard]] std::vector<OwnMapping> own_mappings();

}  // namespace cryo
