// SPDX-License-Identifier: GPL-2.0-only
// The file that a context is written to: it appears under its name only when it is complete.
#pragma once

#include <sys/stat.h>

#include <atomic>
#include <ctime>
#include <string>

#include "base/unique_fd.h"
#include "cr_checkpoint/options.h"

namespace cryo {

class TargetFile {
 public:
  // Opens what the options name; a file that is there stays as it is. Throws Error.
  explicit TargetFile(const Options& options);
  TargetFile(const TargetFile&) = delete;
  TargetFile& operator=(const TargetFile&) = delete;
  // Removes what was written, unless publish() has succeeded.
  ~TargetFile() { discard(); }

  [[nodiscard]] int fd() const { return fd_; }
  // For messages: the path, or "standard output", "descriptor 7".
  [[nodiscard]] const std::string& name() const { return name_; }

  // Data may come: a file that is written in place is emptied.
  void begin();
  // What has come is of now, not of when the file was opened: of two contexts for one name the later one
  // keeps it.
  void captured();

  // All data are written: brings them to the disk.
  void sync();

  // Gives the file its name, and brings that to the disk. Throws Error; then the name means what it did,
  // unless it was the directory that did not come to the disk.  EBUSY: a later context has the name.
  void publish();

  // Removes the unfinished file. May be called from another thread that is about to end the process.
  void discard() const noexcept;

 private:
  enum class How { kStream, kInPlace, kTemporary };

  void open_descriptor(int fd);
  void open_path(const DestinationFile& file);
  void open_directory();
  bool open_special(const DestinationFile& file);
  bool open_in_place();
  void check_replaceable() const;
  void open_temporary();
  void sync_directory() const;
  [[nodiscard]] bool has_old() const;
  [[nodiscard]] std::string keep_old() const;
  void forget_backup(const std::string& backup) const;
  [[nodiscard]] bool link_old() const;
  void exchange_old() const;
  void sync_backup() const;
  void publish_new_name() const;
  void check_not_overtaken() const;
  void check_still_named() const;

  Placement placement_;
  bool sync_;
  std::string backup_name_;
  std::string name_;       // for messages
  std::string base_;       // last component of the path
  std::string temporary_;  // name of the temporary file in directory_
  UniqueFd directory_;
  bool directory_readable_ = true;
  UniqueFd owned_;
  int fd_ = -1;
  How how_ = How::kStream;
  bool created_ = false;  // in place: the file was not there before
  bool begun_ = false;
  struct stat replaced_ {};  // what had the name when the temporary file was made; all zero: nothing
  timespec captured_{};
  std::atomic<bool> published_ = false;
};

}  // namespace cryo
