// SPDX-License-Identifier: GPL-2.0-only
// A list of system calls for the stub, as it is drawn up.
#pragma once

#include <sys/syscall.h>

#include <array>
#include <concepts>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "restart/stub/stub.h"

namespace cryo {

class CallList {
 public:
  // `index` is what a message needs to name the thing: see StepKind.
  template <typename... Args>
  void add(stub::Step step, std::uint32_t index, long number, Args... args) {
    expect(stub::Expect::kSuccess, step, index, number, args...);
  }

  template <typename... Args>
  void expect(stub::Expect expect, stub::Step step, std::uint32_t index, long number, Args... args) {
    static_assert(sizeof...(Args) <= 6);
    stub::Call call{};
    call.number = static_cast<std::int32_t>(number);
    call.expect = expect;
    call.step = step;
    call.index = index;
    [[maybe_unused]] std::size_t i = 0;
    ((call.args[i++] = word(args)), ...);
    calls_.push_back(call);
  }

  void append(const CallList& other) {
    calls_.insert(calls_.end(), other.calls_.begin(), other.calls_.end());
  }

  [[nodiscard]] const std::vector<stub::Call>& calls() const { return calls_; }

 private:
  // Signed values are extended to the width of a register, as C would pass them.
  template <typename T>
  static std::uint64_t word(T value) {
    if constexpr (std::is_pointer_v<T>)
      return reinterpret_cast<std::uint64_t>(value);
    else
      return static_cast<std::uint64_t>(value);
  }

  std::vector<stub::Call> calls_;
};

}  // namespace cryo
