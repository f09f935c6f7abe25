// SPDX-License-Identifier: GPL-2.0-only
// Files that are made again with their contents: one for each inode, of which all open files of that are
// opened.
#pragma once

#include <map>
#include <vector>

#include "base/unique_fd.h"
#include "restart/files/file_kinds.h"

namespace cryo {

class ContentsFiles {
 public:
  explicit ContentsFiles(FileRestoreInput& input) : input_(input) {}

  // The first one of an inode makes it. Throws Error.
  using Make = UniqueFd (*)(const FileRestoreInput& input, const Inode& inode, const File& file);
  [[nodiscard]] UniqueFd open(const File& file, const FileUse& use, Make make);
  // When all files are open: attributes and seals.
  void finish(FileStore& store);

 private:
  struct Contents {
    UniqueFd fd;
    std::vector<std::size_t> processes;  // whose names were made for it
    std::uint32_t file = 0;              // the first, who opened which
  };

  FileRestoreInput& input_;
  std::map<std::uint32_t, Contents> contents_;  // by inode
};

}  // namespace cryo
