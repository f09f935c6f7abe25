// SPDX-License-Identifier: GPL-2.0-only
// Which pages processes share, which of them reads them before it forks the others, and what each of these
// gets.
#include "restart/memory/inherited_pages.h"
#include "restart/memory/mapped.h"
#include "unit/tap.h"

namespace cryo::test {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kStart = 0x10000000;
constexpr std::uint64_t kFar = 0x30000000;

std::uint64_t at(std::uint64_t page) {
  return kStart + page * kPage;
}

// A job: the maker forks process 0, that forks the others in the order of their numbers, unless `forkers`
// says otherwise.
class Job {
 public:
  explicit Job(std::size_t processes, std::vector<std::size_t> forkers = {}) {
    context.header.page_size = kPage;
    plan.nodes.resize(1);
    for (std::size_t i = 0; i < processes; ++i) {
      const auto mm = static_cast<std::uint32_t>(i + 1);
      context.mms[mm].id = mm;
      Process process;
      process.head.mm = mm;
      process.threads.resize(1);
      context.processes.push_back(process);
      TreeNode node;
      node.process = i;
      plan.nodes.push_back(node);
      const std::size_t forker = i == 0 ? kMaker : i < forkers.size() ? forkers[i] : 1;
      plan.steps.push_back({TreeStep::Kind::kCreate, forker, i + 1});
    }
  }

  cryo_vma& add_vma(std::uint32_t mm, std::uint64_t start, std::uint64_t pages) {
    cryo_vma vma{};
    vma.start = start;
    vma.end = start + pages * kPage;
    vma.kind = CRYO_VMA_ANON;
    vma.flags = CRYO_VMA_READ | CRYO_VMA_WRITE;
    return context.mms.at(mm).vmas.emplace_back(vma);
  }
  // Bytes are at `offset`, in pages.
  PageChunk& add_pages(std::uint32_t mm, std::uint64_t start, std::uint64_t pages, std::uint64_t offset,
                       bool copy) {
    PageChunk chunk;
    chunk.object = mm;
    chunk.runs = {{start, pages}};
    chunk.nr_pages = pages;
    chunk.bytes = pages * kPage;
    chunk.data_offset = offset * kPage;
    chunk.copy = copy;
    chunk.section_flags = CRYO_SECF_REQUIRED | CRYO_SECF_XXH64;
    return context.pages.emplace_back(chunk);
  }
  [[nodiscard]] InheritedPages pages() const { return {context, plan}; }
  [[nodiscard]] InheritedVmas vmas_of(std::uint32_t mm) const { return pages().vmas_of(context.mm(mm)); }

