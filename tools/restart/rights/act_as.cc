// SPDX-License-Identifier: GPL-2.0-only
#include "restart/rights/act_as.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "restart/rights/credentials.h"
#include "restart/rights/rights.h"

namespace cryo {

ActAs::ActAs(const Context& context, std::uint32_t uid, std::uint32_t gid) {
  if (::geteuid() != 0 || ::getuid() != 0 || uid == 0) return;
  kept_.emplace();
  if (kept_->take(rights_of_user(context, uid, gid), Extent::kMaker)) return;
  // Who has no number in the user namespace that this is root of: nobody takes that for root of the machine.
  const int error = errno;
  if (has_number(own_id_maps().uids, uid))
    fail(error, "cannot act as user {} for the moment: {}", uid, errno_text(error));
  kept_.reset();
}

}  // namespace cryo
