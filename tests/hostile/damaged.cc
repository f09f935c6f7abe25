// SPDX-License-Identifier: GPL-2.0-only
// Context files that are cut (every 4 KiB), have one bit turned (HOSTILE_FLIPS, 200 places), or are no
// contexts at all: cr_restart says so and ends in order, and no process is left.
#include <sys/wait.h>

#include "hostile.h"

using namespace hostile;

namespace {

struct Count {
  int tried = 0, unclear = 0, came_up = 0, left = 0;
  Outcome worst;
};

void feed(Victim& victim, const std::vector<char>& bytes, Count& count) {
  std::filesystem::path path = victim.dir() / "damaged";
  write_bytes(path, bytes, victim.user());
  Outcome outcome = victim.restart(path);
  count.tried++;
  count.came_up += victim.restarted();
  count.left += !victim.gone();
  if (!victim.restarted() && !outcome.clean_failure()) {
    count.unclear++;
    count.worst = outcome;
  }
}

void report(crt::Tap& tap, const std::string& what, const Count& count) {
  std::string tried = " (" + std::to_string(count.tried) + " files)";
  tap.ok(count.unclear == 0, what + ": an orderly error each time" + tried);
  if (count.unclear) tap.diag(std::to_string(count.unclear) + " others, such as: " + count.worst.summary());
  tap.ok(count.came_up == 0, what + ": none of them comes up" + tried);
  if (count.came_up) tap.diag(std::to_string(count.came_up) + " did");
  tap.ok(count.left == 0, what + ": no process is left" + tried);
}

}  // namespace

int main() {
  crt::Tap tap;
  try {
    std::mt19937 random(seed(tap));
    int flips = std::stoi(crt::env_or("HOSTILE_FLIPS", "200"));
    Victim victim({"exec"});  // small
    for (int i = 0; i < 20 && !victim.checkpoint_and_kill(); i++) {
    }
    std::vector<char> good = read_bytes(victim.context());
    victim.restart(victim.context());
    if (!tap.ok(victim.restarted(),
                "the undamaged context of " + std::to_string(good.size()) + " bytes restarts"))
      return tap.finish();
    Count cut, flipped, noise;
    size_t step =
        std::max<size_t>(4096, good.size() / std::stoul(crt::env_or("HOSTILE_CUTS", "100")) / 4096 * 4096);
    for (size_t size = 0; size < good.size(); size += step)
      feed(victim, {good.begin(), good.begin() + static_cast<long>(size)}, cut);
    feed(victim, {good.begin(), good.end() - 1}, cut);
    report(tap, "cut", cut);
    for (int i = 0; i < flips; i++) {
      std::vector<char> bad = good;
      size_t at = random() % bad.size();
      bad[at] = static_cast<char>(bad[at] ^ (1 << random() % 8));
      int before = flipped.came_up + flipped.unclear;
      feed(victim, bad, flipped);
      if (flipped.came_up + flipped.unclear != before) tap.diag("bit turned in byte " + std::to_string(at));
    }
    report(tap, "one bit turned", flipped);
    for (size_t size : {1, 8, 64, 4096, 100000}) {
      std::vector<char> bytes(size);
      for (char& byte : bytes) byte = static_cast<char>(random());
      feed(victim, bytes, noise);
      for (size_t i = 0; i < std::min<size_t>(size, 200); i++) bytes[i] = good[i];
      feed(victim, bytes, noise);
    }
    report(tap, "noise", noise);
  } catch (const std::exception& error) {
    tap.ok(false, error.what());
  }
  return tap.finish();
}
