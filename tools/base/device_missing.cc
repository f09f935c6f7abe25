// SPDX-License-Identifier: GPL-2.0-only
#include "base/device_missing.h"

#include <cryo/ioctl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

namespace cryo {
namespace {

// From the file alone: what else may know groups (nsswitch.conf) is loaded, and may ask a server.
std::string group_name(gid_t gid) {
  std::ifstream groups("/etc/group");
  const std::string number = fmt::to_string(gid);
  for (std::string line; std::getline(groups, line);) {
    const std::size_t name = line.find(':'), password = line.find(':', name + 1),
                      id = line.find(':', password + 1);
    if (id != std::string::npos && line.substr(password + 1, id - password - 1) == number)
      return line.substr(0, name);
  }
  return number;
}

}  // namespace

std::string why_no_device() {
  if (::access("/sys/module/cryo", F_OK) != 0)
    return fmt::format("the kernel module cryo is not loaded (there is no {}; try: modprobe cryo)",
                       CRYO_DEVICE_PATH);
  return fmt::format(
      "the kernel module cryo is loaded, but {} does not exist (udevadm trigger recreates it; a container "
      "must be given it)",
      CRYO_DEVICE_PATH);
}

std::string who_may_open_device() {
  struct stat status;
  if (::stat(CRYO_DEVICE_PATH, &status) != 0) return "a directory on the way may not be entered";
  if ((status.st_mode & (S_IRGRP | S_IWGRP)) == (S_IRGRP | S_IWGRP))
    return fmt::format("members of the group {} may, whom the administrator names",
                       group_name(status.st_gid));
  if ((status.st_mode & (S_IROTH | S_IWOTH)) == (S_IROTH | S_IWOTH))
    return "its mode allows it: something else does not";
  return fmt::format(
      "only root may, as its mode is {:04o}: the administrator can give it to a group, see cryo(4)",
      status.st_mode & 07777);
}

}  // namespace cryo
