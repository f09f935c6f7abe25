// SPDX-License-Identifier: GPL-2.0-only
#include "cr_checkpoint/ordered_pipeline.h"

#include <algorithm>
#include <utility>

namespace cryo {

Piece* OrderedPipeline::empty_piece() {
  std::unique_lock lock(mutex_);
  if (empty_.empty() && pieces_.size() == most_) {
    const auto from = std::chrono::steady_clock::now();
    changed_empty_.wait(lock, [this] { return stopped_ || !empty_.empty(); });
    blocked_ += std::chrono::steady_clock::now() - from;
  }
  if (stopped_) return nullptr;
  if (empty_.empty()) {
    auto piece = std::make_unique<Piece>();
    piece->room = std::make_unique_for_overwrite<std::byte[]>(piece_bytes_);
    pieces_.push_back(std::move(piece));
    return pieces_.back().get();
  }
  Piece* piece = empty_.back();
  empty_.pop_back();
  return piece;
}

bool OrderedPipeline::put(Piece* piece) {
  const std::lock_guard lock(mutex_);
  piece->number = put_++;
  to_work_on_.push_back(piece);
  changed_work_.notify_one();
  return waiting_ < to_work_on_.size();
}

void OrderedPipeline::end() {
  const std::lock_guard lock(mutex_);
  ended_ = true;
  changed_work_.notify_all();
  changed_done_.notify_all();
}

Piece* OrderedPipeline::piece_to_work_on() {
  std::unique_lock lock(mutex_);
  ++waiting_;
  changed_work_.wait(lock, [this] { return stopped_ || ended_ || !to_work_on_.empty(); });
  --waiting_;
  if (stopped_ || to_work_on_.empty()) return nullptr;
  Piece* piece = to_work_on_.front();
  to_work_on_.pop_front();
  return piece;
}

void OrderedPipeline::done(Piece* piece) {
  const std::lock_guard lock(mutex_);
  done_.push_back(piece);
  changed_done_.notify_one();
}

Piece* OrderedPipeline::piece_to_write() {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (stopped_ || (ended_ && to_write_ == put_)) return nullptr;
    const auto next = std::find_if(done_.begin(), done_.end(),
                                   [this](const Piece* piece) { return piece->number == to_write_; });
    if (next != done_.end()) {
      Piece* piece = *next;
      done_.erase(next);
      ++to_write_;
      return piece;
    }
    changed_done_.wait(lock);
  }
}

void OrderedPipeline::written(Piece* piece) {
  const std::lock_guard lock(mutex_);
  empty_.push_back(piece);
  changed_empty_.notify_one();
}

std::chrono::nanoseconds OrderedPipeline::take_blocked() {
  const std::lock_guard lock(mutex_);
  return std::exchange(blocked_, std::chrono::nanoseconds{});
}

void OrderedPipeline::stop() noexcept {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  changed_empty_.notify_all();
  changed_work_.notify_all();
  changed_done_.notify_all();
}

bool OrderedPipeline::stopped() const {
  const std::lock_guard lock(mutex_);
  return stopped_;
}

}  // namespace cryo
