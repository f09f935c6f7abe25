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
#include "cr_restart/option_table.h"
#include "restart/files/redirect.h"

namespace cryo {
namespace {

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
  std::fputs(
      "Usage: cr_restart [options] [FILE]\n"
      "Restarts the processes that cr_checkpoint saved in a context file.\n",
      stdout);
  print_options(kOptionRows, 30);
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
  void show_version() const;
  void take_operand(int argc, char** argv);

  RestartArguments arguments_;
  bool have_source_ = false;
  bool version_ = false;
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
      version_ = true;
      break;
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

// Elsewhere -v is for more output: who means that here would take it that the job has been restarted.
void Parser::show_version() const {
  if (have_source_)
    throw BadArguments{"-v prints the version and takes no context file; --verbose is for more output", {}};
  print_version("cr_restart");
  std::exit(0);
}

void Parser::take_operand(int argc, char** argv) {
  if (argc - optind > 1) throw BadArguments{fmt::format("unexpected argument '{}'", argv[optind + 1]), {}};
  if (optind < argc) {
    optarg = argv[optind];
    take_source('f');
  }
  if (version_) show_version();
  if (!have_source_) throw BadArguments{"no context file given", {}};
  // Ids of there are nothing to whoever asked for the restart.
  if (arguments_.pid_ns && arguments_.report_fd)
    throw BadArguments{"--pid-ns and --report-fd exclude each other", {}};
  arguments_.restart.source = source_path(arguments_);
}

RestartArguments Parser::parse(int argc, char** argv) {
  show_help_if_asked(argc, argv);
  try {
    const std::string letters = short_options(kOptionRows);
    const std::vector<::option> names = long_options(kOptionRows);
    for (int option; (option = ::getopt_long(argc, argv, letters.c_str(), names.data(), nullptr)) != -1;)
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
