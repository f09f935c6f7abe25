// SPDX-License-Identifier: GPL-2.0-only
// cr_restart - restart a process from a context file
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <map>
#include <new>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/exit_codes.h"
#include "base/message.h"
#include "base/output_descriptors.h"
#include "base/privileged_caller.h"
#include "base/progress_line.h"
#include "context/chain.h"
#include "context/reader.h"
#include "cr_restart/arguments.h"
#include "cr_restart/context_lock.h"
#include "cr_restart/forward.h"
#include "cr_restart/job_terminal.h"
#include "cr_restart/pid_namespace.h"
#include "cr_restart/reporter.h"
#include "restart/cgroups/control_groups.h"
#include "restart/check/check.h"
#include "restart/engine/allocation.h"
#include "restart/engine/restart.h"
#include "restart/files/fallback.h"
#include "restart/files/redirect.h"
#include "restart/process/tree_plan.h"
#include "restart/rights/credentials.h"

namespace cryo {
namespace {

// Runs a hook; 0 when there is none.
int run_hook(const std::string& command) {
  if (command.empty()) return 0;
  ::signal(SIGCHLD, SIG_DFL);  // arguments may be wrong before anybody else has said so
  const pid_t pid = ::fork();
  if (pid < 0) fail_errno("cannot run '{}'", command);
  if (pid == 0) {
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::execl("/bin/sh", "sh", "-c", command.c_str(), static_cast<char*>(nullptr));
    ::_exit(127);
  }
  const int status = wait_for(pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

const std::string& hook_for(const Hooks& hooks, int code) {
  switch (code) {
    case ENOMEM:
    case ENOSPC:
    case EDQUOT:
    case EBUSY:
      return hooks.failed_temp;
    case EACCES:
    case EPERM:
    case ENOENT:
    case EEXIST:
    case EISDIR:
    case ENOTDIR:
    case ELOOP:
      return hooks.failed_env;
    default:
      return hooks.failed_perm;
  }
}

// What makes the whole run end, with the lines that say why.
struct Failure {
  int error;
  int exit_status;
  std::string hook;
  std::vector<std::string> lines;
  std::vector<std::string> hints = {};
};

// How to end: with an exit status, or as the restarted process did.
struct Outcome {
  int exit_status = 0;
  std::optional<int> wait_status;
};

class Tool {
 public:
  explicit Tool(const RestartArguments& arguments) : arguments_(arguments) {
    if (arguments.report_fd) reporter_.emplace(*arguments.report_fd);
  }

  Outcome run();

 private:
  Outcome restart();
  [[nodiscard]] std::optional<Job> launch();
  [[nodiscard]] Source open_source() const;
  void say(const std::string& text) {
    progress::clear();
    if (reporter_)
      reporter_->say(without_controls(text));
    else if (!arguments_.quiet)
      message("cr_restart", "{}", text);
  }
  void report(const Findings& findings);
  void show_kernel_log(const std::string& log, bool failed);
  [[nodiscard]] Failure failure_of(const Error& error) const {
    return {error.code(), exit_code(error.code()), hook_for(arguments_.hooks, error.code()), {error.what()}};
  }
  Outcome attend(Job job, const sigset_t& mask);
  void explain(int status);
  Outcome part(pid_t child);

  const RestartArguments& arguments_;
  std::optional<Reporter> reporter_;
  JobTerminal terminal_;
  bool maps_ = false;  // the job has memory that is mapped from the context
};

Source Tool::open_source() const {
  try {
    if (!arguments_.fd) return Source::open(arguments_.file);
    const std::string name = fmt::format("descriptor {}", *arguments_.fd);
    UniqueFd fd(::fcntl(*arguments_.fd, F_DUPFD_CLOEXEC, 3));
    if (!fd) fail_errno("{}", name);
    // The process being restarted must not have it by accident.
    if (*arguments_.fd > STDERR_FILENO) ::close(*arguments_.fd);
    return Source::from_fd(std::move(fd), name);
  } catch (const Error& error) {
    switch (error.code()) {
      case EBADMSG:  // it has been opened, and is no context
      case EINTR:
      case EPERM:   // is not unpacked
      case ENOSPC:  // for a copy
      case EDQUOT:
      case ENOMEM:
        throw;
      default:
        break;
    }
    throw Failure{error.code(), kExitUsage, arguments_.hooks.failed_args, {error.what()}};
  }
}

void Tool::report(const Findings& findings) {
  for (const std::string& warning : findings.warnings) say("warning: " + warning);
  if (arguments_.verbose || arguments_.check_only)
    for (const std::string& text : findings.advice) say(text);
  if (arguments_.verbose)
    for (const std::string& note : findings.notes) say(note);
  if (findings.problems.empty()) return;
  const int code = findings.problems.front().code;
  Failure failure{code, exit_code(code), hook_for(arguments_.hooks, code), {}};
  for (const Problem& problem : findings.problems) failure.lines.push_back(problem.text);
  failure.hints = findings.hints;
  throw failure;
}

void Tool::show_kernel_log(const std::string& log, bool failed) {
  if (arguments_.quiet || arguments_.kernel_messages == KernelMessages::kNever) return;
  if (!failed && arguments_.kernel_messages == KernelMessages::kOnError) return;
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    if (reporter_)
      reporter_->say("- " + without_controls(line));
    else
      std::fputs(fmt::format("- {}\n", without_controls(line)).c_str(), stderr);
  }
}

// The module says it in the kernel's log, which not everybody may read.
void Tool::explain(int status) {
  if (!maps_ || !WIFSIGNALED(status) || WTERMSIG(status) != SIGBUS) return;
  const std::string name = arguments_.fd ? fmt::format("descriptor {}", *arguments_.fd) : arguments_.file;
  say(
      fmt::format("the job was killed by SIGBUS, and had memory mapped from {}: part of that may be damaged "
                  "or unreadable (check it with cr_info, and see dmesg)",
                  name));
}

// The job runs: whatever goes wrong from now on is no failure of the restart.
Outcome Tool::attend(Job job, const sigset_t& mask) {
  const pid_t child = job.processes.front();
  try {
    terminal_.announce();
    const Forwarding forwarding(job, mask, terminal_);
    if (const int status = run_hook(arguments_.hooks.success)) return {status, {}};
    if (const std::optional<int> status = wait_for_job(job, terminal_)) {
      explain(*status);
      return {0, status};
    }
    fail_errno("cannot wait for pid {}", child);
  } catch (const Error& error) {
    say(fmt::format("warning: {}; the job runs on, as pid {}", error.what(), child));
    return {};
  }
}

// Those whose parents are not in the context, in the order of their ids there: children of this process.  As
// a shell does of a pipeline, it ends as the last of its leader's group.
Job whole_job(const Context& context, const Restart::PidOf& pid_of, const Process& leader) {
  std::map<std::int32_t, const Process*> all;
  for (const Process& process : context.processes) all.emplace(process.head.pid, &process);
  Job job{{pid_of(leader)}, 0};
  for (const auto& [id, process] : all) {
    if (process == &leader || all.contains(process->head.ppid)) continue;
    if (process->head.pgid == leader.head.pgid && id > leader.head.pid) job.status_of = job.processes.size();
    job.processes.push_back(std::max(pid_of(*process), 0));
  }
  return job;
}

// Whoever has started us is the parent of the job once we have ended.
Outcome Tool::part(pid_t child) {
  reporter_->result(0, child);
  return {};
}

void verify_all(const Context& context, const Chain& chain) {
  verify_pages(chain.own(), context.pages);
  chain.verify(context);
}

// Nothing of the context is held any more when this returns: neither its memory nor its file.
std::optional<Job> Tool::launch() {
  if (is_privileged_caller() && arguments_.restart.other_owner != Tolerance::kWarn)
    Source::refuse_untrusted_copies(
        "restart it as its owner (runuser -u USER -- cr_restart FILE), or, if it cannot have been forged, "
        "with --other-owner=warn");
  const Source source = open_source();
  // Before anything is done that takes long, waits, or looks at what the context names.
  const Creds own = own_credentials();
  if (arguments_.restart.own_groups) refuse_own_groups(own);
  Findings origin;
  check_origin_of(source, arguments_.restart, own, origin);
  if (!origin.problems.empty()) report(origin);
  const allocation::Inherited memory;
  const AncestorPlace place{arguments_.restart.source, arguments_.ancestors};
  const bool map = arguments_.restart.map && !arguments_.check_only;
  const Context context = memory.fill([&] {
    Context read = read_context(source, {.verify_pages = false});
    redirect(read, arguments_.restart.redirections);
    settle_fallbacks(read, source, place, arguments_.restart);
    take_outer_numbers(read);
    if (arguments_.restart.own_groups) take_own_groups(read, own);
    if (arguments_.restart.cgroups == CgroupPolicy::kLeave) leave_cgroups(read);
    return read;
  });
  const allocation::Inherited::Seal seal;
  const Chain chain(context, source, place);
  Findings all;
  check_origin(context, chain, arguments_.restart, own, all);
  if (!all.problems.empty()) report(all);
  if (!map) verify_all(context, chain);  // else the restart does, but for what is mapped
  Restart restart(context, chain, arguments_.restart);
  std::optional<ContextLock> lock;
  if (!arguments_.fd && arguments_.restart.restore_pid && !arguments_.check_only)
    lock.emplace(arguments_.file, [this](const std::string& text) { say(text); });
  const Findings findings = restart.check();
  // A context of another machine is as good as none.
  if (reporter_ && (findings.problems.empty() || findings.problems.front().code != kErrBadArch))
    reporter_->read_done();
  report(findings);
  if (reporter_) check_parting(context);
  if (arguments_.check_only) {
    if (arguments_.verbose) say("no obstacles to a restart");
    return std::nullopt;
  }
  try {
    const Process* const owner = reporter_ ? nullptr : JobTerminal::owner(context);
    Job job;
    const pid_t child = restart.launch(findings, [&](const Restart::PidOf& pid_of) {
      if (arguments_.wait_for_all) job = whole_job(context, pid_of, context.processes[root_process(context)]);
      if (owner != nullptr) terminal_.put(*owner->terminal, pid_of(*owner));
    });
    for (const std::string& warning : restart.warnings()) say("warning: " + warning);
    show_kernel_log(restart.kernel_log(), false);
    if (arguments_.verbose) say(fmt::format("pid {} runs", child));
    maps_ = restart.maps();
    if (job.processes.empty()) job.processes = {child};
    return job;
  } catch (const Error&) {
    show_kernel_log(restart.kernel_log(), true);
    throw;
  }
}

Outcome Tool::restart() {
  if (!reporter_ && !arguments_.quiet) progress::begin("cr_restart");
  const sigset_t mask = block_all_signals();
  ::signal(SIGCHLD, SIG_DFL);  // ignored, as a caller may have left it, there would be nothing to wait for
  std::optional<Job> job = launch();
  progress::clear();
  if (!job) return {};
  return reporter_ ? part(job->processes.front()) : attend(std::move(*job), mask);
}

Outcome Tool::run() {
  Failure failure;
  try {
    if (arguments_.pid_ns)
      if (const std::optional<int> status = enter_pid_namespace()) return {0, status};
    return restart();
  } catch (const Failure& thrown) {
    failure = thrown;
  } catch (const Error& error) {
    failure = failure_of(error);
  } catch (const std::bad_alloc&) {
    failure = failure_of(Error(ENOMEM, "not enough memory"));
  }
  progress::clear();
  terminal_.give_back();
  if (const int status = run_hook(failure.hook)) return {status, {}};
  const std::string_view what = arguments_.check_only ? "cannot be restarted: " : "Restart failed: ";
  for (const std::string& line : failure.lines) say(fmt::format("{}{}", what, line));
  for (const std::string& line : failure.hints) say("hint: " + line);
  if (reporter_) reporter_->result(failure.error, 0);
  return {failure.exit_status, {}};
}

int run_tool(int argc, char** argv) {
  try {
    const RestartArguments arguments = parse_restart_arguments(argc, argv);
    occupy_output_descriptors();
    Outcome outcome;
    {
      const Foreground foreground;
      outcome = Tool(arguments).run();
    }
    if (outcome.wait_status) exit_as(*outcome.wait_status);
    return outcome.exit_status;
  } catch (const BadArguments& bad) {
    if (const int status = run_hook(bad.hook)) return status;
    if (!bad.text.empty()) message("cr_restart", "{}", bad.text);
    std::fputs("Try 'cr_restart --help' for more information.\n", stderr);
    return kExitUsage;
  } catch (const Error& error) {
    message("cr_restart", "{}", error.what());
    return exit_code(error.code());
  }
}

}  // namespace
}  // namespace cryo

int main(int argc, char** argv) {
  try {
    return cryo::run_tool(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "cr_restart: %s\n", error.what());
    return cryo::kExitUsage;
  }
}
