// SPDX-License-Identifier: GPL-2.0-only
#include "restart/files/other_uses.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>
#include <set>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "base/parse.h"
#include "restart/common/id_holder.h"
#include "restart/common/proc_files.h"
#include "restart/files/file_uses.h"
#include "restart/files/output_files.h"
#include "restart/ns/mounts.h"
#include "restart/rights/identity.h"
#include "restart/rights/names.h"
#include "restart/rights/rights.h"

namespace cryo {
namespace {

using Identification = std::pair<dev_t, ino_t>;

constexpr std::chrono::milliseconds kWriterPatience{1000}, kWriterLap{5};  // for those who are about to end
constexpr int kFar = 1 << 20;                                              // in place of a distance

Identification identification(const struct stat& status) {
  return {status.st_dev, status.st_ino};
}

Identification identification(const FileNow& now) {
  return {now.dev(), now.stat().stx_ino};
}

// One of the files that are asked about.
struct SharedOutput {
  std::uint32_t inode;
  UniqueFd reader;        // open for reading, if possible
  std::set<uid_t> users;  // of the processes that have it
};

struct WriterFd {
  pid_t pid = 0;
  int fd = -1;
  int distance = kFar;  // of cr_restart from its ancestor, which it may be
};

std::optional<pid_t> ppid_of(pid_t pid) {
  const std::string line = read_proc(fmt::format("{}/stat", pid));
  int parent = 0;
  const char* fields = line.c_str() + std::min(line.size(), line.rfind(')') + 1);
  if (line.empty() || std::sscanf(fields, " %*c %d", &parent) != 1 || parent <= 0) return std::nullopt;
  return parent;
}

// By pid; itself is at 0.
std::map<pid_t, int> ancestors() {
  std::map<pid_t, int> found;
  std::optional<pid_t> pid = ::getpid();
  for (int distance = 0; pid && distance < kFar && found.emplace(*pid, distance).second; ++distance)
    pid = ppid_of(*pid);
  return found;
}

// The kernel gives a read lease only where nobody has the file open for writing.  Not known for files of
// others and where there are no leases.  Who opens it meanwhile waits for a moment; the signal is one that is
// not handed on.
enum class Writers { kNone, kSome, kUnknown };
Writers ask_for_lease(int reader) {
  if (reader < 0 || ::fcntl(reader, F_SETSIG, SIGCHLD) != 0) return Writers::kUnknown;
  if (::fcntl(reader, F_SETLEASE, F_RDLCK) != 0) return errno == EAGAIN ? Writers::kSome : Writers::kUnknown;
  (void)::fcntl(reader, F_SETLEASE, F_UNLCK);
  return Writers::kNone;
}

// Numbers that name entries of a directory in /proc, and the directory.
struct Numbers {
  explicit Numbers(const std::string& path) : dir(::opendir(path.c_str()), ::closedir) {}
  std::optional<int> next() {
    while (const dirent* entry = dir ? ::readdir(dir.get()) : nullptr)
      if (const auto number = parse_number<int>(std::string(entry->d_name))) return number;
    return std::nullopt;
  }
  std::unique_ptr<DIR, int (*)(DIR*)> dir;
};

class Finder {
 public:
  Finder(const Context& context, const Chain& chain, const RestartOptions& options)
      : context_(context),
        options_(options),
        uses_(file_uses(context)),
        outputs_of_job_(find_outputs(context, uses_)),
        contexts_(context_files(context, chain)) {
    for (const Process& process : context.processes)
      for (const cryo_lock& lock : process.locks) locked_.insert(context.file(lock.file).head.inode);
  }

  OtherUses find();

 private:
  void look_at(const File& file, const FileUse& use);
  [[nodiscard]] bool asks_about(const File& file, const FileUse& use, const FileNow& now) const;
  void look_for_writers();
  void scan();
  void scan(pid_t pid, const std::map<pid_t, int>& relatives);
  void settle(const Identification& which, const WriterFd& writer);
  [[nodiscard]] std::shared_ptr<const UniqueFd> open_file_of(const Identification& which,
                                                             const WriterFd& writer) const;

