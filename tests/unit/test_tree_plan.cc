// SPDX-License-Identifier: GPL-2.0-only
// The order in which the processes of a job are made.  Each plan is played through by a small model of
// what fork(), setsid(), setpgid() and exit() do to ids; the outcome has to be what was saved.
#include <algorithm>
#include <map>
#include <string>

#include "restart/tree_plan.h"
#include "unit/tap.h"

namespace cryo::test {
namespace {

using Kind = TreeStep::Kind;
constexpr pid_t kRestart = 1000;        // cr_restart
constexpr pid_t kRestartGroup = 999;    // its process group
constexpr pid_t kRestartSession = 998;  // its session

struct Saved {
  pid_t pid, ppid, pgid, sid;
  std::uint32_t flags = 0;
  cryo_shared_memory shared = {};
};

Context context_of(const std::vector<Saved>& saved) {
  Context context;
  for (const Saved& one : saved) {
    Process process;
    process.head.pid = one.pid;
    process.head.ppid = one.ppid;
    process.head.pgid = one.pgid;
    process.head.sid = one.sid;
    process.head.flags = one.flags;
    process.head.exit_signal = 17;
    process.shared_memory = one.shared;
    if (!(one.flags & CRYO_PROC_ZOMBIE)) process.threads.emplace_back();
    context.processes.push_back(process);
  }
  return context;
}

// The ids of processes, as a kernel keeps them.
class Kernel {
 public:
  explicit Kernel(const TreePlan& plan) : plan_(plan), pid_(plan.nodes.size()) {
    pid_[kMaker] = 5;
    table_[5] = {5, kRestart, kRestartGroup, kRestartSession};
    table_[kRestart] = {kRestart, 1, kRestartGroup, kRestartSession, CRYO_PROC_CHILD_SUBREAPER};
  }

  // Empty when each step is possible.
  std::string play() {
    for (const TreeStep& step : plan_.steps)
      if (const std::string error = take(step); !error.empty()) return error;
    table_.erase(5);
    return "";
  }
  [[nodiscard]] const std::map<pid_t, Saved>& table() const { return table_; }

 private:
  std::string take(const TreeStep& step) {
    Saved& actor = table_.at(pid_[step.actor]);
    switch (step.kind) {
      case Kind::kCreate: {
        const pid_t pid = plan_.nodes[step.subject].pid;
        if (table_.contains(pid)) return "pid in use";
        pid_[step.subject] = pid;
        const std::size_t parent = plan_.nodes[step.subject].parent;
        const pid_t ppid = step.actor == kMaker ? kRestart : parent == step.actor ? actor.pid : actor.ppid;
        table_[pid] = {pid, ppid, actor.pgid, actor.sid};
        return "";
      }
      case Kind::kSession:
        for (const auto& [pid, other] : table_)
          if (other.pgid == actor.pid) return "setsid by a group leader";
        actor.pgid = actor.sid = actor.pid;
        return "";
      case Kind::kGroup:
        return enter(actor, step.id);
      case Kind::kSubreaper:
        actor.flags |= CRYO_PROC_CHILD_SUBREAPER;
        return "";
      case Kind::kExit:
        return end(actor, plan_.nodes[step.actor].process == TreeNode::kHelper && actor.ppid == kRestart);
      case Kind::kAwait: {
        const pid_t child = pid_[step.subject];
        if (!(table_.at(child).flags & CRYO_PROC_ZOMBIE)) return "waits for a process that lives";
        if (plan_.nodes[step.subject].process == TreeNode::kHelper) table_.erase(child);
        return "";
      }
    }
    return "unknown step";
  }

  std::string enter(Saved& actor, pid_t group) {
    if (actor.sid == actor.pid) return "setpgid of a session leader";
    bool there = group == actor.pid;
    for (const auto& [pid, other] : table_) there |= other.pgid == group && other.sid == actor.sid;
    if (!there) return "setpgid into a group that is not there";
    actor.pgid = group;
    return "";
  }

