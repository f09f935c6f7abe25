// SPDX-License-Identifier: GPL-2.0-only
// Who can have written a context, where a privileged caller restarts it: a context says with which ids and
// capabilities its processes go on, and which files they had open.
#include <sys/stat.h>

#include "restart/check.h"
#include "restart/credentials.h"

namespace cryo {
namespace {

// Empty: nobody who is not trusted. A pipe or socket belongs to whoever made it.
std::string untrusted_writer(const Source& source, const Creds& own) {
  if (source.owner() != 0 && source.owner() != own.head.euid)
    return fmt::format("belongs to user {}", source.owner());
  const bool has_name = S_ISREG(source.mode()) || S_ISFIFO(source.mode());
  if (has_name && (source.mode() & (S_IWGRP | S_IWOTH)) != 0)
    return fmt::format("can be written to by others (mode {:04o})", source.mode() & 07777);
  return {};
}

}  // namespace

void check_origin(const Context& context, const Chain& chain, const RestartOptions& options, const Creds& own,
                  Findings& findings) {
  if (!is_privileged(own)) return;
  for (std::uint32_t number = 0; number <= context.ancestors.size(); ++number) {
    const Source& source = chain.numbered(number);
    const std::string why = untrusted_writer(source, own);
    if (why.empty()) continue;
    if (options.other_owner == Tolerance::kWarn)
      findings.warning("{} {}: somebody may have forged it", source.name(), why);
    else
      findings.problem(
          EPERM,
          "{} {}, and what it states would be done with the rights of user {}: restart it as its "
          "owner (runuser -u USER -- cr_restart FILE), or, if nobody can have forged it, with "
          "--other-owner=warn",
          source.name(), why, own.head.euid);
  }
}

}  // namespace cryo
