// SPDX-License-Identifier: GPL-2.0-only
#include "restart/memory/inherited_memory.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <set>
#include <utility>

#include "base/error.h"
#include "restart/cgroups/cgroup.h"
#include "restart/memory/memory_plan.h"

namespace cryo {
namespace {

constexpr int kProtection = PROT_READ | PROT_WRITE;

void* pointer_at(std::uint64_t address) {
  return reinterpret_cast<void*>(address);
}

int flags_to_map(const InheritedArea& area) {
  return MAP_PRIVATE | MAP_FIXED_NOREPLACE | (area.file == 0 ? MAP_ANONYMOUS : 0) |
         ((area.flags & CRYO_VMA_NORESERVE) ? MAP_NORESERVE : 0) |
         ((area.flags & CRYO_VMA_GROWSDOWN) ? MAP_GROWSDOWN : 0);
}

bool map_at(std::uint64_t address, const InheritedArea& area, int fd) {
  void* const at = ::mmap(pointer_at(address), area.range.size(), kProtection, flags_to_map(area), fd,
                          static_cast<off_t>(area.offset));
  if (at == pointer_at(address)) return true;
  // A kernel that does not know MAP_FIXED_NOREPLACE takes another place.
  if (at != MAP_FAILED) ::munmap(at, area.range.size());
  return false;
}

// The kernel numbers the pages of anonymous memory by the address where the first one was used, and merges
// areas only if the numbers go on from one to the next.  So the area begins where it belongs, if there is
// nothing yet, and moves.
bool make_and_move(const InheritedArea& area, std::uint64_t to) {
  const std::uint64_t size = area.range.size();
  void* const at = pointer_at(area.range.start);
  if (!map_at(area.range.start, area, -1)) return false;
  *static_cast<volatile char*>(at) = 0;
  if (::madvise(at, size, MADV_DONTNEED) == 0 &&
      ::mremap(at, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, pointer_at(to)) == pointer_at(to))
    return true;
  ::munmap(at, size);
  return false;
}

bool make_at(std::uint64_t address, const InheritedArea& area, int fd) {
  if (area.file != 0) return map_at(address, area, fd);
  if (make_and_move(area, address)) return true;
  // A stack whose pages have low numbers could not grow.
  return (area.flags & CRYO_VMA_GROWSDOWN) == 0 && map_at(address, area, -1);
}

// As it was in the process: the page tables of huge pages can be moved as a whole then.
std::uint64_t aligned_like(std::uint64_t address, std::uint64_t like, std::uint64_t alignment) {
  return address + ((like - address) & (alignment - 1));
}

// One of the job, if all of its processes are in one group.
std::optional<std::size_t> in_common_group(const Context& context) {
  std::set<std::string> groups;
  std::optional<std::size_t> first;
  for (std::size_t i = 0; i < context.processes.size(); ++i) {
    const Process& process = context.processes[i];
    if (process.threads.empty()) continue;
    groups.insert(process.namespaces.cgroup == 0 ? process.cgroup : "");
    if (!first) first = i;
  }
  return groups.size() == 1 && !groups.begin()->empty() ? first : std::nullopt;
}

// Pages that are read while one of those who will have them must have no huge ones.
class NoHugePages {
 public:
  explicit NoHugePages(bool wanted) : before_(::prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0)) {
    if (wanted && before_ == 0) ::prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
  }
  ~NoHugePages() {
    if (before_ == 0) ::prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0);
  }
  NoHugePages(const NoHugePages&) = delete;
  NoHugePages& operator=(const NoHugePages&) = delete;

 private:
  int before_;
};

}  // namespace

InheritedMemory::InheritedMemory(const Context& context, const InheritedPages& pages,
                                 const std::vector<int>& context_fds, std::map<std::uint32_t, int> fds)
    : context_(context),
      pages_(pages),
      context_fds_(context_fds),
      fds_(std::move(fds)),
      payer_(pages.runs().empty() ? std::nullopt : in_common_group(context)),
      areas_(pages.areas().size()) {}