  const Context& context_;
  const RestartOptions& options_;
  std::map<std::uint32_t, FileUse> uses_;
  Outputs outputs_of_job_;
  FileIdentities contexts_;
  std::set<std::uint32_t> locked_;  // inodes
  std::map<Identification, SharedOutput> outputs_;
  std::map<Identification, std::vector<WriterFd>> writers_;
  OtherUses found_;
};

bool may_write(const File& file, const FileUse& use) {
  const int flags = open_flags(file, use);
  return (flags & O_PATH) == 0 && (flags & O_ACCMODE) != O_RDONLY;
}

bool Finder::asks_about(const File& file, const FileUse& use, const FileNow& now) const {
  constexpr int kStandard[3] = {0, 1, 2};
  const Inode& inode = context_.inode(file.head.inode);
  const auto output = outputs_of_job_.find(inode.id);
  if (output == outputs_of_job_.end() || !is_output(file, use)) return false;
  const bool cut =
      options_.tails == Tails::kAside || (options_.tails == Tails::kDefault && !output->second.all_append);
  return cut && own_output(file, inode, use, kStandard) < 0 &&
         !is_other_file(options_.relocations, file, inode, now);
}

void Finder::look_at(const File& file, const FileUse& use) {
  if (file.head.kind != CRYO_FILE_PATH || !file.redirected.empty() || !may_write(file, use)) return;
  const Inode& inode = context_.inode(file.head.inode);
  const std::optional<std::string> outer = outer_path(context_, options_.relocations, file);
  if (!S_ISREG(inode.head.mode) || !outer) return;
  const NamesToCheck theirs(context_, use.processes);
  const UniqueFd place = names::open(*outer, O_PATH);
  const FileNow now(place.get());
  if (!now.is_known() || !S_ISREG(now.stat().stx_mode)) return;
  if (contexts_.contains(identification(now))) {
    found_[inode.id].context = true;
    return;
  }
  if (!asks_about(file, use, now)) return;
  const auto [output, added] = outputs_.try_emplace(identification(now), SharedOutput{inode.id, {}, {}});
  if (added)
    output->second.reader =
        names::open(fmt::format("/proc/self/fd/{}", place.get()), O_RDONLY | O_NONBLOCK | O_NOCTTY);
  for (const std::size_t index : use.processes)
    output->second.users.insert(rights_of(context_, context_.processes[index]).uid);
}

// Of what any process of the machine has open: no server of files is asked, who may never answer.
bool look_quietly(int directory, const std::string& name, struct stat& now) {
  struct statx found {};
  if (::statx(directory, name.c_str(), AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_INO, &found) != 0)
    return false;
  now = {};
  now.st_dev = ::makedev(found.stx_dev_major, found.stx_dev_minor);
  now.st_ino = found.stx_ino;
  return true;
}

void Finder::scan(pid_t pid, const std::map<pid_t, int>& relatives) {
  const std::string path = fmt::format("/proc/{}/fd", pid);
  Numbers numbers(path);
  if (!numbers.dir) return;
  const auto relative = relatives.find(pid);
  const int distance = relative == relatives.end() ? kFar : relative->second;
  while (const auto number = numbers.next()) {
    const UniqueFd directory(::fcntl(::dirfd(numbers.dir.get()), F_DUPFD_CLOEXEC, 0));
    const std::string name = fmt::format("{}", *number);
    struct stat now, link;
    if (!look_quietly(directory.get(), name, now) || !outputs_.contains(identification(now)) ||
        ::fstatat(directory.get(), name.c_str(), &link, AT_SYMLINK_NOFOLLOW) != 0)
      continue;
    if ((link.st_mode & S_IWUSR) != 0) writers_[identification(now)].push_back({pid, *number, distance});
  }
}

void Finder::scan() {
  writers_.clear();
  const std::map<pid_t, int> relatives = ancestors();
  Numbers processes("/proc");
  while (const auto pid = processes.next()) scan(*pid, relatives);
  for (auto& [which, writers] : writers_)
    std::sort(writers.begin(), writers.end(), [](const WriterFd& a, const WriterFd& b) {
      return std::tie(a.distance, a.pid) < std::tie(b.distance, b.pid);
    });
}

// As pidfd_getfd(2) permits.
std::shared_ptr<const UniqueFd> Finder::open_file_of(const Identification& which,
                                                     const WriterFd& writer) const {
  const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, writer.pid, 0)));
  const UniqueFd directory(
      ::open(fmt::format("/proc/{}", writer.pid).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  struct stat owner, now;
  if (!process || !directory || ::fstat(directory.get(), &owner) != 0) return {};
  if (outputs_.at(which).users != std::set<uid_t>{owner.st_uid}) return {};
  auto fd = std::make_shared<const UniqueFd>(
      static_cast<int>(::syscall(SYS_pidfd_getfd, process.get(), writer.fd, 0)));
  if (!*fd || ::fstat(fd->get(), &now) != 0 || identification(now) != which) return {};
  const bool appends = (::fcntl(fd->get(), F_GETFL) & O_APPEND) != 0;
  return appends || ::lseek(fd->get(), 0, SEEK_CUR) == now.st_size ? fd : nullptr;
}

bool appends(const WriterFd& writer) {
  unsigned flags = 0;
  const std::string text = read_proc(fmt::format("{}/fdinfo/{}", writer.pid, writer.fd));
  const std::size_t at = text.find("flags:");
  return at != std::string::npos && std::sscanf(text.c_str() + at, "flags: %o", &flags) == 1 &&
         (flags & O_APPEND) != 0;
}

void Finder::settle(const Identification& which, const WriterFd& writer) {
  const SharedOutput& output = outputs_.at(which);
  OtherUse& use = found_[output.inode];
  if (use.file) return;
  // Locks belong to the open file: those of the other one are not the job's.
  auto file = locked_.contains(output.inode) ? nullptr : open_file_of(which, writer);
  if (use.pid != 0 && !file) return;
  std::string command = read_proc(fmt::format("{}/comm", writer.pid));
  command.resize(std::min(command.size(), command.find('\n')));
  use = {false, writer.pid, std::move(command), appends(writer), std::move(file)};
}

// Who has just been killed, with what was left of a job, has its files still open for a moment.
void Finder::look_for_writers() {
  for (const auto end = std::chrono::steady_clock::now() + kWriterPatience; !outputs_.empty();
       std::this_thread::sleep_for(kWriterLap)) {
    const bool last = std::chrono::steady_clock::now() > end;
    std::map<Identification, Writers> asked;
    for (const auto& [which, output] : outputs_) asked[which] = ask_for_lease(output.reader.get());
    std::erase_if(outputs_, [&](const auto& output) { return asked.at(output.first) == Writers::kNone; });
    if (outputs_.empty()) return;
    scan();
    std::set<Identification> settled;
    for (const auto& [which, output] : outputs_) {
      bool leaving = false;
      for (const WriterFd& writer : writers_[which])
        if (!last && is_leaving(writer.pid))
          leaving = true;
        else
          settle(which, writer);
      const bool found = found_.contains(output.inode);
      if (!found && last && asked.at(which) == Writers::kSome) found_[output.inode] = {};
      if (found || last || (!leaving && asked.at(which) == Writers::kUnknown)) settled.insert(which);
    }
    std::erase_if(outputs_, [&](const auto& output) { return settled.contains(output.first); });
  }
}

OtherUses Finder::find() {
  for (const auto& [id, use] : uses_) look_at(context_.file(id), use);
  look_for_writers();
  return std::move(found_);
}

}  // namespace

