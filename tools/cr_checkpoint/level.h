// SPDX-License-Identifier: GPL-2.0-only
// The level of compression that goes with the speed of the output (-z auto).
#pragma once

#include <chrono>
#include <cstddef>

namespace cryo {

// Told the times of each frame that was written, it says at which level the next ones are to be compressed.
//
// What is judged is a round of frames at one level. While the output takes most of the time, the compressors
// wait for it, and a higher level makes less to write: up. When the output waits for the compressors most of
// the time, and the input for them, too, these hold all up: down. When it is the input that is slow, nothing
// would be faster at another level: it stays.
//
// A level from which it went down is not tried again for some rounds.
class LevelControl {
 public:
  struct Times {
    std::chrono::nanoseconds waited;   // the output, for this frame
    std::chrono::nanoseconds written;  // this frame
    std::chrono::nanoseconds blocked;  // the input meanwhile, as all pieces were in use
  };

  // `round`: so many frames are judged together.
  explicit LevelControl(std::size_t round);

  [[nodiscard]] int level() const;
  // A frame of this level. Those of an earlier level, still on their way when it was changed, do not count.
  void note(int level, const Times& times);

  [[nodiscard]] static int lowest();
  [[nodiscard]] static int highest();

 private:
  void judge();
  void go_up();
  void go_down();

  std::size_t round_;
  std::size_t step_;  // of the ladder of levels
  std::size_t frames_ = 0;
  Times sum_{};
  std::size_t too_high_;     // the step that was left
  int rounds_to_avoid_ = 0;  // it and all above
};

}  // namespace cryo