void InheritedMemory::read(std::size_t node, std::size_t step) {
  const std::vector<std::size_t>& due = pages_.due(node, step);
  if (due.empty()) return;
  // Later this process would do that in any case; what it reads is charged to the group in which it is.
  if (payer_) join_cgroup(context_, *payer_);
  make_areas(due);
  for (const std::size_t i : due) {
    const InheritedRun& run = pages_.runs()[i];
    if (areas_[run.area].place.size() != 0) read_run(run);
  }
}

// Places are free in all memories that have the area: that of one cannot be in the way of another one.
void InheritedMemory::make_areas(const std::vector<std::size_t>& runs) {
  std::set<std::uint32_t> wanted;
  std::set<std::uint32_t> memories;
  for (const std::size_t i : runs) {
    const std::uint32_t number = pages_.runs()[i].area;
    if (areas_[number].tried || !wanted.insert(number).second) continue;
    const InheritedArea& area = pages_.areas()[number];
    memories.insert(area.memories.begin(), area.memories.end());
  }
  if (wanted.empty()) return;
  AddressSpace space(context_.header.page_size);
  for (const OwnMapping& mapping : own_mappings()) space.use(mapping.range);
  for (const std::uint32_t mm : memories) use_saved_addresses(context_.mm(mm), space);
  for (const std::uint32_t number : wanted) areas_[number] = {true, make(pages_.areas()[number], space)};
}

AddressRange InheritedMemory::make(const InheritedArea& area, AddressSpace& space) const {
  const std::uint64_t size = area.range.size();
  const std::uint64_t page = context_.header.page_size;
  const std::uint64_t table = page * (page / sizeof(std::uint64_t));  // what one table of page tables has
  const std::uint64_t alignment = size >= table ? table : page;
  const auto fd = fds_.find(area.file);
  if (area.file != 0 && fd == fds_.end()) return {};
  AddressRange hole;
  try {
    hole = space.take_hole(size + alignment - page);
  } catch (const Error&) {
    return {};
  }
  const std::uint64_t at = aligned_like(hole.start, area.range.start, alignment);
  if (!make_at(at, area, area.file != 0 ? fd->second : -1)) return {};
  // Without huge pages in the kernel there is no such advice; then it is not in the context either.
  if (area.advice & CRYO_VMA_HUGEPAGE) ::madvise(pointer_at(at), size, MADV_HUGEPAGE);
  if (area.advice & CRYO_VMA_NOHUGEPAGE) ::madvise(pointer_at(at), size, MADV_NOHUGEPAGE);
  return {at, at + size};
}

void InheritedMemory::read_run(const InheritedRun& run) const {
  const InheritedArea& area = pages_.areas()[run.area];
  const NoHugePages no_huge_pages(area.thp_disabled);
  char* to =
      static_cast<char*>(pointer_at(areas_[run.area].place.start + run.pages.start - area.range.start));
  std::uint64_t offset = run.offset;
  for (std::uint64_t left = run.pages.size(); left > 0;) {
    const ssize_t got = ::pread(context_fds_[run.ancestor], to, left, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    const std::uint64_t address = run.pages.end - left;
    if (got < 0) fail_errno("cannot read the contents of memory at {:#x} from the context", address);
    if (got == 0) fail(ENODATA, "the context ends in the contents of memory at {:#x}", address);
    to += got;
    offset += static_cast<std::uint64_t>(got);
    left -= static_cast<std::uint64_t>(got);
  }
}

InheritedVmas InheritedMemory::vmas_of(const Mm& mm) const {
  InheritedVmas vmas = pages_.vmas_of(mm);
  std::erase_if(vmas, [this](const auto& entry) { return areas_[entry.second.area].place.size() == 0; });
  for (auto& [index, vma] : vmas)
    vma.place = areas_[vma.area].place.start + mm.vmas[index].start - vma.moved -
                pages_.areas()[vma.area].range.start;
  return vmas;
}

std::vector<AddressRange> InheritedMemory::places_of(const InheritedVmas& vmas) const {
  std::set<std::uint32_t> areas;
  for (const auto& [index, vma] : vmas) areas.insert(vma.area);
  std::vector<AddressRange> places;
  for (const std::uint32_t area : areas) places.push_back(areas_[area].place);
  return places;
}

}  // namespace cryo
