// SPDX-License-Identifier: GPL-2.0-only
#pragma once

namespace cryo {

// Can the caller do what ordinary users cannot?
[[nodiscard]] bool is_privileged_caller();

}  // namespace cryo
