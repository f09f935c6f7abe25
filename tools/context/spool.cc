// SPDX-License-Identifier: GPL-2.0-only
#include "context/spool.h"

#include <cryo/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/progress_line.h"
#include "base/termination.h"
#include "context/file_header.h"
#include "context/frame_pool.h"
#include "context/frame_scanner.h"
#include "context/read_at.h"
#include "context/seek_table.h"
#include "context/temporary.h"
#include "context/unpack.h"

namespace cryo {
namespace {

constexpr std::size_t kSpoolBlock = 1 << 20;
constexpr std::size_t kLongestFileHeader = 4096;

constexpr int kLookMs = 100;  // for signals

// What comes from a pipe may never come, and who waits may have blocked the signals that are to end it.
void await_bytes(int fd, const std::string& name) {
  pollfd what{fd, POLLIN, 0};
  for (;;) {
    if (is_pending_termination()) fail(EINTR, "{}: interrupted by a signal", name);
    const int ready = ::poll(&what, 1, kLookMs);
    if (ready > 0) return;
    if (ready < 0 && errno != EINTR) fail_errno("{}: poll", name);
  }
}

std::size_t read_some(int fd, std::span<std::byte> to, const std::string& name) {
  for (;;) {
    await_bytes(fd, name);
    const ssize_t n = ::read(fd, to.data(), to.size());
    if (n > 0) progress::step("reading the context", static_cast<std::uint64_t>(n));
    if (n >= 0) return static_cast<std::size_t>(n);
    if (errno != EINTR && errno != EAGAIN) fail_errno("{}: read", name);
  }
}

// As many bytes as fit, fewer only at the end of the stream.
std::size_t read_full(int fd, std::span<std::byte> to, const std::string& name) {
  std::size_t done = 0;
  while (done < to.size()) {
    const std::size_t n = read_some(fd, to.subspan(done), name);
    if (n == 0) break;
    done += n;
  }
  return done;
}

void check_start(std::span<const std::byte> start, const std::string& name) {
  if (start.empty()) fail(EBADMSG, "{} is empty", name);
  const std::size_t length = std::min<std::size_t>(start.size(), CRYO_MAGIC_LEN);
  if (std::memcmp(start.data(), CRYO_MAGIC, length) != 0) fail(EBADMSG, "{} is not a context", name);
}

// With the whole file header, that is looked at as well.  False: more bytes are needed for that.
bool check_header(std::span<const std::byte> start, const std::string& name) {
  if (start.size() >= CRYO_MAGIC_LEN) check_start(start, name);
  if (start.size() < sizeof(cryo_file_header)) return false;
  const std::size_t length = file_header_length(start, name);
  if (start.size() < length) return false;
  check_file_header(start.first(length), name, true);
  return true;
}

// The receiving end: looks at the file header before it makes the temporary file, as what is compressed can
// become very much, of whatever it consists.
class Copy {
 public:
  explicit Copy(const std::string& name) : name_(name) {}

  void append(std::span<const std::byte> data) {
    if (data.empty()) return;
    if (!file_) {
      start_.insert(start_.end(), data.begin(), data.end());
      if (check_header(start_, name_)) begin();
    } else {
      write(data);
    }
  }

  // Once the start is known to be that of a context: where the next bytes go, and that others put them there.
  [[nodiscard]] const TemporaryFile* file() const { return file_ ? &*file_ : nullptr; }
  [[nodiscard]] std::uint64_t size() const { return size_; }
  void skip(std::uint64_t bytes) { size_ += bytes; }

  [[nodiscard]] Spool finish(bool compressed) {
    if (!file_) check_start(start_, name_);  // cut, as will be said
    if (!file_) begin();
    return {file_->take(), size_, compressed};
  }

 private:
  void begin() {
    file_.emplace(name_);
    write(start_);
    start_ = {};
  }

  void write(std::span<const std::byte> data) {
    file_->write(size_, data);
    size_ += data.size();
  }

  const std::string& name_;
  std::vector<std::byte> start_;
  std::optional<TemporaryFile> file_;
  std::uint64_t size_ = 0;
};

// Decompresses frame after frame: pzstd and `cat a.zst b.zst` make several.
class Inflater {
 public:
  Inflater(Copy& copy, const std::string& name)
      : copy_(copy), name_(name), stream_(make_dstream(name)), out_(ZSTD_DStreamOutSize()) {}

