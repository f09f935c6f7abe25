// SPDX-License-Identifier: GPL-2.0-only
#include "restart/cgroups/control_groups.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/error.h"
#include "restart/cgroups/cgroup.h"
#include "restart/common/proc_files.h"
#include "restart/rights/names.h"

namespace cryo {
namespace {

constexpr mode_t kReadable = 0444, kWritable = 0222;

// What is set at another time than the others, or not as it reads.
bool is_special(const std::string& name) {
  return name == "cgroup.type" || name == "cgroup.subtree_control" || name == "cgroup.freeze";
}

// After those that they depend on.
int rank_of(const CgroupSetting& setting) {
  return setting.name == "cpu.idle" || setting.name == "cpuset.cpus.partition" ? 1 : 0;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (end > at) lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

// As it is to be written: of a partition that has become invalid, the kernel says why, too.
std::string text_to_write(const CgroupSetting& setting) {
  if (setting.name == "cpuset.cpus.partition") return setting.text.substr(0, setting.text.find(' '));
  // What idle groups have instead of a weight, and none takes.
  if (setting.name == "cpu.weight" && setting.text == "0") return {};
  return setting.text;
}

std::string read_setting(int fd) {
  std::string text;
  char part[4096];
  for (ssize_t got; (got = ::read(fd, part, sizeof(part))) > 0;)
    text.append(part, static_cast<std::size_t>(got));
  return text;
}

bool write_once(int fd, const std::string& text) {
  return ::pwrite(fd, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
}

bool is_in(const Process& process, const std::string& group) {
  return process.cgroup == group || process.cgroup.starts_with(group + "/");
}

// Threads of a process, in the order in which they were made.
std::vector<pid_t> threads_of(pid_t pid) {
  std::vector<pid_t> tids;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid), error))
    tids.push_back(std::atoi(entry.path().filename().c_str()));
  return tids;
}

// What the thread has for an id here; -1: that cannot be told.
pid_t tid_of(const Process& process, std::size_t thread, pid_t pid, const RestartOptions& options) {
  if (options.restore_pid && process.namespaces.pid == 0) return process.threads[thread].head.tid;
  const std::vector<pid_t> tids = threads_of(pid);
  return tids.size() == process.threads.size() ? tids[thread] : -1;
}

bool is_running(pid_t tid) {
  const std::string stat = read_proc(fmt::format("{}/stat", tid));
  const std::size_t at = stat.rfind(')');
  return at != std::string::npos && stat.compare(at, 3, ") R") == 0;
}

std::string group_in(const std::string& lines) {
  const std::size_t at = ("\n" + lines).find("\n0::");
  return at == std::string::npos ? "" : lines.substr(at + 3, lines.find('\n', at) - at - 3);
}

}  // namespace

void leave_cgroups(Context& context) {
  for (Process& process : context.processes) process.cgroup.clear();
  for (auto& [id, ns] : context.namespaces) ns.cgroup.clear();
  context.cgroups.clear();
}

namespace {

bool has_thread_of(const Process& process, const ControlGroup& group) {
  return std::any_of(process.threads.begin(), process.threads.end(), [&](const Thread& thread) {
    return std::find(group.threads.begin(), group.threads.end(), thread.head.tid) != group.threads.end();
  });
}

}  // namespace

std::size_t cgroup_maker(const Context& context, const ControlGroup& group) {
  const auto first = [&](const auto& fits) {
    std::size_t i = 0;
    while (i < context.processes.size() && !(context.processes[i].creds && fits(context.processes[i]))) ++i;
    return i;
  };
  const auto owns = [&](const Process& process) {
    return process.namespaces.user == 0 && process.creds->head.fsuid == group.head.uid;
  };
  std::size_t found =
      first([&](const Process& process) { return is_in(process, group.path) && owns(process); });
  if (found == context.processes.size()) found = first(owns);
  if (found == context.processes.size())
    found = first([&](const Process& process) { return is_in(process, group.path); });
  if (found == context.processes.size())
    found = first([&](const Process& process) { return has_thread_of(process, group); });
  return found == context.processes.size() ? 0 : found;
}

std::string rights_text(const Context& context, std::size_t process) {
  if (is_capable_of_nothing() || !context.processes[process].creds) return {};
  const std::uint32_t uid = context.processes[process].creds->head.euid;
  return uid == ::geteuid() ? "" : fmt::format(" (with the rights of user {}, whose process it is)", uid);
}

