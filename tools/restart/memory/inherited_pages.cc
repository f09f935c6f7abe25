// SPDX-License-Identifier: GPL-2.0-only
#include "restart/memory/inherited_pages.h"

#include <algorithm>
#include <queue>
#include <set>
#include <tuple>

#include "restart/common/restart_arch.h"
#include "restart/memory/mapped.h"
#include "stub_arch.h"

namespace cryo {
namespace {

constexpr std::uint32_t kNoArea = ~0U;
// Each is an area of every process until the stub runs, of which the kernel allows 65530 by default.
constexpr std::size_t kMaxAreas = 16384;
// Of the address space; all of it together.
constexpr std::uint64_t kMaxShare = 4;
// A large area that would come when it is used (mapped.h) is read for no less than one part in so many of it.
constexpr std::uint64_t kLeastPart = 16;

// ---- areas ------------------------------------------------------------------------------------

bool has_policy(const Mm& mm, const cryo_vma& vma) {
  return std::any_of(mm.mempolicies.begin(), mm.mempolicies.end(), [&](const cryo_mempolicy& policy) {
    return policy.start < vma.end && vma.start < policy.end;
  });
}

// Memory that a child inherits, and that may be read before it is where it belongs.  To lock it gives each
// process pages of its own; pages that have come already do not follow the policy of the area.
bool is_inheritable(const Context& context, const Mm& mm, const cryo_vma& vma) {
  constexpr std::uint64_t kOdd =
      CRYO_VMA_SHARED | CRYO_VMA_DROPPABLE | CRYO_VMA_SHADOW_STACK | CRYO_VMA_WIPEONFORK | CRYO_VMA_HUGETLB;
  if ((vma.flags & kOdd) != 0 || is_tagged(vma.flags)) return false;
  if ((vma.flags & CRYO_VMA_LOCKED) != 0 && (vma.flags & CRYO_VMA_LOCKONFAULT) == 0) return false;
  if (vma.kind != CRYO_VMA_ANON &&
      (vma.kind != CRYO_VMA_FILE || context.file(vma.file).head.kind == CRYO_FILE_URING))
    return false;
  return !has_policy(mm, vma);
}

struct AreaVma {
  std::uint32_t inode = 0;  // 0: anonymous
  std::uint64_t shift = 0;  // of addresses against offsets in it
  std::uint64_t flags = 0;
  AddressRange range{};  // before it was moved
  std::uint64_t moved = 0;
  std::uint32_t mm = 0;
  std::size_t vma = 0;  // index

  [[nodiscard]] auto kind() const { return std::tie(inode, shift, flags); }
};

// Of a memory and a VMA of it.
using VmaId = std::pair<std::uint32_t, std::size_t>;
using Moves = std::map<VmaId, std::uint64_t>;

// Finds out which VMAs have been moved since they were shared: by where others have the same bytes.
class MoveFinder {
 public:
  explicit MoveFinder(const Context& context) {
    for (const PageChunk& chunk : context.pages) {
      if (chunk.kind != CRYO_PAGES_MM) continue;
      for (const PagePiece& piece : pieces_of(context, context.mm(chunk.object), chunk))
        parts_.push_back({chunk.ancestor,
                          piece.offset,
                          piece.offset + piece.nr_pages * context.header.page_size,
                          piece.start - piece.offset,
                          {chunk.object, piece.vma}});
    }
    std::sort(parts_.begin(), parts_.end(), [](const Part& a, const Part& b) {
      return std::tie(a.ancestor, a.from, a.vma) < std::tie(b.ancestor, b.from, b.vma);
    });
  }

  // Those that have been moved; how far most of their pages are away from those of the first memory that has
  // them.
  [[nodiscard]] Moves find() {
    const Part* first = nullptr;
    for (const Part& part : parts_) {
      if (first != nullptr && first->ancestor == part.ancestor && part.from < first->to) {
        const std::uint64_t bytes = std::min(first->to, part.to) - part.from;
        votes_[first->vma][0] += bytes;
        votes_[part.vma][part.shift - first->shift] += bytes;
        if (part.to <= first->to) continue;
      }
      first = &part;
    }
    Moves moves;
    for (const auto& [vma, votes] : votes_) {
      const auto most = std::max_element(votes.begin(), votes.end(),
                                         [](const auto& a, const auto& b) { return a.second < b.second; });
      if (most->first != 0) moves.emplace(vma, most->first);
    }
    return moves;
  }

