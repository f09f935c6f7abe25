// SPDX-License-Identifier: GPL-2.0-only
// Contexts that must be refused: cut, flipped, inconsistent.
#include <linux/sched.h>
#include <signal.h>
#include <sys/stat.h>

#include <cstdlib>
#include <cstring>

#include "unit/damage.h"

namespace {

using namespace cryo;
using test::ContextBuilder;
using test::read;
using test::refused;

cryo_vma& vma(ContextBuilder& builder, std::size_t i) {
  return builder.context.mms.at(1).vmas[i];
}

TEST("cut at every byte") {
  const Bytes bytes = ContextBuilder().build();
  for (std::size_t length = 1; length < bytes.size(); ++length)
    CHECK_ERROR(EBADMSG, "test is truncated: ends at byte " + std::to_string(length) + " without an end mark",
                read(std::span(bytes).first(length)));
  CHECK_ERROR(EBADMSG, "test is empty", read({}));
}

// All bits of the header, and of each byte behind it one: checksums treat those alike. With CRYO_CHECK_ALL,
// all.
bool is_tried(std::size_t bit) {
  static const bool all = std::getenv("CRYO_CHECK_ALL") != nullptr;
  return all || bit / 8 < sizeof(cryo_file_header) || bit % 8 == bit / 8 % 8;
}

TEST("flipped bits are noticed") {
  Bytes bytes = ContextBuilder().build();
  std::size_t unnoticed = 0;
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    if (!is_tried(bit)) continue;
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    try {
      (void)read(bytes);
      ++unnoticed;
      tap::failure(__FILE__, __LINE__, fmt::format("bit {} of byte {}", bit % 8, bit / 8));
    } catch (const Error& e) {
      if (e.code() != EBADMSG) tap::failure(__FILE__, __LINE__, e.what());
    }
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
  }
  CHECK_EQ(unnoticed, 0U);
  (void)read(bytes);
}

TEST("bytes after the end mark") {
  Bytes bytes = ContextBuilder().build();
  bytes.push_back(std::byte{0});
  CHECK_ERROR(EBADMSG, "1 bytes follow the end mark", read(bytes));
}

TEST("transfers that change bytes are named") {
  Bytes text = ContextBuilder().build();
  text.erase(text.begin() + 5);  // CR LF became LF
  CHECK_ERROR(EBADMSG, "text mode", read(text));
  Bytes stripped = ContextBuilder().build();
  stripped[0] = std::byte{0x09};
  CHECK_ERROR(EBADMSG, "not 8-bit clean", read(stripped));
  CHECK_ERROR(EBADMSG, "is not a context", read(Bytes(100, std::byte{'x'})));
}

TEST("padding must be zero, all of it") {
  Bytes bytes = ContextBuilder(CRYO_ARCH_PPC64LE, 65536).build();
  const std::uint64_t payload = read(bytes).pages[0].data_offset;
  for (const std::uint64_t back : {1, 4096, 4097, 20000, 40000}) {
    bytes[payload - back] = std::byte{1};
    CHECK_ERROR(EBADMSG, "padding before its payload is not zero", read(bytes));
    const Context unverified = read(bytes, {.verify_pages = false});
    CHECK_ERROR(EBADMSG, "padding before its payload is not zero",
                verify_pages(Source::from_memory(bytes, "test"), unverified.pages));
    bytes[payload - back] = std::byte{0};
  }
  (void)read(bytes);
}

TEST("reserved fields must be zero") {
  refused("file header: reserved", [](ContextBuilder& b) { b.context.header.reserved = 1; });
  Bytes bytes = ContextBuilder().build();
  bytes[test::section_offsets(bytes)[0] + offsetof(cryo_section, reserved)] = std::byte{1};
  test::reseal(bytes);
  CHECK_ERROR(EBADMSG, "SYSTEM: reserved", read(bytes));
}

