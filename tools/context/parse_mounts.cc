// SPDX-License-Identifier: GPL-2.0-only
// What is mounted in a mount namespace.
#include <map>

#include "context/mountinfo.h"
#include "context/staging.h"

namespace cryo {
namespace {

std::vector<Mount> mounts_of(const Payload& payload, std::string_view text) {
  auto mounts = parse_mountinfo(text);
  if (!mounts) payload.damaged("its text is not that of mountinfo");
  return std::move(*mounts);
}

// One has its parent outside, and all others are below that one.
void check_tree(const Payload& payload, const std::vector<Mount>& mounts) {
  std::map<std::uint32_t, std::uint32_t> parents;
  std::size_t roots = 0;
  for (const Mount& mount : mounts)
    if (!parents.emplace(mount.id, mount.parent).second) payload.damaged("mount {} is there twice", mount.id);
  for (const Mount& mount : mounts) {
    roots += parents.contains(mount.parent) ? 0 : 1;
    std::size_t steps = 0;
    for (auto at = parents.find(mount.id); at != parents.end(); at = parents.find(at->second))
      if (++steps > mounts.size()) payload.damaged("mount {} is below itself", mount.id);
  }
  if (roots != 1) payload.damaged("{} mounts are the root", roots);
}

void check_kinds(Staging& staging, const Payload& payload, const MountTree& tree) {
  if (tree.kinds.size() != tree.mounts.size())
    payload.damaged("{} mounts, and {} lines of text", tree.kinds.size(), tree.mounts.size());
  for (std::size_t i = 0; i < tree.kinds.size(); ++i) {
    const cryo_mount& kind = tree.kinds[i];
    if (kind.id != tree.mounts[i].id)
      payload.damaged("mount {} is {} in the text", kind.id, tree.mounts[i].id);
    if (kind.kind != CRYO_MOUNT_BIND && kind.kind != CRYO_MOUNT_NEW)
      staging.unknown(payload.section(), "mount of kind {}", kind.kind);
    if (kind.kind == CRYO_MOUNT_NEW && tree.mounts[i].type != "proc" && tree.mounts[i].type != "tmpfs")
      staging.unknown(payload.section(), "new mount of type {}", tree.mounts[i].type);
  }
}

}  // namespace

void parse_ns_mnt(Staging& staging, const Payload& payload) {
  const auto head = payload.fixed<cryo_ns_mnt>();
  const auto tail = payload.tail();
  const std::uint64_t records = std::uint64_t{head.nr_mounts} * head.record_size;
  if (head.nr_mounts > CRYO_MAX_MOUNTS || head.record_size < sizeof(std::uint64_t) || records > tail.size() ||
      head.text_len > tail.size() - records)
    payload.damaged("{} mounts and {} bytes of text in {} bytes", head.nr_mounts, head.text_len, tail.size());
  MountTree tree;
  for (std::uint32_t i = 0; i < head.nr_mounts; ++i)
    tree.kinds.push_back(
        grown<cryo_mount>(tail.subspan(i * std::size_t{head.record_size}, head.record_size)));
  const std::string_view text(reinterpret_cast<const char*>(tail.data()) + records, tail.size() - records);
  if (text.find('\0') != std::string_view::npos) payload.damaged("a NUL byte is inside its text");
  tree.mounts = mounts_of(payload, text.substr(0, head.text_len));
  tree.outer = mounts_of(payload, text.substr(head.text_len));
  check_tree(payload, tree.mounts);
  check_kinds(staging, payload, tree);
  staging.once(payload);
  if (payload.object() == 0) payload.damaged("0 cannot be a namespace");
  staging.namespaces.mention(payload.object(), payload.section()).mnt = std::move(tree);
}

}  // namespace cryo
