// SPDX-License-Identifier: GPL-2.0-only
#include "restart/process/tree_lineage.h"

#include <algorithm>
#include <map>
#include <queue>
#include <set>
#include <utility>

namespace cryo {
namespace {

constexpr std::size_t kUnset = kNobody - 1;
// Looks at the whole job before it gives up.
constexpr std::size_t kMaxLooks = 4000;
constexpr std::size_t kMaxWork = 50'000'000;  // times its size
constexpr std::size_t kMaxKept = 4'000'000;   // the same, of what is to be looked at

using Births = std::vector<std::size_t>;

// The leader of a session is to be born in another one.
struct Change {
  std::size_t leader;
  std::size_t birth;
};

class LineageFinder {
 public:
  explicit LineageFinder(const std::vector<Kin>& kin);

  Lineage find();

 private:
  struct Order {
    std::vector<std::size_t> sequence;
    std::vector<std::vector<std::size_t>> before;  // in its block, by node
  };

  [[nodiscard]] bool leads(std::size_t node) const { return node >= kin_.size() || kin_[node].leads; }
  [[nodiscard]] std::size_t parent(std::size_t node) const {
    return node < kin_.size() ? kin_[node].parent : kNobody;
  }
  // The session that it is in in the end.
  [[nodiscard]] std::size_t last(std::size_t node) const { return leads(node) ? node : birth_[node]; }
  [[nodiscard]] bool descends(std::size_t node, std::size_t from) const;
  [[nodiscard]] bool is_above(std::size_t block, std::size_t other) const;
  [[nodiscard]] std::size_t in_block_of(std::size_t node, std::size_t child) const;
  void find_depths();
  void guess_births();
  void guess_leader(std::size_t leader);
  void guess_gone(std::size_t leader);
  [[nodiscard]] std::vector<Change> look();
  void suggest(std::size_t leader, std::size_t birth);
  [[nodiscard]] bool has_bad_parent();
  [[nodiscard]] bool has_bad_sharer();
  void find_order();
  [[nodiscard]] bool has_circle();
  void suggest_for_parent(std::size_t node);
  void suggest_for_circle(std::size_t node);
  [[nodiscard]] bool find_births();
  [[nodiscard]] bool is_line(const std::vector<std::size_t>& forker, std::size_t node,
                             std::size_t nearest) const;
  void find_forkers(std::vector<std::size_t>& forker) const;
  void make_line(std::vector<bool>& in_line, std::size_t node) const;

