// SPDX-License-Identifier: GPL-2.0-only
// Zstd files with a table of their frames, which several threads decompress.
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <thread>

#include "base/processors.h"
#include "base/thread_pool.h"
#include "context/frame_scanner.h"
#include "context/seek_table.h"
#include "context/source.h"
#include "unit/context_builder.h"
#include "unit/tap.h"

namespace {

using namespace cryo;
using test::ContextBuilder;

constexpr std::size_t kFooter = 9;  // of a table

struct Packed {
  Bytes frames;
  std::vector<FrameSizes> sizes;

  void add(std::span<const std::byte> bytes, int level = 3) {
    const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context(ZSTD_createCCtx(), ZSTD_freeCCtx);
    ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, level);
    ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
    Bytes frame(ZSTD_compressBound(bytes.size()) + 4);
    frame.resize(ZSTD_compress2(context.get(), frame.data(), frame.size(), bytes.data(), bytes.size()));
    sizes.push_back({static_cast<std::uint32_t>(frame.size()), static_cast<std::uint32_t>(bytes.size())});
    frames.insert(frames.end(), frame.begin(), frame.end());
  }

  // As by a compressor that has not been told how much will come.
  void add_sizeless(std::span<const std::byte> bytes) {
    const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context(ZSTD_createCCtx(), ZSTD_freeCCtx);
    Bytes frame(ZSTD_compressBound(bytes.size()));
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    ZSTD_outBuffer out{frame.data(), frame.size(), 0};
    while (in.pos < in.size) ZSTD_compressStream2(context.get(), &out, &in, ZSTD_e_continue);
    CHECK_EQ(ZSTD_compressStream2(context.get(), &out, &in, ZSTD_e_end), 0U);
    frames.insert(frames.end(), frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(out.pos));
  }

  [[nodiscard]] Bytes file() const {
    Bytes all = frames;
    const Bytes table = make_seek_table(sizes);
    all.insert(all.end(), table.begin(), table.end());
    return all;
  }
};

Packed pack(std::span<const std::byte> bytes, std::size_t frame_size) {
  Packed packed;
  for (std::size_t at = 0; at < bytes.size(); at += frame_size)
    packed.add(bytes.subspan(at, std::min(frame_size, bytes.size() - at)));
  return packed;
}

UniqueFd file_of(std::span<const std::byte> bytes) {
  UniqueFd fd(::memfd_create("test", MFD_CLOEXEC));
  CHECK_EQ(::write(fd.get(), bytes.data(), bytes.size()), std::ssize(bytes));
  ::lseek(fd.get(), 0, SEEK_SET);
  return fd;
}

auto table_of(const Bytes& file, std::size_t start = 0) {
  return find_seek_table(file_of(file).get(), start, file.size(), "f");
}

Bytes contents(const Source& source) {
  Bytes bytes(source.size());
  source.read(0, bytes);
  return bytes;
}

Bytes unpacked(const Bytes& file) {
  return contents(Source::from_fd(file_of(file), "f"));
}

