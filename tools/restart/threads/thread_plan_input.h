// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <map>
#include <optional>
#include <set>

#include "context/model.h"
#include "restart/common/options.h"
#include "restart/memory/vdso.h"
#include "restart/rights/credentials.h"
#include "restart/threads/thread_fs.h"

namespace cryo {

struct ThreadPlanInput {
  const Context& context;
  const Process& process;
  const RestartOptions& options;
  CredentialChange credentials;
  std::vector<std::int32_t> nice_not_permitted;  // tids that keep the nice value they have
  int handle_fd = -1;
  int exe_fd = -1;
  int device_fd = -1;
  const std::map<std::uint32_t, int>& fds;  // by file id
  // The main thread of its parent exits once more, which must not be taken for the parent's death: the
  // module sets the death signals.
  bool late_death_signal = false;
  const ThreadDirectories& directories;
  std::set<std::int32_t> holders{};      // threads for which the others wait, if they do
  std::optional<CodeMove> moved_code{};  // for threads that are in it
};

}  // namespace cryo
