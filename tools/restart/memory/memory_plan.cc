// SPDX-License-Identifier: GPL-2.0-only
#include "restart/memory/memory_plan.h"

#include <linux/prctl.h>
#include <sys/mman.h>
#include <sys/shm.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>

#include "base/error.h"
#include "restart/common/restart_arch.h"
#include "restart/memory/aio.h"
#include "restart/memory/guards.h"
#include "restart/memory/huge_sizes.h"
#include "restart/memory/mapped.h"
#include "restart/memory/memory_steps.h"
#include "restart/memory/resources.h"
#include "restart/memory/shadow_stack.h"
#include "restart/memory/tags.h"
#include "restart/process/auxv.h"
#include "stub_arch.h"

namespace cryo {
namespace {

using stub::Expect;

// The kernel's default stack_guard_gap.
constexpr std::uint64_t kStackGap = 256;  // pages
constexpr std::size_t kCallsPerVma = 16;
constexpr std::size_t kFixedCalls = 256;
constexpr std::uint32_t kMaxKeys = 32;

int protection(const cryo_vma& vma) {
  return ((vma.flags & CRYO_VMA_READ) ? PROT_READ : 0) | ((vma.flags & CRYO_VMA_WRITE) ? PROT_WRITE : 0) |
         ((vma.flags & CRYO_VMA_EXEC) ? PROT_EXEC : 0) | restart_protection(vma.flags);
}

bool is_kernel_mapping(const cryo_vma& vma) {
  return vma.kind == CRYO_VMA_VDSO || vma.kind == CRYO_VMA_VVAR;
}

// MAP_DROPPABLE (v6.11), which not every C library knows.  Without it, memory that nobody drops.
int droppable_flags() {
  constexpr int kMapDroppable = 0x08;
  constexpr std::size_t kAny = 4096;
  void* tried = ::mmap(nullptr, kAny, PROT_READ, kMapDroppable | MAP_ANONYMOUS, -1, 0);
  if (tried == MAP_FAILED) return MAP_PRIVATE;
  ::munmap(tried, kAny);
  return kMapDroppable;
}

// A System V segment, and whether it is attached for reading only: by inode id.
using SegmentUse = std::pair<std::uint32_t, bool>;

class Planner {
 public:
  Planner(const MemoryPlanInput& input, StubArea& area, AddressSpace& space)
      : input_(input), vmas_(input.mm.vmas), area_(area), space_(space), filled_(vmas_.size()) {}

  MemoryPlan plan() {
    mark_filled();
    clear();
    for (const auto& [index, mapped] : input_.mapped) plan_mapped(static_cast<std::uint32_t>(index), mapped);
    take_keys();
    for (std::uint32_t i = 0; i < vmas_.size(); ++i) plan_map(i);
    for (const AddressRange& place : input_.inherited_places)
      plan_.before_reads.add(kUnmapStep, 0, SYS_munmap, place.start, place.size());
    for (const MemoryResource* resource : kMemoryResources)
      if (resource->plan_before_contents != nullptr)
        resource->plan_before_contents(input_.context, input_.mm, plan_.before_reads, area_);
    plan_reads();
    plan_tags();
    fill_shadow_stacks();
    for (std::uint32_t i = 0; i < vmas_.size(); ++i) plan_finish(i);
    for (const auto& [inode, place] : input_.shared)
      plan_.after_reads.add(kShareStep, 0, SYS_munmap, place.start, place.size());
    finish_segments();
    for (const MemoryResource* resource : kMemoryResources)
      if (resource->plan != nullptr) resource->plan(input_.context, input_.mm, plan_.after_reads, area_);
    for (std::uint32_t i = 0; i < vmas_.size(); ++i) plan_lock_and_protect(i);
    leave_keys();
    plan_fields();
    return std::move(plan_);
  }

