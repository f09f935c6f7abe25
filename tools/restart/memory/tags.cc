// SPDX-License-Identifier: GPL-2.0-only
#include "restart/memory/tags.h"

#include <sys/mman.h>

#include <algorithm>

#include "base/error.h"
#include "base/exit_codes.h"
#include "restart/common/restart_arch.h"
#include "restart/memory/resources.h"
#include "stub_arch.h"

namespace cryo {
namespace {

// A mapping with tags.  They stay with the pages when it goes; a mapping that is there cannot lose
// the right to have them again, so that this has to be another one.
class TaggedMapping {
 public:
  TaggedMapping(void* mapped, std::uint64_t size, const std::string& what) : mapped_(mapped), size_(size) {
    if (mapped == MAP_FAILED) fail_errno("cannot map {} to set its tags", what);
    if (::mprotect(mapped, size, PROT_READ | PROT_WRITE | tagged_protection()) == 0) return;
    const int error = errno;
    ::munmap(mapped, size);
    fail(error, "cannot map {} to set its tags", what);
  }
  ~TaggedMapping() { ::munmap(mapped_, size_); }
  TaggedMapping(const TaggedMapping&) = delete;
  TaggedMapping& operator=(const TaggedMapping&) = delete;

  [[nodiscard]] std::uint64_t start() const { return reinterpret_cast<std::uint64_t>(mapped_); }

 private:
  void* mapped_;
  std::uint64_t size_;
};

bool is_of(const TagChunk& chunk, std::uint32_t kind, std::uint32_t object) {
  return chunk.kind == kind && chunk.object == object;
}

// The area that has `address`, or is the next one.
std::size_t area_at(const Mm& mm, std::uint64_t address) {
  const auto after = std::upper_bound(mm.vmas.begin(), mm.vmas.end(), address,
                                      [](std::uint64_t at, const cryo_vma& vma) { return at < vma.end; });
  return static_cast<std::size_t>(after - mm.vmas.begin());
}

// The reader has seen to it that there are areas without a hole between them.
bool is_private_tagged(const Mm& mm, std::uint64_t start, std::uint64_t end) {
  for (std::size_t i = area_at(mm, start); i < mm.vmas.size() && mm.vmas[i].start < end; ++i) {
    const cryo_vma& vma = mm.vmas[i];
    const bool has_pages = vma.kind == CRYO_VMA_ANON || vma.kind == CRYO_VMA_FILE;
    if (!has_pages || !is_tagged(vma.flags) || (vma.flags & CRYO_VMA_SHARED)) return false;
  }
  return true;
}

}  // namespace

std::uint64_t tag_bytes(const Context& context) {
  return context.header.page_size / CRYO_TAG_GRANULE / 2;
}

void set_memory_tags(const Context& context, std::uint32_t inode, const AddressRange& place, bool clear,
                     const std::string& what) {
  const bool any = std::any_of(context.tags.begin(), context.tags.end(), [inode](const TagChunk& chunk) {
    return is_of(chunk, CRYO_PAGES_INODE, inode);
  });
  if (!any && (!clear || tagged_protection() == 0)) return;
  // An old size of 0 makes a second mapping.
  const TaggedMapping other(::mremap(reinterpret_cast<void*>(place.start), 0, place.size(), MREMAP_MAYMOVE),
                            place.size(), what);
  const std::uint64_t page = context.header.page_size;
  const Bytes none(tag_bytes(context));
  for (std::uint64_t at = 0; clear && at < place.size(); at += page)
    stub::set_tags(other.start() + at, none.data(), none.size());
  for (const TagChunk& chunk : context.tags) {
    if (!is_of(chunk, CRYO_PAGES_INODE, inode)) continue;
    const std::byte* tags = chunk.tags.data();
    for (const cryo_page_run& run : chunk.runs) {
      stub::set_tags(other.start() + run.start, tags, run.nr_pages * tag_bytes(context));
      tags += run.nr_pages * tag_bytes(context);
    }
  }
}

void set_file_tags(const Context& context, std::uint32_t kind, std::uint32_t object, int fd,
                   const std::string& path) {
  for (const TagChunk& chunk : context.tags) {
    if (!is_of(chunk, kind, object)) continue;
    const std::byte* tags = chunk.tags.data();
    for (const cryo_page_run& run : chunk.runs) {
      const std::uint64_t size = run.nr_pages * context.header.page_size;
      const TaggedMapping mapping(
          ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, static_cast<off_t>(run.start)), size,
          path);
      stub::set_tags(mapping.start(), tags, run.nr_pages * tag_bytes(context));
      tags += run.nr_pages * tag_bytes(context);
    }
  }
}

void check_tags(const CheckInput& input, const Mm& mm, Findings& findings) {
  const std::int32_t pid = input.process.head.pid;
  bool any =
      std::any_of(mm.vmas.begin(), mm.vmas.end(), [](const cryo_vma& vma) { return is_tagged(vma.flags); });
  for (const TagChunk& chunk : input.context.tags) {
    if (!is_of(chunk, CRYO_PAGES_MM, mm.id)) continue;
    any = true;
    for (const cryo_page_run& run : chunk.runs) {
      const std::uint64_t end = run.start + run.nr_pages * input.context.header.page_size;
      if (!is_private_tagged(mm, run.start, end))
        findings.problem(EBADMSG, "pid {}: there are tags of {:#x}-{:#x}, which is no memory that has any",
                         pid, run.start, end);
    }
  }
  if (any && tagged_protection() == 0)
    findings.problem(kErrBadArch, "pid {}: has memory with tags (PROT_MTE), which this machine lacks", pid);
}

void check_shared_tags(const Context& context, Findings& findings) {
  if (tagged_protection() != 0) return;
  for (const TagChunk& chunk : context.tags)
    if (chunk.kind != CRYO_PAGES_MM)
      return findings.problem(
          kErrBadArch, "there are shared memory or files with tags (PROT_MTE), which this machine lacks");
}

const MemoryResource kTagsResource = {.check = check_tags};

}  // namespace cryo
