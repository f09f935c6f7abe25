// SPDX-License-Identifier: GPL-2.0-only
// Compression between the module and the file.
#include <cryo/format.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

#include <csignal>
#include <cstring>
#include <random>

#include "base/processors.h"
#include "context/seek_table.h"
#include "context/source.h"
#include "cr_checkpoint/compress.h"
#include "unit/context_builder.h"
#include "unit/tap.h"

namespace {

using namespace cryo;
using Bytes = std::vector<std::uint8_t>;

Bytes noise(std::size_t size) {
  std::mt19937_64 random(1);
  Bytes bytes(size);
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
  return bytes;
}

// What the module does. False when the reader went away.
bool send(int fd, const Bytes& bytes) {
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t step = ::write(fd, bytes.data() + done, bytes.size() - done);
    if (step < 0) return false;
    done += static_cast<std::size_t>(step);
  }
  return true;
}

// The summary goes to *summary, if any.
Bytes compressed(const Bytes& bytes, const Compression& how, std::string* summary = nullptr) {
  UniqueFd file(::memfd_create("compressed", MFD_CLOEXEC));
  Compressor compressor(file.get(), "memory", how, true);
  UniqueFd held(
      ::fcntl(compressor.input(), F_DUPFD_CLOEXEC, 0));  // as by the module, until its request is closed
  CHECK(send(compressor.input(), bytes));
  compressor.finish();
  if (summary != nullptr) *summary = compressor.summary();
  Bytes result(static_cast<std::size_t>(::lseek(file.get(), 0, SEEK_END)));
  CHECK_EQ(::pread(file.get(), result.data(), result.size(), 0), static_cast<ssize_t>(result.size()));
  return result;
}

Bytes decompressed(const Bytes& frames, std::size_t size) {
  Bytes result(size + 1);
  const std::size_t got = ::ZSTD_decompress(result.data(), result.size(), frames.data(), frames.size());
  if (::ZSTD_isError(got)) tap::failure(__FILE__, __LINE__, ::ZSTD_getErrorName(got));
  result.resize(::ZSTD_isError(got) ? 0 : got);
  return result;
}

