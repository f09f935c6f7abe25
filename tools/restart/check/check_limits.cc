// SPDX-License-Identifier: GPL-2.0-only
#include "restart/check/check_limits.h"

#include <dirent.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <memory>
#include <vector>

#include "base/parse.h"
#include "restart/cgroups/cgroup.h"
#include "restart/common/helper_process.h"
#include "restart/common/proc_files.h"
#include "restart/files/files.h"
#include "restart/ipc/sysv.h"
#include "restart/ns/namespace_contents.h"
#include "restart/rights/names.h"

namespace cryo {
namespace {

// ---- what the machine says ----

std::uint64_t limit_in(const std::string& text) {
  return parse_number<std::uint64_t>(text.substr(0, text.find_first_of(" \t\n"))).value_or(kNoLimit);
}

std::uint64_t machine_limit(const std::string& name) {
  return limit_in(read_proc("sys/" + name));
}

std::string file_text(const std::string& path) {
  std::string text;
  std::getline(std::ifstream(path), text);
  return text;
}

// "0.00 0.01 0.05 1/123 4567": the second of those with a stroke.
std::uint64_t threads_there() {
  const std::string text = read_proc("loadavg");
  const std::size_t stroke = text.find('/');
  return stroke == std::string::npos ? 0 : limit_in(text.substr(stroke + 1));
}

// What is hidden from the caller is not counted.
std::uint64_t threads_of(std::uint32_t uid) {
  std::uint64_t sum = 0;
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::opendir("/proc"), ::closedir);
  while (const dirent* entry = dir ? ::readdir(dir.get()) : nullptr) {
    if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
    std::ifstream lines(fmt::format("/proc/{}/status", entry->d_name));
    unsigned owner = 0, threads = 0;
    bool is_his = false;
    for (std::string line; std::getline(lines, line);) {
      if (std::sscanf(line.c_str(), "Uid: %u", &owner) == 1) is_his = owner == uid;
      if (is_his && std::sscanf(line.c_str(), "Threads: %u", &threads) == 1) sum += threads;
    }
  }
  return sum;
}

// Of whom the kernel counts the processes.
Amount own_threads(const Creds& own) {
  rlimit limit;
  if (own.head.uid == 0 || capable(own, CAP_SYS_RESOURCE) || capable(own, CAP_SYS_ADMIN) ||
      ::getrlimit(RLIMIT_NPROC, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return {};
  return {limit.rlim_cur, threads_of(own.head.uid)};
}

Amount in_cgroup(const std::string& directory) {
  const std::uint64_t used = limit_in(file_text(directory + "/pids.current"));
  return {limit_in(file_text(directory + "/pids.max")), used == kNoLimit ? 0 : used};
}

void add_system_v(MachineLimits& limits) {
  shminfo shm_most{};
  shm_info shm_used{};
  seminfo sem_most{}, sem_used{};
  msginfo msg_most{}, msg_used{};
  if (::shmctl(0, IPC_INFO, reinterpret_cast<shmid_ds*>(&shm_most)) >= 0 &&
      ::shmctl(0, SHM_INFO, reinterpret_cast<shmid_ds*>(&shm_used)) >= 0) {
    limits.shm_size = shm_most.shmmax;
    limits.shm_segments = {shm_most.shmmni, static_cast<std::uint64_t>(shm_used.used_ids)};
    limits.shm_pages = {shm_most.shmall, shm_used.shm_tot};
  }
  if (::semctl(0, 0, IPC_INFO, &sem_most) >= 0 && ::semctl(0, 0, SEM_INFO, &sem_used) >= 0) {
    limits.sem_set_size = static_cast<std::uint64_t>(sem_most.semmsl);
    limits.sem_sets = {static_cast<std::uint64_t>(sem_most.semmni),
                       static_cast<std::uint64_t>(sem_used.semusz)};
    limits.semaphores = {static_cast<std::uint64_t>(sem_most.semmns),
                         static_cast<std::uint64_t>(sem_used.semaem)};
  }
  if (::msgctl(0, IPC_INFO, reinterpret_cast<msqid_ds*>(&msg_most)) >= 0 &&
      ::msgctl(0, MSG_INFO, reinterpret_cast<msqid_ds*>(&msg_used)) >= 0) {
    limits.msg_size = static_cast<std::uint64_t>(msg_most.msgmax);
    limits.msg_queues = {static_cast<std::uint64_t>(msg_most.msgmni),
                         static_cast<std::uint64_t>(msg_used.msgpool)};
  }
}

// ---- what the job has ----

constexpr std::uint64_t kHelpers = 2;  // the maker and the guardian

std::uint64_t threads_in(const Context& context) {
  std::uint64_t sum = 0;
  for (const Process& process : context.processes) sum += process.threads.size();
  return sum;
}

std::map<std::string, CgroupRoom> room_in_cgroups(const Context& context, const RestartOptions& options) {
  std::map<std::string, CgroupRoom> rooms;
  const std::string root = cgroup_mount();
  const std::vector<std::string> own = own_cgroups();
  const auto is_in = [](const std::string& path, const std::string& group) {
    return path == group || path.starts_with(group + "/");
  };
  for (std::size_t i = 0; !root.empty() && i < context.processes.size(); ++i) {
    const Process& process = context.processes[i];
    const std::string goal = root + process.cgroup;
    const bool stays = options.cgroups == CgroupPolicy::kLeave || !cgroup_obstacle(context, i, false).empty();
    // Who leaves them may do so before its threads are made, or later, or be forked in its own group: it
    // depends on the others, too.
    const cryo_namespaces& in = process.namespaces;
    const std::size_t at_first =
        in.user != 0 || in.mnt != 0 || in.cgroup != 0 ? process.threads.size() : !process.threads.empty();
    for (const std::string& group : own) {
      const bool is_there = stays || is_in(goal, group);
      (is_there ? rooms[group].wanted : rooms[group].passing) += is_there ? process.threads.size() : at_first;
    }
    for (std::string path = process.cgroup; !stays && path.size() > 1; path.resize(path.rfind('/')))
      if (std::find(own.begin(), own.end(), root + path) == own.end())
        rooms[root + path].wanted += process.threads.size();
  }
  for (auto& [path, room] : rooms) room.threads = in_cgroup(path);
  return rooms;
}

class LimitChecker {
 public:
  LimitChecker(const Context& context, const MachineLimits& limits, Findings& findings)
      : context_(context), limits_(limits), findings_(findings) {}

  void check_pids();
  void check_maps();
  void check_threads();
  void check_files();
  void check_inotify();
  void check_queues(const Creds& own);
  void check_system_v();
  void check_namespaces();

 private:
  void check_amount(int code, std::uint64_t wanted, const std::string& what, const Amount& amount,
                    const std::string& where) {
    if (!amount.has_room_for(wanted))
      findings_.problem(code, "{} {} exceed {}: {}, of which {} are in use", wanted, what, where, amount.most,
                        amount.used);
  }
  void check_size(std::uint64_t wanted, const std::string& what, std::uint64_t most,
                  const std::string& where) {
    if (wanted > most)
      findings_.problem(EINVAL, "{} {} are more than {} allows ({})", wanted, what, where, most);
  }

  const Context& context_;
  const MachineLimits& limits_;
  Findings& findings_;
};

void LimitChecker::check_pids() {
  const auto is_above = [this](std::int32_t id) { return static_cast<std::uint64_t>(id) >= limits_.pid_max; };
  for (const Process& process : context_.processes) {
    std::int32_t highest = process.head.pid;
    // Those of threads in a pid namespace of the job are not chosen.
    for (const Thread& thread : process.threads)
      if (process.namespaces.pid == 0) highest = std::max(highest, thread.head.tid);
    if (is_above(highest))
      findings_.problem(EINVAL,
                        "pid {}: id {} is out of range: kernel.pid_max is {} (root can raise it with sysctl)",
                        process.head.pid, highest, limits_.pid_max);
  }
}

// The kernel lets there be one more.
void LimitChecker::check_maps() {
  for (const Process& process : context_.processes) {
    const auto mm = context_.mms.find(process.head.mm);
    if (mm != context_.mms.end() && limits_.map_count < kNoLimit &&
        mm->second.vmas.size() > limits_.map_count + 1)
      findings_.problem(ENOMEM, "pid {}: its memory has {} mappings, /proc/sys/vm/max_map_count allows {}",
                        process.head.pid, mm->second.vmas.size(), limits_.map_count);
  }
}

void LimitChecker::check_threads() {
  const std::uint64_t wanted = threads_in(context_);
  check_amount(EAGAIN, wanted, "threads", limits_.threads, "/proc/sys/kernel/threads-max");
  check_amount(EAGAIN, wanted, "threads", limits_.own_threads,
               "the limit of processes of their user (ulimit -u)");
  for (const auto& [path, room] : limits_.cgroups) {
    check_amount(EAGAIN, room.wanted, "threads", room.threads, path + "/pids.max");
    const std::uint64_t most = room.wanted + room.passing + kHelpers;
    if (room.passing != 0 && room.threads.has_room_for(room.wanted) && !room.threads.has_room_for(most))
      findings_.warning(
          "up to {} threads may be in {} for the moment while they are made, where pids.max allows {}, of "
          "which {} are in use",
          most, path, room.threads.most, room.threads.used);
  }
}

void LimitChecker::check_files() {
  check_amount(ENFILE, context_.files.size(), "open files", limits_.files, "/proc/sys/fs/file-max");
}

// How many of so many can be made now, in the name of who has made the first of them.
std::uint64_t instances_to_be_had(const Context& context, std::uint32_t inode, std::uint64_t wanted) {
  const std::string made = text_from_helper([&] {
    const NamesOf maker = NamesOf::maker_of(context, inode);
    std::vector<UniqueFd> all;
    while (all.size() < wanted) {
      UniqueFd fd(as_maker([] { return ::inotify_init1(IN_CLOEXEC); }));
      if (!fd) break;
      all.push_back(std::move(fd));
    }
    return std::to_string(all.size());
  });
  return limit_in(made);
}

void LimitChecker::check_inotify() {
  struct Group {
    std::uint64_t instances = 0, watches = 0;
    std::uint32_t inode = 0;
  };
  std::map<std::uint32_t, Group> groups;  // by user
  for (const auto& [id, file] : context_.files) {
    if (file.head.kind != CRYO_FILE_INOTIFY || !file.inotify) continue;
    if (file.inotify->head.next_wd > CRYO_HIGHEST_WATCH)
      findings_.problem(
          ERANGE, "the next watch descriptor of an inotify instance is {}, and a restart reaches {} at most",
          file.inotify->head.next_wd, CRYO_HIGHEST_WATCH);
    const auto inode = context_.inodes.find(file.head.inode);
    Group& group = groups[inode == context_.inodes.end() ? 0 : inode->second.head.uid];
    group.inode = file.head.inode;
    ++group.instances;
    group.watches += file.inotify->watches.size();
  }
  for (const auto& [uid, group] : groups) {
    const std::uint64_t left = group.instances > limits_.inotify_instances
                                   ? 0
                                   : instances_to_be_had(context_, group.inode, group.instances);
    if (left < group.instances)
      findings_.problem(EMFILE,
                        "{} inotify instances of user {} are more than are left of "
                        "/proc/sys/fs/inotify/max_user_instances ({})",
                        group.instances, uid, limits_.inotify_instances);
    check_size(group.watches, fmt::format("inotify watches of user {}", uid), limits_.inotify_watches,
               "/proc/sys/fs/inotify/max_user_watches");
  }
}

// By who is not root: there is a higher limit for that, which is the machine's.
void LimitChecker::check_queues(const Creds& own) {
  if (capable(own, CAP_SYS_RESOURCE)) return;
  for (const auto& [id, inode] : context_.inodes) {
    if (!inode.mqueue || inode.mqueue->head.ns != 0) continue;
    check_size(inode.mqueue->head.max_messages, "messages of a message queue", limits_.queue_messages,
               "/proc/sys/fs/mqueue/msg_max");
    check_size(inode.mqueue->head.message_size, "bytes of a message of a message queue",
               limits_.queue_message_size, "/proc/sys/fs/mqueue/msgsize_max");
  }
}

void LimitChecker::check_system_v() {
  const SysvNeeds needs = sysv_needs(context_);
  check_size(needs.largest_segment, "bytes of System V shared memory", limits_.shm_size,
             "/proc/sys/kernel/shmmax");
  check_amount(ENOSPC, needs.segments, "System V segments", limits_.shm_segments, "/proc/sys/kernel/shmmni");
  check_amount(ENOSPC, needs.pages, "pages of System V shared memory", limits_.shm_pages,
               "/proc/sys/kernel/shmall");
  check_size(needs.largest_set, "semaphores of a set", limits_.sem_set_size,
             "/proc/sys/kernel/sem (the first number)");
  check_amount(ENOSPC, needs.sets, "System V sets of semaphores", limits_.sem_sets,
               "/proc/sys/kernel/sem (the last number)");
  check_amount(ENOSPC, needs.semaphores, "System V semaphores", limits_.semaphores,
               "/proc/sys/kernel/sem (the second number)");
  check_size(needs.largest_message, "bytes of a System V message", limits_.msg_size,
             "/proc/sys/kernel/msgmax");
  check_amount(ENOSPC, needs.queues, "System V message queues", limits_.msg_queues,
               "/proc/sys/kernel/msgmni");
}

void LimitChecker::check_namespaces() {
  std::map<std::string, std::uint64_t> wanted;
  for (const auto& [id, ns] : context_.namespaces)
    ++wanted[ns.head.type == CLONE_NEWNS    ? "mnt"
             : ns.head.type == CLONE_NEWNET ? "net"
                                            : namespace_name(ns.head.type)];
  for (const auto& [kind, count] : wanted)
    if (const auto most = limits_.namespaces.find(kind); most != limits_.namespaces.end())
      check_size(count, kind + " namespaces", most->second,
                 fmt::format("/proc/sys/user/max_{}_namespaces", kind));
}

}  // namespace

MachineLimits machine_limits(const Context& context, const RestartOptions& options, const Creds& own) {
  MachineLimits limits;
  limits.pid_max = machine_limit("kernel/pid_max");
  limits.map_count = machine_limit("vm/max_map_count");
  limits.threads = {machine_limit("kernel/threads-max"), threads_there()};
  limits.own_threads = own_threads(own);
  limits.cgroups = room_in_cgroups(context, options);
  if (!capable(own, CAP_SYS_ADMIN))
    limits.files = {machine_limit("fs/file-max"), machine_limit("fs/file-nr")};
  limits.inotify_instances = machine_limit("fs/inotify/max_user_instances");
  limits.inotify_watches = machine_limit("fs/inotify/max_user_watches");
  limits.queue_messages = machine_limit("fs/mqueue/msg_max");
  limits.queue_message_size = machine_limit("fs/mqueue/msgsize_max");
  add_file_limits(context, limits);
  add_system_v(limits);
  for (const char* kind : {"user", "pid", "net", "mnt", "ipc", "uts", "cgroup", "time"})
    limits.namespaces[kind] = machine_limit(fmt::format("user/max_{}_namespaces", kind));
  return limits;
}

void check_limits(const Context& context, const RestartOptions& options, const Creds& own,
                  const MachineLimits& limits, Findings& findings) {
  LimitChecker checker(context, limits, findings);
  if (options.restore_pid) checker.check_pids();
  checker.check_maps();
  checker.check_threads();
  checker.check_files();
  checker.check_inotify();
  checker.check_queues(own);
  checker.check_system_v();
  checker.check_namespaces();
  check_file_limits(context, own, limits, findings);
}

}  // namespace cryo
