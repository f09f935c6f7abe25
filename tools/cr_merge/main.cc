// SPDX-License-Identifier: GPL-2.0-only
// cr_merge - make an incremental context, and those that it needs, into one that needs no other
#include <fcntl.h>
#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/error.h"
#include "base/exit_codes.h"
#include "base/message.h"
#include "base/option_table.h"
#include "base/output.h"
#include "base/output_descriptors.h"
#include "base/privileged_caller.h"
#include "base/version.h"
#include "context/origin.h"
#include "context/reader.h"
#include "cr_checkpoint/target_file.h"
#include "cr_merge/merge.h"

namespace cryo {
namespace {

constexpr int kEndingSignals[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};

struct Arguments {
  std::string file;
  std::string output;
  std::string ancestors;
  bool sync = true;
  bool verbose = false;
  bool any_owner = false;  // another user may have written what a privileged caller merges
  bool done = false;       // --help or --version
};

struct Usage {
  std::string text;  // may be empty when getopt has said it already
};

struct Interrupted {
  int signal;
};

enum : int { kAncestorsOption = 256, kSyncOption, kNoSyncOption, kOwnerOption, kVersionOption };

constexpr OptionRow kOptionRows[] = {
    {"o", "output", " OUT", 'o',
     "where it goes; must not exist; \"-\" is standard output (-f, --file are the same)"},
    {"f", "file", " OUT", 'o', kNamedElsewhere},
    {"", "ancestors", " DIR", kAncestorsOption, "those that FILE needs are in DIR, not beside it"},
    {"", "sync", "", kSyncOption, kWithNext},
    {"", "nosync", "", kNoSyncOption, "wait until OUT is on the disk (default), or do not"},
    {"", "other-owner", "=WHAT", kOwnerOption,
     "another user can have written what root merges: \"error\" (default) or \"warn\""},
    {"v", "verbose", "", 'v', "say what was done"},
    {"h", "help", "", 'h', "show this text"},
    {"", "version", "", kVersionOption, "show the version"},
};

void print_usage() {
  std::fputs(
      R"(Usage: cr_merge [options] FILE -o OUT
Makes an incremental context, and those that have bytes of it, into one that needs no other.

)",
      stdout);
  print_options(kOptionRows, 25);
  std::fputs(
      R"(
Exit status: 0 OUT is whole, and has been compared with FILE byte by byte; else as that of
cr_checkpoint; 255 usage.
)",
      stdout);
}

void take(int option, Arguments& arguments) {
  switch (option) {
    case 'f':
    case 'o':
      arguments.output = optarg;
      return;
    case kAncestorsOption:
      arguments.ancestors = optarg;
      return;
    case kSyncOption:
    case kNoSyncOption:
      arguments.sync = option == kSyncOption;
      return;
    case kOwnerOption:
      arguments.any_owner = optarg == std::string_view("warn");
      if (!arguments.any_owner && optarg != std::string_view("error"))
        throw Usage{fmt::format("--other-owner takes 'error' or 'warn', not '{}'", optarg)};
      return;
    case 'v':
      arguments.verbose = true;
      return;
    case 'h':
      print_usage();
      arguments.done = true;
      return;
    case kVersionOption:
      print_version("cr_merge");
      arguments.done = true;
      return;
    default:
      throw Usage{};
  }
}

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  const std::string letters = short_options(kOptionRows);
  const std::vector<::option> names = long_options(kOptionRows);
  for (int option; (option = ::getopt_long(argc, argv, letters.c_str(), names.data(), nullptr)) != -1;) {
    take(option, arguments);
    if (arguments.done) return arguments;
  }
  if (optind == argc) throw Usage{"no context given"};
  if (optind + 1 < argc) throw Usage{fmt::format("one context only: '{}' is too much", argv[optind + 1])};
  if (arguments.output.empty()) throw Usage{"no --output given"};
  arguments.file = argv[optind];
  return arguments;
}

