// SPDX-License-Identifier: GPL-2.0-only
// Makes an incremental context of a full one that comes as a stream: pages that its parent has, or one of
// those that the parent needs, are named instead.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "context/model.h"
#include "context/writer.h"
#include "cr_checkpoint/page_table.h"
#include "cr_checkpoint/parent.h"

namespace cryo {

class Delta {
 public:
  // Fills the buffer as far as there are data, 0: the end.
  using Input = std::function<std::size_t(std::span<std::byte>)>;

  // `files`: those of the parent, as the new context will call them.
  Delta(const Parent& parent, const std::vector<Ancestor>& files, Input input, ContextWriter::Sink sink);

  // To the end of the input.  Throws Error.
  void run();

  [[nodiscard]] std::uint64_t own_pages() const { return own_pages_; }
  [[nodiscard]] std::uint64_t elsewhere_pages() const { return elsewhere_pages_; }
  // Of what was written; once it has ended.
  [[nodiscard]] std::uint64_t written() const { return writer_->written(); }
  [[nodiscard]] Hash identity() const { return writer_->identity(); }

 private:
  // Pages of one owner that are written together.
  struct Own {
    std::vector<cryo_page_run> runs;
    Bytes data;
    std::vector<std::uint64_t> from;  // where each was in the input
  };
  struct Elsewhere {
    std::vector<cryo_elsewhere_run> runs;
    std::vector<Hash> hashes;  // of all of them, or of none
    std::uint64_t pages = 0;
  };
  // Pages of the input that PAGE_COPIES may name, and where they are now.
  struct Moved {
    std::uint64_t from;
    std::uint64_t nr_pages;
    std::uint64_t offset;
    std::uint32_t ancestor;  // 0: in this context
    std::size_t first_hash;  // or kNoHash
  };
  static constexpr std::size_t kNoHash = ~std::size_t{0};

  void read_exactly(std::span<std::byte> to);
  [[nodiscard]] Bytes read_bytes(std::uint64_t length);
  [[nodiscard]] cryo_section read_section();
  void begin();
  bool take_section();
  void take_pages(const cryo_section& head, const Bytes& payload);
  void take_page(std::uint64_t address, std::uint64_t from, std::span<const std::byte> bytes);
  void take_unchanged(const cryo_section& head, const Bytes& payload);
  void take_stretch(const PageStretch& stretch);
  bool take_same(std::uint64_t address, std::uint64_t from, std::span<const std::byte> bytes);
  void take_copies(const cryo_section& head, const Bytes& payload);
  void take_copy(std::uint64_t address, std::uint64_t from, std::vector<cryo_page_copy>& copies);
  void change_owner(std::uint32_t kind, std::uint32_t object);
  std::uint32_t number_of(std::uint32_t file);
  void add_own(std::uint64_t address, std::uint64_t from, std::span<const std::byte> bytes);
  void add_elsewhere(std::uint64_t address, std::uint32_t ancestor, std::uint64_t offset, const Hash& hash);
  void add_unhashed(std::uint64_t address, std::uint32_t ancestor, std::uint64_t offset, std::uint64_t pages);
  void add_run(Elsewhere& to, cryo_elsewhere_run run);
  void remember(std::vector<Moved>& list, const Moved& page) const;
  [[nodiscard]] const Moved* find(const std::vector<Moved>& list, std::uint64_t from) const;
  void flush_own();
  void flush_elsewhere();
  void flush(Elsewhere& list);
  void put_ancestors();

  const Parent& parent_;
  const std::vector<Ancestor>& files_;
  std::uint64_t page_;
  Input input_;
  ContextWriter::Sink sink_;
  std::optional<ContextWriter> writer_;
  std::uint64_t position_ = 0;  // in the input
  PageOwners owners_;
  std::uint32_t kind_ = CRYO_PAGES_MM;
  std::uint32_t object_ = 0;
  PageOwner owner_;
  Own own_;
  Elsewhere elsewhere_, unhashed_;
  std::map<std::uint32_t, std::uint32_t>
      known_mms_;        // whose changes the module knows: their numbers in the parent
  Bytes old_;            // a page of the parent
  bool copies_ = false;  // there may be PAGE_COPIES
  std::vector<Moved> moved_own_, moved_elsewhere_;  // ascending
  std::vector<Hash> moved_hashes_;
  std::vector<std::uint32_t> used_;  // files, in the order of their numbers in the new context
  std::uint64_t own_pages_ = 0;
  std::uint64_t elsewhere_pages_ = 0;
};

}  // namespace cryo
