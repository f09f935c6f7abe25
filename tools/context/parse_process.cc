// SPDX-License-Identifier: GPL-2.0-only
// Sections about the system, processes and threads.
#include <sys/stat.h>

#include <limits>
#include <span>

#include "context/describe.h"
#include "context/staging.h"

namespace cryo {
namespace {

constexpr std::uint32_t kProcessFlags =
    CRYO_PROC_STOPPED | CRYO_PROC_NO_NEW_PRIVS | CRYO_PROC_SESSION_LEADER | CRYO_PROC_CTTY |
    CRYO_PROC_CHILD_SUBREAPER | CRYO_PROC_KEEPCAPS | CRYO_PROC_ZOMBIE | CRYO_PROC_CONSENTED |
    CRYO_PROC_STOP_WAITED | CRYO_PROC_CONTINUED | CRYO_PROC_STOP_BEGUN;
constexpr std::uint32_t kThreadFlags = CRYO_THREAD_LEADER | CRYO_THREAD_RESTORE_SIGMASK | CRYO_THREAD_RSEQ |
                                       CRYO_THREAD_EXITED | CRYO_THREAD_NO_NEW_PRIVS;
constexpr std::uint32_t kMaxRestartKind = 4;  // CRYO_RESTART_TIMED of <cryo/ioctl.h>
constexpr std::uint32_t kMaxSignals = 64;
constexpr std::int32_t kMaxStopSignal = 64;

Process& process_of(Staging& staging, const Payload& payload) {
  return staging.processes.mention(pid_of(payload), payload.section());
}

void require_nul(const Payload& payload, std::span<const __u8> text, const char* what) {
  if (text.back() != 0) payload.damaged("{} is not terminated", what);
}

Creds take_creds(Staging& staging, const Payload& payload) {
  staging.once(payload);
  Creds creds{payload.fixed<cryo_creds>(), {}};
  creds.groups = payload.records<std::uint32_t>(creds.head.nr_groups, sizeof(std::uint32_t));
  return creds;
}

}  // namespace

void parse_system(Staging& staging, const Payload& payload) {
  staging.once(payload);
  const auto head = payload.fixed<cryo_system>();
  require_nul(payload, head.sysname, "sysname");
  require_nul(payload, head.release, "release");
  require_nul(payload, head.version, "version");
  require_nul(payload, head.machine, "machine");
  require_nul(payload, head.nodename, "nodename");
  require_nul(payload, head.writer, "writer");
  staging.system = head;
}

void parse_cpu(Staging& staging, const Payload& payload) {
  staging.once(payload);
  if (payload.object() != staging.scanner.header().arch)
    payload.damaged("describes {}, the file header says {}", arch_name(payload.object()),
                    arch_name(staging.scanner.header().arch));
  staging.cpu = Bytes(payload.all().begin(), payload.all().end());
}

void parse_process(Staging& staging, const Payload& payload) {
  const auto head = payload.fixed<cryo_process>();
  if (head.pid != pid_of(payload)) payload.damaged("object {} has pid {} inside", payload.object(), head.pid);
  if (head.ppid < 0 || head.pgid < 0 || head.sid < 0)
    payload.damaged("process {}: ppid {}, pgid {} or sid {} is negative", head.pid, head.ppid, head.pgid,
                    head.sid);
  if ((head.threads == 0) != ((head.flags & CRYO_PROC_ZOMBIE) != 0))
    payload.damaged("process {} has {} threads", head.pid, head.threads);
  if (head.exit_signal < 0 || head.exit_signal > static_cast<std::int32_t>(kMaxSignals))
    payload.damaged("process {}: exit signal {}", head.pid, head.exit_signal);
  if (head.dumpable > 2) payload.damaged("process {}: dumpable is {}", head.pid, head.dumpable);
  if ((head.flags & CRYO_PROC_STOPPED) && (head.stop_signal < 0 || head.stop_signal > kMaxStopSignal))
    payload.damaged("process {}: stopped by {}, which is no signal", head.pid, head.stop_signal);
  if (head.flags & ~kProcessFlags)
    staging.unknown(payload.section(), "process {}: unknown flags {:#x}", head.pid,
                    head.flags & ~kProcessFlags);
  Process& process = staging.processes.define(head.pid, payload);
  process.head = head;
  process.command = payload.string();
}

void parse_cwd(Staging& staging, const Payload& payload) {
  staging.once(payload);
  Path cwd{payload.fixed<cryo_path>(), payload.string()};
  if (cwd.path.empty()) payload.damaged("an empty path");
  process_of(staging, payload).cwd = std::move(cwd);
}

void parse_shared_tables(Staging& staging, const Payload& payload) {
  staging.once(payload);
  const auto shared = payload.fixed<cryo_shared_tables>();
  if (shared.files < 0 || shared.fs < 0)
    payload.damaged("process {} shares tables with process {} or {}", payload.object(), shared.files,
                    shared.fs);
  process_of(staging, payload).shared = shared;
}

void parse_shared_memory(Staging& staging, const Payload& payload) {
  staging.once(payload);
  const auto shared = payload.fixed<cryo_shared_memory>();
  if (shared.mm <= 0 || shared.sighand < 0)
    payload.damaged("process {} shares memory with process {} and signal handlers with process {}",
                    payload.object(), shared.mm, shared.sighand);
  process_of(staging, payload).shared_memory = shared;
}

void parse_thread_fs(Staging& staging, const Payload& payload) {
  staging.once(payload);
  ThreadFs fs{payload.fixed<cryo_thread_fs>(), payload.string()};
  if (fs.path.empty()) payload.damaged("an empty path");
  staging.threads.mention(pid_of(payload), payload.section()).fs = std::move(fs);
}

void parse_root(Staging& staging, const Payload& payload) {
  staging.once(payload);
  Root root{payload.fixed<cryo_inode>(), payload.string()};
  if (!root.path.starts_with('/')) payload.damaged("a root directory without an absolute path");
  if ((root.head.mode & S_IFMT) != S_IFDIR) payload.damaged("a root directory of mode {:#o}", root.head.mode);
  staging.threads.mention(pid_of(payload), payload.section()).root = std::move(root);
}

void parse_creds(Staging& staging, const Payload& payload) {
  process_of(staging, payload).creds = take_creds(staging, payload);
}

void parse_thread_creds(Staging& staging, const Payload& payload) {
  staging.threads.mention(pid_of(payload), payload.section()).creds = take_creds(staging, payload);
}

void parse_file_opener(Staging& staging, const Payload& payload) {
  file_of(staging, payload).opener = take_creds(staging, payload);
}

void parse_outer_groups(Staging& staging, const Payload& payload) {
  staging.once(payload);
  process_of(staging, payload).outer_groups = payload.array<std::uint32_t>();
}

void parse_rlimits(Staging& staging, const Payload& payload) {
  staging.once(payload);
  Process& process = process_of(staging, payload);
  process.rlimits = payload.array<cryo_rlimit>();
  for (std::size_t i = 0; i < process.rlimits.size(); ++i)
    if (process.rlimits[i].cur > process.rlimits[i].max)
      payload.damaged("process {}: soft limit {} is above its hard limit", payload.object(), i);
}

void parse_sigactions(Staging& staging, const Payload& payload) {
  staging.once(payload);
  Process& process = process_of(staging, payload);
  process.sigactions = payload.array<cryo_sigaction>();
  if (process.sigactions.size() > kMaxSignals)
    payload.damaged("process {}: {} signals", payload.object(), process.sigactions.size());
}

void parse_itimers(Staging& staging, const Payload& payload) {
  staging.once(payload);
  process_of(staging, payload).itimers = payload.array<cryo_itimer>();
}

void parse_sigpending(Staging& staging, const Payload& payload) {
  const auto head = payload.fixed<cryo_sigpending>();
  staging.once(payload, head.flags & CRYO_SIGPENDING_SHARED);
  if (head.flags & ~CRYO_SIGPENDING_SHARED)
    staging.unknown(payload.section(), "unknown flags {:#x}", head.flags & ~CRYO_SIGPENDING_SHARED);
  SignalQueue queue{head.signals, payload.records<SigInfo>(head.count, head.record_size)};
  for (const SigInfo& info : queue.siginfos) {
    const auto signal = grown<std::int32_t>(info);
    if (signal < 1 || signal > static_cast<std::int32_t>(kMaxSignals) ||
        (queue.signals >> (signal - 1) & 1) == 0)
      payload.damaged("a siginfo of signal {}, which is not pending", signal);
  }
  if (head.flags & CRYO_SIGPENDING_SHARED)
    process_of(staging, payload).pending = std::move(queue);
  else
    staging.threads.mention(pid_of(payload), payload.section()).pending = std::move(queue);
}

void parse_thread(Staging& staging, const Payload& payload) {
  const auto head = payload.fixed<cryo_thread>();
  if (head.tid != pid_of(payload)) payload.damaged("object {} has tid {} inside", payload.object(), head.tid);
  if (head.pid <= 0) payload.damaged("thread {}: {} cannot be a pid", head.tid, head.pid);
  if (((head.flags & CRYO_THREAD_LEADER) != 0) != (head.tid == head.pid))
    payload.damaged("thread {} of process {}: its leader flag is wrong", head.tid, head.pid);
  if ((head.flags & CRYO_THREAD_EXITED) && !(head.flags & CRYO_THREAD_LEADER))
    payload.damaged("thread {} of process {} has exited", head.tid, head.pid);
  require_nul(payload, head.comm, "comm");
  if (head.flags & ~kThreadFlags)
    staging.unknown(payload.section(), "thread {}: unknown flags {:#x}", head.tid,
                    head.flags & ~kThreadFlags);
  if (head.restart.kind > kMaxRestartKind)
    staging.unknown(payload.section(), "thread {}: unknown kind of interrupted call {}", head.tid,
                    head.restart.kind);
  Thread& thread = staging.threads.define(head.tid, payload);
  thread.head = head;
  thread.cpus =
      payload.records<std::uint64_t>((std::uint64_t{head.nr_cpus} + 63) / 64, sizeof(std::uint64_t));
}

void parse_regset(Staging& staging, const Payload& payload) {
  Regset regset{payload.fixed<cryo_regset_head>(), payload.tail_bytes()};
  staging.once(payload, regset.head.note);
  if (regset.data.empty())
    payload.damaged("thread {}: register set {:#x} is empty", payload.object(), regset.head.note);
  staging.threads.mention(pid_of(payload), payload.section()).regsets.push_back(std::move(regset));
}

}  // namespace cryo