TEST("lengths that do not fit") {
  const Bytes good = ContextBuilder().build();
  const std::uint64_t at = test::section_offsets(good)[3];
  const auto with = [&](auto change) {
    Bytes bytes = good;
    cryo_section head;
    std::memcpy(&head, &bytes[at], sizeof(head));
    change(head);
    std::memcpy(&bytes[at], &head, sizeof(head));
    return bytes;
  };
  const ReadOptions unchecked{.check_crcs = false};
  CHECK_ERROR(EBADMSG, "is truncated", read(with([](auto& h) { h.length = ~0ULL; }), unchecked));
  CHECK_ERROR(EBADMSG, "is truncated", read(with([](auto& h) { h.length = ~0ULL - 40; }), unchecked));
  CHECK_ERROR(EBADMSG, "longer than the section", read(with([](auto& h) { h.fixed_len = ~0U; }), unchecked));
  CHECK_ERROR(EBADMSG, "padding", read(with([](auto& h) { h.pad = ~0U; }), unchecked));
}

TEST("huge and wrong counts") {
  const auto count = [](std::uint16_t type, std::size_t offset, std::uint32_t value) {
    return [=](ContextBuilder& b) {
      b.edit = [=](test::RawSection& s) {
        if (s.type == type) std::memcpy(&s.fixed[offset], &value, sizeof(value));
      };
    };
  };
  const std::size_t n = offsetof(cryo_array, count);
  const std::size_t size = offsetof(cryo_array, record_size);
  refused("RLIMITS: 4294967295 records", count(CRYO_SEC_RLIMITS, n, ~0U));
  refused("FDS: 4294967295 records", count(CRYO_SEC_FDS, n, ~0U));
  refused("FDS: records of 0 bytes", count(CRYO_SEC_FDS, size, 0));
  refused("FDS: 7 records of 4294967295 bytes", count(CRYO_SEC_FDS, size, ~0U));
  refused("INDEX: ", count(CRYO_SEC_INDEX, n, ~0U));
  refused("CREDS: ", count(CRYO_SEC_CREDS, offsetof(cryo_creds, nr_groups), ~0U));
  refused("THREAD: 67108864 records", count(CRYO_SEC_THREAD, offsetof(cryo_thread, nr_cpus), ~0U));
  refused("PIPE: packet 2 is outside", count(CRYO_SEC_PIPE, offsetof(cryo_pipe, packets), ~0U));
  refused("PAGES: ", count(CRYO_SEC_PAGES, offsetof(cryo_pages, nr_runs), ~0U));
  refused("PAGES: 1 pages in its runs", count(CRYO_SEC_PAGES, offsetof(cryo_pages, nr_pages), 2));
  refused("SIGPENDING: ", count(CRYO_SEC_SIGPENDING, offsetof(cryo_sigpending, count), 1U << 31));
}

TEST("sections without a payload") {
  for (const std::uint16_t type : {CRYO_SEC_SYSTEM, CRYO_SEC_PROCESS, CRYO_SEC_VMA, CRYO_SEC_PAGES,
                                   CRYO_SEC_FILE, CRYO_SEC_THREAD, CRYO_SEC_REGSET, CRYO_SEC_END})
    refused("", [=](ContextBuilder& b) {
      b.edit = [=](test::RawSection& s) {
        if (s.type != type) return;
        s.fixed.clear();
        s.tail.clear();
      };
    });
}

TEST("a packet longer than its pipe") {
  refused("PIPE: packet 0 of 4294967295 bytes", [](ContextBuilder& b) {
    b.edit = [](test::RawSection& s) {
      if (s.type == CRYO_SEC_PIPE) std::memset(s.tail.data(), 0xff, sizeof(std::uint32_t));
    };
  });
}

