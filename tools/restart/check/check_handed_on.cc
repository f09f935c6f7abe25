// SPDX-License-Identifier: GPL-2.0-only
// What a privileged caller would hand on to another user's process: its controlling terminal, into which that
// one could type (TIOCSTI, tty_ioctl(4)) what the caller's shell reads later; a terminal that is standard
// input, output or error, from which it could read; and descriptors above these, whose number the process has
// chosen.
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <fstream>
#include <optional>
#include <set>

#include "base/unique_fd.h"
#include "restart/check/check.h"
#include "restart/files/files.h"
#include "restart/rights/credentials.h"
#include "restart/rights/names.h"

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

// As it is called here.
uid_t user_of(const Context& context, const Process& process) {
  return process.namespaces.user == 0 ? process.creds->head.uid : rights_of(context, process).uid;
}

// Descriptors of cr_restart, which it was given, that take the place of a file.
std::set<std::uint32_t> numbers_for(const File& file, const FileUse& use) {
  std::set<std::uint32_t> numbers;
  if (file.head.kind != CRYO_FILE_STDIO && file.head.kind != CRYO_FILE_CTTY) return numbers;
  for (const cryo_fd& fd : use.fds)
    if (fd.fd < 3) numbers.insert(fd.fd);
  if (file.head.kind == CRYO_FILE_STDIO)
    numbers.insert(is_inherited(file.head.stdio_fd) ? file.head.stdio_fd : standard_number(file));
  std::erase_if(numbers, [](std::uint32_t number) { return !is_inherited(number); });
  return numbers;
}

class HandedOn {
 public:
  HandedOn(const Context& context, const RestartOptions& options, const Creds& own, Findings& findings)
      : context_(context), options_(options), own_(own), findings_(findings) {}

  void check();

 private:
  [[nodiscard]] bool controlling_terminal();
  void descriptor(std::uint32_t number, const FileUse& use);
  [[nodiscard]] std::optional<uid_t> stranger(const Process& process, uid_t owner) const;

  const Context& context_;
  const RestartOptions& options_;
  const Creds& own_;
  Findings& findings_;
  bool has_terminal_ = false;     // it has been said that there is one
  std::set<std::uint32_t> told_;  // descriptors
};

// The user of a process of somebody who is neither cr_restart's user nor `owner`.
std::optional<uid_t> HandedOn::stranger(const Process& process, uid_t owner) const {
  if (!process.creds) return {};
  const uid_t uid = user_of(context_, process);
  return uid == own_.head.uid || uid == owner ? std::nullopt : std::optional(uid);
}

bool HandedOn::controlling_terminal() {
  const std::optional<uid_t> owner = terminal_owner();
  if (!owner) return false;
  for (const Process& process : context_.processes) {
    const std::optional<uid_t> uid = stranger(process, *owner);
    if (!uid) continue;
    if (options_.other_owner == Tolerance::kWarn)
      findings_.warning("pid {} gets a terminal that is not its user's ({}), and can type into it",
                        process.head.pid, *uid);
    else
      findings_.problem(EPERM,
                        "pid {}: belongs to user {}, who could inject input into the terminal of cr_restart "
                        "(TIOCSTI): start it without one (setsid -w cr_restart FILE </dev/null >LOG 2>&1), "
                        "or, if he may do that, with --other-owner=warn",
                        process.head.pid, *uid);
    return true;
  }
  return false;
}

void HandedOn::descriptor(std::uint32_t number, const FileUse& use) {
  const bool standard = number < 3;
  const int fd = static_cast<int>(number);
  if (told_.contains(number)) return;
  struct stat status {};
  if (standard && (has_terminal_ || ::isatty(fd) == 0 || ::fstat(fd, &status) != 0)) return;
  const uid_t owner = standard ? status.st_uid : kNobodys;
  for (const std::size_t index : use.processes) {
    const Process& process = context_.processes[index];
    const std::optional<uid_t> uid = stranger(process, owner);
    if (!uid) continue;
    told_.insert(number);
    if (options_.other_owner == Tolerance::kWarn)
      findings_.warning("pid {} gets descriptor {} of cr_restart{}, which is not its user's ({})",
                        process.head.pid, number, standard ? ", a terminal" : "", *uid);
    else if (standard)
      findings_.problem(
          EPERM,
          "pid {}: belongs to user {}, who could read from the terminal that is descriptor {} of cr_restart: "
          "start "
          "it without one (setsid -w cr_restart FILE </dev/null >LOG 2>&1), or, if he may do that, with "
          "--other-owner=warn",
          process.head.pid, *uid, number);
    else
      findings_.problem(EPERM,
                        "pid {}: belongs to user {}, and would get descriptor {} of cr_restart: close it "
                        "({}>&- in the shell), or, "
                        "if he may have it, use --other-owner=warn",
                        process.head.pid, *uid, number, number);
    return;
  }
}

void HandedOn::check() {
  has_terminal_ = controlling_terminal();
  for (const auto& [id, use] : file_uses(context_))
    for (const std::uint32_t number : numbers_for(context_.file(id), use)) descriptor(number, use);
}

}  // namespace

void check_handed_on(const Context& context, const RestartOptions& options, const Creds& own,
                     Findings& findings) {
  if (is_privileged(own)) HandedOn(context, options, own, findings).check();
}

}  // namespace cryo