std::vector<std::string> controllers_in(const std::string& text) {
  std::vector<std::string> controllers;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_of(" \n", at), text.size());
    if (end > at) controllers.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return controllers;
}

std::string setting_of(const ControlGroup& group, const std::string& name) {
  const auto found = std::find_if(group.settings.begin(), group.settings.end(),
                                  [&](const CgroupSetting& setting) { return setting.name == name; });
  return found == group.settings.end() ? std::string() : found->text;
}

void ControlGroups::complain(int code, const std::string& text) {
  if (is_strict()) fail(code, "{}", text);
  warnings_.push_back(text);
}

void ControlGroups::make() {
  if (!makes() || context_.cgroups.empty()) return;
  root_ = cgroup_mount();
  if (root_.empty()) return;  // the check has said so
  for (const ControlGroup& group : context_.cgroups) {
    const NamesOf theirs(context_, cgroup_maker(context_, group));
    if ((group.head.flags & CRYO_CGROUP_OWN) && names::access(root_ + group.path, F_OK) != 0) make_one(group);
  }
  for (const ControlGroup* group : made_) {
    const NamesOf theirs(context_, cgroup_maker(context_, *group));
    set_all(*group);
  }
}

// The type before there is anything in it that another type does not allow.
void ControlGroups::make_one(const ControlGroup& group) {
  const std::string directory = root_ + group.path;
  if (names::mkdir(directory, 0700) != 0)
    return complain(errno,
                    fmt::format("control group {}: cannot be made: {}{}", group.path, errno_text(errno),
                                rights_text(context_, cgroup_maker(context_, group))));
  created_.add(directory);
  struct statfs system;
  const UniqueFd made = names::open(directory, O_PATH | O_DIRECTORY | O_NOFOLLOW);
  if (!made || ::fstatfs(made.get(), &system) != 0 || system.f_type != CGROUP2_SUPER_MAGIC)
    fail(ESTALE, "control group {}: something else is mounted there", group.path);
  made_.push_back(&group);
  if (setting_of(group, "cgroup.type") == "threaded") set(group, "cgroup.type", "threaded");
  give_controllers(group);
}

// One by one: where one is missing, there are the others.
void ControlGroups::give_controllers(const ControlGroup& group) {
  for (const std::string& controller : controllers_in(setting_of(group, "cgroup.subtree_control"))) {
    const UniqueFd file = names::open(root_ + group.path + "/cgroup.subtree_control", O_WRONLY | O_NOFOLLOW);
    if (!file || !write_once(file.get(), "+" + controller))
      complain(errno,
               fmt::format("control group {}: cannot enable controller {} in cgroup.subtree_control: {}",
                           group.path, controller, errno_text(errno)));
  }
}

// Line by line, as they are set: of each device, for instance. What a new group has already is left alone.
void ControlGroups::set(const ControlGroup& group, const std::string& name, const std::string& text) {
  const auto problem = [&](const std::string& why) {
    complain(EINVAL,
             fmt::format("control group {}: {} cannot be set to '{}': {}", group.path, name, text, why));
  };
  const UniqueFd file = names::open(root_ + group.path + "/" + name, O_RDWR | O_NOFOLLOW);
  struct stat now;
  if (!file)
    return problem(errno == ENOENT ? "the group above it does not have the controller" : errno_text(errno));
  if (::fstat(file.get(), &now) != 0 || !S_ISREG(now.st_mode) || !(now.st_mode & kReadable) ||
      !(now.st_mode & kWritable))
    return problem("it is no setting");
  const std::vector<std::string> there = lines_of(read_setting(file.get()));
  for (const std::string& line : lines_of(text)) {
    if (std::find(there.begin(), there.end(), line) != there.end()) continue;
    if (!write_once(file.get(), line)) return problem(errno_text(errno));
  }
}

void ControlGroups::set_all(const ControlGroup& group) {
  for (const int rank : {0, 1})
    for (const CgroupSetting& setting : group.settings)
      if (!is_special(setting.name) && rank_of(setting) == rank)
        set(group, setting.name, text_to_write(setting));
}

