// SPDX-License-Identifier: GPL-2.0-only
// Register sets of a thread, for what every architecture does with them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "context/model.h"
#include "restart/common/restart_arch.h"

namespace cryo {

// nullptr: the thread has none with that note.
[[nodiscard]] const Regset* find_regset(const std::vector<Regset>& sets, std::uint32_t note);

// One register of a set, by where it is; 0 when there is no such set, or it is too short.
[[nodiscard]] std::uint64_t register_of(const std::vector<Regset>& sets, std::uint32_t note, std::size_t at);
void set_register(std::vector<Regset>& sets, std::uint32_t note, std::size_t at, std::uint64_t value);

// Instructions of 32 bits each.
[[nodiscard]] Bytes code_of(std::initializer_list<std::uint32_t> words);

// A problem for each thread with something in its registers that `missing_of` says this CPU has not.
[[nodiscard]] std::vector<CpuProblem> register_problems(
    const Context& context, std::vector<std::string> (*missing_of)(const std::vector<Regset>& sets));

}  // namespace cryo
