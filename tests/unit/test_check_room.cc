// SPDX-License-Identifier: GPL-2.0-only
// Whether there is room for what a restart writes.  Contents are not read for that: what is larger than any
// file system is a number.
#include <sys/statvfs.h>

#include <bit>

#include "restart/check/check_limits.h"
#include "restart/check/check_room.h"
#include "restart/rights/credentials.h"
#include "restart/rights/names.h"
#include "unit/obstacles.h"

namespace cryo::test {
namespace {

constexpr std::uint64_t kHuge = 1ULL << 40;  // pages

std::uint64_t page_size() {
  return static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

// Pages of the inode of the file, after a hole of one.
File& add_contents(ContextBuilder& builder, std::uint32_t kind, const std::string& path,
                   std::uint64_t pages) {
  File& file = add_file(builder, kind, path, S_IFREG | 0600);
  builder.context.inodes.at(file.head.inode).head.size = (pages + 1) * page_size();
  PageChunk chunk;
  chunk.kind = CRYO_PAGES_INODE;
  chunk.object = file.head.inode;
  chunk.runs = {{page_size(), pages}};
  chunk.nr_pages = pages;
  builder.context.pages.push_back(chunk);
  return file;
}

struct Result {
  Findings findings;
  std::set<std::uint32_t> in_memory;
};

Result check_room_of(const ContextBuilder& builder, std::uint64_t kept = 0, const std::string& where = "/") {
  Result result;
  struct stat now;
  if (kept != 0 && ::stat(where.c_str(), &now) == 0) result.findings.kept_aside[now.st_dev] = kept;
  result.in_memory =
      check_room(builder.context, {}, own_credentials(), contents_sizes(builder.context), result.findings);
  return result;
}

// A problem, or a warning where the file system of the tests is one that may take less.
std::string told(const Findings& findings) {
  CHECK_EQ(findings.problems.size() + findings.warnings.size(), std::size_t{1});
  for (const Problem& problem : findings.problems) CHECK_EQ(problem.code, ENOSPC);
  if (!findings.problems.empty()) return findings.problems.front().text;
  return findings.warnings.empty() ? "" : findings.warnings.front();
}

TEST("room: what fits is no problem, holes take none") {
  const Directory directory;
  ContextBuilder builder = sample();
  File& file = add_contents(builder, CRYO_FILE_CONTENTS, directory.path() + "/file (deleted)", 1);
  CHECK(check_room_of(builder).findings.problems.empty());
  builder.context.inodes.at(file.head.inode).head.size = kHuge * page_size();
  const Result result = check_room_of(builder);
  CHECK(result.findings.problems.empty() && result.findings.warnings.empty());
}

TEST("room: contents that their file system has no room for") {
  const Directory directory;
  ContextBuilder builder = sample();
  File& file = add_contents(builder, CRYO_FILE_CONTENTS, directory.path() + "/missing/file (deleted)", kHuge);
  const std::string text = told(check_room_of(builder).findings);
  CHECK(text.starts_with(fmt::format("{}/missing/file: its contents take {} bytes, and ", directory.path(),
                                     kHuge * page_size())));
  CHECK(text.ends_with(" are free in its file system (--relocate=OLD=NEW selects another one)"));

  // Another name for it (hard link), and a smaller file.
  File& link = add_file(builder, CRYO_FILE_CONTENTS, directory.path() + "/link (deleted)", S_IFREG);
  link.head.inode = file.head.inode;
  add_contents(builder, CRYO_FILE_CONTENTS, directory.path() + "/small", 1);
  CHECK(told(check_room_of(builder).findings)
            .starts_with(fmt::format("the contents of 2 files take {} bytes, of which {}/missing/file has {}",
                                     (kHuge + 1) * page_size(), directory.path(), kHuge * page_size())));

  file.redirected = link.redirected = "/dev/null";
  CHECK(check_room_of(builder).findings.problems.empty());
}

TEST("room: what is kept aside takes its part") {
  const Directory directory;
  ContextBuilder builder = sample();
  add_contents(builder, CRYO_FILE_CONTENTS, directory.path() + "/file", 1);
  struct statvfs now;
  if (::statvfs(directory.path().c_str(), &now) != 0 || now.f_blocks == 0) return;
  CHECK(told(check_room_of(builder, ~0ULL, directory.path()).findings).find("/file: its contents take") !=
        std::string::npos);
}

TEST("room: memory is none of a file system") {
  ContextBuilder builder = sample();
  File& memfd = add_contents(builder, CRYO_FILE_CONTENTS, "/memfd:name (deleted)", kHuge);
  builder.context.inodes.at(memfd.head.inode).head.flags = CRYO_INODE_MEMFD;
  const Result result = check_room_of(builder);
  CHECK(result.findings.problems.empty());
  CHECK(result.in_memory.contains(memfd.head.inode));
}

TEST("room: memory that the job takes") {
  ContextBuilder builder = sample();
  Context& context = builder.context;
  context.pages.clear();
  Mm& mm = context.mms.at(builder.process().head.mm);
  mm.vmas.clear();
  mm.vmas.push_back({1ULL << 30, (1ULL << 30) + 4096 * page_size(), 0, 0, CRYO_VMA_ANON, 0, 0, 0});
  mm.vmas.push_back({2ULL << 30, (2ULL << 30) + 16 * page_size(), 0, 0, CRYO_VMA_ANON, 0, 0, 0});
  mm.vmas.push_back(
      {3ULL << 30, (3ULL << 30) + 16 * page_size(), 0, CRYO_VMA_HUGETLB, CRYO_VMA_ANON, 0, 0, 0});
  mm.vmas.back().huge_shift = static_cast<std::uint32_t>(std::countr_zero(page_size()));
  for (const auto& [start, pages] :
       {std::pair(1ULL << 30, 4096ULL), {2ULL << 30, 3ULL}, {3ULL << 30, 2ULL}}) {
    PageChunk chunk;
    chunk.object = mm.id;
    chunk.runs = {{start, pages}};
    context.pages.push_back(chunk);
  }
  context.pages.push_back(context.pages.front());
  context.pages.back().copy = true;
  RestartOptions options;
  CHECK_EQ(memory_needs(context, options, {}, {}).all, 4099 * page_size());
  options.populate = false;  // the first area comes when it is used
  CHECK_EQ(memory_needs(context, options, {}, {}).all, 3 * page_size());
  options.map = false;
  CHECK_EQ(memory_needs(context, options, {}, {}).all, 4099 * page_size());
  const File& memfd = add_contents(builder, CRYO_FILE_CONTENTS, "/memfd:name (deleted)", 5);
  CHECK_EQ(memory_needs(context, options, contents_sizes(context), {memfd.head.inode}).all,
           4104 * page_size());
  CHECK_EQ(memory_needs(context, options, contents_sizes(context), {}).all, 4099 * page_size());
}

TEST("room: memory that cannot be had is warned of") {
  const MemoryNeeds needs{1000, {{"/sys/fs/cgroup/job", 900}, {"/sys/fs/cgroup/all", 900}}};
  MemoryRoom room{1000, {{"/sys/fs/cgroup/job", 900}, {"/sys/fs/cgroup/all", kNoLimit}}};
  Findings findings;
  check_free_memory(needs, room, findings);
  CHECK(findings.warnings.empty());
  room.machine = 999;
  room.groups["/sys/fs/cgroup/job"] = 899;
  check_free_memory(needs, room, findings);
  CHECK(findings.problems.empty());
  CHECK_EQ(findings.warnings.size(), std::size_t{2});
  WARNS(findings,
        "the job has 1000 bytes of memory in the context, and 999 can be had here (MemAvailable and SwapFree "
        "of /proc/meminfo)");
  WARNS(findings,
        "the job has 900 bytes of memory in the context, and 899 can be had in its control group (see "
        "/sys/fs/cgroup/job/memory.max)");
  CHECK(memory_room({}).machine > 0);
}

}  // namespace
}  // namespace cryo::test
