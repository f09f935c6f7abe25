// SPDX-License-Identifier: GPL-2.0-only
// Whether a file is the one of the checkpoint, or one that has its name today.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>

#include "context/model.h"
#include "restart/common/relocate.h"

namespace cryo {

// What a descriptor refers to now, asked for once; the descriptor remains open for as long as this is used.
class FileNow {
 public:
  // Also of -1, where errno says why there is none.
  FileNow(int fd);

  // False: errno says why.
  [[nodiscard]] bool is_known() const { return known_; }
  [[nodiscard]] const struct ::statx& stat() const { return stat_; }
  [[nodiscard]] std::uint64_t dev() const;

  // Of its file system (statfs(2)), asked for when it matters; 0: not known.
  [[nodiscard]] std::uint32_t magic() const;

 private:
  int fd_;
  struct ::statx stat_ {};
  bool known_;
  mutable std::optional<std::uint32_t> magic_;
};

// Inode number and the time at which the file was made tell which one it is, whatever the device is called on
// this machine; where a file system does not keep that time, number and device do, or with file systems that
// have no device of their own (NFS), number and type.  A regular file of the same size that was modified at
// the very same time is a copy of what it was (cp -p, rsync -a): it has not been written to since.
enum class Identity { kSame, kCopy, kOther };
[[nodiscard]] Identity identity_of(const cryo_inode& before, const FileNow& now);

// The same where something is given away on the strength of it: never of files that are made up, nor where
// numbers alone tell and the device has none that stays.
[[nodiscard]] bool is_known_same(const cryo_inode& before, const FileNow& now);

// Of what only the kernel's number is known, and that it was there at that time: is it another file, for all
// that can be told?  A number that was given out again is a younger one's.  Numbers of a layered file system
// are not those of its inodes, nor are times.
[[nodiscard]] bool is_other_since(std::uint64_t ino, std::uint64_t there_ns, const FileNow& now);

// The same of a directory that a process was in.  A device's number tells until the machine starts anew: then
// it is given out as it comes.
[[nodiscard]] bool is_other_directory(const Context& context, const cryo_path& before, const FileNow& now);
[[nodiscard]] std::string difference_of(const cryo_path& before, const FileNow& now);

// In a file system that makes files up on access.
[[nodiscard]] bool is_made_up(const cryo_inode& inode);

// In local time.
[[nodiscard]] std::string time_text(std::int64_t seconds, bool with_fraction, std::int64_t nanoseconds);

// The difference between the two, for messages.
[[nodiscard]] std::string difference_of(const cryo_inode& before, const FileNow& now);

// Is it somebody else's, for all that can be told?  Not if the user has said where the file is now
// (--relocate), nor if it is in a temporary file system that the restart has made.
[[nodiscard]] bool is_other_file(const Relocations& relocations, const File& file, const Inode& inode,
                                 const FileNow& now);

}  // namespace cryo
