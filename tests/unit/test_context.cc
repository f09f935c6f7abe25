// SPDX-License-Identifier: GPL-2.0-only
// Contexts that must be readable, and that they are read as they were written.
#include <cstring>

#include "base/crc32c.h"
#include "context/reader.h"
#include "unit/context_builder.h"
#include "unit/tap.h"

namespace {

using namespace cryo;
using test::ContextBuilder;

Context read(const Bytes& bytes, const ReadOptions& options = {}) {
  return read_context(Source::from_memory(bytes, "test"), options);
}

// Byte-wise, for the structures of the format, which have no padding.
template <typename T>
bool same(const T& a, const T& b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

template <typename T>
bool same(const std::vector<T>& a, const std::vector<T>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!same(a[i], b[i])) return false;
  return true;
}

bool same(const SignalQueue& a, const SignalQueue& b) {
  return a.signals == b.signals && a.siginfos == b.siginfos;
}

void check_same(const Thread& a, const Thread& b) {
  CHECK(same(a.head, b.head));
  CHECK(a.cpus == b.cpus);
  CHECK(same(a.pending, b.pending));
  CHECK_EQ(a.regsets.size(), b.regsets.size());
  for (std::size_t i = 0; i < a.regsets.size() && i < b.regsets.size(); ++i) {
    CHECK(same(a.regsets[i].head, b.regsets[i].head));
    CHECK(a.regsets[i].data == b.regsets[i].data);
  }
}

void check_same(const Process& a, const Process& b) {
  CHECK_EQ(a.command, b.command);
  CHECK(same(a.creds->head, b.creds->head));
  CHECK(a.creds->groups == b.creds->groups);
  CHECK(a.outer_groups == b.outer_groups);
  CHECK(same(a.cwd->head, b.cwd->head));
  CHECK_EQ(a.cwd->path, b.cwd->path);
  CHECK(same(a.rlimits, b.rlimits));
  CHECK(same(a.sigactions, b.sigactions));
  CHECK(same(a.itimers, b.itimers));
  CHECK(same(a.pending, b.pending));
  CHECK(same(a.fds, b.fds));
  CHECK(same(a.locks, b.locks));
  CHECK_EQ(a.threads.size(), b.threads.size());
  for (std::size_t i = 0; i < a.threads.size() && i < b.threads.size(); ++i)
    check_same(a.threads[i], b.threads[i]);
}

void check_same_files(const Context& a, const Context& b) {
  CHECK_EQ(a.inodes.size(), b.inodes.size());
  CHECK_EQ(a.files.size(), b.files.size());
  for (const auto& [id, inode] : a.inodes) {
    CHECK(same(inode.head, b.inode(id).head));
    CHECK_EQ(inode.pipe.has_value(), b.inode(id).pipe.has_value());
    CHECK_EQ(inode.end.has_value(), b.inode(id).end.has_value());
    CHECK(!inode.end || same(*inode.end, *b.inode(id).end));
  }
  for (const auto& [id, file] : a.files) {
    CHECK(same(file.head, b.file(id).head));
    CHECK_EQ(file.path, b.file(id).path);
    CHECK(same(file.epoll, b.file(id).epoll));
    CHECK_EQ(file.socket.has_value(), b.file(id).socket.has_value());
    CHECK_EQ(file.eventfd.has_value(), b.file(id).eventfd.has_value());
    CHECK(file.build_id == b.file(id).build_id);
    CHECK_EQ(file.timerfd.has_value(), b.file(id).timerfd.has_value());
    CHECK_EQ(file.signalfd.has_value(), b.file(id).signalfd.has_value());
  }
  const Pipe& pipe = *b.inode(2).pipe;
  CHECK_EQ(pipe.packets.size(), 2U);
  CHECK(pipe.packets[0].data == a.inode(2).pipe->packets[0].data);
  CHECK_EQ(pipe.packets[1].flags, 1U);
  CHECK(b.file(5).socket->address == a.file(5).socket->address);
  CHECK_EQ(b.file(6).eventfd->count, 7U);
  CHECK(same(*b.file(40).timerfd, *a.file(40).timerfd));
  CHECK_EQ(b.file(41).signalfd->mask, 0x4200U);
  CHECK(same(*b.file(60).pidfd, *a.file(60).pidfd));
  CHECK(same(b.file(61).uring->head, a.file(61).uring->head));
  CHECK(b.file(61).uring->completions == a.file(61).uring->completions);
  CHECK(b.file(61).uring->array == a.file(61).uring->array);
  CHECK(b.file(61).uring->submissions == a.file(61).uring->submissions);
  CHECK(same(b.file(62).fanotify->head, a.file(62).fanotify->head));
  CHECK(same(b.file(62).fanotify->marks.at(0).head, a.file(62).fanotify->marks.at(0).head));
  CHECK_EQ(b.file(62).fanotify->marks.at(0).path, "/tmp");
  CHECK_EQ(b.file(42).inotify->head.next_wd, 5U);
  CHECK_EQ(b.file(42).inotify->watches.at(0).path, "/tmp");
  CHECK_EQ(b.file(42).inotify->watches.at(0).head.wd, 3U);
  CHECK_EQ(b.file(42).inotify->events.size(), 2U);
  CHECK_EQ(b.file(42).inotify->events.at(0).name, "new");
  CHECK(same(b.file(42).inotify->events.at(0).head, a.file(42).inotify->events.at(0).head));
  CHECK(same(b.file(42).inotify->events.at(1).head, a.file(42).inotify->events.at(1).head));
}

void check_same(const ContextBuilder& written, const Context& b) {
  const Context& a = written.context;
  CHECK_EQ(b.header.arch, a.header.arch);
  CHECK_EQ(b.system.threads, 1U);
  CHECK(a.cpu == b.cpu);
  CHECK_EQ(a.processes.size(), b.processes.size());
  CHECK_EQ(a.mm(1).vmas.size(), 3U);
  CHECK(same(a.mm(1).vmas, b.mm(1).vmas));
  CHECK(a.mm(1).auxv == b.mm(1).auxv);
  check_same_files(a, b);
  CHECK(same(a.processes[0].posix_timers.timers, b.processes[0].posix_timers.timers));
  CHECK_EQ(b.processes[0].posix_timers.next_id, a.processes[0].posix_timers.next_id);
  CHECK_EQ(a.pages.size(), b.pages.size());
  for (std::size_t i = 0; i < a.pages.size(); ++i) {
    CHECK(same(a.pages[i].runs, b.pages[i].runs));
    CHECK_EQ(a.pages[i].checksum, b.pages[i].checksum);
    CHECK_EQ(a.pages[i].section_flags, b.pages[i].section_flags);
    CHECK_EQ(a.pages[i].bytes, b.pages[i].bytes);
  }
}

TEST("CRC32C of the standard's example") {
  const std::string_view digits = "123456789";
  CHECK_EQ(crc32c(std::as_bytes(std::span(digits))), 0xe3069283U);
  const auto first = crc32c(std::as_bytes(std::span(digits.substr(0, 4))));
  CHECK_EQ(crc32c(std::as_bytes(std::span(digits.substr(4))), first), 0xe3069283U);
}

TEST("what was written is read") {
  ContextBuilder builder;
  const Bytes bytes = builder.build();
  const Context context = read(bytes);
  ContextBuilder expected = builder;
  expected.context.processes[0].head.threads = 1;
  expected.context.processes[0].creds->head.nr_groups = 3;
  check_same(expected, context);
  CHECK(same(expected.context.processes[0].head, context.processes[0].head));
  check_same(expected.context.processes[0], context.processes[0]);
  CHECK(context.pages_verified);
  CHECK(context.obstacles.empty());
  CHECK_EQ(context.end.total_len, bytes.size());
  CHECK_EQ(context.end.page_bytes, 8192U);
  CHECK_EQ(context.index.size() + 1, context.end.sections);
}

TEST("page data are where the model says") {
  ContextBuilder builder;
  const Bytes bytes = builder.build();
  const Context context = read(bytes);
  for (std::size_t i = 0; i < context.pages.size(); ++i) {
    const PageChunk& chunk = context.pages[i];
    CHECK_EQ(chunk.data_offset % 4096, 0U);
    CHECK(std::memcmp(&bytes[chunk.data_offset], builder.page_data[i].data(), chunk.bytes) == 0);
    verify_pages(Source::from_memory(bytes, "test"), chunk);
  }
}

TEST("the smallest context") {
  const Context context = read(ContextBuilder::smallest().build());
  CHECK_EQ(context.processes.size(), 1U);
  CHECK(context.files.empty());
}

TEST("contexts of other architectures and page sizes") {
  for (const std::uint32_t arch : {CRYO_ARCH_AARCH64, CRYO_ARCH_PPC64LE, 9999}) {
    ContextBuilder builder(arch, 65536);
    const Context context = read(builder.build());
    CHECK_EQ(context.header.arch, arch);
    CHECK_EQ(context.pages[0].bytes, 65536U);
    check_same(builder, context);
  }
}

TEST("threads: the leader comes first, the others in the order of the file") {
  ContextBuilder builder;
  builder.add_thread(1002);
  builder.add_thread(1001);
  std::swap(builder.process().threads[0], builder.process().threads[1]);
  const Context context = read(builder.build());
  CHECK_EQ(context.processes[0].threads[0].head.tid, 1000);
  CHECK_EQ(context.processes[0].threads[1].head.tid, 1002);
  CHECK_EQ(context.processes[0].threads[2].head.tid, 1001);
}

TEST("several processes, also with one memory") {
  ContextBuilder builder;
  Process child = builder.process();
  child.head.pid = 1010;
  child.head.ppid = 1000;
  child.threads[0].head.tid = child.threads[0].head.pid = 1010;
  builder.context.processes.push_back(child);
  const Context context = read(builder.build());
  CHECK_EQ(context.processes.size(), 2U);
  CHECK_EQ(context.processes[1].head.ppid, 1000);
  CHECK_EQ(context.system.threads, 2U);
}

TEST("descriptors are sorted") {
  ContextBuilder builder;
  std::swap(builder.process().fds.front(), builder.process().fds.back());
  const Context context = read(builder.build());
  for (std::size_t i = 1; i < context.processes[0].fds.size(); ++i)
    CHECK(context.processes[0].fds[i - 1].fd < context.processes[0].fds[i].fd);
}

TEST("structures that are longer than known") {
  ContextBuilder builder;
  builder.growth = 24;
  builder.context.header.format_minor = 1;
  check_same(builder, read(builder.build()));
}

TEST("a structure that is shorter than known: the rest is zero") {
  ContextBuilder builder;
  builder.edit = [](test::RawSection& section) {
    if (section.type == CRYO_SEC_VMA) section.fixed.resize(offsetof(cryo_vma, pkey));
  };
  builder.context.mms.at(1).vmas[0].pkey = 7;
  CHECK_EQ(read(builder.build()).mm(1).vmas[0].pkey, 0U);
}

TEST("an open file of a context that does not say who else has it") {
  ContextBuilder builder;
  builder.context.files.at(1).head.outside = CRYO_OUTSIDE_SHARED | CRYO_OUTSIDE_WRITER;
  CHECK_EQ(read(builder.build()).file(1).head.outside, 3U);
  builder.edit = [](test::RawSection& section) {
    if (section.type == CRYO_SEC_FILE) section.fixed.resize(offsetof(cryo_file, outside));
  };
  CHECK_EQ(read(builder.build()).file(1).head.outside, 0U);
}

TEST("a file header that is longer than known") {
  ContextBuilder builder;
  builder.context.header.format_minor = 1;
  Bytes bytes = builder.build();
  // New fields come before the checksum, which stays the last word.
  bytes.insert(bytes.begin() + offsetof(cryo_file_header, crc), 8, std::byte{0x77});
  bytes[offsetof(cryo_file_header, header_len)] = std::byte{sizeof(cryo_file_header) + 8};
  const std::size_t at = sizeof(cryo_file_header) + 4;
  const std::uint32_t crc = crc32c(std::span(bytes).first(at));
  std::memcpy(&bytes[at], &crc, sizeof(crc));
  // All offsets have moved: only the header is accepted.
  CHECK_ERROR(EBADMSG, "INDEX", read(bytes));
  bytes[at - 1] ^= std::byte{1};
  CHECK_ERROR(EBADMSG, "file header: damaged (checksum)", read(bytes));
}

TEST("unknown optional sections are skipped, in any minor version") {
  ContextBuilder builder;
  builder.extra.push_back({99, 5, 0, Bytes(12, std::byte{1}), Bytes(100, std::byte{2})});
  check_same(builder, read(builder.build()));
}

TEST("unknown required sections: no restart, but shown on demand") {
  ContextBuilder builder;
  builder.extra.push_back({99, 5, CRYO_SECF_REQUIRED, Bytes(12, std::byte{1}), {}});
  const Bytes bytes = builder.build();
  CHECK_ERROR(EOPNOTSUPP, "section type 99", read(bytes));
  const Context context = read(bytes, {.show_only = true});
  CHECK_EQ(context.obstacles.size(), 1U);
  CHECK(context.obstacles.at(0).find("section type 99") != std::string::npos);
}

TEST("feature bits") {
  ContextBuilder builder;
  builder.context.header.compat = ~0ULL;
  check_same(builder, read(builder.build()));
  builder.context.header.ro_compat = 4;
  CHECK_ERROR(EOPNOTSUPP, "0x4 (ro_compat)", read(builder.build()));
  CHECK_EQ(read(builder.build(), {.show_only = true}).obstacles.size(), 1U);
  builder.context.header.incompat = 8;
  CHECK_ERROR(EOPNOTSUPP, "0x8 (incompat)", read(builder.build(), {.show_only = true}));
}

TEST("another major version") {
  ContextBuilder builder;
  builder.context.header.format_major = 2;
  CHECK_ERROR(EOPNOTSUPP, "has format 2.0; this Cryo reads format 1", read(builder.build()));
}

TEST("values of a later minor version") {
  ContextBuilder builder;
  builder.context.mms.at(1).vmas[0].kind = 40;
  CHECK_ERROR(EBADMSG, "unknown kind 40", read(builder.build()));
  builder.context.header.format_minor = 3;
  CHECK_ERROR(EOPNOTSUPP, "unknown kind 40", read(builder.build()));
  CHECK_EQ(read(builder.build(), {.show_only = true}).obstacles.size(), 1U);
}

TEST("an index that lists only some sections") {
  ContextBuilder builder;
  builder.index_everything = false;
  CHECK(read(builder.build()).index.empty());
}

TEST("without verification, page data are not looked at") {
  ContextBuilder builder;
  Bytes bytes = builder.build();
  const Context good = read(bytes);
  bytes[good.pages[1].data_offset + 77] ^= std::byte{4};
  const Context context = read(bytes, {.verify_pages = false});
  CHECK(!context.pages_verified);
  const Source source = Source::from_memory(bytes, "test");
  verify_pages(source, context.pages[0]);
  CHECK_ERROR(EBADMSG, "PAGE_DATA: wrong checksum", verify_pages(source, context.pages[1]), 0);
  CHECK_ERROR(EBADMSG, "PAGE_DATA: wrong checksum", read(bytes));
}

}  // namespace
