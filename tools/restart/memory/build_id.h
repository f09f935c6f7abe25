// SPDX-License-Identifier: GPL-2.0-only
// The build-id of a program or library.
#pragma once

#include <string>

#include "context/model.h"

namespace cryo {

// What the first page of the file says, as the module reads it at a checkpoint; empty: none.
[[nodiscard]] Bytes build_id_of(const std::string& path);

}  // namespace cryo