FileIdentities context_files(const Context& context, const Chain& chain) {
  FileIdentities files;
  for (std::uint32_t i = 0; i <= context.ancestors.size(); ++i)
    files.insert({chain.numbered(i).file().device, chain.numbered(i).file().inode});
  return files;
}

OtherUses find_other_uses(const Context& context, const Chain& chain, const RestartOptions& options) {
  return Finder(context, chain, options).find();
}

std::string describe(const OtherUse& use) {
  if (use.pid == 0) return "a process that cannot be seen has it open for writing";
  if (use.pid == ::getpid()) return "cr_restart has it open for writing";
  return fmt::format("pid {} ({}), which is not in the context, has it open for writing", use.pid,
                     use.command);
}

bool was_at_end(const File& file, const Inode& inode) {
  return (file.head.flags & O_APPEND) == 0 && file.head.pos == inode.head.size;
}

bool can_share(const OtherUse& other, const File& file, const Inode& inode, const FileUse& use) {
  if (!other.file || !is_output(file, use) || !was_at_end(file, inode) || !covers(other.file->get(), file))
    return false;
  // Not what is like a data base, with locks that belong to the open file.
  const bool standard =
      std::any_of(use.fds.begin(), use.fds.end(), [](const cryo_fd& at) { return at.fd <= STDERR_FILENO; });
  return standard || (static_cast<int>(file.head.flags) & O_ACCMODE) == O_WRONLY;
}

const OtherUse* other_use(const OtherUses& uses, const File& file) {
  const auto found = uses.find(file.head.inode);
  return file.head.kind == CRYO_FILE_PATH && file.redirected.empty() && found != uses.end() ? &found->second
                                                                                            : nullptr;
}

}  // namespace cryo
