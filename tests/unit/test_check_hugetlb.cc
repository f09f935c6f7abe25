// SPDX-License-Identifier: GPL-2.0-only
// Huge pages that are not to be had: what is said of a machine without pages of the size, and of files in
// other file systems.
#include <unistd.h>

#include <bit>

#include "restart/ipc/hugetlb.h"
#include "restart/rights/names.h"
#include "unit/obstacles.h"

namespace cryo::test {
namespace {

// No machine has pages of that size: two ordinary ones.
std::uint64_t no_size() {
  return 2 * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

cryo_vma& add_area(ContextBuilder& builder, std::uint64_t start, std::uint64_t pages, std::uint32_t kind,
                   std::uint64_t flags) {
  cryo_vma vma{};
  vma.start = start;
  vma.end = start + pages * no_size();
  vma.kind = kind;
  vma.flags = CRYO_VMA_HUGETLB | flags;
  vma.huge_shift = static_cast<std::uint32_t>(std::countr_zero(no_size()));
  std::vector<cryo_vma>& vmas = builder.context.mms.at(builder.process().head.mm).vmas;
  vmas.push_back(vma);
  return vmas.back();
}

Findings check_pages(const ContextBuilder& builder) {
  Findings findings;
  check_hugetlb(builder.context, {}, own_credentials(), findings);
  return findings;
}

TEST("obstacles: huge pages of a size that there is not") {
  ContextBuilder builder = sample();
  CHECK_EQ(check_pages(builder).problems.size(), 0U);
  add_area(builder, 0x7000'0000, 3, CRYO_VMA_ANON, 0);
  SAYS(check_pages(builder), ENOMEM,
       "the job has memory in huge pages of {} KiB, which this machine does not have (see "
       "/sys/kernel/mm/hugepages)",
       no_size() / 1024);
}

TEST("obstacles: shared memory in huge pages, twice in one process") {
  ContextBuilder builder = sample();
  Inode& inode = builder.context.inodes[300];
  inode.id = 300;
  inode.huge_size = no_size();
  inode.head.size = 4 * no_size();
  File& file = builder.context.files[300];
  file.id = file.head.inode = 300;
  file.head.kind = CRYO_FILE_HUGETLB;
  add_area(builder, 0x7000'0000, 2, CRYO_VMA_SHMEM, CRYO_VMA_SHARED).file = 300;
  cryo_vma& second = add_area(builder, 0x7100'0000, 2, CRYO_VMA_SHMEM, CRYO_VMA_SHARED);
  second.file = 300;
  second.offset = 2 * no_size();
  CHECK_EQ(check_pages(builder).problems.size(), 1U);  // of the size
  builder.context.mms.at(builder.process().head.mm).vmas.back().offset = no_size();
  SAYS(check_pages(builder), EOPNOTSUPP, "memory {}: shared anonymous memory in huge pages is mapped twice",
       builder.process().head.mm);
}

TEST("obstacles: a file of hugetlbfs in another file system") {
  const OwnNames own;
  Inode inode;
  inode.huge_size = no_size();
  CHECK_EQ(hugetlb_problem(inode, "/tmp/huge"),
           "is not in a hugetlbfs any more: mount -t hugetlbfs there, or --relocate=OLD=NEW");
  CHECK_EQ(hugetlb_problem(inode, "/nonexistent/huge"),
           "cannot be recreated in /nonexistent/: No such file or directory (ENOENT)");
}

}  // namespace
}  // namespace cryo::test