void block_signals() {
  sigset_t blocked;
  sigemptyset(&blocked);
  for (const int signal : kEndingSignals) sigaddset(&blocked, signal);
  sigaddset(&blocked, SIGPIPE);
  ::sigprocmask(SIG_BLOCK, &blocked, nullptr);
}

// One of those that were blocked so that no temporary file stays behind.
void check_signals() {
  sigset_t pending;
  if (::sigpending(&pending) != 0) return;
  for (const int signal : kEndingSignals)
    if (sigismember(&pending, signal) == 1) throw Interrupted{signal};
}

Options target_options(const Arguments& arguments) {
  Options options;
  options.sync = arguments.sync;
  options.placement = Placement::kNoClobber;
  if (arguments.output == "-")
    options.destination = DestinationFd{1};
  else
    options.destination = DestinationFile{arguments.output, true};
  return options;
}

// What comes out belongs to the caller, and cr_restart believes what it says.
void check_owners(const Context& context, const Chain& chain, bool any_owner) {
  if (!is_privileged_caller()) return;
  for (std::uint32_t number = 0; number <= context.ancestors.size(); ++number) {
    const Source& source = chain.numbered(number);
    const std::string why = untrusted_writer(source.file());
    if (why.empty()) continue;
    if (!any_owner)
      fail(EPERM,
           "{} {}, and what is made of it would be the caller's: merge it as its owner (runuser -u USER -- "
           "cr_merge ...), or, if it cannot have been forged, with --other-owner=warn",
           source.name(), why);
    message("cr_merge", "warning: {} {}: it may have been forged", source.name(), why);
  }
}

// What was written, read again; a pipe cannot be.
void compare(const Context& context, const Chain& chain, const TargetFile& file) {
  UniqueFd fd(::open(fmt::format("/proc/self/fd/{}", file.fd()).c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) fail_errno("cannot read {} again", file.name());
  const Source source = Source::from_fd(std::move(fd), file.name());
  const Context merged = read_context(source);
  compare_pages(context, chain, merged, Chain(source));
}

void run(const Arguments& arguments) {
  if (is_privileged_caller() && !arguments.any_owner)
    Source::refuse_untrusted_copies(
        "merge it as its owner (runuser -u USER -- cr_merge ...), or, if it cannot have been forged, with "
        "--other-owner=warn");
  const Source source = Source::open(arguments.file);
  const Context context = read_context(source);
  const Chain chain(context, source, {arguments.file == "-" ? "" : arguments.file, arguments.ancestors});
  check_owners(context, chain, arguments.any_owner);
  TargetFile file(target_options(arguments));
  Output output(file.fd(), file.name());
  file.begin();
  merge(context, chain, [&](std::span<const std::byte> data) {
    check_signals();
    output.write(data);
  });
  output.flush();
  if (arguments.output != "-") compare(context, chain, file);
  check_signals();
  file.sync();
  file.publish();
  if (arguments.verbose)
    message("cr_merge", "{} is {} with what it needed of other contexts ({})", file.name(), arguments.file,
            context.ancestors.size());
}

int run_tool(int argc, char** argv) {
  try {
    const Arguments arguments = parse(argc, argv);
    if (arguments.done) return 0;
    occupy_output_descriptors();
    block_signals();
    run(arguments);
    return 0;
  } catch (const Usage& usage) {
    if (!usage.text.empty()) message("cr_merge", "{}", usage.text);
    std::fputs("Try 'cr_merge --help' for more information.\n", stderr);
    return kExitUsage;
  } catch (const Interrupted& interrupted) {
    message("cr_merge", "{}", ::strsignal(interrupted.signal));
    return kExitSignalBase + interrupted.signal;
  } catch (const Error& error) {
    message("cr_merge", "{}", error.what());
    return exit_code(error.code());
  } catch (const std::bad_alloc&) {
    message("cr_merge", "not enough memory");
    return ENOMEM;
  }
}

}  // namespace
}  // namespace cryo

int main(int argc, char** argv) {
  try {
    return cryo::run_tool(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "cr_merge: %s\n", error.what());
    return cryo::kExitUsage;
  }
}
