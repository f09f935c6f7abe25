// SPDX-License-Identifier: GPL-2.0-only
// What a kind of calls of the stub does, in words: for the message when one fails.
#pragma once

#include <cstdint>
#include <string>

#include "context/model.h"
#include "restart/stub/stub.h"

namespace cryo {

// Which call has failed. Whoever said so may have had another user's ids: none of it need be true.
struct FailedCall {
  const Context& context;
  const Process& process;
  std::uint32_t index;   // of the thing, as CallList::add() was told
  std::uint32_t thread;  // in the process
  std::uint64_t address;
  int error;
};

// One for each kind, of static storage, beside the code that plans its calls. All processes of a restart run
// one program, so that its number is the same in all of them.
class StepKind {
 public:
  // The text of the errno value is put behind it.
  using Message = std::string (*)(const FailedCall&);

  // `action` completes "cannot ..."; `message`: says more than that, with the thing.
  explicit StepKind(const char* action, Message message = nullptr);
  StepKind(const StepKind&) = delete;
  StepKind& operator=(const StepKind&) = delete;

  operator stub::Step() const { return number_; }  // NOLINT: it is used as one

 private:
  friend std::string step_message(stub::Step step, const FailedCall& call);
  friend std::string step_action(stub::Step step);

  const char* action_;
  Message message_;
  stub::Step number_;
};

// Of any number, also one that no kind has.
[[nodiscard]] std::string step_message(stub::Step step, const FailedCall& call);
[[nodiscard]] std::string step_action(stub::Step step);

// The path of the file whose id the index is.
[[nodiscard]] std::string failed_file(const FailedCall& call);

extern const StepKind kCloseStep;

}  // namespace cryo