  void append(std::span<const std::byte> data) {
    ZSTD_inBuffer in{data.data(), data.size(), 0};
    for (bool more = true; more;) {
      ZSTD_outBuffer out{out_.data(), out_.size(), 0};
      const std::size_t rc = ZSTD_decompressStream(stream_.get(), &out, &in);
      if (ZSTD_isError(rc))
        fail(EBADMSG, "{}: byte {}: damaged zstd stream: {}", name_, consumed_ + in.pos,
             ZSTD_getErrorName(rc));
      copy_.append(std::span(out_).first(out.pos));
      frame_open_ = rc != 0;
      // A full output buffer may mean that more is waiting inside, even with all input taken.
      more = in.pos < in.size || (out.pos == out.size && rc != 0);
    }
    consumed_ += data.size();
  }

  // Others decompress a frame of so many bytes.
  void skip(std::uint64_t bytes) { consumed_ += bytes; }
  [[nodiscard]] std::uint64_t consumed() const { return consumed_; }

  void finish() const {
    if (frame_open_)
      fail(EBADMSG, "{} is truncated: its zstd stream ends at byte {} inside a frame", name_, consumed_);
  }

 private:
  Copy& copy_;
  const std::string& name_;
  DStream stream_;
  std::vector<std::byte> out_;
  std::uint64_t consumed_ = 0;
  bool frame_open_ = true;
};

// Gives frames of which the size is known, and which are not too large to be kept until they are complete, to
// other threads. The first one is not among them: it shows whether there is a context in the stream.
class StreamUnpacker {
 public:
  StreamUnpacker(Copy& copy, const std::string& name) : copy_(copy), name_(name), inflater_(copy, name) {}

  void append(std::span<const std::byte> data) {
    while (!data.empty()) {
      const std::size_t part = scanner_.broken() ? data.size() : scanner_.scan(data);
      take(data.first(part));
      data = data.subspan(part);
      if (scanner_.complete()) end_of_frame();
    }
  }

  void finish() {
    stop_gathering();
    inflater_.finish();
    if (pool_) pool_->finish();
  }

 private:
  static constexpr std::size_t kMostGathered = 16 << 20;

  void take(std::span<const std::byte> part) {
    if (!gathering_) return inflater_.append(part);
    gathered_.insert(gathered_.end(), part.begin(), part.end());
    const bool sizeless = scanner_.header_seen() && !scanner_.contents();
    if (scanner_.broken() || sizeless || gathered_.size() > kMostGathered) stop_gathering();
  }

  void stop_gathering() {
    if (gathering_ && !gathered_.empty()) inflater_.append(gathered_);
    gathered_.clear();
    gathering_ = false;
  }

  void end_of_frame() {
    if (!gathering_ || !give_away()) stop_gathering();
    scanner_ = FrameScanner();
    gathering_ = copy_.file() != nullptr;
  }

  // False for a frame that promises more than can be in it: whoever decompresses it says what is wrong.
  bool give_away() {
    const FramePlace place{inflater_.consumed(), gathered_.size(), copy_.size(),
                           scanner_.contents().value_or(0)};
    if (place.unpacked > place.packed * kMostPerByte) return false;
    if (!pool_) pool_.emplace(*copy_.file(), name_);
    if (!pool_->put(gathered_, place)) return false;
    inflater_.skip(place.packed);
    copy_.skip(place.unpacked);
    return true;
  }

