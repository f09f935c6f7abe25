// SPDX-License-Identifier: GPL-2.0-only
// The way of a stream in pieces: from one that fills them, through some that work on them, to one that writes
// them in their order. There is a limited number of pieces, so each waits for the next.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

namespace cryo {

struct Piece {
  std::uint64_t number = 0;
  std::unique_ptr<std::byte[]> room;
  std::size_t size = 0;          // so much of it is filled
  int level = 0;                 // the frame was made with
  std::vector<std::byte> frame;  // compressed
};

// All waits end when it is stopped; what waited for a piece gets nullptr.
class OrderedPipeline {
 public:
  OrderedPipeline(std::size_t most_pieces, std::size_t piece_bytes)
      : most_(most_pieces), piece_bytes_(piece_bytes) {}

  // For the one who fills them.
  [[nodiscard]] Piece* empty_piece();
  // True when nobody waits for it: another worker would be of use.
  bool put(Piece* piece);
  void end();  // that was the last one

  // For the workers: nullptr also after the last one.
  [[nodiscard]] Piece* piece_to_work_on();
  void done(Piece* piece);

  // For the one who writes them: in the order in which they were put; nullptr also after the last one.
  [[nodiscard]] Piece* piece_to_write();
  void written(Piece* piece);

  // How long empty_piece() has waited since this was asked last.
  [[nodiscard]] std::chrono::nanoseconds take_blocked();

  void stop() noexcept;
  [[nodiscard]] bool stopped() const;

 private:
  const std::size_t most_;
  const std::size_t piece_bytes_;

  mutable std::mutex mutex_;  // for all below
  std::condition_variable changed_empty_;
  std::condition_variable changed_work_;
  std::condition_variable changed_done_;
  std::vector<std::unique_ptr<Piece>> pieces_;
  std::vector<Piece*> empty_;
  std::deque<Piece*> to_work_on_;
  std::vector<Piece*> done_;
  std::size_t waiting_ = 0;     // workers
  std::uint64_t put_ = 0;       // pieces so far
  std::uint64_t to_write_ = 0;  // the number of the next one
  std::chrono::nanoseconds blocked_{};
  bool ended_ = false;
  bool stopped_ = false;
};

}  // namespace cryo
