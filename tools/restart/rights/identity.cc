// SPDX-License-Identifier: GPL-2.0-only
#include "restart/rights/identity.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <iterator>

#include "restart/rights/names.h"

namespace cryo {

FileNow::FileNow(int fd) : fd_(fd), known_(fd >= 0 && names::look(fd, stat_)) {}

std::uint64_t FileNow::dev() const {
  return ::makedev(stat_.stx_dev_major, stat_.stx_dev_minor);
}

std::uint32_t FileNow::magic() const {
  struct statfs system {};
  if (!magic_) magic_ = ::fstatfs(fd_, &system) == 0 ? static_cast<std::uint32_t>(system.f_type) : 0;
  return *magic_;
}

namespace {

bool has_birth(const cryo_inode& before) {
  return before.btime_sec != 0 || before.btime_nsec != 0;
}

bool is_same_inode(const cryo_inode& before, const FileNow& now) {
  if (now.stat().stx_ino != before.ino || (now.stat().stx_mode & S_IFMT) != (before.mode & S_IFMT))
    return false;
  if (has_birth(before) && (now.stat().stx_mask & STATX_BTIME) != 0)
    return now.stat().stx_btime.tv_sec == before.btime_sec &&
           now.stat().stx_btime.tv_nsec == before.btime_nsec;
  if (now.dev() == before.dev) return true;
  // Numbers of such devices are assigned dynamically.
  return now.stat().stx_dev_major == 0 && ::major(before.dev) == 0 && now.magic() == before.fs_magic;
}

// Tools that copy may know seconds only. Size and time are what any user can give a file of his.
bool is_copy(const cryo_inode& before, const FileNow& now) {
  return S_ISREG(before.mode) && S_ISREG(now.stat().stx_mode) && now.stat().stx_size == before.size &&
         (now.stat().stx_uid == before.uid || is_capable_of_nothing()) &&
         now.stat().stx_mtime.tv_sec == before.mtime_sec &&
         (now.stat().stx_mtime.tv_nsec == before.mtime_nsec || now.stat().stx_mtime.tv_nsec == 0);
}

// Files that the kernel makes up on access, with any number.
bool is_made_up(std::uint32_t magic) {
  static constexpr std::uint32_t kMagic[] = {PROC_SUPER_MAGIC,    SYSFS_MAGIC,   CGROUP_SUPER_MAGIC,
                                             CGROUP2_SUPER_MAGIC, DEBUGFS_MAGIC, TRACEFS_MAGIC,
                                             SECURITYFS_MAGIC,    0x62656570 /* configfs */};
  return std::find(std::begin(kMagic), std::end(kMagic), magic) != std::end(kMagic);
}

}  // namespace

Identity identity_of(const cryo_inode& before, const FileNow& now) {
  // Early contexts do not have it.
  if (before.fs_magic == 0 || is_made_up(before.fs_magic)) return Identity::kSame;
  if (!now.is_known() || is_same_inode(before, now) || now.magic() == 0) return Identity::kSame;
  return is_copy(before, now) ? Identity::kCopy : Identity::kOther;
}

bool is_known_same(const cryo_inode& before, const FileNow& now) {
  constexpr std::uint32_t kFuse = 0x65735546;  // whose server says what it likes
  if (!now.is_known() || before.fs_magic == 0 || before.fs_magic == kFuse || is_made_up(before.fs_magic) ||
      now.magic() != before.fs_magic || !is_same_inode(before, now))
    return false;
  const bool born = has_birth(before) && (now.stat().stx_mask & STATX_BTIME) != 0;
  // Numbers are reused, as names are: then for another user's file.
  return born || (now.dev() == before.dev && now.stat().stx_uid == before.uid);
}

bool is_other_since(std::uint64_t ino, std::uint64_t there_ns, const FileNow& now) {
  constexpr std::int64_t kSecond = 1000000000;
  if (!now.is_known() || now.magic() == OVERLAYFS_SUPER_MAGIC || now.magic() == 0) return false;
  if (now.stat().stx_ino != ino) return true;
  const statx_timestamp& born = now.stat().stx_btime;
  const auto seconds = static_cast<std::int64_t>(there_ns / kSecond);
  const auto rest = static_cast<std::uint32_t>(there_ns % kSecond);
  return (now.stat().stx_mask & STATX_BTIME) != 0 &&
         (born.tv_sec > seconds || (born.tv_sec == seconds && born.tv_nsec > rest));
}

namespace {

// Has it been up since the checkpoint?  Clocks are set, by a little.
bool is_up_since(const Context& context) {
  constexpr std::uint64_t kSecond = 1000000000, kMost = 5 * kSecond;
  const auto now_of = [](clockid_t clock) {
    timespec now{};
    ::clock_gettime(clock, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * kSecond + static_cast<std::uint64_t>(now.tv_nsec);
  };
  // Unsigned, and modulo 2^64: a context may have any number there.
  const cryo_system& then = context.system;
  const std::uint64_t later =
      now_of(CLOCK_REALTIME) - now_of(CLOCK_BOOTTIME) - (then.realtime_ns - then.boottime_ns);
  return later + kMost < 2 * kMost;
}

}  // namespace

bool is_other_directory(const Context& context, const cryo_path& before, const FileNow& now) {
  if (before.ino == 0 || !now.is_known() || now.magic() == 0 || is_made_up(now.magic())) return false;
  if (is_other_since(before.ino, context.header.created_ns, now)) return true;
  // What has no device of its own gets a number at each mount: of these, tmpfs alone is another one by that.
  const bool stays =
      now.magic() == TMPFS_MAGIC || (now.stat().stx_dev_major != 0 && ::major(before.dev) != 0);
  return stays && now.dev() != before.dev && is_up_since(context);
}

bool is_made_up(const cryo_inode& inode) {
  return is_made_up(inode.fs_magic);
}

bool is_other_file(const Relocations& relocations, const File& file, const Inode& inode, const FileNow& now) {
  const bool made = file.head.mnt != 0 && inode.head.fs_magic == TMPFS_MAGIC;
  return !made && !relocations.covers(file.path) && identity_of(inode.head, now) == Identity::kOther;
}

std::string time_text(std::int64_t seconds, bool with_fraction, std::int64_t nanoseconds) {
  const auto time = static_cast<std::time_t>(seconds);
  std::tm parts{};
  char text[64] = "?";
  if (::localtime_r(&time, &parts) != nullptr) std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &parts);
  return with_fraction ? fmt::format("{}.{:09}", text, nanoseconds) : text;
}

namespace {

std::string made_at(const cryo_inode& before, const statx_timestamp& now) {
  const bool fraction = now.tv_sec == before.btime_sec;
  return fmt::format("made {}, that one {}", time_text(now.tv_sec, fraction, now.tv_nsec),
                     time_text(before.btime_sec, fraction, before.btime_nsec));
}

}  // namespace

std::string difference_of(const cryo_inode& before, const FileNow& now) {
  const bool number = now.stat().stx_ino == before.ino;
  if (number && has_birth(before) && (now.stat().stx_mask & STATX_BTIME) != 0)
    return made_at(before, now.stat().stx_btime);
  return fmt::format("inode {} on device {}:{}, was {} on {}:{}", now.stat().stx_ino,
                     now.stat().stx_dev_major, now.stat().stx_dev_minor, before.ino, ::major(before.dev),
                     ::minor(before.dev));
}

std::string difference_of(const cryo_path& before, const FileNow& now) {
  if (now.stat().stx_ino == before.ino && now.dev() == before.dev)
    return fmt::format("made {}, after the checkpoint", time_text(now.stat().stx_btime.tv_sec, false, 0));
  cryo_inode inode{};
  inode.dev = before.dev;
  inode.ino = before.ino;
  return difference_of(inode, now);
}

}  // namespace cryo