TEST("what goes in comes out again") {
  for (const std::size_t size : {0UL, 1UL, 4096UL, 9'000'000UL})
    for (const int level : {1, 3, 19}) {
      if (level == 19 && size > 4096) continue;
      const Bytes bytes = noise(size);
      CHECK(decompressed(compressed(bytes, {.level = level}), size) == bytes);
    }
  const Bytes zeroes(50'000'000);
  const Bytes small = compressed(zeroes, {.level = 3});
  CHECK(small.size() < 10'000);
  CHECK(decompressed(small, zeroes.size()) == zeroes);
}

std::vector<FrameSizes> frames_of(const Bytes& packed) {
  UniqueFd file(::memfd_create("frames", MFD_CLOEXEC));
  CHECK(send(file.get(), packed));
  const auto table = find_seek_table(file.get(), 0, packed.size(), "f");
  CHECK(table.has_value());
  return table.value_or(std::vector<FrameSizes>());
}

// As cr_restart does.
bool readable(const Bytes& packed, const Bytes& bytes) {
  UniqueFd file(::memfd_create("frames", MFD_CLOEXEC));
  CHECK(send(file.get(), packed));
  ::lseek(file.get(), 0, SEEK_SET);
  const Source source = Source::from_fd(std::move(file), "f");
  if (source.size() != bytes.size()) return false;
  Bytes back(bytes.size());
  source.read(0, std::as_writable_bytes(std::span(back)));
  return back == bytes;
}

// What the tools unpack for a context.
Bytes like_context(Bytes bytes) {
  const auto context = test::ContextBuilder().build();
  std::memcpy(bytes.data(), context.data(), sizeof(cryo_file_header));
  return bytes;
}

TEST("frames of their own, each with its size and a checksum, and a table of them") {
  const Bytes bytes = like_context(noise(21'000'000));
  const Bytes packed = compressed(bytes, {.level = 1});
  const std::vector<FrameSizes> frames = frames_of(packed);
  CHECK_EQ(frames.size(), 6U);
  std::size_t at = 0;
  for (const FrameSizes& frame : frames) {
    CHECK_EQ(::ZSTD_getFrameContentSize(packed.data() + at, frame.packed), frame.unpacked);
    CHECK_EQ(::ZSTD_findFrameCompressedSize(packed.data() + at, frame.packed), frame.packed);
    constexpr std::uint8_t kChecksumFlag = 4;  // in the fifth byte
    CHECK(packed[at + 4] & kChecksumFlag);
    at += frame.packed;
  }
  CHECK_EQ(frames.front().unpacked, 4U << 20);
  CHECK(readable(packed, bytes));
}

TEST("nothing and a piece without a rest: no frames too many") {
  CHECK_EQ(frames_of(compressed({}, {.level = 3})).size(), 1U);
  CHECK_EQ(frames_of(compressed(Bytes(8 << 20), {.level = 3})).size(), 2U);
  CHECK_EQ(frames_of(compressed(Bytes((8 << 20) + 1), {.level = 3})).size(), 3U);
}

TEST("high levels and long matches have larger pieces") {
  CHECK_EQ(frames_of(compressed(Bytes(33 << 20), {.level = 13})).size(), 3U);
  CHECK_EQ(frames_of(compressed(Bytes(9 << 20), {.level = 1, .window_log = 20})).size(), 3U);
  CHECK_EQ(frames_of(compressed(Bytes(33 << 20), {.level = 1, .window_log = 24})).size(), 3U);
}

TEST("long matches are found, and read without being asked for") {
  // What comes again is 24 MiB behind, farther than level 1 looks.
  const Bytes once = noise(24 << 20);
  Bytes twice = like_context(once);
  twice.insert(twice.end(), once.begin(), once.end());
  const Bytes packed = compressed(twice, {.level = 1, .window_log = 27});
  CHECK(packed.size() < once.size() * 11 / 10);
  CHECK(readable(packed, twice));
  CHECK(compressed(twice, {.level = 1}).size() > twice.size() * 9 / 10);
}

TEST("the longest window") {
  const Bytes bytes = like_context(Bytes((129 << 20) + 5));
  const Bytes packed = compressed(bytes, {.level = 1, .window_log = 27});
  CHECK_EQ(frames_of(packed).size(), 2U);
  CHECK_EQ(frames_of(packed).front().unpacked, 1U << 27);
  CHECK(readable(packed, bytes));
}

TEST("a level that is found on the way, and the summary") {
  std::string summary;
  const Bytes bytes = like_context(Bytes(100'000'000));
  CHECK(readable(compressed(bytes, {}, &summary), bytes));
  CHECK(summary.starts_with("compressed from 95.4 MiB to "));
  CHECK(summary.find(", at level") != std::string::npos);
  (void)compressed(Bytes(1000), {.level = 5}, &summary);
  CHECK(summary.ends_with(" B, at level 5, by 1 thread"));
}

TEST("the error of the file is the one that is told, and names it") {
  ::signal(SIGPIPE, SIG_IGN);
  UniqueFd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  Compressor compressor(full.get(), "some.file", {.level = 1}, true);
  // More than can be on the way: what comes then waits for the file.
  const Bytes some = noise(20'000'000);
  const std::size_t most = (2 + 2 * processors()) * (4 << 20) + (2 << 20);
  std::size_t sent = 0;
  while (sent <= most && send(compressor.input(), some)) sent += some.size();
  CHECK(sent <= most);
  CHECK_EQ(errno, EPIPE);
  CHECK_ERROR(ENOSPC, "cannot write to some.file: No space left", compressor.finish());
}

TEST("an error that shows only at the end") {
  UniqueFd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  Compressor compressor(full.get(), "some.file", {.level = 1}, true);
  CHECK(send(compressor.input(), noise(10)));
  CHECK_ERROR(ENOSPC, "some.file", compressor.finish());
}

TEST("a reader that went away") {
  ::signal(SIGPIPE, SIG_IGN);
  int ends[2];
  CHECK_EQ(::pipe2(ends, O_CLOEXEC), 0);
  UniqueFd writer(ends[1]);
  ::close(ends[0]);
  Compressor compressor(writer.get(), "standard output", {.level = 1}, true);
  send(compressor.input(), noise(5'000'000));
  CHECK_ERROR(EPIPE, "standard output", compressor.finish());
}

TEST("cancelled") {
  UniqueFd null(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  Compressor compressor(null.get(), "some.file", {.level = 1}, true);
  send(compressor.input(), noise(100));
  compressor.cancel();
  CHECK_ERROR(ECANCELED, "some.file", compressor.finish());
}

TEST("given up without a word") {
  UniqueFd null(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  Compressor compressor(null.get(), "some.file", {.level = 1}, true);
  CHECK(send(compressor.input(), noise(100)));
}

TEST("levels that zstd does not have are refused or cut by it, never silently another method") {
  UniqueFd null(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  CHECK_EQ(::ZSTD_maxCLevel(), 22);
  CHECK(::ZSTD_minCLevel() <= LevelControl::lowest());
  for (int level = 1; level <= ::ZSTD_maxCLevel(); ++level)
    Compressor(null.get(), "some.file", {.level = level}, false).finish();
}

}  // namespace
