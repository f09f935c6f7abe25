// SPDX-License-Identifier: GPL-2.0-only
#include "cr_checkpoint/frame_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

namespace cryo {
namespace {

// Enough to keep disks busy, and little enough that the speed shows early.
constexpr off_t kOnTheirWay = 32 << 20;

bool is_regular(int fd) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

}  // namespace

FrameFile::FrameFile(int fd, std::string name, bool at_disk_pace)
    : fd_(fd), name_(std::move(name)), at_disk_pace_(at_disk_pace && is_regular(fd)) {}

void FrameFile::append(std::span<const std::byte> frame, std::size_t unpacked) {
  write(frame);
  if (at_disk_pace_) keep_pace(frame.size());
  frames_.push_back({static_cast<std::uint32_t>(frame.size()), static_cast<std::uint32_t>(unpacked)});
  packed_ += frame.size();
  unpacked_ += unpacked;
}

void FrameFile::write(std::span<const std::byte> data) {
  while (!data.empty()) {
    const ssize_t done = ::write(fd_, data.data(), data.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail_errno("cannot write to {}", name_);
    data = data.subspan(static_cast<std::size_t>(done));
  }
}

void FrameFile::keep_pace(std::size_t size) {
  const auto bytes = static_cast<off_t>(size);
  const off_t end = ::lseek(fd_, 0, SEEK_CUR);
  if (end < bytes) return;
  sync_range(end - bytes, bytes, SYNC_FILE_RANGE_WRITE);
  on_their_way_.emplace_back(end - bytes, bytes);
  while (!on_their_way_.empty() && on_their_way_.front().first + kOnTheirWay < end) {
    const auto [from, length] = on_their_way_.front();
    on_their_way_.pop_front();
    sync_range(from, length,
               SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
  }
}

// An error of the disk that is told here is not told again by fsync().
void FrameFile::sync_range(off_t from, off_t size, unsigned int flags) {
  if (::sync_file_range(fd_, from, size, flags) == 0) return;
  if (errno == EIO || errno == ENOSPC || errno == EDQUOT) fail_errno("cannot write to {}", name_);
  at_disk_pace_ = false;  // a file system that has no such thing
}

}  // namespace cryo
