// SPDX-License-Identifier: GPL-2.0-only
// The context that a new one is to be told apart from, and those that it needs itself.
#pragma once

#include <sys/types.h>

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "context/chain.h"
#include "cr_checkpoint/options.h"
#include "cr_checkpoint/page_map.h"
#include "cr_checkpoint/page_table.h"

namespace cryo {

struct ParentFile {
  std::string path;  // absolute, without symbolic links
  Hash id{};
  std::uint64_t length = 0;  // of the context in it
  dev_t dev = 0;
  ino_t ino = 0;
  std::uint64_t inode = 0, changed_ns = 0;  // as of struct cryo_ancestor
};

// What is no regular file is not waited for.  Throws Error.
[[nodiscard]] Source open_parent(const std::string& path);

class Parent {
 public:
  // Reads the context but for its pages, and finds all that it needs.  Throws Error when it is not whole.
  explicit Parent(const std::string& path);

  // Its ancestors are as they were when it was written: their files say so by their times, else their pages
  // are compared.  So are its own, if asked for: load() reads these anyway.  Throws Error.
  void verify(bool pages) const;

  // Before others rely on what needs them.  Throws Error, ESTALE or that of stat(2): one has another file in
  // its place, or is gone.
  void check_still_there() const;

  // Reads the pages, for table(), which does it otherwise. Throws Error when they are not what they were.
  void load() const;

  // By contents, and by address.
  [[nodiscard]] const PageTable& table() const {
    load();
    return opened_->table;
  }
  [[nodiscard]] const PageMap& map() const { return opened_->map; }
  // Bytes of what has the number `file`.
  void read(std::uint32_t file, std::uint64_t offset, std::span<std::byte> to) const;

  [[nodiscard]] const Hash& id() const { return files_.front().id; }
  [[nodiscard]] const Context& context() const { return opened_->context; }
  [[nodiscard]] const Source& source() const { return opened_->source; }
  // By PagePlace::file; the parent is the first.
  [[nodiscard]] const std::vector<ParentFile>& files() const { return files_; }
  [[nodiscard]] std::uint32_t page_size() const { return page_size_; }
  [[nodiscard]] std::uint64_t page_bytes() const { return opened_->map.pages() * page_size_; }

 private:
  // Stays where it is.
  struct Opened {
    explicit Opened(const std::string& path);
    Source source;
    Context context;
    Chain chain;
    PageMap map;
    std::once_flag loaded;
    PageTable table;
  };

  std::unique_ptr<Opened> opened_;
  std::vector<ParentFile> files_;
  std::uint32_t page_size_ = 0;
};

// The files as a context at the destination calls them: with relative names, if it has a directory. Throws
// Error when the destination is one of them.
[[nodiscard]] std::vector<Ancestor> names_for(const Parent& parent, const Options& options);

}  // namespace cryo
