// SPDX-License-Identifier: GPL-2.0-only
#include "restart/stub/step_kind.h"

#include <array>
#include <cstdlib>

#include "base/error.h"

namespace cryo {
namespace {

constexpr std::size_t kMaxKinds = 256;
constexpr auto kFirstNumber = static_cast<std::size_t>(stub::Step::kFirstKind);

// Filled before main(), in whatever order.
constinit std::array<const StepKind*, kMaxKinds> all_kinds{};
constinit std::size_t nr_kinds = 0;

const StepKind* kind_of(stub::Step step) {
  const auto number = static_cast<std::size_t>(step);
  return number >= kFirstNumber && number - kFirstNumber < nr_kinds ? all_kinds[number - kFirstNumber]
                                                                    : nullptr;
}

}  // namespace

StepKind::StepKind(const char* action, Message message)
    : action_(action), message_(message), number_(static_cast<stub::Step>(kFirstNumber + nr_kinds)) {
  if (nr_kinds == kMaxKinds) std::abort();
  all_kinds[nr_kinds++] = this;
}

std::string step_message(stub::Step step, const FailedCall& call) {
  const StepKind* kind = kind_of(step);
  return kind != nullptr && kind->message_ != nullptr ? kind->message_(call) : "cannot " + step_action(step);
}

std::string step_action(stub::Step step) {
  const StepKind* kind = kind_of(step);
  return kind != nullptr ? kind->action_ : fmt::format("take step {}", static_cast<unsigned>(step));
}

std::string failed_file(const FailedCall& call) {
  const auto file = call.context.files.find(call.index);
  return file == call.context.files.end() ? fmt::format("file {}", call.index) : file->second.path;
}

const StepKind kCloseStep("close a working descriptor");

}  // namespace cryo
