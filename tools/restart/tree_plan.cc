// SPDX-License-Identifier: GPL-2.0-only
#include "restart/tree_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <set>
#include <utility>

#include "restart/pid_namespaces.h"
#include "restart/pty.h"

namespace cryo {
namespace {

using Kind = TreeStep::Kind;

// The session, or the process group, that cr_restart runs in.
constexpr pid_t kOuter = 0;

class TreePlanner {
 public:
  TreePlanner(const Context& context, const RestartOptions& options)
      : context_(context),
        options_(options),
        children_(context.processes.size()),
        followers_(context.processes.size()) {}

  TreePlan plan();

 private:
  [[nodiscard]] const cryo_process& head(std::size_t process) const {
    return context_.processes[process].head;
  }
  [[nodiscard]] bool is_root(std::size_t process) const { return !index_.contains(head(process).ppid); }
  // The one that a user thinks of as the job.
  [[nodiscard]] std::size_t main_root() const { return roots_.front(); }
  [[nodiscard]] bool leads_session(std::size_t process) const;
  [[nodiscard]] pid_t session_of(std::size_t process) const;
  [[nodiscard]] bool same_parent(std::size_t a, std::size_t b) const;
  [[nodiscard]] std::optional<std::size_t> first_sibling(std::size_t process,
                                                         std::int32_t cryo_shared_memory::*what) const;
  [[nodiscard]] std::optional<std::size_t> elder(std::size_t process) const;
  [[nodiscard]] bool share(std::size_t a, std::size_t b, std::int32_t cryo_shared_memory::*what) const;
  void link();
  void find_birth_sessions(std::size_t process);

  std::size_t add_node(pid_t pid, std::size_t process, std::size_t parent);
  void step(Kind kind, std::size_t actor, std::size_t subject = 0, pid_t id = 0) {
    plan_.steps.push_back({kind, actor, subject, id});
  }
  std::size_t session_helper(pid_t session, std::size_t parent);
  void create(std::size_t process, std::size_t creator, std::size_t parent, std::optional<pid_t> session);
  void create_children(std::size_t process, std::size_t node, pid_t session, bool before_setsid);
  void create_followers(std::size_t process, std::size_t node, pid_t session, bool before_setsid);
  void check_sharing();
  void check_made_once(std::int32_t cryo_shared_memory::*what, bool TreeNode::*by_creator, const char* name);
  void create_roots();
  void plan_groups();
  void plan_group(std::size_t process);
  void plan_ends();

