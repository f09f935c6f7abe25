// SPDX-License-Identifier: GPL-2.0-only
#include "restart/rights/own_proc.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>

#include "base/parse.h"

namespace cryo {
namespace {

constexpr std::string_view kProcRoot = "/proc/";
constexpr std::string_view kTaskPart = "task/";

// /proc/PID[/task/TID][/NAME]
struct ProcFile {
  std::int32_t pid = 0;
  std::int32_t tid = 0;  // 0: no task/TID
  std::string name;      // "": the directory itself
};

std::optional<std::int32_t> take_id(std::string& text) {
  const std::size_t end = std::min(text.find('/'), text.size());
  const auto number = parse_number<std::int32_t>(text.substr(0, end));
  if (number) text.erase(0, std::min(end + 1, text.size()));
  return number;
}

std::optional<ProcFile> parse_proc_path(const std::string& path) {
  if (!path.starts_with(kProcRoot)) return {};
  ProcFile file;
  file.name = path.substr(kProcRoot.size());
  const auto pid = take_id(file.name);
  if (!pid) return {};
  file.pid = *pid;
  // It is opened with more rights than the process has: it lies where it says.
  if (("/" + file.name + "/").find("/../") != std::string::npos) return {};
  if (!file.name.starts_with(kTaskPart)) return file;
  std::string rest = file.name.substr(kTaskPart.size());
  if (const auto tid = take_id(rest)) {
    file.tid = *tid;
    file.name = rest;
  }
  return file;
}

// Also one that has exited and was not waited for.
const Process* process_with(const Context& context, std::int32_t id) {
  for (const Process& process : context.processes) {
    if (process.threads.empty() && process.head.pid == id) return &process;
    for (const Thread& thread : process.threads)
      if (thread.head.tid == id) return &process;
  }
  return nullptr;
}

// What all may open, and what tells them no more than it does whoever reads it: the kernel asks then, if at
// all.
bool is_for_all(const ProcFile& file, int flags) {
  static constexpr std::string_view kNames[] = {
      "",          "task",   "stat",      "statm",     "status",  "comm",      "cmdline",       "limits",
      "cgroup",    "cpuset", "mountinfo", "mounts",    "sched",   "oom_score", "oom_score_adj", "oom_adj",
      "schedstat", "wchan",  "loginuid",  "sessionid", "children"};
  return (flags & O_ACCMODE) == O_RDONLY &&
         std::find(std::begin(kNames), std::end(kNames), file.name) != std::end(kNames);
}

bool has_cap(std::uint64_t capabilities, int capability) {
  return (capabilities >> capability & 1) != 0;
}

// As ptrace(2): all ids of the other one are its own, and it has all of his capabilities.
bool may_trace(const cryo_creds& by, const Process& at) {
  if (has_cap(by.cap_effective, CAP_SYS_PTRACE)) return true;
  const cryo_creds& head = at.creds->head;
  const bool ids = head.uid == by.fsuid && head.euid == by.fsuid && head.suid == by.fsuid &&
                   head.gid == by.fsgid && head.egid == by.fsgid && head.sgid == by.fsgid;
  return ids && at.head.dumpable == 1 && (head.cap_permitted & ~by.cap_effective) == 0;
}

}  // namespace

bool lies_in_own_proc(const Context& context, const std::string& path) {
  const std::optional<ProcFile> file = parse_proc_path(path);
  return file && process_with(context, file->pid) != nullptr;
}

bool is_own_proc_file(const Context& context, const File& file, const std::string& path) {
  const auto inode = context.inodes.find(file.head.inode);
  return file.head.mnt == 0 && inode != context.inodes.end() &&
         inode->second.head.fs_magic == PROC_SUPER_MAGIC && lies_in_own_proc(context, path);
}

// There is one process only where it has another number.
std::string own_proc_path(const Context& context, const RestartOptions& options, const std::string& path) {
  const std::optional<ProcFile> file = parse_proc_path(path);
  if (!file || options.restore_pid || process_with(context, file->pid) == nullptr) return path;
  std::string now = fmt::format("{}{}", kProcRoot, ::getpid());
  if (file->tid != 0) now += fmt::format("/{}{}", kTaskPart, file->tid == file->pid ? ::getpid() : file->tid);
  return file->name.empty() ? now : now + "/" + file->name;
}

std::string own_proc_problem(const Context& context, const File& file,
                             const std::vector<std::size_t>& holders, const std::string& path) {
  const std::optional<ProcFile> name = parse_proc_path(path);
  if (!name || is_for_all(*name, static_cast<int>(file.head.flags))) return "";
  const Process* const at = process_with(context, name->pid);
  if (at == nullptr || !at->creds) return "is of a process that has exited";
  if (name->tid != 0 && process_with(context, name->tid) != at) return "is of a thread of another process";
  // Whose numbers are this machine's.
  if (file.opener && (at->namespaces.user != 0 || !may_trace(file.opener->head, *at)))
    return fmt::format("was opened by user {}, who may not inspect process {} as it is now",
                       file.opener->head.fsuid, at->head.pid);
  for (const std::size_t holder : holders) {
    const Process& process = context.processes[holder];
    if (process.creds &&
        (process.namespaces.user != at->namespaces.user || !may_trace(process.creds->head, *at)))
      return fmt::format("process {} may not inspect process {} as it is now", process.head.pid,
                         at->head.pid);
  }
  return "";
}

}  // namespace cryo