TEST("totals") {
  const auto keep = [](auto change) {
    return [=](ContextBuilder& b) {
      b.context.system.processes = b.context.system.threads = 1;
      b.process().head.threads = 1;
      b.process().creds->head.nr_groups = 3;
      b.context.mms.at(1).head.nr_vmas = 3;
      b.fix_totals = false;
      change(b);
    };
  };
  refused("SYSTEM says", keep([](ContextBuilder& b) { b.context.system.processes = 2; }));
  refused("SYSTEM says", keep([](ContextBuilder& b) { b.context.system.threads = 2; }));
  refused("process 1000 has 2 threads, 1 are there",
          keep([](ContextBuilder& b) { b.process().head.threads = 2; }));
  refused("has 0 threads", keep([](ContextBuilder& b) { b.process().head.threads = 0; }));
  refused("4 areas, 3 are there", keep([](ContextBuilder& b) { b.context.mms.at(1).head.nr_vmas = 4; }));
  refused("END: it says", [](ContextBuilder& b) { b.edit_end = [](cryo_end& e) { e.total_len++; }; });
  refused("that INDEX is at", [](ContextBuilder& b) { b.edit_end = [](cryo_end& e) { e.index_offset++; }; });
  refused("sections, ", [](ContextBuilder& b) { b.edit_end = [](cryo_end& e) { e.sections++; }; });
  refused("bytes of pages", [](ContextBuilder& b) { b.edit_end = [](cryo_end& e) { e.page_bytes++; }; });
}

TEST("order of sections") {
  const auto retype = [](std::uint16_t from, std::uint16_t to) {
    return [=](ContextBuilder& b) {
      b.edit = [=](test::RawSection& s) {
        if (s.type != from) return;
        s.type = to;
        s.flags = 0;
      };
    };
  };
  refused("first section instead of SYSTEM", retype(CRYO_SEC_SYSTEM, CRYO_SEC_CPU));
  refused("no PAGES section before it", retype(CRYO_SEC_PAGES, 99 /* optional */));
  refused("instead of PAGE_DATA", retype(CRYO_SEC_PAGE_DATA, 99));
  refused("no INDEX section before it", retype(CRYO_SEC_INDEX, CRYO_SEC_END));
  refused("instead of END", retype(CRYO_SEC_END, 99));
  refused("SYSTEM: object 0 has it twice", [](ContextBuilder& b) {
    b.extra.push_back({CRYO_SEC_SYSTEM, 0, 0, test::bytes_of(cryo_system{}), {}});
  });
}

TEST("index entries that point to nothing") {
  const auto entry = [](std::size_t offset) {
    return [=](ContextBuilder& b) {
      b.edit = [=](test::RawSection& s) {
        if (s.type == CRYO_SEC_INDEX) s.tail[sizeof(cryo_index_entry) + offset] ^= std::byte{1};
      };
    };
  };
  refused("INDEX: no ", entry(offsetof(cryo_index_entry, offset)));
  refused("INDEX: no ", entry(offsetof(cryo_index_entry, type)));
  refused("INDEX: no ", entry(offsetof(cryo_index_entry, object)));
}

TEST("areas of memory") {
  refused("overlaps", [](ContextBuilder& b) { vma(b, 1).start = vma(b, 0).end - 4096; });
  refused("overlaps", [](ContextBuilder& b) { std::swap(vma(b, 0), vma(b, 1)); });
  refused("no range of pages", [](ContextBuilder& b) { vma(b, 1).end = vma(b, 1).start; });
  refused("no range of pages", [](ContextBuilder& b) { vma(b, 1).start += 1; });
  refused("no range of pages", [](ContextBuilder& b) { vma(b, 1).end = 0; });
  refused("unknown kind", [](ContextBuilder& b) { vma(b, 0).kind = 77; });
  refused("protection key 0", [](ContextBuilder& b) { b.context.mms.at(1).head.pkeys = 1; });
  refused("unknown flags 0x8000000000000000", [](ContextBuilder& b) { vma(b, 0).flags |= 1ULL << 63; });
  refused("shared or of a file", [](ContextBuilder& b) { vma(b, 0).flags |= CRYO_VMA_SHADOW_STACK; });
  refused("maps no file", [](ContextBuilder& b) { vma(b, 0).file = 0; });
  refused("file 55 is not there", [](ContextBuilder& b) { vma(b, 0).file = 55; });
  refused("not at a page", [](ContextBuilder& b) { vma(b, 0).offset = 5; });
  refused("too large", [](ContextBuilder& b) { vma(b, 0).offset = ~0ULL - 4095; });
  refused("file 56", [](ContextBuilder& b) { b.context.mms.at(1).head.exe_file = 56; });
}

