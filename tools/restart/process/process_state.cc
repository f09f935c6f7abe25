// SPDX-License-Identifier: GPL-2.0-only
#include "restart/process/process_state.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "base/error.h"
#include "base/unique_fd.h"
#include "restart/common/proc_files.h"
#include "restart/rights/credentials.h"

namespace cryo {

bool is_of_machine(std::uint32_t resource) {
  return resource == RLIMIT_NPROC || resource == RLIMIT_SIGPENDING;
}

void raise_limits(const Process& process) {
  for (std::uint32_t i = 0; i < process.rlimits.size(); ++i) {
    const auto resource = static_cast<__rlimit_resource_t>(i);
    rlimit limit;
    if (::getrlimit(resource, &limit) != 0) fail_errno("cannot read limit {}", i);
    const rlim_t own = limit.rlim_max;
    const rlim_t before = limit.rlim_cur;
    limit.rlim_max = std::max<rlim_t>(own, process.rlimits[i].max);
    limit.rlim_cur = i == RLIMIT_CORE ? 0 : limit.rlim_max;
    if (limit.rlim_max == own && limit.rlim_cur == before) continue;
    if (::setrlimit(resource, &limit) == 0) continue;
    if (errno != EPERM || !is_of_machine(i))
      fail_errno("cannot set the hard limit of {} to {}", limit_name(i), limit.rlim_max);
    limit = {own, own};  // the check has warned
    if (::setrlimit(resource, &limit) != 0)
      fail_errno("cannot set the hard limit of {} to {}", limit_name(i), own);
  }
}

cryo_rlimit limit_here(const Process& process, std::uint32_t resource) {
  cryo_rlimit limit = process.rlimits[resource];
  rlimit own;
  if (!is_of_machine(resource) || ::getrlimit(static_cast<__rlimit_resource_t>(resource), &own) != 0)
    return limit;
  limit.max = std::min<std::uint64_t>(limit.max, own.rlim_max);
  limit.cur = std::min(limit.cur, limit.max);
  return limit;
}

namespace {

// Session keyrings outlast setuid(2): a job of another user would find the keys of the administrator who
// restarts it.
void leave_session_keyring(const Process& process) {
  const cryo_creds& to = process.creds->head;
  const uid_t own = ::getuid();
  const bool is_own = process.namespaces.user == 0 && to.uid == own && to.euid == own && to.suid == own;
  if (is_own || (::geteuid() != 0 && !is_capable(CAP_SETUID))) return;
  if (::syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr) < 0 && errno != ENOSYS &&
      errno != EOPNOTSUPP)
    fail_errno("pid {}: cannot get a session keyring of its own", process.head.pid);
}

}  // namespace

void restore_attributes(const Process& process) {
  leave_session_keyring(process);
  const cryo_process& head = process.head;
  const UniqueFd oom = open_proc("self/oom_score_adj", O_RDWR);
  char text[16] = {};
  if (oom && ::read(oom.get(), text, sizeof(text) - 1) > 0 && std::atoi(text) != head.oom_score_adj) {
    const std::string value = std::to_string(head.oom_score_adj);
    // Lowering it takes a capability; the check has warned.
    if (::pwrite(oom.get(), value.data(), value.size(), 0) < 0 && errno != EACCES)
      fail_errno("cannot set oom_score_adj to {}", value);
  }
  if (::prctl(PR_SET_CHILD_SUBREAPER, (head.flags & CRYO_PROC_CHILD_SUBREAPER) ? 1 : 0, 0, 0, 0) != 0)
    fail_errno("PR_SET_CHILD_SUBREAPER");
  if ((head.flags & CRYO_PROC_NO_NEW_PRIVS) && ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    fail_errno("PR_SET_NO_NEW_PRIVS");
  const int personality = ::personality(0xffffffff);
  if ((personality & READ_IMPLIES_EXEC) && ::personality(personality & ~READ_IMPLIES_EXEC) < 0)
    fail_errno("cannot set the personality");
}

void restore_umask(const Process& process) {
  ::umask(process.head.umask & 07777);
}

std::string limit_name(std::uint32_t resource) {
  static constexpr const char* kNames[] = {"CPU time (RLIMIT_CPU)",
                                           "file size (RLIMIT_FSIZE)",
                                           "data segment (RLIMIT_DATA)",
                                           "stack (RLIMIT_STACK)",
                                           "core file (RLIMIT_CORE)",
                                           "resident set (RLIMIT_RSS)",
                                           "processes (RLIMIT_NPROC)",
                                           "open files (RLIMIT_NOFILE)",
                                           "locked memory (RLIMIT_MEMLOCK)",
                                           "address space (RLIMIT_AS)",
                                           "file locks (RLIMIT_LOCKS)",
                                           "pending signals (RLIMIT_SIGPENDING)",
                                           "message queues (RLIMIT_MSGQUEUE)",
                                           "nice value (RLIMIT_NICE)",
                                           "real-time priority (RLIMIT_RTPRIO)",
                                           "real-time run time (RLIMIT_RTTIME)"};
  return resource < std::size(kNames) ? kNames[resource] : fmt::format("resource {}", resource);
}

std::string limit_option(std::uint32_t resource) {
  static constexpr const char* kOptions[] = {"cpu",      "fsize",  "data",    "stack", "core",  "rss",
                                             "nproc",    "nofile", "memlock", "as",    "locks", "sigpending",
                                             "msgqueue", "nice",   "rtprio",  "rttime"};
  return resource < std::size(kOptions) ? kOptions[resource] : fmt::format("{}", resource);
}

}  // namespace cryo
