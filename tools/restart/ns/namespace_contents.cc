// SPDX-License-Identifier: GPL-2.0-only
#include "restart/ns/namespace_contents.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <net/if.h>
#include <sched.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <sstream>
#include <string_view>

#include "base/error.h"
#include "base/unique_fd.h"
#include "base/units.h"
#include "restart/cgroups/cgroup.h"
#include "restart/common/child_end.h"
#include "restart/common/helper_process.h"
#include "restart/common/proc_files.h"
#include "restart/rights/credentials.h"
#include "restart/rights/thread_ids.h"

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif

namespace cryo {
namespace {

constexpr const char* kUserMapper = "newuidmap";
constexpr const char* kGroupMapper = "newgidmap";

std::int64_t now(clockid_t clock) {
  timespec time{};
  if (::clock_gettime(clock, &time) != 0) fail_errno("cannot read clock {}", clock);
  return time.tv_sec * kNsPerSec + time.tv_nsec;
}

// At once: what takes part of it is no file for that.
void write_file(const std::string& path, const std::string& text) {
  const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd || ::write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    fail_errno("cannot write to {}", path);
}

// Its rights may be root's, although what is there already is right.
void set_value(const std::string& path, const std::string& value) {
  std::ifstream file(path);
  std::string text, word;
  while (file >> word) text += text.empty() ? word : " " + word;
  if (text != value) write_file(path, value);
}

std::string ranges_text(const std::vector<cryo_id_range>& ranges) {
  std::string text;
  for (const cryo_id_range& range : ranges)
    text += fmt::format("{} {} {}\n", range.first, range.lower_first, range.count);
  return text;
}

template <std::size_t N>
std::string_view text_of(const __u8 (&field)[N]) {
  const char* text = reinterpret_cast<const char*>(field);
  return {text, ::strnlen(text, N)};
}

// A program that may map what /etc/subuid and /etc/subgid grant.
void call_mapper(const char* mapper, pid_t pid, const std::vector<cryo_id_range>& ranges) {
  std::vector<std::string> words{mapper, fmt::format("{}", pid)};
  for (const cryo_id_range& range : ranges)
    for (const std::uint32_t number : {range.first, range.lower_first, range.count})
      words.push_back(fmt::format("{}", number));
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t child = -1;
  const int error = ::posix_spawnp(&child, mapper, nullptr, nullptr, arguments.data(), environ);
  if (error != 0) fail(error, "cannot run {}", mapper);
  if (wait_for_end(child) != 0) fail(EPERM, "{} failed", mapper);
}

void write_map(const char* file, const char* mapper, pid_t pid, const std::vector<cryo_id_range>& ranges,
               bool mapped_by_it) {
  if (ranges.empty()) return;
  if (mapped_by_it) return call_mapper(mapper, pid, ranges);
  write_file(fmt::format("/proc/{}/{}", pid, file), ranges_text(ranges));
}

// In the namespace above the new one.
int write_maps(pid_t pid, const Namespace& ns, bool by_mappers) {
  try {
    if (!(ns.user->flags & CRYO_USER_SETGROUPS)) write_file(fmt::format("/proc/{}/setgroups", pid), "deny");
    write_map("uid_map", kUserMapper, pid, ns.uids, by_mappers);
    write_map("gid_map", kGroupMapper, pid, ns.gids, by_mappers);
    return 0;
  } catch (const Error& error) {
    return error.code();
  }
}

}  // namespace

// Without capabilities only one's own id can be mapped, in a single range, and a group when setgroups() is
// denied.
bool needs_mappers(const Namespace& ns, const Creds& own) {
  const auto is_own = [](const std::vector<cryo_id_range>& ranges, std::uint32_t id) {
    return ranges.empty() ||
           (ranges.size() == 1 && ranges.front().count == 1 && ranges.front().lower_first == id);
  };
  const bool deny = !(ns.user->flags & CRYO_USER_SETGROUPS);
  const bool own_gids = ns.gids.empty() || (is_own(ns.gids, own.head.egid) && deny);
  return (!is_own(ns.uids, own.head.euid) && !capable(own, CAP_SETUID)) ||
         (!own_gids && !capable(own, CAP_SETGID));
}

bool has_mappers() {
  const char* text = std::getenv("PATH");
  std::istringstream path(text == nullptr ? "" : text);
  bool users = false, groups = false;
  for (std::string directory; std::getline(path, directory, ':');) {
    users |= ::access((directory + "/" + kUserMapper).c_str(), X_OK) == 0;
    groups |= ::access((directory + "/" + kGroupMapper).c_str(), X_OK) == 0;
  }
  return users && groups;
}

const char* namespace_name(std::uint32_t type) {
  switch (type) {
    case CLONE_NEWUSER:
      return "user";
    case CLONE_NEWUTS:
      return "uts";
    case CLONE_NEWIPC:
      return "ipc";
    case CLONE_NEWNET:
      return "network";
    case CLONE_NEWCGROUP:
      return "cgroup";
    case CLONE_NEWTIME:
      return "time";
    case CLONE_NEWPID:
      return "pid";
    case CLONE_NEWNS:
      return "mount";
    default:
      return "unknown";
  }
}

// Offsets are counted from the machine's own clocks, ours may have some already: those which the new
// namespace has got from us.
void set_clocks(const Clocks& clocks) {
  std::istringstream file(read_proc("self/timens_offsets"));
  std::string text;
  std::string name;
  for (std::int64_t seconds = 0, ns = 0; file >> name >> seconds >> ns;) {
    const bool monotonic = name == "monotonic";
    const std::int64_t machine =
        now(monotonic ? CLOCK_MONOTONIC : CLOCK_BOOTTIME) - (seconds * kNsPerSec + ns);
    const std::int64_t offset = (monotonic ? clocks.monotonic_ns : clocks.boottime_ns) - machine;
    const std::int64_t down = offset >= 0 ? offset / kNsPerSec : -((-offset + kNsPerSec - 1) / kNsPerSec);
    text += fmt::format("{} {} {}\n", name, down, offset - down * kNsPerSec);
  }
  if (text.empty()) fail_errno("cannot read /proc/self/timens_offsets");
  const UniqueFd out = open_proc("self/timens_offsets", O_WRONLY);
  if (!out || ::write(out.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    fail_errno("cannot set the clocks of a time namespace");
}

void fill_uts(const cryo_ns_uts& uts) {
  const std::string_view node = text_of(uts.nodename);
  const std::string_view domain = text_of(uts.domainname);
  if (::sethostname(node.data(), node.size()) != 0) fail_errno("cannot set the host name");
  if (::setdomainname(domain.data(), domain.size()) != 0) fail_errno("cannot set the domain name");
}

void fill_ipc(const cryo_ns_ipc& ipc) {
  const std::string kernel = "/proc/sys/kernel/";
  const std::string mqueue = "/proc/sys/fs/mqueue/";
  set_value(kernel + "shmmax", fmt::format("{}", ipc.shmmax));
  set_value(kernel + "shmall", fmt::format("{}", ipc.shmall));
  set_value(kernel + "shmmni", fmt::format("{}", ipc.shmmni));
  set_value(kernel + "shm_rmid_forced", fmt::format("{}", ipc.shm_rmid_forced));
  set_value(kernel + "sem", fmt::format("{}", fmt::join(ipc.sem, " ")));
  set_value(kernel + "msgmax", fmt::format("{}", ipc.msgmax));
  set_value(kernel + "msgmnb", fmt::format("{}", ipc.msgmnb));
  set_value(kernel + "msgmni", fmt::format("{}", ipc.msgmni));
  if (::access(mqueue.c_str(), F_OK) != 0) return;
  set_value(mqueue + "queues_max", fmt::format("{}", ipc.queues_max));
  set_value(mqueue + "msg_max", fmt::format("{}", ipc.msg_max));
  set_value(mqueue + "msgsize_max", fmt::format("{}", ipc.msgsize_max));
  set_value(mqueue + "msg_default", fmt::format("{}", ipc.msg_default));
  set_value(mqueue + "msgsize_default", fmt::format("{}", ipc.msgsize_default));
}

// Some may only have what suits others: these come again.
void fill_settings(const std::vector<std::pair<std::string, std::string>>& settings) {
  const auto path = [](const std::string& name) { return "/proc/sys/net/" + name; };
  for (int round = 0; round < 2; ++round)
    for (const auto& [name, value] : settings) {
      if (::access(path(name).c_str(), F_OK) != 0) continue;  // of what this kernel does not have
      try {
        set_value(path(name), value);
      } catch (const Error&) {
        if (round != 0) throw;
      }
    }
}

void fill_net(const cryo_ns_net& net) {
  if (!(net.flags & CRYO_NET_LOOPBACK_UP)) return;
  const UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  std::strncpy(request.ifr_name, "lo", sizeof(request.ifr_name) - 1);
  if (!socket || ::ioctl(socket.get(), SIOCGIFFLAGS, &request) != 0)
    fail_errno("cannot inspect the loopback device");
  request.ifr_flags = static_cast<short>(request.ifr_flags | IFF_UP);
  if (::ioctl(socket.get(), SIOCSIFFLAGS, &request) != 0) fail_errno("cannot bring up the loopback device");
}

void enter_cgroup_root(const std::string& path) {
  if (cgroup_obstacle(path).empty()) join_cgroup(path);
}

void unshare_users(const Namespace& ns, const std::function<void()>& become_owner) {
  const pid_t pid = ::getpid();
  const bool by_mappers = ns.head.owner == 0 && needs_mappers(ns, own_credentials());
  Assistant writer([&] { return write_maps(pid, ns, by_mappers); });
  if (ns.head.owner == 0 && ns.user->owner_uid != ::geteuid() && !set_uids(kAsk, ns.user->owner_uid, kAsk))
    fail_errno("cannot become user {}, who made its user namespace", ns.user->owner_uid);
  if (ns.head.owner != 0) become_owner();
  if (!make_namespaces(CLONE_NEWUSER)) fail_errno("cannot create a user namespace");
  errno = writer.run();
  if (errno != 0) fail_errno("cannot map the ids of its user namespace");
}

}  // namespace cryo
