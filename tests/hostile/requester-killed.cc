// SPDX-License-Identifier: GPL-2.0-only
// cr_checkpoint killed at any moment of its work, HOSTILE_COUNT (50) times: the process that was
// being checkpointed runs on unharmed, and can be checkpointed again.
#include <signal.h>
#include <sys/wait.h>

#include <chrono>
#include <thread>

#include "hostile.h"

using namespace hostile;

namespace {

long measure(Victim& victim) {
  auto begin = std::chrono::steady_clock::now();
  victim.checkpoint({});
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - begin)
      .count();
}

// Everything between the first moment and a little after the last; returns how many died at work.
int kill_all_over(Victim& victim, int signal, int count, std::mt19937& random, int& harmed) {
  victim.checkpoint({});
  long usual = measure(victim);
  int killed = 0;
  for (int i = 0; i < count; i++) {
    pid_t tool = victim.start_checkpoint({});
    std::this_thread::sleep_for(
        std::chrono::microseconds(random() % static_cast<unsigned long>(usual * 11 / 10)));
    kill(tool, signal);
    Outcome outcome = victim.finish_tool(tool, 20000);
    killed += !outcome.ok();
    harmed += outcome.status == -1 || !victim.ticking() || victim.errors();
  }
  return killed;
}

}  // namespace

int main() {
  crt::Tap tap;
  try {
    std::mt19937 random(seed(tap));
    int count = std::stoi(crt::env_or("HOSTILE_COUNT", "50"));
    for (int signal : {SIGKILL, SIGTERM}) {
      Victim victim({"plain"});
      int harmed = 0;
      int killed = kill_all_over(victim, signal, count, random, harmed);
      std::string name = signal == SIGKILL ? "SIGKILL" : "SIGTERM";
      tap.ok(killed > count / 4,
             name + ": " + std::to_string(killed) + " of " + std::to_string(count) + " met it at work");
      tap.ok(harmed == 0, name + ": the process ran on each time (not: " + std::to_string(harmed) + ")");
      Outcome last = victim.checkpoint({"--kill"});
      tap.ok(last.ok() && victim.reaped(5000), name + ": it can be checkpointed afterwards");
      if (!last.ok()) tap.diag(last.summary());
      last = victim.restart(victim.context());
      tap.ok(victim.restarted(), name + ": and restarted");
      if (!victim.restarted()) tap.diag(last.summary());
    }
  } catch (const std::exception& error) {
    tap.ok(false, error.what());
  }
  return tap.finish();
}
