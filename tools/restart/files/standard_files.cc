// SPDX-License-Identifier: GPL-2.0-only
#include "restart/files/standard_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "restart/files/file_kinds.h"
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

// Of those numbers that are the same file, output first: what is kept aside at a higher one is that, as a
// rule.
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

bool is_inherited(std::uint32_t number) {
  const int flags = ::fcntl(static_cast<int>(number), F_GETFD);
  return flags >= 0 && (flags & FD_CLOEXEC) == 0;
}

std::uint32_t standard_number(const File& file) {
  if (file.head.kind == CRYO_FILE_STDIO && file.head.stdio_fd < 3) return file.head.stdio_fd;
  return (file.head.flags & O_ACCMODE) == O_RDONLY ? STDIN_FILENO : STDOUT_FILENO;
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

namespace {

// Has a process of the job that at the number of which it becomes cr_restart's? It goes there without being
// told, and so do copies: csh has its input and output at 16 to 19, and what it starts has them at 0 to 2.
bool is_standard_of_job(const FileCheck& at, const File& file) {
  const std::uint32_t number = standard_number(file);
  return std::any_of(at.uses.begin(), at.uses.end(), [&](const auto& entry) {
    const auto& [id, use] = entry;
    return at.context.file(id).head.inode == file.head.inode &&
           std::any_of(use.fds.begin(), use.fds.end(),
                       [number](const cryo_fd& fd) { return fd.fd == number; });
  });
}

// Of what another process has given, in place of what it was; once for each number.
void check_standard(FileCheck& at, const File& file, const FileUse& use) {
  const bool pipe = file.head.kind == CRYO_FILE_STDIO && file.head.stdio_fd > 2;
  if (pipe && is_inherited(file.head.stdio_fd)) return;
  if (pipe) {
    const std::string text = fmt::format(
        "pid {}: descriptor {}, a pipe to a process outside the checkpoint, becomes standard {} of "
        "cr_restart (it had no "
        "descriptor {} of its own)",
        at.pid, file.head.stdio_fd, standard_number(file) == STDIN_FILENO ? "input" : "output",
        file.head.stdio_fd);
    (is_standard_of_job(at, file) ? at.findings.advice : at.findings.warnings).push_back(text);
  }
  std::set<std::uint32_t> numbers;
  for (const cryo_fd& fd : use.fds) numbers.insert(fd.fd);
  for (const std::uint32_t number : numbers) {
    const StandardSource source = standard_source(file, use, number, at.standards);
    const std::uint32_t own = number < 3 ? number : standard_number(file);
    at.what = fmt::format("descriptor {} ({})", number, at.path);
    if (source.number == StandardSource::kNone) {
      if (file.head.kind == CRYO_FILE_STDIO)
        at.problem(
            EBADF,
            "is taken over from cr_restart, whose descriptor {} is {} (--redirect {}=FILE gives it a file)",
            own, why_not(at.standards[own], source.mode), number);
      else
        at.problem(ENXIO, "is its terminal, and cr_restart has none (--redirect {}=FILE gives it a file)",
                   number);
      continue;
    }
    if (source.number == StandardSource::kTerminal) {
      if (number < 3 && at.standards[number].open)
        at.findings.warning("pid {}: {}: becomes the terminal, as descriptor {} of cr_restart is {}", at.pid,
                            at.what, number, why_not(at.standards[number], source.mode));
      continue;
    }
    at.taken.insert(static_cast<std::uint32_t>(source.number));
    if (number < 3 && source.number != static_cast<int>(number))
      at.findings.warning("pid {}: {}: becomes descriptor {} of cr_restart, whose descriptor {} is {}",
                          at.pid, at.what, source.number, number, why_not(at.standards[number], source.mode));
    if (!source.whole)
      at.findings.warning(
          "pid {}: {}: becomes descriptor {} of cr_restart, which is not open for both reading and writing "
          "(--redirect {}=FILE gives it a file)",
          at.pid, at.what, source.number, number);
  }
}

// As cr_restart's own were when it began.
struct StandardsOfInput {
  explicit StandardsOfInput(FileRestoreInput& input) {
    for (std::size_t number = 0; number < own.size(); ++number)
      own[number] = own_standard(input.stdio[number].get());
  }
  OwnStandards own;
};

// Of each number of it; what it gives back is that of the highest ones, or the terminal where one is to be
// that.
StandardSource find_sources(FileMaking& making, const OwnStandards& own, const File& file,
                            const FileUse& use) {
  std::set<std::uint32_t> numbers;
  for (const cryo_fd& fd : use.fds) numbers.insert(fd.fd);
  StandardSource kept;
  for (const std::uint32_t number : numbers) {
    const StandardSource source = standard_source(file, use, number, own);
    making.store.standard[{file.id, number}] = source;
    if (kept.number != StandardSource::kTerminal) kept = source;
  }
  if (numbers.empty())
    kept = standard_source(file, use, standard_number(file), own);  // on its way in a message
  return kept;
}

UniqueFd open_standard(FileMaking& making, const File& file, const FileUse& use) {
  const auto inherited = making.input.inherited.find(file.head.stdio_fd);
  if (file.head.kind == CRYO_FILE_STDIO && inherited != making.input.inherited.end())
    return making.input.descriptors.park_copy(inherited->second.get());
  const StandardSource source = find_sources(making, making.state<StandardsOfInput>().own, file, use);
  if (source.number >= 0)
    return making.input.descriptors.park(copy_standard(making.input.stdio[source.number].get(), source.mode));
  if (file.head.kind == CRYO_FILE_STDIO)
    fail(EBADF, "{} is inherited from cr_restart, whose descriptor {} is not suitable", file.path,
         standard_number(file));
  UniqueFd fd(::open("/dev/tty", open_flags(file, use) | O_CLOEXEC));
  if (!fd) fail_errno("cannot open the terminal /dev/tty");
  return fd;
}

}  // namespace

const FileKind kTerminalKind = {.kind = CRYO_FILE_CTTY,
                                .check = check_standard,
                                .open = open_standard,
                                .redirectable = Redirectable::kYes,
                                .is_shared_outside = true};
const FileKind kStdioKind = {.kind = CRYO_FILE_STDIO,
                             .check = check_standard,
                             .open = open_standard,
                             .redirectable = Redirectable::kYes,
                             .is_shared_outside = true};

}  // namespace cryo
