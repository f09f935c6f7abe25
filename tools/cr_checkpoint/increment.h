// SPDX-License-Identifier: GPL-2.0-only
// The stage between the module and the file in which a context becomes an incremental one.
#pragma once

#include <string>
#include <vector>

#include "base/output.h"
#include "cr_checkpoint/delta.h"
#include "cr_checkpoint/parent.h"
#include "cr_checkpoint/pipe_consumer.h"

namespace cryo {

class Increment {
 public:
  // `parent` outlives it; `names` are its files', see names_for(). The context goes to `out`, `name` is how
  // messages call that.
  Increment(const Parent& parent, std::vector<Ancestor> names, int out, const std::string& name);

  // See PipeConsumer.
  [[nodiscard]] int input() const { return pipe_.input(); }
  void finish() { pipe_.finish(); }
  void stop() noexcept { pipe_.stop(); }
  void cancel() noexcept { pipe_.cancel(); }

  // Once finished.
  [[nodiscard]] std::uint64_t own_pages() const { return delta_.own_pages(); }
  [[nodiscard]] std::uint64_t elsewhere_pages() const { return delta_.elsewhere_pages(); }
  [[nodiscard]] std::uint64_t written() const { return delta_.written(); }
  [[nodiscard]] Hash identity() const { return delta_.identity(); }

 private:
  std::vector<Ancestor> names_;
  Output output_;
  Delta delta_;
  PipeConsumer pipe_;  // last: its thread uses all the others
};

}  // namespace cryo