 private:
  struct Part {
    std::uint32_t ancestor;
    std::uint64_t from, to;  // in that file
    std::uint64_t shift;     // of addresses against offsets
    VmaId vma;
  };
  std::vector<Part> parts_;
  std::map<VmaId, std::map<std::uint64_t, std::uint64_t>> votes_;  // bytes, by distance
};

bool is_in_address_space(const AddressRange& range) {
  return range.start != 0 && range.start < range.end && range.end <= stub::address_end();
}

// Where one of them was there may be another one now, which is not the same area.
void drop_overlapping(std::vector<AreaVma>& vmas) {
  std::stable_sort(vmas.begin(), vmas.end(),
                   [](const AreaVma& a, const AreaVma& b) { return (a.moved != 0) < (b.moved != 0); });
  std::map<std::uint32_t, std::map<std::uint64_t, std::uint64_t>> taken;  // by mm: start and end
  std::erase_if(vmas, [&taken](const AreaVma& vma) {
    std::map<std::uint64_t, std::uint64_t>& of_mm = taken[vma.mm];
    const auto after = of_mm.lower_bound(vma.range.end);
    if (after != of_mm.begin() && std::prev(after)->second > vma.range.start) return true;
    of_mm.emplace(vma.range.start, vma.range.end);
    return false;
  });
}

std::vector<AreaVma> inheritable_vmas(const Context& context) {
  constexpr std::uint64_t kKind = CRYO_VMA_NORESERVE | CRYO_VMA_GROWSDOWN;
  const Moves moves = MoveFinder(context).find();
  std::vector<AreaVma> vmas;
  for (const auto& [id, mm] : context.mms)
    for (std::size_t i = 0; i < mm.vmas.size(); ++i) {
      const cryo_vma& vma = mm.vmas[i];
      if (!is_inheritable(context, mm, vma)) continue;
      const auto move = moves.find({id, i});
      AreaVma own{.flags = vma.flags & kKind, .mm = id, .vma = i};
      own.moved = move == moves.end() ? 0 : move->second;
      own.range = {vma.start - own.moved, vma.end - own.moved};
      if (!is_in_address_space(own.range)) continue;
      if (vma.kind == CRYO_VMA_FILE) {
        own.inode = context.file(vma.file).head.inode;
        own.shift = own.range.start - vma.offset;
      }
      vmas.push_back(own);
    }
  drop_overlapping(vmas);
  std::sort(vmas.begin(), vmas.end(), [](const AreaVma& a, const AreaVma& b) {
    return std::tuple_cat(a.kind(), std::tie(a.range.start, a.mm)) <
           std::tuple_cat(b.kind(), std::tie(b.range.start, b.mm));
  });
  return vmas;
}

// Part of a run that lies in one area.
struct Piece {
  std::uint32_t area;
  std::uint32_t ancestor;
  std::uint64_t shift;  // of addresses against offsets in that file
  AddressRange pages;
  std::uint32_t mm;

