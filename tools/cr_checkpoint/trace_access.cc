// SPDX-License-Identifier: GPL-2.0-only
#include "cr_checkpoint/trace_access.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string_view>

#include "base/consent.h"

namespace cryo {

std::string yama_hint() {
  switch (yama_level()) {
    case 0:
      return {};
    case 1:
      return " (kernel.yama.ptrace_scope is 1: start the program by cr_run, or have CAP_SYS_PTRACE)";
    case 2:
      return " (kernel.yama.ptrace_scope is 2: that requires CAP_SYS_PTRACE)";
    default:
      return " (kernel.yama.ptrace_scope is 3: tracing is disabled until the next boot)";
  }
}

namespace {

// All three have to be the real one of who traces.
struct TraceIds {
  unsigned real = 0, effective = 0, saved = 0;

  [[nodiscard]] bool are_one() const { return effective == real && saved == real; }
  [[nodiscard]] bool are(unsigned id) const { return real == id && are_one(); }
  [[nodiscard]] std::string text() const {
    return are_one() ? fmt::format("{}", real)
                     : fmt::format("{} (effective {}, saved {})", real, effective, saved);
  }
};

// Of /proc/PID/status.
struct TraceRights {
  bool known = false;
  TraceIds user, group;
  unsigned long long permitted = 0;
};

TraceRights rights_of(std::string_view pid) {
  TraceRights rights;
  TraceIds& user = rights.user;
  TraceIds& group = rights.group;
  bool has_user = false, has_group = false;
  std::ifstream file(fmt::format("/proc/{}/status", pid));
  for (std::string line; std::getline(file, line);) {
    has_user |= std::sscanf(line.c_str(), "Uid: %u %u %u", &user.real, &user.effective, &user.saved) == 3;
    has_group |= std::sscanf(line.c_str(), "Gid: %u %u %u", &group.real, &group.effective, &group.saved) == 3;
    (void)std::sscanf(line.c_str(), "CapPrm: %llx", &rights.permitted);
  }
  rights.known = has_user && has_group;
  return rights;
}

// The files of such a process are root's, but for its directory itself.
bool is_not_dumpable(pid_t pid, const TraceRights& rights) {
  struct stat status {};
  return ::stat(fmt::format("/proc/{}/status", pid).c_str(), &status) == 0 &&
         status.st_uid != rights.user.effective;
}

std::string other_ids(const TraceRights& rights) {
  if (!rights.user.are(::getuid()))
    return fmt::format(
        "runs as user {}, cr_checkpoint as user {}: you may not trace it (run cr_checkpoint as {})",
        rights.user.text(), ::getuid(),
        rights.user.are_one() && rights.user.real != 0 ? "that user or as root" : "root");
  if (!rights.group.are(::getgid()))
    return fmt::format("runs with group {}, cr_checkpoint with group {}: you may not trace it ({})",
                       rights.group.text(), ::getgid(),
                       rights.group.are_one() ? "sg GROUP -c \"cr_checkpoint ...\" runs it with that group"
                                              : "run cr_checkpoint as root");
  return {};
}

}  // namespace

std::string why_not_traced(pid_t pid) {
  constexpr int kNobody = 3;
  const std::string hint = yama_hint();
  const TraceRights rights = rights_of(fmt::format("{}", pid));
  if (yama_level() < kNobody) {
    if (!rights.known) return "belongs to another user or is protected: you may not trace it";
    if (std::string text = other_ids(rights); !text.empty()) return text;
    if (is_not_dumpable(pid, rights))
      return "is not dumpable (PR_SET_DUMPABLE of prctl(2)): you may not trace it (run cr_checkpoint as "
             "root)";
  }
  if (!hint.empty()) return "cannot be checkpointed: you may not trace it" + hint;
  if ((rights.permitted & ~rights_of("self").permitted) != 0)
    return "has capabilities that cr_checkpoint lacks: you may not trace it (run cr_checkpoint as root)";
  return "is protected by its user namespace or a security module: you may not trace it";
}

}  // namespace cryo
