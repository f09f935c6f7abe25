// SPDX-License-Identifier: GPL-2.0-only
#include "restart/rights/thread_ids.h"

#include <linux/capability.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/error.h"

namespace cryo {
namespace {

// Of this thread: one that is created, a CLONE_VM child too, has storage of its own, and asks.
thread_local std::optional<ThreadCredentials> g_known;

void read_capabilities(ThreadCredentials& now) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
  if (::syscall(SYS_capget, &header, data) != 0) fail_errno("capget");
  for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; ++i) {
    now.effective |= std::uint64_t{data[i].effective} << (32 * i);
    now.permitted |= std::uint64_t{data[i].permitted} << (32 * i);
    now.inheritable |= std::uint64_t{data[i].inheritable} << (32 * i);
  }
}

ThreadCredentials ask() {
  ThreadCredentials now;
  read_capabilities(now);
  now.fsuid = set_fsuid(kAsk);
  now.fsgid = set_fsgid(kAsk);
  if (::getresuid(&now.uid, &now.euid, &now.suid) != 0 || ::getresgid(&now.gid, &now.egid, &now.sgid) != 0)
    fail_errno("cannot ask for the user and group ids");
  now.groups = own_groups();
  return now;
}

}  // namespace

std::uint32_t set_fsuid(std::uint32_t uid) {
  if (uid != kAsk) g_known.reset();
  return static_cast<std::uint32_t>(::syscall(SYS_setfsuid, uid));
}

std::uint32_t set_fsgid(std::uint32_t gid) {
  if (gid != kAsk) g_known.reset();
  return static_cast<std::uint32_t>(::syscall(SYS_setfsgid, gid));
}

bool set_uids(std::uint32_t real, std::uint32_t effective, std::uint32_t saved) {
  g_known.reset();
  return ::syscall(SYS_setresuid, real, effective, saved) == 0;
}

bool set_gids(std::uint32_t real, std::uint32_t effective, std::uint32_t saved) {
  g_known.reset();
  return ::syscall(SYS_setresgid, real, effective, saved) == 0;
}

bool set_groups(std::span<const std::uint32_t> groups) {
  g_known.reset();
  return ::syscall(SYS_setgroups, groups.size(), groups.data()) == 0;
}

GroupList own_groups() {
  GroupList groups(static_cast<std::size_t>(std::max(0, ::getgroups(0, nullptr))));
  const int got = ::getgroups(static_cast<int>(groups.size()), groups.data());
  groups.resize(static_cast<std::size_t>(std::max(0, got)));
  return groups;
}

bool set_capabilities(std::uint64_t effective, std::uint64_t permitted, std::uint64_t inheritable) {
  g_known.reset();
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
  for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; ++i)
    data[i] = {static_cast<__u32>(effective >> (32 * i)), static_cast<__u32>(permitted >> (32 * i)),
               static_cast<__u32>(inheritable >> (32 * i))};
  return ::syscall(SYS_capset, &header, data) == 0;
}

bool make_namespaces(int types) {
  g_known.reset();
  return ::unshare(types) == 0;
}

bool enter_namespace(int fd, int type) {
  g_known.reset();
  return ::setns(fd, type) == 0;
}

const ThreadCredentials& thread_credentials() {
  if (!g_known) g_known = ask();
  return *g_known;
}

void remember_thread_credentials(ThreadCredentials known) {
  g_known = std::move(known);
}

}  // namespace cryo
