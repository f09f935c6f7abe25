// SPDX-License-Identifier: GPL-2.0-only
// Whether there is as much memory as the job had.  What is in huge pages is not looked at here: see
// check_hugetlb.cc.
#include <algorithm>
#include <fstream>

#include "base/parse.h"
#include "restart/cgroups/cgroup.h"
#include "restart/check/check_limits.h"
#include "restart/check/check_room.h"
#include "restart/common/proc_files.h"
#include "restart/ipc/sysv.h"
#include "restart/memory/huge_sizes.h"
#include "restart/memory/mapped.h"

namespace cryo {
namespace {

// Of private memory.  With --map and --no-populate large areas come from the context page by page, as far as
// they are used.
std::uint64_t private_bytes(const Context& context, const RestartOptions& options, const Mm& mm,
                            const std::vector<const PageChunk*>& chunks) {
  std::vector<std::uint64_t> areas(mm.vmas.size());
  for (const PageChunk* chunk : chunks)
    for (const PagePiece& piece : pieces_of(context, mm, *chunk))
      areas[piece.vma] += piece.nr_pages * context.header.page_size;
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < areas.size(); ++i) {
    const cryo_vma& vma = mm.vmas[i];
    const bool late =
        options.map && !options.populate && vma.kind == CRYO_VMA_ANON && areas[i] >= kLeastMappedBytes;
    if (!late && huge_size_of(vma) == 0) sum += areas[i];
  }
  return sum;
}

// That a process is going to be in, and those above it.
std::vector<std::string> charged_groups(const Context& context, std::size_t process,
                                        const RestartOptions& options) {
  const std::string root = cgroup_mount();
  const std::string& group = context.processes[process].cgroup;
  if (root.empty() || group.empty() || options.cgroups == CgroupPolicy::kLeave ||
      !cgroup_obstacle(context, process, false).empty())
    return own_cgroups();
  std::vector<std::string> groups;
  for (std::string path = group; path.size() > 1; path.resize(path.rfind('/'))) groups.push_back(root + path);
  return groups;
}

void charge(MemoryNeeds& needs, std::uint64_t bytes, const std::vector<std::string>& groups) {
  needs.all += bytes;
  for (const std::string& group : groups) needs.groups[group] += bytes;
}

std::uint64_t bytes_in(const std::string& path) {
  std::string text;
  std::getline(std::ifstream(path), text);
  return parse_number<std::uint64_t>(text).value_or(kNoLimit);
}

// Of "NAME NUMBER" or "NAME: NUMBER kB", the number.
std::uint64_t value_of(const std::string& lines, const std::string& name) {
  const std::size_t at = ("\n" + lines).find("\n" + name);
  if (at == std::string::npos) return 0;
  const std::size_t start = lines.find_first_of("0123456789", at + name.size());
  if (start == std::string::npos) return 0;
  return parse_number<std::uint64_t>(
             lines.substr(start, lines.find_first_not_of("0123456789", start) - start))
      .value_or(0);
}

std::string whole_text(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// What files of others keep there can be had.
std::uint64_t room_in_group(const std::string& group, std::uint64_t swap_free) {
  const std::uint64_t most = bytes_in(group + "/memory.max"), used = bytes_in(group + "/memory.current");
  if (most == kNoLimit || used == kNoLimit) return kNoLimit;
  const std::string stat = whole_text(group + "/memory.stat");
  const std::uint64_t cache = value_of(stat, "inactive_file ") + value_of(stat, "active_file ");
  const std::uint64_t kept = used - std::min(used, cache);
  const std::uint64_t swap_most = bytes_in(group + "/memory.swap.max"),
                      swap_used = bytes_in(group + "/memory.swap.current");
  const std::uint64_t swap =
      swap_used == kNoLimit ? 0 : std::min(swap_free, swap_most - std::min(swap_most, swap_used));
  return most - std::min(most, kept) + swap;
}

}  // namespace

MemoryNeeds memory_needs(const Context& context, const RestartOptions& options, const ContentsSizes& sizes,
                         const std::set<std::uint32_t>& inodes) {
  MemoryNeeds needs;
  std::map<std::uint32_t, std::vector<const PageChunk*>> chunks;  // by mm
  const std::vector<std::string> own = own_cgroups();
  for (const PageChunk& chunk : context.pages) {
    if (chunk.kind == CRYO_PAGES_TMPFS) charge(needs, chunk.bytes, own);
    // A copy takes no room until somebody writes to it.
    if (chunk.kind == CRYO_PAGES_MM && !chunk.copy) chunks[chunk.object].push_back(&chunk);
  }
  for (std::size_t i = 0; i < context.processes.size(); ++i) {
    const auto found = chunks.find(context.processes[i].head.mm);
    if (found == chunks.end()) continue;
    charge(needs, private_bytes(context, options, context.mm(found->first), found->second),
           charged_groups(context, i, options));
    chunks.erase(found);  // others share it
  }
  for (const auto& [id, bytes] : sizes) {
    const Inode& inode = context.inode(id);
    if (inodes.contains(id) || (inode.shm && !is_segment_there(*inode.shm))) charge(needs, bytes, own);
  }
  return needs;
}

MemoryRoom memory_room(const MemoryNeeds& needs) {
  constexpr std::uint64_t kKiB = 1024;
  const std::string machine = read_proc("meminfo");
  const std::uint64_t swap = value_of(machine, "SwapFree:") * kKiB,
                      available = value_of(machine, "MemAvailable:") * kKiB;
  MemoryRoom room{available == 0 ? kNoLimit : available + swap, {}};
  for (const auto& [group, bytes] : needs.groups) room.groups[group] = room_in_group(group, swap);
  return room;
}

void check_free_memory(const MemoryNeeds& needs, const MemoryRoom& room, Findings& findings) {
  if (needs.all > room.machine)
    findings.warning(
        "the job has {} bytes of memory in the context, and {} can be had here (MemAvailable and SwapFree of "
        "/proc/meminfo)",
        needs.all, room.machine);
  for (const auto& [group, bytes] : needs.groups)
    if (const auto most = room.groups.find(group); most != room.groups.end() && bytes > most->second)
      findings.warning(
          "the job has {} bytes of memory in the context, and {} can be had in its control group (see "
          "{}/memory.max)",
          bytes, most->second, group);
}

}  // namespace cryo
