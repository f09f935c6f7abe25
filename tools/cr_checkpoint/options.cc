// SPDX-License-Identifier: GPL-2.0-only
#include "cr_checkpoint/options.h"

#include <fcntl.h>
#include <getopt.h>
#include <zstd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/parse.h"
#include "base/signals.h"
#include "base/version.h"
#include "cr_checkpoint/option_table.h"

namespace cryo {
namespace {

constexpr std::string_view kAutomatic = "auto";  // level of compression

// Of the window of --long. Less than the least is no more than the levels have by themselves; more than the
// most is what decompressors (and the tools here) take only when they are told to:
// ZSTD_WINDOWLOG_LIMIT_DEFAULT of zstd.h.
constexpr int kLeastWindowLog = 20;
constexpr int kMostWindowLog = 27;

template <typename... Args>
[[noreturn]] void usage_error(fmt::format_string<Args...> format, Args&&... args) {
  throw UsageError{fmt::format(format, std::forward<Args>(args)...)};
}

template <typename T>
T number(std::string_view what, const char* text, T min, T max) {
  const std::optional<T> value = parse_number<T>(text, min, max);
  if (!value) usage_error("{} '{}' is not a number from {} to {}", what, text, min, max);
  return *value;
}

// Bytes, with K, M, G or T for the powers of 1024.
std::uint64_t size(std::string_view what, std::string_view text) {
  constexpr std::string_view kUnits = "KMGT";
  const std::size_t unit = text.empty() ? std::string_view::npos : kUnits.find(text.back());
  const unsigned int shift = unit == std::string_view::npos ? 0 : 10 * (static_cast<unsigned int>(unit) + 1);
  const std::string digits(text.substr(0, text.size() - (shift == 0 ? 0 : 1)));
  const std::uint64_t max = std::numeric_limits<std::int64_t>::max() >> shift;
  const std::optional<std::uint64_t> value = parse_number<std::uint64_t>(digits, 0, max);
  if (value == 0) usage_error("{} '{}': one byte is the least", what, text);
  if (!value) usage_error("{} '{}' is not a number of bytes, such as 4096, 512M or 2G", what, text);
  return *value << shift;
}

// "PATH=POLICY"; the device is what PATH is now.
DeviceRule device_rule(std::string_view text) {
  const std::size_t equals = text.rfind('=');
  const std::string path(text.substr(0, equals));
  const std::string_view policy = equals == std::string_view::npos ? "" : text.substr(equals + 1);
  DeviceRule rule{path, 0};
  if (policy == "reopen")
    rule.policy = CRYO_DEVICE_REOPEN;
  else if (policy == "close")
    rule.policy = CRYO_DEVICE_CLOSE;
  else if (policy != "fail" || path.empty())
    usage_error("--device takes PATH=fail, PATH=reopen or PATH=close, not '{}'", text);
  return rule;
}

void print_usage() {
  std::fputs(
      "Usage: cr_checkpoint [options] ID\n"
      "Writes the state of running processes to a file from which cr_restart can make them go on.\n",
      stdout);
  print_options(kOptionRows, 26);
}

// The options as given, before they are put together.
class Parser {
 public:
  Options parse(int argc, char** argv);

 private:
  void option(int choice, const char* argument);
  bool scope_option(int choice);
  bool destination_option(int choice, const char* argument);
  bool placement_option(int choice, const char* argument);
  bool signal_option(int choice, const char* argument);
  bool save_option(int choice, const char* argument);
  void set_save_limits(std::string_view limits);
  bool ptrace_option(int choice);
  bool log_option(int choice);
  bool snapshot_option(int choice, const char* argument);
  bool incremental_option(int choice, const char* argument);
  void check_incremental() const;
  void set_direct(const std::string& when);
  void set_close_policy(const char* option, const std::string& policy, std::uint32_t flag);
  void set_callbacks(const std::string& choice);
  bool compression_option(int choice, const char* argument);
  bool other_option(int choice, const char* argument);
  void choose_destination(std::string_view id);

