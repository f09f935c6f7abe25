// SPDX-License-Identifier: GPL-2.0-only
#include <cryo/ioctl.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "restart/files/file_kinds.h"
#include "restart/files/files.h"
#include "restart/ns/mounts.h"
#include "restart/rights/identity.h"

namespace cryo {
namespace {

constexpr std::uint32_t kDrainEvery = 1024;  // the queue has 16384 places by default
constexpr int kMostReads = 1000;

class WatchFiller {
 public:
  WatchFiller(RemovedFiles& removed, const File& file, int fd, const InotifyInput& input)
      : removed_(removed),
        inotify_(*file.inotify),
        fd_(fd),
        relocations_(input.options.relocations),
        created_ns_(input.context.header.created_ns),
        fd_of_(input.fd_of),
        handle_fd_(input.handle_fd) {}

  void fill();

 private:
  void skip_to(std::uint32_t wd);
  void add(const Watch& watch);
  [[nodiscard]] int add_by_path(const Watch& watch) const;
  [[nodiscard]] int add_removed(const Watch& watch, std::uint32_t file) const;
  [[nodiscard]] int add_very(const Watch& watch, const std::string& path) const;
  void drain();
  void put_back(const InotifyEvent& event) const;

  RemovedFiles& removed_;
  const Inotify& inotify_;
  int fd_;
  const Relocations& relocations_;
  std::uint64_t created_ns_;
  const FdOf& fd_of_;
  int handle_fd_;
  std::uint32_t next_ = 1;
  UniqueFd unused_;  // a file that nobody watches
};

void WatchFiller::drain() {
  alignas(inotify_event) char buffer[65536];
  pollfd ready{fd_, POLLIN, 0};
  // Others may go on using what is watched.
  for (int reads = 0; reads<kMostReads&& ::poll(&ready, 1, 0)> 0; ++reads)
    if (::read(fd_, buffer, sizeof(buffer)) <= 0) return;
}

void WatchFiller::skip_to(std::uint32_t wd) {
  if (wd > CRYO_HIGHEST_WATCH)
    fail(ERANGE, "inotify descriptor {}: watch descriptor {} is too large to be restored", fd_, wd);
  if (next_ >= wd) return;
  if (!unused_) unused_ = UniqueFd(::memfd_create("unused", MFD_CLOEXEC));
  if (!unused_) fail_errno("cannot create a memfd");
  const std::string path = fmt::format("/proc/self/fd/{}", unused_.get());
  for (; next_ < wd; ++next_) {
    const OwnNames own;
    const int got = names::inotify_add_watch(fd_, path, IN_ATTRIB);
    if (got != static_cast<int>(next_) || ::inotify_rm_watch(fd_, got) != 0)
      fail_errno("inotify descriptor {}: cannot get to watch {}", fd_, wd);
    if (next_ % kDrainEvery == 0) drain();
  }
}

// What the process may not watch any more, if it is what it watched.
int WatchFiller::add_very(const Watch& watch, const std::string& path) const {
  const OwnNames own;
  const UniqueFd fd = names::open(path, O_PATH | O_NOFOLLOW);
  if (!fd || !is_same_file(fd.get(), {path, O_PATH, watch.head.dev, watch.head.ino, 0, {}, created_ns_}))
    return errno = EACCES, -1;
  return names::inotify_add_watch(fd_, fmt::format("/proc/self/fd/{}", fd.get()), watch.head.mask);
}

int WatchFiller::add_by_path(const Watch& watch) const {
  const std::string path = relocations_.apply(watch.path);
  const int got = names::inotify_add_watch(fd_, path, watch.head.mask | IN_DONT_FOLLOW);
  return got < 0 && errno == EACCES ? add_very(watch, path) : got;
}

// It may be open to the process, and not be there for it to open.
int WatchFiller::add_removed(const Watch& watch, std::uint32_t file) const {
  const OwnNames own;
  return names::inotify_add_watch(fd_, fmt::format("/proc/self/fd/{}", fd_of_(file)), watch.head.mask);
}

void WatchFiller::add(const Watch& watch) {
  const std::uint32_t removed = removed_.find(watch);
  const std::string path = removed != 0 ? watch.path : relocations_.apply(watch.path);
  const int got = removed != 0 ? add_removed(watch, removed) : add_by_path(watch);
  if (got < 0) fail_errno("inotify descriptor {}: cannot watch {}", fd_, path);
  if (got != static_cast<int>(watch.head.wd))
    fail(ESTALE, "inotify descriptor {}: {} is now the same file as another watched path", fd_, path);
  next_ = watch.head.wd + 1;
}

void WatchFiller::put_back(const InotifyEvent& event) const {
  cryo_inotify_put args{};
  args.size = sizeof(args);
  args.fd = fd_;
  args.wd = event.head.wd;
  args.mask = event.head.mask;
  args.cookie = event.head.cookie;
  args.name_len = static_cast<std::uint32_t>(event.name.size());
  args.name = reinterpret_cast<std::uint64_t>(event.name.data());
  if (::ioctl(handle_fd_, CRYO_RST_INOTIFY_EVENT, &args) != 0)
    fail_errno("inotify descriptor {}: cannot put an event of watch {} back", fd_, event.head.wd);
}

void WatchFiller::fill() {
  std::vector<const Watch*> watches;
  for (const Watch& watch : inotify_.watches) watches.push_back(&watch);
  std::sort(watches.begin(), watches.end(),
            [](const Watch* a, const Watch* b) { return a->head.wd < b->head.wd; });
  for (const Watch* watch : watches) {
    skip_to(watch->head.wd);
    add(*watch);
  }
  skip_to(inotify_.head.next_wd);
  drain();
  for (const InotifyEvent& event : inotify_.events) put_back(event);
}

}  // namespace

UniqueFd make_inotify(const File&) {
  UniqueFd fd(as_maker([] { return ::inotify_init1(IN_CLOEXEC); }));
  if (!fd) fail_errno("cannot create an inotify instance");
  return fd;
}

std::uint32_t RemovedFiles::find(const Watch& watch) {
  if (!watch.path.ends_with(" (deleted)")) return 0;
  if (!files_) {
    files_.emplace();
    for (const auto& [id, file] : context_.files) {
      if (file.head.inode == 0) continue;
      const cryo_inode& inode = context_.inode(file.head.inode).head;
      if (inode.flags & CRYO_INODE_DELETED) files_->try_emplace({inode.dev, inode.ino}, id);
    }
  }
  const auto found = files_->find({watch.head.dev, watch.head.ino});
  return found == files_->end() ? 0 : found->second;
}

void fill_inotifies(const InotifyInput& input, const std::map<std::uint32_t, int>& fds) {
  RemovedFiles removed(input.context);
  for (const auto& [id, fd] : fds) {
    const File& file = input.context.file(id);
    if (file.head.kind == CRYO_FILE_INOTIFY) WatchFiller(removed, file, fd, input).fill();
  }
}

bool is_other_watched(const FileCheck& at, const std::string& saved, const std::string& path,
                      std::uint64_t ino) {
  if (at.options.relocations.covers(saved)) return false;
  const UniqueFd place = names::open(path, O_PATH | O_NOFOLLOW);
  return place && is_other_since(ino, at.context.header.created_ns, place.get());
}

namespace {

// By cr_restart itself, where the process may not any more: who watches a file must be allowed to read it.
bool can_watch_again(const FileCheck& at, const Watch& watch, const std::string& path) {
  if (!names::is_there(
          {path, O_PATH | O_NOFOLLOW, watch.head.dev, watch.head.ino, 0, {}, at.context.header.created_ns}))
    return false;
  const OwnNames own;
  const UniqueFd place = names::open(path, O_PATH | O_NOFOLLOW);
  if (place && names::access(fmt::format("/proc/self/fd/{}", place.get()), R_OK, 0) == 0) return true;
  errno = EACCES;
  return false;
}

void check_inotify(FileCheck& at, const File& file, const FileUse& use) {
  const std::uint32_t mnt = at.context.processes[use.process].namespaces.mnt;
  const bool inside = at.context.processes[use.process].namespaces.user != 0;
  RemovedFiles removed(at.context);
  const Watch* first = nullptr;
  std::size_t others = 0;
  for (const Watch& watch : file.inotify->watches) {
    if (removed.find(watch) != 0) continue;
    const std::string path = at.options.relocations.apply(watch.path);
    const auto outer = outer_path(at.context, mnt, path);
    if (!outer) continue;  // found out when its mount namespace is there
    if (names::access(*outer, R_OK, AT_SYMLINK_NOFOLLOW) != 0 && !can_watch_again(at, watch, *outer)) {
      // A user namespace of the job's may give it rights to files of other ids that are mapped there.
      if (!inside || (errno != EACCES && errno != EPERM))
        at.problem(errno, "cannot watch {} (watch descriptor {}): {}", path, watch.head.wd,
                   errno_text(errno));
    } else if (is_other_watched(at, watch.path, *outer, watch.head.ino) && others++ == 0)
      first = &watch;
  }
  if (first != nullptr && at.options.changed_files != ChangedFiles::kIgnore)
    at.findings.warning(
        "pid {}: {}: watch {} will be on a different file than at the checkpoint, which now has the name "
        "{}{}",
        at.pid, at.what, first->head.wd, first->path,
        others > 1 ? fmt::format(" ({} more)", others - 1) : "");
}

}  // namespace

const FileKind kInotifyKind = {
    .kind = CRYO_FILE_INOTIFY,
    .check = check_inotify,
    .open = [](FileMaking&, const File& file, const FileUse&) { return make_inotify(file); }};

}  // namespace cryo
