// SPDX-License-Identifier: GPL-2.0-only
// Contexts from files, pipes and compressed streams.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "base/crc32c.h"
#include "context/reader.h"
#include "context/source.h"
#include "context/window.h"
#include "unit/context_builder.h"
#include "unit/tap.h"

namespace {

using namespace cryo;
using test::ContextBuilder;

Bytes compressed(std::span<const std::byte> bytes, std::size_t frames = 1) {
  Bytes out;
  const std::size_t part = (bytes.size() + frames - 1) / frames;
  for (std::size_t at = 0; at < bytes.size(); at += part) {
    const auto from = bytes.subspan(at, std::min(part, bytes.size() - at));
    Bytes frame(ZSTD_compressBound(from.size()));
    frame.resize(ZSTD_compress(frame.data(), frame.size(), from.data(), from.size(), 3));
    out.insert(out.end(), frame.begin(), frame.end());
  }
  return out;
}

void write_all(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n <= 0) return;
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
}

UniqueFd file_with(std::span<const std::byte> bytes) {
  UniqueFd fd(::memfd_create("test", MFD_CLOEXEC));
  write_all(fd.get(), bytes);
  ::lseek(fd.get(), 0, SEEK_SET);
  return fd;
}

// Feeds `bytes` through a pipe while Source reads the other end.
Source piped(const Bytes& bytes) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) fail_errno("pipe");
  ::signal(SIGPIPE, SIG_IGN);  // Source may close its end early
  UniqueFd reader(ends[0]);
  std::jthread feeder([&bytes, fd = ends[1]] {
    const UniqueFd writer(fd);
    write_all(writer.get(), bytes);
  });
  return Source::from_fd(std::move(reader), "pipe");
}

void check_readable(const Source& source, const Bytes& expected) {
  CHECK_EQ(source.size(), expected.size());
  const Context context = read_context(source);
  CHECK_EQ(context.processes.at(0).head.pid, 1000);
  CHECK(source.fd() >= 0);
  Bytes copy(expected.size());
  CHECK_EQ(::pread(source.fd(), copy.data(), copy.size(), 0), static_cast<ssize_t>(copy.size()));
  CHECK(copy == expected);
}

TEST("a regular file is read in place") {
  const Bytes bytes = ContextBuilder().build();
  const Source source = Source::from_fd(file_with(bytes), "file");
  CHECK(!source.spooled());
  CHECK(!source.compressed());
  check_readable(source, bytes);
}

TEST("a file read from its middle") {
  const Bytes bytes = ContextBuilder().build();
  Bytes shifted(1000, std::byte{0x5a});
  shifted.insert(shifted.end(), bytes.begin(), bytes.end());
  UniqueFd fd = file_with(shifted);
  ::lseek(fd.get(), 1000, SEEK_SET);
  const Source source = Source::from_fd(std::move(fd), "file");
  CHECK(source.spooled());
  check_readable(source, bytes);
}

TEST("a pipe") {
  const Bytes bytes = ContextBuilder(CRYO_ARCH_X86_64, 65536).build();
  const Source source = piped(bytes);
  CHECK(source.spooled());
  CHECK(!source.compressed());
  check_readable(source, bytes);
}

TEST("zstd: in a file, through a pipe, in several frames") {
  const Bytes bytes = ContextBuilder(CRYO_ARCH_X86_64, 65536).build();
  for (const std::size_t frames : {1, 2, 7}) {
    const Bytes packed = compressed(bytes, frames);
    const Source file = Source::from_fd(file_with(packed), "file.zst");
    CHECK(file.compressed());
    check_readable(file, bytes);
    check_readable(piped(packed), bytes);
  }
}

TEST("a temporary file is made in TMPDIR, or elsewhere when that does not work") {
  const Bytes bytes = ContextBuilder().build();
  for (const char* dir : {"/tmp", "/nonexistent", "/proc", ""}) {
    ::setenv("TMPDIR", dir, 1);
    check_readable(piped(bytes), bytes);
  }
  ::unsetenv("TMPDIR");
}

TEST("zstd streams that are cut at every byte") {
  const Bytes packed = compressed(ContextBuilder::smallest().build(), 2);
  for (std::size_t length = 4; length < packed.size(); ++length) {
    const std::span<const std::byte> part(packed.data(), length);
    try {
      // Between two frames the stream is whole, and the context in it is cut.
      (void)read_context(Source::from_fd(file_with(part), "f"));
      tap::failure(__FILE__, __LINE__, fmt::format("cut at {}: accepted", length));
    } catch (const Error& e) {
      CHECK_EQ(e.code(), EBADMSG);
      const std::string_view text = e.what();
      CHECK(text.starts_with("f is truncated: ") || text.starts_with("f is empty"));
    }
  }
}

