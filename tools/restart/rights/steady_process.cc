// SPDX-License-Identifier: GPL-2.0-only
#include "restart/rights/steady_process.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "restart/rights/thread_ids.h"
#include "restart/stub/stub.h"

namespace cryo {

bool is_capable_of_nothing() {
  return thread_credentials().permitted == 0;
}

SteadyProcess::SteadyProcess() : dumpable_(::prctl(PR_GET_DUMPABLE)), parent_(::getppid()) {
  if (::prctl(PR_GET_PDEATHSIG, &death_signal_) != 0) death_signal_ = 0;
}

void SteadyProcess::steady() const {
  if (dumpable_ == 1) ::prctl(PR_SET_DUMPABLE, 1);
  steady_unseen();
}

void SteadyProcess::steady_unseen() const {
  if (death_signal_ == 0) return;
  ::prctl(PR_SET_PDEATHSIG, death_signal_);
  if (::getppid() != parent_) ::_exit(stub::kFailureStatus);
}

void SteadyProcess::unseen() const {
  if (is_capable_of_nothing()) return steady();
  if (::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) fail_errno("PR_SET_DUMPABLE");
  steady_unseen();
}

}  // namespace cryo
