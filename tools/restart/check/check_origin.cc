// SPDX-License-Identifier: GPL-2.0-only
// Who can have written a context, where a privileged caller restarts it: a context says with which ids and
// capabilities its processes go on, and which files they had open.
#include "context/origin.h"
#include "restart/check/check.h"
#include "restart/rights/credentials.h"

namespace cryo {

void check_origin_of(const Source& source, const RestartOptions& options, const Creds& own,
                     Findings& findings) {
  const std::string why = is_privileged(own) ? untrusted_writer(source.file()) : "";
  if (why.empty()) return;
  if (options.other_owner == Tolerance::kWarn)
    findings.warning("{} {}: it may have been forged", source.name(), why);
  else
    findings.problem(EPERM,
                     "{} {}, and what it states would be done with the rights of user {}: restart it as its "
                     "owner (runuser -u USER -- cr_restart FILE), or, if it cannot have been forged, with "
                     "--other-owner=warn",
                     source.name(), why, own.head.euid);
}

void check_origin(const Context& context, const Chain& chain, const RestartOptions& options, const Creds& own,
                  Findings& findings) {
  for (std::uint32_t number = 0; number <= context.ancestors.size(); ++number)
    check_origin_of(chain.numbered(number), options, own, findings);
}

}  // namespace cryo
