// SPDX-License-Identifier: GPL-2.0-only
#include "restart/process/tree_plan.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "restart/common/findings.h"
#include "restart/common/id_holder.h"
#include "restart/ns/pid_namespaces.h"
#include "restart/ns/reach.h"
#include "restart/process/tree_lineage.h"

namespace cryo {
namespace {

using Kind = TreeStep::Kind;

// The session, or the process group, that cr_restart runs in.
constexpr pid_t kOuter = 0;
constexpr int kMaxTries = 10;                // to have processes that share memory forked by one another
constexpr std::size_t kMaxBirths = 1000000;  // to look at: a context can ask for more

cryo_shared_memory in_common(const cryo_shared_memory& a, const cryo_shared_memory& b) {
  return {a.mm == b.mm ? a.mm : 0, a.sighand == b.sighand ? a.sighand : 0};
}

class TreePlanner {
 public:
  TreePlanner(const Context& context, const RestartOptions& options, RootGroup group)
      : context_(context),
        options_(options),
        root_(root_process(context)),
        root_group_(group),
        kin_(context.processes.size()) {
    if (group == RootGroup::kThere) groups_.insert(head(root_).pgid);
  }

  TreePlan plan();

 private:
  // Who forks for whom, before it starts a session of its own or after that, and in how many steps it has
  // entered its namespaces by then; with which memory in common.
  using HelperKey = std::tuple<std::size_t, std::size_t, bool, std::size_t, std::int32_t>;

  [[nodiscard]] const cryo_process& head(std::size_t process) const {
    return context_.processes[process].head;
  }
  [[nodiscard]] bool is_process(std::size_t member) const { return member < kin_.size(); }
  [[nodiscard]] std::uint32_t pid_namespace(std::size_t process) const {
    return context_.processes[process].namespaces.pid;
  }
  [[nodiscard]] std::size_t depth_of_namespace(std::uint32_t ns) const;
  [[nodiscard]] bool sees(std::size_t process, pid_t id) const {
    return number_in(context_, pid_namespace(process), id) != 0;
  }
  [[nodiscard]] bool leads_session(std::size_t process) const;
  [[nodiscard]] pid_t session_of(std::size_t process) const;
  [[nodiscard]] pid_t group_of(std::size_t process) const;
  [[nodiscard]] std::size_t sharer(std::size_t process) const;
  [[nodiscard]] bool share(std::size_t a, std::size_t b, std::int32_t cryo_shared_memory::*what) const;
  void find_kin();
  void find_lineage_of_job();
  void find_memories();
  void find_whole_parents();
  void find_early_groups();
  void tell_problem(std::size_t process);
  void find_late_entries();
  [[nodiscard]] bool enters(std::size_t member) const {
    return is_process(member) && !context_.processes[member].threads.empty();
  }
  bool can_be_born(std::size_t member, const cryo_namespaces& from);
  [[nodiscard]] cryo_namespaces born_from(std::size_t member, const cryo_namespaces& from) const;
  [[nodiscard]] std::optional<cryo_namespaces> halfway(std::size_t process,
                                                       const cryo_namespaces& from) const;
  void find_turns(std::size_t process);
  void check_forker(std::size_t process, std::size_t by);
  void enter_halfway(std::size_t process);
  void enter_namespaces(std::size_t process);

  std::size_t add_node(TreeNode node);
  void step(Kind kind, std::size_t actor, std::size_t subject = 0, pid_t id = 0) {
    plan_.steps.push_back({kind, actor, subject, id});
  }
  void enter_group(std::size_t process, std::size_t actor);
  std::size_t add_child(std::size_t by, TreeNode node, const cryo_shared_memory& memory);
  std::size_t helper_for(std::size_t process);
  [[nodiscard]] bool may_be_sibling(std::size_t process, std::size_t forker) const;
  TreeNode place_process(std::size_t process);
  void check_time_of_sharers(std::size_t process);
  void create(std::size_t member);
  void create_gone(std::size_t member);
  void create_process(std::size_t process);
  // When who enters its namespaces after some forks forks a child.
  enum Turn : std::uint8_t { kBefore, kHalfway, kAfter };
  void create_children(std::size_t member, bool late);
  void check_sharing();
  void check_made_once(std::int32_t cryo_shared_memory::*what, bool TreeNode::*by_creator, const char* name);
  void plan_group_leaders();
  void plan_gone_group(pid_t group);
  void plan_groups();
  void plan_adoption(std::size_t helper);
  void plan_ends();

