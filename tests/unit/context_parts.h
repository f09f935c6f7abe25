// SPDX-License-Identifier: GPL-2.0-only
// What the sources of ContextBuilder share.
#pragma once

#include <span>
#include <string_view>

#include "unit/context_builder.h"

namespace cryo::test {

inline Bytes bytes_of_text(std::string_view text) {
  const auto view = std::as_bytes(std::span(text));
  return {view.begin(), view.end()};
}

inline File& add_file(Context& context, std::uint32_t id, std::uint32_t inode, std::uint32_t kind,
                      std::string_view path) {
  File file;
  file.id = id;
  file.head.inode = inode;
  file.head.kind = kind;
  file.path = path;
  return context.files.insert_or_assign(id, std::move(file)).first->second;
}

inline Inode& add_inode(Context& context, std::uint32_t id, std::uint64_t size, std::uint32_t mode) {
  Inode inode;
  inode.id = id;
  inode.head.ino = 100 + id;
  inode.head.size = size;
  inode.head.mode = mode;
  inode.head.nlink = 1;
  return context.inodes.insert_or_assign(id, std::move(inode)).first->second;
}

}  // namespace cryo::test
