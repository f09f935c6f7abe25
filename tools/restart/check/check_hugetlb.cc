// SPDX-License-Identifier: GPL-2.0-only
// Whether there are enough huge pages.  Those of private memory and of what is shared are reserved when they
// are mapped: all of them, but where the process has said that it does without (MAP_NORESERVE), those with
// contents.
#include <linux/capability.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>

#include "base/parse.h"
#include "restart/cgroups/cgroup.h"
#include "restart/check/check.h"
#include "restart/common/proc_files.h"
#include "restart/ipc/sysv.h"
#include "restart/memory/huge_sizes.h"
#include "restart/memory/mapped.h"
#include "restart/rights/names.h"

namespace cryo {
namespace {

// Numbers of pages of one object, as ranges.
class HugePageSet {
 public:
  void add(std::uint64_t first, std::uint64_t end) { ranges_.emplace_back(first, end); }
  [[nodiscard]] std::uint64_t count() {
    std::sort(ranges_.begin(), ranges_.end());
    std::uint64_t pages = 0;
    std::uint64_t reached = 0;
    for (const auto& [first, end] : ranges_) {
      const std::uint64_t from = std::max(first, reached);
      if (end > from) pages += end - from;
      reached = std::max(reached, end);
    }
    return pages;
  }

 private:
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges_;
};

void add_huge_pages(HugePageSet& pages, std::uint64_t start, std::uint64_t end, std::uint64_t huge_size) {
  pages.add(start / huge_size, (end + huge_size - 1) / huge_size);
}

bool has_hugetlb(const Mm& mm) {
  return std::any_of(mm.vmas.begin(), mm.vmas.end(),
                     [](const cryo_vma& vma) { return huge_size_of(vma) != 0; });
}

bool is_private_area(const cryo_vma& vma) {
  return vma.kind == CRYO_VMA_ANON || (vma.flags & CRYO_VMA_SHARED) == 0;
}

// What the job takes, by size of the pages.
class HugePageCounter {
 public:
  explicit HugePageCounter(const Context& context) : context_(context) {}

  [[nodiscard]] std::map<std::uint64_t, std::uint64_t> count() {
    for (const auto& [id, mm] : context_.mms) add_areas(mm);
    add_contents();
    std::map<std::uint64_t, std::uint64_t> needed;
    for (auto& [key, pages] : private_) needed[key.first] += pages.count();
    for (auto& [id, pages] : shared_)
      if (!has_its_pages(context_.inode(id))) needed[context_.inode(id).huge_size] += pages.count();
    return needed;
  }

 private:
  // A segment that has been left behind.
  [[nodiscard]] static bool has_its_pages(const Inode& inode) {
    return inode.shm && is_segment_there(*inode.shm);
  }
  void add_areas(const Mm& mm);
  void add_contents();

