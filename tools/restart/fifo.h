// SPDX-License-Identifier: GPL-2.0-only
// Named FIFOs.
#pragma once

#include <map>
#include <set>
#include <string>

#include "restart/files.h"

namespace cryo {

class Fifos {
 public:
  explicit Fifos(FileRestoreInput& input) : input_(input) {}

  [[nodiscard]] UniqueFd open(const File& file, const FileUse& use);

 private:
  [[nodiscard]] UniqueFd make(const Inode& inode, const std::string& path);
  [[nodiscard]] UniqueFd open_left_behind(const Inode& inode, const std::string& path);
  [[nodiscard]] int base(const File& file);

  FileRestoreInput& input_;
  std::map<std::uint32_t, UniqueFd> bases_;  // by inode
  std::set<std::uint32_t> own_;  // those that have just been made, or are the very ones of the checkpoint
};

}  // namespace cryo