// Last: its owner need not be who has made it, nor be allowed to change it.
void ControlGroups::give_away(const ControlGroup& group) {
  const std::string directory = root_ + group.path;
  const cryo_cgroup& head = group.head;
  const auto give = [](const std::string& path, std::uint32_t uid, std::uint32_t gid) {
    struct stat now;
    if (names::stat(path, now) != 0) return false;
    return (now.st_uid == uid && now.st_gid == gid) || names::chown(path, uid, gid) == 0;
  };
  bool done = true;
  for (const char* name : {"/cgroup.procs", "/cgroup.threads", "/cgroup.subtree_control"})
    done = done && give(directory + name, head.files_uid, head.files_gid);
  done = done && names::chmod(directory, head.mode) == 0 && give(directory, head.uid, head.gid);
  if (!done)
    complain(errno, fmt::format("control group {}: cannot be given to user {} and group {}: {}", group.path,
                                head.uid, head.gid, errno_text(errno)));
}

void ControlGroups::move_threads(const ControlGroup& group, const PidOf& pid_of) {
  for (std::size_t i = 0; i < context_.processes.size(); ++i) {
    const Process& process = context_.processes[i];
    for (std::size_t thread = 0; thread < process.threads.size(); ++thread) {
      const std::int32_t tid = process.threads[thread].head.tid;
      if (std::find(group.threads.begin(), group.threads.end(), tid) == group.threads.end()) continue;
      if (has_exited(process.threads[thread])) continue;
      const pid_t now = tid_of(process, thread, pid_of(process), options_);
      const UniqueFd threads = open_cgroup_file(context_, i, group.path, "cgroup.threads");
      if (now > 0 && threads && write_once(threads.get(), std::to_string(now))) continue;
      const int error = now > 0 ? errno : ESRCH;
      if (makes())
        complain(error, fmt::format("thread {}: cannot be in the control group {}: {}", tid, group.path,
                                    errno_text(error)));
    }
  }
}

// It is in one already as a rule, for what it has done until now.
void ControlGroups::move_process(std::size_t index, pid_t pid) {
  const Process& process = context_.processes[index];
  if (pid <= 0 || process.cgroup.empty() ||
      group_in(read_proc(fmt::format("{}/cgroup", pid))) == process.cgroup)
    return;
  const UniqueFd procs = open_cgroup_file(context_, index, process.cgroup, "cgroup.procs");
  if (!procs || !write_once(procs.get(), std::to_string(pid))) refused_[index] = errno;
}

void ControlGroups::look_at_process(std::size_t index, pid_t pid) {
  const Process& process = context_.processes[index];
  if (process.cgroup.empty()) return;
  const std::string now = group_in(read_proc(fmt::format("{}/cgroup", pid)));
  if (now == process.cgroup) return;
  const auto refused = refused_.find(index);
  const std::string why = refused == refused_.end() ? "" : fmt::format(": {}", errno_text(refused->second));
  complain(EPERM, fmt::format("pid {}: is in the control group {}, not {}{}{}", process.head.pid, now,
                              process.cgroup, why, rights_text(context_, index)));
}

// A thread that has said that it is there may still be on its way into the module: frozen before it has come
// there, it does not come.
void ControlGroups::wait_for_parked(const PidOf& pid_of) const {
  constexpr int kTries = 30000;  // of a millisecond
  int left = kTries;
  for (const Process& process : context_.processes) {
    if (process.threads.empty()) continue;
    for (const pid_t tid : threads_of(pid_of(process)))
      while (is_running(tid) && --left > 0) ::usleep(1000);
  }
}

void ControlGroups::settle(const PidOf& pid_of) {
  if (root_.empty()) root_ = cgroup_mount();
  if (root_.empty()) return;
  for (std::size_t i = 0; i < context_.processes.size(); ++i)
    if (!context_.processes[i].threads.empty()) move_process(i, pid_of(context_.processes[i]));
  for (const ControlGroup& group : context_.cgroups)
    if (!group.threads.empty()) move_threads(group, pid_of);
  if (makes())
    for (std::size_t i = 0; i < context_.processes.size(); ++i)
      if (!context_.processes[i].threads.empty()) look_at_process(i, pid_of(context_.processes[i]));
  const auto is_frozen = [](const ControlGroup* group) { return setting_of(*group, "cgroup.freeze") == "1"; };
  if (std::any_of(made_.begin(), made_.end(), is_frozen)) wait_for_parked(pid_of);
  // The innermost first: whoever may not look into one that is given away need not.
  for (auto group = made_.rbegin(); group != made_.rend(); ++group) {
    const NamesOf theirs(context_, cgroup_maker(context_, **group));
    if (setting_of(**group, "cgroup.freeze") == "1") set(**group, "cgroup.freeze", "1");
    give_away(**group);
  }
}

}  // namespace cryo
