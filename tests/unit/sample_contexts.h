// SPDX-License-Identifier: GPL-2.0-only
// Contexts of all sorts: where the fuzzer starts from, and what tests damage. Together they have a section of
// each type.
#pragma once

#include <vector>

#include "unit/context_builder.h"

namespace cryo::test {

struct SampleContext {
  const char* name;
  ContextBuilder builder;
};

[[nodiscard]] std::vector<SampleContext> sample_contexts();

}  // namespace cryo::test
