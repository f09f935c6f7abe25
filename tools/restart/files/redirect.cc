// SPDX-License-Identifier: GPL-2.0-only
#include "restart/files/redirect.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "base/error.h"
#include "base/parse.h"
#include "restart/files/file_kinds.h"
#include "restart/files/standard_files.h"
#include "restart/rights/names.h"

namespace cryo {
namespace {

constexpr mode_t kMode = 0666;  // less what the umask takes

bool writes(const File& file) {
  return (static_cast<int>(file.head.flags) & O_ACCMODE) != O_RDONLY;
}

std::string directory_of(const std::string& path) {
  return path.substr(0, std::max<std::size_t>(path.rfind('/'), 1));
}

class Redirector {
 public:
  explicit Redirector(Context& context) : context_(context), uses_(file_uses(context)) {}

  void apply(const Redirection& redirection);

 private:
  [[nodiscard]] std::uint32_t file_at(const Redirection& redirection) const;
  void check_kind(const Redirection& redirection, const File& file) const;
  File& split(std::uint32_t id, std::uint32_t number);

  Context& context_;
  const std::map<std::uint32_t, FileUse> uses_;  // as saved
};

std::string name_of(const Redirection& redirection) {
  return redirection.pid ? fmt::format("{}:{}", *redirection.pid, redirection.fd)
                         : fmt::to_string(redirection.fd);
}

// Of the first process that has it, where none is named.
std::uint32_t Redirector::file_at(const Redirection& redirection) const {
  bool known = !redirection.pid;
  for (const Process& process : context_.processes) {
    if (redirection.pid && process.head.pid != *redirection.pid) continue;
    known = true;
    for (const cryo_fd& fd : process.fds)
      if (fd.fd == redirection.fd) return fd.file;
  }
  if (!known)
    fail(EINVAL, "--redirect {}: no process {} is in the context", name_of(redirection), *redirection.pid);
  if (redirection.pid)
    fail(EINVAL, "--redirect {}: process {} has no descriptor {}", name_of(redirection), *redirection.pid,
         redirection.fd);
  fail(EINVAL, "--redirect {}: no process of the context has a descriptor {}", name_of(redirection),
       redirection.fd);
}

void Redirector::check_kind(const Redirection& redirection, const File& file) const {
  const auto refuse = [&](std::string_view what) {
    fail(EINVAL, "--redirect {}: the descriptor ({}) is {}", name_of(redirection), file.path, what);
  };
  const auto use = uses_.find(file.id);
  if (use != uses_.end() && (use->second.mapped || use->second.executable))
    refuse("of a file that is mapped, too: --relocate selects another one");
  const FileKind* const kind = file_kind(file.head.kind);
  const Redirectable redirectable = kind == nullptr ? Redirectable::kNo : kind->redirectable;
  if (redirectable == Redirectable::kNo)
    refuse("neither a file, a device, a terminal nor a pipe to the outside");
  if (redirectable == Redirectable::kIfData &&
      (static_cast<int>(file.head.flags) & O_PATH || S_ISDIR(context_.inode(file.head.inode).head.mode)))
    refuse("not one to read from or write to");
}

// A file of its own for the number, in all processes that have the file there.
File& Redirector::split(std::uint32_t id, std::uint32_t number) {
  std::uint32_t fresh = 1;
  while (context_.files.contains(fresh)) ++fresh;
  File& file = context_.files[fresh];
  file = context_.files.at(id);
  file.id = fresh;
  for (Process& process : context_.processes)
    for (cryo_fd& fd : process.fds)
      if (fd.fd == number && fd.file == id) fd.file = fresh;
  for (auto& [other, epoll] : context_.files)
    for (cryo_epoll_target& target : epoll.epoll)
      if (target.fd == number && target.file == id) target.file = fresh;
  const int mode = static_cast<int>(file.head.flags) & O_ACCMODE;
  if (mode == O_RDWR && number <= STDERR_FILENO)
    file.head.flags = number == STDIN_FILENO ? O_RDONLY : O_WRONLY;
  return file;
}

void Redirector::apply(const Redirection& redirection) {
  const std::uint32_t id = file_at(redirection);
  if (!context_.file(id).redirected.empty()) {
    if (context_.file(id).redirected == redirection.path) return;
    fail(EINVAL, "--redirect {}: it is the same open file as another descriptor, which goes to {}",
         name_of(redirection), context_.file(id).redirected);
  }
  check_kind(redirection, context_.file(id));
  const bool standard = is_standard_kind(context_.file(id));
  File& file = standard ? split(id, redirection.fd) : context_.files.at(id);
  if (!file_kind(file.head.kind)->has_position) file.head.pos = 0;
  file.head.flags &= O_ACCMODE | O_NONBLOCK | O_APPEND;
  if (writes(file)) file.head.flags |= O_APPEND;
  file.head.kind = 0;
  file.head.mnt = 0;
  file.opener.reset();
  file.path = file.redirected = redirection.path;
}

}  // namespace

Redirection parse_redirection(std::string_view text) {
  const std::size_t equals = text.find('=');
  const std::string_view what = text.substr(0, equals);
  const std::size_t colon = what.find(':');
  const std::string number(colon == std::string_view::npos ? what : what.substr(colon + 1));
  const auto fd = parse_number<std::int32_t>(number, 0);
  Redirection redirection;
  if (colon != std::string_view::npos)
    redirection.pid = parse_number<std::int32_t>(std::string(what.substr(0, colon)), 1);
  if (equals == std::string_view::npos || equals + 1 == text.size() || !fd ||
      (colon != std::string_view::npos && !redirection.pid))
    fail(EINVAL, "--redirect takes FD=FILE or PID:FD=FILE, not '{}'", text);
  redirection.fd = static_cast<std::uint32_t>(*fd);
  std::error_code error;
  redirection.path = std::filesystem::absolute(text.substr(equals + 1), error).string();
  if (error) fail(error.value(), "--redirect {}: the current directory: {}", text, error.message());
  return redirection;
}

void redirect(Context& context, const std::vector<Redirection>& redirections) {
  if (redirections.empty()) return;
  Redirector redirector(context);
  for (const Redirection& redirection : redirections) redirector.apply(redirection);
}

void check_redirected(const File& file, const FileUse& use, std::int32_t pid, Findings& findings) {
  const CallersNames any_links;
  const std::string what = fmt::format("pid {}: descriptor {}: --redirect target {}", pid,
                                       use.fds.empty() ? 0U : use.fds.front().fd, file.redirected);
  const auto problem = [&](int code, std::string_view text) { findings.problem(code, "{} {}", what, text); };
  struct stat now;
  if (names::stat(file.redirected, now) == 0) {
    const int mode = static_cast<int>(file.head.flags) & O_ACCMODE;
    if (S_ISDIR(now.st_mode)) return problem(EISDIR, "is a directory");
    if (S_ISSOCK(now.st_mode)) return problem(EOPNOTSUPP, "is a socket");
    if (writes(file) && findings.contexts.contains({now.st_dev, now.st_ino}))
      return problem(ETXTBSY, "is the context being restarted, or one that it needs");
    if (names::access(file.redirected, (mode != O_WRONLY ? R_OK : 0) | (mode != O_RDONLY ? W_OK : 0)) != 0)
      problem(errno, fmt::format("cannot be opened: {}", errno_text(errno)));
    return;
  }
  const int error = errno;
  if (error != ENOENT || !writes(file))
    return problem(error, fmt::format("cannot be opened: {}", errno_text(error)));
  if (names::access(directory_of(file.redirected), W_OK | X_OK) != 0)
    problem(errno, fmt::format("cannot be created: {}", errno_text(errno)));
}

UniqueFd open_redirected(CreatedPaths& created, const File& file) {
  const CallersNames any_links;
  const int flags = static_cast<int>(file.head.flags) | O_NOCTTY;
  UniqueFd fd;
  if (writes(file)) {
    const DeathDeferred deferred(created);
    fd = names::open(file.redirected, flags | O_CREAT | O_EXCL, kMode);
    if (fd) {
      created.add(file.redirected);
      return fd;
    }
  }
  fd = names::open(file.redirected, flags);
  if (!fd) fail_errno("cannot open the --redirect target {}", file.redirected);
  const off_t place = writes(file) ? 0 : static_cast<off_t>(file.head.pos);
  const bool seekable = ::lseek(fd.get(), 0, SEEK_CUR) >= 0;
  if (seekable && ::lseek(fd.get(), place, writes(file) ? SEEK_END : SEEK_SET) < 0)
    fail_errno("{}: cannot seek to offset {}", file.redirected, place);
  return fd;
}

}  // namespace cryo
