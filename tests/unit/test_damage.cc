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
    CHECK_ERROR(EBADMSG, "test is cut: ends at byte " + std::to_string(length) + " without an end mark",
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
  CHECK_ERROR(EBADMSG, "is cut", read(with([](auto& h) { h.length = ~0ULL; }), unchecked));
  CHECK_ERROR(EBADMSG, "is cut", read(with([](auto& h) { h.length = ~0ULL - 40; }), unchecked));
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
  refused_copy("comes twice", 17 * kPage, 1, 0);
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
  added("tags: page 0x10000 of memory 1 comes twice", CRYO_PAGES_MM, 1, {{16 * kPage, 2}});
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
  change("0x11000-0x13000 is left out, and is no private anonymous memory", {0x11000, 0x13000, 0});
  change("0x20000-0x21000 is left out, and is no private anonymous memory", {0x20000, 0x21000, 0});
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

TEST("files and descriptors") {
  const auto file = [](ContextBuilder& b, std::uint32_t id) -> File& { return b.context.files.at(id); };
  refused("inode 66 is not there", [&](ContextBuilder& b) { file(b, 1).head.inode = 66; });
  refused("file 2 has no PIPE", [](ContextBuilder& b) { b.context.inodes.at(2).pipe.reset(); });
  refused("file 5 has no SOCKET", [&](ContextBuilder& b) { file(b, 5).socket.reset(); });
  refused("file 6 has no EVENTFD", [&](ContextBuilder& b) { file(b, 6).eventfd.reset(); });
  refused("file 7 has no contents", [](ContextBuilder& b) { b.context.inodes.at(3).head.flags = 0; });
  refused("unknown kind 99", [&](ContextBuilder& b) { file(b, 6).head.kind = 99; });
  refused("empty path", [&](ContextBuilder& b) { file(b, 1).path.clear(); });
  refused("4294967295 cannot be a descriptor", [&](ContextBuilder& b) { file(b, 8).head.stdio_fd = ~0U; });
  refused("descriptor 3: file 44", [](ContextBuilder& b) { b.process().fds[1].file = 44; });
  refused("descriptor 3 comes twice", [](ContextBuilder& b) { b.process().fds[2].fd = 3; });
  refused("cannot be a descriptor", [](ContextBuilder& b) { b.process().fds[2].fd = ~0U; });
  refused("lock of file 44", [](ContextBuilder& b) { b.process().locks[0].file = 44; });
  refused("unknown kind of lock", [](ContextBuilder& b) { b.process().locks[0].kind = 0; });
  refused("a lock of bytes 5 to 4",
          [](ContextBuilder& b) { b.process().locks[0].start = 5, b.process().locks[0].end = 4; });
  refused("a path of 5000 bytes", [&](ContextBuilder& b) { file(b, 5).socket->head.path_len = 5000; });
  refused("is not absolute", [&](ContextBuilder& b) { file(b, 5).socket->head.path_len = 1; });
  refused("address of 129 bytes", [&](ContextBuilder& b) { file(b, 5).socket->address.resize(129); });
  refused("build-id of 65 bytes", [&](ContextBuilder& b) { file(b, 1).build_id.resize(65); });
  refused("too large", [](ContextBuilder& b) { b.context.inodes.at(1).head.size = ~0ULL; });
  refused("0 cannot be an id", [](ContextBuilder& b) {
    b.extra.push_back({CRYO_SEC_INODE, 0, 0, test::bytes_of(cryo_inode{}), {}});
  });
  refused("a socket's name stands for something else", [](ContextBuilder& b) {
    b.extra.push_back({CRYO_SEC_SOCKET_FILE, 5, 0, test::bytes_of(cryo_inode{}), {}});
  });
  refused("file 90, which", [](ContextBuilder& b) {
    b.extra.push_back({CRYO_SEC_EVENTFD, 90, 0, test::bytes_of(cryo_eventfd{}), {}});
  });
}

TEST("event descriptors") {
  const auto target = [](ContextBuilder& b) -> cryo_epoll_target& { return b.context.files.at(4).epoll[0]; };
  refused("it watches file 77", [&](ContextBuilder& b) { target(b).file = 77; });
  refused("cannot be a descriptor", [&](ContextBuilder& b) { target(b).fd = 1U << 31; });
  refused("of a target", [&](ContextBuilder& b) { target(b).flags = 2; });
  const auto timer = [](ContextBuilder& b) -> cryo_timerfd& { return *b.context.files.at(40).timerfd; };
  refused("file 40 has no TIMERFD", [](ContextBuilder& b) { b.context.files.at(40).timerfd.reset(); });
  refused("file 41 has no SIGNALFD", [](ContextBuilder& b) { b.context.files.at(41).signalfd.reset(); });
  refused("its time left", [&](ContextBuilder& b) { timer(b).remaining_ns = CRYO_MAX_REMAINING_NS + 1; });
  refused("its time left", [&](ContextBuilder& b) { timer(b).remaining_ns = -CRYO_MAX_REMAINING_NS - 1; });
  refused("is impossible", [&](ContextBuilder& b) { timer(b).interval_ns = 1ULL << 63; });
  refused("unknown flags", [&](ContextBuilder& b) { timer(b).settime_flags = 4; });
  refused("unknown flags", [&](ContextBuilder& b) { timer(b).flags = 2; });
}

TEST("inotify") {
  const auto inotify = [](ContextBuilder& b) -> Inotify& { return *b.context.files.at(42).inotify; };
  refused("file 42 has no INOTIFY", [](ContextBuilder& b) { b.context.files.at(42).inotify.reset(); });
  refused("watch 1 is outside", [&](ContextBuilder& b) { inotify(b).head.watches = 2; });
  refused("after the last watch", [&](ContextBuilder& b) { inotify(b).head.watches = 0; });
  refused("path of watch 3 is outside", [&](ContextBuilder& b) { inotify(b).watches[0].head.path_len = 5; });
  refused("is not absolute", [&](ContextBuilder& b) { inotify(b).watches[0].path = "tmp/"; });
  refused("cannot have the number 0", [&](ContextBuilder& b) { inotify(b).watches[0].head.wd = 0; });
  refused("cannot be the next", [&](ContextBuilder& b) { inotify(b).head.next_wd = ~0U; });
}

TEST("fanotify") {
  const auto group = [](ContextBuilder& b) -> Fanotify& { return *b.context.files.at(62).fanotify; };
  refused("file 62 has no FANOTIFY", [](ContextBuilder& b) { b.context.files.at(62).fanotify.reset(); });
  refused("mark 1 is outside", [&](ContextBuilder& b) { group(b).head.marks = 2; });
  refused("after the last mark", [&](ContextBuilder& b) { group(b).head.marks = 0; });
  refused("path of mark 0 is outside", [&](ContextBuilder& b) { group(b).marks[0].head.path_len = 5; });
  refused("is not absolute", [&](ContextBuilder& b) { group(b).marks[0].path = "tmp/"; });
  refused("unknown kind 4", [&](ContextBuilder& b) { group(b).marks[0].head.kind = 4; });
  refused("unknown flags", [&](ContextBuilder& b) { group(b).marks[0].head.flags = 1; });
  refused("unknown flags", [&](ContextBuilder& b) { group(b).head.flags = 2; });
}

TEST("io_uring") {
  const auto ring = [](ContextBuilder& b) -> Uring& { return *b.context.files.at(61).uring; };
  refused("file 61 has no URING", [](ContextBuilder& b) { b.context.files.at(61).uring.reset(); });
  refused("unknown flags", [&](ContextBuilder& b) { ring(b).head.flags = 32; });
  refused("are impossible", [&](ContextBuilder& b) { ring(b).head.issuer = -1; });
  refused("which is not there", [&](ContextBuilder& b) { ring(b).head.issuer = 4711; });
  refused("are impossible", [&](ContextBuilder& b) { ring(b).head.sq_entries = 3; });
  refused("are impossible", [&](ContextBuilder& b) { ring(b).head.sq_entries = 0; });
  refused("are impossible", [&](ContextBuilder& b) { ring(b).head.sq_entries = 1U << 31; });
  refused("are impossible", [&](ContextBuilder& b) { ring(b).head.cq_entries = 1; });
  refused("are impossible", [&](ContextBuilder& b) { ring(b).head.eventfd_async = 2; });
  refused("are not what is in it", [&](ContextBuilder& b) { ring(b).submissions.pop_back(); });
  refused("are not what is in it", [&](ContextBuilder& b) { ring(b).array.clear(); });
  refused("are not what is in it", [&](ContextBuilder& b) { ring(b).head.cq_entries = 65536; });
  refused("which is no eventfd", [&](ContextBuilder& b) { ring(b).head.eventfd = 5; });
  refused("which is no eventfd", [&](ContextBuilder& b) { ring(b).head.eventfd = 99; });
}

TEST("pidfds") {
  const auto pidfd = [](ContextBuilder& b) -> cryo_pidfd& { return *b.context.files.at(60).pidfd; };
  refused("file 60 has no PIDFD", [](ContextBuilder& b) { b.context.files.at(60).pidfd.reset(); });
  refused("-1 cannot be a pid", [&](ContextBuilder& b) { pidfd(b).pid = -1; });
  refused("of pid 77, which is not there", [&](ContextBuilder& b) { pidfd(b).pid = 77; });
  refused("unknown flags", [&](ContextBuilder& b) { pidfd(b).flags = 2; });
}

TEST("POSIX timers") {
  const auto timers = [](ContextBuilder& b) -> PosixTimers& { return b.process().posix_timers; };
  const auto timer = [](ContextBuilder& b) -> cryo_posix_timer& {
    return b.process().posix_timers.timers[0];
  };
  refused("-1 cannot be the id", [&](ContextBuilder& b) { timer(b).id = -1; });
  refused("2147483648 cannot be the id", [&](ContextBuilder& b) { timers(b).next_id = 1U << 31; });
  refused("timer 3 comes twice",
          [&](ContextBuilder& b) { timers(b).timers.push_back(cryo_posix_timer(timer(b))); });
  refused("is impossible", [&](ContextBuilder& b) { timer(b).remaining_ns = 1LL << 62; });
  refused("is impossible", [&](ContextBuilder& b) { timer(b).interval_ns = 1ULL << 63; });
  refused("65 is not a signal", [&](ContextBuilder& b) { timer(b).signal = 65; });
  refused("0 is not a signal", [&](ContextBuilder& b) { timer(b).signal = 0; });
  refused("it has expired -2", [&](ContextBuilder& b) { timer(b).overrun = -2; });
  refused("unknown flags", [&](ContextBuilder& b) { timer(b).flags = 8; });
  refused("unknown notification 3", [&](ContextBuilder& b) { timer(b).notify = 3; });
  refused("its thread 77", [&](ContextBuilder& b) { timer(b).clock_tid = 77; });
  refused("its thread 77", [&](ContextBuilder& b) { timer(b).notify = 4, timer(b).notify_tid = 77; });
}

// Two ends of a connection, files 20 and 21, the second with a message in its queue.
void add_connection(ContextBuilder& b) {
  for (const std::uint32_t id : {20U, 21U}) {
    File file;
    file.id = id;
    file.head.kind = CRYO_FILE_UNIX;
    file.connection = SocketState{};
    file.connection->head.family = 1;
    file.connection->head.type = 1;
    file.connection->head.state = CRYO_SOCK_CONNECTED;
    file.connection->head.peer = 41 - id;
    file.connection->name = Bytes(5);
    file.connection->head.name_len = 5;
    file.options.push_back({1, 2, 4, 0, {}});
    b.context.files.emplace(id, std::move(file));
  }
  SocketMessage message;
  message.files = {1, 6};
  message.data = Bytes(7, std::byte{'x'});
  message.head.files = 2;
  message.head.length = 7;
  b.context.files.at(21).queue.push_back(std::move(message));
}

template <typename Change>
void refused_connection(std::string_view part, Change&& change) {
  refused(part, [&](ContextBuilder& b) {
    add_connection(b);
    change(b.context.files.at(20), b.context.files.at(21));
  });
}

TEST("connections") {
  ContextBuilder whole;
  add_connection(whole);
  CHECK_EQ(read(whole.build()).file(21).queue.at(0).data.size(), 7U);
  whole.growth = 8;
  CHECK_EQ(read(whole.build()).file(21).queue.at(0).files.at(1), 6U);
  refused_connection("file 20 has no SOCKSTATE", [](File& a, File&) { a.connection.reset(); });
  refused_connection("other end, file 99, is not there",
                     [](File& a, File&) { a.connection->head.peer = 99; });
  refused_connection("has another one", [](File& a, File&) { a.connection->head.state = 0; });
  refused_connection("is of another kind", [](File& a, File&) { a.connection->head.type = 5; });
  refused_connection("unknown state 9", [](File& a, File&) { a.connection->head.state = 9; });
  refused_connection("unknown flags", [](File& a, File&) { a.connection->head.flags = 64; });
  refused_connection("no state of being shut down", [](File& a, File&) { a.connection->head.shutdown = 4; });
  refused_connection("is outside of it", [](File& a, File&) { a.connection->head.name_len = 100; });
  refused_connection("address of 129 bytes", [](File& a, File&) { a.connection->head.name_len = 129; });
  refused_connection("1 bytes after its names", [](File& a, File&) { a.connection->head.name_len = 4; });
  refused_connection("a path of 4096 bytes", [](File& a, File&) { a.connection->head.path_len = 4096; });
  refused_connection("value of 33 bytes", [](File& a, File&) { a.options[0].length = 33; });
  refused_connection("is outside of it", [](File&, File& b) { b.queue[0].head.length = 8; });
  refused_connection("after the last message", [](File&, File& b) { b.queue[0].head.length = 6; });
  refused_connection("254 files", [](File&, File& b) { b.queue[0].head.files = 254; });
  refused_connection("file 77 is passed to it", [](File&, File& b) { b.queue[0].files[0] = 77; });
  refused_connection("from file 1, which is no socket", [](File&, File& b) { b.queue[0].head.sender = 1; });
  refused_connection("which does not listen", [](File& a, File&) { a.head.kind = CRYO_FILE_WAITING; });
}

// File 22, connected, with a datagram in its queue.
File& add_udp(ContextBuilder& b) {
  File file;
  file.id = 22;
  file.head.kind = CRYO_FILE_UDP;
  file.connection = SocketState{};
  file.connection->head.family = 2;
  file.connection->head.type = 2;
  file.connection->head.protocol = 17;
  file.connection->head.state = CRYO_SOCK_CONNECTED;
  file.connection->head.flags = CRYO_SOCK_STATE_ANY_ADDRESS;
  file.connection->name = file.connection->peer_name = Bytes(16);
  file.connection->head.name_len = file.connection->head.peer_name_len = 16;
  cryo_udp_origin origin{};
  origin.family = 2;
  SocketMessage message;
  message.name = test::bytes_of(origin);
  message.data = Bytes(7, std::byte{'x'});
  message.head.name_len = sizeof(origin);
  message.head.length = 7;
  file.queue.push_back(std::move(message));
  return b.context.files.emplace(22, std::move(file)).first->second;
}

TEST("UDP sockets") {
  ContextBuilder whole;
  add_udp(whole);
  CHECK_EQ(read(whole.build()).file(22).queue.at(0).name.size(), sizeof(cryo_udp_origin));
  const auto refused_udp = [](std::string_view part, const std::function<void(File&)>& change) {
    refused(part, [&](ContextBuilder& b) { change(add_udp(b)); });
  };
  refused_udp("file 22 has no SOCKSTATE", [](File& f) { f.connection.reset(); });
  refused_udp("UDP of the family 1", [](File& f) { f.connection->head.family = 1; });
  refused_udp("cannot have such names", [](File& f) { f.connection->head.family = 10; });
  refused_udp("cannot have such names", [](File& f) { f.connection->head.state = 0; });
  refused_udp("cannot have such names", [](File& f) { f.connection->head.state = CRYO_SOCK_RESET; });
  refused_udp("such a datagram", [](File& f) { f.queue[0].name[32] = std::byte{10}; });
  refused_udp("such a datagram", [](File& f) {
    f.queue[0].data.resize(65536);
    f.queue[0].head.length = 65536;
  });
  refused_udp("such a datagram", [](File& f) {
    f.queue[0].name.resize(16);
    f.queue[0].head.name_len = 16;
  });
}

TEST("filters of sockets") {
  const auto add = [](ContextBuilder& b) -> SocketFilter& {
    return add_udp(b).filter.emplace(SocketFilter{{CRYO_SOCK_FILTER_LOCKED, 2, 1, 3}, {6, 7}, {8}});
  };
  ContextBuilder whole;
  add(whole);
  const Context context = read(whole.build());
  const SocketFilter& filter = context.file(22).filter.value();
  CHECK(filter.filter == std::vector<std::uint64_t>({6, 7}));
  CHECK(filter.choice == std::vector<std::uint64_t>({8}));
  CHECK_EQ(filter.head.place, 3U);
  refused("is outside of it", [&](ContextBuilder& b) { add(b).head.filter = 4; });
  refused("a program of 4097 instructions", [&](ContextBuilder& b) { add(b).head.choice = 4097; });
  refused("8 bytes after the last instruction", [&](ContextBuilder& b) { add(b).head.choice = 0; });
  refused("unknown flags 0x2 of a filter", [&](ContextBuilder& b) { add(b).head.flags = 2; });
}

TEST("multicast groups of sockets") {
  const auto add = [](ContextBuilder& b) -> SocketGroup& {
    SocketGroup group;
    group.head = {{239, 1, 2, 3}, {'e', 't', 'h', '0'}, 2, 1, 2, 0};
    group.sources.resize(2);
    group.sources[1][3] = 7;
    return add_udp(b).groups.emplace_back(std::move(group));
  };
  ContextBuilder whole;
  add(whole);
  whole.growth = 8;
  const Context context = read(whole.build());
  const SocketGroup& group = context.file(22).groups.at(0);
  CHECK(group.device == "eth0");
  CHECK_EQ(group.sources.at(1)[3], 7);
  refused("a list of sources of 48 bytes is outside of it", [&](ContextBuilder& b) { add(b).head.sources = 3; });
  refused("16 bytes after the last group", [&](ContextBuilder& b) { add(b).head.sources = 1; });
  refused("a group of family 1", [&](ContextBuilder& b) { add(b).head.family = 1; });
  refused("a group with mode 2", [&](ContextBuilder& b) { add(b).head.mode = 2; });
  refused("a group without a network interface", [&](ContextBuilder& b) { add(b).head.device[0] = 0; });
}

TEST("credentials of a thread") {
  ContextBuilder whole;
  whole.thread().creds = Creds{{1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0, 0, 0, 2}, {20, 30}};
  const Context context = read(whole.build());
  CHECK_EQ(context.processes.at(0).threads.at(0).creds->groups.at(1), 30U);
  refused("5 records of 4 bytes do not fill its 0 bytes", [](ContextBuilder& b) {
    b.thread().creds = Creds{};
    b.thread().creds->head.nr_groups = 5;
  });
}

TEST("descriptors of namespaces") {
  const auto of = [](std::uint64_t type, std::uint64_t number) {
    return [=](ContextBuilder& b) {
      test::add_namespaces(b);
      File file;
      file.id = 22;
      file.head.kind = CRYO_FILE_NAMESPACE;
      file.head.pos = type << 32 | number;
      b.context.files.emplace(22, std::move(file));
    };
  };
  for (const std::uint64_t number : {0, 73}) {
    ContextBuilder whole;
    of(CLONE_NEWNET, number)(whole);
    CHECK_EQ(static_cast<std::uint32_t>(read(whole.build()).file(22).head.pos), number);
  }
  refused("namespace 73 of type 0x8000000 is not there", of(CLONE_NEWIPC, 73));
  refused("namespace 99 of type 0x40000000 is not there", of(CLONE_NEWNET, 99));
  refused("namespace 77 of type 0x20000000 is not there", of(CLONE_NEWPID, 77));
  refused("namespace 0 of type 0x1 is not there", of(1, 0));
}

TEST("netlink sockets") {
  const auto add = [](ContextBuilder& b) -> File& {
    File& file = add_udp(b);
    file.head.kind = CRYO_FILE_NETLINK;
    file.queue.clear();
    file.connection->name = file.connection->peer_name = Bytes(12);
    file.connection->head.name_len = file.connection->head.peer_name_len = 12;
    return file;
  };
  ContextBuilder whole;
  add(whole);
  CHECK_EQ(read(whole.build()).file(22).connection->name.size(), 12U);
  refused("file 22 has no SOCKSTATE", [&](ContextBuilder& b) { add(b).connection.reset(); });
  refused("file 22 has no netlink address", [&](ContextBuilder& b) {
    File& file = add(b);
    file.connection->name.resize(2);
    file.connection->head.name_len = 2;
  });
}

TEST("terminals and System V objects") {
  const auto refused_of = [](const char* text, const std::function<void(Context&)>& change) {
    refused(text, [&](ContextBuilder& b) {
      test::add_ipc(b);
      change(b.context);
    });
  };
  refused_of("file 140 has no PTY", [](Context& c) { c.files.at(140).pty.reset(); });
  refused_of("bytes are outside of it", [](Context& c) { c.files.at(140).pty->head.input = 500; });
  refused_of("bytes after the last", [](Context& c) { c.files.at(140).pty->head.pending = 1; });
  refused_of("unknown flags", [](Context& c) { c.files.at(140).pty->head.flags = 1U << 31; });
  refused_of("negative session", [](Context& c) { c.files.at(140).pty->head.sid = -1; });
  refused_of("file 141 has no PTY_SLAVE", [](Context& c) { c.files.at(141).pty_slave.reset(); });
  refused_of("without a master", [](Context& c) { c.files.at(141).pty_slave->master = 0; });
  refused_of("is no pseudo-terminal", [](Context& c) { c.files.at(141).pty_slave->master = 142; });
  refused_of("file 142 has no INODE", [](Context& c) { c.files.at(142).head.inode = 0; });
  refused_of("file 143 has no SHM", [](Context& c) { c.inodes.at(143).shm.reset(); });
  refused_of("of 4096 bytes in a file of 8192", [](Context& c) { c.inodes.at(143).shm->size = 4096; });
  refused_of("-1 cannot be an id", [](Context& c) { c.inodes.at(143).shm->perm.id = -1; });
  refused_of("3 semaphores, values of 2", [](Context& c) { c.sem_sets[0].head.count = 3; });
  refused_of("cannot be 32768", [](Context& c) { c.sem_sets[0].values[0] = 32768; });
  refused_of("semaphore 2 of set 4", [](Context& c) { c.processes[0].sem_undo[0].number = 2; });
  refused_of("of set 9, which is not there", [](Context& c) { c.processes[0].sem_undo[0].id = 9; });
  refused_of("by 40000", [](Context& c) { c.processes[0].sem_undo[0].adjustment = 40000; });
  refused_of("ipc namespace 5, which is not there", [](Context& c) { c.sem_sets[0].head.perm.ns = 5; });
  refused_of("ipc namespace 5, which is not there", [](Context& c) { c.msg_queues[0].head.perm.ns = 5; });
  refused_of("ipc namespace 5, which is not there", [](Context& c) { c.inodes.at(144).mqueue->head.ns = 5; });
  refused_of("message 2 is outside", [](Context& c) { c.msg_queues[0].head.messages = 3; });
  refused_of("after the last message", [](Context& c) { c.msg_queues[0].head.messages = 1; });
  refused_of("file 144 has no MQUEUE", [](Context& c) { c.inodes.at(144).mqueue.reset(); });
  refused_of("priority 32768", [](Context& c) { c.inodes.at(144).mqueue->messages[0].type = 32768; });
  refused_of("notification 2 of process", [](Context& c) { c.inodes.at(144).mqueue->head.notify = 2; });
  refused_of("0 messages of 100 bytes", [](Context& c) { c.inodes.at(144).mqueue->head.max_messages = 0; });
  refused_of("of type 0", [](Context& c) { c.msg_queues[0].messages[0].type = 0; });
}

TEST("page sizes that are none") {
  for (const std::uint32_t size : {0U, 1U, 2048U, 4097U, 1U << 31})
    refused("is impossible", [=](ContextBuilder& b) {
      b.edit = [](test::RawSection& s) { s.align = 8; };
      b.context.header.page_size = size;
    });
}

}  // namespace
