// SPDX-License-Identifier: GPL-2.0-only
// Unit tests that speak TAP: one test point per TEST, all failed checks as diagnostics.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace tap {

// Registers a test; main() in tap.cc runs all of them, or those whose name contains its argument.
struct Registration {
  Registration(const char* name, std::function<void()> body);
};

// Notes a failure of the running test, which goes on.
void failure(const char* file, int line, const std::string& text);

template <typename A, typename B>
void equal(const A& a, const B& b, const char* expression, const char* file, int line) {
  if (!(a == b)) failure(file, line, fmt::format("{}: {} is not {}", expression, a, b));
}

// The call must throw cryo::Error with this code and a text that contains `part`.
template <typename Call>
void error(int code, std::string_view part, Call&& call, const char* file, int line) {
  try {
    call();
  } catch (const cryo::Error& e) {
    if (e.code() != code)
      failure(file, line, fmt::format("error {} instead of {}: {}", e.code(), code, e.what()));
    if (std::string_view(e.what()).find(part) == std::string_view::npos)
      failure(file, line, fmt::format("\"{}\" does not contain \"{}\"", e.what(), part));
    return;
  }
  failure(file, line, fmt::format("no error, expected one with \"{}\"", part));
}

}  // namespace tap

#define TAP_JOIN_(a, b) a##b
#define TAP_JOIN(a, b) TAP_JOIN_(a, b)
#define TEST(name)                                                                                   \
  static void TAP_JOIN(test_, __LINE__)();                                                           \
  static const tap::Registration TAP_JOIN(registration_, __LINE__)(name, TAP_JOIN(test_, __LINE__)); \
  static void TAP_JOIN(test_, __LINE__)()

#define CHECK(condition) ((condition) ? (void)0 : tap::failure(__FILE__, __LINE__, "not true: " #condition))
#define CHECK_EQ(a, b) tap::equal((a), (b), #a, __FILE__, __LINE__)
#define CHECK_ERROR(code, part, ...) \
  tap::error((code), (part), [&] { (void)(__VA_ARGS__); }, __FILE__, __LINE__)
