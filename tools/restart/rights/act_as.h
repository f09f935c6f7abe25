// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <optional>

#include "context/model.h"
#include "restart/rights/names.h"

namespace cryo {

// For the time being, the user whom SO_PEERCRED is to show, with his groups (SO_PEERGROUPS); when the caller
// has no such rights, it is himself. It says nothing about the rights to names in the file system, see
// names.h.
class ActAs {
 public:
  ActAs(const Context& context, std::uint32_t uid, std::uint32_t gid);

 private:
  std::optional<RightsKept> kept_;
};

}  // namespace cryo
