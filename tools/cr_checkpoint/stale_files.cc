// SPDX-License-Identifier: GPL-2.0-only
#include "cr_checkpoint/stale_files.h"

#include <cryo/format.h>
#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <memory>
#include <string_view>
#include <vector>

#include "base/parse.h"
#include "base/unique_fd.h"

namespace cryo {
namespace {

constexpr std::string_view kMark = ".tmp";
constexpr std::array<unsigned char, 4> kZstdMagic = {0x28, 0xb5, 0x2f, 0xfd};

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

bool is_number(std::string_view text) {
  return parse_number<std::uint64_t>(text).has_value();
}

// "context.PID" or "context.PID.N", compressed or not.
bool is_default_name(std::string_view name) {
  constexpr std::string_view kPrefix = "context.", kCompressed = ".zst";
  if (!name.starts_with(kPrefix)) return false;
  name.remove_prefix(kPrefix.size());
  if (name.ends_with(kCompressed)) name.remove_suffix(kCompressed.size());
  const std::size_t dot = name.find('.');
  return is_number(name.substr(0, dot)) && (dot == std::string_view::npos || is_number(name.substr(dot + 1)));
}

// ".BASE.tmp" or ".BASE.tmp.N": BASE; else nothing.
std::string_view base_of(std::string_view name) {
  if (!name.starts_with('.')) return {};
  const std::size_t mark = name.rfind(kMark);
  if (mark == std::string_view::npos || mark == 0) return {};
  const std::string_view rest = name.substr(mark + kMark.size());
  if (!rest.empty() && !(rest.front() == '.' && is_number(rest.substr(1)))) return {};
  return name.substr(1, mark - 1);
}

constexpr std::int64_t kWritten = 3600;  // seconds

}  // namespace

bool is_named(int directory, const std::string& name, const struct stat& what) {
  struct stat now {};
  return ::fstatat(directory, name.c_str(), &now, AT_SYMLINK_NOFOLLOW) == 0 && now.st_dev == what.st_dev &&
         now.st_ino == what.st_ino;
}

bool has_context(int fd) {
  std::array<unsigned char, CRYO_MAGIC_LEN> start{};
  const ssize_t got = ::pread(fd, start.data(), start.size(), 0);
  if (got == 0) return true;
  if (got < static_cast<ssize_t>(kZstdMagic.size())) return false;
  return std::memcmp(start.data(), kZstdMagic.data(), kZstdMagic.size()) == 0 ||
         (got == std::ssize(start) && std::memcmp(start.data(), CRYO_MAGIC, start.size()) == 0);
}

bool may_be_written_elsewhere(const struct stat& status, std::uint64_t file_system, std::int64_t now) {
  const bool is_local = major(status.st_dev) != 0 || file_system == TMPFS_MAGIC ||
                        file_system == BTRFS_SUPER_MAGIC || file_system == OVERLAYFS_SUPER_MAGIC;
  return !is_local && now - status.st_mtim.tv_sec < kWritten;
}

namespace {

void remove_if_stale(int directory, const std::string& name) {
  const UniqueFd fd(::openat(directory, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  if (!fd || ::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_uid != ::geteuid() ||
      status.st_nlink != 1 || (status.st_mode & (S_IRWXG | S_IRWXO)) != 0 || !has_context(fd.get()))
    return;
  struct statfs system {};
  if (::fstatfs(fd.get(), &system) != 0 ||
      may_be_written_elsewhere(status, static_cast<std::uint64_t>(system.f_type), ::time(nullptr)))
    return;
  // Whoever writes to it holds it; the name is looked at again when nobody else can take it any more.
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0 || !is_named(directory, name, status)) return;
  ::unlinkat(directory, name.c_str(), 0);
}

}  // namespace

bool hold_file(int directory, const std::string& name, int fd) {
  // Where there are no locks, nobody can take it for stale.
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0) return errno != EWOULDBLOCK;
  struct stat status {};
  return ::fstat(fd, &status) == 0 && is_named(directory, name, status);
}

void remove_stale_files(int directory, const std::string& base) {
  const int copy = ::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, CloseDirectory> entries(copy < 0 ? nullptr : ::fdopendir(copy));
  if (!entries) {
    if (copy >= 0) ::close(copy);
    return;
  }
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(entries.get())) {
    const std::string_view of = base_of(entry->d_name);
    if (!of.empty() && (of == base || is_default_name(of))) names.emplace_back(entry->d_name);
  }
  for (const std::string& name : names) remove_if_stale(directory, name);
}

}  // namespace cryo