  const Context& context_;
  const RestartOptions& options_;
  const std::size_t root_;
  const RootGroup root_group_;
  TreePlan plan_;
  std::map<pid_t, std::size_t> index_;  // pid: process
  std::vector<Kin> kin_;
  Lineage lineage_;
  std::vector<std::vector<std::size_t>> forked_;  // by each member of the lineage
  std::vector<cryo_shared_memory> memory_;        // of each member
  std::vector<bool> no_sibling_;                  // its forker is the parent of somebody below it
  std::vector<bool> fits_;                        // can be forked from the namespaces of who forks it
  std::size_t births_ = 0;                        // by can_be_born()
  std::vector<Turn> turn_;                        // of each member
  std::set<std::size_t> half_entered_;            // have been there
  std::set<std::size_t> entered_;                 // are in their namespaces
  std::set<std::size_t> early_;                   // in their group before they fork
  std::vector<std::size_t> node_;                 // of each member; kNobody: not yet
  std::vector<pid_t> group_;                      // by node: where it is so far
  std::vector<cryo_shared_memory> node_memory_;
  std::vector<cryo_namespaces> in_;             // by node: where it is so far
  std::map<HelperKey, std::size_t> between_;    // helpers
  std::map<std::size_t, std::size_t> adopter_;  // by helper: the member that gets its children; or kNobody
  std::set<pid_t> groups_;                      // that there are
  std::set<std::size_t> movers_;                // have the number of another group than their own
  std::size_t subreaper_ = kNobody;             // at the moment
};

std::size_t TreePlanner::depth_of_namespace(std::uint32_t ns) const {
  std::size_t depth = 0;
  for (auto at = context_.namespaces.find(ns); at != context_.namespaces.end();
       at = context_.namespaces.find(at->second.head.parent))
    ++depth;
  return depth;
}

bool TreePlanner::leads_session(std::size_t process) const {
  const cryo_process& process_head = head(process);
  return process_head.sid == process_head.pid && (process != root_ || options_.restore_sid ||
                                                  has_own_terminal(context_, context_.processes[process]));
}

// The session that the job was started in is cr_restart's now, and so is that which its root led,
// unless that is to be restored.
pid_t TreePlanner::session_of(std::size_t process) const {
  const pid_t sid = head(process).sid;
  const auto leader = index_.find(sid);
  if (leader != index_.end()) return leads_session(leader->second) ? sid : kOuter;
  return sid == head(root_).sid ? kOuter : sid;
}

// The same for process groups.
pid_t TreePlanner::group_of(std::size_t process) const {
  const pid_t group = head(process).pgid;
  const bool of_job = group == head(root_).pgid && session_of(root_) == kOuter;
  const bool restored = options_.restore_pgid && root_group_ != RootGroup::kOwn;
  return of_job && session_of(process) == kOuter && !restored ? kOuter : group;
}

bool TreePlanner::share(std::size_t a, std::size_t b, std::int32_t cryo_shared_memory::*what) const {
  const std::int32_t name = context_.processes[a].shared_memory.*what;
  return name != 0 && context_.processes[b].shared_memory.*what == name;
}

// The one that has to fork it: its parent, or an elder; of several, one in its session. Who shares the
// handlers shares the memory, too.
std::size_t TreePlanner::sharer(std::size_t process) const {
  const std::size_t parent = kin_[process].parent;
  for (const auto what : {&cryo_shared_memory::sighand, &cryo_shared_memory::mm}) {
    if (context_.processes[process].shared_memory.*what == 0) continue;
    std::vector<std::size_t> found;
    if (parent != kNobody && share(process, parent, what)) found.push_back(parent);
    for (std::size_t other = 0; other < process; ++other)
      if (share(process, other, what) && kin_[other].parent == parent) found.push_back(other);
    if (found.empty()) continue;
    const auto alike = std::find_if(found.begin(), found.end(), [&](std::size_t other) {
      return kin_[other].session == kin_[process].session;
    });
    return alike == found.end() ? found.front() : *alike;
  }
  return kNobody;
}

void TreePlanner::find_kin() {
  for (std::size_t i = 0; i < kin_.size(); ++i) index_.emplace(head(i).pid, i);
  for (std::size_t i = 0; i < kin_.size(); ++i) {
    const auto parent = index_.find(head(i).ppid);
    if (parent != index_.end()) kin_[i].parent = parent->second;
    kin_[i].session = session_of(i);
    kin_[i].leads = leads_session(i);
    kin_[i].depth = depth_of_namespace(pid_namespace(i));
  }
  for (std::size_t i = 0; i < kin_.size(); ++i) kin_[i].shares = sharer(i);
}

// Who is to be adopted by one that is above its forker has to find that on its way up.
void TreePlanner::find_whole_parents() {
  no_sibling_.resize(forked_.size());
  for (std::size_t i = 0; i < kin_.size(); ++i) {
    std::size_t at = lineage_.forker[i];
    if (at == kin_[i].parent) continue;
    while (at != kNobody && lineage_.forker[at] != kin_[i].parent) at = lineage_.forker[at];
    if (at != kNobody) no_sibling_[at] = true;
  }
}

// A leader that is gone had the memory of what is below it, if that is also above it.
void TreePlanner::find_memories() {
  memory_.resize(forked_.size());
  for (std::size_t i = 0; i < kin_.size(); ++i) memory_[i] = context_.processes[i].shared_memory;
  for (std::size_t i = 0; i < kin_.size(); ++i) {
    std::size_t at = lineage_.forker[i];
    while (at != kNobody && !is_process(at)) at = lineage_.forker[at];
    if (at == kNobody || !share(at, i, &cryo_shared_memory::mm)) continue;
    const std::int32_t handlers = share(at, i, &cryo_shared_memory::sighand) ? memory_[i].sighand : 0;
    for (at = lineage_.forker[i]; !is_process(at) && memory_[at].mm == 0; at = lineage_.forker[at])
      memory_[at] = {memory_[i].mm, handlers};
  }
}

// From a pid namespace of its own a process may not see a group outside: it has to be born in it.
void TreePlanner::find_early_groups() {
  for (std::size_t i = 0; i < kin_.size(); ++i) {
    const pid_t group = leads_session(i) ? kOuter : group_of(i);
    if (group == kOuter || sees(i, group)) continue;
    std::size_t at = lineage_.forker[i];
    while (at != kNobody &&
           !(is_process(at) && !leads_session(at) && group_of(at) == group && sees(at, group)))
      at = lineage_.forker[at];
    if (at != kNobody) early_.insert(at);
  }
}

std::size_t TreePlanner::add_node(TreeNode node) {
  if (!options_.restore_pid) node.pid = 0;
  plan_.nodes.push_back(node);
  group_.push_back(kOuter);
  node_memory_.push_back({});
  in_.push_back({});
  return plan_.nodes.size() - 1;
}

// Forked by `by`.
std::size_t TreePlanner::add_child(std::size_t by, TreeNode node, const cryo_shared_memory& memory) {
  const cryo_shared_memory common = in_common(node_memory_[by], memory);
  node.shares_memory = common.mm != 0;
  node.shares_handlers = common.sighand != 0;
  const std::size_t child = add_node(node);
  node_memory_[child] = memory;
  group_[child] = group_[by];
  in_[child] = node.process == TreeNode::kHelper ? at_birth(in_[by]) : born_from(node.process, in_[by]);
  step(Kind::kCreate, by, child);
  return child;
}

// All that goes from one forker to one parent has one helper, but for what is to share memory with that
// forker.
std::size_t TreePlanner::helper_for(std::size_t process) {
  const std::size_t forker = lineage_.forker[process], parent = kin_[process].parent;
  const std::size_t by = forker == kNobody ? kMaker : node_[forker];
  // The leader that is gone is a helper itself.
  if (forker != kNobody && !is_process(forker) && adopter_.emplace(by, parent).first->second == parent)
    return by;
  const bool late = forker != kNobody && lineage_.birth[process] == forker;
  const cryo_shared_memory common = in_common(node_memory_[by], context_.processes[process].shared_memory);
  const std::size_t entered = entered_.count(forker) + half_entered_.count(forker);
  const HelperKey key{by, parent, late, entered, common.mm};
  const auto known = between_.find(key);
  if (known != between_.end()) return known->second;
  const std::size_t helper = add_child(by, {.parent = by}, common);
  between_.emplace(key, helper);
  adopter_.emplace(helper, parent);
  return helper;
}

// The first process of a pid namespace cannot have siblings there, nor be forked as one by who is in another
// user namespace.
bool TreePlanner::may_be_sibling(std::size_t process, std::size_t forker) const {
  const std::size_t parent = kin_[process].parent;
  if (no_sibling_[process]) return false;
  if (!is_process(forker)) return lineage_.forker[forker] == parent && parent != kNobody;
  return kin_[forker].parent == parent && pid_namespace(process) == pid_namespace(forker) &&
         pid_namespace(forker) == (parent == kNobody ? 0 : pid_namespace(parent));
}

TreeNode TreePlanner::place_process(std::size_t process) {
  const std::size_t forker = lineage_.forker[process], parent = kin_[process].parent;
  TreeNode node{.pid = head(process).pid, .process = process, .exit_signal = head(process).exit_signal};
  if (forker == parent) {
    node.parent = parent == kNobody ? kMaker : node_[parent];
    node.sibling = parent == kNobody;
    if (node.sibling) node.exit_signal = SIGCHLD;
  } else if (forker != kNobody && may_be_sibling(process, forker)) {
    node.parent = plan_.nodes[node_[forker]].parent;
    node.sibling = true;
    node.exit_signal = plan_.nodes[node_[forker]].exit_signal;
  } else {
    node.parent = helper_for(process);
  }
  return node;
}

// ---- namespaces -------------------------------------------------------------------------------

// Can `member` be forked by who is in `from`, and all whom it forks by it?  Who has exited, or is gone, stays
// where it is forked.
bool TreePlanner::can_be_born(std::size_t member, const cryo_namespaces& from) {
  if (++births_ > kMaxBirths) return false;
  const bool moves = enters(member);
  if (moves && !can_be_forked(context_, from, context_.processes[member].namespaces)) return false;
  const cryo_namespaces born = born_from(member, from);
  std::optional<cryo_namespaces> between;
  bool asked = !moves;
  return std::all_of(forked_[member].begin(), forked_[member].end(), [&](std::size_t child) {
    if ((moves && fits_[child]) || can_be_born(child, born)) return true;
    if (!std::exchange(asked, true)) between = halfway(member, born);
    return between && can_be_born(child, *between);
  });
}

// Where `member` begins that is forked by who is in `from`.  A pid namespace is made by who is in the user
// namespace that owns it.
cryo_namespaces TreePlanner::born_from(std::size_t member, const cryo_namespaces& from) const {
  cryo_namespaces born = at_birth(from);
  if (!is_process(member) || pid_namespace(member) == from.pid || context_.namespaces.empty()) return born;
  const std::uint32_t owner = owner_of(context_, pid_namespace(member));
  if (owner != from.user)
    born = down_to(context_, born, enters(member) ? context_.processes[member].namespaces : born, owner);
  born.pid = pid_namespace(member);
  return born;
}

// A time namespace for children is to be had only from who makes it, and who is not yet where it is now then:
// what its children have that are forked in between, it has from the user namespaces above that one's owner.
std::optional<cryo_namespaces> TreePlanner::halfway(std::size_t process, const cryo_namespaces& from) const {
  const cryo_namespaces& own = context_.processes[process].namespaces;
  if (own.time_for_children == own.time || own.time_for_children == from.time_for_children) return {};
  const std::uint32_t user = owner_of(context_, own.time_for_children);
  cryo_namespaces there = from;
  for (const std::size_t child : forked_[process])
    if (enters(child) && context_.processes[child].namespaces.time == own.time_for_children &&
        is_below(context_, context_.processes[child].namespaces.user, user))
      there = down_to(context_, there, context_.processes[child].namespaces, user);
  there.user = user;
  there.time = own.time;
  there.time_for_children = own.time_for_children;
  if (out_of_reach(context_, from, there) || out_of_reach(context_, there, own)) return {};
  return there;
}

// Who has entered others after it had forked somebody does so once more.  Those forked last first: what fits
// is not looked at again.
void TreePlanner::find_late_entries() {
  fits_.assign(forked_.size(), true);
  turn_.assign(forked_.size(), kAfter);
  if (context_.namespaces.empty()) return;
  std::vector<std::size_t> downwards;
  for (std::size_t member = 0; member < forked_.size(); ++member)
    if (lineage_.forker[member] == kNobody) downwards.push_back(member);
  for (std::size_t at = 0; at < downwards.size(); ++at)
    for (const std::size_t child : forked_[downwards[at]]) downwards.push_back(child);
  for (auto member = downwards.rbegin(); member != downwards.rend(); ++member) {
    const std::size_t by = lineage_.forker[*member];
    if (by != kNobody && enters(by)) fits_[*member] = can_be_born(*member, context_.processes[by].namespaces);
  }
}

void TreePlanner::check_forker(std::size_t process, std::size_t by) {
  const cryo_namespaces& wanted = context_.processes[process].namespaces;
  std::size_t above = lineage_.forker[process];
  while (above != kNobody && !is_process(above)) above = lineage_.forker[above];
  if (above == kNobody || context_.processes[process].threads.empty() ||
      can_be_forked(context_, in_[by], wanted))
    return;
  plan_.problems.push_back(
      fmt::format("pid {}: pid {}, which has to fork it, is in other namespaces before and after that",
                  head(process).pid, head(above).pid));
}

// Before it has forked any.
void TreePlanner::find_turns(std::size_t process) {
  for (const std::size_t child : forked_[process])
    if (!fits_[child]) turn_[child] = can_be_born(child, in_[node_[process]]) ? kBefore : kHalfway;
}

void TreePlanner::enter_halfway(std::size_t process) {
  const std::size_t node = node_[process];
  half_entered_.insert(process);
  const auto there = halfway(process, in_[node]);
  if (!there) return;
  check_time_of_sharers(process);
  plan_.nodes[node].halfway = in_[node] = *there;
  step(Kind::kHalfway, node);
}

void TreePlanner::enter_namespaces(std::size_t process) {
  const std::size_t node = node_[process];
  entered_.insert(process);
  if (!enters(process)) return;
  if (plan_.nodes[node].enters_late) {
    check_time_of_sharers(process);
    step(Kind::kEnter, node);
  }
  in_[node] = context_.processes[process].namespaces;
}

// setns(2): only who shares its memory with no other process enters a time namespace.
void TreePlanner::check_time_of_sharers(std::size_t process) {
  const Process& saved = context_.processes[process];
  if (in_[node_[process]].time == saved.namespaces.time) return;
  for (const std::size_t child : forked_[process])
    if (turn_[child] == kBefore && is_process(child) &&
        in_common(saved.shared_memory, context_.processes[child].shared_memory).mm != 0)
      plan_.problems.push_back(
          fmt::format("pid {}: cannot enter its time namespace after it has forked pid {}, which shares its "
                      "memory",
                      saved.head.pid, head(child).pid));
}

void TreePlanner::create_process(std::size_t process) {
  const std::size_t forker = lineage_.forker[process];
  TreeNode wanted = place_process(process);
  const std::size_t by = wanted.sibling && forker != kNobody ? node_[forker] : wanted.parent;
  check_forker(process, by);
  wanted.enters_late = std::any_of(forked_[process].begin(), forked_[process].end(),
                                   [this](std::size_t child) { return !fits_[child]; });
  const std::size_t node = add_child(by, wanted, context_.processes[process].shared_memory);
  node_[process] = node;
  find_turns(process);
  if (!wanted.enters_late) enter_namespaces(process);
  if (early_.contains(process) &&
      (group_of(process) == head(process).pid || groups_.contains(group_of(process))))
    enter_group(process, node);
  create_children(process, false);
  if (!leads_session(process)) return;
  step(Kind::kSession, node);
  group_[node] = head(process).pid;
  groups_.insert(head(process).pid);
  create_children(process, true);
}

// A session whose leader is gone.  Its children are told of it as they were of that.
void TreePlanner::create_gone(std::size_t member) {
  const std::size_t forker = lineage_.forker[member];
  const pid_t session = lineage_.gone[member - kin_.size()];
  const std::size_t by = forker == kNobody ? kMaker : node_[forker];
  TreeNode wanted{.pid = session, .parent = by, .exit_signal = SIGCHLD};
  for (const std::size_t child : forked_[member])
    if (may_be_sibling(child, member)) wanted.exit_signal = head(child).exit_signal;
  const std::size_t node = add_child(by, wanted, memory_[member]);
  node_[member] = node;
  step(Kind::kSession, node);
  group_[node] = session;
  groups_.insert(session);
  create_children(member, true);
}

void TreePlanner::create(std::size_t member) {
  if (is_process(member))
    create_process(member);
  else
    create_gone(member);
}

// Of who enters its namespaces between them, those first that cannot come into being from there.
void TreePlanner::create_children(std::size_t member, bool late) {
  std::array<std::vector<std::size_t>, kAfter + 1> children;
  std::array<bool, kAfter + 1> now{}, later{};  // the latter in its session
  for (const std::size_t child : forked_[member]) {
    const Turn turn = turn_[child];
    const bool in_session = lineage_.birth[child] == member;
    if (in_session == late) children[turn].push_back(child);
    now[turn] |= in_session == late;
    later[turn] |= in_session && !late;
  }
  const bool waits = is_process(member) && plan_.nodes[node_[member]].enters_late;
  for (const std::size_t child : children[kBefore]) create(child);
  if (waits && !later[kBefore] && (now[kHalfway] || later[kHalfway]) && !half_entered_.contains(member))
    enter_halfway(member);
  for (const std::size_t child : children[kHalfway]) create(child);
  if (waits && !later[kBefore] && !later[kHalfway] && !entered_.contains(member)) enter_namespaces(member);
  for (const std::size_t child : children[kAfter]) create(child);
}

// What is shared begins with one process, which nobody forks that has it already.
void TreePlanner::check_made_once(std::int32_t cryo_shared_memory::*what, bool TreeNode::*by_creator,
                                  const char* name) {
  std::set<std::int32_t> made;
  for (const TreeNode& node : plan_.nodes) {
    if (node.process == TreeNode::kHelper) continue;
    const std::int32_t shared = context_.processes[node.process].shared_memory.*what;
    if (shared == 0 || node.*by_creator || made.insert(shared).second) continue;
    plan_.problems.push_back(
        fmt::format("pid {}: shares {} with processes that forked neither it nor its parent",
                    head(node.process).pid, name));
  }
}

// Who is forked by a sibling is in its pid namespace.
void TreePlanner::check_sharing() {
  check_made_once(&cryo_shared_memory::mm, &TreeNode::shares_memory, "memory");
  check_made_once(&cryo_shared_memory::sighand, &TreeNode::shares_handlers, "signal handlers");
  for (const Process& process : context_.processes)
    if (process.shared_memory.mm != 0 &&
        process.namespaces.pid != context_.processes[index_.at(process.shared_memory.mm)].namespaces.pid)
      plan_.problems.push_back(
          fmt::format("pid {}: shares memory with a process in another pid namespace", process.head.pid));
}

void TreePlanner::tell_problem(std::size_t process) {
  const std::size_t parent = kin_[process].parent;
  plan_.problems.push_back(fmt::format("pid {}: its session {} cannot be rebuilt below its parent {}",
                                       head(process).pid, head(process).sid,
                                       parent == kNobody ? 0 : head(parent).pid));
}

// ---- process groups ---------------------------------------------------------------------------

void TreePlanner::enter_group(std::size_t process, std::size_t actor) {
  const pid_t group = group_of(process);
  const std::size_t node = node_[process];
  if (group_[node] == group) return;
  step(Kind::kGroup, actor, actor == node ? 0 : node, group);
  group_[node] = group;
  groups_.insert(group);
}

// Groups that have the number of a process.  One that has left its own is back there meanwhile, and leaves a
// helper when it goes again.
void TreePlanner::plan_group_leaders() {
  for (std::size_t process = 0; process < kin_.size(); ++process) {
    const pid_t group = leads_session(process) ? kOuter : group_of(process);
    const auto leader = index_.find(group);
    if (group == kOuter || leader == index_.end() || leads_session(leader->second)) continue;
    if (group_of(leader->second) != group) movers_.insert(leader->second);
  }
  for (std::size_t process = 0; process < kin_.size(); ++process) {
    const std::size_t node = node_[process];
    if (leads_session(process)) continue;
    if (head(process).pgid == head(process).pid && !movers_.contains(process)) {
      if (group_of(process) != kOuter) enter_group(process, node);
    } else if (movers_.contains(process)) {
      if (group_[node] != head(process).pid) step(Kind::kGroup, node, 0, head(process).pid);
      group_[node] = head(process).pid;
      groups_.insert(head(process).pid);
      step(Kind::kCreate, node, add_node({.parent = node}));
    }
  }
}

// In the innermost pid namespace of those that are in it.
void TreePlanner::plan_gone_group(pid_t group) {
  std::size_t member = kNobody;
  for (std::size_t process = 0; process < kin_.size(); ++process)
    if (!leads_session(process) && group_of(process) == group && sees(process, group) &&
        (member == kNobody || kin_[process].depth > kin_[member].depth))
      member = process;
  if (member == kNobody) return;
  const std::size_t helper = add_node({.pid = group, .parent = node_[member]});
  step(Kind::kCreate, node_[member], helper);
  step(Kind::kGroup, helper, 0, group);
  groups_.insert(group);
}

// Leaders first: a group is there when its leader is in it.
void TreePlanner::plan_groups() {
  plan_group_leaders();
  for (const bool movers : {false, true})
    for (std::size_t process = 0; process < kin_.size(); ++process) {
      if (leads_session(process) || movers_.contains(process) != movers) continue;
      const pid_t group = group_of(process);
      const std::size_t node = node_[process];
      if (group_[node] == group) continue;
      if (group != kOuter && !groups_.contains(group) && !index_.contains(group)) plan_gone_group(group);
      // Its parent may see it.
      const TreeNode& at = plan_.nodes[node];
      const std::size_t parent = at.sibling ? TreeNode::kHelper : plan_.nodes[at.parent].process;
      if (group == kOuter ? pid_namespace(process) == 0 : sees(process, group))
        enter_group(process, node);
      else if (parent != TreeNode::kHelper && sees(parent, group))
        enter_group(process, at.parent);
      else
        plan_.problems.push_back(fmt::format(
            "pid {}: cannot restore its process group {}: the group is not visible in its pid namespace",
            head(process).pid, group));
    }
}

// ---- ends -------------------------------------------------------------------------------------

// Who is to get its children is the only subreaper then, but for cr_restart.
void TreePlanner::plan_adoption(std::size_t helper) {
  const auto adopter = adopter_.find(helper);
  if (adopter == adopter_.end()) return;
  const std::size_t to = adopter->second == kNobody ? kNobody : node_[adopter->second];
  if (to == subreaper_) return;
  if (subreaper_ != kNobody) step(Kind::kSubreaper, subreaper_, 0, 0);
  if (to != kNobody) step(Kind::kSubreaper, to, 0, 1);
  subreaper_ = to;
}

// Those that were forked last go first: who is adopted is no longer below others then that it has been below
// so far.
void TreePlanner::plan_ends() {
  for (std::size_t node = plan_.nodes.size(); node-- > 1;) {
    if (plan_.nodes[node].process != TreeNode::kHelper) continue;
    plan_adoption(node);
    step(Kind::kExit, node);
    step(Kind::kAwait, plan_.nodes[node].parent, node);
  }
  for (std::size_t process = 0; process < kin_.size(); ++process) {
    const std::size_t node = node_[process];
    const bool zombie = (head(process).flags & CRYO_PROC_ZOMBIE) != 0;
    const bool subreaper = (head(process).flags & CRYO_PROC_CHILD_SUBREAPER) != 0;
    if (!zombie && subreaper != (subreaper_ == node)) step(Kind::kSubreaper, node, 0, subreaper ? 1 : 0);
    const TreeNode& at = plan_.nodes[node];
    const int signal = adopter_.contains(at.parent) ? SIGCHLD : at.exit_signal;
    if (signal != head(process).exit_signal && kin_[process].parent != kNobody)
      step(Kind::kSignal, node, 0, head(process).exit_signal);
  }
  for (std::size_t node = plan_.nodes.size(); node-- > 1;) {
    const std::size_t process = plan_.nodes[node].process;
    if (process == TreeNode::kHelper || !(head(process).flags & CRYO_PROC_ZOMBIE)) continue;
    step(Kind::kExit, node);
    // cr_restart waits in its own time.
    if (kin_[process].parent != kNobody) step(Kind::kAwait, node_[kin_[process].parent], node);
  }
}

// Who cannot be forked by one of those that it shares memory with may have it by a helper.
void TreePlanner::find_lineage_of_job() {
  for (int tries = 0;; ++tries) {
    lineage_ = find_lineage(kin_);
    if (!lineage_.problem) return;
    std::size_t& shares = kin_[*lineage_.problem].shares;
    const bool others =
        std::any_of(kin_.begin(), kin_.end(), [](const Kin& kin) { return kin.shares != kNobody; });
    if (shares != kNobody && tries < kMaxTries)
      shares = kNobody;
    else if (others)
      for (Kin& kin : kin_) kin.shares = kNobody;
    else
      return;
  }
}

TreePlan TreePlanner::plan() {
  add_node({});
  find_kin();
  find_lineage_of_job();
  if (lineage_.problem) {
    tell_problem(*lineage_.problem);
    return std::move(plan_);
  }
  forked_.resize(lineage_.forker.size());
  node_.resize(lineage_.forker.size(), kNobody);
  std::vector<std::size_t> first;
  for (std::size_t member = 0; member < forked_.size(); ++member)
    (lineage_.forker[member] == kNobody ? first : forked_[lineage_.forker[member]]).push_back(member);
  find_whole_parents();
  find_memories();
  find_early_groups();
  find_late_entries();
  for (const std::size_t member : first) create(member);
  check_sharing();
  plan_groups();
  for (std::size_t process = 0; process < context_.processes.size(); ++process)
    if (head(process).pgid == head(process).pid && group_of(process) == kOuter)
      plan_.deposed = head(process).pid;
  plan_ends();
  return std::move(plan_);
}

}  // namespace

std::size_t TreePlan::helpers() const {
  return static_cast<std::size_t>(std::count_if(nodes.begin() + 1, nodes.end(), [](const TreeNode& node) {
    return node.process == TreeNode::kHelper;
  }));
}

namespace {

class RootFinder {
 public:
  explicit RootFinder(const Context& context) : processes_(context.processes) {
    for (std::size_t i = 0; i < processes_.size(); ++i) index_.emplace(processes_[i].head.pid, i);
  }