  std::string end(Saved& actor, bool taken_away) {
    for (auto& [pid, child] : table_)
      if (child.ppid == actor.pid) child.ppid = reaper(actor.ppid);
    actor.flags |= CRYO_PROC_ZOMBIE;
    if (taken_away) table_.erase(actor.pid);
    return "";
  }

  pid_t reaper(pid_t pid) {
    while (!(table_.at(pid).flags & CRYO_PROC_CHILD_SUBREAPER)) pid = table_.at(pid).ppid;
    return pid;
  }

  const TreePlan& plan_;
  std::vector<pid_t> pid_;
  std::map<pid_t, Saved> table_;
};

// Plays the plan; every process must have what was saved, with `changes` in place of that.
void expect(const std::vector<Saved>& saved, const std::map<pid_t, Saved>& changes = {},
            const RestartOptions& options = {}) {
  const Context context = context_of(saved);
  const TreePlan plan = plan_tree(context, options);
  for (const std::string& problem : plan.problems) CHECK_EQ(problem, "");
  Kernel kernel(plan);
  CHECK_EQ(kernel.play(), "");
  CHECK_EQ(kernel.table().size(), saved.size() + 1);
  for (const Saved& one : saved) {
    const auto change = changes.find(one.pid);
    const Saved& wanted = change == changes.end() ? one : change->second;
    const auto made = kernel.table().find(one.pid);
    CHECK(made != kernel.table().end());
    if (made == kernel.table().end()) continue;
    CHECK_EQ(made->second.ppid, wanted.ppid);
    CHECK_EQ(made->second.pgid, wanted.pgid);
    CHECK_EQ(made->second.sid, wanted.sid);
    CHECK_EQ(made->second.flags, one.flags);
  }
}

TEST("tree: a process alone is in the group and session of cr_restart") {
  expect({{10, 2, 10, 3}}, {{10, {10, kRestart, kRestartGroup, kRestartSession}}});
  RestartOptions options;
  options.restore_pgid = options.restore_sid = true;
  expect({{10, 2, 10, 10}}, {{10, {10, kRestart, 10, 10}}}, options);
}

TEST("tree: parents and children, and their groups") {
  const Saved root{10, kRestart, kRestartGroup, kRestartSession};
  expect({{10, 2, 10, 3}, {11, 10, 10, 3}, {12, 11, 12, 3}, {13, 11, 12, 3}, {14, 10, 14, 3}},
         {{10, root},
          {11, {11, 10, kRestartGroup, kRestartSession}},
          {12, {12, 11, 12, kRestartSession}},
          {13, {13, 11, 12, kRestartSession}},
          {14, {14, 10, 14, kRestartSession}}});
}

TEST("tree: sessions of their own below the root") {
  expect({{10, 2, 10, 3}, {11, 10, 11, 11}, {12, 11, 12, 11}, {13, 11, 13, 13}},
         {{10, {10, kRestart, kRestartGroup, kRestartSession}}});
}

TEST("tree: a child that was born before its parent's setsid()") {
  expect({{10, 2, 10, 3}, {11, 10, 11, 11}, {12, 11, 12, 12}, {13, 12, 11, 11}, {14, 12, 12, 12}},
         {{10, {10, kRestart, kRestartGroup, kRestartSession}}});
}

TEST("tree: a process group that has outlived its leader") {
  expect({{10, 2, 10, 3}, {11, 10, 77, 3}, {12, 10, 77, 3}},
         {{10, {10, kRestart, kRestartGroup, kRestartSession}},
          {11, {11, 10, 77, kRestartSession}},
          {12, {12, 10, 77, kRestartSession}}});
}

TEST("tree: a session that has outlived its leader, below a subreaper") {
  expect({{10, 2, 10, 3, CRYO_PROC_CHILD_SUBREAPER}, {11, 10, 77, 77}, {12, 11, 12, 77}, {13, 10, 77, 77}},
         {{10, {10, kRestart, kRestartGroup, kRestartSession}}});
}

TEST("tree: the same, with nobody in the job above it") {
  expect({{10, 2, 10, 3}, {11, 1, 77, 77}},
         {{10, {10, kRestart, kRestartGroup, kRestartSession}}, {11, {11, kRestart, 77, 77}}});
}

TEST("tree: what had exited, leaders among them") {
  expect({{10, 2, 10, 3},
          {11, 10, 11, 3, CRYO_PROC_ZOMBIE},
          {12, 10, 11, 3},
          {13, 10, 13, 13, CRYO_PROC_ZOMBIE}},
         {{10, {10, kRestart, kRestartGroup, kRestartSession}},
          {11, {11, 10, 11, kRestartSession}},
          {12, {12, 10, 11, kRestartSession}}});
}

TEST("tree: processes that share memory are forked by one of them") {
  const std::vector<Saved> saved{{10, 2, 10, 3},
                                 {11, 10, 11, 11, 0, {11, 0}},
                                 {12, 11, 12, 12, 0, {11, 12}},
                                 {13, 10, 13, 3, 0, {11, 0}},
                                 {14, 11, 12, 12, 0, {11, 12}}};
  expect(saved, {{10, {10, kRestart, kRestartGroup, kRestartSession}}, {13, {13, 10, 13, kRestartSession}}});
  std::size_t sharing = 0, handlers = 0;
  for (const TreeNode& node : plan_tree(context_of(saved), {}).nodes) {
    sharing += node.shares_memory;
    handlers += node.shares_handlers;
  }
  CHECK_EQ(sharing, 3U);
  CHECK_EQ(handlers, 1U);
}

TEST("tree: memory that cannot be shared again is named") {
  const TreePlan plan = plan_tree(
      context_of({{10, 2, 10, 3}, {11, 10, 10, 3, 0, {11, 0}}, {12, 10, 10, 3}, {13, 12, 10, 3, 0, {11, 0}}}),
      {});
  CHECK_EQ(plan.problems.size(), 1U);
  CHECK_EQ(plan.problems.front(),
           "pid 13: shares memory with processes that neither it nor its parent is forked by");
}

TEST("tree: what who is forked by a sharer cannot have is named") {
  const std::vector<Saved> saved{{10, 2, 10, 3}, {11, 10, 10, 3, 0, {11, 0}}, {13, 10, 10, 3, 0, {11, 0}}};
  Context context = context_of(saved);
  context.processes[2].head.exit_signal = 10;
  context.processes[2].namespaces.pid = 5;
  const std::vector<std::string> problems = plan_tree(context, {}).problems;
  const auto told = [&problems](const char* text) {
    return std::find(problems.begin(), problems.end(), text) != problems.end();
  };
  CHECK(told("pid 13: shares memory with pid 11, which has another exit signal"));
  CHECK(told("pid 13: shares memory with a process in another pid namespace"));
  context =
      context_of({{9, 2, 9, 3}, {10, 9, 10, 10}, {11, 10, 11, 3, 0, {11, 0}}, {13, 10, 13, 10, 0, {11, 0}}});
  const TreePlan plan = plan_tree(context, {});
  CHECK_EQ(plan.problems.size(), 1U);
  CHECK_EQ(plan.problems.front(),
           "pid 13: its session 10 cannot be rebuilt: pid 11, whose memory it shares, is in another one");
}

TEST("tree: a session that cannot be rebuilt is named") {
  const TreePlan plan = plan_tree(context_of({{10, 2, 10, 3}, {11, 10, 77, 77}}), {});
  CHECK_EQ(plan.problems.size(), 1U);
  CHECK_EQ(
      plan.problems.front(),
      "pid 11: its session 77 cannot be rebuilt: the leader has exited, and its parent 10 is in another one");
}

}  // namespace
}  // namespace cryo::test
