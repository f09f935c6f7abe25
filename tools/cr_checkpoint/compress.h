// SPDX-License-Identifier: GPL-2.0-only
// zstd between the module and the file, by several threads: the stream is cut into pieces, each of which
// becomes a frame of its own. So several threads can decompress it, too (context/unpack.h).
#pragma once

#include <zstd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/processors.h"
#include "base/thread_pool.h"
#include "cr_checkpoint/frame_file.h"
#include "cr_checkpoint/level.h"
#include "cr_checkpoint/options.h"
#include "cr_checkpoint/ordered_pipeline.h"
#include "cr_checkpoint/pipe_consumer.h"

namespace cryo {

// How many threads can compress within `room` bytes of memory, as many as there are processors at most; 0:
// there is not enough for one.
[[nodiscard]] std::size_t compressing_threads(const Compression& how, std::optional<std::uint64_t> room);

class Compressor {
 public:
  // Compressed data go to `out`; `name` is how messages call it. `synced`: they will be awaited on the disk.
  Compressor(int out, std::string name, const Compression& how, bool synced,
             std::size_t threads = processors());

  // See PipeConsumer.
  [[nodiscard]] int input() const { return pipe_.input(); }
  void finish() { pipe_.finish(); }
  void stop() noexcept { pipe_.stop(); }
  void cancel() noexcept { pipe_.cancel(); }

  // After finish(): "compressed from 256.0 MiB to 93.1 MiB, at level 3, by 2 threads".
  [[nodiscard]] std::string summary() const;

 private:
  struct FreeContext {
    void operator()(ZSTD_CCtx* context) const { ::ZSTD_freeCCtx(context); }
  };
  using Context = std::unique_ptr<ZSTD_CCtx, FreeContext>;

  // The pipe's thread, which has these others.
  void run();
  void read_pieces(ThreadPool& pool);
  bool fill(Piece& piece);
  void add_worker(ThreadPool& pool);
  // Workers.
  void compress_pieces();
  [[nodiscard]] Context make_context() const;
  void set(ZSTD_CCtx& context, ZSTD_cParameter parameter, int value, const char* what) const;
  void compress(ZSTD_CCtx& context, Piece& piece) const;
  // The one that writes.
  void write_frames();

  FrameFile file_;
  std::optional<int> window_log_;
  std::size_t piece_bytes_;
  std::size_t most_workers_;
  std::size_t workers_ = 0;
  OrderedPipeline pipeline_;
  std::optional<LevelControl> control_;  // of the thread that writes
  std::atomic<int> level_;               // for the next frame
  std::map<int, std::uint64_t> frames_;  // at each level
  PipeConsumer pipe_;                    // last: its thread uses all the others
};

}  // namespace cryo
