// SPDX-License-Identifier: GPL-2.0-only
#include "context/source.h"

#include <cryo/format.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/error.h"
#include "base/parse.h"
#include "base/progress_line.h"
#include "base/termination.h"
#include "context/find_context.h"
#include "context/read_at.h"
#include "context/spool.h"

namespace cryo {
namespace {

constexpr std::size_t kLongRead = 1 << 16;  // of so many bytes: then it is worth a look at the signals

bool same_file(const struct stat& one, const struct stat& other) {
  return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

// Has this process `file` open by another descriptor than `fd`, as a shell leaves it for /dev/fd/63?
bool is_open_elsewhere(int fd, const struct stat& file) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", error)) {
    const auto number = parse_number<int>(entry.path().filename().string(), 0);
    struct stat other {};
    if (number && *number != fd && ::fstat(*number, &other) == 0 && same_file(file, other)) return true;
  }
  return false;
}

// Whether pread(2) at 0 gives the first byte of an uncompressed context.
bool readable_in_place(int fd, const struct stat& st, const std::string& name) {
  if (!S_ISREG(st.st_mode) || ::lseek(fd, 0, SEEK_CUR) != 0) return false;
  std::array<std::byte, 4> start;
  const ssize_t n = ::pread(fd, start.data(), start.size(), 0);
  if (n < 0) fail_errno("{}: read", name);
  return !is_zstd(std::span(start).first(static_cast<std::size_t>(n)));
}

}  // namespace

namespace {

std::string g_advice;  // of refuse_untrusted_copies(); empty: all are unpacked

}  // namespace

void Source::refuse_untrusted_copies(std::string advice) {
  g_advice = std::move(advice);
}

Source Source::open(const std::string& path) {
  if (path == "-") {
    UniqueFd fd(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3));
    if (!fd) fail_errno("standard input");
    return from_fd(std::move(fd), "standard input");
  }
  FoundContext found = find_context(path);
  if (!found.place) fail(found.error, "{}: {}", path, found.why);
  Source source = look_at(found.place.get(), path, true);
  if (const std::string why = why_never_opened(found.place); !why.empty()) fail(EPERM, "{} {}", path, why);
  if (!S_ISREG(source.file_.mode)) source.refuse_untrusted();
  // A FIFO's writer may never come: spool() waits for him, and for signals.
  UniqueFd fd = open_found(found.place, path);
  if (!fd) fail_errno("{}", path);
  found.place.reset();
  return std::move(source).from(std::move(fd));
}

Source Source::from_fd(UniqueFd fd, std::string name) {
  Source source = look_at(fd.get(), std::move(name), false);
  return std::move(source).from(std::move(fd));
}

// Also by a descriptor that nothing can be read from (O_PATH).
Source Source::look_at(int fd, std::string name, bool by_name) {
  struct stat st {};
  if (::fstat(fd, &st) != 0) fail_errno("{}", name);
  if (S_ISDIR(st.st_mode)) fail(EISDIR, "{}: is a directory, not a context", name);
  Source source;
  source.name_ = std::move(name);
  source.file_.owner = st.st_uid;
  source.file_.mode = st.st_mode;
  source.file_.device = st.st_dev;
  source.file_.special = st.st_rdev;
  source.file_.inode = st.st_ino;
  struct statfs system {};
  if (::fstatfs(fd, &system) == 0) source.file_.fs_magic = static_cast<std::uint32_t>(system.f_type);
  source.file_.pipe_of_others =
      by_name && source.file_.fs_magic == PIPEFS_MAGIC && !is_open_elsewhere(fd, st);
  struct ::statx more {};
  if (::statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &more) == 0 && (more.stx_mask & STATX_MNT_ID) != 0)
    source.file_.mount_id = more.stx_mnt_id;
  return source;
}

bool Source::may_unpack(int fd) {
  return g_advice.empty() || untrusted_writer(look_at(fd, {}, true).file_).empty();
}

void Source::refuse_untrusted() const {
  const std::string why = g_advice.empty() ? std::string() : untrusted_writer(file_);
  if (!why.empty()) fail(EPERM, "{} {}, and would have to be unpacked: {}", name_, why, g_advice);
}

Source Source::from(UniqueFd fd) && {
  struct stat st {};
  if (::fstat(fd.get(), &st) != 0) fail_errno("{}", name_);
  if (readable_in_place(fd.get(), st, name_)) {
    fd_ = std::move(fd);
    size_ = static_cast<std::uint64_t>(st.st_size);
    return std::move(*this);
  }
  refuse_untrusted();
  Spool copy = spool(fd.get(), name_);
  fd_ = std::move(copy.fd);
  size_ = copy.size;
  compressed_ = copy.compressed;
  spooled_ = true;
  return std::move(*this);
}

Source Source::from_memory(std::span<const std::byte> bytes, std::string name) {
  Source source;
  source.memory_ = bytes;
  source.name_ = std::move(name);
  source.size_ = bytes.size();
  return source;
}

void Source::read(std::uint64_t offset, std::span<std::byte> to) const {
  progress::step("reading the context", to.size());
  if (to.size() >= kLongRead && is_pending_termination()) fail(EINTR, "{}: interrupted by a signal", name_);
  if (offset > size_ || to.size() > size_ - offset)
    fail(EBADMSG, "{} is truncated: ends at byte {} without an end mark", name_, size_);
  if (!fd_) {
    if (!to.empty()) std::memcpy(to.data(), memory_.data() + offset, to.size());
    return;
  }
  read_at(fd_.get(), offset, to, name_);
}

}  // namespace cryo