TEST("pages") {
  const auto run = [](std::size_t chunk, cryo_page_run value) {
    return [=](ContextBuilder& b) { b.context.pages[chunk].runs[0] = value; };
  };
  refused("outside of memory 1", run(0, {64 * 4096, 1}));
  refused("outside of memory 1", run(0, {18 * 4096, 1}));
  refused("outside of inode 3", run(1, {2 * 4096, 1}));
  refused("no range of pages", run(0, {17 * 4096 + 1, 1}));
  refused("no range of pages", run(0, {17 * 4096, 0}));
  refused("no range of pages", run(0, {17 * 4096, ~0ULL}));
  refused("no range of pages", run(0, {~0ULL << 12, 2}));
  refused("twice", [](ContextBuilder& b) { b.add_page_chunk(CRYO_PAGES_MM, 1, {{17 * 4096, 1}}); });
  refused("not in order", [](ContextBuilder& b) {
    b.add_page_chunk(CRYO_PAGES_MM, 1, {{32 * 4096, 1}, {16 * 4096, 1}});
  });
  refused("more than 512 pages", [](ContextBuilder& b) {
    vma(b, 2).end += 1024 * 4096;
    b.add_page_chunk(CRYO_PAGES_MM, 1, {{32 * 4096, 513}});
  });
  refused("memory 9, which", [](ContextBuilder& b) { b.context.pages[0].object = 9; });
  refused("inode 9, which", [](ContextBuilder& b) { b.context.pages[1].object = 9; });
  refused("unknown kind 3", [](ContextBuilder& b) { b.context.pages[1].kind = 3; });
  refused("instead of 4096", [](ContextBuilder& b) { b.page_data[0].resize(4000); });
  refused("its object", [](ContextBuilder& b) {
    b.edit = [](test::RawSection& s) {
      if (s.type == CRYO_SEC_PAGE_DATA) s.object = 8;
    };
  });
}

TEST("a processor of another architecture") {
  refused("describes x86_64, the file header says aarch64", [](ContextBuilder& b) {
    b.edit = [](test::RawSection& s) {
      if (s.type == CRYO_SEC_CPU) s.object = CRYO_ARCH_X86_64;
    };
    b.context.header.arch = CRYO_ARCH_AARCH64;
  });
}

