// SPDX-License-Identifier: GPL-2.0-only
#include "cr_restart/reporter.h"

#include <fcntl.h>
#include <restart_report.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>

#include "base/error.h"
#include "base/exit_codes.h"

namespace cryo {
namespace {

// Who does not listen any more is not told.
void write_all(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void send(int fd, const RestartReport& report, const std::string& text) {
  write_all(fd, std::as_bytes(std::span(&report, 1)));
  write_all(fd, std::as_bytes(std::span(text)));
}

}  // namespace

Reporter::Reporter(int fd) : fd_(::fcntl(fd, F_DUPFD_CLOEXEC, 3)) {
  if (!fd_) fail_errno("--report-fd");
  ::close(fd);
}

void Reporter::read_done() {
  send(fd_.get(), {RestartReport::kRead, 0, 0, 0}, {});
}

void Reporter::result(int error, pid_t pid) {
  text_.resize(std::min(text_.size(), RestartReport::kMaxText));
  std::erase(text_, '\0');
  send(fd_.get(),
       {RestartReport::kResult, error == EOPNOTSUPP ? kErrNoSupport : error, pid,
        static_cast<std::uint32_t>(text_.size())},
       text_);
}

void check_parting(const Context& context) {
  for (const Process& process : context.processes) {
    if (process.threads.empty()) continue;
    const bool inner = std::any_of(context.processes.begin(), context.processes.end(),
                                   [&](const Process& other) { return other.head.pid == process.head.ppid; });
    const auto asked = std::find_if(process.threads.begin(), process.threads.end(),
                                    [](const Thread& thread) { return thread.head.pdeath_signal != 0; });
    if (inner || asked == process.threads.end()) continue;
    fail(kErrNoSupport,
         "pid {} has set parent-death signal {} (PR_SET_PDEATHSIG), and its parent, cr_restart, would exit: "
         "only the cr_restart command can restart it",
         process.head.pid, asked->head.pdeath_signal);
  }
}

}  // namespace cryo
