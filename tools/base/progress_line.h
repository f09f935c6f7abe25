// SPDX-License-Identifier: GPL-2.0-only
// A progress line on the terminal, for operations that take long.  Off until begin() is called.
#pragma once

#include <cstdint>
#include <string_view>

namespace cryo::progress {

// On standard error, if that is a terminal, and after two seconds; `tool` is a literal.
void begin(const char* tool);
// What is being done; so many bytes more of it are.  From any thread, as often as one likes.
void step(const char* what, std::uint64_t bytes);
// Before anything else is written there.
void clear();

}  // namespace cryo::progress
