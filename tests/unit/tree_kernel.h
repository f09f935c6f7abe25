// SPDX-License-Identifier: GPL-2.0-only
// A small model of what fork(), setsid(), setpgid(), prctl() and exit() do to the ids of processes, which
// plays a plan through.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "restart/process/tree_plan.h"

namespace cryo::test {

inline constexpr pid_t kRestart = 1000;        // cr_restart
inline constexpr pid_t kRestartGroup = 999;    // its process group
inline constexpr pid_t kRestartSession = 998;  // its session
inline constexpr pid_t kMakerPid = 5;

struct Saved {
  pid_t pid, ppid, pgid, sid;
  std::uint32_t flags = 0;
  cryo_shared_memory shared = {};
  int exit_signal = 17;
  int memory = 0;  // whose, in the model
};

inline Context context_of(const std::vector<Saved>& saved) {
  Context context;
  for (const Saved& one : saved) {
    Process process;
    process.head.pid = one.pid;
    process.head.ppid = one.ppid;
    process.head.pgid = one.pgid;
    process.head.sid = one.sid;
    process.head.flags = one.flags;
    process.head.exit_signal = one.exit_signal;
    process.shared_memory = one.shared;
    if (!(one.flags & CRYO_PROC_ZOMBIE)) process.threads.emplace_back();
    context.processes.push_back(process);
  }
  return context;
}

class TreeKernel {
 public:
  explicit TreeKernel(const TreePlan& plan) : plan_(plan), pid_(plan.nodes.size()) {
    pid_[kMaker] = kMakerPid;
    table_[kMakerPid] = {kMakerPid, kRestart, kRestartGroup, kRestartSession};
    table_[kRestart] = {kRestart, 1, kRestartGroup, kRestartSession, CRYO_PROC_CHILD_SUBREAPER};
  }

  // Empty when each step is possible.
  std::string play() {
    for (const TreeStep& step : plan_.steps) {
      if (!table_.contains(pid_[step.actor])) return "a step of who is not there";
      if (const std::string error = take(step); !error.empty()) return error;
    }
    for (const auto& [pid, one] : table_)
      if (one.ppid == kMakerPid) return "the maker has a child";
    table_.erase(kMakerPid);
    return "";
  }
  [[nodiscard]] const std::map<pid_t, Saved>& table() const { return table_; }

 private:
  using Kind = TreeStep::Kind;

  std::string take(const TreeStep& step) {
    Saved& actor = table_.at(pid_[step.actor]);
    if (actor.flags & CRYO_PROC_ZOMBIE) return "a step of who has ended";
    switch (step.kind) {
      case Kind::kCreate:
        return create(actor, step.subject);
      case Kind::kSession:
        for (const auto& [pid, other] : table_)
          if (other.pgid == actor.pid) return "setsid by a group leader";
        actor.pgid = actor.sid = actor.pid;
        return "";
      case Kind::kHalfway:
      case Kind::kEnter:
        return "";
      case Kind::kGroup:
        return enter(actor, step.subject == 0 ? actor : table_.at(pid_[step.subject]),
                     step.id == 0 ? kRestartGroup : step.id);
      case Kind::kSubreaper:
        actor.flags &= ~CRYO_PROC_CHILD_SUBREAPER;
        if (step.id != 0) actor.flags |= CRYO_PROC_CHILD_SUBREAPER;
        return "";
      case Kind::kSignal:
        actor.exit_signal = step.id;
        return "";
      case Kind::kExit:
        return end(actor);
      case Kind::kAwait: {
        const auto child = table_.find(pid_[step.subject]);
        if (child == table_.end() || child->second.ppid != actor.pid) return "waits for who is no child";
        if (!(child->second.flags & CRYO_PROC_ZOMBIE)) return "waits for a process that lives";
        if (plan_.nodes[step.subject].process == TreeNode::kHelper) table_.erase(child);
        return "";
      }
    }
    return "unknown step";
  }

  std::string create(const Saved& actor, std::size_t node) {
    const TreeNode& wanted = plan_.nodes[node];
    const pid_t pid = wanted.pid == 0 ? next_++ : wanted.pid;
    if (table_.contains(pid)) return "pid in use";
    pid_[node] = pid;
    const pid_t parent = wanted.parent == kMaker && wanted.sibling ? kRestart : pid_[wanted.parent];
    Saved born{pid, wanted.sibling ? actor.ppid : actor.pid, actor.pgid, actor.sid};
    born.memory = wanted.shares_memory ? actor.memory : pid;
    born.exit_signal = wanted.sibling ? actor.exit_signal : wanted.exit_signal;
    if (actor.pid == kMakerPid && wanted.sibling) born.exit_signal = 17;
    if (born.ppid != parent) return "not the parent that was planned";
    table_[pid] = born;
    return "";
  }

  std::string enter(const Saved& actor, Saved& who, pid_t group) {
    if (who.pid != actor.pid && who.ppid != actor.pid) return "setpgid of who is no child";
    if (who.sid == who.pid) return "setpgid of a session leader";
    if (who.sid != actor.sid) return "setpgid of who is in another session";
    bool there = group == who.pid;
    for (const auto& [pid, other] : table_) there |= other.pgid == group && other.sid == who.sid;
    if (!there) return "setpgid into a group that is not there";
    who.pgid = group;
    return "";
  }

  std::string end(Saved& actor) {
    for (auto& [pid, child] : table_)
      if (child.ppid == actor.pid) {
        child.ppid = reaper(actor.ppid);
        child.exit_signal = 17;
      }
    actor.flags |= CRYO_PROC_ZOMBIE;
    return "";
  }

  pid_t reaper(pid_t pid) {
    while (!(table_.at(pid).flags & CRYO_PROC_CHILD_SUBREAPER)) pid = table_.at(pid).ppid;
    return pid;
  }

  const TreePlan& plan_;
  std::vector<pid_t> pid_;
  std::map<pid_t, Saved> table_;
  pid_t next_ = 100000;  // helpers that may have any
};

}  // namespace cryo::test
