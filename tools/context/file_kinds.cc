// SPDX-License-Identifier: GPL-2.0-only
#include "context/file_kinds.h"

#include <algorithm>
#include <iterator>

#include "context/staging.h"

namespace cryo {

const FileKindModel* file_kind_model(std::uint32_t kind) {
  const auto found = std::find_if(std::begin(kFileKindModels), std::end(kFileKindModels),
                                  [kind](const FileKindModel* model) { return model->kind == kind; });
  return found == std::end(kFileKindModels) ? nullptr : *found;
}

void FileInContext::require(bool there, const char* what) const {
  if (!there) inconsistent(staging, "file {} has no {}", file.id, what);
}

}  // namespace cryo
