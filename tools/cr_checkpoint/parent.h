// SPDX-License-Identifier: GPL-2.0-only
// The context that a new one is to be told apart from, and those that it needs itself.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "cr_checkpoint/options.h"
#include "cr_checkpoint/page_table.h"

namespace cryo {

struct ParentFile {
  std::string path;  // absolute, without symbolic links
  Hash id{};
  std::uint64_t length = 0;  // of the context in it
  dev_t dev = 0;
  ino_t ino = 0;
};

class Parent {
 public:
  // Reads the whole context, and finds all that it needs.  Throws Error when it is not whole.
  explicit Parent(const std::string& path);

  [[nodiscard]] const PageTable& table() const { return table_; }
  // By PagePlace::file; the parent is the first.
  [[nodiscard]] const std::vector<ParentFile>& files() const { return files_; }
  [[nodiscard]] std::uint32_t page_size() const { return page_size_; }
  [[nodiscard]] std::uint64_t page_bytes() const { return table_.size() * page_size_; }

 private:
  PageTable table_;
  std::vector<ParentFile> files_;
  std::uint32_t page_size_ = 0;
};

// The files as a context at the destination calls them: with relative names, if it has a directory. Throws
// Error when the destination is one of them.
[[nodiscard]] std::vector<Ancestor> names_for(const Parent& parent, const Options& options);

}  // namespace cryo
