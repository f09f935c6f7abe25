// SPDX-License-Identifier: GPL-2.0-only
// What the command line of cr_restart asks for.
#pragma once

#include <optional>
#include <string>

#include "restart/common/options.h"

namespace cryo {

// Commands for /bin/sh, as the user gave them; empty: none.
struct Hooks {
  std::string success;
  std::string failed_args;
  std::string failed_temp;
  std::string failed_env;
  std::string failed_perm;
};

enum class KernelMessages { kNever, kOnError, kAlways };

struct RestartArguments {
  RestartOptions restart;
  Hooks hooks;
  std::string file;              // "-" is standard input
  std::optional<int> fd;         // instead of file
  std::string ancestors;         // directory where those that it needs are; empty: its own
  std::optional<int> report_fd;  // see reporter.h
  KernelMessages kernel_messages = KernelMessages::kOnError;
  bool quiet = false;
  bool verbose = false;
  bool check_only = false;
  bool pid_ns = false;        // in a pid namespace of its own
  bool wait_for_all = false;  // for all first processes of the job, not its leader alone
};

// A bad command line; the text may be empty when getopt has said it already.
struct BadArguments {
  std::string text;
  std::string hook;  // --run-on-fail-args, when it was seen before
};

// Reads the command line.  Throws BadArguments or Error; ends the program for --help and --version.
[[nodiscard]] RestartArguments parse_restart_arguments(int argc, char** argv);

}  // namespace cryo
