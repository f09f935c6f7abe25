// SPDX-License-Identifier: GPL-2.0-only
// The order in which the processes of a job are made.  Each plan is played through by a small model of
// what fork(), setsid(), setpgid() and exit() do to ids; the outcome has to be what was saved.
#include <sched.h>

#include <algorithm>
#include <map>
#include <string>

#include "restart/ns/reach.h"
#include "restart/process/tree_plan.h"
#include "unit/tap.h"
#include "unit/tree_kernel.h"

namespace cryo::test {
namespace {

// Plays the plan; every process must have what was saved, with `changes` in place of that.
void expect(const std::vector<Saved>& saved, const std::map<pid_t, Saved>& changes = {},
            const RestartOptions& options = {}, RootGroup group = RootGroup::kMade) {
  const Context context = context_of(saved);
  const TreePlan plan = plan_tree(context, options, group);
  for (const std::string& problem : plan.problems) CHECK_EQ(problem, "");
  TreeKernel kernel(plan);
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
    CHECK_EQ(made->second.exit_signal, one.exit_signal);
  }
}

TEST("tree: a process alone is in the group and session of cr_restart") {
  expect({{10, 2, 10, 3}}, {{10, {10, kRestart, kRestartGroup, kRestartSession}}});
  RestartOptions options;
  options.restore_pgid = options.restore_sid = true;
  expect({{10, 2, 10, 10}}, {{10, {10, kRestart, 10, 10}}}, options);
}

TEST("tree: the group of the process is that of a shell, which is not of the job") {
  RestartOptions options;
  options.restore_pgid = true;
  expect({{10, 2, 9, 3}, {11, 10, 9, 3}},
         {{10, {10, kRestart, 9, kRestartSession}}, {11, {11, 10, 9, kRestartSession}}}, options);
  expect(
      {{10, 2, kRestartGroup, 3}, {11, 10, kRestartGroup, 3}},
      {{10, {10, kRestart, kRestartGroup, kRestartSession}}, {11, {11, 10, kRestartGroup, kRestartSession}}},
      options, RootGroup::kOwn);
  // Of the same session as cr_restart: nobody is made who would have the number of its leader.
  const TreePlan plan = plan_tree(context_of({{10, 2, 9, 3}}), options, RootGroup::kThere);
  CHECK_EQ(plan.helpers(), 0U);
  CHECK(std::any_of(plan.steps.begin(), plan.steps.end(), [](const TreeStep& step) {
    return step.kind == TreeStep::Kind::kGroup && step.id == 9;
  }));
}

std::size_t root_of(const std::vector<Saved>& saved) {
  return root_process(context_of(saved));
}

TEST("tree: what cr_restart waits for") {
  // A tree.
  CHECK_EQ(root_of({{10, 2, 10, 3}, {11, 10, 11, 11}}), 0U);
  // A session and a group, the newest first: the leader, and not its child, nor an orphan.
  CHECK_EQ(root_of({{12, 10, 10, 10}, {10, 2, 10, 10}}), 1U);
  CHECK_EQ(root_of({{13, 1, 10, 10}, {12, 10, 12, 10}, {10, 2, 10, 10}}), 2U);
  CHECK_EQ(root_of({{13, 1, 10, 3}, {12, 10, 10, 3}, {10, 2, 10, 3}}), 2U);
  // The leader of the group is a child of another member.
  CHECK_EQ(root_of({{13, 1, 12, 3}, {12, 10, 12, 3}, {10, 2, 12, 3}}), 2U);
  // It has exited, or it is not there: who runs.
  CHECK_EQ(root_of({{10, 2, 10, 10, CRYO_PROC_ZOMBIE}, {13, 1, 10, 10}}), 1U);
  CHECK_EQ(root_of({{14, 13, 77, 77}, {13, 1, 13, 77}}), 1U);
  // Nobody, in a damaged one.
  CHECK_EQ(root_of({{10, 11, 10, 10}, {11, 10, 10, 10}}), 0U);
}

TEST("tree: the leader of a session is not the first") {
  expect({{12, 10, 10, 10}, {13, 1, 13, 10}, {10, 2, 10, 10}},
         {{10, {10, kRestart, kRestartGroup, kRestartSession}},
          {12, {12, 10, kRestartGroup, kRestartSession}},
          {13, {13, kRestart, 13, kRestartSession}}});
  RestartOptions options;
  options.restore_pgid = options.restore_sid = true;
  expect({{12, 10, 10, 10}, {13, 1, 13, 10}, {10, 2, 10, 10}},
         {{10, {10, kRestart, 10, 10}}, {13, {13, kRestart, 13, 10}}}, options);
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

TEST("tree: processes that share memory, with other sessions and exit signals than their elder") {
  const Saved root{10, kRestart, kRestartGroup, kRestartSession};
  expect({{10, 2, 10, 3},
          {11, 10, 10, 3, 0, {11, 0}, 10},
          {12, 10, 12, 12, 0, {11, 0}},
          {13, 10, 12, 12, 0, {11, 0}},
          {14, 10, 14, 3, 0, {11, 0}}},
         {{10, root}, {11, {11, 10, kRestartGroup, kRestartSession}}, {14, {14, 10, 14, kRestartSession}}});
}

TEST("tree: memory that cannot be shared again is named") {
  const TreePlan plan = plan_tree(
      context_of({{10, 2, 10, 3}, {11, 10, 10, 3, 0, {11, 0}}, {12, 10, 10, 3}, {13, 12, 10, 3, 0, {11, 0}}}),
      {});
  CHECK_EQ(plan.problems.size(), 1U);
  CHECK_EQ(plan.problems.front(),
           "pid 13: shares memory with processes that forked neither it nor its parent");
}

TEST("tree: what who is forked by a sharer cannot have is named") {
  const std::vector<Saved> saved{{10, 2, 10, 3}, {11, 10, 10, 3, 0, {11, 0}}, {13, 10, 10, 3, 0, {11, 0}}};
  Context context = context_of(saved);
  context.processes[2].namespaces.pid = 5;
  const std::vector<std::string> problems = plan_tree(context, {}).problems;
  const auto told = [&problems](const char* text) {
    return std::find(problems.begin(), problems.end(), text) != problems.end();
  };
  CHECK(told("pid 13: shares memory with a process in another pid namespace"));
  context =
      context_of({{9, 2, 9, 3}, {10, 9, 10, 10}, {11, 10, 11, 3, 0, {11, 0}}, {13, 10, 13, 10, 0, {11, 0}}});
  const TreePlan plan = plan_tree(context, {});
  CHECK_EQ(plan.problems.size(), 1U);
  CHECK_EQ(plan.problems.front(),
           "pid 13: shares memory with processes that forked neither it nor its parent");
}

TEST("tree: a session that has outlived its leader, below who is no subreaper") {
  expect({{10, 2, 10, 3}, {11, 10, 77, 77}}, {{10, {10, kRestart, kRestartGroup, kRestartSession}}});
}

TEST("tree: processes in sessions of others than their ancestors") {
  const Saved root{10, kRestart, kRestartGroup, kRestartSession};
  // Forked by the leader for its parent; the same, with a session of its own after a child of its own.
  expect({{10, 2, 10, 3}, {11, 10, 11, 11}, {12, 10, 11, 11}}, {{10, root}});
  expect({{10, 2, 10, 3}, {11, 10, 11, 11}, {12, 10, 12, 12}, {13, 12, 11, 11}}, {{10, root}});
  // Adopted in two places; the leader is gone, or it is a zombie.
  expect({{10, 2, 10, 3}, {11, 10, 10, 3}, {12, 11, 77, 77}, {13, 10, 77, 77}},
         {{10, root}, {11, {11, 10, kRestartGroup, kRestartSession}}});
  expect({{10, 2, 10, 3},
          {11, 10, 10, 3},
          {12, 11, 77, 77, CRYO_PROC_ZOMBIE},
          {77, 11, 77, 77, CRYO_PROC_ZOMBIE},
          {13, 10, 77, 77}},
         {{10, root}, {11, {11, 10, kRestartGroup, kRestartSession}}});
}

TEST("tree: a group that its leader has left") {
  const Saved root{10, kRestart, kRestartGroup, kRestartSession};
  expect({{10, 2, 10, 3}, {11, 10, 12, 3}, {12, 10, 11, 3}, {13, 12, 11, 3}},
         {{10, root},
          {11, {11, 10, 12, kRestartSession}},
          {12, {12, 10, 11, kRestartSession}},
          {13, {13, 12, 11, kRestartSession}}});
}

// 12 and 13 are in a pid namespace that begins with 12.
Context context_with_namespace(const std::vector<Saved>& saved) {
  Context context = context_of(saved);
  context.namespaces[7].head.type = CLONE_NEWPID;
  for (std::size_t i = 2; i < 4; ++i) {
    context.processes[i].namespaces.pid = 7;
    context.processes[i].nested_ids.push_back(
        {context.processes[i].head.pid, 7, static_cast<pid_t>(i - 1), 0});
  }
  return context;
}

TEST("tree: a group outside of a pid namespace is one to be born in") {
  const std::vector<Saved> saved{{10, 2, 10, 3}, {11, 10, 11, 3}, {12, 11, 11, 3}, {13, 12, 11, 3}};
  const TreePlan plan = plan_tree(context_with_namespace(saved), {});
  CHECK(plan.problems.empty());
  TreeKernel kernel(plan);
  CHECK_EQ(kernel.play(), "");
  for (const pid_t pid : {11, 12, 13}) CHECK_EQ(kernel.table().at(pid).pgid, 11);
  for (const TreeStep& step : plan.steps)
    CHECK(step.kind != TreeStep::Kind::kGroup || plan.nodes[step.actor].pid == 11);
}

TEST("tree: a group outside of a pid namespace that nobody is born in is named") {
  const std::vector<Saved> saved{
      {10, 2, 10, 3}, {11, 10, 11, 3}, {12, 11, 11, 3}, {13, 12, 14, 3}, {14, 10, 14, 3}};
  const std::vector<std::string> problems = plan_tree(context_with_namespace(saved), {}).problems;
  CHECK(problems ==
        std::vector<std::string>{
            "pid 13: cannot restore its process group 14: the group is not visible in its pid namespace"});
}

std::size_t step_of(const TreePlan& plan, TreeStep::Kind kind, pid_t actor, pid_t subject = 0) {
  for (std::size_t i = 0; i < plan.steps.size(); ++i)
    if (const TreeStep& step = plan.steps[i]; step.kind == kind && plan.nodes[step.actor].pid == actor &&
                                              (subject == 0 || plan.nodes[step.subject].pid == subject))
      return i;
  return plan.steps.size();
}

TEST("tree: who has entered namespaces since does so after its forks") {
  Context context = context_of({{10, 2, 10, 3}, {11, 10, 11, 11}, {12, 10, 11, 11}, {13, 11, 11, 11}});
  context.namespaces[8].head.type = CLONE_NEWUSER;
  for (const std::size_t inside : {1, 3}) context.processes[inside].namespaces.user = 8;
  const TreePlan plan = plan_tree(context, {});
  CHECK(plan.problems.empty());
  TreeKernel kernel(plan);
  CHECK_EQ(kernel.play(), "");
  CHECK_EQ(kernel.table().at(12).ppid, 10);
  const std::size_t enters = step_of(plan, TreeStep::Kind::kEnter, 11);
  CHECK(enters < plan.steps.size());
  CHECK(enters < step_of(plan, TreeStep::Kind::kCreate, 11, 13));
  for (std::size_t i = enters; i < plan.steps.size(); ++i)
    CHECK(plan.steps[i].kind != TreeStep::Kind::kCreate || plan.nodes[plan.steps[i].subject].pid != 12);
}

TEST("tree: who shares its memory does not enter a time namespace") {
  Context context = context_of({{10, 2, 10, 3}, {11, 10, 11, 11}, {12, 11, 11, 11}});
  context.namespaces[8].head.type = CLONE_NEWUSER;
  context.namespaces[9].head.type = CLONE_NEWTIME;
  context.namespaces[9].head.owner = 8;
  context.processes[1].namespaces.user = 8;
  context.processes[1].namespaces.time = context.processes[1].namespaces.time_for_children = 9;
  CHECK(plan_tree(context, {}).problems.empty());
  for (const std::size_t sharer : {1, 2}) context.processes[sharer].shared_memory.mm = 11;
  CHECK(plan_tree(context, {}).problems ==
        std::vector<std::string>{
            "pid 11: cannot enter its time namespace after it has forked pid 12, which shares its memory"});
}

TEST("tree: forks before and after it that do not go together are named") {
  Context context = context_of({{10, 2, 10, 3}, {11, 10, 11, 11}, {12, 11, 11, 11}, {13, 11, 10, 3}});
  context.namespaces[8].head.type = CLONE_NEWTIME;
  context.processes[1].namespaces.time_for_children = 8;
  context.processes[3].namespaces.time = context.processes[3].namespaces.time_for_children = 8;
  CHECK(plan_tree(context, {}).problems ==
        std::vector<std::string>{
            "pid 13: pid 11, which has to fork it, is in other namespaces before and after that"});
}

TEST("tree: who is in a time namespace for children is forked between those before and after that") {
  Context context = context_of({{10, 2, 10, 3}, {11, 10, 10, 3}, {12, 11, 10, 3}, {13, 11, 10, 3}});
  context.namespaces[7].head.type = CLONE_NEWUTS;
  context.namespaces[8].head.type = CLONE_NEWTIME;
  context.namespaces[9].head.type = CLONE_NEWIPC;
  context.namespaces[6].head.type = CLONE_NEWUSER;
  for (const std::uint32_t id : {8, 9}) context.namespaces[id].head.owner = 6;
  context.processes[1].namespaces.user = context.processes[2].namespaces.user = 6;
  context.processes[1].namespaces.time_for_children = 8;
  context.processes[1].namespaces.ipc = 9;
  context.processes[2].namespaces.time = context.processes[2].namespaces.time_for_children = 8;
  context.processes[2].namespaces.uts = 7;
  CHECK(!plan_tree(context, {}).problems.empty());  // 11 would not get back to its own
  context.processes[1].namespaces.uts = 7;
  const TreePlan plan = plan_tree(context, {});
  CHECK(plan.problems.empty());
  const std::size_t halfway = step_of(plan, TreeStep::Kind::kHalfway, 11);
  const std::size_t enters = step_of(plan, TreeStep::Kind::kEnter, 11);
  CHECK(step_of(plan, TreeStep::Kind::kCreate, 11, 13) < halfway);
  CHECK(halfway < step_of(plan, TreeStep::Kind::kCreate, 11, 12));
  CHECK(step_of(plan, TreeStep::Kind::kCreate, 11, 12) < enters);
  CHECK(enters < plan.steps.size());
  if (halfway == plan.steps.size()) return;
  const cryo_namespaces& there = plan.nodes[plan.steps[halfway].actor].halfway;
  CHECK_EQ(there.user, 6U);
  CHECK_EQ(there.uts, 7U);  // owned above that: the child's, as it is not to be had later
  CHECK_EQ(there.ipc, 0U);
  CHECK_EQ(there.time, 0U);
  CHECK_EQ(there.time_for_children, 8U);
}

TEST("tree: a namespace that is owned above the user namespace of the parent") {
  Context context = context_of({{10, 2, 10, 3}, {11, 10, 10, 3}, {12, 11, 10, 3}});
  context.namespaces[8].head.type = CLONE_NEWUSER;
  context.namespaces[9].head.type = CLONE_NEWUTS;
  for (const std::size_t inside : {1, 2}) context.processes[inside].namespaces.user = 8;
  context.processes[2].namespaces.uts = 9;
  const TreePlan plan = plan_tree(context, {});
  CHECK(plan.problems.empty());
  const std::size_t enters = step_of(plan, TreeStep::Kind::kEnter, 11);
  CHECK(step_of(plan, TreeStep::Kind::kCreate, 11, 12) < enters);
  CHECK(enters < plan.steps.size());
}

TEST("tree: which namespaces can be entered") {
  Context context;
  for (const std::uint32_t id : {1, 2, 3}) context.namespaces[id].head.type = CLONE_NEWUSER;
  context.namespaces[2].head.owner = 1;  // 3 is beside both
  for (const std::uint32_t id : {11, 12, 13}) {
    context.namespaces[id].head.type = CLONE_NEWUTS;
    context.namespaces[id].head.owner = id - 10;
  }
  cryo_namespaces from{}, to{};
  to.user = 2;
  for (const std::uint32_t id : {11, 12, 13}) {
    to.uts = id;
    CHECK(!out_of_reach(context, from, to));
  }
  from.user = 1;
  CHECK(out_of_reach(context, from, to) == CLONE_NEWUTS);
  to.uts = 11;
  CHECK(!out_of_reach(context, from, to));
  from.uts = 12;
  to.uts = 0;
  CHECK(out_of_reach(context, from, to) == CLONE_NEWUTS);
  to = {};
  CHECK(out_of_reach(context, from, to) == CLONE_NEWUSER);
  to.user = to.time_for_children = 1;
  from = {};
  CHECK(!out_of_reach(context, from, to));
  context.namespaces[1].head.owner = 3;  // above it, and not on the way from there
  from.user = 1;
  CHECK(out_of_reach(context, from, to) == CLONE_NEWTIME);
}

TEST("tree: nobody is forked more than once where nobody is gone") {
  const TreePlan plan = plan_tree(context_of({{10, 2, 10, 3, CRYO_PROC_CHILD_SUBREAPER},
                                              {11, 10, 11, 11},
                                              {12, 11, 12, 12},
                                              {13, 12, 11, 11},
                                              {14, 12, 12, 12},
                                              {15, 10, 15, 3, CRYO_PROC_ZOMBIE},
                                              {16, 10, 15, 3}}),
                                  {});
  CHECK_EQ(plan.helpers(), 0U);
}

TEST("tree: a session that cannot be rebuilt is named") {
  const std::vector<Saved> never{{10, 2, 10, 3}, {11, 10, 11, 11}, {12, 11, 11, 11}, {13, 12, 10, 3}};
  const std::vector<std::string> problems = plan_tree(context_of(never), {}).problems;
  CHECK(problems == std::vector<std::string>{"pid 13: its session 3 cannot be rebuilt below its parent 12"});
  const std::vector<Saved> circle{{10, 2, 10, 3}, {11, 12, 10, 3}, {12, 11, 10, 3}};
  CHECK_EQ(plan_tree(context_of(circle), {}).problems.size(), 1U);
}

}  // namespace
}  // namespace cryo::test
