// SPDX-License-Identifier: GPL-2.0-only
#include "restart/process/regsets.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

namespace cryo {

const Regset* find_regset(const std::vector<Regset>& sets, std::uint32_t note) {
  const auto set =
      std::find_if(sets.begin(), sets.end(), [note](const Regset& s) { return s.head.note == note; });
  return set == sets.end() ? nullptr : &*set;
}

std::uint64_t register_of(const std::vector<Regset>& sets, std::uint32_t note, std::size_t at) {
  std::uint64_t value = 0;
  const Regset* set = find_regset(sets, note);
  if (set != nullptr && set->data.size() >= at + sizeof(value))
    std::memcpy(&value, set->data.data() + at, sizeof(value));
  return value;
}

void set_register(std::vector<Regset>& sets, std::uint32_t note, std::size_t at, std::uint64_t value) {
  for (Regset& set : sets)
    if (set.head.note == note && set.data.size() >= at + sizeof(value))
      std::memcpy(set.data.data() + at, &value, sizeof(value));
}

Bytes code_of(std::initializer_list<std::uint32_t> words) {
  Bytes code(words.size() * sizeof(std::uint32_t));
  std::memcpy(code.data(), words.begin(), code.size());
  return code;
}

std::vector<CpuProblem> register_problems(
    const Context& context, std::vector<std::string> (*missing_of)(const std::vector<Regset>& sets)) {
  std::vector<CpuProblem> problems;
  for (const Process& process : context.processes)
    for (const Thread& thread : process.threads) {
      const auto missing = missing_of(thread.regsets);
      if (!missing.empty())
        problems.push_back({fmt::format("thread {} has register contents that this CPU cannot hold: {}",
                                        thread.head.tid, fmt::join(missing, ", ")),
                            true});
    }
  return problems;
}

}  // namespace cryo
