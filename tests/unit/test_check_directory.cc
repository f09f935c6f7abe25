// SPDX-License-Identifier: GPL-2.0-only
// A directory that is another one by now: the working directory, and one that is open.
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "restart/rights/missing_directories.h"
#include "restart/rights/names.h"
#include "unit/obstacles.h"

namespace cryo::test {
namespace {

Findings process_findings(const ContextBuilder& builder, const RestartOptions& options = {}) {
  Findings findings;
  check_process({builder.context, builder.context.processes.front(), options, {}}, findings);
  return findings;
}

TEST("obstacles: the working directory is another one") {
  const Directory directory;
  ContextBuilder builder = sample();
  const std::string path = directory.path() + "/here";
  ::mkdir(path.c_str(), 0755);
  struct stat was;
  CHECK(::stat(path.c_str(), &was) == 0);
  builder.process().cwd = Path{{was.st_dev, was.st_ino, 0, 0}, path};
  builder.context.header.created_ns = ~0ULL >> 1;
  CHECK(process_findings(builder).warnings.empty());
  builder.process().cwd->head.ino += 1;
  const std::string text = fmt::format(
      "pid 3999999: its working directory {} is another one than at the checkpoint (inode {} on device "
      "{}:{}, was {} on {}:{}",
      path, was.st_ino, major(was.st_dev), minor(was.st_dev), was.st_ino + 1, major(was.st_dev),
      minor(was.st_dev));
  WARNS(process_findings(builder), "{})", text);
  RestartOptions options;
  options.changed_files = ChangedFiles::kIgnore;
  CHECK(process_findings(builder, options).warnings.empty());
  options.changed_files = ChangedFiles::kRefuse;
  SAYS(process_findings(builder, options), ESTALE,
       "{}; --changed-files=warn accepts it, --relocate=OLD=NEW selects another one)", text);
}

Findings files_findings(const ContextBuilder& builder, const RestartOptions& options = {}) {
  Findings findings;
  check_files(builder.context, options, {}, findings);
  return findings;
}

TEST("a link that leads nowhere, on the way to a directory that is to be made") {
  const Directory directory;
  const OwnNames own;
  CHECK_EQ(nearest_directory(directory.path() + "/a/b/c"), directory.path());
  const std::string link = directory.path() + "/link";
  CHECK_EQ(::symlink("nothing", link.c_str()), 0);
  CHECK_EQ(nearest_directory(link + "/b/c"), link);
}

TEST("obstacles: another directory of the name") {
  const Directory directory;
  ContextBuilder builder = sample();
  struct stat now;
  ::stat(directory.path().c_str(), &now);
  add_file(builder, CRYO_FILE_PATH, directory.path(), S_IFDIR, O_RDONLY | O_DIRECTORY);
  cryo_inode& inode = builder.context.inodes.at(1).head;
  inode.fs_magic = 1;
  inode.ino = now.st_ino + 1;
  RestartOptions options;
  CHECK(files_findings(builder, options).problems.empty() &&
        files_findings(builder, options).warnings.size() == 1);
  options.changed_files = ChangedFiles::kIgnore;
  CHECK(files_findings(builder, options).problems.empty() &&
        files_findings(builder, options).warnings.empty());
  options.changed_files = ChangedFiles::kRefuse;
  const Findings findings = files_findings(builder, options);
  CHECK(findings.problems.size() == 1 && findings.problems.front().code == ESTALE);
  CHECK(findings.problems.front().text.find("its name now refers to a different directory (inode") !=
        std::string::npos);
}

}  // namespace
}  // namespace cryo::test
