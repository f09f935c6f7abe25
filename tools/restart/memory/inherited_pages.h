// SPDX-License-Identifier: GPL-2.0-only
// Pages that several processes share since fork(2) come back as they came: one process reads them before it
// forks the others, which inherit them.  So they take their room once, and are each process's own as soon as
// it writes to them.
//
// Which pages that are, the context tells: processes share a page if they have it at one address and its
// bytes are at one place of one file.  It is read by the process from which all of them descend, right before
// that forks the first of them (or of their ancestors).  If the place had another page until then, for
// processes forked earlier, it gets this one in those that are forked from now on, as when the process wrote
// to it.
//
// Saved addresses are not free before the restart stub has cleared the address space.  So each area is made
// in a hole, and the stub moves what the process has of it to its place (inherited_memory.h); pages that are
// not its own it drops.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "context/model.h"
#include "restart/process/tree_plan.h"
#include "restart/stub/address_space.h"

namespace cryo {

// VMAs of several memories that overlap, or did so until one was moved, and would be one after a fork().
struct InheritedArea {
  AddressRange range;                   // of all of them, at the addresses that they had before any was moved
  std::uint32_t file = 0;               // what is mapped there, privately; 0: anonymous memory
  std::uint64_t offset = 0;             // in it
  std::uint64_t flags = 0;              // CRYO_VMA_NORESERVE, CRYO_VMA_GROWSDOWN
  std::uint64_t advice = 0;             // CRYO_VMA_HUGEPAGE, CRYO_VMA_NOHUGEPAGE: where all have it
  bool thp_disabled = false;            // in one of the memories at least
  std::vector<std::uint32_t> memories;  // ids of the mms, ascending
};

// Before which fork something is read.
struct LoadTime {
  std::size_t node = kMaker;  // the process that forks
  std::size_t step = 0;       // in which step of the tree plan

  friend auto operator<=>(const LoadTime&, const LoadTime&) = default;
};

// Consecutive pages with consecutive bytes, of the same processes.
struct InheritedRun {
  std::uint32_t area = 0;
  std::uint32_t sharers = 0;  // number of the set of memories
  AddressRange pages;
  std::uint32_t ancestor = 0;  // as of PageChunk
  std::uint64_t offset = 0;    // in that file
  LoadTime when;
};

// Of one VMA.
struct InheritedVma {
  std::uint32_t area = 0;
  std::uint64_t moved = 0;            // how far it is from its place in the area (mremap(2))
  std::vector<AddressRange> pages;    // that the process has got; ascending
  std::vector<AddressRange> dropped;  // what it may have got there that is not its own; ascending
  std::uint64_t place = 0;            // where it is before the stub moves it (InheritedMemory)
};

// By index of the VMA; those that inherit anything.
using InheritedVmas = std::map<std::size_t, InheritedVma>;

// Who is forked by whom.  Processes that share memory count as one: the one that has forked the others, their
// owner.
class Descent {
 public:
  Descent() = default;
  explicit Descent(const TreePlan& plan);

  [[nodiscard]] std::size_t owner(std::size_t node) const { return owner_[node]; }
  // Of owners, as the rest.
  [[nodiscard]] std::size_t common_ancestor(std::size_t a, std::size_t b) const;
  // The step in which `ancestor` forks `node`, or one from which it descends; kNever: they are the same.
  [[nodiscard]] std::size_t branch_to(std::size_t ancestor, std::size_t node) const;
  // By node from which it descends: up to which step it gets what that has read.
  [[nodiscard]] std::map<std::size_t, std::size_t> lineage_of(std::size_t node) const;

  static constexpr std::size_t kNever = ~std::size_t{0};

 private:
  std::vector<std::size_t> owner_;   // by node, as the others
  std::vector<std::size_t> parent_;  // of owners
  std::vector<std::size_t> branch_;  // the step in which that forks them
  std::vector<std::size_t> depth_;
};

class InheritedPages {
 public:
  InheritedPages() = default;  // none
  InheritedPages(const Context& context, const TreePlan& plan);

  [[nodiscard]] const std::vector<InheritedArea>& areas() const { return areas_; }
  [[nodiscard]] const std::vector<InheritedRun>& runs() const { return runs_; }
  // Numbers of the runs to be read by `node`, or by one that shares its memory, before a step in which it
  // forks.
  [[nodiscard]] const std::vector<std::size_t>& due(std::size_t node, std::size_t step) const;
  [[nodiscard]] InheritedVmas vmas_of(const Mm& mm) const;

 private:
  friend class InheritedPagesBuilder;

  using Lineage = std::map<std::size_t, std::size_t>;

  struct VmaInArea {
    std::size_t vma;  // index
    std::uint32_t area;
    std::uint64_t moved;
  };

  [[nodiscard]] InheritedVma vma_of(const Mm& mm, const VmaInArea& own, const Lineage& lineage) const;

  Descent descent_;
  std::vector<InheritedArea> areas_;
  std::vector<InheritedRun> runs_;                        // by area, then by address
  std::vector<std::size_t> first_;                        // by area: its first run; and the end
  std::vector<std::vector<std::uint32_t>> sharers_;       // sets of mms, ascending
  std::map<LoadTime, std::vector<std::size_t>> due_;      // by time, in the order of the bytes
  std::map<std::uint32_t, std::size_t> nodes_;            // by mm: the owner that has it
  std::map<std::uint32_t, std::vector<VmaInArea>> vmas_;  // by mm
};

}  // namespace cryo
