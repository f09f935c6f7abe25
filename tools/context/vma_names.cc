// SPDX-License-Identifier: GPL-2.0-only
// Names of anonymous memory.
#include <algorithm>

#include "context/mm_checks.h"

namespace cryo {
namespace {

// The kernel refuses others, so none of a checkpoint has them.
bool may_be_in_name(char c) {
  return c > 0x1f && c < 0x7f && std::string_view("\\`$[]").find(c) == std::string_view::npos;
}

}  // namespace

void parse_vma_name(Staging& staging, const Payload& payload) {
  const auto head = payload.fixed<cryo_vma_name>();
  const std::string text = payload.string();
  auto& names = staging.mms.mention(id_of(payload), payload.section()).names;
  if (text.empty() || text.size() > CRYO_VMA_NAME_MAX ||
      !std::all_of(text.begin(), text.end(), may_be_in_name))
    payload.damaged("{:#x}-{:#x} cannot have that name ({} bytes)", head.start, head.end, text.size());
  if (!names.empty() && head.start < names.back().head.end)
    payload.damaged("the name of {:#x}-{:#x} is not in order", head.start, head.end);
  names.push_back({head, text});
}

// Both ascend.
void check_vma_names(const Staging& staging, const Mm& mm) {
  auto vma = mm.vmas.begin();
  for (const VmaName& name : mm.names) {
    while (vma != mm.vmas.end() && vma->start < name.head.start) ++vma;
    if (vma == mm.vmas.end() || vma->start != name.head.start || vma->end != name.head.end ||
        (vma->kind != CRYO_VMA_ANON && vma->kind != CRYO_VMA_SHMEM))
      inconsistent(staging, "memory {}: {:#x}-{:#x} has a name, and is no area of anonymous memory", mm.id,
                   name.head.start, name.head.end);
  }
}

}  // namespace cryo
