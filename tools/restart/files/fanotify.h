// SPDX-License-Identifier: GPL-2.0-only
// fanotify groups: made and marked by cr_restart itself, which has the privileges and reads no file any more
// when a mark may make whoever does so wait for the job.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "context/model.h"
#include "restart/common/relocate.h"

namespace cryo {

class FanotifyGroups {
 public:
  // All groups of the context, without marks.  Throws Error.
  explicit FanotifyGroups(const Context& context);

  // By file id: for the maker, which inherits them.
  [[nodiscard]] const std::map<std::uint32_t, UniqueFd>& descriptors() const { return groups_; }

  // When everything is there, right before the job goes on.  Throws Error.
  void set_marks(const Context& context, const Relocations& relocations);

  // The job's own descriptors keep them from now on.
  void close() { groups_.clear(); }

 private:
  std::map<std::uint32_t, UniqueFd> groups_;
};

// How many of them can be made now: fewer than all where their users may have no more.
[[nodiscard]] std::size_t fanotify_groups_to_be_had(const Context& context);

// What will keep it from being made again; empty: nothing that can be known.
[[nodiscard]] std::vector<std::string> fanotify_problems(const Fanotify& group,
                                                         const Relocations& relocations, const Creds& own);

}  // namespace cryo
