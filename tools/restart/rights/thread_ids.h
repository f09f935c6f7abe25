// SPDX-License-Identifier: GPL-2.0-only
// Credentials of the calling thread alone: the raw system calls, as the C library's change those of all
// threads (nptl(7)). Where they return bool, false is a failure with errno set.
#pragma once

#include <cstdint>
#include <vector>

namespace cryo {

inline constexpr auto kAsk = static_cast<std::uint32_t>(-1);  // as an id: no change

// They return the id that was in effect before, whether or not it was changed.
std::uint32_t set_fsuid(std::uint32_t uid);
std::uint32_t set_fsgid(std::uint32_t gid);
bool set_uids(std::uint32_t real, std::uint32_t effective, std::uint32_t saved);
bool set_gids(std::uint32_t real, std::uint32_t effective, std::uint32_t saved);
bool set_groups(const std::vector<std::uint32_t>& groups);
std::vector<std::uint32_t> own_groups();
bool set_capabilities(std::uint64_t effective, std::uint64_t permitted, std::uint64_t inheritable);

}  // namespace cryo
