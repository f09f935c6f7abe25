// SPDX-License-Identifier: GPL-2.0-only
// The processes that have an id that a restart needs.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>

namespace cryo {

// Is there a process `id`, a thread, or, with -id, a process group?
[[nodiscard]] bool id_exists(pid_t id);
// Is there such a process group in the caller's session, so that it can be entered?
[[nodiscard]] bool is_group_of_own_session(pid_t group);

// Another process of the caller's process group, for people: "pid 7 (bash)"; empty: it is alone there.
[[nodiscard]] std::string other_in_own_group();

// Is it about to end, with all of its threads, or gone?
[[nodiscard]] bool is_leaving(pid_t pid);

// Waits for holders that are about to give their ids back: a job that has just been killed is not gone yet.
class IdHolders {
 public:
  // `patience`: for all ids together.
  explicit IdHolders(std::chrono::milliseconds patience = std::chrono::seconds(2));
  // The holder, for messages; empty when the id is free.
  [[nodiscard]] std::string find(pid_t id) const;

 private:
  std::chrono::steady_clock::time_point end_;
};

}  // namespace cryo
