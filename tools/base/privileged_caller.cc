// SPDX-License-Identifier: GPL-2.0-only
#include "base/privileged_caller.h"

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"

namespace cryo {

bool is_privileged_caller() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
  if (::syscall(SYS_capget, &header, data) != 0) fail_errno("capget");
  return ::geteuid() == 0 || data[0].effective != 0 || data[1].effective != 0;
}

}  // namespace cryo
