// SPDX-License-Identifier: GPL-2.0-only
// The one exception of the tools: an errno value for the exit code and a text for people.
#pragma once

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

namespace cryo {

class Error : public std::runtime_error {
 public:
  // code: errno value or CR_E* code; what() names the thing that failed and why.
  Error(int code, const std::string& text) : std::runtime_error(text), code_(code) {}
  [[nodiscard]] int code() const { return code_; }

 private:
  int code_;
};

// "Permission denied (EACCES)".
[[nodiscard]] inline std::string errno_text(int code) {
  const char* name = ::strerrorname_np(code);
  return name != nullptr ? fmt::format("{} ({})", std::strerror(code), name) : std::strerror(code);
}

// Throws Error with a formatted text.
template <typename... Args>
[[noreturn]] void fail(int code, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(code, fmt::format(format, std::forward<Args>(args)...));
}

// Same for a failed system call: appends ": " and the text of errno.
template <typename... Args>
[[noreturn]] void fail_errno(fmt::format_string<Args...> format, Args&&... args) {
  const int code = errno;
  throw Error(code, fmt::format(format, std::forward<Args>(args)...) + ": " + errno_text(code));
}

}  // namespace cryo
