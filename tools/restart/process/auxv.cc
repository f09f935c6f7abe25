// SPDX-License-Identifier: GPL-2.0-only
#include "restart/process/auxv.h"

#include <elf.h>

#include <cstddef>
#include <cstring>
#include <string>

#include "restart/common/proc_files.h"

namespace cryo {
namespace {

// Without what is behind AT_NULL.
Auxv entries(const Auxv& auxv) {
  for (std::size_t i = 0; i + 1 < auxv.size(); i += 2)
    if (auxv[i] == AT_NULL) return {auxv.begin(), auxv.begin() + static_cast<std::ptrdiff_t>(i)};
  return auxv;
}

bool has(const Auxv& auxv, std::uint64_t type) {
  for (std::size_t i = 0; i + 1 < auxv.size(); i += 2)
    if (auxv[i] == type) return true;
  return false;
}

}  // namespace

const Auxv& own_auxv() {
  static const Auxv own = [] {
    const std::string bytes = read_proc("self/auxv");
    Auxv words(bytes.size() / sizeof(std::uint64_t));
    std::memcpy(words.data(), bytes.data(), words.size() * sizeof(std::uint64_t));
    return words;
  }();
  return own;
}

Auxv fitting_auxv(const Auxv& saved, const Auxv& own) {
  const Auxv all = entries(saved), known = entries(own);
  Auxv result;
  for (std::size_t i = 0; i + 1 < all.size(); i += 2)
    if (all.size() <= known.size() || has(known, all[i])) result.insert(result.end(), {all[i], all[i + 1]});
  result.insert(result.end(), {AT_NULL, 0});
  return result;
}

}  // namespace cryo
