// SPDX-License-Identifier: GPL-2.0-only
// What stands in the way of a restart: each message, whole, of a context that is made for it.
#include <elf.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <filesystem>
#include <fstream>

#include "base/crc32c.h"
#include "base/exit_codes.h"
#include "context/describe.h"
#include "restart/check/check.h"
#include "restart/common/restart_arch.h"
#include "restart/files/redirect.h"
#include "restart/memory/guards.h"
#include "restart/memory/tags.h"
#include "restart/net/sockets.h"
#include "restart/ns/namespaces.h"
#include "restart/process/process_state.h"
#include "restart/process/timers.h"
#include "restart/process/tree_plan.h"
#include "stub_arch.h"
#include "unit/context_builder.h"
#include "unit/obstacles.h"
#include "unit/tap.h"

namespace cryo::test {
namespace {

// Of a context whose pages nobody looks at.
const Source kNoBytes = Source::from_memory({}, "no memory");
const Chain kNoMemory(kNoBytes);

constexpr std::uint32_t kAlarmClock = 8;  // CLOCK_REALTIME_ALARM

// Runs as nobody, whoever runs the tests.
class AsNobody {
 public:
  AsNobody() : was_(::geteuid()) { (void)!::seteuid(was_ == 0 ? 65534 : was_); }
  ~AsNobody() { (void)!::seteuid(was_); }
  AsNobody(const AsNobody&) = delete;
  AsNobody& operator=(const AsNobody&) = delete;