 private:
  void mark_filled();
  void clear();
  void plan_data_alone(const std::vector<KernelMapping>& saved);
  void move_kernel_mappings(std::uint32_t index, std::uint64_t from, std::uint64_t to);
  void move(std::uint32_t index, std::uint64_t from, std::uint64_t size, std::uint64_t to);
  [[nodiscard]] bool has_thread_in(const AddressRange& range) const;
  void plan_old_vdso(const std::vector<KernelMapping>& saved);
  void place_old_vdso(const std::vector<KernelMapping>& saved, const Bytes& image, const Bytes& data,
                      std::uint64_t transit, std::uint64_t to);
  void take_keys();
  void leave_keys();
  [[nodiscard]] bool has_own_key(const cryo_vma& vma) const {
    return vma.pkey < kMaxKeys && (input_.mm.head.pkeys >> vma.pkey & 1U);
  }
  void unmap_all_but(std::vector<AddressRange> kept);
  void make_aio_contexts(std::vector<AddressRange>& kept);
  void attach_segments(std::vector<AddressRange>& kept);
  void plan_part(std::uint32_t index);
  void finish_segments();
  [[nodiscard]] SegmentUse segment_use(const cryo_vma& vma) const {
    return {shared_inode(vma), !(vma.flags & CRYO_VMA_MAYWRITE)};
  }
  [[nodiscard]] bool is_ring(const cryo_vma& vma) const {
    return vma.kind == CRYO_VMA_FILE && input_.context.file(vma.file).head.kind == CRYO_FILE_URING;
  }
  void plan_map(std::uint32_t index);
  void plan_inherited(std::uint32_t index, const InheritedVma& inherited);
  void plan_advice_before(std::uint32_t index);
  void plan_shadow_stack(std::uint32_t index);
  void fill_shadow_stacks();
  void plan_mapped(std::uint32_t index, const MappedArea& mapped);
  void plan_reads();
  void add_read(const PageChunk& chunk);
  [[nodiscard]] std::vector<PagePiece> missing_of(const PagePiece& piece) const;
  void plan_tags();
  [[nodiscard]] std::uint64_t place_of(const PagePiece& piece);
  void plan_finish(std::uint32_t index);
  void plan_lock_and_protect(std::uint32_t index);
  void plan_fields();
  [[nodiscard]] int first_protection(std::uint32_t index) const;
  [[nodiscard]] std::uint32_t shared_inode(const cryo_vma& vma) const {
    return input_.context.file(vma.file).head.inode;
  }

