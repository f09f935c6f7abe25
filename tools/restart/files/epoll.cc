// SPDX-License-Identifier: GPL-2.0-only
// Registrations need all open files, and are made by a process: they come after everything else.
#include <cryo/ioctl.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include "base/error.h"
#include "restart/files/file_kinds.h"
#include "restart/files/files.h"

namespace cryo {
namespace {

constexpr std::uint32_t kStays = EPOLLWAKEUP | EPOLLONESHOT | EPOLLET | EPOLLEXCLUSIVE;

bool is_disarmed(const cryo_epoll_target& target) {
  return (target.events & EPOLLONESHOT) && !(target.events & ~kStays);
}

// Whether the edge that made it ready, if it is, has been reported.
bool is_reported(const cryo_epoll_target& target) {
  return (target.events & EPOLLET) && !(target.events & EPOLLONESHOT) &&
         !(target.flags & CRYO_EPOLL_QUEUED) && target.file != 0;
}

// Puts `file` at the number `fd` for a while, if it is not there anyway.
class Borrowed {
 public:
  Borrowed(int fd, int file) : fd_(fd) {
    if (fd == file) return;
    flags_ = ::fcntl(fd, F_GETFD);
    if (flags_ >= 0) {
      before_ = UniqueFd(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
      if (!before_) fail_errno("cannot duplicate descriptor {}", fd);
    }
    if (::dup3(file, fd, O_CLOEXEC) != fd) fail_errno("cannot use the descriptor number {}", fd);
    borrowed_ = true;
  }
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;
  ~Borrowed() {
    if (!borrowed_) return;
    if (before_)
      (void)::dup3(before_.get(), fd_, (flags_ & FD_CLOEXEC) ? O_CLOEXEC : 0);
    else
      ::close(fd_);
  }

 private:
  int fd_;
  int flags_ = -1;
  bool borrowed_ = false;
  UniqueFd before_;
};

// `fd` by another number, while something else is at its own.
class Aside {
 public:
  Aside(int fd, int taken) : fd_(fd) {
    if (fd != taken) return;
    other_ = UniqueFd(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
    if (!other_) fail_errno("cannot duplicate descriptor {}", fd);
    fd_ = other_.get();
  }
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
  UniqueFd other_;
};

class InterestFiller {
 public:
  InterestFiller(const File& file, int fd, const Process& process, const std::map<std::uint32_t, int>& fds,
                 int handle_fd)
      : file_(file), fd_(fd), process_(process), fds_(fds), handle_fd_(handle_fd) {}

  void fill();

 private:
  [[nodiscard]] int descriptor_of(const cryo_epoll_target& target) const;
  void add(const cryo_epoll_target& target);
  void disarm(const cryo_epoll_target& target, int epoll_fd, int handle_fd);
  void drain();

  const File& file_;
  int fd_;
  const Process& process_;
  const std::map<std::uint32_t, int>& fds_;
  int handle_fd_;
};

// What it watches is at the number by which it does.
void InterestFiller::disarm(const cryo_epoll_target& target, int epoll_fd, int handle_fd) {
  cryo_epoll_disarm args{};
  args.size = sizeof(args);
  args.epoll_fd = epoll_fd;
  args.target_fd = static_cast<std::int32_t>(target.fd);
  args.fd = static_cast<std::int32_t>(target.fd);
  args.events = target.events | EPOLLERR | EPOLLHUP;
  if (::ioctl(handle_fd, CRYO_RST_EPOLL_DISARM, &args) != 0)
    fail_errno("epoll descriptor {}: cannot disarm its registration of descriptor {}", fd_, target.fd);
}

// Most often the number itself.
int InterestFiller::descriptor_of(const cryo_epoll_target& target) const {
  const auto at_number = [&](const cryo_fd& fd) { return fd.fd == target.fd && fd.file == target.file; };
  if (target.file == 0 || std::any_of(process_.fds.begin(), process_.fds.end(), at_number))
    return static_cast<int>(target.fd);
  const auto its = fds_.find(target.file);
  if (its == fds_.end())
    fail(
        EOPNOTSUPP,
        "epoll descriptor {} watches a file that process {} does not have open (registered as descriptor {})",
        fd_, process_.head.pid, target.fd);
  return its->second;
}

void InterestFiller::add(const cryo_epoll_target& target) {
  const int number = static_cast<int>(target.fd);
  // Wherever these are now: it may be where the program once had what is watched.
  const Aside epoll(fd_, number), handle(handle_fd_, number);
  const Borrowed place(number, descriptor_of(target));
  epoll_event event{};
  event.events = target.events;
  event.data.u64 = target.data;
  if (::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, number, &event) != 0)
    fail_errno("cannot watch descriptor {} by epoll descriptor {}", target.fd, fd_);
  if (is_disarmed(target)) disarm(target, epoll.get(), handle.get());
}

// Takes the edges that the program has seen before.
void InterestFiller::drain() {
  epoll_event events[64];
  for (std::size_t left = file_.epoll.size() + 1; left > 0; --left) {
    const int n = ::epoll_wait(fd_, events, static_cast<int>(std::size(events)), 0);
    if (n < 0 && errno != EINTR) fail_errno("cannot read epoll descriptor {}", fd_);
    if (n == 0) return;
  }
}

void InterestFiller::fill() {
  const bool some = std::any_of(file_.epoll.begin(), file_.epoll.end(), is_reported);
  for (const cryo_epoll_target& target : file_.epoll)
    if (is_reported(target)) add(target);
  if (some) drain();
  for (const cryo_epoll_target& target : file_.epoll)
    if (!is_reported(target)) add(target);
}

}  // namespace

UniqueFd make_epoll(const File&) {
  UniqueFd fd(as_maker([] { return ::epoll_create1(EPOLL_CLOEXEC); }));
  if (!fd) fail_errno("cannot create an epoll instance");
  return fd;
}

void fill_epolls(const Context& context, const Process& process, const std::map<std::uint32_t, int>& epolls,
                 const std::map<std::uint32_t, int>& fds, int handle_fd) {
  for (const auto& [id, fd] : epolls) {
    const File& file = context.file(id);
    if (file.head.kind == CRYO_FILE_EPOLL) InterestFiller(file, fd, process, fds, handle_fd).fill();
  }
}

const FileKind kEpollKind = {
    .kind = CRYO_FILE_EPOLL,
    .open = [](FileMaking&, const File& file, const FileUse&) { return make_epoll(file); }};

}  // namespace cryo
