// SPDX-License-Identifier: GPL-2.0-only
#include "cr_restart/arguments.h"

#include <getopt.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "base/error.h"
#include "base/parse.h"
#include "base/signals.h"
#include "base/version.h"
#include "restart/files/redirect.h"

namespace cryo {
namespace {

enum : int {
  kVerbose = 256,
  kRun,
  kStop,
  kTerm,
  kAbort,
  kKill,
  kCont,
  kOnSuccess,
  kOnFailArgs,
  kOnFailTemp,
  kOnFailEnv,
  kOnFailPerm,
  kOnFailure,
  kRelocate,
  kRedirect,
  kCgroups,
  kGroups,
  kRestorePid,
  kNoRestorePid,
  kRestoreFiles,
  kNoRestoreFiles,
  kRestorePgid,
  kNoRestorePgid,
  kRestoreSid,
  kNoRestoreSid,
  kKmsgNone,
  kKmsgError,
  kKmsgWarning,
  kChangedFiles,
  kNoTruncate,
  kTruncate,
  kWait,
  kDevice,
  kOtherCpu,
  kOtherOwner,
  kCheck,
  kTimeNs,
  kPidNs,
  kReportFd,
  kAncestors,
  kMap,
  kNoMap,
  kPopulate,
  kNoPopulate,
  kOmit,
};

constexpr char kShortOptions[] = "hvqf:F:d:S:";

constexpr option kLongOptions[] = {
    {"help", no_argument, nullptr, 'h'},
    {"version", no_argument, nullptr, 'v'},
    {"verbose", no_argument, nullptr, kVerbose},
    {"quiet", no_argument, nullptr, 'q'},
    {"file", required_argument, nullptr, 'f'},
    {"fd", required_argument, nullptr, 'F'},
    {"dir", required_argument, nullptr, 'd'},  // hidden: BLCR's, and not implemented
    {"run", no_argument, nullptr, kRun},
    {"signal", required_argument, nullptr, 'S'},
    {"ancestors", required_argument, nullptr, kAncestors},
    {"stop", no_argument, nullptr, kStop},
    {"freeze", no_argument, nullptr, kStop},
    {"early-stop", no_argument, nullptr, kStop},  // hidden: BLCR's; all of ours come before the process runs
    {"early-abort", no_argument, nullptr, kAbort},  // hidden
    {"early-abrt", no_argument, nullptr, kAbort},   // hidden
    {"omit-maybe", no_argument, nullptr,
     kOmit},  // hidden: BLCR's; its child is of the scope, or not, as any other is
    {"omit-always", no_argument, nullptr, kOmit},  // hidden
    {"omit-never", no_argument, nullptr, kOmit},   // hidden
    {"term", no_argument, nullptr, kTerm},
    {"abort", no_argument, nullptr, kAbort},
    {"kill", no_argument, nullptr, kKill},
    {"cont", no_argument, nullptr, kCont},
    {"run-on-success", required_argument, nullptr, kOnSuccess},
    {"run-on-fail-args", required_argument, nullptr, kOnFailArgs},
    {"run-on-fail-temp", required_argument, nullptr, kOnFailTemp},
    {"run-on-fail-env", required_argument, nullptr, kOnFailEnv},
    {"run-on-fail-perm", required_argument, nullptr, kOnFailPerm},
    {"run-on-failure", required_argument, nullptr, kOnFailure},
    {"relocate", required_argument, nullptr, kRelocate},
    {"redirect", required_argument, nullptr, kRedirect},
    {"groups", required_argument, nullptr, kGroups},
    {"cgroups", required_argument, nullptr, kCgroups},
    {"restore-pid", no_argument, nullptr, kRestorePid},
    {"no-restore-pid", no_argument, nullptr, kNoRestorePid},
    {"restore-files", no_argument, nullptr, kRestoreFiles},
    {"no-restore-files", no_argument, nullptr, kNoRestoreFiles},
    {"restore-pgid", no_argument, nullptr, kRestorePgid},
    {"no-restore-pgid", no_argument, nullptr, kNoRestorePgid},
    {"restore-sid", no_argument, nullptr, kRestoreSid},
    {"no-restore-sid", no_argument, nullptr, kNoRestoreSid},
    {"kmsg-none", no_argument, nullptr, kKmsgNone},
    {"kmsg-error", no_argument, nullptr, kKmsgError},
    {"kmsg-warning", no_argument, nullptr, kKmsgWarning},
    {"changed-files", required_argument, nullptr, kChangedFiles},
    {"device", required_argument, nullptr, kDevice},
    {"no-truncate", no_argument, nullptr, kNoTruncate},
    {"truncate", optional_argument, nullptr, kTruncate},
    {"wait", required_argument, nullptr, kWait},
    {"other-cpu", required_argument, nullptr, kOtherCpu},
    {"other-owner", required_argument, nullptr, kOtherOwner},
    {"check", no_argument, nullptr, kCheck},
    {"time-ns", no_argument, nullptr, kTimeNs},
    {"pid-ns", no_argument, nullptr, kPidNs},
    {"map", no_argument, nullptr, kMap},
    {"no-map", no_argument, nullptr, kNoMap},
    {"populate", no_argument, nullptr, kPopulate},
    {"no-populate", no_argument, nullptr, kNoPopulate},
    {"report-fd", required_argument, nullptr, kReportFd},  // hidden: of libcr, see reporter.h
    {nullptr, 0, nullptr, 0},
};

constexpr char kUsage[] =
    R"(Usage: cr_restart [options] [FILE]
Bring a process back to life from a context file that cr_checkpoint wrote.

General options:
  -h, -?, --help              show this text and exit
  -v, --version               show the version and exit
      --verbose               say what happens
  -q, --quiet                 no messages
      --wait=WHICH            stay until the "leader" of the job has ended (default), or "all" of its first
                              processes, such as those of a pipeline

Source of the context (only one; default: the last argument):
  -f, --file=FILE             FILE; "-" is standard input; zstd is recognised
  -F, --fd=FD                 the open descriptor FD
      --ancestors=DIR         of an incremental one: those that it needs are in DIR, not beside it

Signal sent to the process before it goes on:
      --run                   none (default; a stopped process stays stopped)
  -S, --signal=N              signal N, a number or a name such as TERM
      --stop, --freeze        SIGSTOP
      --term, --abort, --kill, --cont

What is restored, and where:
      --relocate=OLD=NEW      paths that start with OLD start with NEW now (up to 16 times)
      --redirect=[PID:]FD=FILE
                              descriptor FD is FILE: what is written comes after what is in it
      --restore-files         files that are gone, and whose contents are in the context, are made again
                              (default: the process has them without a name), and so are directories of
                              sockets
      --no-restore-files      the contrary (default)
      --restore-pid           ids of the process and its threads (default)
      --no-restore-pid        take any free ids
      --pid-ns                in a pid namespace of its own, where all ids are free
      --restore-pgid          id of the process group (default: the group of cr_restart)
      --no-restore-pgid
      --restore-sid           id of the session (default: the session of cr_restart)
      --no-restore-sid
      --groups=WHICH          supplementary groups: "saved" (default), or "own": those of cr_restart
      --cgroups=POLICY        control groups of version 2: "join" those that are there (default), "make" those
                              that have gone again with their settings, "strict": or fail, "leave" processes in
                              that of cr_restart
      --device=PATH=POLICY    what becomes of the device PATH that was open: "fail", "reopen" or "close"
      --time-ns               CLOCK_MONOTONIC and CLOCK_BOOTTIME go on from where they were
      --truncate[=aside]      cut files open for writing back to their saved size; "aside": what has come since
                              is kept in FILE.cut.N (default: that, but where the process appends, or others
                              had the file open for writing, too, it stays)
      --no-truncate           leave all of them as they are

How memory comes back:
      --map                   large areas when they are used first, and the rest in the background meanwhile:
                              the process goes on at once, whatever its size (default)
      --no-map                all before it goes on
      --no-populate           with --map: nothing in the background
      --populate              the contrary (default)

Checks:
      --check                 only check whether the restart could succeed
      --changed-files=WHAT    files that are not what they were: "refuse", "warn" or "ignore"; by default
                              mapped ones are refused, and there is a warning of those only read
      --other-cpu=WHAT        CPU lacks features that the process may use: "error" (default) or "warn"
      --other-owner=WHAT      another user can have written what root restarts: "error" (default) or "warn"
      --kmsg-none, --kmsg-error, --kmsg-warning
                              show messages of the module never, on failure (default), always

Commands to run (by /bin/sh):
      --run-on-success=CMD    when the process runs again
      --run-on-fail-args=CMD  bad options, or the context cannot be opened
      --run-on-fail-temp=CMD  something that may pass, such as a pid in use
      --run-on-fail-env=CMD   missing files, missing rights
      --run-on-fail-perm=CMD  anything else
      --run-on-failure=CMD    all four
)";

int signal_number(const char* text) {
  const auto number = parse_signal(text);
  if (!number)
    throw BadArguments{
        fmt::format("'{}' is neither a signal number (1 to {}) nor a name (TERM)", text, SIGRTMAX), {}};
  return *number;
}

Tolerance tolerance(std::string_view option, std::string_view text) {
  if (text == "error") return Tolerance::kError;
  if (text == "warn") return Tolerance::kWarn;
  throw BadArguments{fmt::format("--{} takes 'error' or 'warn', not '{}'", option, text), {}};
}

ChangedFiles changed_files(std::string_view text) {
  if (text == "refuse" || text == "error") return ChangedFiles::kRefuse;
  if (text == "warn") return ChangedFiles::kWarn;
  if (text == "ignore") return ChangedFiles::kIgnore;
  throw BadArguments{fmt::format("--changed-files takes 'refuse', 'warn' or 'ignore', not '{}'", text), {}};
}

bool own_groups(std::string_view text) {
  if (text == "saved") return false;
  if (text == "own") return true;
  throw BadArguments{fmt::format("--groups takes 'saved' or 'own', not '{}'", text), {}};
}

CgroupPolicy cgroup_policy(std::string_view text) {
  if (text == "join") return CgroupPolicy::kJoin;
  if (text == "make") return CgroupPolicy::kMake;
  if (text == "leave") return CgroupPolicy::kLeave;
  if (text == "strict") return CgroupPolicy::kStrict;
  throw BadArguments{fmt::format("--cgroups takes 'join', 'make', 'leave' or 'strict', not '{}'", text), {}};
}

bool waits_for_all(std::string_view text) {
  if (text == "leader") return false;
  if (text == "all") return true;
  throw BadArguments{fmt::format("--wait takes 'leader' or 'all', not '{}'", text), {}};
}

Tails truncation(const char* text) {
  if (text == nullptr) return Tails::kGo;
  if (std::string_view(text) == "aside") return Tails::kAside;
  throw BadArguments{fmt::format("--truncate takes 'aside' or nothing, not '{}'", text), {}};
}

// How callbacks are to know the context; empty when it has no path.
std::string source_path(const RestartArguments& arguments) {
  std::error_code error;
  const std::string link = arguments.fd            ? fmt::format("/proc/self/fd/{}", *arguments.fd)
                           : arguments.file == "-" ? "/proc/self/fd/0"
                                                   : arguments.file;
  const std::filesystem::path path = std::filesystem::canonical(link, error);
  return error ? std::string() : path.string();
}

[[noreturn]] void show_help() {
  std::fputs(kUsage, stdout);
  std::exit(0);
}

// getopt() cannot be taught that "-?" is an option: to it, that is the answer to an unknown one.
void show_help_if_asked(int argc, char** argv) {
  for (int i = 1; i < argc && std::string_view(argv[i]) != "--"; ++i)
    if (std::string_view(argv[i]) == "-?") show_help();
}

class Parser {
 public:
  RestartArguments parse(int argc, char** argv);

