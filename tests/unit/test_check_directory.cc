// SPDX-License-Identifier: GPL-2.0-only
// The working directory is what it was, and not what has its name.
#include <sys/stat.h>
#include <sys/sysmacros.h>

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
  const std::string text = fmt::format("pid 3999999: its working directory {} is another one than at the checkpoint (inode {} on device {}:{}, was {} on {}:{}",
                                       path, was.st_ino, major(was.st_dev), minor(was.st_dev), was.st_ino + 1, major(was.st_dev), minor(was.st_dev));
  WARNS(process_findings(builder), "{})", text);
  RestartOptions options;
  options.changed_files = ChangedFiles::kIgnore;
  CHECK(process_findings(builder, options).warnings.empty());
  options.changed_files = ChangedFiles::kRefuse;
  SAYS(process_findings(builder, options), ESTALE, "{}; --changed-files=warn takes it, --relocate=OLD=NEW leads to another one)", text);
}

}  // namespace
}  // namespace cryo::test
