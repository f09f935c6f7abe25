// SPDX-License-Identifier: GPL-2.0-only
// What the tests of obstacles to a restart have in common.
#pragma once

#include <unistd.h>

#include <string_view>

#include "restart/check.h"
#include "restart/restart_arch.h"
#include "unit/context_builder.h"
#include "unit/tap.h"

namespace cryo::test {

inline void says(const Findings& findings, int code, std::string_view text, int line) {
  for (const Problem& problem : findings.problems)
    if (problem.code == code && problem.text == text) return;
  tap::failure(__FILE__, line, fmt::format("not told (error {}): {}", code, text));
  for (const Problem& problem : findings.problems)
    tap::failure(__FILE__, line, fmt::format("  but (error {}): {}", problem.code, problem.text));
}
#define SAYS(findings, code, ...) says((findings), (code), fmt::format(__VA_ARGS__), __LINE__)

// The least that can be looked at, on this machine.
inline ContextBuilder sample() {
  ContextBuilder builder = ContextBuilder::smallest(own_arch());
  builder.context.header.page_size = static_cast<std::uint32_t>(::sysconf(_SC_PAGESIZE));
  Process& process = builder.process();
  process.head.pid = process.head.pgid = process.head.sid = 3999999;
  process.cwd = Path{{}, "/"};
  process.creds->head.cap_bset = 0;
  builder.thread().head.tid = process.head.pid;
  builder.thread().head.nr_cpus = 0;
  builder.thread().cpus.clear();
  return builder;
}

}  // namespace cryo::test
