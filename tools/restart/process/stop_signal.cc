// SPDX-License-Identifier: GPL-2.0-only
#include "restart/process/stop_signal.h"

#include <dirent.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>

namespace cryo {
namespace {

struct Ids {
  std::int32_t ppid = 0, pgid = 0, sid = 0;
};

std::optional<Ids> ids_of(const std::string& pid) {
  std::ifstream file("/proc/" + pid + "/stat");
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  std::istringstream rest(line.substr(line.rfind(')') + 1));
  std::string state;
  Ids ids;
  if (!(rest >> state >> ids.ppid >> ids.pgid >> ids.sid)) return std::nullopt;
  return ids;
}

// Terminal stop signals do not stop a process of a group that nobody in its session could continue.
bool is_orphaned(std::int32_t pgid) {
  const std::unique_ptr<DIR, int (*)(DIR*)> proc(::opendir("/proc"), ::closedir);
  while (const dirent* entry = proc ? ::readdir(proc.get()) : nullptr) {
    const auto member = std::atoi(entry->d_name) > 0 ? ids_of(entry->d_name) : std::nullopt;
    if (!member || member->pgid != pgid || member->ppid <= 1) continue;
    const auto parent = ids_of(std::to_string(member->ppid));
    if (parent && parent->pgid != pgid && parent->sid == member->sid) return false;
  }
  return true;
}

}  // namespace

int stop_signal(const Process& process, std::int32_t pid, bool told) {
  const int signal = process.head.stop_signal;
  if (signal != SIGTSTP && signal != SIGTTIN && signal != SIGTTOU) return SIGSTOP;
  if (told) return signal;
  const std::uint64_t bit = 1ULL << (signal - 1);
  const bool blocked = std::all_of(process.threads.begin(), process.threads.end(),
                                   [bit](const Thread& thread) { return thread.head.sigmask & bit; });
  const auto index = static_cast<std::size_t>(signal) - 1;
  const bool handled = index < process.sigactions.size() && process.sigactions[index].handler != 0;
  const auto ids = ids_of(std::to_string(pid));
  return blocked || handled || !ids || is_orphaned(ids->pgid) ? SIGSTOP : signal;
}

}  // namespace cryo
