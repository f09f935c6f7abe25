// SPDX-License-Identifier: GPL-2.0-only
// An open file in one line: each kind has a function, and an entry in a table.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "context/model.h"

namespace cryo {

struct FileKindText {
  std::uint32_t kind;  // CRYO_FILE_*
  std::string (*text)(const Context& context, const File& file);
};
extern const std::span<const FileKindText> kFileKindTexts;

[[nodiscard]] std::string file_text(const Context& context, const File& file);

}  // namespace cryo