  [[nodiscard]] auto group() const { return std::tie(area, ancestor, shift); }
};

// Such a context need not be looked at any further.
bool has_nothing_in_common(const Context& context) {
  return context.mms.size() < 2 ||
         std::none_of(context.pages.begin(), context.pages.end(),
                      [](const PageChunk& chunk) { return chunk.copy || chunk.ancestor != 0; });
}

}  // namespace

// ---- who is forked by whom --------------------------------------------------------------------

Descent::Descent(const TreePlan& plan)
    : owner_(plan.nodes.size()),
      parent_(owner_.size(), kMaker),
      branch_(owner_.size()),
      depth_(owner_.size()) {
  for (std::size_t number = 0; number < plan.steps.size(); ++number) {
    const TreeStep& step = plan.steps[number];
    if (step.kind != TreeStep::Kind::kCreate) continue;
    const std::size_t node = step.subject;
    const std::size_t forker = owner_[step.actor];
    owner_[node] = plan.nodes[node].shares_memory ? forker : node;
    if (owner_[node] != node) continue;
    parent_[node] = forker;
    branch_[node] = number;
    depth_[node] = depth_[forker] + 1;
  }
}

std::size_t Descent::common_ancestor(std::size_t a, std::size_t b) const {
  while (depth_[a] > depth_[b]) a = parent_[a];
  while (depth_[b] > depth_[a]) b = parent_[b];
  while (a != b) {
    a = parent_[a];
    b = parent_[b];
  }
  return a;
}

std::size_t Descent::branch_to(std::size_t ancestor, std::size_t node) const {
  std::size_t step = kNever;
  for (; node != ancestor; node = parent_[node]) step = branch_[node];
  return step;
}

std::map<std::size_t, std::size_t> Descent::lineage_of(std::size_t node) const {
  std::map<std::size_t, std::size_t> lineage{{node, kNever}};
  for (; node != kMaker; node = parent_[node]) lineage.emplace(parent_[node], branch_[node]);
  return lineage;
}

// ---- what is in common ------------------------------------------------------------------------

class InheritedPagesBuilder {
 public:
  InheritedPagesBuilder(InheritedPages& result, const Context& context, const TreePlan& plan)
      : result_(result), context_(context) {
    result_.descent_ = Descent(plan);
    for (std::size_t node = 1; node < plan.nodes.size(); ++node) {
      const std::size_t process = plan.nodes[node].process;
      if (process != TreeNode::kHelper && !context.processes[process].threads.empty())
        result_.nodes_.emplace(context.processes[process].head.mm, result_.descent_.owner(node));
    }
  }

  void build() {
    find_areas();
    find_runs();
    keep_worthwhile();
    for (InheritedRun& run : result_.runs_) run.when = time_of(run.sharers);
    index();
  }

 private:
  void find_areas();
  void add_area(std::vector<AreaVma>::const_iterator first, std::vector<AreaVma>::const_iterator last);
  [[nodiscard]] std::vector<Piece> pieces();
  void find_runs();
  void add_runs(std::vector<Piece>::const_iterator first, std::vector<Piece>::const_iterator last);
  void add_run(const Piece& like, AddressRange pages, const std::set<std::uint32_t>& sharers);
  void keep_worthwhile();
  [[nodiscard]] std::vector<std::uint64_t> saved_by_area() const;
  [[nodiscard]] LoadTime time_of(std::uint32_t sharers);
  void index();

