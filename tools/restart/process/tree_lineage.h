// SPDX-License-Identifier: GPL-2.0-only
// Who is to fork whom, so that each process is born in its session and can get its parent.
//
// What the kernel's rules give, for all processes that there can be:
//
//   - A parent is the forker, the forker's parent (CLONE_PARENT), or somebody above a parent that has died
//     (subreaper).  So it is among those whom a process descends from by forks: its ancestors.
//   - So is the leader of its session, as a session is inherited, or begun by its leader.  A process that
//     leads one has been born in one other session; all others are in one session for ever.
//   - A group is in one session, and so is the process that has its number, as setsid() wants the group to be
//     empty.  It may itself have gone to another group of that session.
//
// The other way round, a lineage is good if each process is forked by one that is in its session then, and
// has among its ancestors its parent.  For a helper between it and its forker that dies leaves it to any one
// of the ancestors that is the only subreaper among them at that moment; if those forked later go first, the
// lines of the others are still whole.
//
// The processes that are born in a session are its block, and whose leader is born in it is a block below. In
// a block everybody can fork everybody: any line is a good one.  So all there is to choose is in which
// session the leaders are born, and then
//
//   - the parent of a process has to be born in the block that the process is born in, or in one above;
//   - in its block, it has to come before the process, or before the leader whose block that is in or below.
//
// If that is no circle, any order that has it is good (find_order()).  The sessions that leaders are born in
// are guessed from their children, and changed where one of the two does not hold (find_births()).  The
// processes that were there are a solution, so there is one; a damaged context may have none, or it may take
// too long.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <vector>

namespace cryo {

inline constexpr std::size_t kNobody = ~std::size_t{0};  // outside of the job

struct Kin {
  std::size_t parent = kNobody;  // index
  pid_t session = 0;             // 0: that of cr_restart
  bool leads = false;            // that session
  std::size_t shares = kNobody;  // has to be forked by this one
  std::size_t depth = 0;         // of its pid namespace
};

struct Lineage {
  // Of each process, and behind them of the leaders that are gone: index of who forks it; kNobody: the maker.
  std::vector<std::size_t> forker;
  // The same: index of the leader of the session that it is born in; kNobody: that of cr_restart.
  std::vector<std::size_t> birth;
  std::vector<pid_t> gone;  // the sessions of these leaders
  // A process for which there is no forker.
  std::optional<std::size_t> problem;
};

[[nodiscard]] Lineage find_lineage(const std::vector<Kin>& kin);

}  // namespace cryo
