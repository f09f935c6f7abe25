// SPDX-License-Identifier: GPL-2.0-only
#include "cr_checkpoint/page_table.h"

#include <algorithm>

namespace cryo {

void PageTable::add(const PageOwner& owner, std::uint64_t address, const Hash& hash, PagePlace place) {
  const auto number = owners_.emplace(owner, static_cast<std::uint32_t>(owners_.size())).first->second;
  entries_.push_back({hash, address, number, place});
}

void PageTable::finish() {
  std::sort(entries_.begin(), entries_.end(),
            [](const Entry& a, const Entry& b) { return a.key() < b.key(); });
}

const PagePlace* PageTable::find(const PageOwner& owner, std::uint64_t address, const Hash& hash) const {
  const auto known = owners_.find(owner);
  const std::uint32_t number = known == owners_.end() ? 0 : known->second;
  const auto wanted = std::tie(hash, number, address);
  auto at = std::lower_bound(entries_.begin(), entries_.end(), wanted,
                             [](const Entry& entry, const auto& key) { return entry.key() < key; });
  if (at != entries_.end() && at->hash == hash) return &at->place;
  // All that have these bytes are before it.
  if (at != entries_.begin() && std::prev(at)->hash == hash) return &std::prev(at)->place;
  return nullptr;
}

void PageOwners::add_process(const cryo_process& process) {
  mms_.emplace(process.mm, static_cast<std::uint64_t>(process.pid));
}

void PageOwners::add_inode(std::uint32_t id, const cryo_inode& inode) {
  inodes_[id] = {inode.dev, inode.ino};
}

PageOwner PageOwners::of(std::uint32_t kind, std::uint32_t object) const {
  if (kind == CRYO_PAGES_MM) {
    const auto mm = mms_.find(object);
    return {kind, mm == mms_.end() ? 0 : mm->second, 0};
  }
  if (kind != CRYO_PAGES_INODE) return {kind, 0, object};
  const auto inode = inodes_.find(object);
  return inode == inodes_.end() ? PageOwner{kind, 0, object}
                                : PageOwner{kind, inode->second.first, inode->second.second};
}

}  // namespace cryo