  InheritedPages& result_;
  const Context& context_;
  std::map<std::uint32_t, std::vector<InheritedPages::VmaInArea>> area_of_;  // by mm, then by VMA
  std::vector<std::map<std::uint32_t, std::uint64_t>> bytes_;                // by area, of each mm
  std::map<std::vector<std::uint32_t>, std::uint32_t> numbers_;              // of sets
  std::map<std::uint32_t, LoadTime> times_;                                  // by set
};

void InheritedPagesBuilder::find_areas() {
  const std::vector<AreaVma> vmas = inheritable_vmas(context_);
  for (const auto& [id, mm] : context_.mms) area_of_[id].assign(mm.vmas.size(), {0, kNoArea, 0});
  for (auto first = vmas.begin(); first != vmas.end();) {
    auto last = std::next(first);
    for (std::uint64_t end = first->range.end;
         last != vmas.end() && last->kind() == first->kind() && last->range.start < end; ++last)
      end = std::max(end, last->range.end);
    add_area(first, last);
    first = last;
  }
}

void InheritedPagesBuilder::add_area(std::vector<AreaVma>::const_iterator first,
                                     std::vector<AreaVma>::const_iterator last) {
  std::set<std::uint32_t> memories;
  for (auto vma = first; vma != last; ++vma)
    if (result_.nodes_.contains(vma->mm)) memories.insert(vma->mm);
  if (memories.size() < 2) return;
  InheritedArea area;
  area.range = first->range;
  area.offset = first->inode != 0 ? first->range.start - first->shift : 0;
  area.flags = first->flags;
  area.advice = CRYO_VMA_HUGEPAGE | CRYO_VMA_NOHUGEPAGE;
  area.memories.assign(memories.begin(), memories.end());
  for (auto own = first; own != last; ++own) {
    const Mm& mm = context_.mm(own->mm);
    const cryo_vma& vma = mm.vmas[own->vma];
    area.file = vma.file;
    area.range.end = std::max(area.range.end, own->range.end);
    area.advice &= vma.flags;
    area.thp_disabled |= mm.head.thp_disabled != 0;
    area_of_[own->mm][own->vma] = {own->vma, static_cast<std::uint32_t>(result_.areas_.size()), own->moved};
  }
  result_.areas_.push_back(std::move(area));
}

std::vector<Piece> InheritedPagesBuilder::pieces() {
  std::vector<Piece> pieces;
  bytes_.resize(result_.areas_.size());
  for (const PageChunk& chunk : context_.pages) {
    if (chunk.kind != CRYO_PAGES_MM) continue;
    const Mm& mm = context_.mm(chunk.object);
    const std::vector<InheritedPages::VmaInArea>& vmas = area_of_.at(mm.id);
    for (const PagePiece& piece : pieces_of(context_, mm, chunk)) {
      const auto& [vma, area, moved] = vmas[piece.vma];
      if (area == kNoArea || !result_.nodes_.contains(mm.id)) continue;
      const std::uint64_t bytes = piece.nr_pages * context_.header.page_size;
      const std::uint64_t start = piece.start - moved;
      bytes_[area][mm.id] += bytes;
      pieces.push_back({area, chunk.ancestor, start - piece.offset, {start, start + bytes}, mm.id});
    }
  }
  std::sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) {
    return std::tuple_cat(a.group(), std::tie(a.pages.start, a.mm)) <
           std::tuple_cat(b.group(), std::tie(b.pages.start, b.mm));
  });
  return pieces;
}

void InheritedPagesBuilder::find_runs() {
  const std::vector<Piece> all = pieces();
  for (auto first = all.begin(); first != all.end();) {
    const auto last = std::find_if(first, all.end(),
                                   [first](const Piece& piece) { return piece.group() != first->group(); });
    add_runs(first, last);
    first = last;
  }
}

// Of pieces in the order of their addresses, whose bytes are the same where the addresses are.
void InheritedPagesBuilder::add_runs(std::vector<Piece>::const_iterator first,
                                     std::vector<Piece>::const_iterator last) {
  using End = std::pair<std::uint64_t, std::uint32_t>;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends;
  std::set<std::uint32_t> sharers;
  std::uint64_t from = 0;
  for (auto next = first; next != last || !ends.empty();) {
    const std::uint64_t at = next == last   ? ends.top().first
                             : ends.empty() ? next->pages.start
                                            : std::min(next->pages.start, ends.top().first);
    if (sharers.size() >= 2 && from < at) add_run(*first, {from, at}, sharers);
    for (; !ends.empty() && ends.top().first == at; ends.pop()) sharers.erase(ends.top().second);
    for (; next != last && next->pages.start == at; ++next) {
      sharers.insert(next->mm);
      ends.emplace(next->pages.end, next->mm);
    }
    from = at;
  }
}

void InheritedPagesBuilder::add_run(const Piece& like, AddressRange pages,
                                    const std::set<std::uint32_t>& sharers) {
  const auto [known, is_new] = numbers_.try_emplace({sharers.begin(), sharers.end()},
                                                    static_cast<std::uint32_t>(result_.sharers_.size()));
  if (is_new) result_.sharers_.push_back(known->first);
  std::vector<InheritedRun>& runs = result_.runs_;
  const std::uint64_t offset = pages.start - like.shift;
  if (!runs.empty()) {
    InheritedRun& before = runs.back();
    if (before.area == like.area && before.ancestor == like.ancestor && before.sharers == known->second &&
        before.pages.end == pages.start && before.offset + before.pages.size() == offset) {
      before.pages.end = pages.end;
      return;
    }
  }
  runs.push_back({like.area, known->second, pages, like.ancestor, offset, {}});
}

