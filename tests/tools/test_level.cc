// SPDX-License-Identifier: GPL-2.0-only
// The level of compression that goes with the speed of the output.
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "cr_checkpoint/level.h"
#include "unit/tap.h"

namespace {

using namespace cryo;
using Ns = std::chrono::nanoseconds;

constexpr std::size_t kRound = 4;

// A machine in equilibrium: the slowest of the three sets the pace, and the others wait for it.
struct Machine {
  double input = 0;      // ms for a piece
  double compress = 10;  // at level 1, all threads together
  double write = 0;      // of what level 1 makes of a piece

  // Each level takes a third longer than the one below, and what it makes is 2 per cent smaller.
  [[nodiscard]] double compress_at(int level) const { return compress * std::pow(1.33, level - 1); }
  [[nodiscard]] double write_at(int level) const { return write * std::pow(0.98, level - 1); }
  [[nodiscard]] double pace(int level) const {
    return std::max({input, compress_at(level), write_at(level)});
  }
  [[nodiscard]] LevelControl::Times times(int level) const {
    const auto ns = [](double ms) { return Ns(static_cast<std::int64_t>(ms * 1e6)); };
    const double all = pace(level);
    return {ns(all - write_at(level)), ns(write_at(level)), ns(all - input)};
  }
};

// Lets it write so many rounds; returns how often the level changed.
int write_rounds(LevelControl& control, const Machine& machine, int rounds) {
  int changes = 0;
  for (int i = 0; i < rounds * static_cast<int>(kRound); ++i) {
    const int level = control.level();
    control.note(level, machine.times(level));
    changes += control.level() != level ? 1 : 0;
  }
  return changes;
}

TEST("it begins with zstd's default") {
  CHECK_EQ(LevelControl(kRound).level(), 3);
}

TEST("an output that everything waits for: up to the highest level, and no further") {
  LevelControl control(kRound);
  write_rounds(control, {.write = 1e6}, 1);
  CHECK_EQ(control.level(), 4);
  write_rounds(control, {.write = 1e6}, 100);
  CHECK_EQ(control.level(), LevelControl::highest());
  CHECK_EQ(control.level(), 19);
}

TEST("an output without limits: down to the lowest level, and no further") {
  LevelControl control(kRound);
  write_rounds(control, {.write = 0.001}, 1);
  CHECK_EQ(control.level(), 2);
  write_rounds(control, {.write = 0.001}, 100);
  CHECK_EQ(control.level(), LevelControl::lowest());
  CHECK_EQ(control.level(), -7);
}

TEST("when the input is what is slow, the level stays") {
  LevelControl control(kRound);
  CHECK_EQ(write_rounds(control, {.input = 1000, .write = 1}, 100), 0);
}

TEST("in between: near the level at which output and compressors are as fast as each other, and calm") {
  for (const double write : {10.0, 20.0, 40.0, 80.0, 300.0}) {
    const Machine machine{.write = write};
    LevelControl control(kRound);
    write_rounds(control, machine, 40);
    CHECK(write_rounds(control, machine, 80) <= 20);
    // Not much slower than the output alone, which a lower level would make slower.
    CHECK(machine.pace(control.level()) < 2 * machine.write_at(control.level()));
    CHECK(machine.compress_at(control.level() + 2) > 0.75 * machine.write_at(control.level()));
  }
}

TEST("a level that was too high is left alone for some rounds, then tried again") {
  LevelControl control(kRound);
  write_rounds(control, {.write = 1e6}, 1);
  CHECK_EQ(control.level(), 4);
  write_rounds(control, {.write = 0.001}, 1);
  CHECK_EQ(control.level(), 3);
  CHECK_EQ(write_rounds(control, {.write = 1e6}, 7), 0);
  write_rounds(control, {.write = 1e6}, 1);
  CHECK_EQ(control.level(), 4);
}

TEST("frames of an earlier level do not count, and a round is not over before it is") {
  LevelControl control(kRound);
  const Machine slow{.write = 1e6};
  for (std::size_t i = 1; i < kRound; ++i) control.note(3, slow.times(3));
  for (int i = 0; i < 100; ++i) control.note(9, slow.times(9));
  CHECK_EQ(control.level(), 3);
  control.note(3, slow.times(3));
  CHECK_EQ(control.level(), 4);
}

TEST("no times at all are no reason to change") {
  LevelControl control(kRound);
  for (int i = 0; i < 100; ++i) control.note(3, {});
  CHECK_EQ(control.level(), 3);
}

}  // namespace
