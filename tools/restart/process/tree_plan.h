// SPDX-License-Identifier: GPL-2.0-only
// In which order the processes of a job come into being.
//
// A process gets its parent, and the session it is born in, by being forked by the right one
// (tree_lineage.h); the rest (leading a session, joining a group, dying before it was waited for) it does
// itself.  All of that is put into one sequence of steps, each of which one process takes when all before are
// done.
//
// A helper takes the id of a leader that is gone, until the members are there.  Another kind of helper is
// between a process and its forker, where its parent is neither that one nor that one's parent: when the
// helper ends, the process goes to the one of its ancestors that is a subreaper at that moment.
//
// Processes that share memory (CLONE_VM) are forked by one of them: their parent, or the first that has the
// same parent, their elder.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "context/model.h"
#include "restart/common/options.h"

namespace cryo {

struct TreeNode {
  static constexpr std::size_t kHelper = ~std::size_t{0};

  pid_t pid = 0;                  // 0: any
  std::size_t process = kHelper;  // index in Context::processes; kHelper: goes away again
  std::size_t parent = 0;         // node whose child it is at first; kMaker, of a sibling: cr_restart
  bool sibling = false;           // forked by a child of that (CLONE_PARENT), or by the maker
  int exit_signal = 0;            // at first
  bool shares_memory = false;     // with whoever forks it
  bool shares_handlers = false;
  bool enters_late = false;   // its namespaces: by a step of its own, and not as the first it does
  cryo_namespaces halfway{};  // where it is in between, if there is a step for that, too
};

struct TreeStep {
  enum class Kind {
    kCreate,     // `actor` forks node `subject`, its child or that of its parent
    kSession,    // `actor` starts a session
    kHalfway,    // `actor` enters those of its namespaces, or its children's, that some of them need it to be
                 // in
    kEnter,      // `actor` enters its namespaces, which it could not do before it forked some of its children
    kGroup,      // `actor` enters process group `id`, or puts its child `subject` there
    kSubreaper,  // `actor` becomes the one that orphans below it go to; `id` is 0: it no longer is
    kSignal,     // `actor` gets the exit signal `id`
    kExit,       // `actor` ends: a helper, or a process that had exited when it was saved
    kAwait,      // `actor` waits until its child `subject` has ended, and takes a helper away
  };
  Kind kind;
  std::size_t actor;
  std::size_t subject = 0;
  pid_t id = 0;
};

struct TreePlan {
  // The first is the maker, which is no process of the job: it forks those whose parent is not among
  // them, as siblings of its own.
  std::vector<TreeNode> nodes;
  std::vector<TreeStep> steps;
  // A process of the job that led a process group, and is put into cr_restart's instead; 0: none.
  pid_t deposed = 0;
  std::vector<std::string> problems;  // why it cannot be done, a line each

  [[nodiscard]] std::size_t helpers() const;
};

inline constexpr std::size_t kMaker = 0;

// Index of the process that cr_restart waits for, and ends as.  Of a process or a tree it is the one that was
// named; of a process group or a session the leader, which need not come first in the context, or who of the
// job is above it.
[[nodiscard]] std::size_t root_process(const Context& context);

// Where that process's group is that is to be restored, if its leader is not of the job.
enum class RootGroup {
  kMade,   // nowhere: by the restart
  kOwn,    // it is cr_restart's
  kThere,  // in cr_restart's session
};
[[nodiscard]] RootGroup root_group(const Context& context);

[[nodiscard]] TreePlan plan_tree(const Context& context, const RestartOptions& options,
                                 RootGroup group = RootGroup::kMade);

// Whether the process leads a session that a terminal of the context controls: that takes a session of its
// own.
[[nodiscard]] bool has_own_terminal(const Context& context, const Process& process);

}  // namespace cryo