// ---- what is worth it -------------------------------------------------------------------------

// Bytes of memory.
std::vector<std::uint64_t> InheritedPagesBuilder::saved_by_area() const {
  std::vector<std::uint64_t> saved(result_.areas_.size());
  for (const InheritedRun& run : result_.runs_)
    saved[run.area] += run.pages.size() * (result_.sharers_[run.sharers].size() - 1);
  return saved;
}

void InheritedPagesBuilder::keep_worthwhile() {
  const std::vector<std::uint64_t> saved = saved_by_area();
  std::vector<std::uint32_t> order;
  for (std::uint32_t area = 0; area < saved.size(); ++area) {
    std::uint64_t most = 0;
    for (const auto& [mm, bytes] : bytes_[area]) most = std::max(most, bytes);
    if (saved[area] != 0 && (most < kLeastMappedBytes || saved[area] >= most / kLeastPart))
      order.push_back(area);
  }
  std::sort(order.begin(), order.end(), [&saved](std::uint32_t a, std::uint32_t b) {
    return std::pair(saved[b], a) < std::pair(saved[a], b);
  });
  if (order.size() > kMaxAreas) order.resize(kMaxAreas);
  std::vector<bool> kept(saved.size());
  std::uint64_t room = stub::address_end() / kMaxShare;
  for (const std::uint32_t area : order) {
    if (result_.areas_[area].range.size() > room) continue;
    room -= result_.areas_[area].range.size();
    kept[area] = true;
  }
  std::erase_if(result_.runs_, [&kept](const InheritedRun& run) { return !kept[run.area]; });
}

// ---- who reads it, and when -------------------------------------------------------------------

LoadTime InheritedPagesBuilder::time_of(std::uint32_t sharers) {
  const auto [known, is_new] = times_.try_emplace(sharers);
  if (!is_new) return known->second;
  const std::vector<std::uint32_t>& mms = result_.sharers_[sharers];
  std::size_t node = result_.nodes_.at(mms.front());
  for (const std::uint32_t mm : mms) node = result_.descent_.common_ancestor(node, result_.nodes_.at(mm));
  std::size_t step = Descent::kNever;
  for (const std::uint32_t mm : mms)
    step = std::min(step, result_.descent_.branch_to(node, result_.nodes_.at(mm)));
  return known->second = {node, step};
}

void InheritedPagesBuilder::index() {
  std::vector<InheritedRun>& runs = result_.runs_;
  std::sort(runs.begin(), runs.end(), [](const InheritedRun& a, const InheritedRun& b) {
    return std::tie(a.area, a.pages.start, a.ancestor, a.offset) <
           std::tie(b.area, b.pages.start, b.ancestor, b.offset);
  });
  result_.first_.assign(result_.areas_.size() + 1, runs.size());
  for (std::size_t i = runs.size(); i-- > 0;) {
    result_.first_[runs[i].area] = i;
    result_.due_[runs[i].when].push_back(i);
  }
  for (std::size_t area = result_.areas_.size(); area-- > 0;)
    result_.first_[area] = std::min(result_.first_[area], result_.first_[area + 1]);
  for (auto& [when, due] : result_.due_)
    std::sort(due.begin(), due.end(), [&runs](std::size_t a, std::size_t b) {
      return std::tie(runs[a].ancestor, runs[a].offset) < std::tie(runs[b].ancestor, runs[b].offset);
    });
  for (const auto& [mm, node] : result_.nodes_)
    for (const InheritedPages::VmaInArea& own : area_of_.at(mm))
      if (own.area != kNoArea && result_.first_[own.area] != result_.first_[own.area + 1])
        result_.vmas_[mm].push_back(own);
}

