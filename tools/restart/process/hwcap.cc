// SPDX-License-Identifier: GPL-2.0-only
#include "restart/process/hwcap.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/auxv.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace cryo {
namespace {

std::uint64_t auxv_value(const Mm& mm, std::uint64_t type) {
  for (std::size_t i = 0; i + 1 < mm.auxv.size(); i += 2)
    if (mm.auxv[i] == type) return mm.auxv[i + 1];
  return 0;
}

void add_missing(const Context& context, std::uint64_t type, const HwcapNames& names, const char* word,
                 std::vector<std::string>& to) {
  std::uint64_t missing = 0;
  for (const auto& [id, mm] : context.mms) missing |= auxv_value(mm, type) & ~::getauxval(type);
  for (std::size_t bit = 0; bit < names.size(); ++bit)
    if (missing >> bit & 1)
      to.push_back(names[bit] != nullptr ? names[bit] : fmt::format("{} bit {}", word, bit));
}

}  // namespace

bool has_hwcap(unsigned bit) {
  return ::getauxval(AT_HWCAP) >> bit & 1;
}

bool has_hwcap2(unsigned bit) {
  return ::getauxval(AT_HWCAP2) >> bit & 1;
}

std::vector<CpuProblem> hwcap_problems(const Context& context, const HwcapNames& names,
                                       const HwcapNames& names2) {
  std::vector<std::string> missing;
  add_missing(context, AT_HWCAP, names, "AT_HWCAP", missing);
  add_missing(context, AT_HWCAP2, names2, "AT_HWCAP2", missing);
  if (missing.empty()) return {};
  return {{fmt::format("this CPU lacks what programs could use where the context was made: {}",
                       fmt::join(missing, ", ")),
           false}};
}

}  // namespace cryo
