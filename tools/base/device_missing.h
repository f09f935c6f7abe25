// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>

namespace cryo {

// Why there is no /dev/cryo, and what helps: the module is not loaded, or it is.
[[nodiscard]] std::string why_no_device();
// Which users may open it, where the caller may not.
[[nodiscard]] std::string who_may_open_device();

}  // namespace cryo
