// SPDX-License-Identifier: GPL-2.0-only
// Temporary copies leave root's file systems some room.
#include <sched.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "context/temporary.h"
#include "unit/tap.h"

namespace cryo::test {
namespace {

constexpr std::size_t kSize = 20 << 20, kSecond = 2 * kSize, kPart = 20, kBlock = 100 << 10;

constexpr int kSkipped = 77;

std::uint64_t room_in(const char* directory) {
  struct statvfs system {};
  return ::statvfs(directory, &system) == 0 ? system.f_bavail * system.f_frsize : 0;
}

bool mount_small(const char* directory, std::size_t size) {
  return ::mount("none", directory, "tmpfs", 0, fmt::format("size={}", size).c_str()) == 0;
}

// In a mount namespace of its own: 0, or what is wrong.
int fill(const char* directory) try {
  if (!mount_small(directory, kSize) || !mount_small("/var/tmp", kSecond)) return kSkipped;
  ::setenv("TMPDIR", directory, 1);
  TemporaryFile file("f");
  const std::vector<std::byte> block(kBlock, std::byte{1});
  std::size_t at = 0;
  for (; room_in("/var/tmp") == kSecond; at += kBlock) {
    if (room_in(directory) < kSize / kPart) return 1;
    if (at > kSize) return 2;
    file.write(at, block);
  }
  try {
    for (; at <= kSecond; at += kBlock) file.write(at, block);
    return 3;
  } catch (const Error& error) {
    constexpr std::string_view kText = ", as what is left is for others: No space left";
    if (error.code() != ENOSPC || std::string_view(error.what()).find(kText) == std::string_view::npos)
      return 4;
  }
  return room_in("/var/tmp") < kSecond / kPart ? 5 : 0;
} catch (const Error&) {
  return 6;
}

TEST("a temporary copy of root's leaves a twentieth of a file system, and moves to the next before") {
  if (::geteuid() != 0) return;
  char directory[] = "/tmp/cryo-temporary.XXXXXX";
  CHECK(::mkdtemp(directory) != nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    const bool apart =
        ::unshare(CLONE_NEWNS) == 0 && ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
    ::_exit(apart ? fill(directory) : kSkipped);
  }
  int status = 0;
  CHECK_EQ(::waitpid(child, &status, 0), child);
  CHECK(WIFEXITED(status));
  ::rmdir(directory);
  if (WEXITSTATUS(status) != kSkipped) CHECK_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace cryo::test