  [[nodiscard]] std::size_t find() const;

 private:
  [[nodiscard]] bool runs_as_root(std::size_t process) const {
    return !processes_[process].threads.empty() && !index_.contains(processes_[process].head.ppid);
  }
  [[nodiscard]] std::size_t above(std::size_t process) const;
  [[nodiscard]] std::optional<std::size_t> leader(std::int32_t cryo_process::*id) const;

  const std::vector<Process>& processes_;
  std::map<pid_t, std::size_t> index_;
};

// In a damaged context somebody may descend from himself.
std::size_t RootFinder::above(std::size_t process) const {
  for (std::size_t steps = 0; steps < processes_.size(); ++steps) {
    const auto parent = index_.find(processes_[process].head.ppid);
    if (parent == index_.end()) break;
    process = parent->second;
  }
  return process;
}

// Of the group, or the session, that all of them are in.
std::optional<std::size_t> RootFinder::leader(std::int32_t cryo_process::*id) const {
  const pid_t common = processes_.front().head.*id;
  const bool same = std::all_of(processes_.begin(), processes_.end(),
                                [&](const Process& process) { return process.head.*id == common; });
  const auto found = index_.find(common);
  if (!same || found == index_.end()) return std::nullopt;
  const std::size_t top = above(found->second);
  return runs_as_root(top) ? std::optional(top) : std::nullopt;
}

std::size_t RootFinder::find() const {
  for (const auto id : {&cryo_process::pgid, &cryo_process::sid})
    if (const auto found = leader(id)) return *found;
  if (runs_as_root(0)) return 0;
  for (const auto id : {&cryo_process::sid, &cryo_process::pgid})
    for (std::size_t i = 0; i < processes_.size(); ++i)
      if (runs_as_root(i) && processes_[i].head.*id == processes_[i].head.pid) return i;
  for (std::size_t i = 0; i < processes_.size(); ++i)
    if (runs_as_root(i)) return i;
  return 0;
}

}  // namespace

std::size_t root_process(const Context& context) {
  return RootFinder(context).find();
}

RootGroup root_group(const Context& context) {
  const pid_t group = context.processes[root_process(context)].head.pgid;
  const auto leads = [group](const Process& process) { return process.head.pid == group; };
  if (std::any_of(context.processes.begin(), context.processes.end(), leads)) return RootGroup::kMade;
  if (group == ::getpgrp()) return RootGroup::kOwn;
  return is_group_of_own_session(group) ? RootGroup::kThere : RootGroup::kMade;
}

TreePlan plan_tree(const Context& context, const RestartOptions& options, RootGroup group) {
  return TreePlanner(context, options, group).plan();
}

bool has_own_terminal(const Context& context, const Process& process) {
  if (process.head.sid != process.head.pid) return false;
  return std::any_of(context.files.begin(), context.files.end(), [&](const auto& entry) {
    return entry.second.pty && entry.second.pty->head.sid == process.head.sid;
  });
}

}  // namespace cryo