  Copy& copy_;
  const std::string& name_;
  Inflater inflater_;
  FrameScanner scanner_;
  bool gathering_ = false;
  std::vector<std::byte> gathered_;
  std::optional<FramePool> pool_;  // last: its threads use what is above
};

template <typename Sink>
void pump(int fd, std::vector<std::byte>& block, std::size_t first, const std::string& name, Sink& sink) {
  for (std::size_t n = first; n != 0; n = read_some(fd, block, name)) sink.append(std::span(block).first(n));
}

// The first bytes of what is in a frame.
std::vector<std::byte> first_of(int fd, std::uint64_t at, const FrameSizes& frame, const std::string& name) {
  constexpr std::size_t kLongestHeader = 18;
  std::vector<std::byte> packed(std::min<std::size_t>(frame.packed, kLongestHeader + ZSTD_DStreamInSize()));
  read_at(fd, at, packed, name);
  std::vector<std::byte> start(kLongestFileHeader);
  ZSTD_inBuffer in{packed.data(), packed.size(), 0};
  ZSTD_outBuffer out{start.data(), start.size(), 0};
  const DStream stream = make_dstream(name);
  const std::size_t rc = ZSTD_decompressStream(stream.get(), &out, &in);
  if (ZSTD_isError(rc))
    fail(EBADMSG, "{}: byte {}: damaged zstd stream: {}", name, at + in.pos, ZSTD_getErrorName(rc));
  start.resize(out.pos);
  return start;
}

// A regular file with a table of its frames: by several threads.
std::optional<Spool> spool_frames(int fd, const std::string& name) {
  struct stat st {};
  if (::fstat(fd, &st) != 0) fail_errno("{}", name);
  const off_t position = S_ISREG(st.st_mode) ? ::lseek(fd, 0, SEEK_CUR) : -1;
  std::array<std::byte, 4> magic;
  if (position < 0 || ::pread(fd, magic.data(), magic.size(), position) != std::ssize(magic) ||
      !is_zstd(magic))
    return std::nullopt;
  const auto start = static_cast<std::uint64_t>(position);
  const auto frames = find_seek_table(fd, start, static_cast<std::uint64_t>(st.st_size), name);
  if (!frames || frames->empty()) return std::nullopt;
  const std::vector<std::byte> first = first_of(fd, start, frames->front(), name);
  // What begins with frames that are empty, or nearly, is left to those who take it as it comes.
  if (!check_header(first, name)) return std::nullopt;
  TemporaryFile copy(name);
  unpack_frames(fd, start, *frames, copy, name);
  std::uint64_t size = 0;
  for (const FrameSizes& frame : *frames) size += frame.unpacked;
  return Spool{copy.take(), size, true};
}

}  // namespace

std::optional<bool> holds_context(int fd) {
  // A block, and the headers of its frame and of those that are skipped (a seek table's) before it.
  std::vector<std::byte> read(2 * ZSTD_DStreamInSize());
  const ssize_t got = ::pread(fd, read.data(), read.size(), 0);
  if (got <= 0) return {};
  std::array<std::byte, CRYO_MAGIC_LEN> start{};
  const auto stream = make_dstream("zstd");
  ZSTD_inBuffer in{read.data(), static_cast<std::size_t>(got), 0};
  ZSTD_outBuffer out{start.data(), start.size(), 0};
  while (out.pos < out.size) {
    const std::size_t rc = ZSTD_decompressStream(stream.get(), &out, &in);
    if (ZSTD_isError(rc)) return {};
    if (out.pos < out.size && in.pos == in.size) return rc == 0 ? std::optional(false) : std::nullopt;
  }
  return std::memcmp(start.data(), CRYO_MAGIC, start.size()) == 0;
}

bool is_zstd(std::span<const std::byte> start) {
  std::uint32_t magic = 0;
  if (start.size() < sizeof(magic)) return false;
  std::memcpy(&magic, start.data(), sizeof(magic));
  return magic == ZSTD_MAGICNUMBER || (magic & ZSTD_MAGIC_SKIPPABLE_MASK) == ZSTD_MAGIC_SKIPPABLE_START;
}

Spool spool(int fd, const std::string& name) {
  if (std::optional<Spool> copy = spool_frames(fd, name)) return std::move(*copy);
  std::vector<std::byte> block(kSpoolBlock);
  const std::size_t first = read_full(fd, std::span(block).first(CRYO_MAGIC_LEN), name);
  Copy copy(name);
  const bool compressed = is_zstd(std::span(block).first(first));
  if (compressed) {
    StreamUnpacker unpacker(copy, name);
    pump(fd, block, first, name, unpacker);
    unpacker.finish();
  } else {
    pump(fd, block, first, name, copy);
  }
  return copy.finish(compressed);
}

}  // namespace cryo
