// SPDX-License-Identifier: GPL-2.0-only
#include "restart/files/file_kinds.h"

#include <algorithm>
#include <iterator>

namespace cryo {

const FileKind* file_kind(std::uint32_t kind) {
  const auto found = std::find_if(std::begin(kFileKinds), std::end(kFileKinds),
                                  [kind](const FileKind* k) { return k->kind == kind; });
  return found == std::end(kFileKinds) ? nullptr : *found;
}

}  // namespace cryo
