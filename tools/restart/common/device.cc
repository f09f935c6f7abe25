// SPDX-License-Identifier: GPL-2.0-only
#include "restart/common/device.h"

#include <cryo/ioctl.h>
#include <fcntl.h>
#include <sys/ioctl.h>

#include <cerrno>
#include <cstring>

#include "base/device_missing.h"
#include "base/error.h"
#include "base/exit_codes.h"

namespace cryo {

OpenDevice open_device() {
  OpenDevice device{UniqueFd(::open(CRYO_DEVICE_PATH, O_RDWR | O_CLOEXEC))};
  if (!device.fd && (errno == ENOENT || errno == ENXIO || errno == ENODEV))
    fail(ENOSYS, "{}", why_no_device());
  if (!device.fd && errno == EACCES)
    fail(EACCES, "cannot open {}: {}: {}", CRYO_DEVICE_PATH, errno_text(EACCES), who_may_open_device());
  if (!device.fd) fail_errno("cannot open {}", CRYO_DEVICE_PATH);
  cryo_version version{};
  version.size = sizeof(version);
  if (::ioctl(device.fd.get(), CRYO_IOC_VERSION, &version) != 0)
    fail_errno("{}: CRYO_IOC_VERSION", CRYO_DEVICE_PATH);
  if (!CRYO_ABI_FITS(version.abi_major, version.abi_minor))
    fail(kErrVersion,
         "the loaded module (release {}, interface {}.{}) is not for cr_restart (interface {}.{})",
         version.release, version.abi_major, version.abi_minor, CRYO_ABI_MAJOR, CRYO_ABI_MINOR);
  device.features = version.features;
  return device;
}

}  // namespace cryo
