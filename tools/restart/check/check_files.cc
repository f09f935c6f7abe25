// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>

#include "base/data_range.h"
#include "base/error.h"
#include "base/parse.h"
#include "base/place.h"
#include "restart/check/check.h"
#include "restart/files/fanotify.h"
#include "restart/files/fifo.h"
#include "restart/files/files.h"
#include "restart/files/io_uring.h"
#include "restart/files/output_files.h"
#include "restart/files/pty.h"
#include "restart/files/redirect.h"
#include "restart/files/standard_files.h"
#include "restart/ipc/mqueue.h"
#include "restart/ipc/posix_shm.h"
#include "restart/memory/hugetlb.h"
#include "restart/net/sockets.h"
#include "restart/ns/mounts.h"
#include "restart/process/timers.h"
#include "restart/rights/identity.h"
#include "restart/rights/own_proc.h"
#include "restart/rights/proc_files.h"

namespace cryo {
namespace {

class FileChecker {
 public:
  FileChecker(const Context& context, const RestartOptions& options, const Creds& own, Findings& findings)
      : context_(context), options_(options), own_(own), findings_(findings) {}

  void check();

 private:
  void check_owner(const File& file, const FileUse& use);
  void check_file(const File& file, const FileUse& use);
  void check_path(const File& file, const FileUse& use);
  [[nodiscard]] bool is_written(const File& file, const FileUse& use) const;
  void check_identity(const File& file, const Inode& inode);
  [[nodiscard]] bool check_other_use(const File& file, const Inode& inode, const FileUse& use, const struct stat& now);
  void check_context_output(const File& file, const FileUse& use);
  void check_tail(const File& file, const Inode& inode, const FileUse& use, const struct stat& now);
  // Does it write on where it was, in a file that is longer and whose rest is others', too?
  bool overwrites(const File& file, const FileUse& use, std::uint64_t size) const;
  void say_stays(const File& file, bool in_place, std::uint64_t bytes, const std::string& aside);
  void check_shorter(const File& file, const FileUse& use, const Inode& inode, const struct stat& now);
  [[nodiscard]] std::string no_room_for(std::uint64_t start, std::uint64_t end);
  void check_append_only(const File& file, const Inode& inode, const FileUse& use, const struct stat& now);
  void check_name(const File& file, const Inode& inode);
  [[nodiscard]] bool take_own_output(const File& file, const FileUse& use);
  void check_size(const File& file, const FileUse& use, const Inode& inode, const struct stat& now);
  [[nodiscard]] bool is_very_file(const File& file) const;
  [[nodiscard]] bool may_open_very_file(const File& file, int wanted) const;
  [[nodiscard]] bool is_taken_over(const File& file, const FileUse& use) const;
  void check_access(const File& file, const FileUse& use);
  void check_execution(const FileUse& use);
  void check_device(const File& file, const FileUse& use);
  [[nodiscard]] bool is_standard_of_job(const File& file) const;
  void check_standard(const File& file, const FileUse& use);
  void check_unused_output();
  void check_named_devices();
  void check_socket(const File& file);
  void check_pipe(const Inode& inode);
  [[nodiscard]] bool is_other_watched(const Watch& watch, const std::string& path) const;
  [[nodiscard]] bool can_watch_again(const Watch& watch, const std::string& path) const;
  void check_inotify(const Inotify& inotify, const FileUse& use);
  void check_fanotify(const Fanotify& group);
  void check_timerfd(const cryo_timerfd& timer);
  void check_uring(const cryo_uring& ring, const FileUse& use);
  void check_fifo(const File& file, const FileUse& use);
  void check_queue(const File& file, const FileUse& use);
  void check_posix_shm(const File& file);
  void check_hugetlb_file(const File& file);
  void check_numbers(const Process& process);
  void check_own_proc_file(const File& file, const FileUse& use);
  void check_hidden(const File& file, const FileUse& use);
  void check_fallback(const File& file);

  template <typename... Args>
  void problem(int code, fmt::format_string<Args...> format, Args&&... args) {
    findings_.problem(code, "pid {}: {}: {}", pid_, what_, fmt::format(format, std::forward<Args>(args)...));
  }

