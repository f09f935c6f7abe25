// SPDX-License-Identifier: GPL-2.0-only
// Named FIFOs.
#pragma once

#include <map>
#include <set>
#include <string>

#include "restart/files/files.h"

namespace cryo {

// Has another FIFO than the job's the name?  One that has been made again for it (mkfifo(1)) has its owner
// and mode.
[[nodiscard]] bool is_foreign_fifo(const RestartOptions& options, const File& file, const Inode& inode,
                                   const std::string& path);

// May what was in it be put into a FIFO that is there?  That takes a process that may open it for writing, or
// has it open so.
[[nodiscard]] bool may_fill_fifo(const Context& context, const Inode& inode, const std::string& path);

class Fifos {
 public:
  explicit Fifos(FileRestoreInput& input) : input_(input) {}

  [[nodiscard]] UniqueFd open(const File& file, const FileUse& use);

 private:
  [[nodiscard]] UniqueFd make(const File& file, const Inode& inode, const std::string& path);
  [[nodiscard]] UniqueFd open_inside(const File& file, const Inode& inode, const std::string& path);
  [[nodiscard]] UniqueFd open_left_behind(const Inode& inode, const std::string& path);
  [[nodiscard]] int base(const File& file);
  void link_again(const File& file);

  FileRestoreInput& input_;
  std::map<std::uint32_t, UniqueFd> bases_;     // by inode
  std::map<std::uint32_t, std::string> paths_;  // (same) the name by which it was found or made
  std::set<std::uint32_t> own_;  // those that have just been made, or are the very ones of the checkpoint
};

}  // namespace cryo
