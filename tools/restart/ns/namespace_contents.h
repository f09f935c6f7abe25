// SPDX-License-Identifier: GPL-2.0-only
// What namespaces hold: set by a process that is in a new one.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "context/model.h"

namespace cryo {

// Of a CLONE_NEW*, for messages.
[[nodiscard]] const char* namespace_name(std::uint32_t type);

struct Clocks {
  std::int64_t monotonic_ns = 0;
  std::int64_t boottime_ns = 0;
};

// Of the time namespace that the caller has made for its children, which nobody has entered.
void set_clocks(const Clocks& clocks);
void fill_uts(const cryo_ns_uts& uts);
void fill_ipc(const cryo_ns_ipc& ipc);
void fill_net(const cryo_ns_net& net);
void fill_settings(const std::vector<std::pair<std::string, std::string>>& settings);
// Of the unified hierarchy; stays where it is when it may not.
void enter_cgroup_root(const std::string& path);
// Do the maps of `ns`, which no user namespace of the job is above, take newuidmap(1) and newgidmap(1)?
[[nodiscard]] bool needs_mappers(const Namespace& ns, const Creds& own);
// Are these there?
[[nodiscard]] bool has_mappers();
// Moves the caller into a new user namespace with the ids and the owner of `ns`.  Calls `become_owner`, when
// that is owned by one of the job, before it makes the new one.
void unshare_users(const Namespace& ns, const std::function<void()>& become_owner);

}  // namespace cryo
