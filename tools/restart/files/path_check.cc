// SPDX-License-Identifier: GPL-2.0-only
#include "restart/files/path_check.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cstring>

#include "base/data_range.h"
#include "base/error.h"
#include "base/place.h"
#include "restart/rights/identity.h"
#include "restart/rights/own_proc.h"

namespace cryo {
namespace {

// Of one file.
class PathCheck {
 public:
  explicit PathCheck(FileCheck& at) : at_(at) {}

  void check_access(const File& file, const FileUse& use);
  void check_path(const File& file, const FileUse& use);

 private:
  [[nodiscard]] bool is_written(const File& file, const FileUse& use) const;
  void check_identity(const File& file, const Inode& inode, const FileNow& now);
  [[nodiscard]] bool check_other_use(const File& file, const Inode& inode, const FileUse& use,
                                     const FileNow& now);
  void check_context_output(const File& file, const FileUse& use);
  [[nodiscard]] std::string no_room_for(std::uint64_t start, std::uint64_t end);
  [[nodiscard]] bool overwrites(const File& file, const FileUse& use, std::uint64_t size) const;
  void say_stays(const File& file, bool in_place, std::uint64_t bytes, const std::string& aside);
  void check_tail(const File& file, const Inode& inode, const FileUse& use, const FileNow& now);
  void check_append_only(const File& file, const Inode& inode, const FileUse& use, const FileNow& now);
  [[nodiscard]] bool take_own_output(const File& file, const FileUse& use);
  void check_size(const File& file, const FileUse& use, const Inode& inode, const FileNow& now);
  void check_shorter(const File& file, const FileUse& use, const Inode& inode, const FileNow& now);
  [[nodiscard]] bool may_open_very_file(const File& file, int wanted) const;
  [[nodiscard]] bool is_taken_over(const File& file, const FileUse& use) const;
  void check_execution(const FileUse& use);
  void check_device(const File& file, const FileUse& use, const Inode& inode, const FileNow& now);
  void check_own_proc_file(const File& file, const FileUse& use);
  void check_name(const File& file, const Inode& inode, const FileNow& now);

