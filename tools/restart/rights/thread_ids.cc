// SPDX-License-Identifier: GPL-2.0-only
#include "restart/rights/thread_ids.h"

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

namespace cryo {

std::uint32_t set_fsuid(std::uint32_t uid) {
  return static_cast<std::uint32_t>(::syscall(SYS_setfsuid, uid));
}

std::uint32_t set_fsgid(std::uint32_t gid) {
  return static_cast<std::uint32_t>(::syscall(SYS_setfsgid, gid));
}

bool set_uids(std::uint32_t real, std::uint32_t effective, std::uint32_t saved) {
  return ::syscall(SYS_setresuid, real, effective, saved) == 0;
}

bool set_gids(std::uint32_t real, std::uint32_t effective, std::uint32_t saved) {
  return ::syscall(SYS_setresgid, real, effective, saved) == 0;
}

bool set_groups(const std::vector<std::uint32_t>& groups) {
  return ::syscall(SYS_setgroups, groups.size(), groups.data()) == 0;
}

std::vector<std::uint32_t> own_groups() {
  std::vector<std::uint32_t> groups(static_cast<std::size_t>(std::max(0, ::getgroups(0, nullptr))));
  const int got = ::getgroups(static_cast<int>(groups.size()), groups.data());
  groups.resize(static_cast<std::size_t>(std::max(0, got)));
  return groups;
}

bool set_capabilities(std::uint64_t effective, std::uint64_t permitted, std::uint64_t inheritable) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
  for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; ++i)
    data[i] = {static_cast<__u32>(effective >> (32 * i)), static_cast<__u32>(permitted >> (32 * i)),
               static_cast<__u32>(inheritable >> (32 * i))};
  return ::syscall(SYS_capset, &header, data) == 0;
}

}  // namespace cryo
