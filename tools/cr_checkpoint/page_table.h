// SPDX-License-Identifier: GPL-2.0-only
// Which pages there are in a context and its ancestors, and where: found by their contents.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "context/model.h"

namespace cryo {

// What has pages, by what stays the same from one context to the next, as ids do not.
struct PageOwner {
  std::uint32_t kind = CRYO_PAGES_MM;  // CRYO_PAGES_*
  std::uint64_t first = 0;             // of memory: the first process that has it; of an inode: its device;
  std::uint64_t second = 0;            // and its number; of a file of a mount: that of the section
  auto operator<=>(const PageOwner&) const = default;
};

struct PagePlace {
  std::uint32_t file = 0;  // number of the context that has the bytes
  std::uint64_t offset = 0;
};

class PageTable {
 public:
  void add(const PageOwner& owner, std::uint64_t address, const Hash& hash, PagePlace place);
  // After the last add(), before the first find().
  void finish();

  // Where bytes with this hash are: those of the same address of the same owner, if they are among them, so
  // that runs of pages stay runs. Null: nowhere.
  [[nodiscard]] const PagePlace* find(const PageOwner& owner, std::uint64_t address, const Hash& hash) const;

  [[nodiscard]] std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    Hash hash;
    std::uint64_t address;
    std::uint32_t owner;
    PagePlace place;
    [[nodiscard]] auto key() const { return std::tie(hash, owner, address); }
  };

  std::map<PageOwner, std::uint32_t> owners_;
  std::vector<Entry> entries_;  // ascending by key(), once finished
};

// The owners of a context's pages, known from its sections.
class PageOwners {
 public:
  void add_process(const cryo_process& process);
  void add_inode(std::uint32_t id, const cryo_inode& inode);
  [[nodiscard]] PageOwner of(std::uint32_t kind, std::uint32_t object) const;

 private:
  std::map<std::uint32_t, std::uint64_t> mms_;
  std::map<std::uint32_t, std::pair<std::uint64_t, std::uint64_t>> inodes_;
};

}  // namespace cryo