 private:
  uid_t was_;
};

// What is said of a descriptor whose file is not what it was.
std::string other_file(int fd) {
  return fmt::format("(--redirect {}=FILE takes another one, --relocate=OLD=NEW if it is elsewhere now)", fd);
}

Findings check_process_of(const ContextBuilder& builder, const RestartOptions& options = {}) {
  Findings findings;
  check_process({builder.context, builder.context.processes.front(), options, {}}, findings);
  return findings;
}

Findings check_threads_of(const ContextBuilder& builder, const RestartOptions& options = {}) {
  Findings findings;
  check_threads({builder.context, builder.context.processes.front(), options, {}, 0, {6}, {1}}, findings);
  return findings;
}

Findings check_memory_of(const ContextBuilder& builder) {
  Findings findings;
  check_memory({builder.context, builder.context.processes.front(), {}, {}, 0, {}, {1}}, findings);
  return findings;
}

Findings check_files_of(const ContextBuilder& builder, const RestartOptions& options = {}) {
  Findings findings;
  check_files(builder.context, options, {}, findings);
  return findings;
}

TEST("obstacles: the machine") {
  ContextBuilder builder = sample();
  builder.context.header.arch = 77;
  SAYS(check_context(builder.context, kNoMemory, {}), kErrBadArch,
       "the context is of a process on architecture 77, this is {}", arch_name(own_arch()));
  builder.context.header.arch = own_arch();
  builder.context.header.page_size = 12345;
  SAYS(check_context(builder.context, kNoMemory, {}), EINVAL,
       "the context has pages of 12345 bytes, this kernel {}", ::sysconf(_SC_PAGESIZE));
}

TEST("obstacles: a clock that has gone back") {
  ContextBuilder builder = sample();
  const auto findings = [&](const RestartOptions& options) {
    Findings all;
    check_namespaces(builder.context, options, {}, all);
    return all;
  };
  builder.context.system.monotonic_ns = 0;
  CHECK(findings({}).warnings.empty());
  builder.context.system.monotonic_ns = static_cast<std::uint64_t>(now_on(CLOCK_MONOTONIC)) + 3600500000000;
  const Findings behind = findings({});
  CHECK_EQ(behind.warnings.size(), 1U);
  CHECK_EQ(behind.warnings.empty() ? "" : behind.warnings.front(),
           "CLOCK_MONOTONIC is 3600 s behind where it was at the checkpoint: absolute timeouts that were "
           "computed before, and are waited for later, expire that much later (a restart by root with "
           "--time-ns continues the clock)");
  RestartOptions options;
  options.time_namespace = true;
  CHECK(findings(options).warnings.empty());
}

TEST("a wait until a time of a clock that has gone back") {
  const std::int64_t now = now_on(CLOCK_MONOTONIC);
  cryo_system before{}, later{};
  later.monotonic_ns = static_cast<std::uint64_t>(now + 3600000000000);
  before.monotonic_ns = static_cast<std::uint64_t>(now - 1);
  before.boottime_ns = static_cast<std::uint64_t>(now_on(CLOCK_BOOTTIME) - 1);
  later.boottime_ns = before.boottime_ns + 7200000000000;
  cryo_restart_block wait{};
  wait.time_ns = now + 3600500000000;
  for (const std::uint32_t kind : {CRYO_RESTART_FUTEX, CRYO_RESTART_NANOSLEEP}) {
    wait.kind = kind;
    wait.clockid = CLOCK_MONOTONIC;
    CHECK_EQ(after_reboot(wait, later).time_ns, 500000000);
    CHECK_EQ(after_reboot(wait, later).time_flags, CRYO_TIME_REMAINING);
    CHECK_EQ(after_reboot(wait, before).time_ns, wait.time_ns);
    wait.time_flags = CRYO_TIME_REMAINING;
    CHECK_EQ(after_reboot(wait, later).time_ns, wait.time_ns);
    wait.time_flags = 0;
    wait.clockid = CLOCK_REALTIME;
    CHECK_EQ(after_reboot(wait, later).time_ns, wait.time_ns);
    wait.clockid = CLOCK_BOOTTIME;
    CHECK_EQ(after_reboot(wait, later).time_flags, CRYO_TIME_REMAINING);
  }
}

TEST("obstacles: the tree") {
  ContextBuilder builder = sample();
  Process second = builder.process();
  second.head.pid = 3999998;
  second.head.ppid = builder.process().head.pid;
  builder.context.processes.push_back(second);
  RestartOptions options;
  options.restore_pid = false;
  SAYS(check_context(builder.context, kNoMemory, options), EINVAL,
       "the context holds 2 processes: they know each other by their pids, which have to be restored");
  builder.context.processes.back().head.flags |= CRYO_PROC_ZOMBIE;
  builder.context.processes.back().threads.clear();
  const Findings findings = check_context(builder.context, kNoMemory, options);
  CHECK(std::none_of(findings.problems.begin(), findings.problems.end(),
                     [](const Problem& problem) { return problem.code == EINVAL; }));
  builder.context.processes.pop_back();
  builder.process().threads.clear();
  SAYS(check_context(builder.context, kNoMemory, {}), EINVAL, "the first process of the context has exited");
}

TEST("obstacles: each names the command too") {
  ContextBuilder builder = sample();
  const char name[] = "somebody";
  std::copy_n(name, sizeof(name), builder.thread().head.comm);
  builder.process().cwd = Path{{}, "/nonexistent"};
  builder.thread().regsets.clear();
  const Findings findings = check_context(builder.context, kNoMemory, {});
  SAYS(findings, ENOENT,
       "pid 3999999 (somebody): its working directory /nonexistent cannot be found: No such file or "
       "directory (ENOENT) (--relocate=OLD=NEW if it is elsewhere now)");
  SAYS(findings, EBADMSG, "pid 3999999 (somebody), thread 3999999: the context lacks its general registers");
}

std::string comm_of(pid_t pid) {
  std::string comm;
  std::getline(std::ifstream(fmt::format("/proc/{}/comm", pid)), comm);
  return comm;
}

TEST("obstacles: ids of others") {
  ContextBuilder builder = sample();
  const pid_t parent = ::getppid();
  builder.add_thread(parent);
  SAYS(check_context(builder.context, kNoMemory, {}), EBUSY,
       "pid 3999999 (sleeper): the id of its thread {} is in use by {}", parent, comm_of(parent));
  // In a pid namespace of its own the thread has another one, and gets any outside.
  Findings findings;
  builder.process().namespaces.pid = 7;
  check_ids(builder.context, {}, findings);
  CHECK(findings.problems.empty());
  builder = sample();
  builder.process().head.pid = builder.thread().head.tid = ::getpid();
  SAYS(check_context(builder.context, kNoMemory, {}), EBUSY,
       "pid {} (sleeper) is in use by cr_restart itself", ::getpid());
  builder.process().head.pid = builder.thread().head.tid = parent;
  SAYS(check_context(builder.context, kNoMemory, {}), EBUSY, "pid {} (sleeper) is in use by {}", parent,
       comm_of(parent));
}

struct Left {
  pid_t leader, member;
};

// A session or group without its leader: a process that is left in it. `own_group`: only the session.
Left leave_session(bool own_group) {
  int fds[2];
  if (::pipe(fds) != 0) fail_errno("pipe");
  const pid_t leader = ::fork();
  if (leader == 0) {
    ::setsid();
    const pid_t member = ::fork();
    if (member == 0) {
      if (own_group) ::setpgid(0, 0);
      const pid_t me = ::getpid();
      (void)!::write(fds[1], &me, sizeof(me));
      for (;;) ::pause();
    }
    ::_exit(0);
  }
  Left left{leader, 0};
  if (::read(fds[0], &left.member, sizeof(left.member)) != sizeof(left.member)) fail(EIO, "no member");
  ::waitpid(leader, nullptr, 0);
  ::close(fds[0]);
  ::close(fds[1]);
  return left;
}

TEST("obstacles: ids of sessions and groups of others") {
  for (const bool own_group : {true, false}) {
    const Left left = leave_session(own_group);
    ContextBuilder builder = sample();
    builder.process().head.pid = builder.thread().head.tid = left.leader;
    SAYS(check_context(builder.context, kNoMemory, {}), EBUSY,
         "pid {} (sleeper) is in use by the {} of pid {} ({})", left.leader,
         own_group ? "session" : "process group", left.member, comm_of(left.member));
    // That of a helper.
    builder = sample();
    Process& first = builder.process();
    first.head.flags |= CRYO_PROC_CHILD_SUBREAPER;
    Process second = first;
    second.head.pid = second.threads.front().head.tid = 3999998;
    second.head.ppid = first.head.pid;
    second.head.sid = second.head.pgid = left.leader;
    builder.context.processes.push_back(second);
    SAYS(check_context(builder.context, kNoMemory, {}), EBUSY,
         "the id of the session or process group {} is in use by the {} of pid {} ({})", left.leader,
         own_group ? "session" : "process group", left.member, comm_of(left.member));
    ::kill(left.member, SIGKILL);
  }
}

TEST("obstacles: session and group") {
  ContextBuilder builder = sample();
  RestartOptions options;
  options.restore_sid = true;
  options.restore_pid = false;
  CHECK_EQ(check_process_of(builder, options).problems.size(), 0U);
  options.restore_pgid = true;
  builder.process().head.sid = 3999997;
  builder.process().head.pgid = 3999996;
  const Findings findings = check_process_of(builder, options);
  SAYS(findings, EPERM,
       "pid 3999999: cannot enter session 3999997: sessions are only inherited by fork(2) (without "
       "--restore-sid, it gets that of cr_restart)");
  SAYS(findings, ESRCH,
       "pid 3999999: its process group 3999996 does not exist (without --restore-pgid, it gets that of "
       "cr_restart)");
  // It is made by who has the number, where that can be had.
  options.restore_pid = true;
  options.restore_sid = false;
  CHECK_EQ(check_process_of(builder, options).problems.size(), 0U);
}

TEST("obstacles: limits") {
  ContextBuilder builder = sample();
  rlimit files;
  ::getrlimit(RLIMIT_CORE, &files);
  const rlimit now{0, 1000};
  if (files.rlim_max < 1000) return;
  ::setrlimit(RLIMIT_CORE, &now);
  builder.process().rlimits.assign(17, {0, 0});
  builder.process().rlimits[RLIMIT_CORE].max = 5000;
  const Findings findings = check_process_of(builder);
  SAYS(findings, EPERM,
       "pid 3999999: its hard limit of {} is 5000, cr_restart's is 1000 (raise that of the shell or batch "
       "job that "
       "starts cr_restart, as root by prlimit --core=:5000 --pid PID, or restart it as root)",
       "core file (RLIMIT_CORE)");
  SAYS(findings, EINVAL, "pid 3999999: this kernel has no limit 16");
}

TEST("warnings: limits that depend on the machine") {
  ContextBuilder builder = sample();
  rlimit processes;
  ::getrlimit(RLIMIT_NPROC, &processes);
  const rlimit now{500, 1000};
  if (processes.rlim_max < 1000) return;
  ::setrlimit(RLIMIT_NPROC, &now);
  builder.process().rlimits.assign(RLIM_NLIMITS, {0, 0});
  builder.process().rlimits[RLIMIT_NPROC] = {5000, 6000};
  const Findings findings = check_process_of(builder);
  CHECK(std::count(findings.warnings.begin(), findings.warnings.end(),
                   "pid 3999999: its hard limit of processes (RLIMIT_NPROC) becomes 1000 (it was 6000)") ==
        1);
  CHECK_EQ(limit_here(builder.process(), RLIMIT_NPROC).max, 1000U);
  CHECK_EQ(limit_here(builder.process(), RLIMIT_NPROC).cur, 1000U);
}

TEST("obstacles: working directory") {
  const Directory directory;
  ContextBuilder builder = sample();
  builder.process().cwd = Path{{}, directory.file("file", 0600)};
  SAYS(check_process_of(builder), ENOTDIR, "pid 3999999: its working directory {} is no directory",
       builder.process().cwd->path);
  builder.process().cwd = Path{{}, directory.path() + "/closed"};
  ::mkdir(builder.process().cwd->path.c_str(), 0);
  const AsNobody nobody;
  SAYS(check_process_of(builder), EACCES,
       "pid 3999999: its working directory {} may not be entered: Permission denied (EACCES) "
       "(--relocate=OLD=NEW selects another one)",
       builder.process().cwd->path);
}

TEST("obstacles: timers that wake the machine") {
  ContextBuilder builder = sample();
  cryo_posix_timer timer{};
  timer.id = 4;
  timer.clockid = kAlarmClock;
  builder.process().posix_timers.timers.push_back(timer);
  SAYS(check_process_of(builder), EPERM,
       "pid 3999999: POSIX timer 4 wakes the machine, which requires CAP_WAKE_ALARM");
  add_file(builder, CRYO_FILE_TIMERFD, "anon_inode:[timerfd]", 0).timerfd = cryo_timerfd{};
  builder.context.files.at(1).timerfd->clockid = kAlarmClock;
  SAYS(check_files_of(builder), EPERM,
       "pid 3999999: descriptor 3 (anon_inode:[timerfd]): a timer that wakes the machine requires "
       "CAP_WAKE_ALARM");
}

TEST("obstacles: threads") {
  ContextBuilder builder = sample();
  Thread& thread = builder.thread();
  thread.cpus.assign(2000, 0);
  thread.cpus.back() = 1;
  thread.head.sched_policy = SCHED_FIFO;
  thread.head.sched_priority = 99;
  thread.head.ioprio = 1 << 13;
  thread.seccomp.filters.push_back({});
  thread.mempolicy = cryo_mempolicy{};
  thread.mempolicy->nodes[CRYO_MAX_NODES / 64 - 1] = 1ULL << 63;
  thread.head.flags &= ~CRYO_THREAD_LEADER;
  thread.pending.signals = 1;
  RestartOptions options;
  options.restore_pid = false;
  const Findings findings = check_threads_of(builder, options);
  WARNS(findings,
        "thread 3999999: none of the CPUs in its affinity mask (127936) is available: it may run on 1-2");
  SAYS(findings, EPERM,
       "thread 3999999: cr_restart may not give it its real-time scheduling (policy 1, priority 99)");
  SAYS(findings, EPERM, "thread 3999999: cr_restart may not give it its real-time I/O priority");
  SAYS(findings, EPERM,
       "thread 3999999: cr_restart may not install its seccomp filters without no_new_privs");
  thread.cpus = {0xa};
  WARNS(check_threads_of(builder, options),
        "thread 3999999: of the CPUs in its affinity mask (1,3), only 1 is available: it may run on 1-2");
  // Another one may run on more.
  Thread wider = thread;
  wider.cpus = {0xb, 0};
  builder.process().threads.push_back(wider);
  WARNS(check_threads_of(builder, options),
        "thread 3999999: of the CPUs in its affinity mask (1,3), only 1 is available");
  WARNS(check_threads_of(builder, options),
        "thread 3999999: of the CPUs in its affinity mask (0-1,3), only 1 is available: it may run on 1-2");
  builder.process().threads.pop_back();
  WARNS(findings, "thread 3999999: its NUMA memory policy: node {} cannot be had: it is left out",
        CRYO_MAX_NODES - 1);
  SAYS(findings, EINVAL, "thread 3999999: has pending signals, which cannot be restored without its id");
}

TEST("obstacles: memory") {
  ContextBuilder builder = sample();
  Mm& mm = builder.context.mms.at(1);
  mm.head.vdso = 4096;
  mm.head.vdso_crc = 1;
  mm.vmas.front().kind = 99;
  mm.vmas.front().flags |= CRYO_VMA_LOCKED;
  mm.vmas.push_back({stub::address_end(), stub::address_end() + 4096, 0, 0, CRYO_VMA_ANON, 0, 0, 0});
  mm.vmas.push_back({1 << 20, (1 << 20) + 4096, 0, 0, CRYO_VMA_VDSO, 0, 0, 0});
  cryo_mempolicy policy{};
  policy.start = 4096;
  policy.end = 8192;
  policy.nodes[CRYO_MAX_NODES / 64 - 1] = 1ULL << 63;
  mm.mempolicies.push_back(policy);
  const rlimit locked{0, 0};
  ::setrlimit(RLIMIT_MEMLOCK, &locked);
  const Findings findings = check_memory_of(builder);
  SAYS(findings, kErrBadArch,
       "pid 3999999: the code that the kernel maps into every process (vdso) is not that of the kernel on "
       "which the context was made (6.1.0-test), and it is not in the context");
  SAYS(findings, EOPNOTSUPP, "pid 3999999: unknown kind of memory (99) at {:#x}-{:#x}", mm.vmas.front().start,
       mm.vmas.front().end);
  SAYS(findings, EOPNOTSUPP, "pid 3999999: memory at {:#x}-{:#x} is above the addresses of this kernel",
       stub::address_end(), stub::address_end() + 4096);
  WARNS(findings,
        "pid 3999999: the NUMA memory policy of 0x1000-0x2000: node {} cannot be had: it is left out",
        CRYO_MAX_NODES - 1);
  SAYS(findings, EPERM, "pid 3999999: has {} bytes of locked memory, cr_restart may lock 0",
       mm.vmas.front().end - mm.vmas.front().start);
  mm.head.pkeys = 2;
  if (const long key = ::syscall(SYS_pkey_alloc, 0, 0); key >= 0)
    ::syscall(SYS_pkey_free, key);
  else
    SAYS(check_memory_of(builder), kErrBadArch,
         "pid 3999999: has allocated memory protection keys, which this machine lacks");
  mm.guards = {{mm.vmas.front().start, 1}};
  if (!can_have_guards(mm))
    SAYS(check_memory_of(builder), EOPNOTSUPP,
         "pid 3999999: has guard pages (MADV_GUARD_INSTALL) at {:#x}, which this kernel does not support",
         mm.guards.front().start);
}

TEST("obstacles: tags of memory") {
  ContextBuilder builder = sample();
  const std::uint64_t page = builder.context.header.page_size;
  const cryo_vma& vma = builder.context.mms.at(1).vmas.front();
  builder.add_tags(CRYO_PAGES_MM, 1, {{vma.start, 1}});
  const Findings findings = check_memory_of(builder);
  SAYS(findings, EBADMSG, "pid 3999999: there are tags of {:#x}-{:#x}, which is no memory that has any",
       vma.start, vma.start + page);
  if (tagged_protection() != 0) return;
  SAYS(findings, kErrBadArch, "pid 3999999: has memory with tags (PROT_MTE), which this machine lacks");
  Findings shared;
  builder.add_tags(CRYO_PAGES_INODE, 1, {{0, 1}});
  check_shared_tags(builder.context, shared);
  SAYS(shared, kErrBadArch,
       "there are shared memory or files with tags (PROT_MTE), which this machine lacks");
}

TEST("obstacles: the code of another kernel") {
  ContextBuilder builder = sample();
  Mm& mm = builder.context.mms.at(1);
  constexpr std::uint64_t kAt = 0x7fff00000000;
  const Bytes image(4096);
  mm.vmas.push_back({kAt, kAt + 8192, 0, 0, CRYO_VMA_VDSO, 0, 0, 0});
  mm.head.vdso = kAt;
  mm.head.vdso_crc = crc32c(image);
  builder.context.vdsos[crc32c(image)] = {image, {}};
  SAYS(check_memory_of(builder), kErrBadArch,
       "pid 3999999: the code that the kernel maps into every process (vdso) is not that of the kernel on "
       "which "
       "the context was made (6.1.0-test), and 8192 bytes of it are mapped, 4096 bytes are in the context");
  mm.vmas.back().end = kAt + 4096;
  SAYS(check_memory_of(builder), kErrBadArch,
       "pid 3999999: the code that the kernel maps into every process (vdso) is not that of the kernel on "
       "which "
       "the context was made (6.1.0-test), a vdso without symbols");
  builder.process().shared_memory.mm = 77;
  set_instruction_pointer(builder.thread().regsets, kAt + 4095);
  SAYS(check_memory_of(builder), kErrBadArch,
       "pid 3999999: thread 3999999 was executing in the vdso, which differs here, and shares its memory "
       "with another process");
  set_instruction_pointer(builder.thread().regsets, kAt + 4096);
  CHECK_EQ(check_memory_of(builder).problems.size(), 0U);
}

TEST("obstacles: files by their paths") {
  const Directory directory;
  ContextBuilder builder = sample();
  const std::string path = directory.path();
  add_file(builder, CRYO_FILE_PATH, path + "/gone", S_IFREG);
  add_file(builder, CRYO_FILE_PATH, path, S_IFREG);
  add_file(builder, CRYO_FILE_PATH, "/dev/null", S_IFCHR);
  add_file(builder, CRYO_FILE_PATH, directory.file("short", 0666), S_IFREG, O_WRONLY);
  builder.context.inodes.at(4).head.size = 10;
  add_file(builder, CRYO_FILE_PATH, directory.file("closed", 0), S_IFREG, O_RDWR);
  builder.context.inodes.at(5).head.size = 4;
  // Its owner could open it all the same.
  const bool others = ::chown((path + "/closed").c_str(), 12345, 12345) == 0;
  add_file(builder, CRYO_FILE_FIFO, directory.file("fifo", 0666), S_IFIFO);
  add_file(builder, CRYO_FILE_PTY_MASTER, path + "/ptmx", S_IFCHR);
  add_file(builder, CRYO_FILE_INOTIFY, "anon_inode:inotify", 0).inotify = Inotify{};
  builder.context.files.at(8).inotify->watches.push_back({{}, path + "/watched"});
  builder.context.files.at(8).inotify->watches.back().head.wd = 5;
  const AsNobody nobody;
  const Findings findings = check_files_of(builder);
  SAYS(findings, ENOENT,
       "pid 3999999: descriptor 3 ({}/gone): cannot be found: No such file or directory (ENOENT) {}", path,
       other_file(3));
  SAYS(findings, ESTALE,
       "pid 3999999: descriptor 4 ({}): is a directory now, and was a regular file at the checkpoint {}",
       path, other_file(4));
  SAYS(findings, ESTALE,
       "pid 3999999: descriptor 5 (/dev/null): is device 1:3 now, and was device 0:0 at the checkpoint; "
       "--device=/dev/null=reopen accepts it as is {}",
       other_file(5));
  SAYS(findings, ESTALE,
       "pid 3999999: descriptor 6 ({}/short): the file is shorter than at the checkpoint: it has 4 bytes, "
       "and had 10; --changed-files=warn accepts it as is {}",
       path, other_file(6));
  if (others)
    SAYS(findings, EACCES,
         "pid 3999999: descriptor 7 ({}/closed): cannot be opened for reading and writing: Permission denied "
         "(EACCES) {}",
         path, other_file(7));
  SAYS(findings, ESTALE,
       "pid 3999999: descriptor 8 ({}/fifo): is a regular file now, and was a FIFO (if it is removed or "
       "renamed, the "
       "FIFO is made again)",
       path);
  SAYS(findings, ENOENT,
       "pid 3999999: descriptor 9 ({}/ptmx): cannot be opened for reading and writing: No such file or "
       "directory (ENOENT)",
       path);
  SAYS(findings, ENOENT,
       "pid 3999999: descriptor 10 (anon_inode:inotify): cannot watch {}/watched (watch descriptor 5): No "
       "such file or directory (ENOENT)",
       path);
}

TEST("obstacles: another file of the name") {
  const Directory directory;
  ContextBuilder builder = sample();
  const std::string path = directory.file("other", 0666);
  struct stat now;
  ::stat(path.c_str(), &now);
  add_file(builder, CRYO_FILE_PATH, path, S_IFREG, O_WRONLY);
  cryo_inode& inode = builder.context.inodes.at(1).head;
  inode.fs_magic = 1;
  inode.ino = now.st_ino + 1;
  inode.size = static_cast<std::uint64_t>(now.st_size);
  inode.mtime_sec = now.st_mtim.tv_sec - 1;
  const Findings findings = check_files_of(builder);
  CHECK(!findings.problems.empty());
  CHECK(findings.problems.front().code == ESTALE);
  CHECK(findings.problems.front().text.find("its name now refers to a different file (inode") !=
        std::string::npos);
  CHECK(findings.problems.front().text.ends_with(
      fmt::format("; --relocate={}={} declares it to be the right one, --changed-files=warn accepts it as is",
                  path, path)));
  // As cp -p leaves it.
  inode.mtime_sec = now.st_mtim.tv_sec;
  inode.mtime_nsec = static_cast<std::uint32_t>(now.st_mtim.tv_nsec);
  CHECK(check_files_of(builder).problems.empty());
}

TEST("obstacles: the context itself, on its way in a message") {
  const Directory directory;
  ContextBuilder builder = sample();
  const std::string path = directory.file("context", 0666);
  add_file(builder, CRYO_FILE_PATH, path, S_IFREG, O_WRONLY);
  builder.process().fds.pop_back();
  SocketMessage message;
  message.files.push_back(1);
  add_file(builder, CRYO_FILE_EVENTFD, "anon_inode:[eventfd]", 0).queue.push_back(message);
  const Source source = Source::open(path);
  const Chain chain(source);
  Findings findings;
  findings.other_uses = find_other_uses(builder.context, chain, {});
  check_files(builder.context, {}, {}, findings);
  SAYS(findings, ETXTBSY,
       "pid 3999999: file {} passed in a message: is the context being restarted, or one that it needs, and "
       "is mapped for "
       "writing or passed in a message (--relocate=OLD=NEW if it is elsewhere now)",
       path);
}

// Of a user; nothing where this kernel lets anybody do it.
std::string filter_problem_without_capability(const File& file) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct before[_LINUX_CAPABILITY_U32S_3] = {}, less[_LINUX_CAPABILITY_U32S_3] = {};
  ::syscall(SYS_capget, &header, before);
  std::copy(std::begin(before), std::end(before), less);
  less[0].effective &= ~(1U << CAP_NET_ADMIN);
  ::syscall(SYS_capset, &header, less);
  std::string text = filter_problem(file);
  ::syscall(SYS_capset, &header, before);
  return text;
}

TEST("obstacles: filters and groups of sockets") {
  File file;
  file.head.kind = CRYO_FILE_TCP;
  file.filter = SocketFilter{{0, 1, 0, 0}, {6}, {}};
  const std::string text = filter_problem_without_capability(file);
  CHECK(text.empty() || text == "has a filter, which cr_restart may not give to TCP sockets (CAP_NET_ADMIN)");
  file.net = 73;
  CHECK(filter_problem_without_capability(file).empty());
  file.net = 0;
  SocketGroup group;
  group.head.family = AF_INET;
  group.head.group[0] = 239;
  group.device = "none0";
  file.groups.push_back(group);
  CHECK(multicast_problem(file) == "was in group 239.0.0.0 on network interface none0, which is not there");
  file.groups[0].device = "lo";
  CHECK(multicast_problem(file).empty());
}

TEST("obstacles: redirections") {
  const Directory directory;
  ContextBuilder builder = sample();
  add_file(builder, CRYO_FILE_PATH, directory.path() + "/gone", S_IFREG, O_WRONLY);
  const std::string path = directory.path() + "/socket";
  const int listener = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{AF_UNIX, {}};
  std::copy(path.begin(), path.end(), address.sun_path);
  CHECK_EQ(::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  redirect(builder.context, {parse_redirection("3=" + path)});
  SAYS(check_files_of(builder), EOPNOTSUPP, "pid 3999999: descriptor 3: --redirect target {} is a socket",
       path);
  ::close(listener);
}

TEST("obstacles: files of threads in /proc") {
  ContextBuilder builder = sample();
  Process& process = builder.process();
  process.threads.push_back(process.threads.front());
  process.threads.back().head.tid = 4000001;
  for (const char* path :
       {"/proc/3999999/task/4000001/stat", "/proc/4000001/status", "/proc/3999999/task/3999999/stat"}) {
    const File& file = add_file(builder, CRYO_FILE_PATH, path, S_IFREG);
    builder.context.inodes.at(file.head.inode).head.fs_magic = PROC_SUPER_MAGIC;
  }
  CHECK_EQ(check_files_of(builder).problems.size(), 0U);
}

// A terminal that was one open file at 0, 1, 2 and 5.
TEST("standard descriptors: each by itself") {
  ContextBuilder builder = sample();
  File& file = add_file(builder, CRYO_FILE_STDIO, "/dev/pts/7", S_IFCHR, O_RDWR);
  file.head.stdio_fd = 0;
  builder.process().fds = {{0, 1, 0, 0}, {1, 1, 0, 0}, {2, 1, 0, 0}, {5, 1, 0, 0}};
  const FileUse use = file_uses(builder.context).at(1);
  const OwnStandard null{true, O_RDONLY, false, true}, terminal{true, O_RDWR, true, false};
  const OwnStandard written{true, O_WRONLY, false, false}, read{true, O_RDONLY, false, false};
  const auto source = [&](std::uint32_t number, const OwnStandards& own) {
    return standard_source(file, use, number, own);
  };
  const OwnStandards redirected{null, written, written};
  for (int number = 0; number < 3; ++number)
    CHECK_EQ(source(static_cast<std::uint32_t>(number), redirected).number, number);
  CHECK_EQ(source(0, redirected).mode, O_RDONLY);
  CHECK_EQ(source(2, redirected).mode, O_WRONLY);
  CHECK_EQ(source(5, redirected).number, 1);
  CHECK_EQ(source(5, redirected).whole, false);
  CHECK_EQ(source(5, {terminal, written, written}).number, 0);
  CHECK_EQ(source(5, {terminal, written, written}).whole, true);
  CHECK_EQ(source(1, {null, read, written}).number, 2);
  CHECK_EQ(source(1, {null, OwnStandard{}, written}).number, 2);
  CHECK_EQ(source(0, {written, written, written}).number, StandardSource::kNone);
  CHECK_EQ(source(0, {null, written, written}).number, 0);
  CHECK_EQ(source(1, {read, read, read}).number, StandardSource::kNone);
  CHECK_EQ(source(1, {read, null, read}).number, 1);  // opened anew
}

TEST("obstacles: a file that has changed") {
  const Directory directory;
  ContextBuilder builder = sample();
  const std::string path = directory.file("changed", 0666);
  add_file(builder, CRYO_FILE_PATH, path, S_IFREG);
  struct stat now;
  ::stat(path.c_str(), &now);
  cryo_inode& inode = builder.context.inodes.at(1).head;
  inode.size = 9;
  inode.mtime_sec = now.st_mtim.tv_sec;
  inode.mtime_nsec = static_cast<std::uint32_t>(now.st_mtim.tv_nsec);
  RestartOptions options;
  options.changed_files = ChangedFiles::kRefuse;
  Findings findings;
  check_changed(builder.context, options, findings);
  SAYS(findings, ESTALE,
       "file changed since the checkpoint: {}: size 9 -> 4; descriptor 3 of pid 3999999, only read "
       "(--changed-files=warn accepts it as is, --redirect 3=FILE takes another one)",
       path);
}

TEST("obstacles: other files") {
  const Directory directory;
  ContextBuilder builder = sample();
  add_file(builder, CRYO_FILE_STDIO, "pipe:[1]", S_IFIFO).head.stdio_fd = 2;
  add_file(builder, 4711, "unknown", 0);
  add_file(builder, CRYO_FILE_DEVICE, "/dev/null", S_IFCHR);
  add_file(builder, CRYO_FILE_PIPE, "pipe:[2]", S_IFIFO);
  builder.context.inodes.at(4).pipe = Pipe{};
  builder.context.inodes.at(4).pipe->head.capacity = 1U << 31;
  add_file(builder, CRYO_FILE_POSIX_SHM, "/nonexistent/shm", S_IFREG);
  add_file(builder, CRYO_FILE_POSIX_SHM, directory.file("shm", 0666), S_IFREG);
  builder.process().fds.back().fd = 1 << 30;
  RestartOptions options;
  options.devices["/dev/null"] = DevicePolicy::kFail;
  const int error = ::fcntl(2, F_DUPFD_CLOEXEC, 100);
  ::close(2);
  const Findings findings = check_files_of(builder, options);
  ::dup2(error, 2);
  ::close(error);
  rlimit files;
  ::getrlimit(RLIMIT_NOFILE, &files);
  std::uint64_t limit = 0;
  std::ifstream("/proc/sys/fs/pipe-max-size") >> limit;
  SAYS(findings, EBADF,
       "pid 3999999: descriptor 3 (pipe:[1]): is taken over from cr_restart, whose descriptor 2 is closed "
       "(--redirect 3=FILE gives it a file)");
  SAYS(findings, EOPNOTSUPP,
       "pid 3999999: descriptor 4 (unknown): is of a kind that this cr_restart does not know (4711)");
  SAYS(findings, EOPNOTSUPP,
       "pid 3999999: descriptor 5 (/dev/null): is a device, which --device=/dev/null=fail does not allow");
  SAYS(findings, EPERM,
       "pid 3999999: descriptor 6 (pipe:[2]): a pipe of {} bytes is larger than /proc/sys/fs/pipe-max-size "
       "allows ({})",
       1U << 31, limit);
  SAYS(findings, EEXIST,
       "pid 3999999: descriptor 7 (/nonexistent/shm): cannot be recreated in /nonexistent/: No such file or "
       "directory (ENOENT)");
  SAYS(findings, EEXIST,
       "pid 3999999: descriptor {} ({}/shm): another object than at the checkpoint has its name", 1 << 30,
       directory.path());
  SAYS(findings, EMFILE, "pid 3999999: its descriptor {} is above the hard limit of open files ({})", 1 << 30,
       files.rlim_max);
}

TEST("obstacles: the terminal") {
  const pid_t child = ::fork();
  if (child == 0) {
    ::setsid();
    for (int fd = 0; fd < 3; ++fd) ::close(fd);
    ContextBuilder builder = sample();
    add_file(builder, CRYO_FILE_CTTY, "/dev/tty", S_IFCHR);
    const Findings findings = check_files_of(builder);
    const std::string_view text =
        "pid 3999999: descriptor 3 (/dev/tty): is its terminal, and cr_restart has none "
        "(--redirect 3=FILE gives it a file)";
    ::_exit(!findings.problems.empty() && findings.problems.front().text == text ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK_EQ(status, 0);
}

TEST("obstacles: fanotify") {
  const Directory directory;
  ContextBuilder builder = sample();
  add_file(builder, CRYO_FILE_FANOTIFY, "anon_inode:[fanotify]", 0).fanotify = Fanotify{};
  Fanotify& group = *builder.context.files.at(1).fanotify;
  group.head.init_flags = 0x40;  // FAN_ENABLE_AUDIT
  group.marks.push_back({{}, directory.path() + "/gone"});
  group.marks.push_back({{}, directory.path()});
  group.marks[0].head.kind = CRYO_MARK_INODE;
  group.marks[1].head.kind = CRYO_MARK_MOUNT;
  const Findings findings = check_files_of(builder);
  const std::string who = "pid 3999999: descriptor 3 (anon_inode:[fanotify]): ";
  SAYS(findings, EPERM,
       "{}recreating a fanotify group that was created with CAP_SYS_ADMIN requires CAP_SYS_ADMIN", who);
  SAYS(findings, EPERM, "{}a fanotify group with FAN_ENABLE_AUDIT requires CAP_AUDIT_WRITE", who);
  SAYS(findings, EPERM, "{}{}/gone cannot be marked: No such file or directory (ENOENT)", who,
       directory.path());
  SAYS(findings, EPERM, "{}{} cannot be marked: it is no mount point any more", who, directory.path());
}

TEST("obstacles: rings") {
  ContextBuilder builder = sample();
  add_file(builder, CRYO_FILE_URING, "anon_inode:[io_uring]", 0).uring = Uring{};
  cryo_uring& ring = builder.context.files.at(1).uring->head;
  ring.sq_entries = 4;
  ring.cq_entries = 8;
  Findings findings = check_files_of(builder);
  const std::string who = "pid 3999999: descriptor 3 (anon_inode:[io_uring]): ";
  if (findings.problems.front().text ==
          who + "io_uring is switched off here (sysctl kernel.io_uring_disabled)" ||
      findings.problems.front().text == who + "cannot create an io_uring: Function not implemented (ENOSYS)")
    return;
  SAYS(findings, EOPNOTSUPP,
       "{}this kernel arranges the memory of an io_uring in another way than the one of the checkpoint", who);
  ring.flags = 1U << 31;
  SAYS(check_files_of(builder), EOPNOTSUPP, "{}this kernel has no io_uring with the flags 0x80000000", who);
}

}  // namespace
}  // namespace cryo::test