 private:
  void take(int option);
  void take_relocation();
  void take_redirection();
  void take_device();
  bool take_signal(int option);
  bool take_hook(int option);
  bool take_ids(int option);
  bool take_mapping(int option);
  void take_source(int option);
  void take_operand(int argc, char** argv);

  RestartArguments arguments_;
  bool have_source_ = false;
};

bool Parser::take_signal(int option) {
  int& signal = arguments_.restart.signal;
  switch (option) {
    case kRun:
      signal = 0;
      return true;
    case 'S':
      signal = signal_number(optarg);
      return true;
    case kStop:
      signal = SIGSTOP;
      return true;
    case kTerm:
      signal = SIGTERM;
      return true;
    case kAbort:
      signal = SIGABRT;
      return true;
    case kKill:
      signal = SIGKILL;
      return true;
    case kCont:
      signal = SIGCONT;
      return true;
    default:
      return false;
  }
}

bool Parser::take_hook(int option) {
  Hooks& hooks = arguments_.hooks;
  switch (option) {
    case kOnSuccess:
      hooks.success = optarg;
      return true;
    case kOnFailArgs:
      hooks.failed_args = optarg;
      return true;
    case kOnFailTemp:
      hooks.failed_temp = optarg;
      return true;
    case kOnFailEnv:
      hooks.failed_env = optarg;
      return true;
    case kOnFailPerm:
      hooks.failed_perm = optarg;
      return true;
    case kOnFailure:
      hooks.failed_args = hooks.failed_temp = hooks.failed_env = hooks.failed_perm = optarg;
      return true;
    default:
      return false;
  }
}

bool Parser::take_ids(int option) {
  RestartOptions& restart = arguments_.restart;
  switch (option) {
    case kOmit:
      return true;
    case kRestorePid:
    case kNoRestorePid:
      restart.restore_pid = option == kRestorePid;
      return true;
    case kRestoreFiles:
    case kNoRestoreFiles:
      restart.restore_files = option == kRestoreFiles;
      return true;
    case kRestorePgid:
    case kNoRestorePgid:
      restart.restore_pgid = option == kRestorePgid;
      return true;
    case kRestoreSid:
    case kNoRestoreSid:
      restart.restore_sid = option == kRestoreSid;
      return true;
    default:
      return false;
  }
}

bool Parser::take_mapping(int option) {
  RestartOptions& restart = arguments_.restart;
  switch (option) {
    case kMap:
    case kNoMap:
      restart.map = option == kMap;
      return true;
    case kPopulate:
    case kNoPopulate:
      restart.populate = option == kPopulate;
      return true;
    default:
      return false;
  }
}

void Parser::take_source(int option) {
  if (have_source_) throw BadArguments{"only one of --file, --fd and FILE can be given", {}};
  have_source_ = true;
  if (option == 'F') {
    arguments_.fd = parse_number<int>(optarg, 0);
    if (!arguments_.fd) throw BadArguments{fmt::format("'{}' is not a descriptor number", optarg), {}};
  } else {
    arguments_.file = optarg;
  }
}

void Parser::take_relocation() {
  try {
    arguments_.restart.relocations.add(optarg);
    arguments_.restart.relocations.follow_links();
  } catch (const Error& error) {
    throw BadArguments{error.what(), {}};
  }
}

void Parser::take_redirection() {
  try {
    arguments_.restart.redirections.push_back(parse_redirection(optarg));
  } catch (const Error& error) {
    throw BadArguments{error.what(), {}};
  }
}

void Parser::take_device() {
  const std::string_view text = optarg;
  const std::size_t equals = text.rfind('=');
  const std::string_view policy = equals == std::string_view::npos ? "" : text.substr(equals + 1);
  if (equals == 0 || (policy != "fail" && policy != "reopen" && policy != "close"))
    throw BadArguments{fmt::format("--device takes PATH=fail, PATH=reopen or PATH=close, not '{}'", text),
                       {}};
  arguments_.restart.devices[std::string(text.substr(0, equals))] = policy == "fail" ? DevicePolicy::kFail
                                                                    : policy == "close"
                                                                        ? DevicePolicy::kClose
                                                                        : DevicePolicy::kReopen;
}

void Parser::take(int option) {
  if (take_signal(option) || take_hook(option) || take_ids(option) || take_mapping(option)) return;
  switch (option) {
    case 'v':
      print_version("cr_restart");
      std::exit(0);
    case 'h':
      show_help();
    case 'q':
      arguments_.quiet = true;
      break;
    case kVerbose:
      arguments_.verbose = true;
      break;
    case 'd':
      fail(EINVAL, "--dir is not implemented: a context is one file");
    case 'f':
    case 'F':
      take_source(option);
      break;
    case kRelocate:
      take_relocation();
      break;
    case kGroups:
      arguments_.restart.own_groups = own_groups(optarg);
      break;
    case kCgroups:
      arguments_.restart.cgroups = cgroup_policy(optarg);
      break;
    case kRedirect:
      take_redirection();
      break;
    case kKmsgNone:
      arguments_.kernel_messages = KernelMessages::kNever;
      break;
    case kKmsgError:
      arguments_.kernel_messages = KernelMessages::kOnError;
      break;
    case kKmsgWarning:
      arguments_.kernel_messages = KernelMessages::kAlways;
      break;
    case kChangedFiles:
      arguments_.restart.changed_files = changed_files(optarg);
      break;
    case kNoTruncate:
      arguments_.restart.tails = Tails::kStay;
      break;
    case kWait:
      arguments_.wait_for_all = waits_for_all(optarg);
      break;
    case kTruncate:
      arguments_.restart.tails = truncation(optarg);
      break;
    case kDevice:
      take_device();
      break;
    case kOtherOwner:
      arguments_.restart.other_owner = tolerance("other-owner", optarg);
      break;
    case kOtherCpu:
      arguments_.restart.other_cpu = tolerance("other-cpu", optarg);
      break;
    case kTimeNs:
      arguments_.restart.time_namespace = true;
      break;
    case kPidNs:
      arguments_.pid_ns = true;
      break;
    case kReportFd:
      arguments_.report_fd = parse_number<int>(optarg, 3);
      if (!arguments_.report_fd) throw BadArguments{"bad --report-fd", {}};
      arguments_.restart.requester = ::getppid();
      break;
    case kAncestors:
      if (*optarg == '\0') throw BadArguments{"--ancestors needs a directory", {}};
      arguments_.ancestors = optarg;
      break;
    case kCheck:
      arguments_.check_only = true;
      break;
    default:
      throw BadArguments{};
  }
}

void Parser::take_operand(int argc, char** argv) {
  if (argc - optind > 1) throw BadArguments{fmt::format("unexpected argument '{}'", argv[optind + 1]), {}};
  if (optind < argc) {
    optarg = argv[optind];
    take_source('f');
  }
  if (!have_source_) throw BadArguments{"no context file given", {}};
  // Ids of there are nothing to whoever asked for the restart.
  if (arguments_.pid_ns && arguments_.report_fd)
    throw BadArguments{"--pid-ns and --report-fd exclude each other", {}};
  arguments_.restart.source = source_path(arguments_);
}

RestartArguments Parser::parse(int argc, char** argv) {
  show_help_if_asked(argc, argv);
  try {
    for (int option; (option = ::getopt_long(argc, argv, kShortOptions, kLongOptions, nullptr)) != -1;)
      take(option);
    take_operand(argc, argv);
  } catch (const BadArguments& bad) {
    throw BadArguments{bad.text, arguments_.hooks.failed_args};
  }
  return arguments_;
}

}  // namespace

RestartArguments parse_restart_arguments(int argc, char** argv) {
  return Parser().parse(argc, argv);
}

}  // namespace cryo