  Context context;
  TreePlan plan;
};

// All have an area of 8 pages, and share those of the first.
Job sharing(std::size_t processes) {
  Job job(processes);
  for (std::uint32_t mm = 1; mm <= processes; ++mm) {
    job.add_vma(mm, kStart, 8);
    job.add_pages(mm, kStart, 8, 10, mm != 1);
  }
  return job;
}

TEST("inherited pages: are read before the first fork, and all have them") {
  const Job job = sharing(3);
  const InheritedPages pages = job.pages();
  CHECK_EQ(pages.runs().size(), 1U);
  CHECK_EQ(pages.runs()[0].pages.start, kStart);
  CHECK_EQ(pages.runs()[0].pages.size(), 8 * kPage);
  CHECK_EQ(pages.runs()[0].offset, 10 * kPage);
  CHECK_EQ(pages.due(1, 1).size(), 1U);
  CHECK(pages.due(kMaker, 0).empty());
  CHECK(pages.due(1, 2).empty());
  for (std::uint32_t mm = 1; mm <= 3; ++mm) {
    const InheritedVmas vmas = job.vmas_of(mm);
    CHECK_EQ(vmas.size(), 1U);
    CHECK_EQ(vmas.at(0).pages.size(), 1U);
    CHECK_EQ(vmas.at(0).pages[0].size(), 8 * kPage);
    CHECK(vmas.at(0).dropped.empty());
  }
}

TEST("inherited pages: what a process has written to or given back is not its own") {
  Job job(3);
  for (std::uint32_t mm = 1; mm <= 3; ++mm) job.add_vma(mm, kStart, 8);
  job.add_pages(1, kStart, 8, 10, false);
  job.add_pages(2, kStart, 8, 10, true);
  job.add_pages(3, at(0), 2, 10, true);
  job.add_pages(3, at(2), 2, 20, false);  // written; the next two are zero
  job.add_pages(3, at(6), 2, 16, true);
  const InheritedVma own = job.vmas_of(3).at(0);
  CHECK_EQ(own.pages.size(), 2U);
  CHECK_EQ(own.pages[0].end, at(2));
  CHECK_EQ(own.pages[1].start, at(6));
  CHECK_EQ(own.dropped.size(), 1U);
  CHECK_EQ(own.dropped[0].start, at(2));
  CHECK_EQ(own.dropped[0].end, at(6));
  CHECK(job.vmas_of(1).at(0).dropped.empty());
}

TEST("inherited pages: nothing where nothing is shared") {
  Job job(2);
  for (std::uint32_t mm = 1; mm <= 2; ++mm) {
    job.add_vma(mm, kStart, 8);
    job.add_pages(mm, kStart, 8, 10 * mm, false);
  }
  CHECK(job.pages().runs().empty());
}

TEST("inherited pages: areas that have been moved since") {
  Job job(3);
  job.add_vma(1, kStart, 8);
  job.add_vma(2, kFar, 8);    // moved
  job.add_vma(3, kStart, 2);  // something else that came to its old place
  job.add_vma(3, kFar, 6);    // moved and cut
  job.add_pages(1, kStart, 8, 10, false);
  job.add_pages(2, kFar, 8, 10, true);
  job.add_pages(3, kStart, 2, 40, false);
  job.add_pages(3, kFar, 6, 10, true);
  const InheritedVma own = job.vmas_of(2).at(0);
  CHECK_EQ(own.moved, kFar - kStart);
  CHECK_EQ(own.pages.size(), 1U);
  CHECK_EQ(own.pages[0].start, kFar);
  CHECK_EQ(own.pages[0].size(), 8 * kPage);
  // Two areas of one process cannot be made of one.
  CHECK(job.vmas_of(3).empty());
}

TEST("inherited pages: one process alone has no need of that") {
  Job job(1);
  job.add_vma(1, kStart, 8);
  job.add_pages(1, kStart, 4, 10, false);
  job.add_pages(1, at(4), 4, 10, true);
  CHECK(job.pages().runs().empty());
}

TEST("inherited pages: areas that have been cut, grown and protected since") {
  Job job(2);
  job.add_vma(1, kStart, 16);
  job.add_pages(1, kStart, 16, 10, false);
  job.add_vma(2, at(2), 4);
  job.add_vma(2, at(6), 1).flags = CRYO_VMA_READ;
  job.add_pages(2, at(2), 5, 12, true);
  const InheritedPages pages = job.pages();
  CHECK_EQ(pages.areas().size(), 1U);
  CHECK_EQ(pages.areas()[0].range.size(), 16 * kPage);
  const InheritedVmas vmas = job.vmas_of(2);
  CHECK_EQ(vmas.size(), 2U);
  CHECK_EQ(vmas.at(0).pages[0].size(), 4 * kPage);
  CHECK_EQ(vmas.at(1).pages[0].start, at(6));
  CHECK_EQ(job.vmas_of(1).at(0).pages[0].size(), 5 * kPage);
}

TEST("inherited pages: the place of a page gets another one between two forks") {
  Job job(4);  // process 0 forks 1, writes, forks 2 and 3, writes
  for (std::uint32_t mm = 1; mm <= 4; ++mm) job.add_vma(mm, kStart, 1);
  job.add_pages(1, kStart, 1, 50, false);
  job.add_pages(2, kStart, 1, 10, false);
  job.add_pages(3, kStart, 1, 20, false);
  job.add_pages(4, kStart, 1, 20, true);
  const InheritedPages pages = job.pages();
  CHECK_EQ(pages.runs().size(), 1U);
  CHECK_EQ(pages.due(1, 2).size(), 1U);
  CHECK(pages.due(1, 1).empty());
  CHECK(job.vmas_of(1).empty());
  CHECK(job.vmas_of(2).empty());
  CHECK_EQ(job.vmas_of(3).size(), 1U);
  CHECK_EQ(job.vmas_of(4).size(), 1U);
}

TEST("inherited pages: generations share each their own") {
  Job job(5, {kMaker, 1, 2, 1, 1});  // 0 forks 1, that forks 2; 0 writes, and forks 3 and 4
  for (std::uint32_t mm = 1; mm <= 5; ++mm) job.add_vma(mm, kStart, 2);
  job.add_pages(1, kStart, 2, 20, false);
  job.add_pages(2, kStart, 2, 10, false);
  job.add_pages(3, kStart, 2, 10, true);
  job.add_pages(4, kStart, 2, 20, true);
  job.add_pages(5, kStart, 1, 20, true);
  const InheritedPages pages = job.pages();
  CHECK_EQ(pages.due(2, 2).size(), 1U);
  CHECK_EQ(pages.due(1, 3).size(), 2U);
  for (std::uint32_t mm = 1; mm <= 4; ++mm) CHECK_EQ(job.vmas_of(mm).at(0).pages[0].size(), 2 * kPage);
  const InheritedVma last = job.vmas_of(5).at(0);
  CHECK_EQ(last.pages[0].size(), kPage);
  CHECK_EQ(last.dropped[0].start, at(1));
}

TEST("inherited pages: of two that claim one place, the later one is there") {
  Job job(5, {kMaker, 1, 1, 1, 1});  // 1 and 3 share, and so do 2 and 4: no history has that
  for (std::uint32_t mm = 2; mm <= 5; ++mm) job.add_vma(mm, kStart, 1);
  job.add_pages(2, kStart, 1, 10, false);
  job.add_pages(3, kStart, 1, 20, false);
  job.add_pages(4, kStart, 1, 10, true);
  job.add_pages(5, kStart, 1, 20, true);
  CHECK_EQ(job.vmas_of(2).size(), 1U);
  CHECK(job.vmas_of(4).empty());
  CHECK_EQ(job.vmas_of(3).size(), 1U);
  CHECK_EQ(job.vmas_of(5).size(), 1U);
}

TEST("inherited pages: memory that a child would not share") {
  for (const std::uint64_t flag :
       {std::uint64_t{CRYO_VMA_LOCKED}, std::uint64_t{CRYO_VMA_DROPPABLE}, std::uint64_t{CRYO_VMA_WIPEONFORK},
        std::uint64_t{CRYO_VMA_SHADOW_STACK}}) {
    Job job = sharing(2);
    job.context.mms.at(2).vmas[0].flags |= flag;
    CHECK(job.pages().runs().empty());
  }
  Job policy = sharing(2);
  cryo_mempolicy own{};
  own.start = at(7);
  own.end = at(8);
  policy.context.mms.at(1).mempolicies.push_back(own);
  CHECK(policy.pages().runs().empty());
}

TEST("inherited pages: processes with one memory count as one") {
  Job job = sharing(3);
  job.context.processes[2].head.mm = 2;
  job.context.mms.erase(3);
  job.context.pages.pop_back();
  job.plan.nodes[3].shares_memory = true;
  job.plan.steps[2] = {TreeStep::Kind::kCreate, 2, 3};
  CHECK_EQ(job.pages().due(1, 1).size(), 1U);
  CHECK_EQ(job.vmas_of(2).size(), 1U);
}

TEST("inherited pages: are not mapped, but for a little of a large area") {
  constexpr std::uint64_t kLarge = kLeastMappedBytes / kPage;
  const MappableFiles own = {{true, {}}};
  for (const std::uint64_t shared : {kLarge, std::uint64_t{1}}) {
    Job job(2);
    job.add_vma(1, kStart, kLarge);
    job.add_vma(2, kStart, kLarge);
    for (std::uint64_t page = 0; page < kLarge; page += CRYO_PAGES_MAX)
      job.add_pages(1, at(page), CRYO_PAGES_MAX, 10 + page, false);
    job.add_pages(2, kStart, shared, 10, true);
    const InheritedPages pages = job.pages();
    CHECK_EQ(pages.runs().empty(), shared == 1);
    CHECK_EQ(mapped_memory(job.context, own, pages).at(1).empty(), shared != 1);
  }
}

}  // namespace
}  // namespace cryo::test
