// SPDX-License-Identifier: GPL-2.0-only
#include "restart/files/fanotify.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/fanotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <optional>
#include <tuple>

#include "base/error.h"
#include "base/parse.h"
#include "base/place.h"
#include "restart/common/helper_process.h"
#include "restart/files/file_kinds.h"
#include "restart/files/files.h"
#include "restart/rights/credentials.h"
#include "restart/rights/thread_ids.h"

namespace cryo {
namespace {

// Of linux/fanotify.h, later than the C library's header.
constexpr std::uint32_t kEvictable = 0x200;
constexpr std::uint32_t kIgnore = 0x400;

// A group that was made without CAP_SYS_ADMIN does not tell what others do not know, whoever restarts it.
class WithoutAdmin {
 public:
  explicit WithoutAdmin(bool wanted) {
    if (!wanted) return;
    old_ = thread_credentials();
    const std::uint64_t effective = old_->effective & ~(std::uint64_t{1} << CAP_SYS_ADMIN);
    if (!set_capabilities(effective, old_->permitted, old_->inheritable))
      fail_errno("cannot do without CAP_SYS_ADMIN");
  }
  ~WithoutAdmin() {
    if (old_) set_capabilities(old_->effective, old_->permitted, old_->inheritable);
  }
  WithoutAdmin(const WithoutAdmin&) = delete;
  WithoutAdmin& operator=(const WithoutAdmin&) = delete;

 private:
  std::optional<ThreadCredentials> old_;
};

bool is_unprivileged(const Fanotify& group) {
  return (group.head.flags & CRYO_FANOTIFY_UNPRIVILEGED) != 0;
}

// One that took CAP_SYS_ADMIN is an administrator's.
UniqueFd make_group(const Fanotify& group) {
  std::optional<OwnNames> own;
  if (!is_unprivileged(group)) own.emplace();
  const AsMaker maker;
  const WithoutAdmin rights(is_unprivileged(group));
  UniqueFd fd(::fanotify_init(group.head.init_flags, group.head.event_flags));  // as_maker()
  if (!fd)
    fail_errno("cannot create a fanotify group with flags {:#x}, {:#x}", group.head.init_flags,
               group.head.event_flags);
  return fd;
}

bool is_directory(const std::string& path) {
  struct stat now;
  return names::lstat(path, now) == 0 && S_ISDIR(now.st_mode);
}

class Marker {
 public:
  Marker(int fd, const FanotifyMark& mark, const Relocations& relocations)
      : fd_(fd), head_(mark.head), path_(relocations.apply(mark.path)) {
    type_ = FAN_MARK_DONT_FOLLOW | (head_.flags & kEvictable);
    if (head_.kind == CRYO_MARK_MOUNT) type_ |= FAN_MARK_MOUNT;
    if (head_.kind == CRYO_MARK_FILESYSTEM) type_ |= FAN_MARK_FILESYSTEM;
    // The kernel adds it of itself where it is not for directories, and may refuse to be asked for it.
    if (head_.kind != CRYO_MARK_INODE || !is_directory(path_))
      head_.mask &= ~std::uint32_t{FAN_EVENT_ON_CHILD};
  }

  void set();

 private:
  void call(unsigned flags, std::uint64_t mask);
  void set_ignored();

