// SPDX-License-Identifier: GPL-2.0-only
// Rings with a thread of the kernel that submits (IORING_SETUP_SQPOLL): made by the process that has them.
#pragma once

#include <map>

#include "base/unique_fd.h"
#include "context/model.h"
#include "restart/common/descriptors.h"
#include "restart/files/files.h"
#include "restart/rights/credentials.h"

namespace cryo {

struct PolledRingsInput {
  const Context& context;  // as the process sees it
  const Context& whole;    // with the ids of all namespaces
  std::size_t index;       // of the process
  const CredentialChange& credentials;
  const Descriptors& descriptors;
  const std::map<std::uint32_t, UniqueFd>& files;  // of the job, by id
  int handle_fd;
  bool restore_ids;
};

// By file id, parked. In the process, when all others exist, but none of its threads.
[[nodiscard]] std::map<std::uint32_t, UniqueFd> make_polled_rings(const PolledRingsInput& input);

}  // namespace cryo
