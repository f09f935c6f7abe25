// SPDX-License-Identifier: GPL-2.0-only
// The controlling terminal of a privileged caller that restarts another user's process: that one could type into it (TIOCSTI,
// tty_ioctl(4)) what the caller's shell reads later.
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <fstream>
#include <optional>

#include "base/unique_fd.h"
#include "restart/check.h"
#include "restart/credentials.h"
#include "restart/names.h"

namespace cryo {
namespace {

constexpr unsigned kPtyMajor = 136;
constexpr uid_t kNobodys = static_cast<uid_t>(-1);

std::string name_of(unsigned device) {
  if (major(device) == kPtyMajor) return fmt::format("/dev/pts/{}", minor(device));
  std::ifstream lines(fmt::format("/sys/dev/char/{}:{}/uevent", major(device), minor(device)));
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("DEVNAME=")) return "/dev/" + line.substr(line.find('=') + 1);
  return {};
}

// Nothing when there is no controlling terminal; kNobodys when it has no name here.
std::optional<uid_t> terminal_owner() {
  const UniqueFd terminal(::open("/dev/tty", O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC));
  if (!terminal) return std::nullopt;
  unsigned device = 0;
  struct stat status {};
  if (::ioctl(terminal.get(), TIOCGDEV, &device) != 0) return kNobodys;
  // A name of the system's, in the caller's own name: nothing of the context is in it.
  const OwnNames own;
  if (names::stat(name_of(device), status) != 0 || !S_ISCHR(status.st_mode) || status.st_rdev != device)
    return kNobodys;
  return status.st_uid;
}

}  // namespace

void check_terminal(const Context& context, const RestartOptions& options, const Creds& own, Findings& findings) {
  if (!is_privileged(own)) return;
  const std::optional<uid_t> owner = terminal_owner();
  if (!owner) return;
  for (const Process& process : context.processes) {
    if (!process.creds || process.namespaces.user != 0) continue;
    const uid_t uid = process.creds->head.uid;
    if (uid == own.head.uid || uid == *owner) continue;
    if (options.other_owner == Tolerance::kWarn)
      findings.warning("pid {} gets a terminal that is not its user's ({}), and can type into it",
                       process.head.pid, uid);
    else
      findings.problem(
          EPERM,
          "pid {}: belongs to user {}, who could type into the terminal of cr_restart: start it without one "
          "(setsid -w cr_restart FILE </dev/null >LOG 2>&1), or, if he may do that, with --other-owner=warn",
          process.head.pid, uid);
    return;
  }
}

}  // namespace cryo
