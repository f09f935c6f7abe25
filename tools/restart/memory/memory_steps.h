// SPDX-License-Identifier: GPL-2.0-only
// Kinds of calls that make an address space.
#pragma once

#include "restart/stub/step_kind.h"

namespace cryo {

extern const StepKind kKernelMappingStep;
extern const StepKind kUnmapStep;
extern const StepKind kShareStep;
extern const StepKind kAttachStep;
extern const StepKind kMapStep;
extern const StepKind kMapContextStep;
extern const StepKind kAdviseStep;
extern const StepKind kProtectStep;
extern const StepKind kLockMemoryStep;
extern const StepKind kProtectionKeyStep;
extern const StepKind kMmFieldsStep;
extern const StepKind kThpDisableStep;
extern const StepKind kMembarrierStep;

// "cannot map /lib/libc.so.6 at 0x7f...-0x7f...": the index of the call is that of an area.
[[nodiscard]] std::string area_message(const char* action, const FailedCall& call);

}  // namespace cryo
