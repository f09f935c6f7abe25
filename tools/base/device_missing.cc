// SPDX-License-Identifier: GPL-2.0-only
#include "base/device_missing.h"

#include <cryo/ioctl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace cryo {

std::string why_no_device() {
  if (::access("/sys/module/cryo", F_OK) != 0)
    return fmt::format("the kernel module cryo is not loaded (there is no {}; try: modprobe cryo)", CRYO_DEVICE_PATH);
  return fmt::format(
      "the kernel module cryo is loaded, and {} is not there (udevadm trigger makes it again; a container has to be given it)",
      CRYO_DEVICE_PATH);
}

}  // namespace cryo