  Options options_;
  std::optional<int> window_log_;
  std::string directory_;
  std::string file_;
  std::optional<int> fd_;
};

bool Parser::scope_option(int choice) {
  switch (choice) {
    case 'T':
      options_.scope = CRYO_SCOPE_TREE;
      return true;
    case 'p':
      options_.scope = CRYO_SCOPE_PROCESS;
      return true;
    case 'g':
      options_.scope = CRYO_SCOPE_PGRP;
      return true;
    case 's':
      options_.scope = CRYO_SCOPE_SESSION;
      return true;
    case kCgroupOption:
      options_.scope = CRYO_SCOPE_CGROUP;
      return true;
    default:
      return false;
  }
}

bool Parser::destination_option(int choice, const char* argument) {
  if (choice != 'c' && choice != 'd' && choice != 'f' && choice != 'F') return false;
  directory_.clear();
  file_.clear();
  fd_.reset();
  if (choice != 'c' && *argument == '\0')
    usage_error("option -{} needs a value that is not empty", static_cast<char>(choice));
  switch (choice) {
    case 'd':
      directory_ = argument;
      break;
    case 'f':
      file_ = argument;
      break;
    case 'F':
      fd_ = number<int>("descriptor", argument, 0, std::numeric_limits<int>::max());
      break;
    default:
      break;
  }
  return true;
}

bool Parser::placement_option(int choice, const char* argument) {
  switch (choice) {
    case kAtomicOption:
      options_.placement = Placement::kAtomic;
      return true;
    case kBackupOption:
      options_.placement = Placement::kBackup;
      options_.backup_name = argument == nullptr ? "" : argument;
      return true;
    case kClobberOption:
      options_.placement = Placement::kClobber;
      return true;
    case kNoClobberOption:
      options_.placement = Placement::kNoClobber;
      return true;
    default:
      return false;
  }
}

bool Parser::signal_option(int choice, const char* argument) {
  switch (choice) {
    case kRunOption:
      options_.signal.reset();
      return true;
    case 'S':
      options_.signal = parse_signal(argument);
      if (!options_.signal)
        usage_error("--signal: '{}' is neither a signal number (1 to {}) nor a name (TERM)", argument,
                    SIGRTMAX);
      return true;
    case kStopOption:
      options_.signal = SIGSTOP;
      return true;
    case kEarlyStopOption:
      options_.signal = -SIGSTOP;
      return true;
    case kTermOption:
      options_.signal = SIGTERM;
      return true;
    case kAbortOption:
      options_.signal = SIGABRT;
      return true;
    case kEarlyAbortOption:
      options_.signal = -SIGABRT;
      return true;
    case kKillOption:
      options_.signal = SIGKILL;
      return true;
    case kContOption:
      options_.signal = SIGCONT;
      return true;
    default:
      return false;
  }
}

// "SIZE" or "SIZE,TOTAL"; 0 where the module is to choose.
void Parser::set_save_limits(std::string_view limits) {
  const std::size_t comma = limits.find(',');
  options_.save_limit = size("--save-open", limits.substr(0, comma));
  options_.save_total = comma == std::string_view::npos ? 0 : size("--save-open", limits.substr(comma + 1));
}

bool Parser::save_option(int choice, const char* argument) {
  switch (choice) {
    case kSaveOpenOption:
      options_.flags |= CRYO_CKPT_SAVE_OPEN;
      options_.save_limit = options_.save_total = 0;
      if (argument != nullptr) set_save_limits(argument);
      return true;
    case kSaveExeOption:
      options_.flags |= CRYO_CKPT_SAVE_EXE;
      return true;
    case kSavePrivateOption:
      options_.flags |= CRYO_CKPT_SAVE_PRIVATE | CRYO_CKPT_SAVE_EXE;  // which is mapped privately
      return true;
    case kSaveSharedOption:
      options_.flags |= CRYO_CKPT_SAVE_SHARED;
      return true;
    case kSaveAllOption:
      options_.flags |= kSaveAll;
      return true;
    case kSaveNoneOption:
      options_.flags &= ~kSaveAll;
      options_.save_limit = options_.save_total = 0;
      return true;
    default:
      return false;
  }
}

bool Parser::ptrace_option(int choice) {
  switch (choice) {
    case kPtracedErrorOption:
    case kPtracedAllowOption:
    case kPtracedSkipOption:
      options_.flags &= ~(CRYO_CKPT_PTRACED_ALLOW | CRYO_CKPT_PTRACED_SKIP);
      if (choice == kPtracedAllowOption) options_.flags |= CRYO_CKPT_PTRACED_ALLOW;
      if (choice == kPtracedSkipOption) options_.flags |= CRYO_CKPT_PTRACED_SKIP;
      return true;
    case kPtracerErrorOption:
      options_.flags &= ~CRYO_CKPT_PTRACER_SKIP;
      return true;
    case kPtracerSkipOption:
      options_.flags |= CRYO_CKPT_PTRACER_SKIP;
      return true;
    default:
      return false;
  }
}

bool Parser::log_option(int choice) {
  switch (choice) {
    case 'v':
      ++options_.verbose;
      return true;
    case 'q':
      options_.quiet = true;
      return true;
    case kKmsgNoneOption:
      options_.log = LogLevel::kNever;
      return true;
    case kKmsgErrorOption:
      options_.log = LogLevel::kOnError;
      return true;
    case kKmsgWarningOption:
      options_.log = LogLevel::kAlways;
      return true;
    default:
      return false;
  }
}

void Parser::set_callbacks(const std::string& choice) {
  if (choice != "yes" && choice != "no")
    usage_error("--callbacks: '{}' is neither \"yes\" nor \"no\"", choice);
  options_.flags &= ~CRYO_CKPT_NO_CALLBACKS;
  if (choice == "no") options_.flags |= CRYO_CKPT_NO_CALLBACKS;
}

void Parser::set_direct(const std::string& when) {
  if (when == "auto")
    options_.direct = Direct::kAuto;
  else if (when == "always")
    options_.direct = Direct::kAlways;
  else if (when == "never")
    options_.direct = Direct::kNever;
  else
    usage_error("--direct: '{}' is neither \"auto\" nor \"always\" nor \"never\"", when);
}

void Parser::set_close_policy(const char* option, const std::string& policy, std::uint32_t flag) {
  if (policy != "refuse" && policy != "close")
    usage_error("--{}: '{}' is neither \"refuse\" nor \"close\"", option, policy);
  options_.flags &= ~flag;
  if (policy == "close") options_.flags |= flag;
}

bool Parser::snapshot_option(int choice, const char* argument) {
  switch (choice) {
    case kSnapshotOption:
      options_.snapshot = true;
      return true;
    case kNoSnapshotOption:
      options_.snapshot = false;
      return true;
    case kSnapshotLimitOption:
      options_.snapshot_limit = size("--snapshot-limit", argument);
      return true;
    default:
      return false;
  }
}

bool Parser::incremental_option(int choice, const char* argument) {
  switch (choice) {
    case kParentOption:
      if (*argument == '\0') usage_error("--parent needs a file");
      options_.parent = argument;
      return true;
    case kIncrementalOption:
      if (*argument == '\0') usage_error("--incremental needs a directory");
      options_.generations = argument;
      return true;
    case kTrackOption:
      options_.track = true;
      return true;
    case kNoTrackOption:
      options_.track = false;
      return true;
    case kKeepOption:
      options_.keep_newest = number<int>("--keep", argument, 1, std::numeric_limits<int>::max());
      return true;
    default:
      return false;
  }
}

void Parser::check_incremental() const {
  if (options_.keep_newest && options_.generations.empty()) usage_error("--keep is for --incremental");
  if (options_.generations.empty()) return;
  if (!options_.parent.empty()) usage_error("--incremental finds the parent itself: no --parent");
  if (fd_ || !file_.empty() || !directory_.empty())
    usage_error("--incremental says where the context goes: no --file, --fd or --dir");
}

bool Parser::compression_option(int choice, const char* argument) {
  switch (choice) {
    case 'z':
      options_.compression.emplace();
      if (argument == nullptr)
        options_.compression->level = ZSTD_CLEVEL_DEFAULT;
      else if (argument != kAutomatic)
        options_.compression->level = number<int>("compression level", argument, 1, ZSTD_maxCLevel());
      return true;
    case kLongOption:
      window_log_ = argument == nullptr ? kMostWindowLog
                                        : number<int>("--long", argument, kLeastWindowLog, kMostWindowLog);
      return true;
    default:
      return false;
  }
}

bool Parser::other_option(int choice, const char* argument) {
  constexpr std::uint32_t kMaxSeconds = std::numeric_limits<std::uint32_t>::max() / 1000;
  switch (choice) {
    case 't':
      options_.timeout_ms = 1000 * number<std::uint32_t>("time", argument, 0, kMaxSeconds);
      return true;
    case kSyncOption:
      options_.sync = true;
      return true;
    case kNoSyncOption:
      options_.sync = false;
      return true;
    case kDirectOption:
      set_direct(argument == nullptr ? "always" : argument);
      return true;
    case kDryRunOption:
      options_.dry_run = true;
      return true;
    case kCallbacksOption:
      set_callbacks(argument);
      return true;
    case kTcpOption:
      set_close_policy("tcp", argument, CRYO_CKPT_TCP_CLOSE);
      return true;
    case kUnixOption:
      set_close_policy("unix", argument, CRYO_CKPT_UNIX_CLOSE);
      return true;
    case kDeviceOption:
      options_.devices.push_back(device_rule(argument));
      return true;
    default:
      return false;
  }
}

void Parser::option(int choice, const char* argument) {
  if (choice == 'h') {
    print_usage();
    std::exit(0);
  }
  if (choice == kVersionOption) {
    print_version("cr_checkpoint");
    std::exit(0);
  }
  const bool known = scope_option(choice) || destination_option(choice, argument) ||
                     placement_option(choice, argument) || signal_option(choice, argument) ||
                     save_option(choice, argument) || ptrace_option(choice) || log_option(choice) ||
                     snapshot_option(choice, argument) || incremental_option(choice, argument) ||
                     compression_option(choice, argument) || other_option(choice, argument);
  if (!known) throw UsageError{};
}

// "-", /dev/stdout and /dev/fd/N are descriptors: as paths, they would be replaced by a file.
std::optional<int> descriptor_of(std::string_view path) {
  if (path == "-" || path == "/dev/stdout") return 1;
  for (std::string_view prefix : {"/dev/fd/", "/proc/self/fd/"})
    if (path.starts_with(prefix)) return parse_number<int>(path.substr(prefix.size()));
  return std::nullopt;
}

void Parser::choose_destination(std::string_view id) {
  if (!file_.empty()) fd_ = descriptor_of(file_);
  if (fd_) {
    // Now, before a file of our own takes the number.
    if (::fcntl(*fd_, F_GETFD) < 0) fail(EBADF, "descriptor {} is not open", *fd_);
    options_.destination = DestinationFd{*fd_};
    return;
  }
  if (!file_.empty()) {
    options_.destination = DestinationFile{file_, true};
    return;
  }
  std::string path = directory_.empty() ? "" : directory_ + "/";
  path.append("context.").append(id).append(options_.compression ? ".zst" : "");
  options_.destination = DestinationFile{path, false};
}

Options Parser::parse(int argc, char** argv) {
  constexpr pid_t kMaxPid = 1 << 22;  // PID_MAX_LIMIT of the kernel
  int choice;
  for (int i = 1; i < argc && std::string_view(argv[i]) != "--"; ++i)
    if (std::string_view(argv[i]) == "-?") argv[i] = const_cast<char*>("-h");
  const std::string letters = short_options(kOptionRows);
  const std::vector<::option> names = long_options(kOptionRows);
  while ((choice = ::getopt_long(argc, argv, letters.c_str(), names.data(), nullptr)) != -1) {
    // What may be left out does not stand apart; "auto" is no process, so there is no doubt about this one.
    const bool apart = choice == 'z' && optarg == nullptr && optind < argc && argv[optind] == kAutomatic;
    option(choice, apart ? argv[optind++] : optarg);
  }
  if (optind == argc) usage_error("no process given");
  if (optind + 1 < argc)
    usage_error("one process only: '{}' is too much{}", argv[optind + 1],
                options_.compression ? " (a level is written without a space: -z9)" : "");
  const std::optional<pid_t> target = parse_number<pid_t>(argv[optind], 1, kMaxPid);
  if (!target) usage_error("'{}' is not a process id", argv[optind]);
  options_.target = *target;
  check_incremental();
  if (window_log_ && !options_.compression) usage_error("--long is for compressed contexts: give -z, too");
  if (window_log_) options_.compression->window_log = window_log_;
  choose_destination(std::to_string(*target));
  return options_;
}

}  // namespace

Options parse_options(int argc, char** argv) {
  return Parser().parse(argc, argv);
}

}  // namespace cryo
