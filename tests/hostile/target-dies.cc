// SPDX-License-Identifier: GPL-2.0-only
// The process is killed, or ends by itself, at any moment of its checkpoint: the tool ends, says
// so, and leaves no file under the context's name unless it is a whole one.
#include <signal.h>
#include <sys/wait.h>

#include <chrono>
#include <memory>
#include <thread>

#include "hostile.h"

using namespace hostile;

namespace {

struct Count {
  int hung = 0, unclear = 0, half = 0, during = 0, leftover = 0;
};

void judge(Victim& victim, const Outcome& outcome, Count& count) {
  count.hung += outcome.status == -1;
  if (!outcome.ok()) {
    count.during++;
    count.unclear += !outcome.clean_failure() || !outcome.says(std::to_string(victim.pid()));
    count.half += std::filesystem::exists(victim.context());
  }
  for (const auto& entry : std::filesystem::directory_iterator(victim.dir()))
    count.leftover += entry.path().filename().string().rfind(".ctx", 0) == 0;
}

void report(crt::Tap& tap, const std::string& what, const Count& count, const Outcome& last) {
  tap.ok(count.hung == 0, what + ": cr_checkpoint always ends");
  tap.ok(count.unclear == 0,
         what + ": says which process it is about (unclear: " + std::to_string(count.unclear) + ")");
  tap.ok(count.half == 0, what + ": no context is left of a failed checkpoint");
  tap.ok(count.leftover == 0, what + ": no temporary file is left");
  tap.diag("failed " + std::to_string(count.during) + " times; the last said: " + last.text);
}

// Killed within `ms` milliseconds from when the tool starts.
void kill_some(crt::Tap& tap, std::mt19937& random, const std::string& behaviour, int rounds, unsigned ms) {
  Count killed;
  Outcome last;
  for (int i = 0; i < rounds; i++) {
    Victim victim({behaviour});
    pid_t tool = victim.start_checkpoint({});
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % ms));
    kill(victim.pid(), SIGKILL);
    Outcome outcome = victim.finish_tool(tool, 20000);
    judge(victim, outcome, killed);
    if (!outcome.ok()) last = outcome;
    if (!victim.reaped(5000)) killed.hung++;
  }
  report(tap, behaviour + ", killed", killed, last);
}

}  // namespace

int main() {
  crt::Tap tap;
  try {
    std::mt19937 random(seed(tap));
    int rounds = std::stoi(crt::env_or("HOSTILE_COUNT", "50")) / 2;
    Count ended;
    Outcome last;
    kill_some(tap, random, "plain", rounds, 150);
    // The kernel has much to look at, and each thread goes by itself.
    kill_some(tap, random, "crowd", rounds, 400);
    for (int i = 0; i < rounds; i++) {
      Victim victim({"brief", std::to_string(random() % 150)});
      Outcome outcome = victim.checkpoint({});
      judge(victim, outcome, ended);
      if (!outcome.ok()) last = outcome;
      if (!victim.reaped(10000) || !crt::exited_with(victim.end_status(), 5)) ended.hung++;
    }
    report(tap, "ended by itself", ended, last);
  } catch (const std::exception& error) {
    tap.ok(false, error.what());
  }
  return tap.finish();
}