  const Context& context_;
  const RestartOptions& options_;
  const Creds& own_;
  Findings& findings_;
  std::int32_t pid_ = 0;  // of the first process that has the file
  std::string what_;      // "descriptor 3 (/path)"
  std::string path_;      // relocated
  std::set<std::uint32_t> tails_, fallbacks_;  // inodes that have been reported
  const FileUses uses_ = file_uses(context_);
  const Outputs outputs_ = find_outputs(context_, uses_);
  const OwnStandards standards_ = own_standards();
  std::set<std::uint32_t> taken_;  // of these, by a process of the job
};

std::string describe(const FileUse& use, const std::string& path) {
  if (!use.fds.empty()) return fmt::format("descriptor {} ({})", use.fds.front().fd, path);
  if (use.executable) return fmt::format("program {}", path);
  if (use.passed && !use.mapped) return fmt::format("file {} passed in a message", path);
  return fmt::format("mapped file {}", path);
}

// The options that help where it is not what it was.
std::string way_out(const File& file, const FileUse& use) {
  const bool mapped = use.mapped || use.executable;
  if (mapped || use.fds.empty() || (file.head.flags & (O_PATH | O_DIRECTORY)) != 0)
    return " (--relocate=OLD=NEW if it is elsewhere now)";
  return fmt::format(" (--redirect {}=FILE takes another one, --relocate=OLD=NEW if it is elsewhere now)",
                     use.fds.front().fd);
}

bool FileChecker::is_written(const File& file, const FileUse& use) const {
  const int flags = static_cast<int>(file.head.flags);
  if (use.mapped_shared_writable) return true;
  return (!use.fds.empty() || use.passed) && (flags & O_PATH) == 0 && (flags & O_ACCMODE) != O_RDONLY;
}

// What is written to must not be somebody else's.
void FileChecker::check_identity(const File& file, const Inode& inode) {
  const UniqueFd place = names::open(path_, O_PATH);
  if (!place || !is_other_file(options_.relocations, file, inode, place.get())) return;
  const std::string difference = difference_of(inode.head, place.get());
  switch (options_.changed_files.value_or(ChangedFiles::kRefuse)) {
    case ChangedFiles::kRefuse:
      return problem(ESTALE,
                     "its name now refers to a different file ({}); --relocate={}={} declares it to be the "
                     "right one, --changed-files=warn accepts it as is",
                     difference, file.path, file.path);
    case ChangedFiles::kWarn:
      return findings_.warning("pid {}: {}: its name now refers to a different file ({})", pid_, what_,
                               difference);
    case ChangedFiles::kIgnore:
      return;
  }
}

// What others in use of it make of it; true: it is not cut. Once for each inode.
bool FileChecker::check_other_use(const File& file, const Inode& inode, const FileUse& use, const struct stat& now) {
  const auto found = findings_.other_uses.find(inode.id);
  if (found == findings_.other_uses.end() || !is_output(file, use)) return false;
  if (!tails_.insert(inode.id).second) return true;
  const OtherUse& other = found->second;
  const std::uint64_t size = static_cast<std::uint64_t>(now.st_size);
  if (size > inode.head.size)
    findings_.warning("pid {}: {}: {} bytes were added since the checkpoint and are kept, as {}", pid_, what_,
                      size - inode.head.size, describe(other));
  if (was_at_end(file, inode) && !other.appends && !can_share(other, file, inode, use))
    findings_.warning(
        "pid {}: {}: {} without O_APPEND (>> in the shell): it may overwrite output of the job (--redirect "
        "{}=FILE gives the job another file)",
        pid_, what_, describe(other), use.fds.front().fd);
  return true;
}

// cr_restart reads the context there, and never writes to it.
void FileChecker::check_context_output(const File& file, const FileUse& use) {
  if (use.mapped_shared_writable || !is_output(file, use))
    return problem(
        ETXTBSY,
        "is the context being restarted, or one that it needs, and is mapped for writing or passed in a "
        "message{}",
        way_out(file, use));
  findings_.warning(
      "pid {}: {}: is the context being restarted, or one that it needs: it is left unchanged, and the "
      "process writes to an unnamed copy (--redirect {}=FILE gives it another file)",
      pid_, what_, use.fds.front().fd);
}

// What is kept beside a file takes room, each on its file system together with others; holes take none.
std::string FileChecker::no_room_for(std::uint64_t start, std::uint64_t end) {
  const UniqueFd fd = names::open_regular(path_);
  struct statvfs system;
  struct stat now;
  if (!fd || ::fstat(fd.get(), &now) != 0 || ::fstatvfs(fd.get(), &system) != 0) return {};
  std::uint64_t& wanted = findings_.kept_aside[now.st_dev];
  wanted += data_behind(fd.get(), start, end);
  const std::uint64_t blocks = capable(own_, CAP_SYS_RESOURCE) ? system.f_bfree : system.f_bavail;
  const std::uint64_t free = blocks * system.f_frsize;
  if (system.f_blocks == 0 || wanted <= free) return {};
  return fmt::format("it takes {} bytes, and {} are free", wanted, free);
}

bool FileChecker::overwrites(const File& file, const FileUse& use, std::uint64_t size) const {
  const auto output = outputs_.find(file.head.inode);
  return output != outputs_.end() && output->second.outside != 0 && (file.head.flags & O_APPEND) == 0 &&
         output_place(context_, outputs_, file, use, nullptr, size) == OutputPlace::kSaved;
}

void FileChecker::say_stays(const File& file, bool in_place, std::uint64_t bytes, const std::string& aside) {
  if (in_place)
    findings_.warning(
        "pid {}: {}: {} bytes were added since the checkpoint and are kept, as other processes had it open "
        "for writing: the job continues to write at byte {}, and may overwrite them (--truncate=aside moves "
        "them to {})",
        pid_, what_, bytes, file.head.pos, aside);
  else if (outputs_.at(file.head.inode).outside != 0)
    findings_.warning(
        "pid {}: {}: {} bytes were added since the checkpoint and are kept, as other processes had it open "
        "for writing: output of the job among them will be duplicated (--truncate=aside moves them to {})",
        pid_, what_, bytes, aside);
  else
    findings_.warning(
        "pid {}: {}: {} bytes were added since the checkpoint and are kept, as others may append (--truncate "
        "removes them)",
        pid_, what_, bytes);
}

// Where it is longer now. Once for each inode.
void FileChecker::check_tail(const File& file, const Inode& inode, const FileUse& use, const struct stat& now) {
  if (check_other_use(file, inode, use, now)) return;
  const std::uint64_t size = static_cast<std::uint64_t>(now.st_size);
  const bool asked = options_.tails == Tails::kDefault || options_.tails == Tails::kAside;
  if (!is_output(file, use) || size <= inode.head.size || !asked || findings_.rewritten.contains(inode.id)) return;
  const bool in_place = overwrites(file, use, size);
  if (!tails_.insert(inode.id).second && !in_place) return;
  const UniqueFd place = names::open(path_, O_PATH);
  if (place && is_other_file(options_.relocations, file, inode, place.get())) return;
  const std::uint64_t more = size - inode.head.size;
  const std::string aside = aside_name(path_);
  if (tail_of(context_, outputs_, options_, file) == Tail::kStays) return say_stays(file, in_place, more, aside);
  if (const std::string text = no_room_for(inode.head.size, size); !text.empty())
    return problem(ENOSPC,
                   "{} bytes were added since the checkpoint, and there is no space to save them in {}: {} "
                   "(--truncate removes them, --no-truncate keeps them)",
                   more, aside, text);
  const std::string directory = aside.substr(0, aside.rfind('/') + 1);
  if (names::access(directory, W_OK | X_OK) != 0 || names::access(path_, R_OK) != 0)
    return problem(errno,
                   "{} bytes were added since the checkpoint, and cannot be saved in {}: {} (--truncate "
                   "removes them, --no-truncate keeps them)",
                   more, aside, std::strerror(errno));
  findings_.warning(
      "pid {}: {}: {} bytes were added since the checkpoint; a successful restart moves them to {}", pid_,
      what_, more, aside);
}

// chattr +a: nobody opens it without O_APPEND any more, or cuts it.
void FileChecker::check_append_only(const File& file, const Inode& inode, const FileUse& use, const struct stat& now) {
  const UniqueFd place = names::open(path_, O_PATH);
  struct ::statx more {};
  if (!is_output(file, use) || !place || !names::look(place.get(), more) ||
      (more.stx_attributes & STATX_ATTR_APPEND) == 0)
    return;
  const bool cut = (options_.tails == Tails::kGo || options_.tails == Tails::kAside) &&
                   static_cast<std::uint64_t>(now.st_size) > inode.head.size;
  if ((file.head.flags & O_APPEND) == 0)
    problem(EPERM,
            "is append-only (chattr +a), but was open without O_APPEND; clear the attribute with chattr -a{}",
            way_out(file, use));
  else if (cut)
    problem(EPERM, "is append-only (chattr +a), and --truncate would truncate it");
}

// cr_restart itself has it open: its name does not matter then.
bool FileChecker::take_own_output(const File& file, const FileUse& use) {
  constexpr int kStandard[3] = {0, 1, 2};
  const int own = own_output(file, context_.inode(file.head.inode), use, kStandard);
  if (own >= 0) taken_.insert(static_cast<std::uint32_t>(own));
  return own >= 0;
}

// What has been written cannot be written again without what was before it.
void FileChecker::check_size(const File& file, const FileUse& use, const Inode& inode,
                             const struct stat& now) {
  if (!is_written(file, use)) return;
  if (take_own_output(file, use)) return;
  if (const auto other = findings_.other_uses.find(inode.id);
      other != findings_.other_uses.end() && other->second.context)
    return check_context_output(file, use);
  check_append_only(file, inode, use, now);
  check_identity(file, inode);
  check_tail(file, inode, use, now);
  if (static_cast<std::uint64_t>(now.st_size) < inode.head.size) check_shorter(file, use, inode, now);
}

// What an earlier restart has moved out of it, the last time: FILE.cut.N.
std::string cut_text(const std::string& path) {
  constexpr int kMost = 1000;
  struct stat now;
  int last = 0;
  while (last < kMost && names::lstat(fmt::format("{}.cut.{}", path, last + 1), now) == 0) ++last;
  return last == 0
             ? ""
             : fmt::format("; an earlier restart has moved the data added later to {}.cut.{}", path, last);
}

// Cut by others, or by a restart of another job of theirs that had been asked to.
void FileChecker::check_shorter(const File& file, const FileUse& use, const Inode& inode, const struct stat& now) {
  const auto output = outputs_.find(inode.id);
  const char* others = output != outputs_.end() && output->second.outside != 0
                           ? ", and other processes had it open for writing, too" : "";
  const auto other = findings_.other_uses.find(inode.id);
  const OutputPlace place =
      output_place(context_, outputs_, file, use, other == findings_.other_uses.end() ? nullptr : &other->second,
                   static_cast<std::uint64_t>(now.st_size));
  switch (options_.changed_files.value_or(ChangedFiles::kRefuse)) {
    case ChangedFiles::kRefuse:
      return problem(ESTALE,
                     "the file is shorter than at the checkpoint: it has {} bytes, and had {}{}{}; "
                     "--changed-files=warn accepts it as is{}",
                     now.st_size, inode.head.size, others, cut_text(path_), way_out(file, use));
    case ChangedFiles::kWarn:
      return findings_.warning(
          "pid {}: {}: the file is shorter than at the checkpoint: it has {} bytes, and had {}{}{}", pid_, what_, now.st_size,
          inode.head.size, others,
          (file.head.flags & O_APPEND) != 0 || place != OutputPlace::kSaved
              ? "" : "; writes beyond its end will leave a hole");
    case ChangedFiles::kIgnore:
      return;
  }
}

// Its process need not be able to open it by its name any more.
bool FileChecker::is_very_file(const File& file) const {
  const cryo_inode& inode = context_.inode(file.head.inode).head;
  return names::is_there(
      {path_, O_PATH, inode.dev, inode.ino, inode.mode, inode.uid, context_.header.created_ns});
}

// cr_restart opens it for them, if it may.
bool FileChecker::may_open_very_file(const File& file, int wanted) const {
  if (!is_very_file(file)) return false;
  const OwnNames own;
  return names::access(path_, wanted) == 0;
}

// An open file of cr_restart's own, or of another process, is not opened again.
bool FileChecker::is_taken_over(const File& file, const FileUse& use) const {
  constexpr int kStandard[3] = {0, 1, 2};
  const Inode& inode = context_.inode(file.head.inode);
  if (own_output(file, inode, use, kStandard) >= 0) return true;
  const auto other = findings_.other_uses.find(inode.id);
  return other != findings_.other_uses.end() && can_share(other->second, file, inode, use);
}

void FileChecker::check_access(const File& file, const FileUse& use) {
  const int flags = open_flags(file, use);
  if (flags & O_PATH || is_taken_over(file, use)) return;
  const int mode = flags & O_ACCMODE;
  const int wanted = (mode != O_WRONLY ? R_OK : 0) | (mode != O_RDONLY ? W_OK : 0);
  if (names::access(path_, wanted) == 0) return;
  const int error = errno;
  const bool regular = S_ISREG(context_.inode(file.head.inode).head.mode);
  if (error == EACCES && ((regular && names::are_owner_of(path_)) || may_open_very_file(file, wanted))) return;
  problem(error, "cannot be opened for {}: {}{}",
          mode == O_RDONLY   ? "reading"
          : mode == O_WRONLY ? "writing"
                             : "reading and writing",
          way_error(error), way_out(file, use));
}

// What /proc/PID/exe leads to: the kernel asks what it asks of who executes it.
void FileChecker::check_execution(const FileUse& use) {
  if (use.executable && names::access(path_, X_OK) != 0)
    problem(errno, "cannot be the executable of a process: {}", std::strerror(errno));
}

// It is opened when the process exists, by each process that has it.
void FileChecker::check_own_proc_file(const File& file, const FileUse& use) {
  const bool same_proc = is_own_proc_file(context_, file, path_);
  if (const std::string text = same_proc ? own_proc_problem(context_, file, use.processes, path_) : ""; !text.empty())
    return problem(EACCES, "{}{}", text, way_out(file, use));
  if (use.holders > 1)
    findings_.warning("pid {}: {}: shared by {} processes, each of which gets an open file of its own", pid_,
                      what_, use.holders);
}

// What the job gets in place of a file that is gone or has changed. Once for each inode.
void FileChecker::check_fallback(const File& file) {
  const Inode& inode = context_.inode(file.head.inode);
  if (inode.found <= FileFound::kSameContents || !fallbacks_.insert(inode.id).second) return;
  if (inode.made_by_name) {
    if (const std::string directory = nearest_directory(path_); names::access(directory, W_OK | X_OK) != 0)
      return problem(errno, "no longer exists, and cannot be recreated in {} (--restore-files): {}",
                     directory, std::strerror(errno));
    return findings_.warning("pid {}: {}: no longer exists, and is recreated with its saved contents", pid_,
                             what_);
  }
  const char* what = inode.found == FileFound::kGone      ? "no longer exists"
                     : inode.found == FileFound::kChanged ? "has changed since the checkpoint"
                                                      : "can no longer be read";
  const char* way = inode.found == FileFound::kGone      ? " (--restore-files recreates it)"
                    : inode.found == FileFound::kChanged ? " (--changed-files=warn accepts the file as is)"
                                                     : "";
  findings_.warning("pid {}: {}: {}; the process gets an unnamed file with the saved contents{}", pid_, what_,
                    what, way);
}

void FileChecker::check_hidden(const File& file, const FileUse& use) {
  const Inode& inode = context_.inode(file.head.inode);
  if ((inode.head.flags & CRYO_INODE_MEMFD) || inode.head.size == 0 || (file.head.flags & O_PATH) != 0) return;
  const NamesToCheck theirs(context_, use.processes, file);
  if (is_hidden_from_owner(context_, inode))
    findings_.warning("{}: is open write-only, and its user may not read it: its contents are not restored",
                      file.path);
}

void FileChecker::check_path(const File& file, const FileUse& use) {
  if (lies_in_own_proc(context_, path_) || thread_place(context_, file, path_)) return check_own_proc_file(file, use);
  const Inode& inode = context_.inode(file.head.inode);
  struct stat now;
  const bool link = (static_cast<int>(file.head.flags) & O_PATH) && S_ISLNK(inode.head.mode);
  if ((link ? names::lstat(path_, now) : names::stat(path_, now)) != 0) {
    const int error = errno;
    if (take_own_output(file, use) || (error == EACCES && is_very_file(file))) return;
    return problem(error, "cannot be found: {}{}", way_error(error), way_out(file, use));
  }
  if ((now.st_mode & S_IFMT) != (inode.head.mode & S_IFMT)) {
    problem(ESTALE, "is not a file of the same type as at the checkpoint");
    return;
  }
  // Numbers are given out anew at each boot: on request, the one of that name will do.
  const bool device = (S_ISCHR(now.st_mode) || S_ISBLK(now.st_mode)) && !options_.device_policy(file.path);
  if (device && now.st_rdev != inode.head.rdev)
    problem(ESTALE, "is not the same device as at the checkpoint");
  if (S_ISREG(now.st_mode)) check_size(file, use, inode, now);
  if (S_ISDIR(now.st_mode) || static_cast<int>(file.head.flags) & O_PATH) check_name(file, inode);
  check_access(file, use);
  check_execution(use);
}

// Made again by the user, perhaps: it is not for what is in it.
void FileChecker::check_name(const File& file, const Inode& inode) {
  const UniqueFd place = names::open(path_, O_PATH | (static_cast<int>(file.head.flags) & O_NOFOLLOW));
  if (!place || !is_other_file(options_.relocations, file, inode, place.get()) ||
      options_.changed_files == ChangedFiles::kIgnore)
    return;
  const std::string text =
      fmt::format("its name now refers to a different {} ({})",
                  S_ISDIR(inode.head.mode) ? "directory" : "file", difference_of(inode.head, place.get()));
  if (options_.changed_files == ChangedFiles::kRefuse)
    problem(ESTALE,
            "{}; --relocate={}={} declares it to be the right one, --changed-files=warn accepts it as is",
            text, file.path, file.path);
  else
    findings_.warning("pid {}: {}: {}", pid_, what_, text);
}

void FileChecker::check_device(const File& file, const FileUse& use) {
  if (left_closed(file, options_)) return;
  const auto chosen = options_.device_policy(file.path);
  if (chosen == DevicePolicy::kFail)
    problem(EOPNOTSUPP, "is a device, which --device={}=fail does not allow", file.path);
  else
    check_path(file, use);
}

// Has a process of the job that at the number of which it becomes cr_restart's? It goes there without being told, and so do copies:
// csh has its input and output at 16 to 19, and what it starts has them at 0 to 2.
bool FileChecker::is_standard_of_job(const File& file) const {
  const std::uint32_t number = standard_number(file);
  return std::any_of(uses_.begin(), uses_.end(), [&](const auto& entry) {
    const auto& [id, use] = entry;
    return context_.file(id).head.inode == file.head.inode &&
           std::any_of(use.fds.begin(), use.fds.end(), [number](const cryo_fd& fd) { return fd.fd == number; });
  });
}

// Of what another process has given, in place of what it was; once for each number.
void FileChecker::check_standard(const File& file, const FileUse& use) {
  const bool pipe = file.head.kind == CRYO_FILE_STDIO && file.head.stdio_fd > 2;
  if (pipe && is_inherited(file.head.stdio_fd)) return;
  if (pipe) {
    const std::string text = fmt::format(
        "pid {}: descriptor {}, a pipe to a process outside the checkpoint, becomes standard {} of cr_restart (it had no "
        "descriptor {} of its own)",
        pid_, file.head.stdio_fd, standard_number(file) == STDIN_FILENO ? "input" : "output", file.head.stdio_fd);
    (is_standard_of_job(file) ? findings_.advice : findings_.warnings).push_back(text);
  }
  std::set<std::uint32_t> numbers;
  for (const cryo_fd& fd : use.fds) numbers.insert(fd.fd);
  for (const std::uint32_t number : numbers) {
    const StandardSource source = standard_source(file, use, number, standards_);
    const std::uint32_t own = number < 3 ? number : standard_number(file);
    what_ = fmt::format("descriptor {} ({})", number, path_);
    if (source.number == StandardSource::kNone) {
      if (file.head.kind == CRYO_FILE_STDIO)
        problem(EBADF, "is taken over from cr_restart, whose descriptor {} is {} (--redirect {}=FILE gives it a file)",
                own, why_not(standards_[own], source.mode), number);
      else
        problem(ENXIO, "is its terminal, and cr_restart has none (--redirect {}=FILE gives it a file)", number);
      continue;
    }
    if (source.number == StandardSource::kTerminal) {
      if (number < 3 && standards_[number].open)
        findings_.warning("pid {}: {}: becomes the terminal, as descriptor {} of cr_restart is {}", pid_, what_,
                          number, why_not(standards_[number], source.mode));
      continue;
    }
    taken_.insert(static_cast<std::uint32_t>(source.number));
    if (number < 3 && source.number != static_cast<int>(number))
      findings_.warning("pid {}: {}: becomes descriptor {} of cr_restart, whose descriptor {} is {}", pid_, what_,
                        source.number, number, why_not(standards_[number], source.mode));
    if (!source.whole)
      findings_.warning(
          "pid {}: {}: becomes descriptor {} of cr_restart, which is not open for both reading and writing "
          "(--redirect {}=FILE gives it a file)",
          pid_, what_, source.number, number);
  }
}

// Somebody has just made it for the output of the job, to all appearance: cr_restart itself writes nothing there.
void FileChecker::check_unused_output() {
  struct stat now;
  if (!standards_[STDOUT_FILENO].open || taken_.contains(STDOUT_FILENO) || ::fstat(STDOUT_FILENO, &now) != 0 ||
      !S_ISREG(now.st_mode) || now.st_size != 0)
    return;
  for (const auto& [id, use] : uses_) {
    const File& file = context_.file(id);
    const bool has =
        std::any_of(use.fds.begin(), use.fds.end(), [](const cryo_fd& at) { return at.fd == STDOUT_FILENO; });
    if (!has || (file.head.kind != CRYO_FILE_PATH && file.head.kind != CRYO_FILE_CONTENTS)) continue;
    if (!S_ISREG(context_.inode(file.head.inode).head.mode)) continue;
    return findings_.warning(
        "pid {}: descriptor 1 ({}): continues to write there, not to standard output of cr_restart "
        "(--redirect 1=FILE gives it "
        "another file)",
        context_.processes[use.process].head.pid, options_.relocations.apply(file.path));
  }
}

// As of a descriptor that --redirect names.
void FileChecker::check_named_devices() {
  for (const auto& named : options_.devices) {
    const bool has = std::any_of(uses_.begin(), uses_.end(), [&](const auto& use) {
      const File& file = context_.file(use.first);
      return file.path == named.first && file.head.inode != 0 &&
             (S_ISCHR(context_.inode(file.head.inode).head.mode) || S_ISBLK(context_.inode(file.head.inode).head.mode));
    });
    if (!has) findings_.problem(EINVAL, "--device {}: no process of the context has that device open", named.first);
  }
}

void FileChecker::check_socket(const File& file) {
  if (const std::string text = filter_problem(file); !text.empty()) problem(EPERM, "{}", text);
  if (const std::string text = multicast_problem(file); !text.empty()) problem(ENODEV, "{}", text);
  if (const std::string text = device_problem(file); !text.empty()) problem(ENODEV, "{}", text);
  int raw_code = EPERM;
  if (const std::string text = raw_problem(context_, file, raw_code); !text.empty()) problem(raw_code, "{}", text);
  int code = EADDRINUSE;
  std::string text;
  try {
    if (file.connection)
      text = connection_problem(context_, file, options_, code);
    else if (file.socket->head.family == AF_UNIX)
      text = unix_name_problem(context_, file, options_, code);
    // Nobody else has an address in a network namespace that is going to be made.
    if (text.empty() && file.net == 0) text = socket_problem(context_, file, code);
  } catch (const Error& error) {
    return problem(error.code(), "{}", error.what());
  }
  if (text.empty()) return;
  if (code != 0) return problem(code, "{}", text);
  findings_.warning("pid {}: {}: {}", pid_, what_, text);
}

void FileChecker::check_pipe(const Inode& inode) {
  if (capable(own_, CAP_SYS_RESOURCE)) return;
  const std::string text = read_proc("sys/fs/pipe-max-size");
  const auto limit = parse_number<std::uint64_t>(text.substr(0, text.find('\n'))).value_or(0);
  if (inode.pipe->head.capacity > limit)
    problem(EPERM, "a pipe of {} bytes is larger than /proc/sys/fs/pipe-max-size allows ({})",
            inode.pipe->head.capacity, limit);
}

// A watch is of a file, and is put on what has its name.
bool FileChecker::is_other_watched(const Watch& watch, const std::string& path) const {
  if (options_.relocations.covers(watch.path)) return false;
  const UniqueFd place = names::open(path, O_PATH | O_NOFOLLOW);
  return place && is_other_since(watch.head.ino, context_.header.created_ns, place.get());
}

// By cr_restart itself, where the process may not any more: who watches a file must be allowed to read it.
bool FileChecker::can_watch_again(const Watch& watch, const std::string& path) const {
  if (!names::is_there({path, O_PATH | O_NOFOLLOW, watch.head.dev, watch.head.ino, 0, {}, context_.header.created_ns})) return false;
  const OwnNames own;
  const UniqueFd place = names::open(path, O_PATH | O_NOFOLLOW);
  if (place && names::access(fmt::format("/proc/self/fd/{}", place.get()), R_OK, 0) == 0) return true;
  errno = EACCES;
  return false;
}

void FileChecker::check_inotify(const Inotify& inotify, const FileUse& use) {
  // Found out when its mount namespace is there.
  if (context_.processes[use.process].namespaces.mnt != 0) return;
  RemovedFiles removed(context_);
  const Watch* first = nullptr;
  std::size_t others = 0;
  for (const Watch& watch : inotify.watches) {
    if (removed.find(watch) != 0) continue;
    const std::string path = options_.relocations.apply(watch.path);
    if (names::access(path, R_OK, AT_SYMLINK_NOFOLLOW) != 0 && !can_watch_again(watch, path))
      problem(errno, "cannot watch {} (watch descriptor {}): {}", path, watch.head.wd,
              std::strerror(errno));
    else if (is_other_watched(watch, path) && others++ == 0)
      first = &watch;
  }
  if (first != nullptr && options_.changed_files != ChangedFiles::kIgnore)
    findings_.warning(
        "pid {}: {}: watch {} will be on a different file than at the checkpoint, which now has the name "
        "{}{}",
        pid_, what_, first->head.wd, first->path, others > 1 ? fmt::format(" ({} more)", others - 1) : "");
}

void FileChecker::check_fanotify(const Fanotify& group) {
  for (const std::string& text : fanotify_problems(group, options_.relocations, own_))
    problem(EPERM, "{}", text);
}

void FileChecker::check_timerfd(const cryo_timerfd& timer) {
  if (is_alarm_clock(timer.clockid) && !capable(own_, CAP_WAKE_ALARM))
    problem(EPERM, "a timer that wakes the machine requires CAP_WAKE_ALARM");
}

void FileChecker::check_uring(const cryo_uring& ring, const FileUse& use) {
  const NamesToCheck theirs(context_, use.processes);
  const std::string text = uring_problem(ring);
  if (!text.empty()) problem(EOPNOTSUPP, "{}", text);
}

// One that is gone is made anew.
void FileChecker::check_fifo(const File& file, const FileUse& use) {
  const Inode& inode = context_.inode(file.head.inode);
  if (inode.pipe) check_pipe(inode);
  struct stat now;
  if (inode.head.flags & CRYO_INODE_DELETED) return;
  if (names::stat(path_, now) != 0) {
    const int error = errno;
    const std::size_t end = path_.rfind('/');
    if (error != ENOENT && !is_very_file(file))
      problem(error, "cannot be found: {}", way_error(error));
    else if (error == ENOENT && names::access(end == 0 ? "/" : path_.substr(0, end), W_OK | X_OK) != 0)
      problem(errno, "cannot be made again: {}", way_error(errno));
    return;
  }
  if (!S_ISFIFO(now.st_mode)) return problem(ESTALE, "is not a FIFO any more");
  if (is_foreign_fifo(options_, file, inode, path_))
    problem(ESTALE, "its name now refers to a different FIFO; --changed-files=warn accepts it");
  if (!may_fill_fifo(context_, inode, path_))
    problem(EACCES, "its contents cannot be restored, as none of the processes may write to it");
  check_access(file, use);
}

void FileChecker::check_queue(const File& file, const FileUse& use) {
  const NamesOf theirs(context_, use.processes);
  int code = EEXIST;
  const std::string text = queue_problem(context_.inode(file.head.inode), file.path, code);
  if (!text.empty()) problem(code, "{}", text);
}

void FileChecker::check_posix_shm(const File& file) {
  const std::string text = posix_shm_problem(context_.inode(file.head.inode), path_);
  if (!text.empty()) problem(EEXIST, "{}", text);
}

// A memfd, or what has no name any more, is made anew anywhere.
void FileChecker::check_hugetlb_file(const File& file) {
  const Inode& inode = context_.inode(file.head.inode);
  if (inode.head.flags & CRYO_INODE_DELETED) return;
  if (const std::string text = hugetlb_problem(inode, path_); !text.empty()) problem(EEXIST, "{}", text);
}

// The numbers must be possible; so must a few more, for the restart itself.
void FileChecker::check_numbers(const Process& process) {
  rlimit limit;
  if (process.fds.empty() || ::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  std::uint64_t allowed = limit.rlim_max;
  if (process.rlimits.size() > RLIMIT_NOFILE)
    allowed = std::max<std::uint64_t>(allowed, process.rlimits[RLIMIT_NOFILE].max);
  const std::uint32_t highest = process.fds.back().fd;
  if (highest >= allowed)
    findings_.problem(EMFILE, "pid {}: its descriptor {} is above the hard limit of open files ({})",
                      process.head.pid, highest, allowed);
}

// With the rights of who had set it, which are not to grow.
void FileChecker::check_owner(const File& file, const FileUse& use) {
  if (file.head.owner_pid == 0 || owner_setter(context_, file, use.processes)) return;
  findings_.warning(
      "pid {}: descriptor {} ({}): its I/O signal owner (F_SETOWN) was set by user {}, as whom no process "
      "with this descriptor runs: no owner is set",
      context_.processes[use.process].head.pid, use.fds.empty() ? -1 : static_cast<int>(use.fds.front().fd),
      file.path, file.head.owner_euid);
}

void FileChecker::check_file(const File& file, const FileUse& use) {
  switch (file.head.kind) {
    case CRYO_FILE_PATH:
      return check_path(file, use);
    case CRYO_FILE_CTTY:
    case CRYO_FILE_STDIO:
      return check_standard(file, use);
    case CRYO_FILE_SOCKET:
    case CRYO_FILE_UNIX:
    case CRYO_FILE_TCP:
    case CRYO_FILE_UDP:
    case CRYO_FILE_RAW:
    case CRYO_FILE_NETLINK:
      return check_socket(file);
    case CRYO_FILE_PIPE:
      return check_pipe(context_.inode(file.head.inode));
    case CRYO_FILE_DEVICE:
    case CRYO_FILE_CLOSED:
      return check_device(file, use);
    case CRYO_FILE_PTY_MASTER:
      if (names::access(path_, R_OK | W_OK) != 0)
        problem(errno, "cannot be opened for reading and writing: {}", std::strerror(errno));
      if (const std::string text = file.pty ? pty_problem(*file.pty) : ""; !text.empty()) problem(EOPNOTSUPP, "{}", text);
      return;
    case CRYO_FILE_MQUEUE:
      return check_queue(file, use);
    case CRYO_FILE_POSIX_SHM:
      return check_posix_shm(file);
    case CRYO_FILE_HUGETLB:
      return check_hugetlb_file(file);
    case CRYO_FILE_CONTENTS:
      check_hidden(file, use);
      return check_fallback(file);
    case CRYO_FILE_FIFO:
      return check_fifo(file, use);
    case CRYO_FILE_PTY_SLAVE:
    case CRYO_FILE_SYSV:
    case CRYO_FILE_REMOVED_DIR:
    case CRYO_FILE_EPOLL:
    case CRYO_FILE_EVENTFD:
    case CRYO_FILE_SIGNALFD:
    case CRYO_FILE_PIDFD:
    case CRYO_FILE_NAMESPACE:
    case CRYO_FILE_CLIENT:
    case CRYO_FILE_REQUEST:
    case CRYO_FILE_OUTPUT:
      return;
    case CRYO_FILE_INOTIFY:
      return check_inotify(*file.inotify, use);
    case CRYO_FILE_FANOTIFY:
      return check_fanotify(*file.fanotify);
    case CRYO_FILE_TIMERFD:
      return check_timerfd(*file.timerfd);
    case CRYO_FILE_URING:
      return check_uring(file.uring->head, use);
    default:
      problem(EOPNOTSUPP, "is of a kind that this cr_restart does not know ({})", file.head.kind);
  }
}

void FileChecker::check() {
  for (const Process& process : context_.processes) check_numbers(process);
  for (const auto& [id, use] : uses_) {
    const File& file = context_.file(id);
    pid_ = context_.processes[use.process].head.pid;
    const std::optional<std::string> outer = outer_path(context_, file);
    if (!outer) continue;  // found out when its mount namespace is there
    path_ = options_.relocations.apply(*outer);
    what_ = describe(use, path_);
    const NamesToCheck theirs(context_, use.processes, file);
    check_owner(file, use);
    if (!file.redirected.empty())
      check_redirected(file, use, pid_, findings_);
    else
      check_file(file, use);
  }
  check_unused_output();
  check_named_devices();
}

}  // namespace

void check_files(const Context& context, const RestartOptions& options, const Creds& own,
                 Findings& findings) {
  FileChecker(context, options, own, findings).check();
}

}  // namespace cryo