TEST("processes") {
  refused("no process", [](ContextBuilder& b) { b.context.processes.clear(); });
  refused("defined twice", [](ContextBuilder& b) { b.context.processes.push_back(b.process()); });
  refused("memory 77 is not there", [](ContextBuilder& b) { b.process().head.mm = 77; });
  refused("no CREDS", [](ContextBuilder& b) { b.process().creds.reset(); });
  refused("no CWD", [](ContextBuilder& b) { b.process().cwd.reset(); });
  refused("no RLIMITS", [](ContextBuilder& b) { b.process().rlimits.clear(); });
  refused("no SIGACTIONS", [](ContextBuilder& b) { b.process().sigactions.clear(); });
  refused("0 cannot be a pid", [](ContextBuilder& b) { b.process().head.pid = 0; });
  refused("-5 cannot be a pid", [](ContextBuilder& b) { b.process().head.pid = -5; });
  refused("is negative", [](ContextBuilder& b) { b.process().head.ppid = -1; });
  refused("NUL byte", [](ContextBuilder& b) { b.process().command.assign(3, '\0'); });
  refused("empty path", [](ContextBuilder& b) { b.process().cwd->path.clear(); });
  refused("unknown flags", [](ContextBuilder& b) { b.process().head.flags = 1U << 31; });
  refused("above its hard limit", [](ContextBuilder& b) { b.process().rlimits[2] = {2, 1}; });
  refused("65 signals", [](ContextBuilder& b) { b.process().sigactions.resize(65); });
  refused("not pending", [](ContextBuilder& b) { b.process().pending.signals = 2; });
  for (const int status : {SIGSTOP, SIGTSTP, SIGCHLD, 65, 0x7f, 0x13f, 0x10000, -1})
    refused("process 1001 has exited with the status", [status](ContextBuilder& b) {
      Process& zombie = b.context.processes.emplace_back();
      zombie.head.pid = 1001, zombie.head.ppid = 1000;
      zombie.head.flags = CRYO_PROC_ZOMBIE, zombie.head.exit_code = status;
    });
}

TEST("directories of threads") {
  const auto with = [](std::int32_t same_as, const char* path = "/a") {
    return [=](ContextBuilder& b) { b.add_thread(1001).fs = ThreadFs{{{1, 2, 0, 0}, 022, same_as}, path}; };
  };
  ContextBuilder good;
  with(1001)(good);
  CHECK_EQ(read(good.build()).processes[0].threads[1].fs->path, "/a");
  refused("thread 1001: its working directory is not its own", with(1000));
  refused("thread 1001: its working directory is not its own", with(7));
  refused("an empty path", with(1001, ""));
  refused("thread 1000: its working directory is not its own", [](ContextBuilder& b) {
    b.thread().fs = ThreadFs{{{1, 2, 0, 0}, 022, 1000}, "/a"};
  });
}

TEST("copies of pages") {
  constexpr std::uint64_t kPage = 4096;
  ContextBuilder good = ContextBuilder::smallest();
  good.add_page_copy(16 * kPage, 1);
  const Context context = read(good.build());
  CHECK_EQ(context.pages.size(), 2U);
  CHECK_EQ(context.pages[1].data_offset, context.pages[0].data_offset);
  const auto refused_copy = [](std::string_view part, std::uint64_t start, std::uint64_t pages,
                               std::int64_t skip) {
    ContextBuilder builder = ContextBuilder::smallest();
    builder.add_page_copy(start, pages, skip);
    CHECK_ERROR(EBADMSG, part, read(builder.build()));
  };
  refused_copy("is not one of pages before it", 16 * kPage, 1, kPage);
  refused_copy("is not one of pages before it", 16 * kPage, 1, -static_cast<std::int64_t>(kPage));
  refused_copy("is not one of pages before it", 16 * kPage, 1, 8);
  refused_copy("is not one of pages before it", 16 * kPage, 2, 0);
  refused_copy("is no range of pages", 16 * kPage + 1, 1, 0);
  refused_copy("is no range of pages", 16 * kPage, 0, 0);
  refused_copy("appears twice", 17 * kPage, 1, 0);
  refused_copy("are outside of memory 1", 18 * kPage, 1, 0);
}

