// SPDX-License-Identifier: GPL-2.0-only
#include "cr_checkpoint/increment.h"

#include <utility>

namespace cryo {

Increment::Increment(const Parent& parent, std::vector<Ancestor> names, int out, const std::string& name)
    : names_(std::move(names)),
      output_(out, name),
      delta_(
          parent, names_, [this](std::span<std::byte> to) { return pipe_.read(to); },
          [this](std::span<const std::byte> data) { output_.write(data); }),
      pipe_("compare with the parent of " + name) {
  pipe_.start([this] {
    delta_.run();
    output_.flush();
  });
}

}  // namespace cryo
