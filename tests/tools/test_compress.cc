// SPDX-License-Identifier: GPL-2.0-only
// Compression between the module and the file.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

#include <csignal>
#include <random>

#include "cr_checkpoint/compress.h"
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

Bytes compressed(const Bytes& bytes, int level) {
  UniqueFd file(::memfd_create("compressed", MFD_CLOEXEC));
  Compressor compressor(file.get(), "memory", level);
  UniqueFd held(
      ::fcntl(compressor.input(), F_DUPFD_CLOEXEC, 0));  // as by the module, until its request is closed
  CHECK(send(compressor.input(), bytes));
  compressor.finish();
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
      CHECK(decompressed(compressed(bytes, level), size) == bytes);
    }
  const Bytes zeroes(50'000'000);
  const Bytes small = compressed(zeroes, 3);
  CHECK(small.size() < 10'000);
  CHECK(decompressed(small, zeroes.size()) == zeroes);
}

TEST("the error of the file is the one that is told, and names it") {
  ::signal(SIGPIPE, SIG_IGN);
  UniqueFd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  Compressor compressor(full.get(), "some.file", 1);
  CHECK(!send(compressor.input(), noise(20'000'000)));  // EPIPE
  CHECK_EQ(errno, EPIPE);
  CHECK_ERROR(ENOSPC, "cannot write to some.file: No space left", compressor.finish());
}

TEST("an error that shows only at the end") {
  UniqueFd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  Compressor compressor(full.get(), "some.file", 1);
  CHECK(send(compressor.input(), noise(10)));
  CHECK_ERROR(ENOSPC, "some.file", compressor.finish());
}

TEST("a reader that went away") {
  ::signal(SIGPIPE, SIG_IGN);
  int ends[2];
  CHECK_EQ(::pipe2(ends, O_CLOEXEC), 0);
  UniqueFd writer(ends[1]);
  ::close(ends[0]);
  Compressor compressor(writer.get(), "standard output", 1);
  send(compressor.input(), noise(5'000'000));
  CHECK_ERROR(EPIPE, "standard output", compressor.finish());
}

TEST("cancelled") {
  UniqueFd null(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  Compressor compressor(null.get(), "some.file", 1);
  send(compressor.input(), noise(100));
  compressor.cancel();
  CHECK_ERROR(ECANCELED, "some.file", compressor.finish());
}

TEST("given up without a word") {
  UniqueFd null(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  Compressor compressor(null.get(), "some.file", 1);
  CHECK(send(compressor.input(), noise(100)));
}

TEST("levels that zstd does not have are refused or cut by it, never silently another method") {
  UniqueFd null(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  for (int level = 1; level <= ::ZSTD_maxCLevel(); ++level)
    Compressor(null.get(), "some.file", level).finish();
}

}  // namespace
