// SPDX-License-Identifier: GPL-2.0-only
#include "restart/memory/shared_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "base/error.h"
#include "restart/memory/huge_sizes.h"
#include "restart/memory/memory_plan.h"
#include "restart/memory/tags.h"

namespace cryo {
namespace {

struct Object {
  std::uint64_t size = 0;
  std::uint64_t huge_size = 0;  // as of Inode
  int flags = 0;                // MAP_NORESERVE, where an area of it was mapped so
};

std::map<std::uint32_t, Object> objects_of(const Context& context) {
  std::map<std::uint32_t, Object> objects;
  for (const auto& [id, mm] : context.mms)
    for (const cryo_vma& vma : mm.vmas) {
      if (vma.kind != CRYO_VMA_SHMEM) continue;
      const std::uint32_t inode = context.file(vma.file).head.inode;
      const Inode& saved = context.inode(inode);
      Object& object = objects.try_emplace(inode, Object{saved.head.size, saved.huge_size}).first->second;
      object.size = std::max<std::uint64_t>(object.size, vma.offset + (vma.end - vma.start));
      if (vma.flags & CRYO_VMA_NORESERVE) object.flags |= MAP_NORESERVE;
    }
  return objects;
}

void read_at(int fd, std::uint64_t offset, std::uint64_t address, std::uint64_t size) {
  while (size > 0) {
    const ssize_t got = ::pread(fd, reinterpret_cast<void*>(address), size, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_errno("cannot read the contents of shared memory from the context");
    if (got == 0) fail(ENODATA, "the context ends in the contents of shared memory");
    const auto part = static_cast<std::uint64_t>(got);
    offset += part;
    address += part;
    size -= part;
  }
}

void fill(const Context& context, const std::vector<int>& context_fds, const SharedMemory& memory) {
  const std::uint64_t page = context.header.page_size;
  for (const PageChunk& chunk : context.pages) {
    if (chunk.kind != CRYO_PAGES_INODE) continue;
    const auto place = memory.find(chunk.object);
    if (place == memory.end()) continue;
    std::uint64_t offset = chunk.data_offset;
    for (const cryo_page_run& run : chunk.runs) {
      read_at(context_fds[chunk.ancestor], offset, place->second.start + run.start, run.nr_pages * page);
      offset += run.nr_pages * page;
    }
  }
}

}  // namespace

SharedMemory make_shared_memory(const Context& context, const std::vector<int>& context_fds) {
  SharedMemory memory;
  AddressSpace space(context.header.page_size);
  for (const OwnMapping& mapping : own_mappings()) space.use(mapping.range);
  for (const auto& [id, mm] : context.mms) use_saved_addresses(mm, space);
  for (const auto& [inode, object] : objects_of(context)) {
    const AddressRange place =
        space.take_hole(object.size, std::max<std::uint64_t>(object.huge_size, context.header.page_size));
    void* mapped = ::mmap(
        reinterpret_cast<void*>(place.start), place.size(), PROT_READ | PROT_WRITE,
        MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | map_flags(object.huge_size) | object.flags, -1, 0);
    if (mapped == MAP_FAILED && object.huge_size != 0)
      fail_errno("cannot reserve {} huge pages of {} for shared anonymous memory",
                 place.size() / object.huge_size, huge_size_text(object.huge_size));
    if (mapped == MAP_FAILED) fail_errno("cannot make {} bytes of shared memory", place.size());
    memory.emplace(inode, place);
  }
  fill(context, context_fds, memory);
  for (const auto& [inode, place] : memory) set_memory_tags(context, inode, place, false, "shared memory");
  return memory;
}

}  // namespace cryo
