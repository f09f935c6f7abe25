// SPDX-License-Identifier: GPL-2.0-only
#include "context/unpack.h"

#include <algorithm>
#include <mutex>

#include "base/error.h"
#include "base/processors.h"
#include "base/thread_pool.h"
#include "context/read_at.h"

namespace cryo {

DStream make_dstream(const std::string& name) {
  DStream stream(::ZSTD_createDStream());
  if (!stream) fail(ENOMEM, "{}: no memory to decompress", name);
  return stream;
}

void FrameUnpacker::begin(const FramePlace& place) {
  ::ZSTD_DCtx_reset(stream_.get(), ZSTD_reset_session_only);
  place_ = place;
  taken_ = made_ = 0;
  complete_ = false;
  // Where all of a frame goes into it, libzstd needs no buffer of its own.
  const std::size_t room = std::clamp<std::uint64_t>(place.unpacked, 1, kMostAtOnce);
  if (out_.size() < room) out_.resize(room);
}

void FrameUnpacker::append(std::span<const std::byte> data) {
  ZSTD_inBuffer in{data.data(), data.size(), 0};
  for (bool more = true; more;) {
    if (complete_)
      fail(EBADMSG, "{}: the zstd frame at byte {} ends at byte {}, not at the expected {}", name_, place_.at,
           place_.at + taken_ + in.pos, place_.at + place_.packed);
    ZSTD_outBuffer out{out_.data(), out_.size(), 0};
    const std::size_t rc = ::ZSTD_decompressStream(stream_.get(), &out, &in);
    if (::ZSTD_isError(rc))
      fail(EBADMSG, "{}: byte {}: damaged zstd stream: {}", name_, place_.at + taken_ + in.pos,
           ::ZSTD_getErrorName(rc));
    if (out.pos > place_.unpacked - made_)
      fail(EBADMSG, "{}: the zstd frame at byte {} contains more than the expected {} bytes", name_,
           place_.at, place_.unpacked);
    copy_.write(place_.to + made_, std::span(out_).first(out.pos));
    made_ += out.pos;
    complete_ = rc == 0;
    // A full output buffer may mean that more is waiting inside, even with all input taken.
    more = in.pos < in.size || (out.pos == out.size && rc != 0);
  }
  taken_ += data.size();
}

void FrameUnpacker::end() {
  if (!complete_)
    fail(EBADMSG, "{}: the zstd frame at byte {} is not complete at byte {}, where it should end", name_,
         place_.at, place_.at + taken_);
  if (made_ != place_.unpacked)
    fail(EBADMSG, "{}: the zstd frame at byte {} contains {} bytes, not the expected {}", name_, place_.at,
         made_, place_.unpacked);
}

namespace {

// Gives out the frames in their order, so that what is written is never far beyond what has been seen.
class FrameQueue {
 public:
  FrameQueue(std::uint64_t start, std::span<const FrameSizes> frames) : frames_(frames), at_(start) {}

  std::optional<FramePlace> next() {
    const std::lock_guard lock(mutex_);
    if (frames_.empty()) return std::nullopt;
    const FrameSizes sizes = frames_.front();
    frames_ = frames_.subspan(1);
    const FramePlace place{at_, sizes.packed, to_, sizes.unpacked};
    at_ += sizes.packed;
    to_ += sizes.unpacked;
    return place;
  }

  void stop() {
    const std::lock_guard lock(mutex_);
    frames_ = {};
  }

 private:
  std::mutex mutex_;
  std::span<const FrameSizes> frames_;
  std::uint64_t at_;
  std::uint64_t to_ = 0;
};

void unpack_from(int fd, FrameQueue& queue, const TemporaryFile& copy, const std::string& name) {
  FrameUnpacker unpacker(copy, name);
  std::vector<std::byte> block;
  while (const std::optional<FramePlace> place = queue.next()) {
    unpacker.begin(*place);
    for (std::uint64_t done = 0; done < place->packed; done += block.size()) {
      block.resize(std::min<std::uint64_t>(place->packed - done, FrameUnpacker::kMostAtOnce));
      read_at(fd, place->at + done, block, name);
      unpacker.append(block);
    }
    unpacker.end();
  }
}

}  // namespace

void unpack_frames(int fd, std::uint64_t start, std::span<const FrameSizes> frames, const TemporaryFile& copy,
                   const std::string& name) {
  FrameQueue queue(start, frames);
  const auto work = [&] { unpack_from(fd, queue, copy, name); };
  ThreadPool pool([&queue] { queue.stop(); });
  for (std::size_t others = std::min(processors(), frames.size()); others > 1; --others)
    if (!pool.start(work)) break;
  pool.run(work);
  pool.join();
}

}  // namespace cryo
