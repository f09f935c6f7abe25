// SPDX-License-Identifier: GPL-2.0-only
// Files of /proc about processes of the job: who may have which again.
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/magic.h>

#include "restart/files/thread_files.h"
#include "restart/rights/own_proc.h"
#include "unit/obstacles.h"

namespace cryo::test {
namespace {

constexpr std::uint64_t kPtrace = std::uint64_t{1} << CAP_SYS_PTRACE;

Process& user_of(Process& process, std::uint32_t uid) {
  cryo_creds& head = process.creds->head;
  head.uid = head.euid = head.suid = head.fsuid = uid;
  head.gid = head.egid = head.sgid = head.fsgid = uid;
  head.cap_permitted = head.cap_effective = 0;
  process.head.dumpable = 1;
  return process;
}

// 3999999 of user 1000, and 4000000 of user 1001.
ContextBuilder two_users() {
  ContextBuilder builder = sample();
  user_of(builder.process(), 1000);
  Process other = user_of(builder.process(), 1000);
  other.head.pid = 4000000;
  other.threads.front().head.tid = other.threads.front().head.pid = 4000000;
  builder.context.processes.push_back(other);
  user_of(builder.context.processes[1], 1001);
  return builder;
}

std::string problem(const ContextBuilder& builder, const File& file, std::size_t holder,
                    const std::string& name) {
  return own_proc_problem(builder.context, file, {holder}, "/proc/" + name);
}

TEST("obstacles: files of /proc about the job") {
  ContextBuilder builder = two_users();
  File file;
  CHECK_EQ(problem(builder, file, 0, "3999999/mem"), "");
  CHECK_EQ(problem(builder, file, 0, "3999999/task/3999999/maps"), "");
  CHECK_EQ(problem(builder, file, 0, "4000000/task/4000000/children"), "");
  CHECK_EQ(problem(builder, file, 0, "4000000/status"), "");
  CHECK_EQ(problem(builder, file, 0, "4000000"), "");
  CHECK_EQ(problem(builder, file, 0, "4000000/mem"),
           "process 3999999 may not inspect process 4000000 as it is now");
  file.head.flags = O_RDWR;
  CHECK_EQ(problem(builder, file, 0, "4000000/oom_score_adj"),
           "process 3999999 may not inspect process 4000000 as it is now");
  file.head.flags = O_RDONLY;
  builder.process().creds->head.cap_effective = kPtrace;
  CHECK_EQ(problem(builder, file, 0, "4000000/mem"), "");
  builder.process().creds->head.cap_effective = 0;
  CHECK_EQ(problem(builder, file, 0, "1/mem"), "is of a process that has exited");
  CHECK_EQ(problem(builder, file, 0, "3999999/task/4000000/mem"), "is of a thread of another process");
  builder.process().head.dumpable = 0;
  CHECK_EQ(problem(builder, file, 0, "3999999/mem"),
           "process 3999999 may not inspect process 3999999 as it is now");
}

TEST("obstacles: names that lead out of the directory of a process are none of its files") {
  ContextBuilder builder = two_users();
  CHECK(lies_in_own_proc(builder.context, "/proc/3999999/mem"));
  CHECK(!lies_in_own_proc(builder.context, "/proc/3999999/../1/mem"));
  CHECK(!lies_in_own_proc(builder.context, "/proc/3999999/task/3999999/../../../1/mem"));
  CHECK(!lies_in_own_proc(builder.context, "/proc/3999999/.."));
}

TEST("obstacles: who has opened it is a user of this machine, not of a user namespace") {
  ContextBuilder builder = two_users();
  File file;
  file.opener = *builder.process().creds;
  CHECK_EQ(problem(builder, file, 0, "3999999/mem"), "");
  builder.process().namespaces.user = 3;
  CHECK_EQ(problem(builder, file, 0, "3999999/mem"),
           "was opened by user 1000, who may not inspect process 3999999 as it is now");
}

TEST("obstacles: files of /proc that somebody else has opened") {
  ContextBuilder builder = two_users();
  File file;
  file.opener = builder.context.processes[1].creds;
  CHECK_EQ(problem(builder, file, 0, "3999999/mem"),
           "was opened by user 1001, who may not inspect process 3999999 as it is now");
  file.opener->head.cap_effective = kPtrace;
  CHECK_EQ(problem(builder, file, 0, "3999999/mem"), "");
}

TEST("files of /proc by what they were") {
  ContextBuilder builder = two_users();
  File file;
  file.head.inode = 77;
  builder.context.inodes[77].head.fs_magic = PROC_SUPER_MAGIC;
  CHECK(is_own_proc_file(builder.context, file, "/proc/3999999/mem"));
  CHECK(!is_own_proc_file(builder.context, file, "/proc/2/mem"));
  file.head.mnt = 3;
  CHECK(!is_own_proc_file(builder.context, file, "/proc/3999999/mem"));
  file.head.mnt = 0;
  builder.context.inodes[77].head.fs_magic = TMPFS_MAGIC;
  CHECK(!is_own_proc_file(builder.context, file, "/proc/3999999/mem"));
  RestartOptions options;
  CHECK_EQ(own_proc_path(builder.context, options, "/proc/3999999/mem"), "/proc/3999999/mem");
  options.restore_pid = false;
  CHECK_EQ(own_proc_path(builder.context, options, "/proc/3999999/task/3999999/mem"),
           fmt::format("/proc/{0}/task/{0}/mem", ::getpid()));
  CHECK_EQ(own_proc_path(builder.context, options, "/proc/2/mem"), "/proc/2/mem");
}

TEST("files of threads in /proc: where they lie") {
  ContextBuilder builder = sample();
  builder.process().threads.push_back(builder.process().threads.front());
  builder.process().threads.back().head.tid = 4000001;
  File file;
  file.head.inode = 77;
  builder.context.inodes[77].head.fs_magic = PROC_SUPER_MAGIC;
  const auto place = [&](const char* path) {
    const auto found = thread_place(builder.context, file, path);
    return found ? fmt::format("{} {} {}", found->directory, found->name, found->id) : "";
  };
  CHECK_EQ(place("/proc/3999999/task/4000001/stat"), "/proc/3999999/task 4000001/stat 4000001");
  CHECK_EQ(place("/proc/3999999/task/4000001"), "/proc/3999999/task 4000001 4000001");
  CHECK_EQ(place("/proc/4000001/status"), "/proc 4000001/status 4000001");
  CHECK_EQ(place("/proc/4000001/task/3999999/stat"), "/proc 4000001/task/3999999/stat 4000001");
  CHECK_EQ(place("/jail/7/proc/3999999/task/4000001/fd/4000001"),
           "/jail/7/proc/3999999/task 4000001/fd/4000001 4000001");
  CHECK_EQ(place("/proc/3999999/task/3999999/stat"), "");
  CHECK_EQ(place("/proc/3999999/task/4000002/stat"), "");
  CHECK_EQ(place("/proc/3999999/task"), "");
  CHECK_EQ(place("/proc/meminfo"), "");
  // No threads, whatever their numbers are.
  CHECK_EQ(place("/proc/irq/4000001/smp_affinity"), "");
  CHECK_EQ(place("/proc/3999999/fdinfo/4000001"), "");
  CHECK_EQ(place("/proc/bus/pci/4000001"), "");
  builder.context.inodes[77].head.fs_magic = TMPFS_MAGIC;
  CHECK_EQ(place("/proc/3999999/task/4000001/stat"), "");
}

}  // namespace
}  // namespace cryo::test