  const std::vector<Kin>& kin_;
  std::vector<pid_t> gone_;
  Births birth_;
  std::vector<std::vector<std::size_t>> children_;  // and whom else it forks
  std::vector<std::size_t> depth_;                  // below the first parents
  std::vector<std::size_t> downwards_;              // parents before their children
  Order order_;
  std::vector<Change> changes_;  // that may help
  std::optional<std::size_t> culprit_;
};

LineageFinder::LineageFinder(const std::vector<Kin>& kin) : kin_(kin), children_(kin.size()) {
  std::map<pid_t, std::size_t> leaders{{0, kNobody}};
  for (std::size_t i = 0; i < kin.size(); ++i)
    if (kin[i].leads) leaders.emplace(kin[i].session, i);
  birth_.resize(kin.size(), kUnset);
  for (std::size_t i = 0; i < kin.size(); ++i) {
    const auto [leader, gone] = leaders.emplace(kin[i].session, kin.size() + gone_.size());
    if (gone) gone_.push_back(kin[i].session);
    if (!kin[i].leads) birth_[i] = leader->second;
    if (kin[i].parent != kNobody) children_[kin[i].parent].push_back(i);
    if (kin[i].shares != kNobody && kin[i].shares != kin[i].parent) children_[kin[i].shares].push_back(i);
  }
  birth_.resize(kin.size() + gone_.size(), kNobody);
  find_depths();
}

void LineageFinder::find_depths() {
  depth_.resize(kin_.size());
  for (std::size_t i = 0; i < kin_.size(); ++i)
    if (kin_[i].parent == kNobody) downwards_.push_back(i);
  for (std::size_t at = 0; at < downwards_.size(); ++at)
    for (const std::size_t child : children_[downwards_[at]]) {
      if (kin_[child].parent != downwards_[at]) continue;
      depth_[child] = depth_[downwards_[at]] + 1;
      downwards_.push_back(child);
    }
}

// By parents.
bool LineageFinder::descends(std::size_t node, std::size_t from) const {
  while (depth_[node] > depth_[from]) node = parent(node);
  return node == from;
}

// Is it the same, or one of those that its leader was born in, and so on?
bool LineageFinder::is_above(std::size_t block, std::size_t other) const {
  while (other != block && other < birth_.size()) other = birth_[other];
  return other == block;
}

// The one that is born in the same session as `node` and has `child` among its descendants; or that itself.
std::size_t LineageFinder::in_block_of(std::size_t node, std::size_t child) const {
  while (birth_[child] != birth_[node]) child = birth_[child];
  return child;
}

// ---- in which session leaders are born --------------------------------------------------------

// A child that is in another session and has it from above has been forked before setsid().
void LineageFinder::guess_leader(std::size_t leader) {
  for (const std::size_t child : children_[leader]) {
    const std::size_t session = birth_[child];
    if (session == kUnset || session == leader || (session != kNobody && session >= kin_.size())) continue;
    if (session != kNobody && (descends(session, leader) || is_above(leader, session))) continue;
    birth_[leader] = session;
    return;
  }
}

// As far down as its members tell: below the last of the parents that are in another session.
void LineageFinder::guess_gone(std::size_t leader) {
  std::size_t lowest = kNobody;
  for (std::size_t i = 0; i < kin_.size(); ++i) {
    const std::size_t above = kin_[i].parent;
    if (birth_[i] != leader || above == kNobody || last(above) == leader) continue;
    if (lowest == kNobody ||
        std::pair(!leads(above), depth_[above]) > std::pair(!leads(lowest), depth_[lowest]))
      lowest = above;
  }
  const std::size_t birth = lowest == kNobody ? kNobody : last(lowest);
  birth_[leader] = is_above(leader, birth) ? kNobody : birth;
}

void LineageFinder::guess_births() {
  for (auto node = downwards_.rbegin(); node != downwards_.rend(); ++node)
    if (leads(*node)) guess_leader(*node);
  for (const std::size_t node : downwards_) {
    if (birth_[node] != kUnset) continue;
    const std::size_t from = kin_[node].shares != kNobody ? kin_[node].shares : kin_[node].parent;
    birth_[node] = from == kNobody ? kNobody : last(from);
    if (birth_[node] == kUnset || is_above(node, birth_[node])) birth_[node] = kNobody;
  }
  for (std::size_t node = kin_.size(); node < birth_.size(); ++node) guess_gone(node);
}

void LineageFinder::suggest(std::size_t leader, std::size_t birth) {
  if (leads(leader) && birth_[leader] != birth && !is_above(leader, birth))
    changes_.push_back({leader, birth});
}

// Either its block goes below that of its parent, or one that it is in does; or the parent was born in one of
// these.
void LineageFinder::suggest_for_parent(std::size_t node) {
  const std::size_t above = parent(node);
  std::vector<std::size_t> own;  // up to where both meet
  for (std::size_t block = birth_[node]; !is_above(block, birth_[above]); block = birth_[block])
    own.push_back(block);
  for (const std::size_t block : own)
    if (block >= kin_.size()) suggest(block, birth_[above]);
  for (auto block = own.rbegin(); block != own.rend(); ++block) suggest(*block, birth_[above]);
  for (const std::size_t block : own) suggest(above, block);
  for (std::size_t other = birth_[above]; !is_above(other, birth_[node]); other = birth_[other])
    for (const std::size_t block : own) suggest(other, block);
  suggest(above, birth_[node]);
}

bool LineageFinder::has_bad_parent() {
  for (const std::size_t node : downwards_) {
    if (parent(node) == kNobody || is_above(birth_[parent(node)], birth_[node])) continue;
    culprit_ = node;
    suggest_for_parent(node);
    return true;
  }
  return false;
}

bool LineageFinder::has_bad_sharer() {
  for (const std::size_t node : downwards_) {
    const std::size_t by = kin_[node].shares;
    if (by == kNobody || birth_[node] == birth_[by] || (leads(by) && birth_[node] == by)) continue;
    culprit_ = node;
    suggest(by, birth_[node]);
    suggest(node, birth_[by]);
    suggest(node, last(by));
    return true;
  }
  return false;
}

// Who has to come before whom in its block, and an order in which they do; too short if there is a circle.
void LineageFinder::find_order() {
  std::vector<std::vector<std::size_t>> after(birth_.size());
  order_ = {{}, std::vector<std::vector<std::size_t>>(birth_.size())};
  const auto add = [&](std::size_t first, std::size_t second) {
    std::vector<std::size_t>& before = order_.before[second];
    if (first == second || std::find(before.begin(), before.end(), first) != before.end()) return;
    after[first].push_back(second);
    before.push_back(first);
  };
  for (const std::size_t node : downwards_) {
    if (parent(node) != kNobody) add(parent(node), in_block_of(parent(node), node));
    const std::size_t by = kin_[node].shares;
    if (by != kNobody && birth_[by] == birth_[node]) add(by, node);
  }
  std::vector<std::size_t> missing(birth_.size());
  const auto key = [this](std::size_t node) {
    return std::pair(node < kin_.size() ? kin_[node].depth : 0, node);
  };
  std::priority_queue<std::pair<std::size_t, std::size_t>, std::vector<std::pair<std::size_t, std::size_t>>,
                      std::greater<>>
      ready;
  for (std::size_t node = 0; node < birth_.size(); ++node) {
    missing[node] = order_.before[node].size();
    if (missing[node] == 0) ready.push(key(node));
  }
  while (!ready.empty()) {
    const std::size_t node = ready.top().second;
    ready.pop();
    order_.sequence.push_back(node);
    for (const std::size_t next : after[node])
      if (--missing[next] == 0) ready.push(key(next));
  }
}

// A leader in it may have been born in the session of another one, or in that of a child.
void LineageFinder::suggest_for_circle(std::size_t node) {
  std::vector<bool> done(birth_.size());
  for (const std::size_t other : order_.sequence) done[other] = true;
  std::vector<std::size_t> way;
  while (std::find(way.begin(), way.end(), node) == way.end()) {
    way.push_back(node);
    const auto& before = order_.before[node];
    node = *std::find_if(before.begin(), before.end(), [&done](std::size_t other) { return !done[other]; });
  }
  way.erase(way.begin(), std::find(way.begin(), way.end(), node));
  for (const std::size_t one : way) {
    if (!leads(one)) continue;
    for (const std::size_t other : way)
      if (leads(other)) suggest(one, other);
    if (parent(one) != kNobody) suggest(one, last(parent(one)));
    if (one >= kin_.size()) continue;
    for (const std::size_t child : children_[one]) suggest(one, birth_[child]);
  }
}

bool LineageFinder::has_circle() {
  find_order();
  if (order_.sequence.size() == birth_.size()) return false;
  std::vector<bool> done(birth_.size());
  for (const std::size_t node : order_.sequence) done[node] = true;
  std::size_t node = 0;
  while (done[node]) ++node;
  culprit_ = std::min(node, kin_.size() - 1);
  suggest_for_circle(node);
  return true;
}

// What could help; none when all is well.
std::vector<Change> LineageFinder::look() {
  changes_.clear();
  culprit_.reset();
  if (!has_bad_sharer() && !has_bad_parent()) (void)has_circle();
  return std::move(changes_);
}

bool LineageFinder::find_births() {
  // Somebody descends from himself.
  if (downwards_.size() != kin_.size()) {
    for (culprit_ = 0; std::find(downwards_.begin(), downwards_.end(), *culprit_) != downwards_.end();)
      ++*culprit_;
    return false;
  }
  guess_births();
  std::size_t looks = std::min(kMaxLooks, kMaxWork / birth_.size() + 1);
  std::set<Births> known{birth_};
  std::vector<Births> next{birth_};
  std::optional<std::size_t> first_culprit;
  while (!next.empty() && looks-- > 0) {
    birth_ = std::move(next.back());
    next.pop_back();
    const std::vector<Change> changes = look();
    if (!culprit_) return true;
    if (!first_culprit) first_culprit = culprit_;
    for (auto change = changes.rbegin(); change != changes.rend(); ++change) {
      if (known.size() * birth_.size() > kMaxKept) break;
      Births changed = birth_;
      changed[change->leader] = change->birth;
      if (known.insert(changed).second) next.push_back(std::move(changed));
    }
  }
  culprit_ = first_culprit;
  return false;
}

// ---- who forks whom ---------------------------------------------------------------------------

// Are all that have to come before `node` above `nearest` anyway?
bool LineageFinder::is_line(const std::vector<std::size_t>& forker, std::size_t node,
                            std::size_t nearest) const {
  std::vector<std::size_t> left = order_.before[node];
  for (std::size_t one = nearest; one != kNobody && birth_[one] == birth_[node]; one = forker[one])
    std::erase(left, one);
  return left.empty();
}

// All that has to come before `node`.
void LineageFinder::make_line(std::vector<bool>& in_line, std::size_t node) const {
  std::vector<std::size_t> rest = order_.before[node];
  while (!rest.empty()) {
    const std::size_t one = rest.back();
    rest.pop_back();
    if (in_line[one]) continue;
    in_line[one] = true;
    rest.insert(rest.end(), order_.before[one].begin(), order_.before[one].end());
  }
}

// Who has to come before a process forks it: the last of them, with the others above.  Where these are not
// above each other by themselves, they are put into one line.
void LineageFinder::find_forkers(std::vector<std::size_t>& forker) const {
  std::vector<bool> in_line(birth_.size());
  std::vector<std::size_t> place(birth_.size());
  for (std::size_t i = 0; i < order_.sequence.size(); ++i) place[order_.sequence[i]] = i;
  forker = birth_;
  for (const std::size_t node : order_.sequence) {
    const auto& before = order_.before[node];
    if (before.empty()) continue;
    forker[node] = *std::max_element(before.begin(), before.end(),
                                     [&place](std::size_t a, std::size_t b) { return place[a] < place[b]; });
    if (!is_line(forker, node, forker[node])) make_line(in_line, node);
  }
  std::map<std::size_t, std::size_t> ends;  // of the line in each block
  for (const std::size_t node : order_.sequence) {
    if (!in_line[node]) continue;
    const auto [end, first] = ends.emplace(birth_[node], node);
    if (!first) forker[node] = std::exchange(end->second, node);
  }
}

Lineage LineageFinder::find() {
  Lineage lineage;
  if (!find_births()) {
    lineage.problem = culprit_;
    return lineage;
  }
  find_forkers(lineage.forker);
  for (std::size_t node = 0; node < kin_.size(); ++node)
    if (kin_[node].shares != kNobody && lineage.forker[node] != kin_[node].shares) lineage.problem = node;
  lineage.birth = birth_;
  lineage.gone = gone_;
  return lineage;
}

}  // namespace

Lineage find_lineage(const std::vector<Kin>& kin) {
  return LineageFinder(kin).find();
}

}  // namespace cryo
