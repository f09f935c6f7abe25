// SPDX-License-Identifier: GPL-2.0-only
#include "cr_checkpoint/level.h"

#include <algorithm>
#include <iterator>

namespace cryo {
namespace {

// From some four times as fast as the default to a hundredth of its speed. No step takes the time to more
// than its double or half, so that the band in which a level stays (below) is not jumped over. Not the
// highest ones, 20 to 22, which differ in memory more than in anything else.
constexpr int kLadder[] = {-7, -5, -3, -1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19};
constexpr std::size_t kFirstStep = 6;
static_assert(kLadder[kFirstStep] == 3);  // the default of zstd

constexpr int kRoundsToAvoid = 8;

}  // namespace

LevelControl::LevelControl(std::size_t round)
    : round_(std::max<std::size_t>(round, 1)), step_(kFirstStep), too_high_(std::size(kLadder)) {}

int LevelControl::level() const {
  return kLadder[step_];
}

int LevelControl::lowest() {
  return *std::begin(kLadder);
}

int LevelControl::highest() {
  return *std::rbegin(kLadder);
}

void LevelControl::note(int level, const Times& times) {
  if (level != this->level()) return;
  sum_.waited += times.waited;
  sum_.written += times.written;
  sum_.blocked += times.blocked;
  if (++frames_ < round_) return;
  judge();
  frames_ = 0;
  sum_ = {};
}

void LevelControl::judge() {
  const auto all = sum_.waited + sum_.written;
  if (rounds_to_avoid_ > 0 && --rounds_to_avoid_ == 0) too_high_ = std::size(kLadder);
  if (sum_.written * 4 >= all * 3 && all.count() > 0)
    go_up();
  else if (sum_.written * 2 < all && sum_.blocked * 4 >= all)
    go_down();
}

void LevelControl::go_up() {
  if (step_ + 1 < std::size(kLadder) && step_ + 1 < too_high_) ++step_;
}

void LevelControl::go_down() {
  if (step_ == 0) return;
  too_high_ = step_--;
  rounds_to_avoid_ = kRoundsToAvoid;
}

}  // namespace cryo