TEST("tags of memory") {
  constexpr std::uint64_t kPage = 4096;
  const Context context = read(ContextBuilder().build());
  CHECK_EQ(context.tags.size(), 2U);
  CHECK_EQ(context.tags[0].nr_pages, 1U);
  CHECK_EQ(context.tags[1].runs[0].nr_pages, 2U);
  CHECK(context.tags[1].tags == Bytes(256, std::byte{0x37}));
  const auto added = [](const char* text, std::uint32_t kind, std::uint32_t object,
                        std::vector<cryo_page_run> runs) {
    refused(text, [&](ContextBuilder& b) { b.add_tags(kind, object, runs); });
  };
  added("tags: page 0x10000 of memory 1 appears twice", CRYO_PAGES_MM, 1, {{16 * kPage, 2}});
  added("tags: pages 0x12000-0x13000 are outside of memory 1", CRYO_PAGES_MM, 1, {{18 * kPage, 1}});
  added("tags: pages 0x2000-0x3000 are outside of inode 3", CRYO_PAGES_INODE, 3, {{2 * kPage, 1}});
  added("is no range of pages", CRYO_PAGES_MM, 1, {{17 * kPage + 16, 1}});
  added("runs at 0x10000 are not in order", CRYO_PAGES_INODE, 3, {{17 * kPage, 1}, {16 * kPage, 1}});
  added("more than 512 pages", CRYO_PAGES_INODE, 3, {{0, 513}});
  added("0 pages in its runs", CRYO_PAGES_INODE, 3, {});
  added("does not have", CRYO_PAGES_INODE, 77, {{0, 1}});
  const auto edited = [](const char* text, void (*edit)(cryo_page_tags&)) {
    refused(text, [edit](ContextBuilder& b) {
      b.edit = [edit](test::RawSection& section) {
        if (section.type != CRYO_SEC_PAGE_TAGS) return;
        cryo_page_tags head;
        std::memcpy(&head, section.fixed.data(), sizeof(head));
        edit(head);
        std::memcpy(section.fixed.data(), &head, sizeof(head));
      };
    });
  };
  edited("tags of 64 bytes for a page of 4096", [](cryo_page_tags& head) { head.tag_bytes = 64; });
  edited("the tags of 3 pages do not fill", [](cryo_page_tags& head) { head.nr_pages = 3; });
  edited("records of 8 bytes", [](cryo_page_tags& head) { head.record_size = 8; });
  edited("9 runs of", [](cryo_page_tags& head) { head.nr_runs = 9; });
  edited("unknown kind 7", [](cryo_page_tags& head) { head.kind = 7; });
}

TEST("threads") {
  refused("no leader", [](ContextBuilder& b) {
    b.add_thread(1001);
    b.process().threads.erase(b.process().threads.begin());
  });
  refused("thread 1001 of process 1000 has exited",
          [](ContextBuilder& b) { b.add_thread(1001).head.flags |= CRYO_THREAD_EXITED; });
  refused("has exited, but there are registers", [](ContextBuilder& b) {
    b.add_thread(1001);
    b.thread().head.flags |= CRYO_THREAD_EXITED;
  });
  refused("all of its threads have exited", [](ContextBuilder& b) {
    b.thread().head.flags |= CRYO_THREAD_EXITED;
    b.thread().regsets.clear();
  });
  refused("leader flag is wrong", [](ContextBuilder& b) { b.thread().head.flags = 0; });
  refused("no registers", [](ContextBuilder& b) { b.thread().regsets.clear(); });
  refused("is empty", [](ContextBuilder& b) { b.thread().regsets[0].data.clear(); });
  refused("twice", [](ContextBuilder& b) { b.thread().regsets.push_back(b.thread().regsets[0]); });
  refused("defined twice", [](ContextBuilder& b) { b.add_thread(1001), b.add_thread(1001); });
  refused("process 7, which is not there", [](ContextBuilder& b) { b.add_thread(1001).head.pid = 7; });
  refused("not terminated", [](ContextBuilder& b) { std::memset(b.thread().head.comm, 'x', 16); });
  refused("interrupted call 5", [](ContextBuilder& b) { b.thread().head.restart.kind = 5; });
  refused("thread 1444, which", [](ContextBuilder& b) {
    b.extra.push_back({CRYO_SEC_REGSET, 1444, 0, test::bytes_of(cryo_regset_head{1, 8}), Bytes(8)});
  });
}

