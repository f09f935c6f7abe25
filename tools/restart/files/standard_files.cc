// SPDX-License-Identifier: GPL-2.0-only
#include "restart/files/standard_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>

#include "base/error.h"
#include "restart/files/files.h"

namespace cryo {
namespace {

constexpr unsigned kMemMajor = 1, kNullMinor = 3;

bool covers(const OwnStandard& own, int mode) {
  return own.open && (own.null || own.mode == O_RDWR || own.mode == mode);
}

// What a process does with a terminal that is open for both is told by the number alone.
int needed_mode(const File& file, std::uint32_t number) {
  const int mode = static_cast<int>(file.head.flags) & O_ACCMODE;
  if (mode != O_RDWR || number > STDERR_FILENO) return mode;
  return number == STDIN_FILENO ? O_RDONLY : O_WRONLY;
}

bool has_number(const File& file, const FileUse& use, std::uint32_t number) {
  return (file.head.kind == CRYO_FILE_STDIO && file.head.stdio_fd == number) ||
         std::any_of(use.fds.begin(), use.fds.end(), [&](const cryo_fd& fd) { return fd.fd == number; });
}

// Of those numbers that are the same file, output first: what is kept aside at a higher one is that, as a rule.
StandardSource relative_of(const File& file, const FileUse& use, const OwnStandards& own, int mode) {
  for (const std::uint32_t other : {STDOUT_FILENO, STDERR_FILENO, STDIN_FILENO})
    if (has_number(file, use, other) && covers(own[other], mode) && !(mode == O_RDWR && own[other].null))
      return {static_cast<int>(other), mode, true};
  return {};
}

StandardSource partial(const File& file, const FileUse& use, const OwnStandards& own) {
  StandardSource source = relative_of(file, use, own, O_WRONLY);
  if (source.number == StandardSource::kNone) source = relative_of(file, use, own, O_RDONLY);
  source.whole = false;
  return source;
}

bool has_terminal() {
  return static_cast<bool>(UniqueFd(::open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC)));
}

// A copy of one that was a terminal is to be one, if there is any.
StandardSource terminal_source(const File& file, const FileUse& use, const OwnStandards& own, int mode) {
  for (const std::uint32_t other : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (own[other].terminal && has_number(file, use, other) && covers(own[other], mode))
      return {static_cast<int>(other), mode, true};
  return has_terminal() ? StandardSource{StandardSource::kTerminal, mode, true} : StandardSource{};
}

}  // namespace

OwnStandard own_standard(int fd) {
  const int flags = fd < 0 ? -1 : ::fcntl(fd, F_GETFL);
  struct stat now;
  if (flags < 0 || (flags & O_PATH) != 0 || ::fstat(fd, &now) != 0) return {};
  return {true, flags & O_ACCMODE, ::isatty(fd) != 0,
          S_ISCHR(now.st_mode) && now.st_rdev == makedev(kMemMajor, kNullMinor)};
}

OwnStandards own_standards() {
  OwnStandards own;
  for (std::uint32_t number = 0; number < own.size(); ++number)
    if (is_inherited(number)) own[number] = own_standard(static_cast<int>(number));
  return own;
}

bool is_standard_kind(const File& file) {
  return file.head.kind == CRYO_FILE_STDIO || file.head.kind == CRYO_FILE_CTTY;
}

StandardSource standard_source(const File& file, const FileUse& use, std::uint32_t number,
                               const OwnStandards& own) {
  const int mode = needed_mode(file, number);
  const StandardSource none{StandardSource::kNone, mode, true};
  if (number <= STDERR_FILENO && covers(own[number], mode)) return {static_cast<int>(number), mode, true};
  if (file.head.kind == CRYO_FILE_CTTY) {
    const StandardSource terminal = terminal_source(file, use, own, mode);
    if (terminal.number != StandardSource::kNone) return terminal;
  } else if (file.head.stdio_fd > STDERR_FILENO) {
    const std::uint32_t standard = standard_number(file);
    return covers(own[standard], mode) ? StandardSource{static_cast<int>(standard), mode, true} : none;
  }
  const StandardSource relative = relative_of(file, use, own, mode);
  if (relative.number != StandardSource::kNone) return relative;
  const StandardSource part = number > STDERR_FILENO && mode == O_RDWR ? partial(file, use, own) : none;
  return part.number == StandardSource::kNone ? none : part;
}

UniqueFd copy_standard(int fd, int mode) {
  const OwnStandard own = own_standard(fd);
  if (own.null && own.mode != O_RDWR && own.mode != mode) {
    // As nohup(1) leaves standard input.
    UniqueFd null(::open(fmt::format("/proc/self/fd/{}", fd).c_str(), mode | O_CLOEXEC));
    if (!null) fail_errno("cannot open /dev/null, which is cr_restart's");
    return null;
  }
  UniqueFd copy(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
  if (!copy) fail_errno("cannot copy a standard descriptor of cr_restart");
  return copy;
}

std::string why_not(const OwnStandard& own, int mode) {
  if (!own.open) return "closed";
  return mode == O_RDWR     ? "not open for both reading and writing"
         : mode == O_RDONLY ? "not open for reading"
                            : "not open for writing";
}

}  // namespace cryo
