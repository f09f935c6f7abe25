// SPDX-License-Identifier: GPL-2.0-only
// The part of the report about one process and its threads.
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <termios.h>

#include <algorithm>

#include "base/bytes.h"
#include "context/describe.h"
#include "cr_info/report.h"
#include "cr_info/text.h"

namespace cryo {
namespace {

std::string executable(const Context& context, const Process& process) {
  const std::uint32_t file = context.mm(process.head.mm).head.exe_file;
  return file == 0 ? "unknown" : printable(context.file(file).path);
}

void print_identity(const Context& context, const Process& process) {
  const cryo_process& head = process.head;
  fmt::print("\nprocess {} {}\n", head.pid, printable(process_name(process)));
  fmt::print("  executable   {}\n", executable(context, process));
  if (process.cwd) fmt::print("  directory    {}\n", printable(process.cwd->path));
  for (const Thread& thread : process.threads)
    if (thread.fs)
      fmt::print("  directory    {} (thread {}, umask {:03o})\n", printable(thread.fs->path), thread.head.tid,
                 thread.fs->head.umask);
  for (const Thread& thread : process.threads)
    if (thread.root && thread.head.tid == head.pid)
      fmt::print("  root         {}\n", printable(thread.root->path));
    else if (thread.root)
      fmt::print("  root         {} (thread {})\n", printable(thread.root->path), thread.head.tid);
  if (process.shared.files != 0)
    fmt::print("  shares       descriptors of process {}\n", process.shared.files);
  if (process.shared.fs != 0)
    fmt::print("  shares       directory and umask of process {}\n", process.shared.fs);
  if (process.shared_memory.mm != 0)
    fmt::print("  shares       memory{} of process {}\n",
               process.shared_memory.sighand == process.shared_memory.mm ? " and signal handlers" : "",
               process.shared_memory.mm);
  if (process.shared_memory.sighand != 0 && process.shared_memory.sighand != process.shared_memory.mm)
    fmt::print("  shares       signal handlers of process {}\n", process.shared_memory.sighand);
  fmt::print("  parent {}, group {}, session {}, umask {:03o}", head.ppid, head.pgid, head.sid, head.umask);
  if (head.oom_score_adj != 0) fmt::print(", oom_score_adj {}", head.oom_score_adj);
  if (head.personality != 0) fmt::print(", personality {:#x}", head.personality);
  fmt::print("\n");
  if (head.flags != 0) fmt::print("  flags        {}\n", join(process_flag_names(head.flags)));
  if (head.flags & CRYO_PROC_STOPPED) fmt::print("  stopped by   {}\n", signal_name(head.stop_signal));
}

void print_creds(const Process& process) {
  if (!process.creds) return;
  const cryo_creds& creds = process.creds->head;
  fmt::print(
      "  user         {} (effective {}), group {} (effective {}), groups {}\n", creds.uid, creds.euid,
      creds.gid, creds.egid,
      process.creds->groups.empty() ? "none" : fmt::format("{}", fmt::join(process.creds->groups, " ")));
  if (creds.cap_permitted != 0)
    fmt::print("  capabilities {}\n", join(capability_names(creds.cap_permitted)));
}

void print_namespaces(const Process& process) {
  const cryo_namespaces& in = process.namespaces;
  const std::pair<const char*, std::uint32_t> all[] = {
      {"user", in.user},   {"mount", in.mnt},     {"uts", in.uts},   {"ipc", in.ipc},
      {"network", in.net}, {"cgroup", in.cgroup}, {"time", in.time}, {"pid", in.pid}};
  std::string text;
  for (const auto& [name, id] : all)
    if (id != 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, id);
  if (!text.empty()) fmt::print("  namespaces   {}\n", text);
}

std::string terminal_modes(const cryo_terminal& terminal) {
  return fmt::format("{}{}", terminal.lflag & ICANON ? "" : ", without line editing (-icanon)",
                     terminal.lflag & ECHO ? "" : ", without echo (-echo)");
}

void print_queue(const char* whose, const SignalQueue& queue) {
  if (queue.signals != 0)
    fmt::print("  pending      {} ({})\n", join(signal_set_names(queue.signals)), whose);
}

void print_timers(const Process& process) {
  static constexpr const char* kNames[] = {"real", "virtual", "prof"};
  for (std::size_t i = 0; i < process.itimers.size(); ++i) {
    const cryo_itimer& timer = process.itimers[i];
    if (timer.value_ns == 0) continue;
    fmt::print("  timer        {}: in {}", i < std::size(kNames) ? kNames[i] : "other",
               duration_text(static_cast<std::int64_t>(timer.value_ns)));
    if (timer.interval_ns != 0)
      fmt::print(", then every {}", duration_text(static_cast<std::int64_t>(timer.interval_ns)));
    fmt::print("\n");
  }
}

void print_posix_timers(const Process& process) {
  for (const cryo_posix_timer& timer : process.posix_timers.timers) {
    fmt::print("  POSIX timer  {}: {}", timer.id, clock_name(timer.clockid));
    if (timer.notify != SIGEV_NONE) fmt::print(", {}", signal_name(static_cast<int>(timer.signal)));
    if (timer.notify & SIGEV_THREAD_ID) fmt::print(" to thread {}", timer.notify_tid);
    if (timer.flags & CRYO_TIMER_PENDING)
      fmt::print(", expired");
    else if (timer.flags & CRYO_TIMER_ARMED)
      fmt::print(", in {}", duration_text(timer.remaining_ns));
    if (timer.interval_ns != 0)
      fmt::print(", then every {}", duration_text(static_cast<std::int64_t>(timer.interval_ns)));
    fmt::print("\n");
  }
}

void print_handlers(const Process& process) {
  std::uint64_t handled = 0;
  std::uint64_t ignored = 0;
  for (std::size_t i = 0; i < process.sigactions.size(); ++i) {
    if (process.sigactions[i].handler == 1) ignored |= 1ULL << i;
    if (process.sigactions[i].handler > 1) handled |= 1ULL << i;
  }
  if (handled != 0) fmt::print("  handled      {}\n", join(signal_set_names(handled)));
  if (ignored != 0) fmt::print("  ignored      {}\n", join(signal_set_names(ignored)));
}

std::string restart_text(const cryo_thread& head) {
  if (head.restart.kind == 0) return "";
  std::string text = fmt::format(", interrupted {}", restart_kind_name(head.restart.kind));
  constexpr std::uint32_t kRemaining = 1;
  if ((head.restart.time_flags & kRemaining) == 0) return text;
  text += head.restart.time_ns > 0 ? fmt::format(" with {} to go", duration_text(head.restart.time_ns))
                                   : ", whose time is over";
  return text;
}

std::string place_text(const Context& context, const Thread& thread) {
  const auto place = thread_place(context.header.arch, thread);
  if (!place) return fmt::format("register sets: {}", thread.regsets.size());
  std::string text = fmt::format("ip {:#x} sp {:#x}", place->ip, place->sp);
  text += place->syscall ? fmt::format(", in system call {}", *place->syscall) : ", computing";
  return text;
}

constexpr std::size_t kRegisterWidth = 18;

// Three in a line, unless one is too long for that.
void print_values(const NamedValues& values) {
  const bool narrow = std::all_of(values.begin(), values.end(),
                                  [](const auto& value) { return value.second.size() <= kRegisterWidth; });
  const std::size_t columns = narrow ? 3 : 1;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool last = i % columns == columns - 1 || i + 1 == values.size();
    fmt::print("{}{:<8} {}{}", i % columns == 0 ? "        " : "  ", values[i].first, values[i].second,
               last ? "\n" : "");
  }
}

void print_regsets(const Context& context, const Thread& thread, int verbose) {
  const ArchDescription* description = arch_description(context.header.arch);
  for (const Regset& regset : thread.regsets) {
    const NamedValues values = description != nullptr ? description->registers(regset) : NamedValues();
    if (verbose > 1 || values.empty())
      fmt::print("        {}: {}\n", regset_name(regset.head.note), bytes_text(regset.data.size()));
    print_values(values);
  }
}

void print_thread_details(const Thread& thread) {
  const cryo_thread& head = thread.head;
  fmt::print("        processors {}, policy {}, nice {}", cpu_list(thread.cpus, head.nr_cpus),
             policy_name(head.sched_policy), head.nice);
  if (head.sched_priority != 0) fmt::print(", priority {}", head.sched_priority);
  fmt::print("\n");
  if (head.sigmask != 0) fmt::print("        blocked {}\n", join(signal_set_names(head.sigmask)));
  if (thread.mempolicy) fmt::print("        NUMA policy {}\n", thread.mempolicy->mode);
  if (thread.uclamp) fmt::print("        utilization {} to {}\n", thread.uclamp->min, thread.uclamp->max);
  if (thread.creds)
    fmt::print("        user {} (effective {}), group {} (effective {})\n", thread.creds->head.uid,
               thread.creds->head.euid, thread.creds->head.gid, thread.creds->head.egid);
  if (thread.seccomp.mode == 1) fmt::print("        seccomp strict mode\n");
  if (thread.seccomp.mode == 2) fmt::print("        seccomp {} filters\n", thread.seccomp.filters.size());
  if (thread.pending.signals != 0)
    fmt::print("        pending {}\n", join(signal_set_names(thread.pending.signals)));
}

void print_threads(const Context& context, const Process& process, int verbose) {
  fmt::print("  threads      {}\n", process.threads.size());
  for (const Thread& thread : process.threads) {
    fmt::print("    {:>7}  {:<15}  {}{}\n", thread.head.tid, printable(field_text(thread.head.comm)),
               place_text(context, thread), restart_text(thread.head));
    if (verbose == 0) continue;
    print_thread_details(thread);
    print_regsets(context, thread, verbose);
  }
}

void print_zombie(const Process& process) {
  const cryo_process& head = process.head;
  fmt::print("\nprocess {} {}\n", head.pid, printable(process_name(process)));
  fmt::print("  parent {}, group {}, session {}\n", head.ppid, head.pgid, head.sid);
  if (WIFSIGNALED(head.exit_code))
    fmt::print("  has died of {}, and was not waited for\n", signal_name(WTERMSIG(head.exit_code)));
  else
    fmt::print("  has exited with status {}, and was not waited for\n", WEXITSTATUS(head.exit_code));
}

}  // namespace

void print_process(const Context& context, const Process& process, int verbose) {
  if (process.head.flags & CRYO_PROC_ZOMBIE) return print_zombie(process);
  print_identity(context, process);
  print_creds(process);
  print_namespaces(process);
  if (process.terminal)
    fmt::print("  terminal     {}x{}, foreground group {}{}\n", process.terminal->columns,
               process.terminal->rows, process.terminal->pgid, terminal_modes(*process.terminal));
  if (!process.cgroup.empty() && process.cgroup != "/")
    fmt::print("  cgroup       {}\n", printable(process.cgroup));
  print_queue("process", process.pending);
  print_timers(process);
  print_posix_timers(process);
  if (verbose > 0) print_handlers(process);
  print_threads(context, process, verbose);
  if (process.shared_memory.mm == 0 || process.shared_memory.mm == process.head.pid)
    print_memory(context, context.mm(process.head.mm), verbose);
  print_files(context, process);
}

}  // namespace cryo