// A context with so much behind it (which is no part of it) that frames are of many sizes.
Bytes long_context() {
  Bytes bytes = ContextBuilder(CRYO_ARCH_X86_64, 65536).build();
  for (std::uint32_t i = 0; bytes.size() < 3'031'000; ++i)
    bytes.push_back(static_cast<std::byte>((i * 2654435761U) >> (24 + i / 400'000 % 8)));
  return bytes;
}

TEST("the table has the frames, and tells where there is none") {
  const Bytes bytes = long_context();
  const Packed packed = pack(bytes, 100'000);
  const auto table = table_of(packed.file());
  CHECK(table.has_value());
  CHECK_EQ(table->size(), 31U);
  CHECK_EQ(table->at(30).unpacked, bytes.size() % 100'000);
  for (std::size_t i = 0; i < table->size(); ++i) CHECK_EQ(table->at(i).packed, packed.sizes[i].packed);
  CHECK(!table_of(packed.frames));
  CHECK(!table_of({}));
  CHECK(!table_of(Bytes(16)));
}

TEST("a table with checksums, and with bits that mean nothing yet") {
  Packed packed;
  packed.add(Bytes(1000));
  packed.add(Bytes(2000));
  Bytes file = packed.file();
  file[file.size() - 5] = std::byte{3};
  CHECK_EQ(table_of(file)->size(), 2U);
  file[file.size() - 5] = std::byte{0x80};
  file.insert(file.end() - kFooter, 4, std::byte{0x5a});
  file.insert(file.end() - kFooter - 12, 4, std::byte{0x5a});
  std::byte& table_size = file[packed.frames.size() + 4];
  table_size = static_cast<std::byte>(std::to_integer<int>(table_size) + 8);
  CHECK_EQ(table_of(file)->size(), 2U);
  CHECK_EQ(table_of(file)->at(1).unpacked, 2000U);
}

// What is said of such a file, which is no good.
std::string complaint(const Bytes& file) {
  try {
    (void)Source::from_fd(file_of(file), "f");
  } catch (const Error& error) {
    CHECK_EQ(error.code(), EBADMSG);
    return error.what();
  }
  return "(accepted)";
}

std::string complaint_about_table(const Bytes& file) {
  const std::string text = complaint(file);
  constexpr std::string_view kBefore = "f: damaged seek table: ",
                             kBehind = " (zstd -d reads the file without it)";
  if (!text.starts_with(kBefore) || !text.ends_with(kBehind)) return "another one: " + text;
  return text.substr(kBefore.size(), text.size() - kBefore.size() - kBehind.size());
}

TEST("tables that do not fit the file are told, and what is wrong with them") {
  const Packed packed = pack(ContextBuilder().build(), 1000);
  const std::size_t frames = packed.sizes.size();
  const Bytes good = packed.file();
  Bytes file = good;
  file[file.size() - 5] = std::byte{0x44};
  CHECK_EQ(complaint_about_table(file), "unknown kind 0x44");
  file = good;
  file[file.size() - 6] = std::byte{8};
  CHECK_EQ(complaint_about_table(file),
           fmt::format("{} frames are not in {} bytes", 0x8000000 + frames, file.size()));
  file = good;
  file.erase(file.end() - 20);
  CHECK_EQ(complaint_about_table(file),
           fmt::format("it does not begin at byte {}, where one of {} bytes would", packed.frames.size() - 1,
                       17 + 8 * frames));
  file = good;
  file[packed.frames.size() + 4] ^= std::byte{1};
  CHECK(complaint_about_table(file).starts_with("it does not begin at byte"));
  file = good;
  file.erase(file.begin() + 20);
  CHECK_EQ(complaint_about_table(file), fmt::format("its frames end at byte {}, and it begins at {}",
                                                    packed.frames.size(), packed.frames.size() - 1));
}

TEST("frames that cannot be are refused before anything is made of them") {
  Packed packed = pack(long_context(), 500'000);
  const std::uint32_t size = packed.sizes[2].packed;
  packed.sizes[2].unpacked = size * 32768 + 1;
  CHECK_EQ(complaint_about_table(packed.file()),
           fmt::format("frame 2 cannot have {} bytes with {} in them", size, size * 32768 + 1));
  packed.sizes[2].packed = 7;
  CHECK(complaint_about_table(packed.file()).starts_with("frame 2 cannot have 7 bytes"));
}

TEST("many frames, in the right places") {
  const Bytes bytes = long_context();
  for (const std::size_t size : {1'000UL, 131'072UL, 1'000'000UL, 10'000'000UL}) {
    const Bytes file = pack(bytes, size).file();
    CHECK(unpacked(file) == bytes);
    Bytes shifted(77, std::byte{'x'});
    shifted.insert(shifted.end(), file.begin(), file.end());
    UniqueFd fd = file_of(shifted);
    ::lseek(fd.get(), 77, SEEK_SET);
    const Source source = Source::from_fd(std::move(fd), "f");
    CHECK(source.compressed());
    CHECK(contents(source) == bytes);
  }
}

TEST("frames larger than what is unpacked at once, empty ones, and ones to be skipped") {
  Bytes bytes = long_context();
  while (bytes.size() < 11'000'000) bytes.insert(bytes.end(), bytes.begin(), bytes.begin() + 1'000'001);
  Packed packed;
  packed.add(std::span(bytes).first(10'000'000));
  packed.add({});
  const Bytes skipped = {std::byte{0x50}, std::byte{0x2a}, std::byte{0x4d}, std::byte{0x18}, std::byte{1},
                         std::byte{},     std::byte{},     std::byte{},     std::byte{'x'}};
  packed.frames.insert(packed.frames.end(), skipped.begin(), skipped.end());
  packed.sizes.push_back({9, 0});
  packed.add(std::span(bytes).subspan(10'000'000));
  CHECK(unpacked(packed.file()) == bytes);
}

TEST("a context that begins in several tiny frames, or behind empty ones") {
  const Bytes bytes = ContextBuilder().build();
  CHECK(unpacked(pack(bytes, 3).file()) == bytes);
  Packed packed;
  packed.add({});
  packed.add(bytes);
  CHECK(unpacked(packed.file()) == bytes);
}

TEST("a table that tells other sizes than the frames have") {
  const Packed good = pack(long_context(), 100'000);
  Packed packed = good;
  packed.sizes[3].unpacked = 99'999;
  packed.sizes[4].unpacked = 100'001;
  const std::string text = complaint(packed.file());
  CHECK(text.starts_with("f: the zstd frame at byte "));
  CHECK(text.ends_with(" contains more than the expected 99999 bytes") ||
        text.ends_with(" contains 100000 bytes, not the expected 100001"));
  packed = good;
  ++packed.sizes[30].unpacked;
  CHECK(complaint(packed.file()).ends_with(" contains 31000 bytes, not the expected 31001"));
  packed.sizes[30].unpacked -= 2;
  CHECK(complaint(packed.file()).ends_with(" contains more than the expected 30999 bytes"));
  packed = good;
  packed.sizes[7].packed += 5;
  packed.sizes[8].packed -= 5;
  CHECK(complaint(packed.file()).starts_with("f: "));
}

TEST("a frame that ends before its place does, or behind it") {
  const Bytes bytes = long_context();
  Packed packed;
  packed.add(std::span(bytes).first(1000));
  packed.add(std::span(bytes).subspan(1000));
  Packed merged = packed;
  merged.sizes = {
      {static_cast<std::uint32_t>(packed.frames.size()), static_cast<std::uint32_t>(bytes.size())}};
  CHECK_EQ(complaint(merged.file()),
           fmt::format("f: the zstd frame at byte 0 ends at byte {}, not at the expected {}",
                       packed.sizes[0].packed, packed.frames.size()));
  Packed cut = packed;
  cut.frames.erase(cut.frames.end() - 6, cut.frames.end());
  cut.sizes[1].packed -= 6;
  CHECK_EQ(complaint(cut.file()),
           fmt::format("f: the zstd frame at byte {} is not complete at byte {}, where it should end",
                       packed.sizes[0].packed, cut.frames.size()));
}

TEST("a byte of a table that is another one is noticed, or does not matter") {
  const Bytes bytes = ContextBuilder::smallest().build();
  const Packed packed = pack(bytes, bytes.size() / 3);
  for (std::size_t at = packed.frames.size(); at < packed.file().size(); ++at)
    for (const std::byte bit : {std::byte{1}, std::byte{0x10}, std::byte{0x80}}) {
      Bytes file = packed.file();
      file[at] ^= bit;
      try {
        if (unpacked(file) != bytes)
          tap::failure(__FILE__, __LINE__, fmt::format("byte {}: other contents", at));
      } catch (const Error& error) {
        CHECK_EQ(error.code(), EBADMSG);
      }
    }
}

TEST("frames that are damaged, one of many") {
  const Packed packed = pack(long_context(), 50'000);
  for (const std::size_t frame : {0UL, 30UL, packed.sizes.size() - 1}) {
    Bytes file = packed.file();
    std::size_t at = 0;
    for (std::size_t i = 0; i < frame; ++i) at += packed.sizes[i].packed;
    file[at + packed.sizes[frame].packed / 2] ^= std::byte{0x40};
    file[at + packed.sizes[frame].packed - 30] ^= std::byte{0x40};
    CHECK(complaint(file).starts_with("f: "));
    CHECK(complaint(file).find("damaged zstd stream: ") != std::string::npos);
  }
}

TEST("a frame that claims to hold an exabyte takes no memory for it") {
  // Its header: the size in 8 bytes, and all of it in one segment.
  Bytes frame = {std::byte{0x28}, std::byte{0xb5}, std::byte{0x2f}, std::byte{0xfd}, std::byte{0xe0}};
  frame.insert(frame.end(), 7, std::byte{});
  frame.push_back(std::byte{0x10});
  frame.insert(frame.end(), {std::byte{0x1b}, std::byte{}, std::byte{}, std::byte{'x'}});
  Packed packed;
  packed.add(ContextBuilder().build());
  packed.frames.insert(packed.frames.end(), frame.begin(), frame.end());
  packed.sizes.push_back({static_cast<std::uint32_t>(frame.size()), 17 * 32768});
  CHECK(
      complaint(packed.file()).ends_with("damaged zstd stream: Frame requires too much memory for decoding"));
}

TEST("frames without a context are refused before they are unpacked") {
  CHECK_EQ(complaint(pack(Bytes(5'000'000, std::byte{'x'}), 1'000'000).file()), "f is not a context");
}

// As cr_restart takes it from a pipe.
Bytes unpacked_piped(const Bytes& file) {
  ::signal(SIGPIPE, SIG_IGN);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) fail_errno("pipe");
  UniqueFd reader(ends[0]);
  std::jthread feeder([&file, fd = ends[1]] {
    const UniqueFd writer(fd);
    for (std::span<const std::byte> rest(file); !rest.empty();) {
      const ssize_t n = ::write(writer.get(), rest.data(), rest.size());
      if (n <= 0) return;
      rest = rest.subspan(static_cast<std::size_t>(n));
    }
  });
  return contents(Source::from_fd(std::move(reader), "pipe"));
}

TEST("through a pipe: frames of all kinds come to their places") {
  Bytes bytes = long_context();
  for (const std::size_t size : {9'999UL, 400'000UL, 10'000'000UL}) {
    CHECK(unpacked_piped(pack(bytes, size).file()) == bytes);
    CHECK(unpacked_piped(pack(bytes, size).frames) == bytes);
  }
  // Some without their size, as those that zstd makes of a pipe, and one that does not compress and is large.
  while (bytes.size() < 24'000'000) bytes.push_back(static_cast<std::byte>(::random()));
  Packed packed;
  std::size_t done = 0;
  for (int i = 0; done < bytes.size(); ++i) {
    const std::size_t size =
        std::min<std::size_t>(i == 20 ? 17'000'000 : 100'000 + 1000 * i, bytes.size() - done);
    const auto part = std::span(bytes).subspan(done, size);
    if (i % 3 == 1)
      packed.add_sizeless(part);
    else
      packed.add(part, 1);
    done += size;
  }
  CHECK(unpacked_piped(packed.frames) == bytes);
}

// What is said of such a stream.
std::string complaint_piped(const Bytes& file) {
  try {
    (void)unpacked_piped(file);
  } catch (const Error& error) {
    CHECK_EQ(error.code(), EBADMSG);
    return error.what();
  }
  return "(accepted)";
}

TEST("through a pipe: what is damaged or cut is told") {
  const Packed packed = pack(long_context(), 50'000);
  std::size_t last = packed.frames.size() - packed.sizes.back().packed;
  Bytes file = packed.frames;
  file.resize(last + 20);
  CHECK_EQ(complaint_piped(file),
           fmt::format("pipe is truncated: its zstd stream ends at byte {} inside a frame", last + 20));
  file = packed.frames;
  file[last] ^= std::byte{1};
  CHECK_EQ(complaint_piped(file),
           fmt::format("pipe: byte {}: damaged zstd stream: Unknown frame descriptor", last + 4));
  for (const std::size_t frame : {0UL, 1UL, 30UL}) {
    std::size_t at = 0;
    for (std::size_t i = 0; i < frame; ++i) at += packed.sizes[i].packed;
    file = packed.frames;
    file[at + packed.sizes[frame].packed - 2] ^= std::byte{1};
    CHECK(complaint_piped(file).ends_with("damaged zstd stream: Restored data doesn't match checksum"));
  }
}

TEST("through a pipe: a frame that promises what it cannot have, or has not") {
  // Of one repeated byte, four times: its size in 4 bytes, all of it in one segment.
  for (const std::uint8_t size : {0x10, 0x00}) {
    Packed packed;
    packed.add(ContextBuilder().build());
    for (const int byte : {0x28, 0xb5, 0x2f, 0xfd, 0xa0, 0x10, 0, int{size}, 0x7f, 0x23, 0, 0, int{'x'}})
      packed.frames.push_back(static_cast<std::byte>(byte));
    packed.add(Bytes(100));
    const std::string text = complaint_piped(packed.frames);
    CHECK(text.find("damaged zstd stream: ") != std::string::npos);
  }
}

TEST("where frames end is found without decompressing them, however the stream is cut") {
  Packed packed = pack(long_context(), 300'000);
  packed.add(Bytes(600'000));  // in blocks of one byte, repeated
  packed.add({});
  for (const std::size_t step : {1UL, 7UL, 4096UL, 10'000'000UL}) {
    std::size_t at = 0;
    for (const FrameSizes& sizes : packed.sizes) {
      FrameScanner scanner;
      std::size_t taken = 0;
      while (!scanner.complete() && !scanner.broken() && at + taken < packed.frames.size()) {
        const std::size_t part = std::min(step, packed.frames.size() - at - taken);
        taken += scanner.scan(std::span(packed.frames).subspan(at + taken, part));
      }
      CHECK(scanner.complete());
      CHECK_EQ(taken, sizes.packed);
      CHECK_EQ(scanner.contents().value_or(0), sizes.unpacked);
      at += taken;
    }
  }
}

TEST("a thread pool: all work is done, and the first error ends all and is told") {
  std::atomic<int> done = 0;
  std::atomic<int> stops = 0;
  ThreadPool pool([&] { ++stops; });
  for (int i = 0; i < 3; ++i) CHECK(pool.start([&] { ++done; }));
  pool.run([&] { ++done; });
  pool.join();
  CHECK_EQ(done.load(), 4);
  CHECK_EQ(stops.load(), 0);
  for (int i = 0; i < 3; ++i)
    CHECK(pool.start([&] {
      while (stops == 0) std::this_thread::yield();
    }));
  pool.run([] { fail(ENOSPC, "no more room"); });
  CHECK_ERROR(ENOSPC, "no more room", pool.join());
  CHECK_EQ(stops.load(), 1);
}

TEST("processors: one at least, and no more than there are") {
  CHECK(processors() >= 1);
  CHECK(processors() <= static_cast<std::size_t>(::sysconf(_SC_NPROCESSORS_CONF)));
  cpu_set_t before;
  CHECK_EQ(::sched_getaffinity(0, sizeof(before), &before), 0);
  int first = 0;
  while (!CPU_ISSET(first, &before)) ++first;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  CHECK_EQ(::sched_setaffinity(0, sizeof(one), &one), 0);
  CHECK_EQ(processors(), 1U);
  CHECK_EQ(::sched_setaffinity(0, sizeof(before), &before), 0);
}

}  // namespace
