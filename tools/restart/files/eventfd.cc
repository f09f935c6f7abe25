// SPDX-License-Identifier: GPL-2.0-only
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/error.h"
#include "restart/files/file_kinds.h"
#include "restart/files/files.h"

namespace cryo {

UniqueFd make_eventfd(const File& file) {
  const cryo_eventfd& saved = *file.eventfd;
  const int flags = EFD_CLOEXEC | EFD_NONBLOCK | (saved.semaphore ? EFD_SEMAPHORE : 0);
  UniqueFd fd(as_maker([&] { return ::eventfd(0, flags); }));
  if (!fd) fail_errno("cannot create an eventfd");
  const std::uint64_t count = saved.count;
  if (count != 0 && ::write(fd.get(), &count, sizeof(count)) != sizeof(count))
    fail_errno("cannot set an eventfd to {}", count);
  return fd;
}

const FileKind kEventfdKind = {
    .kind = CRYO_FILE_EVENTFD,
    .open = [](FileMaking&, const File& file, const FileUse&) { return make_eventfd(file); }};

}  // namespace cryo
