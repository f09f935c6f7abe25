// SPDX-License-Identifier: GPL-2.0-only
#include <sys/epoll.h>

#include "base/error.h"
#include "restart/files.h"

namespace cryo {

UniqueFd make_epoll(const File&) {
  UniqueFd fd(::epoll_create1(EPOLL_CLOEXEC));
  if (!fd) fail_errno("cannot make an epoll instance");
  return fd;
}

void fill_epoll(const File& file, int fd) {
  for (const cryo_epoll_target& target : file.epoll) {
    epoll_event event{};
    event.events = target.events;
    event.data.u64 = target.data;
    if (::epoll_ctl(fd, EPOLL_CTL_ADD, static_cast<int>(target.fd), &event) != 0)
      fail_errno("cannot watch descriptor {} by epoll descriptor {}", target.fd, fd);
  }
}

}  // namespace cryo