  FileCheck& at_;
  UniqueFd place_;  // what is there, opened once (O_PATH)
};

// Inodes that have been reported.
struct ReportedTails {
  std::set<std::uint32_t> inodes;
};

// The options that help where it is not what it was.
std::string way_out(const File& file, const FileUse& use) {
  const bool mapped = use.mapped || use.executable;
  if (mapped || use.fds.empty() || (file.head.flags & (O_PATH | O_DIRECTORY)) != 0)
    return " (--relocate=OLD=NEW if it is elsewhere now)";
  return fmt::format(" (--redirect {}=FILE takes another one, --relocate=OLD=NEW if it is elsewhere now)",
                     use.fds.front().fd);
}

std::string device_text(dev_t device) {
  return fmt::format("{}:{}", ::major(device), ::minor(device));
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

bool PathCheck::is_written(const File& file, const FileUse& use) const {
  const int flags = static_cast<int>(file.head.flags);
  if (use.mapped_shared_writable) return true;
  return (!use.fds.empty() || use.passed) && (flags & O_PATH) == 0 && (flags & O_ACCMODE) != O_RDONLY;
}

// What is written to must not be somebody else's.
void PathCheck::check_identity(const File& file, const Inode& inode, const FileNow& now) {
  if (!is_other_file(at_.options.relocations, file, inode, now)) return;
  const std::string difference = difference_of(inode.head, now);
  switch (at_.options.changed_files.value_or(ChangedFiles::kRefuse)) {
    case ChangedFiles::kRefuse:
      return at_.problem(
          ESTALE,
          "its name now refers to a different file ({}); --relocate={}={} declares it to be the "
          "right one, --changed-files=warn accepts it as is",
          difference, file.path, file.path);
    case ChangedFiles::kWarn:
      return at_.findings.warning("pid {}: {}: its name now refers to a different file ({})", at_.pid,
                                  at_.what, difference);
    case ChangedFiles::kIgnore:
      return;
  }
}

// What others in use of it make of it; true: it is not cut. Once for each inode.
bool PathCheck::check_other_use(const File& file, const Inode& inode, const FileUse& use,
                                const FileNow& now) {
  const auto found = at_.findings.other_uses.find(inode.id);
  if (found == at_.findings.other_uses.end() || !is_output(file, use)) return false;
  if (!at_.state<ReportedTails>().inodes.insert(inode.id).second) return true;
  const OtherUse& other = found->second;
  const std::uint64_t size = now.stat().stx_size;
  if (size > inode.head.size)
    at_.findings.warning("pid {}: {}: {} bytes were added since the checkpoint and are kept, as {}", at_.pid,
                         at_.what, size - inode.head.size, describe(other));
  if (was_at_end(file, inode) && !other.appends && !can_share(other, file, inode, use))
    at_.findings.warning(
        "pid {}: {}: {} without O_APPEND (>> in the shell): it may overwrite output of the job (--redirect "
        "{}=FILE gives the job another file)",
        at_.pid, at_.what, describe(other), use.fds.front().fd);
  return true;
}

// cr_restart reads the context there, and never writes to it.
void PathCheck::check_context_output(const File& file, const FileUse& use) {
  if (use.mapped_shared_writable || !is_output(file, use))
    return at_.problem(
        ETXTBSY,
        "is the context being restarted, or one that it needs, and is mapped for writing or passed in a "
        "message{}",
        way_out(file, use));
  at_.findings.warning(
      "pid {}: {}: is the context being restarted, or one that it needs: it is left unchanged, and the "
      "process writes to an unnamed copy (--redirect {}=FILE gives it another file)",
      at_.pid, at_.what, use.fds.front().fd);
}

// What is kept beside a file takes room, each on its file system together with others; holes take none.
std::string PathCheck::no_room_for(std::uint64_t start, std::uint64_t end) {
  const UniqueFd fd = names::open_regular(at_.path);
  struct statvfs system;
  struct stat now;
  if (!fd || ::fstat(fd.get(), &now) != 0 || ::fstatvfs(fd.get(), &system) != 0) return {};
  std::uint64_t& wanted = at_.findings.kept_aside[now.st_dev];
  wanted += data_behind(fd.get(), start, end);
  const std::uint64_t blocks = capable(at_.own, CAP_SYS_RESOURCE) ? system.f_bfree : system.f_bavail;
  const std::uint64_t free = blocks * system.f_frsize;
  if (system.f_blocks == 0 || wanted <= free) return {};
  return fmt::format("it takes {} bytes, and {} are free", wanted, free);
}

bool PathCheck::overwrites(const File& file, const FileUse& use, std::uint64_t size) const {
  const auto output = at_.outputs.find(file.head.inode);
  return output != at_.outputs.end() && output->second.outside != 0 && (file.head.flags & O_APPEND) == 0 &&
         output_place(at_.context, at_.outputs, file, use, nullptr, size) == OutputPlace::kSaved;
}

void PathCheck::say_stays(const File& file, bool in_place, std::uint64_t bytes, const std::string& aside) {
  if (in_place)
    at_.findings.warning(
        "pid {}: {}: {} bytes were added since the checkpoint and are kept, as other processes had it open "
        "for writing: the job continues to write at byte {}, and may overwrite them (--truncate=aside moves "
        "them to {})",
        at_.pid, at_.what, bytes, file.head.pos, aside);
  else if (at_.outputs.at(file.head.inode).outside != 0)
    at_.findings.warning(
        "pid {}: {}: {} bytes were added since the checkpoint and are kept, as other processes had it open "
        "for writing: output of the job among them will be duplicated (--truncate=aside moves them to {})",
        at_.pid, at_.what, bytes, aside);
  else
    at_.findings.warning(
        "pid {}: {}: {} bytes were added since the checkpoint and are kept, as others may append (--truncate "
        "removes them)",
        at_.pid, at_.what, bytes);
}

// Where it is longer now. Once for each inode.
void PathCheck::check_tail(const File& file, const Inode& inode, const FileUse& use, const FileNow& now) {
  if (check_other_use(file, inode, use, now)) return;
  const std::uint64_t size = now.stat().stx_size;
  const bool asked = at_.options.tails == Tails::kDefault || at_.options.tails == Tails::kAside;
  if (!is_output(file, use) || size <= inode.head.size || !asked || at_.findings.rewritten.contains(inode.id))
    return;
  const bool in_place = overwrites(file, use, size);
  if (!at_.state<ReportedTails>().inodes.insert(inode.id).second && !in_place) return;
  if (is_other_file(at_.options.relocations, file, inode, now)) return;
  const std::uint64_t more = size - inode.head.size;
  const std::string aside = aside_name(at_.path);
  if (tail_of(at_.context, at_.outputs, at_.options, file) == Tail::kStays)
    return say_stays(file, in_place, more, aside);
  if (const std::string text = no_room_for(inode.head.size, size); !text.empty())
    return at_.problem(
        ENOSPC,
        "{} bytes were added since the checkpoint, and there is no space to save them in {}: {} "
        "(--truncate removes them, --no-truncate keeps them)",
        more, aside, text);
  const std::string directory = aside.substr(0, aside.rfind('/') + 1);
  if (names::access(directory, W_OK | X_OK) != 0 || names::access(at_.path, R_OK) != 0)
    return at_.problem(errno,
                       "{} bytes were added since the checkpoint, and cannot be saved in {}: {} (--truncate "
                       "removes them, --no-truncate keeps them)",
                       more, aside, errno_text(errno));
  at_.findings.warning(
      "pid {}: {}: {} bytes were added since the checkpoint; a successful restart moves them to {}", at_.pid,
      at_.what, more, aside);
}

// chattr +a: nobody opens it without O_APPEND any more, or cuts it.
void PathCheck::check_append_only(const File& file, const Inode& inode, const FileUse& use,
                                  const FileNow& now) {
  if (!is_output(file, use) || (now.stat().stx_attributes & STATX_ATTR_APPEND) == 0) return;
  const bool cut = (at_.options.tails == Tails::kGo || at_.options.tails == Tails::kAside) &&
                   now.stat().stx_size > inode.head.size;
  if ((file.head.flags & O_APPEND) == 0)
    at_.problem(
        EPERM,
        "is append-only (chattr +a), but was open without O_APPEND; clear the attribute with chattr -a{}",
        way_out(file, use));
  else if (cut)
    at_.problem(EPERM, "is append-only (chattr +a), and --truncate would truncate it");
}

// cr_restart itself has it open: its name does not matter then.
bool PathCheck::take_own_output(const File& file, const FileUse& use) {
  constexpr int kStandard[3] = {0, 1, 2};
  const int own = own_output(file, at_.context.inode(file.head.inode), use, kStandard);
  if (own >= 0) at_.taken.insert(static_cast<std::uint32_t>(own));
  return own >= 0;
}

// What has been written cannot be written again without what was before it.
void PathCheck::check_size(const File& file, const FileUse& use, const Inode& inode, const FileNow& now) {
  if (!is_written(file, use)) return;
  if (take_own_output(file, use)) return;
  if (const auto other = at_.findings.other_uses.find(inode.id);
      other != at_.findings.other_uses.end() && other->second.context)
    return check_context_output(file, use);
  check_append_only(file, inode, use, now);
  check_identity(file, inode, now);
  check_tail(file, inode, use, now);
  if (now.stat().stx_size < inode.head.size) check_shorter(file, use, inode, now);
}

// Cut by others, or by a restart of another job of theirs that had been asked to.
void PathCheck::check_shorter(const File& file, const FileUse& use, const Inode& inode, const FileNow& now) {
  const auto output = at_.outputs.find(inode.id);
  const char* others = output != at_.outputs.end() && output->second.outside != 0
                           ? ", and other processes had it open for writing, too"
                           : "";
  const auto other = at_.findings.other_uses.find(inode.id);
  const OutputPlace place =
      output_place(at_.context, at_.outputs, file, use,
                   other == at_.findings.other_uses.end() ? nullptr : &other->second, now.stat().stx_size);
  switch (at_.options.changed_files.value_or(ChangedFiles::kRefuse)) {
    case ChangedFiles::kRefuse:
      return at_.problem(ESTALE,
                         "the file is shorter than at the checkpoint: it has {} bytes, and had {}{}{}; "
                         "--changed-files=warn accepts it as is{}",
                         now.stat().stx_size, inode.head.size, others, cut_text(at_.path),
                         way_out(file, use));
    case ChangedFiles::kWarn:
      return at_.findings.warning(
          "pid {}: {}: the file is shorter than at the checkpoint: it has {} bytes, and had {}{}{}", at_.pid,
          at_.what, now.stat().stx_size, inode.head.size, others,
          (file.head.flags & O_APPEND) != 0 || place != OutputPlace::kSaved
              ? ""
              : "; writes beyond its end will leave a hole");
    case ChangedFiles::kIgnore:
      return;
  }
}

// cr_restart opens it for them, if it may.
bool PathCheck::may_open_very_file(const File& file, int wanted) const {
  if (!is_very_file(at_, file)) return false;
  const OwnNames own;
  return names::access(at_.path, wanted) == 0;
}

// An open file of cr_restart's own, or of another process, is not opened again.
bool PathCheck::is_taken_over(const File& file, const FileUse& use) const {
  constexpr int kStandard[3] = {0, 1, 2};
  const Inode& inode = at_.context.inode(file.head.inode);
  if (own_output(file, inode, use, kStandard) >= 0) return true;
  const auto other = at_.findings.other_uses.find(inode.id);
  return other != at_.findings.other_uses.end() && can_share(other->second, file, inode, use);
}

void PathCheck::check_access(const File& file, const FileUse& use) {
  const int flags = open_flags(file, use);
  if (flags & O_PATH || is_taken_over(file, use)) return;
  const int mode = flags & O_ACCMODE;
  const int wanted = (mode != O_WRONLY ? R_OK : 0) | (mode != O_RDONLY ? W_OK : 0);
  if ((place_ ? names::access_open(place_.get(), wanted) : names::access(at_.path, wanted)) == 0) return;
  const int error = errno;
  const bool regular = S_ISREG(at_.context.inode(file.head.inode).head.mode);
  if (error == EACCES && ((regular && names::are_owner_of(at_.path)) || may_open_very_file(file, wanted)))
    return;
  at_.problem(error, "cannot be opened for {}: {}{}",
              mode == O_RDONLY   ? "reading"
              : mode == O_WRONLY ? "writing"
                                 : "reading and writing",
              way_error(error), way_out(file, use));
}

// What /proc/PID/exe leads to: the kernel asks what it asks of who executes it.
void PathCheck::check_execution(const FileUse& use) {
  if (use.executable && names::access_open(place_.get(), X_OK) != 0)
    at_.problem(errno, "cannot be the executable of a process: {}", errno_text(errno));
}

// It is opened when the process exists, by each process that has it.
void PathCheck::check_own_proc_file(const File& file, const FileUse& use) {
  const bool same_proc = is_own_proc_file(at_.context, file, at_.path);
  if (const std::string text = same_proc ? own_proc_problem(at_.context, file, use.processes, at_.path) : "";
      !text.empty())
    return at_.problem(EACCES, "{}{}", text, way_out(file, use));
  if (use.holders > 1)
    at_.findings.warning("pid {}: {}: shared by {} processes, each of which gets an open file of its own",
                         at_.pid, at_.what, use.holders);
}

// Numbers are given out anew at each boot: on request, the one of that name will do.
void PathCheck::check_device(const File& file, const FileUse& use, const Inode& inode, const FileNow& now) {
  if (!(S_ISCHR(inode.head.mode) || S_ISBLK(inode.head.mode)) || at_.options.device_policy(file.path)) return;
  const dev_t device = ::makedev(now.stat().stx_rdev_major, now.stat().stx_rdev_minor);
  if (device != inode.head.rdev)
    at_.problem(
        ESTALE,
        "is device {} now, and was device {} at the checkpoint; --device={}=reopen accepts it as is{}",
        device_text(device), device_text(inode.head.rdev), file.path, way_out(file, use));
}

void PathCheck::check_path(const File& file, const FileUse& use) {
  if (lies_in_own_proc(at_.context, at_.path) || thread_place(at_.context, file, at_.path))
    return check_own_proc_file(file, use);
  const Inode& inode = at_.context.inode(file.head.inode);
  place_ = names::open(at_.path, O_PATH | (open_flags(file, use) & O_NOFOLLOW));
  const FileNow now(place_.get());
  if (!now.is_known()) {
    const int error = errno;
    if (take_own_output(file, use) || (error == EACCES && is_very_file(at_, file))) return;
    return at_.problem(error, "cannot be found: {}{}", way_error(error), way_out(file, use));
  }
  const mode_t type = now.stat().stx_mode & S_IFMT;
  if (type != (inode.head.mode & S_IFMT))
    return at_.problem(ESTALE, "is a {} now, and was a {} at the checkpoint{}", file_type(type),
                       file_type(inode.head.mode), way_out(file, use));
  check_device(file, use, inode, now);
  if (S_ISREG(type)) check_size(file, use, inode, now);
  if (S_ISDIR(type) || static_cast<int>(file.head.flags) & O_PATH) check_name(file, inode, now);
  check_access(file, use);
  check_execution(use);
}

// Made again by the user, perhaps: it is not for what is in it.
void PathCheck::check_name(const File& file, const Inode& inode, const FileNow& now) {
  if (!is_other_file(at_.options.relocations, file, inode, now) ||
      at_.options.changed_files == ChangedFiles::kIgnore)
    return;
  const std::string text =
      fmt::format("its name now refers to a different {} ({})",
                  S_ISDIR(inode.head.mode) ? "directory" : "file", difference_of(inode.head, now));
  if (at_.options.changed_files == ChangedFiles::kRefuse)
    at_.problem(ESTALE,
                "{}; --relocate={}={} declares it to be the right one, --changed-files=warn accepts it as is",
                text, file.path, file.path);
  else
    at_.findings.warning("pid {}: {}: {}", at_.pid, at_.what, text);
}

}  // namespace

const char* file_type(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFREG:
      return "regular file";
    case S_IFDIR:
      return "directory";
    case S_IFIFO:
      return "FIFO";
    case S_IFSOCK:
      return "socket";
    case S_IFCHR:
      return "character device";
    case S_IFBLK:
      return "block device";
    case S_IFLNK:
      return "symbolic link";
    default:
      return "file of another type";
  }
}

bool is_very_file(const FileCheck& at, const File& file) {
  const cryo_inode& inode = at.context.inode(file.head.inode).head;
  return names::is_there(
      {at.path, O_PATH, inode.dev, inode.ino, inode.mode, inode.uid, at.context.header.created_ns});
}

void check_path(FileCheck& at, const File& file, const FileUse& use) {
  PathCheck(at).check_path(file, use);
}

void check_access(FileCheck& at, const File& file, const FileUse& use) {
  PathCheck(at).check_access(file, use);
}

}  // namespace cryo