  const Context& context_;
  const RestartOptions& options_;
  TreePlan plan_;
  std::map<pid_t, std::size_t> index_;  // pid: process
  std::vector<std::size_t> roots_;
  std::vector<std::vector<std::size_t>> children_;
  std::vector<std::vector<std::size_t>> followers_;               // those that it forks for its parent
  std::vector<std::optional<pid_t>> birth_;                       // session a process is forked in; none: any
  std::map<std::size_t, std::size_t> node_;                       // process: node
  std::map<std::size_t, pid_t> session_;                          // node: the session it ends in
  std::map<std::pair<std::size_t, pid_t>, std::size_t> helpers_;  // parent node and session: helper
  std::map<pid_t, std::size_t> helper_of_id_;
  std::set<pid_t> led_groups_;
};

bool TreePlanner::leads_session(std::size_t process) const {
  const cryo_process& process_head = head(process);
  return process_head.sid == process_head.pid && (process != main_root() || options_.restore_sid ||
                                                  has_own_terminal(context_, context_.processes[process]));
}

// The session that the job was started in is cr_restart's now, and so is that which its first process led,
// unless that is to be restored.
pid_t TreePlanner::session_of(std::size_t process) const {
  const pid_t sid = head(process).sid;
  const auto leader = index_.find(sid);
  if (leader != index_.end()) return leads_session(leader->second) ? sid : kOuter;
  return sid == head(main_root()).sid ? kOuter : sid;
}

bool TreePlanner::same_parent(std::size_t a, std::size_t b) const {
  return is_root(a) ? is_root(b) : head(a).ppid == head(b).ppid;
}

bool TreePlanner::share(std::size_t a, std::size_t b, std::int32_t cryo_shared_memory::*what) const {
  const std::int32_t name = context_.processes[a].shared_memory.*what;
  return name != 0 && context_.processes[b].shared_memory.*what == name;
}

std::optional<std::size_t> TreePlanner::first_sibling(std::size_t process,
                                                      std::int32_t cryo_shared_memory::*what) const {
  for (std::size_t other = 0; other < process; ++other)
    if (share(process, other, what) && same_parent(process, other)) return other;
  return std::nullopt;
}

// The one that forks it for their parent. Who shares the handlers shares the memory, too.
std::optional<std::size_t> TreePlanner::elder(std::size_t process) const {
  const auto parent = index_.find(head(process).ppid);
  for (const auto what : {&cryo_shared_memory::sighand, &cryo_shared_memory::mm}) {
    if (parent != index_.end() && share(process, parent->second, what)) return std::nullopt;
    if (const auto sibling = first_sibling(process, what)) return sibling;
  }
  return std::nullopt;
}

void TreePlanner::link() {
  for (std::size_t i = 0; i < context_.processes.size(); ++i) index_.emplace(head(i).pid, i);
  for (std::size_t i = 0; i < context_.processes.size(); ++i) {
    if (const auto older = elder(i))
      followers_[*older].push_back(i);
    else if (is_root(i))
      roots_.push_back(i);
    else
      children_[index_.at(head(i).ppid)].push_back(i);
  }
  birth_.resize(context_.processes.size());
  for (const std::size_t root : roots_) find_birth_sessions(root);
}

// A process that leads a session was in another one before, as children show that it had by then.
void TreePlanner::find_birth_sessions(std::size_t process) {
  std::vector<std::size_t> made = children_[process];
  made.insert(made.end(), followers_[process].begin(), followers_[process].end());
  for (const std::size_t child : made) find_birth_sessions(child);
  if (!leads_session(process)) {
    birth_[process] = session_of(process);
    return;
  }
  for (const std::size_t child : made)
    if (birth_[child] && *birth_[child] != head(process).pid) birth_[process] = birth_[child];
}

std::size_t TreePlanner::add_node(pid_t pid, std::size_t process, std::size_t parent) {
  const int signal = process == TreeNode::kHelper ? 0 : head(process).exit_signal;
  plan_.nodes.push_back({options_.restore_pid ? pid : 0, process, parent, signal});
  return plan_.nodes.size() - 1;
}

// Whoever is the parent, the helper's children become those of the nearest subreaper when it ends.
std::size_t TreePlanner::session_helper(pid_t session, std::size_t parent) {
  const auto known = helpers_.find({parent, session});
  if (known != helpers_.end()) return known->second;
  const std::size_t helper = add_node(session, TreeNode::kHelper, parent);
  step(Kind::kCreate, parent, helper);
  step(Kind::kSession, helper);
  helpers_.emplace(std::pair(parent, session), helper);
  helper_of_id_.emplace(session, helper);
  session_[helper] = session;
  return helper;
}

// With all that it has below it. `session`: the one it is born in, where that is known.
void TreePlanner::create(std::size_t process, std::size_t creator, std::size_t parent,
                         std::optional<pid_t> session) {
  const std::size_t node = add_node(head(process).pid, process, parent);
  node_[process] = node;
  if (const std::size_t by = plan_.nodes[creator].process; by != TreeNode::kHelper) {
    plan_.nodes[node].shares_memory = share(by, process, &cryo_shared_memory::mm);
    plan_.nodes[node].shares_handlers = share(by, process, &cryo_shared_memory::sighand);
  }
  step(Kind::kCreate, creator, node);
  if (head(process).flags & CRYO_PROC_CHILD_SUBREAPER) step(Kind::kSubreaper, node);
  const pid_t born_in = session.value_or(kOuter);
  if (leads_session(process)) {
    create_children(process, node, born_in, true);
    create_followers(process, node, born_in, true);
    step(Kind::kSession, node);
    session_[node] = head(process).pid;
    create_children(process, node, head(process).pid, false);
    create_followers(process, node, head(process).pid, false);
  } else {
    session_[node] = born_in;
    create_children(process, node, born_in, false);
    create_followers(process, node, born_in, false);
  }
}

void TreePlanner::create_followers(std::size_t process, std::size_t node, pid_t session, bool before_setsid) {
  const std::size_t parent = plan_.nodes[node].parent;
  for (const std::size_t follower : followers_[process]) {
    if (node_.contains(follower)) continue;
    const std::optional<pid_t> birth = birth_[follower];
    if (birth ? *birth == session : !before_setsid)
      create(follower, node, parent, birth ? birth : session);
    else if (!before_setsid)
      plan_.problems.push_back(fmt::format(
          "pid {}: its session {} cannot be rebuilt: pid {}, whose memory it shares, is in another "
          "one",
          head(follower).pid, head(follower).sid, head(process).pid));
  }
}

void TreePlanner::create_children(std::size_t process, std::size_t node, pid_t session, bool before_setsid) {
  for (const std::size_t child : children_[process]) {
    if (node_.contains(child)) continue;
    const std::optional<pid_t> birth = birth_[child];
    if (birth ? *birth == session : !before_setsid) {
      create(child, node, node, birth ? birth : session);
    } else if (!before_setsid && birth && *birth != kOuter &&
               (head(process).flags & CRYO_PROC_CHILD_SUBREAPER)) {
      const std::size_t helper = session_helper(*birth, node);
      create(child, helper, helper, birth);
    } else if (!before_setsid) {
      plan_.problems.push_back(
          fmt::format("pid {}: its session {} cannot be rebuilt: the leader has exited, and its parent {} is "
                      "in another one",
                      head(child).pid, head(child).sid, head(process).pid));
    }
  }
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
        fmt::format("pid {}: shares {} with processes that neither it nor its parent is forked by",
                    head(node.process).pid, name));
  }
}

