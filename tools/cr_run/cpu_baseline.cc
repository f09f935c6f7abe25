// SPDX-License-Identifier: GPL-2.0-only
#include "cr_run/cpu_baseline.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "base/cpu_baseline.h"
#include "base/error.h"
#include "cr_run/cpu_levels.h"

namespace cryo {
namespace {

constexpr std::string_view kTunable = "glibc.cpu.hwcaps=";

const CpuLevel& find_level(const std::string& name) {
  const std::span<const CpuLevel> levels = cpu_levels();
  if (levels.empty()) fail(EOPNOTSUPP, "--cpu-baseline: processors of this architecture have no levels");
  const auto level =
      std::find_if(levels.begin(), levels.end(), [&](const CpuLevel& l) { return l.name == name; });
  if (level != levels.end()) return *level;
  std::vector<std::string_view> names;
  for (const CpuLevel& known : levels) names.emplace_back(known.name);
  fail(EINVAL, "--cpu-baseline: unknown CPU baseline '{}'; known: {}", name, fmt::join(names, ", "));
}

// What GLIBC_TUNABLES held before stays, but for this tunable.
std::string tunables(std::string_view before, std::string_view hidden) {
  std::string value = std::string(kTunable).append(hidden);
  while (!before.empty()) {
    const std::string_view entry = before.substr(0, before.find(':'));
    if (!entry.empty() && !entry.starts_with(kTunable)) value.append(":").append(entry);
    before.remove_prefix(std::min(entry.size() + 1, before.size()));
  }
  return value;
}

void set(const char* name, const std::string& value) {
  if (::setenv(name, value.c_str(), 1) != 0) fail_errno("{}", name);
}

}  // namespace

void set_cpu_baseline(const std::string& name) {
  const CpuLevel& level = find_level(name);
  if (!level.is_here()) fail(EOPNOTSUPP, "--cpu-baseline: this processor has less than {}", name);
  const char* before = std::getenv("GLIBC_TUNABLES");
  set("GLIBC_TUNABLES", tunables(before == nullptr ? "" : before, level.hidden));
  // Binding lazily saves the registers by what this processor has.
  set("LD_BIND_NOW", "1");
  // What somebody else has set knows better.
  if (std::getenv("OPENSSL_ia32cap") == nullptr) set("OPENSSL_ia32cap", level.openssl);
  set(kCpuBaselineVariable, name);
}

}  // namespace cryo