  const MemoryPlanInput& input_;
  const std::vector<cryo_vma>& vmas_;
  StubArea& area_;
  AddressSpace& space_;
  std::vector<bool> filled_;                     // the VMA gets contents from the context, by reading
  std::map<SegmentUse, AddressRange> segments_;  // where a System V segment is attached for a while
  std::map<std::uint32_t, AddressRange> parts_;  // the same for each VMA of one in huge pages, by index
  std::map<std::uint64_t, AddressRange> aio_;    // by address of the VMA: where its ring is first
  std::map<std::size_t, AddressRange> fillers_;  // by index of the VMA: where its contents are read first
  std::vector<std::pair<std::size_t, cryo_shadow_stack>> fills_;  // what the module copies from there
  std::uint32_t spare_keys_ = 0;  // protection keys taken because keys come in order
  MemoryPlan plan_;
};

void Planner::mark_filled() {
  for (const PageChunk& chunk : input_.context.pages) {
    if (chunk.kind != CRYO_PAGES_MM || chunk.object != input_.mm.id) continue;
    for (const PagePiece& piece : pieces_of(input_.context, input_.mm, chunk))
      filled_[piece.vma] = !input_.mapped.contains(piece.vma);
  }
  for (const auto& [index, inherited] : input_.inherited) filled_[index] = true;
  // To set tags takes the right to write. Those of shared memory the maker has set.
  for (std::size_t i = 0; i < vmas_.size(); ++i)
    if (is_tagged(vmas_[i].flags) && !(vmas_[i].flags & CRYO_VMA_SHARED)) filled_[i] = true;
}

// Out of the way with the vdso, away with everything, and in with the vdso where it was.
void Planner::clear() {
  const std::vector<KernelMapping> saved = kernel_mappings(input_.mm);
  const AddressRange own = span_of(input_.own_kernel_mappings);
  move_kernel_mappings(0, own.start, area_.transit());
  std::vector<AddressRange> kept = input_.kept;
  kept.push_back(area_.range());
  for (const auto& [inode, place] : input_.shared) kept.push_back(place);
  kept.insert(kept.end(), input_.inherited_places.begin(), input_.inherited_places.end());
  make_aio_contexts(kept);
  attach_segments(kept);
  unmap_all_but(std::move(kept));
  if (!has_code(saved))  // the saved process had unmapped its vdso
    plan_data_alone(saved);
  else if (keeps_own_vdso(input_.context, input_.mm, input_.own_kernel_mappings))
    move_kernel_mappings(1, area_.transit(), saved.front().range.start);
  else
    plan_old_vdso(saved);
  plan_.before_reads.add(kThpDisableStep, 0, SYS_prctl, PR_SET_THP_DISABLE,
                         input_.mm.head.thp_disabled ? 1 : 0, 0, 0, 0);
}

void Planner::make_aio_contexts(std::vector<AddressRange>& kept) {
  for (const AioContext& saved : input_.mm.aio) {
    const AddressRange place = make_aio_context(saved, space_);
    aio_.emplace(saved.head.start, place);
    kept.push_back(place);
  }
}

// Nobody but the code reads the data; they come back where this kernel has the same ones.
void Planner::plan_data_alone(const std::vector<KernelMapping>& saved) {
  const std::uint64_t start = span_of(input_.own_kernel_mappings).start;
  std::vector<KernelMapping> data;
  for (const KernelMapping& own : input_.own_kernel_mappings)
    if (own.kind == CRYO_VMA_VVAR) data.push_back(own);
  const bool same = same_layout(data, saved);
  std::size_t next = 0;
  for (const KernelMapping& own : input_.own_kernel_mappings) {
    const std::uint64_t at = area_.transit() + own.range.start - start;
    if (same && own.kind == CRYO_VMA_VVAR)
      move(1, at, own.range.size(), saved[next++].range.start);
    else
      plan_.before_reads.add(kUnmapStep, 0, SYS_munmap, at, own.range.size());
  }
}

// They keep their distances, which are in the code.
void Planner::move_kernel_mappings(std::uint32_t index, std::uint64_t from, std::uint64_t to) {
  const std::uint64_t start = span_of(input_.own_kernel_mappings).start;
  for (const KernelMapping& own : input_.own_kernel_mappings) {
    const std::uint64_t offset = own.range.start - start;
    move(index, from + offset, own.range.size(), to + offset);
  }
}

void Planner::move(std::uint32_t index, std::uint64_t from, std::uint64_t size, std::uint64_t to) {
  plan_.before_reads.expect(Expect::kArgument4, kKernelMappingStep, index, SYS_mremap, from, size, size,
                            MREMAP_MAYMOVE | MREMAP_FIXED, to);
}

bool Planner::has_thread_in(const AddressRange& range) const {
  return std::any_of(input_.threads.begin(), input_.threads.end(), [&](const Thread& thread) {
    const std::uint64_t at = instruction_pointer(thread.regsets);
    return at >= range.start && at < range.end;
  });
}

// This kernel's where there is room, and at the old place the old one, which leads there.
void Planner::plan_old_vdso(const std::vector<KernelMapping>& saved) {
  const AddressRange own = span_of(input_.own_kernel_mappings);
  const AddressRange old = span_of(saved);
  const Vdso& vdso = input_.context.vdsos.at(input_.mm.head.vdso_crc);
  const std::uint64_t own_at = space_.take_hole(own.size()).start;
  std::uint64_t transit = area_.transit() + own.size();
  Bytes adapted = vdso.image;
  adapt_vdso(adapted, input_.context);
  Bytes image = adapted;
  for (const KernelMapping& mapping : input_.own_kernel_mappings)
    if (mapping.kind == CRYO_VMA_VDSO)
      image = redirected_vdso(adapted,
                              {reinterpret_cast<const std::byte*>(mapping.range.start), mapping.range.size()},
                              own_at + mapping.range.start - own.start);
  move_kernel_mappings(1, area_.transit(), own_at);
  place_old_vdso(saved, image, vdso.data, transit, old.start);
  if (!has_thread_in(old)) return;
  plan_.moved = CodeMove{old, space_.take_hole(old.size()).start};
  place_old_vdso(saved, adapted, vdso.data, transit + old.size(), plan_.moved->to);
}

// Made in transit now, moved by the stub.
void Planner::place_old_vdso(const std::vector<KernelMapping>& saved, const Bytes& image, const Bytes& data,
                             std::uint64_t transit, std::uint64_t to) {
  const AddressRange old = span_of(saved);
  void* made = ::mmap(reinterpret_cast<void*>(transit), old.size(), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (made == MAP_FAILED) fail_errno("cannot map a copy of the old vdso at {:#x}", transit);
  if (saved.front().kind == CRYO_VMA_VVAR)
    std::memcpy(made, data.data(), std::min<std::size_t>(data.size(), saved.front().range.size()));
  for (const KernelMapping& mapping : saved) {
    const std::uint64_t offset = mapping.range.start - old.start;
    const std::uint64_t size = mapping.range.size();
    const bool code = mapping.kind == CRYO_VMA_VDSO;
    if (code)
      std::memcpy(static_cast<std::byte*>(made) + offset, image.data(),
                  std::min<std::size_t>(image.size(), size));
    move(1, transit + offset, size, to + offset);
    plan_.before_reads.add(kKernelMappingStep, 1, SYS_mprotect, to + offset, size,
                           code ? PROT_READ | PROT_EXEC : PROT_READ);
  }
}

// The kernel gives the lowest key that is free, and takes one itself when it first maps memory to execute
// only: all up to the last one in use are taken, that one is given back, and in the end those too many.
void Planner::take_keys() {
  std::uint32_t used = input_.mm.head.pkeys;
  for (const cryo_vma& vma : vmas_)
    if (vma.pkey < kMaxKeys) used |= 1U << vma.pkey;
  used &= ~1U;
  if (used == 0) return;
  CallList& calls = plan_.before_reads;
  const auto last = static_cast<std::uint32_t>(std::bit_width(used));
  // pkey_alloc() has two arguments; the fourth one is what is expected
  for (std::uint32_t key = 1; key < last; ++key)
    calls.expect(Expect::kArgument3, kProtectionKeyStep, key, SYS_pkey_alloc, 0, 0, 0, key);
  const std::uint32_t kernels = used & ~input_.mm.head.pkeys;
  spare_keys_ = ((1U << (last - 1)) - 1) << 1 & ~used;
  for (std::uint32_t key = 1; key < last; ++key)
    if (kernels >> key & 1U) calls.add(kProtectionKeyStep, key, SYS_pkey_free, key);
}

void Planner::leave_keys() {
  for (std::uint32_t key = 1; key < kMaxKeys; ++key)
    if (spare_keys_ >> key & 1U) plan_.after_reads.add(kProtectionKeyStep, key, SYS_pkey_free, key);
}

void Planner::unmap_all_but(std::vector<AddressRange> kept) {
  std::sort(kept.begin(), kept.end(),
            [](const AddressRange& a, const AddressRange& b) { return a.start < b.start; });
  kept.push_back({stub::address_end(), stub::address_end()});
  std::uint64_t from = 0;
  for (const AddressRange& range : kept) {
    if (range.start > from) plan_.before_reads.add(kUnmapStep, 0, SYS_munmap, from, range.start - from);
    from = range.end;
  }
}

// An attachment may have been cut and moved: attached as a whole, each VMA is a duplicate of a part.  No call
// duplicates a part of one that is of hugetlbfs: it is attached for each VMA, and the rest of it is unmapped.
void Planner::attach_segments(std::vector<AddressRange>& kept) {
  for (std::uint32_t i = 0; i < vmas_.size(); ++i) {
    const cryo_vma& vma = vmas_[i];
    if (vma.kind != CRYO_VMA_SYSV || segments_.contains(segment_use(vma))) continue;
    const SegmentUse use = segment_use(vma);
    const Inode& inode = input_.context.inode(use.first);
    const bool huge = huge_size_of(vma) != 0;
    const std::uint64_t page = input_.context.header.page_size;
    const AddressRange place = huge ? space_.take_hole(inode.head.size, inode.huge_size)
                                    : space_.take_hole((inode.shm->size + page - 1) / page * page);
    input_.attach(*inode.shm, place, use.second);
    kept.push_back(place);
    if (huge)
      parts_.emplace(i, place);
    else
      segments_.emplace(use, place);
  }
}

void Planner::plan_part(std::uint32_t index) {
  const cryo_vma& vma = vmas_[index];
  const AddressRange place = parts_.at(index);
  const std::uint64_t size = vma.end - vma.start;
  CallList& calls = plan_.after_reads;
  calls.expect(Expect::kArgument4, kMapStep, index, SYS_mremap, place.start + vma.offset, size, size,
               MREMAP_MAYMOVE | MREMAP_FIXED, vma.start);
  calls.add(kAttachStep, segment_use(vma).first, SYS_munmap, place.start, place.size());
}

void Planner::finish_segments() {
  CallList& calls = plan_.after_reads;
  std::set<std::uint32_t> destroyed;
  for (const cryo_vma& vma : vmas_)
    if (vma.kind == CRYO_VMA_SYSV && input_.context.inode(shared_inode(vma)).shm->flags & CRYO_SHM_DESTROYED)
      destroyed.insert(shared_inode(vma));
  for (const auto& [use, place] : segments_)
    calls.add(kAttachStep, use.first, SYS_munmap, place.start, place.size());
  // Now that it is attached it may lose its name.
  for (const std::uint32_t inode : destroyed)
    calls.add(kAttachStep, inode, SYS_shmctl, input_.context.inode(inode).shm->perm.id, IPC_RMID, 0);
}

// Contents are read into the VMA, and locking faults its pages in: both need the right to.
int Planner::first_protection(std::uint32_t index) const {
  const cryo_vma& vma = vmas_[index];
  if (vma.flags & CRYO_VMA_SHADOW_STACK) return PROT_READ | PROT_WRITE;  // as it is made
  int result = protection(vma);
  if (filled_[index]) result |= PROT_WRITE;
  if (vma.flags & (CRYO_VMA_LOCKED | CRYO_VMA_LOCKONFAULT)) result |= PROT_READ;
  // PROT_EXEC alone would get the kernel's key
  if (has_own_key(vma)) result |= PROT_READ;
  return result;
}

// Before the first page is there, so that the contents come in pages of that size.
void Planner::plan_advice_before(std::uint32_t index) {
  const cryo_vma& vma = vmas_[index];
  CallList& calls = plan_.before_reads;
  if (vma.flags & CRYO_VMA_HUGEPAGE)
    calls.add(kAdviseStep, index, SYS_madvise, vma.start, vma.end - vma.start, MADV_HUGEPAGE);
  if (vma.flags & CRYO_VMA_NOHUGEPAGE)
    calls.add(kAdviseStep, index, SYS_madvise, vma.start, vma.end - vma.start, MADV_NOHUGEPAGE);
}

// Without a right, and before anything else is there: so the kernel does not merge it with a neighbour, and
// the module finds the area as it is said to be.
void Planner::plan_mapped(std::uint32_t index, const MappedArea& mapped) {
  const cryo_vma& vma = vmas_[index];
  const std::uint64_t size = vma.end - vma.start;
  int flags = MAP_FIXED_NOREPLACE | MAP_ANONYMOUS | MAP_PRIVATE;
  if (vma.flags & CRYO_VMA_NORESERVE) flags |= MAP_NORESERVE;
  cryo_map* map = area_.array<cryo_map>(1);
  *map = {.size = sizeof(*map),
          .flags = input_.populate ? CRYO_MAP_POPULATE : 0,
          .start = vma.start,
          .end = vma.end,
          .runs = reinterpret_cast<__u64>(area_.copy(mapped.runs)),
          .chunks = reinterpret_cast<__u64>(area_.copy(mapped.chunks)),
          .nr_runs = static_cast<__u32>(mapped.runs.size()),
          .nr_chunks = static_cast<__u32>(mapped.chunks.size()),
          .first = reinterpret_cast<__u64>(area_.copy(mapped.first)),
          .nr_first = static_cast<__u32>(mapped.first.size()),
          .reserved = 0};
  CallList& calls = plan_.before_reads;
  calls.expect(Expect::kArgument0, kMapStep, index, SYS_mmap, vma.start, size, PROT_NONE, flags, -1, 0);
  plan_advice_before(index);
  calls.add(kMapContextStep, index, SYS_ioctl, input_.handle_fd, CRYO_RST_MAP, map);
  calls.add(kProtectStep, index, SYS_mprotect, vma.start, size, first_protection(index));
}

// Nobody can read a file into it: that goes to ordinary memory, of which the module makes a copy.
void Planner::plan_shadow_stack(std::uint32_t index) {
  const cryo_vma& vma = vmas_[index];
  const std::uint64_t size = vma.end - vma.start;
  CallList& calls = plan_.before_reads;
  calls.expect(Expect::kArgument0, kMapStep, index, kMapShadowStack, vma.start, size, 0);
  plan_advice_before(index);
  if (!filled_[index]) return;
  const AddressRange filler = space_.take_hole(size);
  fillers_.emplace(index, filler);
  calls.expect(Expect::kArgument0, kMapStep, index, SYS_mmap, filler.start, size, PROT_READ | PROT_WRITE,
               MAP_FIXED_NOREPLACE | MAP_ANONYMOUS | MAP_PRIVATE | MAP_NORESERVE, -1, 0);
}

void Planner::fill_shadow_stacks() {
  CallList& calls = plan_.after_reads;
  for (const auto& [index, fill] : fills_) {
    cryo_shadow_stack* args = area_.array<cryo_shadow_stack>(1);
    *args = fill;
    calls.add(kMapContextStep, static_cast<std::uint32_t>(index), SYS_ioctl, input_.handle_fd,
              CRYO_RST_SHADOW_STACK, args);
  }
  for (const auto& [index, filler] : fillers_)
    calls.add(kUnmapStep, static_cast<std::uint32_t>(index), SYS_munmap, filler.start, filler.size());
}

// It was made with the right to read and to write; and with the pages that other processes have, too.
void Planner::plan_inherited(std::uint32_t index, const InheritedVma& inherited) {
  const cryo_vma& vma = vmas_[index];
  const std::uint64_t size = vma.end - vma.start;
  CallList& calls = plan_.before_reads;
  calls.expect(Expect::kArgument4, kMapStep, index, SYS_mremap, inherited.place, size, size,
               MREMAP_MAYMOVE | MREMAP_FIXED, vma.start);
  plan_advice_before(index);
  for (const AddressRange& range : inherited.dropped)
    calls.add(kAdviseStep, index, SYS_madvise, range.start, range.size(), MADV_DONTNEED);
  if (const int first = first_protection(index); first != (PROT_READ | PROT_WRITE))
    calls.add(kProtectStep, index, SYS_mprotect, vma.start, size, first);
}

void Planner::plan_map(std::uint32_t index) {
  if (input_.mapped.contains(index)) return;
  if (const auto inherited = input_.inherited.find(index); inherited != input_.inherited.end())
    return plan_inherited(index, inherited->second);
  if (vmas_[index].flags & CRYO_VMA_SHADOW_STACK) return plan_shadow_stack(index);
  const cryo_vma& vma = vmas_[index];
  int flags = MAP_FIXED_NOREPLACE;
  int fd = -1;
  if (vma.kind == CRYO_VMA_ANON) {
    flags |= MAP_ANONYMOUS | map_flags(huge_size_of(vma)) |
             ((vma.flags & CRYO_VMA_DROPPABLE) ? droppable_flags() : MAP_PRIVATE);
    if (vma.flags & CRYO_VMA_GROWSDOWN) flags |= MAP_GROWSDOWN;
  } else if (vma.kind == CRYO_VMA_FILE) {
    fd = input_.fd_of(vma.file);
    if (!(vma.flags & CRYO_VMA_SHARED))
      flags |= MAP_PRIVATE;
    else
      flags |= (vma.flags & CRYO_VMA_SYNC) ? MAP_SHARED_VALIDATE | MAP_SYNC : MAP_SHARED;
  } else {
    return;  // the kernel's, or shared anonymous
  }
  if (vma.flags & CRYO_VMA_NORESERVE) flags |= MAP_NORESERVE;
  CallList& calls = plan_.before_reads;
  std::uint64_t offset = vma.kind == CRYO_VMA_FILE ? vma.offset : 0;
  if (is_ring(vma)) {
    // Only the handle maps it at a given address.
    offset |= static_cast<std::uint64_t>(fd) << CRYO_URING_FD_SHIFT;
    fd = input_.handle_fd;
  }
  calls.expect(Expect::kArgument0, kMapStep, index, SYS_mmap, vma.start, vma.end - vma.start,
               first_protection(index), flags, fd, offset);
  plan_advice_before(index);
}

void Planner::plan_reads() {
  for (const PageChunk& chunk : input_.context.pages) {
    if (chunk.kind == CRYO_PAGES_MM && chunk.object == input_.mm.id) add_read(chunk);
  }
}

// Where it is read to.
std::uint64_t Planner::place_of(const PagePiece& piece) {
  const auto filler = fillers_.find(piece.vma);
  if (filler == fillers_.end()) return piece.start;
  const std::uint64_t place = filler->second.start + piece.start - vmas_[piece.vma].start;
  fills_.push_back({piece.vma,
                    {.size = sizeof(cryo_shadow_stack),
                     .reserved = 0,
                     .address = piece.start,
                     .data = place,
                     .length = piece.nr_pages * input_.context.header.page_size}});
  return place;
}

// What of it the process has not inherited.
std::vector<PagePiece> Planner::missing_of(const PagePiece& piece) const {
  const auto inherited = input_.inherited.find(piece.vma);
  if (inherited == input_.inherited.end()) return {piece};
  const std::uint64_t page = input_.context.header.page_size;
  const std::vector<AddressRange>& there = inherited->second.pages;
  const std::uint64_t end = piece.start + piece.nr_pages * page;
  std::vector<PagePiece> missing;
  const auto add = [&](std::uint64_t from, std::uint64_t to) {
    if (from < to)
      missing.push_back({piece.vma, from, (to - from) / page, piece.offset + from - piece.start});
  };
  std::uint64_t at = piece.start;
  auto range =
      std::upper_bound(there.begin(), there.end(), at,
                       [](std::uint64_t address, const AddressRange& other) { return address < other.end; });
  for (; range != there.end() && range->start < end; ++range) {
    add(at, range->start);
    at = range->end;
  }
  add(at, end);
  return missing;
}

void Planner::add_read(const PageChunk& chunk) {
  const std::uint64_t page = input_.context.header.page_size;
  if (is_mapped(input_.context, input_.mm, chunk, input_.mapped)) return;
  std::uint64_t next = 0;  // offset behind the read that has been begun
  for (const PagePiece& piece : pieces_of(input_.context, input_.mm, chunk)) {
    if (input_.mapped.contains(piece.vma)) continue;
    for (const PagePiece& part : missing_of(piece)) {
      if (next != part.offset)
        plan_.reads.push_back({part.offset, input_.context_fds[chunk.ancestor], 0,
                               static_cast<std::uint32_t>(plan_.buffers.size()), 0});
      next = part.offset + part.nr_pages * page;
      ++plan_.reads.back().count;
      plan_.buffers.push_back({reinterpret_cast<void*>(place_of(part)), part.nr_pages * page});
    }
  }
}

void Planner::plan_tags() {
  for (const TagChunk& chunk : input_.context.tags) {
    if (chunk.kind != CRYO_PAGES_MM || chunk.object != input_.mm.id) continue;
    const std::byte* tags = area_.copy(chunk.tags);
    for (const cryo_page_run& run : chunk.runs) {
      const std::uint64_t count = run.nr_pages * tag_bytes(input_.context);
      plan_.tags.push_back({run.start, tags, count});
      tags += count;
    }
  }
}

void Planner::plan_finish(std::uint32_t index) {
  static constexpr std::pair<std::uint64_t, int> kAdvice[] = {
      {CRYO_VMA_MERGEABLE, MADV_MERGEABLE}, {CRYO_VMA_DONTFORK, MADV_DONTFORK},
      {CRYO_VMA_DONTDUMP, MADV_DONTDUMP},   {CRYO_VMA_WIPEONFORK, MADV_WIPEONFORK},
      {CRYO_VMA_SEQ_READ, MADV_SEQUENTIAL}, {CRYO_VMA_RAND_READ, MADV_RANDOM}};
  const cryo_vma& vma = vmas_[index];
  const std::uint64_t size = vma.end - vma.start;
  CallList& calls = plan_.after_reads;
  if (vma.kind == CRYO_VMA_SHMEM) {
    const std::uint64_t source = input_.shared.at(shared_inode(vma)).start + vma.offset;
    // An old size of 0 makes a second mapping of shared memory instead of moving the first; not of huge
    // pages, of which each part is mapped once only.
    calls.expect(Expect::kArgument4, kMapStep, index, SYS_mremap, source, huge_size_of(vma) != 0 ? size : 0,
                 size, MREMAP_MAYMOVE | MREMAP_FIXED, vma.start);
  } else if (vma.kind == CRYO_VMA_SYSV && huge_size_of(vma) != 0) {
    plan_part(index);
  } else if (vma.kind == CRYO_VMA_SYSV) {
    calls.expect(Expect::kArgument4, kMapStep, index, SYS_mremap,
                 segments_.at(segment_use(vma)).start + vma.offset, 0, size, MREMAP_MAYMOVE | MREMAP_FIXED,
                 vma.start);
  } else if (vma.kind == CRYO_VMA_AIO) {
    calls.expect(Expect::kArgument4, kMapStep, index, SYS_mremap, aio_.at(vma.start).start, size, size,
                 MREMAP_MAYMOVE | MREMAP_FIXED, vma.start);
  } else if (vma.kind != CRYO_VMA_ANON && vma.kind != CRYO_VMA_FILE) {
    return;
  }
  for (const auto& [flag, advice] : kAdvice)
    if (vma.flags & flag) calls.add(kAdviseStep, index, SYS_madvise, vma.start, size, advice);
}

void Planner::plan_lock_and_protect(std::uint32_t index) {
  const cryo_vma& vma = vmas_[index];
  if (is_kernel_mapping(vma) || vma.kind == CRYO_VMA_VSYSCALL) return;
  const std::uint64_t size = vma.end - vma.start;
  int now = first_protection(index);
  if (vma.kind == CRYO_VMA_SHMEM || vma.kind == CRYO_VMA_AIO) now = PROT_READ | PROT_WRITE;
  if (vma.kind == CRYO_VMA_SYSV) now = PROT_READ | (segment_use(vma).second ? 0 : PROT_WRITE);
  const int last = protection(vma);
  CallList protect;
  CallList lock;
  if (has_own_key(vma))
    protect.add(kProtectStep, index, SYS_pkey_mprotect, vma.start, size, last, vma.pkey);
  else if (now != last)
    protect.add(kProtectStep, index, SYS_mprotect, vma.start, size, last);
  if (vma.flags & (CRYO_VMA_LOCKED | CRYO_VMA_LOCKONFAULT)) {
    const bool guarded = has_guards(input_.mm, vma);
    // What is locked already counts no more: of guards, the second call says only that they cannot be had.
    if (vma.flags & CRYO_VMA_LOCKONFAULT || guarded)
      lock.add(kLockMemoryStep, index, SYS_mlock2, vma.start, size, MLOCK_ONFAULT);
    if (!(vma.flags & CRYO_VMA_LOCKONFAULT))
      lock.expect(guarded ? Expect::kLocked : Expect::kSuccess, kLockMemoryStep, index, SYS_mlock2, vma.start,
                  size, 0);
  }
  // Locking faults pages in, which must not make private copies of what may only be read, but needs
  // the right to read.
  const bool lock_last = last & PROT_READ;
  plan_.after_reads.append(lock_last ? protect : lock);
  plan_.after_reads.append(lock_last ? lock : protect);
}

void Planner::plan_fields() {
  const cryo_mm& mm = input_.mm.head;
  CallList& calls = plan_.after_reads;
  prctl_mm_map* map = area_.array<prctl_mm_map>(1);
  *map = {.start_code = mm.start_code,
          .end_code = mm.end_code,
          .start_data = mm.start_data,
          .end_data = mm.end_data,
          .start_brk = mm.start_brk,
          .brk = mm.brk,
          .start_stack = mm.start_stack,
          .arg_start = mm.arg_start,
          .arg_end = mm.arg_end,
          .env_start = mm.env_start,
          .env_end = mm.env_end,
          .auxv = nullptr,
          .auxv_size = 0,
          .exe_fd = ~0U};
  const Auxv auxv = fitting_auxv(input_.mm.auxv, own_auxv());
  map->auxv = reinterpret_cast<__u64*>(area_.copy(auxv));
  map->auxv_size = static_cast<__u32>(auxv.size() * sizeof(std::uint64_t));
  calls.add(kMmFieldsStep, 0, SYS_prctl, PR_SET_MM, PR_SET_MM_MAP, map, sizeof(*map), 0);

  if (mm.def_flags & (CRYO_VMA_LOCKED | CRYO_VMA_LOCKONFAULT))
    calls.add(kLockMemoryStep, ~0U, SYS_mlockall,
              MCL_FUTURE | ((mm.def_flags & CRYO_VMA_LOCKONFAULT) ? MCL_ONFAULT : 0));
  for (std::uint32_t bit = 0; bit < 32; ++bit)
    if (mm.membarrier & (1U << bit)) calls.add(kMembarrierStep, bit, SYS_membarrier, 1U << bit, 0, 0);
}

}  // namespace

std::size_t transit_size(const Context& context, const Mm& mm, const std::vector<KernelMapping>& own) {
  const std::size_t size = span_of(own).size();
  return keeps_own_vdso(context, mm, own) ? size : size + 2 * span_of(kernel_mappings(mm)).size();
}

MemoryPlan plan_memory(const MemoryPlanInput& input, StubArea& area, AddressSpace& space) {
  return Planner(input, area, space).plan();
}

void use_saved_addresses(const Mm& mm, AddressSpace& space) {
  for (const cryo_vma& vma : mm.vmas) {
    std::uint64_t start = vma.start;
    if (vma.flags & CRYO_VMA_GROWSDOWN) start -= std::min(start, kStackGap * 65536);
    space.use({start, vma.end});
  }
}

std::size_t memory_plan_size(const Context& context, const Mm& mm, const InheritedVmas& inherited) {
  std::size_t size =
      (kFixedCalls + inherited.size() + 2 * context.inodes.size() + mm.vmas.size() * kCallsPerVma) *
      sizeof(stub::Call);
  for (const MemoryResource* resource : kMemoryResources)
    if (resource->size != nullptr) size += resource->size(mm);
  // Of each piece of a run, and a VMA's border makes one more: what is read, or what the module brings.
  constexpr std::size_t kPieceSize =
      std::max(sizeof(stub::Read) + sizeof(iovec), sizeof(cryo_map_run) + sizeof(cryo_map_chunk));
  const std::size_t piece_size =
      kPieceSize + (has_shadow_stacks(mm) ? sizeof(stub::Call) + sizeof(cryo_shadow_stack) : 0);
  size += mm.vmas.size() * (piece_size + sizeof(cryo_map) + sizeof(std::uint64_t) * 4);
  size += (mm.used.size() + mm.vmas.size()) * sizeof(cryo_map_range);
  for (const PageChunk& chunk : context.pages)
    if (chunk.object == mm.id) size += chunk.runs.size() * piece_size;
  for (const TagChunk& chunk : context.tags)
    if (chunk.object == mm.id) size += chunk.runs.size() * sizeof(stub::Tags) + chunk.tags.size();
  for (const auto& [index, own] : inherited)
    size += own.dropped.size() * sizeof(stub::Call) + own.pages.size() * piece_size;
  return size + sizeof(prctl_mm_map) + mm.auxv.size() * sizeof(std::uint64_t) + 4096;
}

}  // namespace cryo
