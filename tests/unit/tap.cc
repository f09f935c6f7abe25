// SPDX-License-Identifier: GPL-2.0-only
#include "unit/tap.h"

#include <cstdio>
#include <exception>
#include <utility>
#include <vector>

namespace tap {
namespace {

struct Test {
  const char* name;
  std::function<void()> body;
};

// A function's static: registrations run before main() in no particular order of files.
std::vector<Test>& tests() {
  static std::vector<Test> all;
  return all;
}

int failures_of_this_test = 0;

bool passes(const Test& test) {
  failures_of_this_test = 0;
  try {
    test.body();
  } catch (const std::exception& e) {
    failure(test.name, 0, fmt::format("exception: {}", e.what()));
  }
  return failures_of_this_test == 0;
}

}  // namespace

Registration::Registration(const char* name, std::function<void()> body) {
  tests().push_back({name, std::move(body)});
}

void failure(const char* file, int line, const std::string& text) {
  constexpr int kShown = 20;
  if (++failures_of_this_test <= kShown) fmt::print("# {}:{}: {}\n", file, line, text);
}

}  // namespace tap

int main(int argc, char** argv) {
  const std::string_view wanted = argc > 1 ? argv[1] : "";
  std::vector<tap::Test> chosen;
  for (const tap::Test& test : tap::tests())
    if (std::string_view(test.name).find(wanted) != std::string_view::npos) chosen.push_back(test);
  fmt::print("TAP version 13\n1..{}\n", chosen.size());
  int failed = 0;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const bool ok = tap::passes(chosen[i]);
    if (!ok) ++failed;
    fmt::print("{} {} - {}\n", ok ? "ok" : "not ok", i + 1, chosen[i].name);
    std::fflush(stdout);
  }
  return failed == 0 && !chosen.empty() ? 0 : 1;
}
