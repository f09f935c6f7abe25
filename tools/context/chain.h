// SPDX-License-Identifier: GPL-2.0-only
// A context together with those that have bytes of its pages.
#pragma once

#include <sys/stat.h>

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

// When it was changed last, in nanoseconds since the Epoch; 0: so shortly ago that a change now may be at the
// same time, as the kernel's clock for that goes in steps.
[[nodiscard]] std::uint64_t changed_ns(const struct stat& status);

// Is its file still the one that it was, and not written to since?  Then its bytes need not be compared to
// know that they are what they were.
[[nodiscard]] bool is_untouched(const Ancestor& ancestor, const Source& source);

// Throws Error (EBADMSG): an ancestor, the context's Nth, has other bytes than those that the context had,
// but for those of chunks that are left out.
void verify_ancestor(const Context& context, std::uint32_t number, const Source& ancestor,
                     const ChunkSet& left_out = {});

// A section that has pages.
struct PageData {
  std::uint64_t offset = 0;  // of its bytes, of which there are so many
  std::uint64_t length = 0;
  std::uint32_t checksum = 0;
  std::uint16_t section_flags = 0;
};

// Ascending.  Throws Error: it is damaged.
[[nodiscard]] std::vector<PageData> page_data_of(const Source& source);

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
  void verify(const Context& context, const ChunkSet& left_out = {}) const;
  void verify_sections(const Context& context) const;

 private:
  const Source& own_;
  std::vector<Source> ancestors_;
};

}  // namespace cryo
