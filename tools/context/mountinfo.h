// SPDX-License-Identifier: GPL-2.0-only
// The text of /proc/PID/mountinfo.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "context/model.h"

namespace cryo {

// One mount for each line, in their order; nothing when a line is none of mountinfo.
[[nodiscard]] std::optional<std::vector<Mount>> parse_mountinfo(std::string_view text);

// Of a word of such a file: blanks and backslashes are "\\ooo".
[[nodiscard]] std::string unescape_octal(std::string_view text);

// Is `path` the directory `top`, or below it?  Both are absolute.
[[nodiscard]] bool lies_below(std::string_view path, std::string_view top);

}  // namespace cryo
