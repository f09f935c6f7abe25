// SPDX-License-Identifier: GPL-2.0-only
// cr_checkpoint - write a running process to a file
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <exception>
#include <new>

#include "base/error.h"
#include "base/exit_codes.h"
#include "base/memory_room.h"
#include "base/message.h"
#include "base/small_threads.h"
#include "cr_checkpoint/job.h"
#include "cr_checkpoint/options.h"

namespace cryo {
namespace {

void say(const Options& options, const std::string& text) {
  if (!options.quiet) message("cr_checkpoint", "Checkpoint failed: {}", text);
}

int checkpoint(const Options& options) {
  try {
    run_job(options);
    return 0;
  } catch (const Interrupted& interrupted) {
    say(options, fmt::format("cancelled by signal {} ({}): process {} continues", interrupted.signal,
                             ::strsignal(interrupted.signal), options.target));
    return kExitSignalBase + interrupted.signal;
  } catch (const Error& error) {
    say(options, error.what());
    return exit_code(error.code());
  } catch (const std::bad_alloc&) {
    say(options, "not enough memory");
    return ENOMEM;
  } catch (const std::exception& error) {
    say(options, error.what());
    return kExitUsage;
  }
}

// Where standard error is closed, a file that we open would get its number, and our messages.
void open_standard_descriptors() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd)
    if (::fcntl(fd, F_GETFD) < 0 && ::open("/dev/null", O_RDWR) != fd) fail_errno("/dev/null");
}

// Errors of usage are shown with --quiet too: nobody meant what he typed.
int run(int argc, char** argv) {
  try {
    const Options options = parse_options(argc, argv);
    prefer_as_oom_victim();
    open_standard_descriptors();
    use_small_threads();
    block_signals();
    return checkpoint(options);
  } catch (const UsageError& error) {
    if (!error.text.empty()) message("cr_checkpoint", "{}", error.text);
    std::fputs("Try 'cr_checkpoint --help' for more information.\n", stderr);
    return kExitUsage;
  } catch (const Error& error) {
    message("cr_checkpoint", "{}", error.what());
    return exit_code(error.code());
  }
}

}  // namespace
}  // namespace cryo

int main(int argc, char** argv) {
  try {
    return cryo::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "cr_checkpoint: %s\n", error.what());
    return cryo::kExitUsage;
  }
}
