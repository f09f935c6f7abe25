// SPDX-License-Identifier: GPL-2.0-only
// What is watched by inotify(7) and fanotify(7) is a file, not what has its name.
#include <sys/stat.h>

#include <algorithm>

#include "unit/context_builder.h"
#include "unit/obstacles.h"
#include "unit/tap.h"

namespace cryo::test {
namespace {

bool warns(const ContextBuilder& builder) {
  Findings findings;
  check_files(builder.context, {}, {}, findings);
  return std::any_of(findings.warnings.begin(), findings.warnings.end(), [](const auto& one) {
    return fmt::format("{}", one).find("will be on a different file") != std::string::npos;
  });
}

// Begins `after_s` seconds after the file at `path` was changed last.
ContextBuilder created_after(const std::string& path, std::int64_t after_s) {
  struct stat now {};
  CHECK(::stat(path.c_str(), &now) == 0);
  ContextBuilder builder = sample();
  builder.context.header.created_ns = static_cast<std::uint64_t>(now.st_mtim.tv_sec + after_s) * 1000000000;
  return builder;
}

template <typename Add>
void warns_of_other_files(Add&& add) {
  const Directory directory;
  const std::string path = directory.file("watched", 0600);
  struct ::statx born {};
  CHECK(::statx(AT_FDCWD, path.c_str(), 0, STATX_BTIME | STATX_INO, &born) == 0);
  const auto others = [&](std::uint64_t ino, std::int64_t after_s) {
    ContextBuilder builder = created_after(path, after_s);
    add(builder, path, ino);
    return warns(builder);
  };
  CHECK(!others(born.stx_ino, 10));
  CHECK(others(born.stx_ino + 1, 10));
  if ((born.stx_mask & STATX_BTIME) != 0) CHECK(others(born.stx_ino, -10));
}

TEST("inotify: a file that was made since is not what was watched, whatever its number") {
  warns_of_other_files([](ContextBuilder& builder, const std::string& path, std::uint64_t ino) {
    Watch watch{{}, path};
    watch.head.wd = 1;
    watch.head.ino = ino;
    add_file(builder, CRYO_FILE_INOTIFY, "anon_inode:inotify", 0).inotify = Inotify{{}, {watch}, {}};
  });
}

TEST("fanotify: likewise") {
  warns_of_other_files([](ContextBuilder& builder, const std::string& path, std::uint64_t ino) {
    FanotifyMark mark{{}, path};
    mark.head.kind = CRYO_MARK_INODE;
    mark.head.ino = ino;
    Fanotify group{{}, {mark}};
    group.head.flags = CRYO_FANOTIFY_UNPRIVILEGED;
    add_file(builder, CRYO_FILE_FANOTIFY, "anon_inode:[fanotify]", 0).fanotify = group;
  });
}

}  // namespace
}  // namespace cryo::test
