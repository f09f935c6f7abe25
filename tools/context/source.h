// SPDX-License-Identifier: GPL-2.0-only
// Random access to the bytes of a context, wherever they come from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/unique_fd.h"
#include "context/origin.h"

namespace cryo {

// An uncompressed regular file is read in place.  What cannot be read at any offset (a pipe, a
// socket, a zstd stream) is first copied, decompressed, into an unnamed temporary file: in $TMPDIR,
// else in /var/tmp, else in memory.
class Source {
 public:
  // "-" is standard input.  What others may have put there is looked at before it is opened (find_context()).
  // Throws Error.
  [[nodiscard]] static Source open(const std::string& path);
  // From a descriptor's current position on; `name` is for messages.
  [[nodiscard]] static Source from_fd(UniqueFd fd, std::string name);
  // From now on a file that somebody else can have written (untrusted_writer()) is not unpacked: what it
  // grows to would take the caller's room.  Nor is such a FIFO opened.  EPERM, with `advice` behind the
  // reason.
  static void refuse_untrusted_copies(std::string advice);
  // Whether that is so of the regular file `fd`: false, it is not unpacked.  Throws Error.
  [[nodiscard]] static bool may_unpack(int fd);
  // Bytes that outlive the Source; fd() is -1. For tests.
  [[nodiscard]] static Source from_memory(std::span<const std::byte> bytes, std::string name);

  // Readable with pread(2); offset 0 is the start of the (uncompressed) context.
  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] bool compressed() const { return compressed_; }
  [[nodiscard]] bool spooled() const { return spooled_; }  // fd() is a temporary copy
  // Of what was opened, not of a copy.
  [[nodiscard]] const SourceFile& file() const { return file_; }

  // Fills all of `to`, or throws Error.
  void read(std::uint64_t offset, std::span<std::byte> to) const;

 private:
  Source() = default;
  static Source look_at(int fd, std::string name, bool by_name);
  void refuse_untrusted() const;
  Source from(UniqueFd fd) &&;

  UniqueFd fd_;
  std::span<const std::byte> memory_;
  std::string name_;
  std::uint64_t size_ = 0;
  SourceFile file_;
  bool compressed_ = false;
  bool spooled_ = false;
};

}  // namespace cryo
