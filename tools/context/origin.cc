// SPDX-License-Identifier: GPL-2.0-only
// A file system in user space says of its files whatever its server likes, and one of a user's own disk or
// image what he has written there: that root owns them, and nobody else can write to them.
#include "context/origin.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string_view>

#include "base/error.h"
#include "base/open_regular.h"
#include "base/parse.h"
#include "context/mountinfo.h"

namespace cryo {
namespace {

constexpr std::uint64_t kFuseMagic = 0x65735546;
constexpr const char* kUserMounts = "/run/mount/utab";  // of mount(8): who has asked for what
constexpr std::string_view kUserId = "user_id=";

std::string text_of(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Nothing: it is not of the caller's mount namespace.
std::optional<Mount> mount_of(const SourceFile& file) {
  const auto mounts = parse_mountinfo(text_of("/proc/self/mountinfo"));
  if (!mounts) return {};
  const auto mount = std::find_if(mounts->begin(), mounts->end(),
                                  [&file](const Mount& other) { return other.id == file.mount_id; });
  return mount == mounts->end() ? std::nullopt : std::optional(*mount);
}

// The part of `text`, which has parts with commas between them, that begins with `name`, without that.
std::optional<std::string> option_of(const std::string& text, std::string_view name) {
  std::istringstream in(text);
  for (std::string option; std::getline(in, option, ',');)
    if (option.starts_with(name)) return option.substr(name.size());
  return {};
}

// A server of root's is as much to be trusted as root's other programs.
std::string fuse_mounter(const std::optional<Mount>& mount) {
  if (!mount) return "is on a file system in user space (FUSE) that is not mounted here";
  if (!mount->type.starts_with("fuse")) return {};  // virtiofs
  const auto text = option_of(mount->super_options, kUserId);
  const auto uid = parse_number<std::uint32_t>(text.value_or(""));
  if (uid && (*uid == 0 || *uid == ::geteuid())) return {};
  return fmt::format("is on a file system in user space (FUSE) of user {}, mounted on {}",
                     text.value_or("unknown"), mount->point);
}

// Options "user", "users", "owner" and "group" of fstab(5) leave the name of who has mounted it; udisks2 does
// so for who sits at the machine.
std::string user_mounter(const Mount& mount) {
  std::istringstream lines(text_of(kUserMounts));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string target, options;
    for (std::string word; words >> word;) {
      if (word.starts_with("TARGET=")) target = unescape_octal(std::string_view(word).substr(7));
      if (word.starts_with("OPTS=")) options = unescape_octal(std::string_view(word).substr(5));
    }
    if (target != mount.point) continue;
    if (const auto user = option_of(options, "user="); user && *user != "root")
      return fmt::format("is on a file system that user {} has mounted on {}", *user, mount.point);
    if (const auto helper = option_of(options, "uhelper="))
      return fmt::format("is on a file system that {} has mounted on {} for a user", *helper, mount.point);
  }
  return {};
}

std::string mounter(const SourceFile& file) {
  const std::optional<Mount> mount = mount_of(file);
  if (file.fs_magic == kFuseMagic)
    if (std::string text = fuse_mounter(mount); !text.empty()) return text;
  return mount ? user_mounter(*mount) : std::string();
}

// What is root's, and says what somebody else likes: proc(5) has a process's own text in files that are
// root's when it is not dumpable, and who sits at the machine may attach disks, or files as disks.
std::string others_contents(const SourceFile& file) {
  constexpr unsigned kMemoryDevices = 1;  // null(4), zero(4): nobody's
  if (is_kernel_interface(file.fs_magic))
    return "is a kernel pseudo-file, whose contents any user's process may choose";
  if (S_ISBLK(file.mode) || (S_ISCHR(file.mode) && major(file.special) != kMemoryDevices))
    return "is a device, and others may have written what it has";
  if (S_ISREG(file.mode) && file.fs_magic == 0) return "is on a file system that does not say what it is";
  if (file.pipe_of_others) return "is a pipe of other processes";
  return {};
}

}  // namespace

std::string untrusted_writer(const SourceFile& file) {
  if (file.owner != 0 && file.owner != ::geteuid()) return fmt::format("belongs to user {}", file.owner);
  if (std::string text = others_contents(file); !text.empty()) return text;
  const bool has_name = S_ISREG(file.mode) || S_ISFIFO(file.mode);
  if (has_name && (file.mode & (S_IWGRP | S_IWOTH)) != 0)
    return fmt::format("can be written to by others (mode {:04o})", file.mode & 07777);
  return has_name ? mounter(file) : std::string();
}

}  // namespace cryo
