// SPDX-License-Identifier: GPL-2.0-only
// A context together with those that have bytes of its pages.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "context/model.h"
#include "context/source.h"

namespace cryo {

// Where the ancestors of a context are looked for.
struct AncestorPlace {
  std::string context;    // path of the context, whose directory it is; empty: it has none
  std::string directory;  // instead of that, by the last part of their names; empty: not given
};

// Throws Error when there is no telling where it is.
[[nodiscard]] std::string ancestor_path(const Ancestor& ancestor, const AncestorPlace& place);

// Opens it, and sees to it that it is the one that it was.  Throws Error that names `context` and the file:
// ENOENT and the like; EBADMSG when it has been changed, or another one has its name.
[[nodiscard]] Source open_ancestor(const Ancestor& ancestor, const AncestorPlace& place,
                                   const std::string& context);

// Throws Error (EBADMSG): an ancestor, the context's Nth, has other bytes than those that the context had.
void verify_ancestor(const Context& context, std::uint32_t number, const Source& ancestor);

class Chain {
 public:
  // Of a context without ancestors; `own` outlives the chain.
  explicit Chain(const Source& own) : own_(own) {}
  // Opens all of them.  Throws Error as open_ancestor() does.
  Chain(const Context& context, const Source& own, const AncestorPlace& place);

  // What has the bytes of a chunk.
  [[nodiscard]] const Source& of(const PageChunk& chunk) const { return numbered(chunk.ancestor); }
  [[nodiscard]] const Source& numbered(std::uint32_t ancestor) const {
    return ancestor == 0 ? own_ : ancestors_[ancestor - 1];
  }
  [[nodiscard]] const Source& own() const { return own_; }
  // By PageChunk::ancestor.
  [[nodiscard]] std::vector<int> descriptors() const;

  // Compares the pages that ancestors have with their hashes, or those that have none with the checksums of
  // the sections that they are in; or the latter only.  Throws Error (EBADMSG).
  void verify(const Context& context) const;
  void verify_sections(const Context& context) const;

 private:
  const Source& own_;
  std::vector<Source> ancestors_;
};

}  // namespace cryo
