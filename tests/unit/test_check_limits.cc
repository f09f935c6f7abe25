// SPDX-License-Identifier: GPL-2.0-only
// What the machine does not allow as many of as the job has.
#include <sched.h>
#include <sys/fanotify.h>

#include "restart/check/check_limits.h"
#include "unit/context_builder.h"
#include "unit/obstacles.h"
#include "unit/tap.h"

namespace cryo::test {
namespace {

Findings check_limits_of(const ContextBuilder& builder, const MachineLimits& limits) {
  Findings findings;
  check_limits(builder.context, {}, {}, limits, findings);
  return findings;
}

TEST("limits: none are in the way of what is small") {
  const ContextBuilder builder = sample();
  CHECK(check_limits_of(builder, {}).problems.empty());
  MachineLimits limits = machine_limits(builder.context, {}, {});
  limits.pid_max = kNoLimit;
  CHECK(check_limits_of(builder, limits).problems.empty());
}

TEST("limits: ids, threads, memory") {
  ContextBuilder builder = sample();
  builder.add_thread(3999000);
  MachineLimits limits;
  limits.pid_max = 3999999;
  SAYS(check_limits_of(builder, limits), EINVAL,
       "pid 3999999: id 3999999 is out of range: kernel.pid_max is 3999999 (root can raise it with sysctl)");
  limits.pid_max = 4000000;
  CHECK(check_limits_of(builder, limits).problems.empty());

  limits.threads = limits.own_threads = {10, 9};
  limits.cgroups["/sys/fs/cgroup/job"] = {{7, 6}, 2};
  const Findings threads = check_limits_of(builder, limits);
  SAYS(threads, EAGAIN, "2 threads exceed /proc/sys/kernel/threads-max: 10, of which 9 are in use");
  SAYS(threads, EAGAIN,
       "2 threads exceed the limit of processes of their user (ulimit -u): 10, of which 9 are in use");
  SAYS(threads, EAGAIN, "2 threads exceed /sys/fs/cgroup/job/pids.max: 7, of which 6 are in use");
  limits.cgroups["/sys/fs/cgroup/job"] = {{7, 3}, 2, 1};
  limits.threads.used = limits.own_threads.used = 8;
  const Findings passing = check_limits_of(builder, limits);
  CHECK(passing.problems.empty());
  CHECK_EQ(passing.warnings.size(), 1U);
  limits.cgroups["/sys/fs/cgroup/job"] = {{7, 2}, 2, 1};
  CHECK(check_limits_of(builder, limits).warnings.empty());
  limits.cgroups.clear();
  CHECK(check_limits_of(builder, limits).problems.empty());

  auto& vmas = builder.context.mms.begin()->second.vmas;
  while (vmas.size() < 5) vmas.push_back(vmas.front());
  limits.map_count = 3;
  SAYS(check_limits_of(builder, limits), ENOMEM,
       "pid 3999999: its memory has {} mappings, /proc/sys/vm/max_map_count allows 3", vmas.size());
}

TEST("limits: files and inotify") {
  ContextBuilder builder = sample();
  for (int i = 0; i < 2; ++i) {
    File& file = add_file(builder, CRYO_FILE_INOTIFY, "anon_inode:inotify", 0);
    builder.context.inodes.at(file.head.inode).head.uid = 12345;
    file.inotify = Inotify{{}, std::vector<Watch>(3)};
    file.inotify->head.next_wd = 4;
  }
  MachineLimits limits;
  CHECK(check_limits_of(builder, limits).problems.empty());
  limits.files = {5, 4};
  limits.inotify_instances = 1;
  limits.inotify_watches = 5;
  builder.context.files.at(2).inotify->head.next_wd = (1U << 20) + 1;
  const Findings findings = check_limits_of(builder, limits);
  SAYS(findings, ENFILE, "2 open files exceed /proc/sys/fs/file-max: 5, of which 4 are in use");
  SAYS(findings, EMFILE,
       "2 inotify instances of user 12345 are more than are left of /proc/sys/fs/inotify/max_user_instances "
       "(1)");
  SAYS(findings, EINVAL,
       "6 inotify watches of user 12345 are more than /proc/sys/fs/inotify/max_user_watches allows (5)");
  SAYS(findings, ERANGE,
       "the next watch descriptor of an inotify instance is 1048577, and a restart reaches 1048576 at most");
}

TEST("limits: epoll and fanotify") {
  ContextBuilder builder = sample();
  File& epoll = add_file(builder, CRYO_FILE_EPOLL, "anon_inode:[eventpoll]", 0);
  epoll.epoll.resize(3);
  for (int i = 0; i < 2; ++i) {
    File& file = add_file(builder, CRYO_FILE_FANOTIFY, "anon_inode:[fanotify]", 0);
    file.fanotify.emplace();
    file.fanotify->marks.resize(2);
  }
  builder.context.files.at(3).fanotify->head.init_flags = FAN_UNLIMITED_MARKS;
  MachineLimits limits;
  CHECK(check_limits_of(builder, limits).problems.empty());
  limits.epoll_watches = 3;
  limits.fanotify_marks = 2;
  CHECK(check_limits_of(builder, limits).problems.empty());
  limits.epoll_watches = 2;
  limits.fanotify_marks = limits.fanotify_groups = 1;
  const Findings findings = check_limits_of(builder, limits);
  const std::uint32_t uid = builder.process().creds->head.uid;
  SAYS(findings, ENOSPC,
       "3 epoll watches of user {} are more than /proc/sys/fs/epoll/max_user_watches allows (2): as root, "
       "sysctl -w fs.epoll.max_user_watches=3",
       uid);
  SAYS(findings, ENOSPC,
       "2 fanotify marks of user {} are more than /proc/sys/fs/fanotify/max_user_marks allows (1): as root, "
       "sysctl -w fs.fanotify.max_user_marks=2",
       uid);
  SAYS(findings, EMFILE,
       "2 fanotify groups are more than are left of /proc/sys/fs/fanotify/max_user_groups (1): as root, "
       "sysctl -w fs.fanotify.max_user_groups=3");
  CHECK_EQ(findings.problems.size(), std::size_t{3});
}

TEST("limits: message queues, pseudo-terminals") {
  ContextBuilder builder = sample();
  add_file(builder, CRYO_FILE_MQUEUE, "/cryo-no-such-queue", 0);
  Inode& queue = builder.context.inodes.at(1);
  queue.mqueue.emplace();
  queue.mqueue->head.max_messages = 10;
  queue.mqueue->head.message_size = 1000;
  for (int i = 0; i < 2; ++i) add_file(builder, CRYO_FILE_PTY_MASTER, "/dev/ptmx", 0).pty.emplace();
  MachineLimits limits;
  CHECK(check_limits_of(builder, limits).problems.empty());
  limits.queue_bytes = 10960;
  limits.queues = {5, 4};
  limits.terminals = {5, 3};
  CHECK(check_limits_of(builder, limits).problems.empty());
  CHECK(check_limits_of(builder, limits).warnings.empty());
  limits.queue_bytes = 10000;
  limits.queues = {4, 4};
  limits.reserved_terminals = 1;
  const Findings close = check_limits_of(builder, limits);
  CHECK(close.problems.empty());
  WARNS(close,
        "10960 bytes of POSIX message queues of user 0 are more than the limit allows (10000): as root, "
        "ulimit -q 10960");
  WARNS(close,
        "1 POSIX message queues exceed /proc/sys/fs/mqueue/queues_max: 4, of which 4 are in use: as root, "
        "sysctl -w fs.mqueue.queues_max=5");
  WARNS(close,
        "2 pseudo-terminals exceed /proc/sys/kernel/pty/max: 5, of which 3 are in use, and 1 are reserved: "
        "as root, sysctl -w kernel.pty.max=7");
  limits.queue_bytes = 9999;
  limits.queues = {0, 0};
  limits.terminals = {5, 4};
  const Findings findings = check_limits_of(builder, limits);
  SAYS(findings, EMFILE,
       "10960 bytes of POSIX message queues of user 0 are more than the limit allows (9999): as root, ulimit "
       "-q 10960");
  SAYS(findings, ENOSPC,
       "1 POSIX message queues exceed /proc/sys/fs/mqueue/queues_max: 0, of which 0 are in use: as root, "
       "sysctl -w fs.mqueue.queues_max=1");
  SAYS(findings, ENOSPC,
       "2 pseudo-terminals exceed /proc/sys/kernel/pty/max: 5, of which 4 are in use: as root, sysctl -w "
       "kernel.pty.max=7");
  builder.context.inodes.at(1).mqueue->head.ns = 1;  // its own limit
  CHECK_EQ(check_limits_of(builder, limits).problems.size(), std::size_t{1});
}

// With ids that nothing here has.
TEST("limits: messages, semaphores, shared memory") {
  constexpr std::int32_t kFree = 0x7ff00000;
  ContextBuilder builder = sample();
  add_file(builder, CRYO_FILE_MQUEUE, "/queue", 0);
  Inode& queue = builder.context.inodes.at(1);
  queue.mqueue.emplace();
  queue.mqueue->head.max_messages = 11;
  queue.mqueue->head.message_size = 8193;
  Inode& segment = builder.context.inodes[2];
  segment.id = 2;
  segment.shm.emplace();
  segment.shm->perm.id = kFree;
  segment.shm->size = 2 * builder.context.header.page_size;
  SemSet set;
  set.head.perm.id = kFree;
  set.values = {1, 2, 3};
  builder.context.sem_sets.push_back(set);
  MsgQueue messages;
  messages.head.perm.id = kFree;
  messages.messages.resize(1);
  messages.messages.front().text.resize(9);
  builder.context.msg_queues.push_back(messages);
  MachineLimits limits;
  CHECK(check_limits_of(builder, limits).problems.empty());
  limits.queue_messages = 10;
  limits.queue_message_size = 8192;
  limits.shm_size = builder.context.header.page_size;
  limits.shm_pages = {1000, 999};
  limits.shm_segments = {1, 1};
  limits.sem_set_size = limits.msg_size = 2;
  limits.sem_sets = limits.msg_queues = {4, 4};
  limits.semaphores = {10, 8};
  const Findings findings = check_limits_of(builder, limits);
  for (const char* text :
       {"11 messages of a message queue are more than /proc/sys/fs/mqueue/msg_max allows (10)",
        "8193 bytes of a message of a message queue are more than /proc/sys/fs/mqueue/msgsize_max allows "
        "(8192)",
        "3 semaphores of a set are more than /proc/sys/kernel/sem (the first number) allows (2)",
        "9 bytes of a System V message are more than /proc/sys/kernel/msgmax allows (2)"})
    SAYS(findings, EINVAL, "{}", text);
  SAYS(findings, EINVAL,
       "{} bytes of System V shared memory are more than /proc/sys/kernel/shmmax allows ({})",
       2 * builder.context.header.page_size, builder.context.header.page_size);
  for (const char* text :
       {"1 System V segments exceed /proc/sys/kernel/shmmni: 1, of which 1 are in use",
        "2 pages of System V shared memory exceed /proc/sys/kernel/shmall: 1000, of which 999 are in use",
        "1 System V sets of semaphores exceed /proc/sys/kernel/sem (the last number): 4, of which 4 are in "
        "use",
        "3 System V semaphores exceed /proc/sys/kernel/sem (the second number): 10, of which 8 are in use",
        "1 System V message queues exceed /proc/sys/kernel/msgmni: 4, of which 4 are in use"})
    SAYS(findings, ENOSPC, "{}", text);
}

TEST("limits: namespaces") {
  ContextBuilder builder = sample();
  add_namespaces(builder);
  MachineLimits limits;
  CHECK(check_limits_of(builder, limits).problems.empty());
  limits.namespaces = {{"user", 0}, {"mnt", 0}, {"net", 100}};
  const Findings findings = check_limits_of(builder, limits);
  SAYS(findings, EINVAL, "1 user namespaces are more than /proc/sys/user/max_user_namespaces allows (0)");
  SAYS(findings, EINVAL, "2 mnt namespaces are more than /proc/sys/user/max_mnt_namespaces allows (0)");
  CHECK_EQ(findings.problems.size(), std::size_t{2});
}

}  // namespace
}  // namespace cryo::test
