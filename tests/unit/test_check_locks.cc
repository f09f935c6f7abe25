// SPDX-License-Identifier: GPL-2.0-only
// Locks, leases and contexts of asynchronous I/O that are not to be had any more; output files that others
// have, too.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "restart/files/held_locks.h"
#include "restart/memory/aio.h"
#include "unit/obstacles.h"

namespace cryo::test {
namespace {

TEST("obstacles: locks that others hold") {
  const auto held = parse_held_locks(
      "1: POSIX  ADVISORY  WRITE 1234 fe:00:77 10 19\n"
      "1: -> POSIX  ADVISORY  READ 1235 fe:00:77 10 19\n"
      "2: FLOCK  ADVISORY  READ 1236 fe:00:78 0 EOF\n"
      "3: OFDLCK ADVISORY  READ -1 00:1a:79 5 EOF\n"
      "4: LEASE  ACTIVE    READ 1237 fe:00:80 0 EOF\n");
  CHECK(held.size() == 4);
  CHECK(held[0].file == "fe:00:77" && held[0].exclusive && held[0].pid == 1234 && !held[0].whole_file);
  CHECK(held[2].pid == -1 && held[2].start == 5);
  CHECK(in_the_way(held[0], {1, CRYO_LOCK_POSIX, F_RDLCK, 0, 19, 30}));
  CHECK(in_the_way(held[0], {1, CRYO_LOCK_OFD, F_RDLCK, 0, 0, 10}));
  CHECK(!in_the_way(held[0], {1, CRYO_LOCK_POSIX, F_WRLCK, 0, 20, 30}));
  CHECK(!in_the_way(held[0], {1, CRYO_LOCK_FLOCK, F_WRLCK, 0, 0, 0}));
  CHECK(in_the_way(held[1], {1, CRYO_LOCK_FLOCK, F_WRLCK, 0, 0, 0}));
  CHECK(!in_the_way(held[1], {1, CRYO_LOCK_FLOCK, F_RDLCK, 0, 0, 0}));
  CHECK(in_the_way(held[2], {1, CRYO_LOCK_OFD, F_WRLCK, 0, 1ULL << 40, ~0ULL >> 1}));
  CHECK(held[3].lease && !in_the_way(held[3], {1, CRYO_LOCK_FLOCK, F_WRLCK, 0, 0, 0}));
  CHECK(in_the_way(held[3], {1, CRYO_LOCK_LEASE, F_WRLCK, 0, 0, 0}));
  CHECK(!in_the_way(held[3], {1, CRYO_LOCK_LEASE, F_RDLCK, 0, 0, 0}));
}

TEST("obstacles: a lease of a file that others have open") {
  const Directory directory;
  const std::string path = directory.path() + "/leased";
  ContextBuilder builder = sample();
  UniqueFd writer(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  File& file = add_file(builder, CRYO_FILE_PATH, path, S_IFREG | 0600);
  builder.context.processes.front().locks.push_back({file.id, CRYO_LOCK_LEASE, F_RDLCK, 0, 0, 0});
  Findings findings;
  check_locks(builder.context, {}, findings);
  SAYS(findings, EAGAIN, "pid 3999999: cannot take its lease of {} again: another process has it open", path);
  writer.reset();
  findings = {};
  check_locks(builder.context, {}, findings);
  CHECK(findings.problems.empty());
}

TEST("obstacles: contexts of asynchronous I/O of all processes") {
  ContextBuilder builder = sample();
  CHECK(aio_total_obstacle(builder.context, "65536", "65536").empty());
  builder.context.mms.begin()->second.aio.push_back({{0x7000'0000, 0x1000, 1000, 1023, 0, 0}, {}});
  CHECK(aio_total_obstacle(builder.context, "64536", "65536").empty());
  CHECK(aio_total_obstacle(builder.context, "64537", "65536") ==
        "asynchronous I/O contexts (io_setup) for 1000 requests are more than fs.aio-max-nr allows: 65536, "
        "of which 64537 are in use");
}

TEST("obstacles: output that others had open, too") {
  const Directory directory;
  ContextBuilder builder = sample();
  const std::string path = directory.file("log", 0666);
  cryo_file& file = add_file(builder, CRYO_FILE_PATH, path, S_IFREG, O_WRONLY).head;
  file.outside = CRYO_OUTSIDE_SHARED;
  cryo_inode& inode = builder.context.inodes.at(1).head;
  struct stat now;
  ::stat(path.c_str(), &now);
  inode.ino = now.st_ino;
  inode.size = static_cast<std::uint64_t>(now.st_size) + 1;
  file.pos = inode.size;
  RestartOptions options;
  options.changed_files = ChangedFiles::kWarn;
  Findings findings;
  check_files(builder.context, options, {}, findings);
  CHECK(findings.problems.empty());
  CHECK_EQ(findings.warnings.size(), 1U);
  CHECK(findings.warnings.front().find(", and other processes had it open for writing, too") !=
        std::string::npos);
  CHECK(::truncate(path.c_str(), now.st_size + 10) == 0);
  findings = {};
  check_files(builder.context, options, {}, findings);
  CHECK_EQ(findings.warnings.size(), 1U);
  CHECK(findings.warnings.front().ends_with(fmt::format(
      "9 bytes were added since the checkpoint and are kept, as other processes had it open for writing: "
      "output of the job among them will be duplicated (--truncate=aside moves them to {}.cut.1)",
      path)));
  file.pos = 1;
  findings = {};
  check_files(builder.context, options, {}, findings);
  CHECK_EQ(findings.warnings.size(), 1U);
  CHECK(findings.warnings.front().ends_with(
      fmt::format("the job continues to write at byte 1, and may overwrite them (--truncate=aside moves them "
                  "to {}.cut.1)",
                  path)));
}

}  // namespace
}  // namespace cryo::test
