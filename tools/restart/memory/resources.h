// SPDX-License-Identifier: GPL-2.0-only
// What an address space has beside areas and pages: each resource describes itself in its own file, and has a
// line here.
#pragma once

#include "context/model.h"
#include "restart/common/findings.h"
#include "restart/stub/calls.h"
#include "restart/stub/stub_area.h"

namespace cryo {

// Each may be left out.
struct MemoryResource {
  using Plan = void (*)(const Context& context, const Mm& mm, CallList& calls, StubArea& area);

  // What of it this machine cannot restore.
  void (*check)(const CheckInput& input, const Mm& mm, Findings& findings) = nullptr;
  // Calls for areas that are mapped, before their contents are read.
  Plan plan_before_contents = nullptr;
  // Calls for areas as they are in the end, before they are locked and protected.
  Plan plan = nullptr;
  // Bytes of the stub's area for these calls and their arguments, at most.
  std::size_t (*size)(const Mm& mm) = nullptr;
};

extern const MemoryResource kTagsResource;
extern const MemoryResource kAioResource;
extern const MemoryResource kVmaNamesResource;
extern const MemoryResource kGuardsResource;
extern const MemoryResource kMempoliciesResource;

// In the order of their calls.
inline constexpr const MemoryResource* kMemoryResources[] = {
    &kTagsResource, &kAioResource, &kVmaNamesResource, &kGuardsResource, &kMempoliciesResource};

}  // namespace cryo
