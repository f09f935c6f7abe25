// SPDX-License-Identifier: GPL-2.0-only
// The stage between the module and the file in which a context becomes an incremental one.
#pragma once

#include <string>
#include <vector>

#include "base/output.h"
#include "cr_checkpoint/delta.h"
#include "cr_checkpoint/inlet.h"
#include "cr_checkpoint/parent.h"

namespace cryo {

class Increment {
 public:
  // `parent` outlives it; `names` are its files', see names_for(). The context goes to `out`, `name` is how
  // messages call that.
  Increment(const Parent& parent, std::vector<Ancestor> names, int out, const std::string& name);

  // See Inlet.
  [[nodiscard]] int input() const { return inlet_.input(); }
  void finish() { inlet_.finish(); }
  void stop() noexcept { inlet_.stop(); }
  void cancel() noexcept { inlet_.cancel(); }

  // Once finished.
  [[nodiscard]] std::uint64_t own_pages() const { return delta_.own_pages(); }
  [[nodiscard]] std::uint64_t elsewhere_pages() const { return delta_.elsewhere_pages(); }
  [[nodiscard]] std::uint64_t written() const { return delta_.written(); }
  [[nodiscard]] Hash identity() const { return delta_.identity(); }

 private:
  std::vector<Ancestor> names_;
  Output output_;
  Delta delta_;
  Inlet inlet_;  // last: its thread uses all the others
};

}  // namespace cryo
