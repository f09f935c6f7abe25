// SPDX-License-Identifier: GPL-2.0-only
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "restart/files/file_kinds.h"
#include "restart/files/files.h"

namespace cryo {

// By the system call: the C library keeps some signals to itself.
UniqueFd make_signalfd(const File& file) {
  const std::uint64_t mask = file.signalfd->mask;
  UniqueFd fd(static_cast<int>(
      as_maker([&] { return ::syscall(SYS_signalfd4, -1, &mask, sizeof(mask), SFD_CLOEXEC); })));
  if (!fd) fail_errno("cannot create a signalfd");
  return fd;
}

const FileKind kSignalfdKind = {
    .kind = CRYO_FILE_SIGNALFD,
    .open = [](FileMaking&, const File& file, const FileUse&) { return make_signalfd(file); }};

}  // namespace cryo
