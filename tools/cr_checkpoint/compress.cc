// SPDX-License-Identifier: GPL-2.0-only
#include "cr_checkpoint/compress.h"

#include <algorithm>
#include <chrono>
#include <span>
#include <utility>

#include "base/bytes.h"
#include "base/error.h"
#include "base/processors.h"

namespace cryo {
namespace {

// At level 3, frames of 4 MiB are 1 per cent more than a single one, those of 1 MiB 5 per cent, and larger
// ones would be too few for many threads. High levels look further back (19: over 8 MiB): 10 per cent more at
// 4 MiB.
constexpr std::size_t kPieceBytes = 4 << 20;
constexpr std::size_t kHighLevelPieceBytes = 16 << 20;
constexpr int kHighLevel = 13;
// Between two looks whether all this is still wanted: a whole piece takes seconds at the highest levels.
constexpr std::size_t kStepBytes = 1 << 19;
constexpr std::size_t kSmallestRound = 4;

std::size_t piece_bytes_for(const Compression& how) {
  const std::size_t least = how.level.value_or(0) >= kHighLevel ? kHighLevelPieceBytes : kPieceBytes;
  return how.window_log ? std::max(least, std::size_t{1} << *how.window_log) : least;
}

// One is being filled, one written, and each thread has one; another for each lets all go on when one takes
// longer, unless they are large.
std::size_t pieces_for(std::size_t threads, std::size_t piece_bytes) {
  return 2 + (piece_bytes > kHighLevelPieceBytes ? threads : 2 * threads);
}

// What a thread has for itself: by measurement, 4 MiB at level 3, 90 MiB at 19.
std::uint64_t context_bytes(const Compression& how) {
  const std::uint64_t window = how.window_log ? std::uint64_t{2} << *how.window_log : 0;
  return (how.level.value_or(0) >= kHighLevel ? std::uint64_t{100} << 20 : std::uint64_t{12} << 20) + window;
}

// Each piece has room for what comes in, and for what it becomes.
std::uint64_t bytes_for(std::size_t threads, const Compression& how) {
  const std::uint64_t piece = piece_bytes_for(how);
  return pieces_for(threads, piece) * 2 * piece + threads * context_bytes(how);
}

}  // namespace

std::size_t compressing_threads(const Compression& how, std::optional<std::uint64_t> room) {
  std::size_t threads = processors();
  while (threads > 0 && room && bytes_for(threads, how) > *room) --threads;
  return threads;
}

Compressor::Compressor(int out, std::string name, const Compression& how, bool synced, std::size_t threads)
    : file_(out, std::move(name), synced && !how.level),
      window_log_(how.window_log),
      piece_bytes_(piece_bytes_for(how)),
      most_workers_(threads),
      pipeline_(pieces_for(most_workers_, piece_bytes_), piece_bytes_),
      pipe_("compress " + file_.name()) {
  if (!how.level) control_.emplace(std::max(kSmallestRound, most_workers_));
  level_ = how.level ? *how.level : control_->level();
  pipe_.start([this] { run(); });
}

void Compressor::run() {
  ThreadPool pool([this] { pipeline_.stop(); });
  if (!pool.start([this] { write_frames(); }))
    fail(EAGAIN, "cannot start a thread to write {}", file_.name());
  pool.run([this, &pool] { read_pieces(pool); });
  pool.join();
}

// An empty stream, too, has a frame: no file is without.
void Compressor::read_pieces(ThreadPool& pool) {
  bool more = true;
  for (bool first = true; more; first = false) {
    Piece* piece = pipeline_.empty_piece();
    if (piece == nullptr) return;
    more = fill(*piece);
    if ((first || piece->size != 0) && pipeline_.put(piece)) add_worker(pool);
  }
  pipeline_.end();
}

// False at the end of the stream.
bool Compressor::fill(Piece& piece) {
  const std::span<std::byte> room(piece.room.get(), piece_bytes_);
  for (piece.size = 0; piece.size < room.size();) {
    const std::size_t got = pipe_.read(room.subspan(piece.size));
    if (got == 0) return false;
    piece.size += got;
  }
  return true;
}

// Threads, and the memory that each takes, come when those there are do not suffice.
void Compressor::add_worker(ThreadPool& pool) {
  if (workers_ == most_workers_) return;
  if (pool.start([this] { compress_pieces(); }))
    ++workers_;
  else if (workers_ == 0)
    fail(EAGAIN, "cannot start a thread to compress {}", file_.name());
  else
    most_workers_ = workers_;
}

Compressor::Context Compressor::make_context() const {
  Context context(::ZSTD_createCCtx());
  if (!context) fail(ENOMEM, "no memory to compress {}", file_.name());
  set(*context, ZSTD_c_checksumFlag, 1, "checksum");
  if (window_log_) {
    set(*context, ZSTD_c_enableLongDistanceMatching, 1, "long distance matching");
    set(*context, ZSTD_c_windowLog, *window_log_, "window");
  }
  return context;
}

void Compressor::set(ZSTD_CCtx& context, ZSTD_cParameter parameter, int value, const char* what) const {
  const std::size_t result = ::ZSTD_CCtx_setParameter(&context, parameter, value);
  if (::ZSTD_isError(result))
    fail(EINVAL, "cannot compress {} with {} {}: {}", file_.name(), what, value, ::ZSTD_getErrorName(result));
}

void Compressor::compress_pieces() {
  const Context context = make_context();
  while (Piece* piece = pipeline_.piece_to_work_on()) {
    piece->level = level_;
    set(*context, ZSTD_c_compressionLevel, piece->level, "level");
    compress(*context, *piece);
    pipeline_.done(piece);
  }
}

void Compressor::compress(ZSTD_CCtx& context, Piece& piece) const {
  piece.frame.clear();
  piece.frame.reserve(::ZSTD_compressBound(piece_bytes_) + ::ZSTD_CStreamOutSize());  // it grows no more
  ::ZSTD_CCtx_setPledgedSrcSize(&context, piece.size);
  ZSTD_inBuffer in{piece.room.get(), 0, 0};
  for (bool complete = false; !complete;) {
    pipe_.check_cancelled();
    if (in.pos == in.size) in.size = std::min(in.size + kStepBytes, piece.size);
    const std::size_t before = piece.frame.size();
    piece.frame.resize(before + ::ZSTD_CStreamOutSize());
    ZSTD_outBuffer out{piece.frame.data(), piece.frame.size(), before};
    const ZSTD_EndDirective last = in.size == piece.size ? ZSTD_e_end : ZSTD_e_continue;
    const std::size_t left = ::ZSTD_compressStream2(&context, &out, &in, last);
    if (::ZSTD_isError(left)) fail(ENOMEM, "cannot compress {}: {}", file_.name(), ::ZSTD_getErrorName(left));
    piece.frame.resize(out.pos);
    complete = last == ZSTD_e_end && left == 0;
  }
}

void Compressor::write_frames() {
  using Clock = std::chrono::steady_clock;
  auto then = Clock::now();
  while (Piece* piece = pipeline_.piece_to_write()) {
    const auto ready = Clock::now();
    pipe_.check_cancelled();
    file_.append(piece->frame, piece->size);
    const auto written = Clock::now();
    ++frames_[piece->level];
    if (control_) {
      control_->note(piece->level, {ready - then, written - ready, pipeline_.take_blocked()});
      level_ = control_->level();
    }
    then = written;
    pipeline_.written(piece);
  }
  if (!pipeline_.stopped()) file_.finish();
}

std::string Compressor::summary() const {
  std::string levels;
  for (const auto& [level, frames] : frames_)
    levels += frames_.size() == 1
                  ? fmt::format(" {}", level)
                  : fmt::format("{} {} ({} frames)", levels.empty() ? "s" : ",", level, frames);
  return fmt::format("compressed from {} to {}, at level{}, by {} thread{}",
                     bytes_text(file_.unpacked_bytes()), bytes_text(file_.packed_bytes()), levels, workers_,
                     workers_ == 1 ? "" : "s");
}

}  // namespace cryo