InheritedPages::InheritedPages(const Context& context, const TreePlan& plan) {
  if (has_nothing_in_common(context)) return;
  InheritedPagesBuilder(*this, context, plan).build();
}

const std::vector<std::size_t>& InheritedPages::due(std::size_t node, std::size_t step) const {
  static const std::vector<std::size_t> kNone;
  if (runs_.empty()) return kNone;
  const auto due = due_.find({descent_.owner(node), step});
  return due == due_.end() ? kNone : due->second;
}

// ---- what a process gets ----------------------------------------------------------------------

namespace {

// Of an address, the last one that comes there.
class Painting {
 public:
  void paint(AddressRange range, std::size_t run) {
    auto after = parts_.lower_bound(range.start);
    if (after != parts_.begin()) {
      const auto before = std::prev(after);
      const Part part = before->second;
      if (part.end > range.start) {
        before->second.end = range.start;
        if (part.end > range.end) parts_.emplace(range.end, part);
      }
    }
    for (; after != parts_.end() && after->first < range.end; after = parts_.erase(after))
      if (after->second.end > range.end) parts_.emplace(range.end, after->second);
    parts_[range.start] = {range.end, run};
  }

  struct Part {
    std::uint64_t end = 0;
    std::size_t run = 0;
  };
  [[nodiscard]] const std::map<std::uint64_t, Part>& parts() const { return parts_; }

 private:
  std::map<std::uint64_t, Part> parts_;  // by start
};

// Where nothing has come in between, there may as well be one range more.
void add_range(std::vector<AddressRange>& ranges, AddressRange range, std::uint64_t from) {
  if (!ranges.empty() && ranges.back().end >= from)
    ranges.back().end = range.end;
  else
    ranges.push_back(range);
}

}  // namespace

InheritedVma InheritedPages::vma_of(const Mm& mm, const VmaInArea& vma, const Lineage& lineage) const {
  const AddressRange place{mm.vmas[vma.vma].start - vma.moved, mm.vmas[vma.vma].end - vma.moved};
  std::vector<std::size_t> got;
  for (std::size_t i = first_[vma.area]; i < first_[vma.area + 1] && runs_[i].pages.start < place.end; ++i) {
    const auto from = lineage.find(runs_[i].when.node);
    if (runs_[i].pages.overlaps(place) && from != lineage.end() && runs_[i].when.step <= from->second)
      got.push_back(i);
  }
  // In one step, in the order in which they are read.
  std::stable_sort(got.begin(), got.end(), [this](std::size_t a, std::size_t b) {
    return std::tie(runs_[a].when.step, runs_[a].ancestor, runs_[a].offset) <
           std::tie(runs_[b].when.step, runs_[b].ancestor, runs_[b].offset);
  });
  Painting painting;
  for (const std::size_t i : got) painting.paint(runs_[i].pages, i);
  InheritedVma own{vma.area, vma.moved, {}, {}, 0};
  std::uint64_t last = 0;  // end of the last page that is its own
  for (const auto& [start, part] : painting.parts()) {
    const AddressRange range{std::max(start, place.start) + vma.moved,
                             std::min(part.end, place.end) + vma.moved};
    const std::vector<std::uint32_t>& sharers = sharers_[runs_[part.run].sharers];
    if (range.start >= range.end) continue;
    if (std::binary_search(sharers.begin(), sharers.end(), mm.id)) {
      add_range(own.pages, range, range.start);
      last = range.end;
    } else {
      add_range(own.dropped, range, last);
    }
  }
  return own;
}

InheritedVmas InheritedPages::vmas_of(const Mm& mm) const {
  InheritedVmas vmas;
  const auto known = vmas_.find(mm.id);
  if (known == vmas_.end()) return vmas;
  const Lineage lineage = descent_.lineage_of(nodes_.at(mm.id));
  for (const VmaInArea& vma : known->second)
    if (InheritedVma own = vma_of(mm, vma, lineage); !own.pages.empty())
      vmas.emplace(vma.vma, std::move(own));
  return vmas;
}

}  // namespace cryo