TEST("memory that is left out") {
  const auto change = [](const char* text, cryo_excluded range) {
    refused(text, [range](ContextBuilder& b) { b.context.mms.at(1).excluded.push_back(range); });
  };
  change("0x11001-0x12000 is no range of pages", {0x11001, 0x12000, 0});
  change("0x12000-0x12000 is no range of pages", {0x12000, 0x12000, 0});
  change("ranges at 0x10000 are not in order", {0x10000, 0x11000, 0});
  change("cannot have 2 pages", {0x11000, 0x12000, 2});
  change("0x11000-0x13000 is excluded, but is not private anonymous memory", {0x11000, 0x13000, 0});
  change("0x20000-0x21000 is excluded, but is not private anonymous memory", {0x20000, 0x21000, 0});
}

TEST("guard pages") {
  const auto change = [](const char* text, std::vector<cryo_page_run> runs) {
    refused(text, [runs](ContextBuilder& b) { b.context.mms.at(1).guards = runs; });
  };
  change("0x11001 +1 pages is no range of pages", {{0x11001, 1}});
  change("0x11000 +0 pages is no range of pages", {{0x11000, 0}});
  change("runs at 0x10000 are not in order", {{0x11000, 1}, {0x10000, 1}});
  change("the guard pages at 0x11000-0x13000 are in no area that may have them", {{0x11000, 2}});
  change("the guard pages at 0x1000-0x2000 are in no area that may have them", {{0x1000, 1}});
  refused("4097 runs, after 0 others", [](ContextBuilder& b) {
    for (std::uint64_t i = 0; i <= CRYO_GUARDS_MAX; ++i)
      b.context.mms.at(1).guards.push_back({0x10000 + i * 0x2000, 1});
  });
}

TEST("memory that has been used") {
  const auto change = [](const char* text, cryo_page_run run) {
    refused(text, [run](ContextBuilder& b) { b.context.mms.at(1).used.push_back(run); });
  };
  change("0x20001 +1 pages is no range of pages", {0x20001, 1});
  change("0x20000 +0 pages is no range of pages", {0x20000, 0});
  change("is no range of pages", {0x20000, ~std::uint64_t{0} / 4096});
  change("runs at 0x11000 are not in order", {0x11000, 1});
  const auto add = [](ContextBuilder& b, std::vector<cryo_page_run> runs) {
    Bytes tail;
    for (const cryo_page_run& run : runs)
      for (const std::byte byte : test::bytes_of(run)) tail.push_back(byte);
    const cryo_array head{static_cast<std::uint32_t>(runs.size()), sizeof(cryo_page_run)};
    b.extra.push_back({CRYO_SEC_PAGES_USED, 1, 0, test::bytes_of(head), std::move(tail)});
  };
  const auto many = [](std::uint64_t from, std::uint64_t count) {
    std::vector<cryo_page_run> runs;
    for (std::uint64_t i = 0; i < count; ++i) runs.push_back({from + i * 0x2000, 1});
    return runs;
  };
  refused("runs at 0x11000 are not in order", [&](ContextBuilder& b) { add(b, {{0x11000, 1}}); });
  refused("0 runs, after 1 others", [&](ContextBuilder& b) { add(b, {}); });
  refused("4097 runs, after 1 others", [&](ContextBuilder& b) { add(b, many(0x20000, CRYO_USED_MAX + 1)); });
  refused("4096 runs, after 61441 others", [&](ContextBuilder& b) {
    for (std::uint64_t i = 1; i <= CRYO_USED_MAX_RUNS / CRYO_USED_MAX; ++i)
      add(b, many(i << 32, CRYO_USED_MAX));
  });
  refused("0 cannot be an id", [&](ContextBuilder& b) {
    add(b, {{0x20000, 1}});
    b.extra.back().object = 0;
  });
}