  int fd_;
  cryo_mark head_;
  std::string path_;
  unsigned type_;
};

void Marker::call(unsigned flags, std::uint64_t mask) {
  if (names::fanotify_mark(fd_, flags | type_, mask, path_) != 0)
    fail_errno("fanotify: cannot mark {}", path_);
}

// The way in which events are ignored stays that of a mark when none is ignored any more.
void Marker::set_ignored() {
  const unsigned how = head_.flags & kIgnore ? kIgnore : static_cast<unsigned>(FAN_MARK_IGNORED_MASK);
  const unsigned flags = how | (head_.flags & FAN_MARK_IGNORED_SURV_MODIFY);
  if (head_.ignored != 0) return call(FAN_MARK_ADD | flags, head_.ignored);
  if ((head_.flags & (kIgnore | FAN_MARK_IGNORED_SURV_MODIFY)) == 0) return;
  call(FAN_MARK_ADD | flags, FAN_CLOSE_WRITE);
  call(FAN_MARK_REMOVE | flags, FAN_CLOSE_WRITE);
}

void Marker::set() {
  if (head_.mask != 0) call(FAN_MARK_ADD, head_.mask);
  set_ignored();
}

// Kind, flags, mask, ignored events.
using Shape = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>;

Shape shape_of(const cryo_mark& mark) {
  return {mark.kind, mark.flags, mark.mask & ~std::uint32_t{FAN_EVENT_ON_CHILD}, mark.ignored};
}

// As fdinfo tells of them.
std::vector<Shape> marks_of(int fd) {
  std::ifstream file(fmt::format("/proc/self/fdinfo/{}", fd));
  std::vector<Shape> shapes;
  for (std::string line; std::getline(file, line);) {
    cryo_mark mark{};
    const auto at = line.find(" mflags:");
    if (at == std::string::npos || std::sscanf(line.c_str() + at, " mflags:%x mask:%x ignored_mask:%x",
                                               &mark.flags, &mark.mask, &mark.ignored) != 3)
      continue;
    mark.kind = line.starts_with("fanotify ino:")      ? CRYO_MARK_INODE
                : line.starts_with("fanotify mnt_id:") ? CRYO_MARK_MOUNT
                                                       : CRYO_MARK_FILESYSTEM;
    shapes.push_back(shape_of(mark));
  }
  return shapes;
}

// Two paths may have become one file, and the kernel leaves out what it finds useless.
void check_marks(const Fanotify& group, int fd) {
  std::vector<Shape> now = marks_of(fd);
  for (const FanotifyMark& mark : group.marks) {
    if (mark.head.flags & kEvictable) continue;
    const auto found = std::find(now.begin(), now.end(), shape_of(mark.head));
    if (found == now.end()) fail(ESTALE, "fanotify: the mark of {} is not what it was", mark.path);
    now.erase(found);
  }
}

bool is_mount_point(const std::string& path) {
  struct statx now {};
  const UniqueFd place(open_without_links(AT_FDCWD, path, O_PATH));
  return place && names::look(place.get(), now) && (now.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

}  // namespace

FanotifyGroups::FanotifyGroups(const Context& context) {
  const auto uses = file_uses(context);
  for (const auto& [id, file] : context.files) {
    if (file.head.kind != CRYO_FILE_FANOTIFY) continue;
    const auto use = uses.find(id);
    const NamesOf theirs(context, use == uses.end() ? everybody(context) : use->second.processes);
    groups_.emplace(id, in_helper_process([&] { return make_group(*file.fanotify); }));
  }
}

std::size_t fanotify_groups_to_be_had(const Context& context) {
  const auto all = static_cast<std::size_t>(
      std::count_if(context.files.begin(), context.files.end(),
                    [](const auto& entry) { return entry.second.fanotify.has_value(); }));
  const std::string made = text_from_helper([&] {
    const auto uses = file_uses(context);
    std::vector<UniqueFd> groups;
    try {
      for (const auto& [id, file] : context.files) {
        if (!file.fanotify) continue;
        const auto use = uses.find(id);
        const NamesOf theirs(context, use == uses.end() ? everybody(context) : use->second.processes);
        groups.push_back(make_group(*file.fanotify));
      }
    } catch (const Error& error) {
      // Others are no matter of how many there are.
      if (error.code() != EMFILE) return std::to_string(all);
    }
    return std::to_string(groups.size());
  });
  return parse_number<std::size_t>(made).value_or(all);
}

void FanotifyGroups::set_marks(const Context& context, const Relocations& relocations) {
  const auto uses = file_uses(context);
  for (const auto& [id, fd] : groups_) {
    const auto use = uses.find(id);
    const NamesOf theirs(context, use == uses.end() ? everybody(context) : use->second.processes);
    for (const FanotifyMark& mark : context.file(id).fanotify->marks)
      Marker(fd.get(), mark, relocations).set();
  }
  for (const auto& [id, fd] : groups_) check_marks(*context.file(id).fanotify, fd.get());
}

std::vector<std::string> fanotify_problems(const Fanotify& group, const Relocations& relocations,
                                           const Creds& own) {
  std::vector<std::string> problems;
  if (!is_unprivileged(group) && !capable(own, CAP_SYS_ADMIN))
    problems.emplace_back(
        "recreating a fanotify group that was created with CAP_SYS_ADMIN requires CAP_SYS_ADMIN");
  if ((group.head.init_flags & FAN_ENABLE_AUDIT) && !capable(own, CAP_AUDIT_WRITE))
    problems.emplace_back("a fanotify group with FAN_ENABLE_AUDIT requires CAP_AUDIT_WRITE");
  for (const FanotifyMark& mark : group.marks) {
    const std::string path = relocations.apply(mark.path);
    if (names::access(path, R_OK, AT_SYMLINK_NOFOLLOW) != 0)
      problems.push_back(fmt::format("{} cannot be marked: {}", path, errno_text(errno)));
    else if (mark.head.kind != CRYO_MARK_INODE && !is_mount_point(path))
      problems.push_back(fmt::format("{} cannot be marked: it is no mount point any more", path));
  }
  return problems;
}

namespace {

void check_fanotify(FileCheck& at, const File& file, const FileUse&) {
  for (const std::string& text : fanotify_problems(*file.fanotify, at.options.relocations, at.own))
    at.problem(EPERM, "{}", text);
  const FanotifyMark* first = nullptr;
  std::size_t others = 0;
  for (const FanotifyMark& mark : file.fanotify->marks)
    if (mark.head.kind == CRYO_MARK_INODE && is_other_watched(at, mark.path, mark.path, mark.head.ino) &&
        others++ == 0)
      first = &mark;
  if (first != nullptr && at.options.changed_files != ChangedFiles::kIgnore)
    at.findings.warning(
        "pid {}: {}: a mark will be on a different file than at the checkpoint, which now has the name {}{}",
        at.pid, at.what, first->path, others > 1 ? fmt::format(" ({} more)", others - 1) : "");
}

}  // namespace

const FileKind kFanotifyKind = {.kind = CRYO_FILE_FANOTIFY,
                                .check = check_fanotify,
                                .open = [](FileMaking& making, const File& file, const FileUse&) {
                                  return std::move(making.input.fanotify.at(file.id));
                                }};

}  // namespace cryo
