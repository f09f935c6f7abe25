// SPDX-License-Identifier: GPL-2.0-only
// The contexts of one job in a directory: context.PID.1, context.PID.2 and so on, each the parent of the
// next. Others that have had its id may have some there, too: these are left alone (line.h).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cr_checkpoint/line.h"
#include "cr_checkpoint/parent.h"

namespace cryo {

class Generations {
 public:
  // Looks what there is.  Throws Error.
  Generations(std::string directory, pid_t target)
      : Generations(std::move(directory), target, live_job(target)) {}
  // `job` is what has the id now.
  Generations(std::string directory, pid_t target, LiveJob job);

  // The newest one of the job that is whole, and has all that it needs; none, too, when the next one had
  // better be full. Those of other users, who can remove them at any time, do not count. What was passed
  // over, and why, is in `notes`. `prepare` does with it what is to be done in any case, and throws Error
  // when it cannot be a parent after all.
  [[nodiscard]] std::optional<Parent> newest(std::vector<std::string>& notes,
                                             const std::function<void(const Parent&)>& prepare) const;

  // Path of the next one.
  [[nodiscard]] std::string next(bool compressed) const;

  // The next one is there: removes all of the job but the `count` newest that are whole, and those that these
  // need, or that others need.
  void keep(std::size_t count) const;

 private:
  struct Generation {
    std::uint64_t number;
    std::string name;
    bool own;  // a regular file of the caller's own
  };

  [[nodiscard]] std::vector<Generation> list() const;
  [[nodiscard]] LiveJob as_written(const std::vector<Generation>& now) const;
  void note_others(const std::vector<std::string>& others, std::vector<std::string>& notes) const;
  [[nodiscard]] bool was_there(const Generation& generation) const;
  [[nodiscard]] std::string path(const Generation& generation) const {
    return directory_ + "/" + generation.name;
  }

  std::string directory_;
  pid_t target_;
  std::string prefix_;
  LiveJob job_;
  std::vector<Generation> all_;  // as it was at the beginning, the newest first
};

}  // namespace cryo
