// SPDX-License-Identifier: GPL-2.0-only
// For tests of what the reader refuses.
#pragma once

#include <string_view>

#include "context/reader.h"
#include "unit/context_builder.h"
#include "unit/tap.h"

namespace cryo::test {

inline Context read(std::span<const std::byte> bytes, const ReadOptions& options = {}) {
  return read_context(Source::from_memory(bytes, "test"), options);
}

// Builds after a change of the model, and expects the refusal.
template <typename Change>
void refused(std::string_view part, Change&& change) {
  ContextBuilder builder;
  change(builder);
  CHECK_ERROR(EBADMSG, part, read(builder.build()));
}

}  // namespace cryo::test
