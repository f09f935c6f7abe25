// SPDX-License-Identifier: GPL-2.0-only
// What has come to a file since the checkpoint, kept aside: for nobody for whom the file is not.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <memory>
#include <string>

#include "restart/files/output_files.h"
#include "restart/rights/created_paths.h"
#include "restart/rights/names.h"
#include "restart/stub/shared_report.h"
#include "unit/obstacles.h"
#include "unit/tap.h"

namespace cryo::test {
namespace {

// As the kernel has it in an extended attribute (linux/posix_acl_xattr.h).
struct AclEntry {
  std::uint16_t tag, perm;
  std::uint32_t id;
};
struct Acl {
  std::uint32_t version = 2;
  // The owner, user 1234, the group, the mask, others.
  AclEntry entries[5] = {{1, 7, ~0U}, {2, 7, 1234}, {4, 5, ~0U}, {0x10, 7, ~0U}, {0x20, 0, ~0U}};
};

TEST("what is kept aside has no ACL of the directory") {
  const Directory directory;
  const std::string file = directory.file("log", 0640), tail = file + ".cut.1";
  const Acl acl;
  if (::setxattr(directory.path().c_str(), "system.posix_acl_default", &acl, sizeof(acl), 0) != 0) {
    CHECK_EQ(errno, EOPNOTSUPP);
    return;
  }
  const OwnNames own;
  const auto ledger = std::make_unique<Ledger>();
  CreatedPaths created(*ledger);
  const UniqueFd fd(::open(file.c_str(), O_RDWR | O_CLOEXEC));
  CutFile cut;
  keep_tail_aside(created, fd.get(), 1, file, cut);
  struct stat now;
  CHECK_EQ(::stat(tail.c_str(), &now), 0);
  CHECK_EQ(now.st_size, 3);
  CHECK_EQ(now.st_mode & 07777U, 0640U);
  CHECK(::getxattr(tail.c_str(), "system.posix_acl_access", nullptr, 0) < 0 && errno == ENODATA);
}

TEST("names of what is kept aside: an end where a file system has them all, and by a signal") {
  constexpr int kMost = 10000;
  const Directory directory;
  const std::string file = directory.file("log", 0640);
  const OwnNames own;
  for (int i = 1; i < kMost; ++i) CHECK_EQ(::symlink("x", fmt::format("{}.cut.{}", file, i).c_str()), 0);
  CHECK_EQ(aside_name(file), fmt::format("{}.cut.{}", file, kMost));
  CHECK_EQ(::symlink("x", fmt::format("{}.cut.{}", file, kMost).c_str()), 0);
  CHECK_ERROR(EEXIST,
              fmt::format("{0}.cut.1 to {0}.cut.{1} are there already: remove or rename them", file, kMost),
              aside_name(file));
  sigset_t term;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  ::sigprocmask(SIG_BLOCK, &term, nullptr);
  ::raise(SIGTERM);
  CHECK_ERROR(EINTR, "interrupted by a signal", aside_name(file));
  int signal = 0;
  ::sigwait(&term, &signal);
  ::sigprocmask(SIG_UNBLOCK, &term, nullptr);
}

}  // namespace
}  // namespace cryo::test