TEST("zstd streams that are damaged, or followed by something else") {
  Bytes packed = compressed(ContextBuilder().build());
  packed.insert(packed.end(), 20, std::byte{'x'});
  CHECK_ERROR(EBADMSG, "damaged zstd stream", Source::from_fd(file_with(packed), "f"));
  CHECK_ERROR(EBADMSG, "f is not a context", Source::from_fd(file_with(compressed(Bytes(9999))), "f"));
}

TEST("streams that are no contexts are refused before anything is copied") {
  CHECK_ERROR(EBADMSG, "pipe is not a context", piped(Bytes(4096, std::byte{'x'})));
  CHECK_ERROR(EBADMSG, "pipe is empty", piped({}));
  CHECK_ERROR(EBADMSG, "pipe is not a context", piped(Bytes(3, std::byte{'x'})));
}

// What would be written of it is more than any limit of file size allows.
void check_not_written(int code, const char* text, const Bytes& start) {
  Bytes all = start;
  all.resize(64 << 20);
  const rlimit none{4096, RLIM_INFINITY};
  rlimit before{};
  ::signal(SIGXFSZ, SIG_IGN);
  UniqueFd packed = file_with(compressed(all));
  CHECK(::getrlimit(RLIMIT_FSIZE, &before) == 0 && ::setrlimit(RLIMIT_FSIZE, &none) == 0);
  CHECK_ERROR(code, text, Source::from_fd(std::move(packed), "f"));
  CHECK_ERROR(code, text, piped(compressed(all, 3)));
  CHECK_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
}

TEST("what is compressed and has no good file header is refused before it is unpacked") {
  const Bytes good = ContextBuilder::smallest().build();
  const Bytes magic(good.begin(), good.begin() + CRYO_MAGIC_LEN);
  check_not_written(EBADMSG, "byte 0: file header: damaged", magic);
  Bytes header(good.begin(), good.begin() + sizeof(cryo_file_header));
  header.back() ^= std::byte{1};
  check_not_written(EBADMSG, "byte 0: file header: damaged (checksum)", header);
  auto* const file = reinterpret_cast<cryo_file_header*>(header.data());
  file->format_major = CRYO_FORMAT_MAJOR + 1;
  file->crc = crc32c(std::span(header).first(header.size() - sizeof(file->crc)));
  check_not_written(EOPNOTSUPP, "has format", header);
}

TEST("files that cannot be opened") {
  CHECK_ERROR(ENOENT, "/nonexistent/context", Source::open("/nonexistent/context"));
  CHECK_ERROR(EISDIR, "/tmp: is a directory", Source::open("/tmp"));
}

Bytes numbered(std::size_t size) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 7 + i / 256);
  return bytes;
}

TEST("small reads through a window give the bytes of the source, in whatever order") {
  const Bytes bytes = numbered(300001);
  const Source source = Source::from_memory(bytes, "memory");
  Window window(source);
  std::size_t at = 1;
  for (int i = 0; i < 20000; ++i) {
    const std::size_t size = std::min<std::size_t>(at % 6000, bytes.size() - at);
    Bytes got(size);
    window.read(at, got);
    if (!std::equal(got.begin(), got.end(), bytes.begin() + static_cast<std::ptrdiff_t>(at)))
      tap::failure(__FILE__, __LINE__, fmt::format("{} bytes at {}", size, at));
    at = i % 3 == 0 ? (at * 48271) % bytes.size() : (at + size) % bytes.size();
  }
}

TEST("what goes on where the last read has ended is read ahead; a jump reads anew") {
  const Bytes old = numbered(100000);
  const UniqueFd fd = file_with(old);
  const Source source = Source::from_fd(UniqueFd(::dup(fd.get())), "file");
  Window window(source);
  Bytes first(100), second(100), far(100);
  window.read(0, first);
  CHECK_EQ(::pwrite(fd.get(), Bytes(100000).data(), 100000, 0), 100000);
  window.read(100, second);
  CHECK(second == Bytes(old.begin() + 100, old.begin() + 200));
  window.read(50000, far);
  CHECK(far == Bytes(100));
}

TEST("reads through a window end where the source ends") {
  const Bytes bytes = numbered(100);
  const Source source = Source::from_memory(bytes, "memory");
  Window window(source);
  Bytes last(10);
  window.read(90, last);
  CHECK(std::equal(last.begin(), last.end(), bytes.begin() + 90));
  CHECK_ERROR(EBADMSG, "memory is truncated: ends at byte 100", window.read(91, last));
  CHECK_ERROR(EBADMSG, "memory is truncated: ends at byte 100", window.read(~0ULL, last));
  window.read(100, std::span<std::byte>());
}

}  // namespace
