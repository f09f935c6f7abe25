// SPDX-License-Identifier: GPL-2.0-only
// Seccomp of a thread.
#include <linux/filter.h>
#include <linux/seccomp.h>

#include <limits>

#include "context/staging.h"

namespace cryo {
namespace {

static_assert(sizeof(sock_filter) == CRYO_SECCOMP_INSTRUCTION);

SeccompFilter take_filter(Staging& staging, const Payload& payload, std::span<const std::byte>& rest) {
  if (rest.size() < sizeof(cryo_seccomp_filter)) payload.damaged("a filter is outside of it");
  const auto head = grown<cryo_seccomp_filter>(rest.first(sizeof(cryo_seccomp_filter)));
  rest = rest.subspan(sizeof(head));
  if (head.length == 0 || head.length > BPF_MAXINSNS)
    payload.damaged("a filter of {} instructions", head.length);
  const std::size_t bytes = std::size_t{head.length} * CRYO_SECCOMP_INSTRUCTION;
  if (rest.size() < bytes) payload.damaged("a filter of {} instructions is outside of it", head.length);
  if (head.flags & ~SECCOMP_FILTER_FLAG_LOG)
    staging.unknown(payload.section(), "a filter with unknown flags {:#x}", head.flags);
  SeccompFilter filter{head.flags, std::vector<std::uint64_t>(head.length)};
  std::memcpy(filter.program.data(), rest.data(), bytes);
  rest = rest.subspan(bytes);
  return filter;
}

}  // namespace

void parse_seccomp(Staging& staging, const Payload& payload) {
  staging.once(payload);
  if (payload.object() == 0 || payload.object() > std::numeric_limits<std::int32_t>::max())
    payload.damaged("{} cannot be a thread", payload.object());
  const auto head = payload.fixed<cryo_seccomp>();
  if (head.mode != SECCOMP_MODE_STRICT && head.mode != SECCOMP_MODE_FILTER)
    payload.damaged("mode {} is none", head.mode);
  if ((head.mode == SECCOMP_MODE_FILTER) != (head.filters != 0))
    payload.damaged("mode {} with {} filters", head.mode, head.filters);
  if (head.shared > head.filters || (head.shared != 0) != (head.shared_with != 0))
    payload.damaged("{} of {} filters are those of thread {}", head.shared, head.filters, head.shared_with);
  Seccomp seccomp{head.mode, {}, head.shared_with, head.shared};
  auto rest = payload.tail();
  for (std::uint32_t i = 0; i < head.filters; ++i)
    seccomp.filters.push_back(take_filter(staging, payload, rest));
  if (!rest.empty()) payload.damaged("{} bytes after the last filter", rest.size());
  staging.threads.mention(static_cast<std::int32_t>(payload.object()), payload.section()).seccomp =
      std::move(seccomp);
}

}  // namespace cryo
