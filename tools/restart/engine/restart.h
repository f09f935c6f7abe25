// SPDX-License-Identifier: GPL-2.0-only
// The coordinator of a restart: checks, creates the child, waits until all its threads are with the
// module, and lets them go.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "context/chain.h"
#include "context/model.h"
#include "restart/check/check.h"
#include "restart/common/options.h"

namespace cryo {

class Restart {
 public:
  Restart(const Context& context, const Chain& chain, const RestartOptions& options)
      : context_(context), chain_(chain), options_(options) {}

  // Everything that can be known before anything is created.
  [[nodiscard]] Findings check() const {
    Findings findings = check_context(context_, chain_, options_);
    check_module(context_, options_, findings);
    return findings;
  }

  // Restarts the process; it is a child of the caller, running, when this returns its pid.
  // All signals have to be blocked: one of SIGHUP, SIGINT, SIGQUIT, SIGTERM that is pending makes it give
  // up.  Throws Error, after everything that was made has been removed again.  `before_commit` is called when
  // all is made and nothing runs yet.
  using PidOf = std::function<pid_t(const Process&)>;  // what a process of the context has got
  using BeforeCommit = std::function<void(const PidOf&)>;
  [[nodiscard]] pid_t launch(const Findings& findings, const BeforeCommit& before_commit);

  // Lines that the module wrote.
  [[nodiscard]] const std::string& kernel_log() const { return kernel_log_; }
  // Is memory of the job mapped from the context, or from one that it needs?  Once launched.
  [[nodiscard]] bool maps() const { return maps_; }
  // What is not as it was although the job runs.
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  class Attempt;

  const Context& context_;
  const Chain& chain_;
  const RestartOptions& options_;
  bool maps_ = false;
  std::string kernel_log_;
  std::vector<std::string> warnings_;
};

}  // namespace cryo
