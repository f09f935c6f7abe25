// SPDX-License-Identifier: GPL-2.0-only
#include "context/spool.h"

#include <cryo/format.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "base/error.h"

namespace cryo {
namespace {

constexpr std::size_t kSpoolBlock = 1 << 20;

struct FreeDStream {
  void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
};

// The unnamed file, and where it lives (for messages).
struct TemporaryFile {
  UniqueFd fd;
  std::string place;
};

TemporaryFile make_temporary_file(const std::string& name) {
  const char* tmpdir = std::getenv("TMPDIR");
  for (const char* dir : {tmpdir, "/var/tmp"}) {
    if (dir == nullptr || *dir == '\0') continue;
    UniqueFd fd(::open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, 0600));
    if (fd) return {std::move(fd), dir};
  }
  UniqueFd fd(::memfd_create("cryo-context", MFD_CLOEXEC));
  if (!fd) fail_errno("{}: no place for a temporary copy: tried $TMPDIR, /var/tmp and memory", name);
  return {std::move(fd), "memory"};
}

std::size_t read_some(int fd, std::span<std::byte> to, const std::string& name) {
  for (;;) {
    const ssize_t n = ::read(fd, to.data(), to.size());
    if (n >= 0) return static_cast<std::size_t>(n);
    if (errno != EINTR) fail_errno("{}: read", name);
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

// The receiving end: looks at the first bytes before it makes the temporary file.
class Copy {
 public:
  explicit Copy(const std::string& name) : name_(name) {}

  void append(std::span<const std::byte> data) {
    if (data.empty()) return;
    if (!file_.fd) {
      start_.insert(start_.end(), data.begin(), data.end());
      if (start_.size() < CRYO_MAGIC_LEN) return;
      begin();
    } else {
      write(data);
    }
  }

  [[nodiscard]] Spool finish(bool compressed) {
    if (!file_.fd) begin();
    return {std::move(file_.fd), size_, compressed};
  }

 private:
  void begin() {
    if (start_.empty()) fail(EBADMSG, "{} is empty", name_);
    const std::size_t length = std::min<std::size_t>(start_.size(), CRYO_MAGIC_LEN);
    if (std::memcmp(start_.data(), CRYO_MAGIC, length) != 0) fail(EBADMSG, "{} is not a context", name_);
    file_ = make_temporary_file(name_);
    write(start_);
    start_ = {};
  }

  void write(std::span<const std::byte> data) {
    while (!data.empty()) {
      const ssize_t n = ::write(file_.fd.get(), data.data(), data.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0)
        fail_errno("{}: temporary copy in {} (set TMPDIR for another place), at byte {}", name_, file_.place,
                   size_);
      size_ += static_cast<std::uint64_t>(n);
      data = data.subspan(static_cast<std::size_t>(n));
    }
  }

  const std::string& name_;
  std::vector<std::byte> start_;
  TemporaryFile file_;
  std::uint64_t size_ = 0;
};

// Decompresses frame after frame: pzstd and `cat a.zst b.zst` make several.
class Inflater {
 public:
  Inflater(Copy& copy, const std::string& name)
      : copy_(copy), name_(name), stream_(ZSTD_createDStream()), out_(ZSTD_DStreamOutSize()) {
    if (!stream_) fail(ENOMEM, "{}: no memory to decompress", name_);
  }

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

  void finish() const {
    if (frame_open_)
      fail(EBADMSG, "{} is cut: its zstd stream ends at byte {} inside a frame", name_, consumed_);
  }

 private:
  Copy& copy_;
  const std::string& name_;
  std::unique_ptr<ZSTD_DStream, FreeDStream> stream_;
  std::vector<std::byte> out_;
  std::uint64_t consumed_ = 0;
  bool frame_open_ = true;
};

template <typename Sink>
void pump(int fd, std::vector<std::byte>& block, std::size_t first, const std::string& name, Sink& sink) {
  for (std::size_t n = first; n != 0; n = read_some(fd, block, name)) sink.append(std::span(block).first(n));
}

}  // namespace

bool is_zstd(std::span<const std::byte> start) {
  std::uint32_t magic = 0;
  if (start.size() < sizeof(magic)) return false;
  std::memcpy(&magic, start.data(), sizeof(magic));
  return magic == ZSTD_MAGICNUMBER || (magic & ZSTD_MAGIC_SKIPPABLE_MASK) == ZSTD_MAGIC_SKIPPABLE_START;
}

Spool spool(int fd, const std::string& name) {
  std::vector<std::byte> block(kSpoolBlock);
  const std::size_t first = read_full(fd, std::span(block).first(CRYO_MAGIC_LEN), name);
  Copy copy(name);
  const bool compressed = is_zstd(std::span(block).first(first));
  if (compressed) {
    Inflater inflater(copy, name);
    pump(fd, block, first, name, inflater);
    inflater.finish();
  } else {
    pump(fd, block, first, name, copy);
  }
  return copy.finish(compressed);
}

}  // namespace cryo