// Who is forked by a sibling has that one's exit signal, and is in its pid namespace.
void TreePlanner::check_sharing() {
  check_made_once(&cryo_shared_memory::mm, &TreeNode::shares_memory, "memory");
  check_made_once(&cryo_shared_memory::sighand, &TreeNode::shares_handlers, "signal handlers");
  for (std::size_t process = 0; process < followers_.size(); ++process)
    for (const std::size_t follower : followers_[process])
      if (head(process).exit_signal != head(follower).exit_signal)
        plan_.problems.push_back(
            fmt::format("pid {}: shares memory with pid {}, which has another exit signal",
                        head(follower).pid, head(process).pid));
  for (const Process& process : context_.processes)
    if (process.shared_memory.mm != 0 &&
        process.namespaces.pid != context_.processes[index_.at(process.shared_memory.mm)].namespaces.pid)
      plan_.problems.push_back(
          fmt::format("pid {}: shares memory with a process in another pid namespace", process.head.pid));
}

void TreePlanner::create_roots() {
  for (const std::size_t root : roots_) {
    const std::optional<pid_t> birth = birth_[root];
    if (!birth || *birth == kOuter) {
      create(root, kMaker, kMaker, kOuter);
    } else {
      const std::size_t helper = session_helper(*birth, kMaker);
      create(root, helper, helper, birth);
    }
  }
}

void TreePlanner::plan_group(std::size_t process) {
  const cryo_process& process_head = head(process);
  const std::size_t node = node_.at(process);
  if (leads_session(process)) return;  // its group was made with the session
  const auto leader = index_.find(process_head.pgid);
  const bool of_root = head(main_root()).pgid == process_head.pgid && session_of(main_root()) == kOuter;
  if (of_root && session_of(process) == kOuter && !options_.restore_pgid) return;
  if (leader == index_.end() && !of_root && led_groups_.insert(process_head.pgid).second &&
      !helper_of_id_.contains(process_head.pgid)) {
    const std::size_t helper = add_node(process_head.pgid, TreeNode::kHelper, node);
    helper_of_id_.emplace(process_head.pgid, helper);
    step(Kind::kCreate, node, helper);
    step(Kind::kGroup, helper, 0, process_head.pgid);
  }
  // From a pid namespace of its own a process may not see a group outside: its parent, which does, puts it
  // there.
  const bool seen = number_in(context_, context_.processes[process].namespaces.pid, process_head.pgid) != 0;
  if (seen)
    step(Kind::kGroup, node, 0, process_head.pgid);
  else
    step(Kind::kGroup, plan_.nodes[node].parent, node, process_head.pgid);
}

// Leaders first: a group is there when its leader is in it.
void TreePlanner::plan_groups() {
  for (const auto& [process, node] : node_)
    if (head(process).pgid == head(process).pid) plan_group(process);
  for (const auto& [process, node] : node_)
    if (head(process).pgid != head(process).pid) plan_group(process);
}

void TreePlanner::plan_ends() {
  for (std::size_t node = plan_.nodes.size(); node-- > 1;) {
    const TreeNode& at = plan_.nodes[node];
    const bool zombie = at.process != TreeNode::kHelper && (head(at.process).flags & CRYO_PROC_ZOMBIE);
    if (at.process != TreeNode::kHelper && !zombie) continue;
    step(Kind::kExit, node);
    // What the maker forks is its parent's child, which waits for it in its own time.
    if (at.parent != kMaker) step(Kind::kAwait, at.parent, node);
  }
}

TreePlan TreePlanner::plan() {
  add_node(0, TreeNode::kHelper, kMaker);
  link();
  create_roots();
  check_sharing();
  plan_groups();
  plan_ends();
  return std::move(plan_);
}

}  // namespace

std::size_t TreePlan::helpers() const {
  return static_cast<std::size_t>(std::count_if(nodes.begin() + 1, nodes.end(), [](const TreeNode& node) {
    return node.process == TreeNode::kHelper;
  }));
}

TreePlan plan_tree(const Context& context, const RestartOptions& options) {
  return TreePlanner(context, options).plan();
}

}  // namespace cryo