  const Context& context_;
  std::map<std::pair<std::uint64_t, std::uint32_t>, HugePageSet> private_;  // by size and mm
  std::map<std::uint32_t, HugePageSet> shared_;                             // by inode
};

void HugePageCounter::add_areas(const Mm& mm) {
  for (const cryo_vma& vma : mm.vmas) {
    const std::uint64_t huge_size = huge_size_of(vma);
    if (huge_size == 0 || (vma.flags & CRYO_VMA_NORESERVE) != 0) continue;
    if (is_private_area(vma))
      add_huge_pages(private_[{huge_size, mm.id}], vma.start, vma.end, huge_size);
    else
      add_huge_pages(shared_[context_.file(vma.file).head.inode], vma.offset,
                     vma.offset + (vma.end - vma.start), huge_size);
  }
}

void HugePageCounter::add_contents() {
  const std::uint64_t page = context_.header.page_size;
  for (const auto& [id, inode] : context_.inodes)
    if (inode.huge_size != 0 && inode.shm) add_huge_pages(shared_[id], 0, inode.head.size, inode.huge_size);
  for (const PageChunk& chunk : context_.pages) {
    if (chunk.kind == CRYO_PAGES_INODE && context_.inode(chunk.object).huge_size != 0) {
      for (const cryo_page_run& run : chunk.runs)
        add_huge_pages(shared_[chunk.object], run.start, run.start + run.nr_pages * page,
                       context_.inode(chunk.object).huge_size);
    } else if (chunk.kind == CRYO_PAGES_MM) {
      const Mm& mm = context_.mm(chunk.object);
      if (!has_hugetlb(mm)) continue;
      for (const PagePiece& piece : pieces_of(context_, mm, chunk))
        if (const std::uint64_t huge_size = huge_size_of(mm.vmas[piece.vma]); huge_size != 0)
          add_huge_pages(private_[{huge_size, mm.id}], piece.start, piece.start + piece.nr_pages * page,
                         huge_size);
    }
  }
}

std::optional<std::uint64_t> number_at(const std::string& path) {
  std::ifstream file(path);
  std::string text;
  if (!(file >> text)) return std::nullopt;
  return parse_number<std::uint64_t>(text);
}

// Pages that files of the job have that are still there: their names are taken over, and what is in them is
// replaced.
std::uint64_t pages_there(const Context& context, const RestartOptions& options, std::uint64_t huge_size) {
  std::set<std::uint32_t> seen;
  std::uint64_t pages = 0;
  for (const auto& [id, use] : file_uses(context)) {
    const File& file = context.file(id);
    const NamesToCheck theirs(context, use.processes);
    if (file.head.kind != CRYO_FILE_HUGETLB || !seen.insert(file.head.inode).second) continue;
    const Inode& inode = context.inode(file.head.inode);
    struct stat now;
    if (inode.huge_size != huge_size || (inode.head.flags & CRYO_INODE_DELETED) != 0 ||
        names::stat(options.relocations.apply(file.path), now) != 0)
      continue;
    pages += static_cast<std::uint64_t>(now.st_blocks) * 512 / huge_size;
  }
  return pages;
}

void check_pool(const Context& context, const RestartOptions& options, std::uint64_t huge_size,
                std::uint64_t needed, Findings& findings) {
  const std::string size = huge_size_text(huge_size);
  const std::string pool = fmt::format("/sys/kernel/mm/hugepages/hugepages-{}kB/", huge_size / 1024);
  const auto read = [&pool](const char* name) { return number_at(pool + name); };
  const auto total = read("nr_hugepages");
  if (!total)
    return findings.problem(
        ENOMEM, "the job has memory in huge pages of {}, which this machine does not have (see {})", size,
        "/sys/kernel/mm/hugepages");
  const std::uint64_t free = read("free_hugepages").value_or(0);
  const std::uint64_t reserved = std::min(read("resv_hugepages").value_or(0), free);
  const std::uint64_t surplus = read("surplus_hugepages").value_or(0);
  const std::uint64_t more = read("nr_overcommit_hugepages").value_or(0);
  const std::uint64_t there = pages_there(context, options, huge_size);
  const std::uint64_t had = free - reserved + (more > surplus ? more - surplus : 0) + there;
  if (needed <= had) return;
  findings.problem(ENOMEM,
                   "the job needs {} huge pages of {}, and {} can be had: as root, echo {} >{}nr_hugepages",
                   needed, size, had, *total + needed - had, pool);
}

// As in the names of the files of the controller: "2MB".
std::string cgroup_size(std::uint64_t huge_size) {
  constexpr std::uint64_t kKiB = 1024;
  if (huge_size >= kKiB * kKiB * kKiB) return fmt::format("{}GB", huge_size / (kKiB * kKiB * kKiB));
  if (huge_size >= kKiB * kKiB) return fmt::format("{}MB", huge_size / (kKiB * kKiB));
  return fmt::format("{}KB", huge_size / kKiB);
}

// Of the group that cr_restart is in, and those above it.
void check_hugetlb_groups(std::uint64_t huge_size, std::uint64_t needed, Findings& findings) {
  for (const std::string& group : own_cgroups())
    for (const char* kind : {"", ".rsvd"}) {
      const std::string name = fmt::format("{}/hugetlb.{}{}", group, cgroup_size(huge_size), kind);
      const auto most = number_at(name + ".max");  // none: "max"
      const std::uint64_t used = number_at(name + ".current").value_or(0);
      if (!most || needed * huge_size <= *most - std::min(used, *most)) continue;
      return findings.problem(
          ENOMEM,
          "the job needs {} bytes in huge pages of {}, of which the control group may have {}, and has {}: "
          "echo {} >{}.max",
          needed * huge_size, huge_size_text(huge_size), *most, used, used + needed * huge_size, name);
    }
}

bool may_by_group(const Creds& own, std::uint32_t group) {
  return own.head.egid == group || std::find(own.groups.begin(), own.groups.end(), group) != own.groups.end();
}

// Segments that have to be made: not everybody may, while memory and files are for all.
void check_hugetlb_segments(const Context& context, const Creds& own, Findings& findings) {
  const std::string text = read_proc("sys/vm/hugetlb_shm_group");
  const auto group = parse_number<std::uint32_t>(text.substr(0, text.find('\n')));
  if (capable(own, CAP_IPC_LOCK) || (group && may_by_group(own, *group))) return;
  for (const auto& [id, inode] : context.inodes)
    if (inode.huge_size != 0 && inode.shm && !is_segment_there(*inode.shm))
      return findings.problem(EPERM,
                              "System V shared memory {} (key {:#x}) is in huge pages, which requires "
                              "CAP_IPC_LOCK, or the group of /proc/sys/vm/hugetlb_shm_group",
                              inode.shm->perm.id, static_cast<std::uint32_t>(inode.shm->perm.key));
}

// No call duplicates such memory, and it has no name: each part of it can be in one place only.
void check_hugetlb_parts(const Context& context, const Mm& mm, Findings& findings) {
  std::map<std::uint32_t, std::vector<AddressRange>> parts;  // by inode, in bytes of it
  for (const cryo_vma& vma : mm.vmas)
    if (vma.kind == CRYO_VMA_SHMEM && huge_size_of(vma) != 0)
      parts[context.file(vma.file).head.inode].push_back({vma.offset, vma.offset + (vma.end - vma.start)});
  for (auto& [inode, ranges] : parts) {
    std::sort(ranges.begin(), ranges.end(), [](const auto& a, const auto& b) { return a.start < b.start; });
    for (std::size_t i = 1; i < ranges.size(); ++i)
      if (ranges[i].start < ranges[i - 1].end)
        return findings.problem(EOPNOTSUPP,
                                "memory {}: shared anonymous memory in huge pages is mapped twice", mm.id);
  }
}

}  // namespace

void check_hugetlb(const Context& context, const RestartOptions& options, const Creds& own,
                   Findings& findings) {
  for (const auto& [huge_size, needed] : HugePageCounter(context).count()) {
    check_pool(context, options, huge_size, needed, findings);
    check_hugetlb_groups(huge_size, needed, findings);
  }
  check_hugetlb_segments(context, own, findings);
  for (const auto& [id, mm] : context.mms) check_hugetlb_parts(context, mm, findings);
}

}  // namespace cryo