TEST("names of memory") {
  const auto name = [](std::size_t index, std::string text) {
    return [=](ContextBuilder& b) { b.context.mms.at(1).names[index].text = text; };
  };
  refused("cannot have that name (0 bytes)", name(0, ""));
  refused("cannot have that name (80 bytes)", name(0, std::string(CRYO_VMA_NAME_MAX + 1, 'x')));
  refused("cannot have that name (2 bytes)", name(1, "a\n"));
  refused("cannot have that name (1 bytes)", name(1, "$"));
  refused("cannot have that name (2 bytes)", name(1, "\xc3\xa4"));
  refused("a NUL byte", name(1, std::string(1, '\0')));
  refused("is not in order", [](ContextBuilder& b) {
    std::vector<VmaName>& names = b.context.mms.at(1).names;
    std::swap(names[0], names[1]);
  });
  const auto area = [](std::size_t index, std::uint64_t start, std::uint64_t end) {
    return [=](ContextBuilder& b) { b.context.mms.at(1).names[index].head = {start, end}; };
  };
  refused("0x21000-0x22000 has a name, and is no area of anonymous memory", area(1, 0x21000, 0x22000));
  refused("0x8000-0xc000 has a name, and is no area", area(0, 0x8000, 0xc000));
  refused("0x40000-0x41000 has a name, and is no area", area(1, 0x40000, 0x41000));
}

TEST("placement") {
  refused("clamp of 1025", [](ContextBuilder& b) { b.thread().uclamp->max = 1025; });
  refused("mode 64", [](ContextBuilder& b) { b.thread().mempolicy->mode = 64; });
  refused("flags 0x1", [](ContextBuilder& b) { b.thread().mempolicy->flags = 1; });
  refused("home node 1024", [](ContextBuilder& b) { b.thread().mempolicy->home_node = 1024; });
  refused("policy of 0x1-0x1", [](ContextBuilder& b) {
    b.thread().mempolicy->start = b.thread().mempolicy->end = b.thread().mempolicy->of_mm = 1;
  });
  refused("outside of memory 1", [](ContextBuilder& b) {
    b.extra.push_back({CRYO_SEC_MEMPOLICY, 1, 0, test::bytes_of(cryo_array{1, sizeof(cryo_mempolicy)}),
                       test::bytes_of(cryo_mempolicy{0, 4096, 2, 0, -1, 1, {1}})});
  });
  refused("-1 cannot be a process group", [](ContextBuilder& b) { b.process().terminal->pgid = -1; });
  refused("no path of a control group", [](ContextBuilder& b) { b.process().cgroup = "batch"; });
}

TEST("seccomp") {
  refused("mode 3", [](ContextBuilder& b) { b.thread().seccomp.mode = 3; });
  refused("mode 1 with 2 filters", [](ContextBuilder& b) { b.thread().seccomp.mode = 1; });
  refused("mode 2 with 0 filters", [](ContextBuilder& b) { b.thread().seccomp.filters.clear(); });
  refused("filter of 0 instructions",
          [](ContextBuilder& b) { b.thread().seccomp.filters[1].program.clear(); });
  refused("of 4097 instructions",
          [](ContextBuilder& b) { b.thread().seccomp.filters[0].program.resize(4097); });
  refused("unknown flags 0x8", [](ContextBuilder& b) { b.thread().seccomp.filters[0].flags = 8; });
  refused("after the last filter", [](ContextBuilder& b) {
    b.edit = [](test::RawSection& s) {
      if (s.type == CRYO_SEC_SECCOMP) s.tail.push_back(std::byte{1});
    };
  });
  refused("thread 1444, which", [](ContextBuilder& b) {
    b.extra.push_back({CRYO_SEC_SECCOMP, 1444, 0, test::bytes_of(cryo_seccomp{1, 0, 0, 0}), {}});
  });
}

TEST("page sizes that are none") {
  for (const std::uint32_t size : {0U, 1U, 2048U, 4097U, 1U << 31})
    refused("is impossible", [=](ContextBuilder& b) {
      b.edit = [](test::RawSection& s) { s.align = 8; };
      b.context.header.page_size = size;
    });
}

}  // namespace
