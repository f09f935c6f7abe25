// SPDX-License-Identifier: GPL-2.0-only
// Processes that never look the same twice: they make threads, children, or become another
// program all the time. A checkpoint works or is refused by name; the process never notices.
#include <sys/wait.h>

#include "hostile.h"

using namespace hostile;

namespace {

void try_behaviour(crt::Tap& tap, const std::string& behaviour, int count) {
  Victim victim({behaviour});
  int good = 0, refused = 0, bad = 0, still = 0;
  Outcome last;
  for (int i = 0; i < count; i++) {
    Outcome outcome = victim.checkpoint({"-p"});
    good += outcome.ok();
    if (!outcome.ok()) {
      // 52: cannot be saved; 110: cannot be frozen in time; 11, 16: again
      bool fine = outcome.clean_failure() && outcome.says(std::to_string(victim.pid()));
      refused += fine;
      bad += !fine;
      last = outcome;
    }
    still += !victim.ticking();
  }
  tap.ok(bad == 0, behaviour + ": works or is refused by name");
  tap.ok(still == 0, behaviour + ": runs on each time");
  tap.ok(victim.errors() == 0,
         behaviour + ": never notices (" + std::to_string(victim.errors()) + " errors)");
  tap.ok(good > 0, behaviour + ": works " + std::to_string(good) + " of " + std::to_string(count) + " times");
  if (good < count) tap.diag("not so: " + last.summary());
  if (!good) return;
  for (int i = 0; i < 20 && !victim.reaped(0); i++) victim.checkpoint({"-p", "--kill"});
  Outcome outcome = victim.restart(victim.context());
  tap.ok(victim.restarted(), behaviour + ": goes on after a restart");
  if (!victim.restarted()) tap.diag(outcome.summary());
}

}  // namespace

int main() {
  crt::Tap tap;
  int count = std::stoi(crt::env_or("HOSTILE_COUNT", "50")) / 2;
  for (const char* behaviour : {"threads", "fork", "vfork", "exec"}) {
    try {
      try_behaviour(tap, behaviour, count);
    } catch (const std::exception& error) {
      tap.ok(false, std::string(behaviour) + ": " + error.what());
    }
  }
  return tap.finish();
}
