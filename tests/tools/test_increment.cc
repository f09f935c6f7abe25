// SPDX-License-Identifier: GPL-2.0-only
// What becomes of a context whose pages another one has, and the way back.
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>

#include "context/chain.h"
#include "context/hash.h"
#include "context/reader.h"
#include "cr_checkpoint/delta.h"
#include "cr_checkpoint/generations.h"
#include "cr_checkpoint/parent.h"
#include "cr_merge/merge.h"
#include "unit/context_builder.h"
#include "unit/tap.h"

namespace {

using namespace cryo;
using test::ContextBuilder;

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kHeap = 1024 * kPage;
constexpr std::uint64_t kHeapPages = 600;  // more than one PAGES section can have

class Directory {
 public:
  Directory() {
    std::string name = std::filesystem::temp_directory_path() / "cryo-XXXXXX";
    path_ = std::filesystem::canonical(::mkdtemp(name.data())).string();
  }
  ~Directory() { std::filesystem::remove_all(path_); }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;

  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  std::string write(const std::string& name, std::span<const std::byte> bytes) const {
    std::ofstream(*this / name, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return *this / name;
  }
  [[nodiscard]] std::string names() const {
    std::vector<std::string> all;
    for (const auto& entry : std::filesystem::directory_iterator(path_))
      all.push_back(entry.path().filename().string());
    std::sort(all.begin(), all.end());
    return fmt::format("{}", fmt::join(all, " "));
  }

 private:
  std::string path_;
};

// Pages with contents of their own, at consecutive addresses; set() changes one. With the last one it is that
// of another job.
class Heap {
 public:
  explicit Heap(std::uint64_t pages = kHeapPages) : numbers_(pages) {
    for (std::uint64_t i = 0; i < pages; ++i) numbers_[i] = i + 1;
  }
  void set(std::uint64_t page, std::uint64_t number) { numbers_[page] = number; }

  void add_to(ContextBuilder& builder, std::uint32_t mm = 1) const {
    for (std::uint64_t first = 0; first < numbers_.size(); first += CRYO_PAGES_MAX) {
      const std::uint64_t count = std::min<std::uint64_t>(CRYO_PAGES_MAX, numbers_.size() - first);
      builder.add_page_chunk(CRYO_PAGES_MM, mm, {{kHeap + first * kPage, count}});
      Bytes& data = builder.page_data.back();
      for (std::uint64_t i = 0; i < count; ++i)
        for (std::uint64_t at = 0; at < kPage; at += sizeof(std::uint64_t)) {
          const std::uint64_t word = numbers_[first + i] * 0x9e3779b97f4a7c15 + at;
          std::memcpy(&data[i * kPage + at], &word, sizeof(word));
        }
    }
    Mm& memory = builder.context.mms.at(mm);
    memory.vmas.push_back(
        {kHeap, kHeap + numbers_.size() * kPage, 0, CRYO_VMA_READ | CRYO_VMA_WRITE, CRYO_VMA_ANON, 0, 0, 0});
    memory.auxv = {AT_PAGESZ, kPage, AT_RANDOM, kHeap + (numbers_.size() - 1) * kPage, AT_NULL, 0};
  }

 private:
  std::vector<std::uint64_t> numbers_;
};

Bytes context_of(const Heap& heap) {
  ContextBuilder builder;
  heap.add_to(builder);
  return builder.build();
}

Options options_for(const std::string& path) {
  Options options;
  options.destination = DestinationFile{path, true};
  return options;
}

struct Made {
  Bytes bytes;
  std::uint64_t own = 0;
  std::uint64_t elsewhere = 0;
};

// As the stage between module and file does it; the stream comes in parts of `part` bytes.
Made increment(const Bytes& full, const Parent& parent, const std::string& path, std::size_t part = 100'000) {
  Made made;
  std::size_t at = 0;
  const std::vector<Ancestor> names = names_for(parent, options_for(path));
  Delta delta(
      parent, names,
      [&](std::span<std::byte> to) {
        const std::size_t size = std::min({to.size(), part, full.size() - at});
        if (size != 0) std::memcpy(to.data(), &full[at], size);
        at += size;
        return size;
      },
      [&](std::span<const std::byte> data) {
        made.bytes.insert(made.bytes.end(), data.begin(), data.end());
      });
  delta.run();
  made.own = delta.own_pages();
  made.elsewhere = delta.elsewhere_pages();
  return made;
}

// All pages of a context, wherever their bytes are.
std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>, Bytes> pages_of(const std::string& path) {
  const Source source = Source::open(path);
  const Context context = read_context(source);
  const Chain chain(context, source, {path, {}});
  chain.verify(context);
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>, Bytes> pages;
  for (const PageChunk& chunk : context.pages) {
    std::uint64_t offset = chunk.data_offset;
    for (const cryo_page_run& run : chunk.runs)
      for (std::uint64_t i = 0; i < run.nr_pages; ++i, offset += kPage) {
        Bytes page(kPage);
        chain.of(chunk).read(offset, page);
        pages[{chunk.kind, chunk.object, run.start + i * kPage}] = std::move(page);
      }
  }
  return pages;
}

Bytes merged(const std::string& path) {
  const Source source = Source::open(path);
  const Context context = read_context(source);
  const Chain chain(context, source, {path, {}});
  Bytes bytes;
  merge(context, chain,
        [&](std::span<const std::byte> data) { bytes.insert(bytes.end(), data.begin(), data.end()); });
  const Source result = Source::from_memory(bytes, "merged");
  const Context again = read_context(result);
  CHECK(again.ancestors.empty());
  compare_pages(context, chain, again, Chain(result));
  return bytes;
}

TEST("nothing has changed: nothing but references") {
  const Directory directory;
  const Bytes full = context_of(Heap());
  const Parent parent(directory.write("first", full));
  const Made made = increment(full, parent, directory / "second");
  CHECK_EQ(made.own, 0U);
  CHECK_EQ(made.elsewhere, kHeapPages + 2);
  directory.write("second", made.bytes);
  CHECK(made.bytes.size() < full.size() / 50);
  CHECK(pages_of(directory / "second") == pages_of(directory / "first"));
  const Context context = read_context(Source::open(directory / "second"));
  CHECK_EQ(context.ancestors.size(), 1U);
  CHECK_EQ(context.ancestors.front().name, "first");
  CHECK_EQ(context.end.page_bytes, 0U);
  CHECK_EQ(context.files.size(), read_context(Source::open(directory / "first")).files.size());
}

TEST("what has been used last is what the newest says, also when it is merged") {
  const auto used = [](std::vector<cryo_page_run> runs) {
    ContextBuilder builder;
    Heap(20).add_to(builder);
    builder.context.mms.at(1).used = std::move(runs);
    return builder.build();
  };
  const Directory directory;
  const Parent parent(directory.write("first", used({{kHeap, 1}})));
  directory.write(
      "second",
      increment(used({{kHeap + 2 * kPage, 3}, {kHeap + 9 * kPage, 1}}), parent, directory / "second").bytes);
  directory.write("merged", merged(directory / "second"));
  for (const std::string name : {"second", "merged"}) {
    const Context context = read_context(Source::open(directory / name));
    const std::vector<cryo_page_run>& runs = context.mm(1).used;
    CHECK_EQ(runs.size(), 2U);
    CHECK_EQ(runs.at(0).start, kHeap + 2 * kPage);
    CHECK_EQ(runs.at(0).nr_pages, 3U);
    CHECK_EQ(runs.at(1).start, kHeap + 9 * kPage);
  }
  // None of its own: not those of its parent either.
  directory.write("third", increment(used({}), parent, directory / "third").bytes);
  CHECK(read_context(Source::open(directory / "third")).mm(1).used.empty());
}

TEST("a stream in parts of one byte") {
  const Directory directory;
  const Bytes full = context_of(Heap(3));
  const Parent parent(directory.write("first", full));
  CHECK(increment(full, parent, directory / "second", 1).bytes ==
        increment(full, parent, directory / "second").bytes);
}

TEST("what has changed is there, and costs no more than that") {
  const Directory directory;
  Heap heap;
  const Parent parent(directory.write("first", context_of(heap)));
  for (const std::uint64_t page : {0UL, 77UL, 78UL, 300UL, 511UL, 512UL, 599UL}) heap.set(page, 1000 + page);
  directory.write("expected", context_of(heap));
  const Made made = increment(context_of(heap), parent, directory / "second");
  CHECK_EQ(made.own, 7U);
  directory.write("second", made.bytes);
  CHECK(pages_of(directory / "second") == pages_of(directory / "expected"));
  // All that is not memory, the pages that have changed, and one per cent of the memory.
  const std::uint64_t others = context_of(heap).size() - (kHeapPages + 2) * kPage;
  CHECK(made.bytes.size() < others + 7 * kPage + kHeapPages * kPage / 100);
}

TEST("everything has changed: it is a full one") {
  const Directory directory;
  const Parent parent(directory.write("first", ContextBuilder::smallest().build()));
  Heap heap;
  for (std::uint64_t page = 0; page < kHeapPages; ++page) heap.set(page, 7000 + page);
  directory.write("expected", context_of(heap));
  const Made made = increment(context_of(heap), parent, directory / "second");
  CHECK(made.own >= kHeapPages);
  directory.write("second", made.bytes);
  CHECK(pages_of(directory / "second") == pages_of(directory / "expected"));
}

TEST("pages are known by what is in them, wherever they are") {
  const Directory directory;
  Heap heap(20);
  const Parent parent(directory.write("first", context_of(heap)));
  heap.set(3, 11);  // what page 10 has
  heap.set(11, 4);  // what page 3 had
  directory.write("expected", context_of(heap));
  const Made made = increment(context_of(heap), parent, directory / "second");
  CHECK_EQ(made.own, 0U);
  directory.write("second", made.bytes);
  CHECK(pages_of(directory / "second") == pages_of(directory / "expected"));
}

TEST("the same address comes first, so that runs stay runs") {
  PageTable table;
  Hash same{};
  same.fill(std::byte{9});
  for (std::uint64_t i = 0; i < 10; ++i) {
    table.add({CRYO_PAGES_MM, 1, 0}, i * kPage, same, {1, i * kPage});
    table.add({CRYO_PAGES_MM, 2, 0}, i * kPage, same, {2, i * kPage});
  }
  table.finish();
  for (std::uint64_t i = 0; i < 10; ++i) {
    CHECK_EQ(table.find({CRYO_PAGES_MM, 1, 0}, i * kPage, same)->offset, i * kPage);
    CHECK_EQ(table.find({CRYO_PAGES_MM, 2, 0}, i * kPage, same)->file, 2U);
  }
  CHECK(table.find({CRYO_PAGES_MM, 3, 0}, 0, same) != nullptr);
  CHECK(table.find({CRYO_PAGES_MM, 2, 0}, 100 * kPage, same) != nullptr);
  Hash other = same;
  other[15] = std::byte{8};
  CHECK(table.find({CRYO_PAGES_MM, 1, 0}, 0, other) == nullptr);
  other[15] = std::byte{10};
  CHECK(table.find({CRYO_PAGES_MM, 1, 0}, 0, other) == nullptr);
}

TEST("references name what has the bytes, and nothing else") {
  const Directory directory;
  Heap heap(10);
  directory.write("1", context_of(heap));
  for (int generation = 2; generation <= 5; ++generation) {
    heap.set(static_cast<std::uint64_t>(generation), 100 + static_cast<std::uint64_t>(generation));
    if (generation == 4)
      for (std::uint64_t page = 0; page < 4; ++page) heap.set(page, 200 + page);
    const std::string name = std::to_string(generation);
    const Parent parent(directory / std::to_string(generation - 1));
    directory.write("full" + name, context_of(heap));
    directory.write(name, increment(context_of(heap), parent, directory / name).bytes);
    CHECK(pages_of(directory / name) == pages_of(directory / ("full" + name)));
  }
  std::vector<std::string> names;
  for (const Ancestor& ancestor : read_context(Source::open(directory / "5")).ancestors)
    names.push_back(ancestor.name);
  std::sort(names.begin(), names.end());
  CHECK_EQ(fmt::format("{}", fmt::join(names, " ")), "1 4");  // what 2 and 3 had has changed again
  std::filesystem::remove(directory / "2");
  std::filesystem::remove(directory / "3");
  CHECK(pages_of(directory / "5") == pages_of(directory / "full5"));
}

TEST("pages of several processes") {
  const Directory directory;
  ContextBuilder builder;
  builder.add_sharer({0, 0}, {0, 0}, 2);
  builder.add_page_copy(8 * kPage, 1);
  builder.extra.back().object = 2;
  const Bytes full = builder.build();
  const Parent parent(directory.write("first", full));
  const Made same = increment(full, parent, directory / "second");
  CHECK_EQ(same.own, 0U);
  directory.write("second", same.bytes);
  CHECK(pages_of(directory / "second") == pages_of(directory / "first"));
  builder.page_data[0][7] ^= std::byte{1};
  const Bytes changed = builder.build();
  directory.write("expected", changed);
  const Made made = increment(changed, parent, directory / "third");
  CHECK_EQ(made.own, 1U);
  directory.write("third", made.bytes);
  CHECK(pages_of(directory / "third") == pages_of(directory / "expected"));
  std::size_t copies = 0;
  for (const PageChunk& chunk : read_context(Source::open(directory / "third")).pages) copies += chunk.copy;
  CHECK_EQ(copies, 1U);
  // What two processes have in an ancestor is written once.
  CHECK(merged(directory / "second").size() < full.size() + kPage);
}

TEST("a page of two processes that comes to be elsewhere in the file") {
  const Directory directory;
  Heap heap(5);
  const auto family = [&] {
    ContextBuilder builder;
    heap.add_to(builder);
    builder.add_sharer({0, 0}, {0, 0}, 2);
    const Bytes bytes = builder.build();
    const Context context = read_context(Source::from_memory(bytes, "family"));
    const std::uint64_t third = context.pages.back().data_offset + 3 * kPage;
    builder.add_page_copy(8 * kPage, 2, static_cast<std::int64_t>(third - context.pages[0].data_offset));
    builder.extra.back().object = 2;
    return builder.build();
  };
  const Parent parent(directory.write("first", family()));
  heap.set(3, 300);
  directory.write("expected", family());
  const Made made = increment(family(), parent, directory / "second");
  CHECK_EQ(made.own, 1U);
  directory.write("second", made.bytes);
  CHECK(pages_of(directory / "second") == pages_of(directory / "expected"));
  directory.write("whole", merged(directory / "second"));
  CHECK(pages_of(directory / "whole") == pages_of(directory / "expected"));
}

// What the module writes of a heap that has changed since the parent: bytes of `written`, names of the rest.
Bytes stream_of(const Heap& heap, const std::vector<std::uint64_t>& written, std::uint32_t parent_mm = 1,
                std::uint64_t pages = kHeapPages) {
  ContextBuilder builder;
  heap.add_to(builder);
  std::vector<PageChunk> chunks;
  std::vector<Bytes> data;
  std::vector<cryo_page_run> same;
  for (std::size_t i = 0; i < builder.context.pages.size(); ++i) {
    const PageChunk& chunk = builder.context.pages[i];
    if (chunk.runs.front().start < kHeap) {
      chunks.push_back(chunk);
      data.push_back(builder.page_data[i]);
      continue;
    }
    for (std::uint64_t at = 0; at < chunk.bytes; at += kPage) {
      const std::uint64_t address = chunk.runs.front().start + at;
      if (std::find(written.begin(), written.end(), (address - kHeap) / kPage) == written.end()) {
        same.push_back({address, 1});
        continue;
      }
      PageChunk one = chunk;
      one.runs = {{address, 1}};
      one.nr_pages = 1;
      one.bytes = kPage;
      chunks.push_back(one);
      const auto from = builder.page_data[i].begin() + static_cast<std::ptrdiff_t>(at);
      data.emplace_back(from, from + kPage);
    }
  }
  if (pages > kHeapPages) same.push_back({kHeap + kHeapPages * kPage, pages - kHeapPages});
  builder.context.pages = chunks;
  builder.page_data = data;
  const cryo_unchanged head{parent_mm, static_cast<std::uint32_t>(same.size()), sizeof(cryo_page_run), 0};
  const auto bytes = std::as_bytes(std::span(same));
  builder.early.push_back({CRYO_SEC_PAGES_UNCHANGED, 1, CRYO_SECF_REQUIRED, test::bytes_of(head),
                           Bytes(bytes.begin(), bytes.end())});
  return builder.build();
}

TEST("what the module knows to be unchanged is named without a look at it") {
  const Directory directory;
  Heap heap;
  directory.write("first", context_of(heap));
  heap.set(5, 1005);
  heap.set(599, 1599);
  directory.write("expected", context_of(heap));
  const Parent parent(directory / "first");
  const Made made = increment(stream_of(heap, {5, 599}), parent, directory / "second");
  CHECK_EQ(made.own, 2U);
  CHECK_EQ(made.elsewhere, kHeapPages);  // without those two, with the two of other memory
  directory.write("second", made.bytes);
  CHECK(pages_of(directory / "second") == pages_of(directory / "expected"));
  directory.write("whole", merged(directory / "second"));
  CHECK(pages_of(directory / "whole") == pages_of(directory / "expected"));
  std::uint64_t unhashed = 0;
  for (const PageChunk& chunk : read_context(Source::open(directory / "second")).pages)
    if (chunk.ancestor != 0 && chunk.hashes.empty()) unhashed += chunk.nr_pages;
  CHECK(unhashed >= kHeapPages - 2);
  // One more, of that: by contents, and by the account.
  heap.set(7, 1007);
  directory.write("expected", context_of(heap));
  const Parent second(directory / "second");
  directory.write("third", increment(context_of(heap), second, directory / "third").bytes);
  CHECK(pages_of(directory / "third") == pages_of(directory / "expected"));
  directory.write("fourth", increment(stream_of(heap, {7}), second, directory / "fourth").bytes);
  CHECK(pages_of(directory / "fourth") == pages_of(directory / "expected"));
}

TEST("written to, but with what was there before") {
  const Directory directory;
  Heap heap;
  directory.write("first", context_of(heap));
  const Parent parent(directory / "first");
  const Made made = increment(stream_of(heap, {5, 6, 599}), parent, directory / "second");
  CHECK_EQ(made.own, 0U);
  directory.write("second", made.bytes);
  CHECK(pages_of(directory / "second") == pages_of(directory / "first"));
}

TEST("unchanged where the parent has nothing: it was zero") {
  const Directory directory;
  Heap heap;
  directory.write("first", context_of(heap));
  const Parent parent(directory / "first");
  CHECK_EQ(increment(stream_of(heap, {}, 1, kHeapPages + 50), parent, directory / "second").elsewhere,
           kHeapPages + 2);
  // The memory that it was is none of the parent's.
  const Made other = increment(stream_of(heap, {1, 2}, 77), parent, directory / "second");
  CHECK(other.own >= 2U);
}

TEST("a damaged list of what is unchanged") {
  const Directory directory;
  Heap heap;
  directory.write("first", context_of(heap));
  const Parent parent(directory / "first");
  ContextBuilder builder;
  for (const std::uint64_t pages : {~std::uint64_t{0}, ~std::uint64_t{0} / kPage}) {
    const cryo_unchanged head{1, 1, sizeof(cryo_page_run), 0};
    builder.extra = {{CRYO_SEC_PAGES_UNCHANGED, 1, CRYO_SECF_REQUIRED, test::bytes_of(head),
                      test::bytes_of(cryo_page_run{kHeap, pages})}};
    CHECK_ERROR(EBADMSG, "PAGES_UNCHANGED", increment(builder.build(), parent, directory / "second"));
  }
  const cryo_unchanged head{1, 2, sizeof(cryo_page_run), 0};
  builder.extra = {{CRYO_SEC_PAGES_UNCHANGED, 1, CRYO_SECF_REQUIRED, test::bytes_of(head),
                    test::bytes_of(cryo_page_run{kHeap, 1})}};
  CHECK_ERROR(EBADMSG, "PAGES_UNCHANGED", increment(builder.build(), parent, directory / "second"));
}

TEST("altered pages that have no hash are found by the checksum of their section") {
  const Directory directory;
  Heap heap;
  const Bytes first = context_of(heap);
  directory.write("first", first);
  directory.write("second",
                  increment(stream_of(heap, {}), Parent(directory / "first"), directory / "second").bytes);
  const Context context = read_context(Source::from_memory(first, "first"));
  for (const PageChunk& chunk : context.pages) {
    if (chunk.runs.front().start < kHeap) continue;
    for (const std::uint64_t at : {chunk.data_offset, chunk.data_offset + chunk.bytes - 1}) {
      Bytes altered = first;
      altered[at] ^= std::byte{1};
      directory.write("first", altered);
      const Source source = Source::open(directory / "second");
      const Context second = read_context(source);
      const Chain chain(second, source, {directory / "second", {}});
      CHECK_ERROR(EBADMSG, "which has been modified", chain.verify(second));
      CHECK_ERROR(EBADMSG, "which has been modified", chain.verify_sections(second));
      CHECK_ERROR(EBADMSG, "which has been modified", Parent(directory / "second").load());
    }
  }
}

TEST("the identity of what was written is that of the file") {
  const Directory directory;
  Heap heap;
  directory.write("first", context_of(heap));
  heap.set(5, 1005);
  const Parent parent(directory / "first");
  const std::vector<Ancestor> names = names_for(parent, options_for(directory / "second"));
  const Bytes full = context_of(heap);
  Bytes made;
  std::size_t at = 0;
  Delta delta(
      parent, names,
      [&](std::span<std::byte> to) {
        const std::size_t size = std::min(to.size(), full.size() - at);
        if (size != 0) std::memcpy(to.data(), &full[at], size);
        at += size;
        return size;
      },
      [&](std::span<const std::byte> data) { made.insert(made.end(), data.begin(), data.end()); });
  delta.run();
  CHECK(delta.identity() == identity_of(Source::from_memory(made, "second")));
}

TEST("merged: as if it had been full") {
  const Directory directory;
  Heap heap;
  const Parent parent(directory.write("first", context_of(heap)));
  for (std::uint64_t page = 0; page < kHeapPages; page += 3) heap.set(page, 5000 + page);
  directory.write("expected", context_of(heap));
  directory.write("second", increment(context_of(heap), parent, directory / "second").bytes);
  const Bytes whole = merged(directory / "second");
  directory.write("whole", whole);
  std::filesystem::remove(directory / "first");
  CHECK(pages_of(directory / "whole") == pages_of(directory / "expected"));
  const Source source = Source::open(directory / "whole");
  const Context context = read_context(source);
  CHECK_EQ(context.processes.front().command, "sleeper");
  CHECK_EQ(context.files.size(), read_context(Source::open(directory / "expected")).files.size());
}

TEST("merged: another ancestor is noticed, and so is a wrong result") {
  const Directory directory;
  Heap heap(8);
  const Bytes full = context_of(heap);
  const Parent parent(directory.write("first", full));
  directory.write("second", increment(full, parent, directory / "second").bytes);
  const std::string path = directory / "second";
  const Source source = Source::open(path);
  const Context context = read_context(source);
  const Chain chain(context, source, {path, {}});
  Bytes altered = full;
  altered[context.pages.back().data_offset + 99] ^= std::byte{4};
  directory.write("first", altered);
  CHECK_ERROR(EBADMSG, "first, which has been modified", merge(context, chain, [](auto) {}));
  directory.write("first", full);
  heap.set(5, 77);
  const Bytes other = context_of(heap);
  const Source wrong = Source::from_memory(other, "wrong");
  CHECK_ERROR(EIO, "wrong: the pages from", compare_pages(context, chain, read_context(wrong), Chain(wrong)));
  const Bytes less = context_of(Heap(7));
  const Source cut = Source::from_memory(less, "cut");
  CHECK_ERROR(EIO, "is not there", compare_pages(context, chain, read_context(cut), Chain(cut)));
}

TEST("a parent that cannot be one") {
  const Directory directory;
  Bytes full = context_of(Heap(3));
  const std::string path = directory.write("first", full);
  CHECK_ERROR(ENOENT, "parent " + (directory / "none"), Parent(directory / "none"));
  CHECK_ERROR(EINVAL, "is not a regular file", Parent(directory / "."));
  const Context context = read_context(Source::open(path));
  full[context.pages.back().data_offset + 1] ^= std::byte{1};
  directory.write("first", full);
  CHECK_ERROR(EBADMSG, "PAGE_DATA: wrong checksum", Parent(path).load());
  full.resize(full.size() - 1);
  directory.write("first", full);
  CHECK_ERROR(EBADMSG, "is truncated", Parent(path));
}

TEST("a chain that is broken makes no parent") {
  const Directory directory;
  const Bytes full = context_of(Heap(3));
  const Parent parent(directory.write("first", full));
  directory.write("second", increment(full, parent, directory / "second").bytes);
  (void)Parent(directory / "second");
  std::filesystem::rename(directory / "first", directory / "away");
  CHECK_ERROR(ENOENT, "needs the context " + (directory / "first"), Parent(directory / "second"));
}

TEST("a new context does not take the place of what it needs") {
  const Directory directory;
  const Bytes full = context_of(Heap(3));
  const Parent first(directory.write("first", full));
  directory.write("second", increment(full, first, directory / "second").bytes);
  const Parent second(directory / "second");
  for (const char* name : {"first", "second"})
    CHECK_ERROR(EINVAL, "would take the place of " + (directory / name),
                names_for(second, options_for(directory / name)));
  std::filesystem::create_directory(directory / "deep");
  CHECK_EQ(names_for(second, options_for(directory / "deep/new"))[1].name, "../first");
  Options stream;
  stream.destination = DestinationFd{0};
  CHECK_EQ(names_for(second, stream)[0].name, directory / "second");
}

LiveJob job_of(const Heap& heap) {
  const Bytes bytes = context_of(heap);
  const Source source = Source::from_memory(bytes, "live");
  LiveJob job;
  job.line = LineReader(7).line_of(read_context(source), source, "live");
  CHECK(!job.line.marks.empty());
  return job;
}

TEST("generations") {
  const Directory directory;
  const Bytes full = context_of(Heap(3));
  std::vector<std::string> notes;
  const auto look = [&] { return Generations(directory / "", 7, job_of(Heap(3))); };
  CHECK(look().next(false).ends_with("/context.7.1"));
  CHECK(!look().newest(notes, [](const Parent& parent) { parent.load(); }));
  for (const char* name :
       {"context.7.1", "context.7.2", "context.7.10", "context.70.99", "context.7.x", "context.7."})
    directory.write(name, full);
  CHECK(look().next(true).ends_with("/context.7.11.zst"));
  CHECK_EQ(look().newest(notes, [](const Parent& parent) { parent.load(); })->files().front().path,
           directory / "context.7.10");
  CHECK(notes.empty());
  directory.write("context.7.10", {});
  CHECK_EQ(look().newest(notes, [](const Parent& parent) { parent.load(); })->files().front().path,
           directory / "context.7.2");
  CHECK(notes.size() == 1 && notes[0].find("context.7.10 is empty") != std::string::npos);
  CHECK_ERROR(ENOENT, "/none", Generations(directory / "none", 7, {}));
}

TEST("generations: those that others need are kept, and what is damaged") {
  const Directory directory;
  Heap heap(10);
  directory.write("context.7.1", context_of(heap));
  for (int i = 2; i <= 5; ++i) {
    heap.set(static_cast<std::uint64_t>(i == 5 ? 4 : i), 50 + static_cast<std::uint64_t>(i));
    const Parent parent(directory / fmt::format("context.7.{}", i - 1));
    const std::string name = fmt::format("context.7.{}", i);
    directory.write(name, increment(context_of(heap), parent, directory / name).bytes);
  }
  directory.write("context.7.6", {});
  Generations(directory / "", 7, job_of(heap)).keep(4);
  CHECK_EQ(directory.names(), "context.7.1 context.7.2 context.7.3 context.7.4 context.7.5 context.7.6");
  Generations(directory / "", 7, job_of(heap)).keep(1);  // 4 had one page, which 5 has again
  CHECK_EQ(directory.names(), "context.7.1 context.7.2 context.7.3 context.7.5 context.7.6");
  (void)pages_of(directory / "context.7.5");
}

TEST("generations: one that was kept for its bytes goes when nobody needs these any more") {
  const Directory directory;
  Heap heap(10);
  directory.write("context.7.1", context_of(heap));
  const auto next = [&](int number, std::uint64_t page) {
    heap.set(page, 50 + static_cast<std::uint64_t>(number));
    const Parent parent(directory / fmt::format("context.7.{}", number - 1));
    const std::string name = fmt::format("context.7.{}", number);
    directory.write(name, increment(context_of(heap), parent, directory / name).bytes);
  };
  next(2, 2);
  next(3, 3);
  next(4, 2);
  Generations(directory / "", 7, job_of(heap)).keep(1);
  CHECK_EQ(directory.names(), "context.7.1 context.7.3 context.7.4");  // 3 needs 2, which is gone
  next(5, 3);
  Generations(directory / "", 7, job_of(heap)).keep(1);
  CHECK_EQ(directory.names(), "context.7.1 context.7.4 context.7.5");
  (void)pages_of(directory / "context.7.5");
}

// Another job that has had the same id: 2 and 3 are its, and 3 needs 2; 1, 4 and 5 are ours.
void two_jobs(const Directory& directory, Heap& heap, Heap& other) {
  directory.write("context.7.1", context_of(heap));
  directory.write("context.7.2", context_of(other));
  other.set(1, 71);
  const Parent theirs(directory / "context.7.2");
  directory.write("context.7.3", increment(context_of(other), theirs, directory / "context.7.3").bytes);
  heap.set(2, 72);
  const Parent ours(directory / "context.7.1");
  directory.write("context.7.4", increment(context_of(heap), ours, directory / "context.7.4").bytes);
  directory.write("context.7.5", context_of(heap));
}

TEST("generations: those of another job of the same id are no parents, and stay") {
  const Directory directory;
  Heap heap(10), other(10);
  other.set(9, 1234);
  two_jobs(directory, heap, other);
  Generations(directory / "", 7, job_of(heap)).keep(1);
  CHECK_EQ(directory.names(), "context.7.2 context.7.3 context.7.5");
  Generations(directory / "", 7, job_of(other)).keep(1);
  CHECK_EQ(directory.names(), "context.7.2 context.7.3 context.7.5");
  std::vector<std::string> notes;
  const Generations theirs(directory / "", 7, job_of(other));
  CHECK_EQ(theirs.newest(notes, [](const Parent&) {})->files().front().path, directory / "context.7.3");
  CHECK(notes.size() == 1 &&
        notes[0].find("context.7.5 is from another job that had the id 7") != std::string::npos);
  CHECK(theirs.next(false).ends_with("context.7.6"));
  Heap third(10);
  third.set(9, 5678);
  notes.clear();
  CHECK(!Generations(directory / "", 7, job_of(third)).newest(notes, [](const Parent&) {}));
  CHECK(notes.size() == 2 &&
        notes[0].find("context.7.5 and 2 more are from another job") != std::string::npos);
  CHECK(notes.size() == 2 && notes[1].find("no existing context can be the parent") != std::string::npos);
}

TEST("generations: what has been written says whose it is") {
  const Directory directory;
  Heap heap(10), other(10);
  other.set(9, 1234);
  two_jobs(directory, heap, other);
  // It has run another program since it was looked at.
  const Generations generations(directory / "", 7, job_of(other));
  directory.write("context.7.6", context_of(heap));
  generations.keep(1);
  CHECK_EQ(directory.names(), "context.7.2 context.7.3 context.7.6");
}

TEST("generations: what another job's need stays") {
  const Directory directory;
  Heap heap(10), other(10);
  other.set(9, 1234);
  directory.write("context.7.1", context_of(heap));
  const Parent parent(directory / "context.7.1");
  directory.write("context.7.2", increment(context_of(other), parent, directory / "context.7.2").bytes);
  directory.write("context.7.3", context_of(heap));
  Generations(directory / "", 7, job_of(heap)).keep(1);
  CHECK_EQ(directory.names(), "context.7.1 context.7.2 context.7.3");
}

TEST("generations: a copy of the job on another node") {
  constexpr std::uint64_t kSecond = 1000000000;
  const auto made = [](Heap& heap, std::string_view node, std::uint64_t seconds) {
    ContextBuilder builder;
    heap.add_to(builder);
    builder.context.system.realtime_ns = seconds * kSecond;
    builder.context.system.boottime_ns = (seconds - 100) * kSecond;
    std::fill(std::begin(builder.context.system.nodename), std::end(builder.context.system.nodename), 0);
    std::copy(node.begin(), node.end(), std::begin(builder.context.system.nodename));
    return builder.build();
  };
  const Directory directory;
  Heap heap(10);
  directory.write("context.7.1", made(heap, "here", 1000));   // before the restart
  directory.write("context.7.2", made(heap, "there", 1500));  // (same)
  directory.write("context.7.3", made(heap, "there", 3000));  // of the other
  directory.write("context.7.4", made(heap, "here", 4000));
  LiveJob job = job_of(heap);
  job.node = "here";
  job.started_ns = 2000 * kSecond;
  std::vector<std::string> notes;
  CHECK_EQ(Generations(directory / "", 7, job).newest(notes, [](const Parent&) {})->files().front().path,
           directory / "context.7.4");
  Generations(directory / "", 7, job).keep(1);
  CHECK_EQ(directory.names(), "context.7.3 context.7.4");
  // What a node has made itself is of the job, however its clock has been set since.
  job.node = "there";
  Generations(directory / "", 7, job).keep(1);
  CHECK_EQ(directory.names(), "context.7.3 context.7.4");
}

TEST("generations: what cannot be read of a job that runs") {
  const Directory directory;
  ContextBuilder builder;
  Heap(10).add_to(builder);
  directory.write("context.1000.1", builder.build());
  LiveJob job;
  job.auxv = builder.context.mms.at(1).auxv;
  std::vector<std::string> notes;
  CHECK(Generations(directory / "", 1000, job).newest(notes, [](const Parent&) {}).has_value());
  CHECK_EQ(fmt::format("{}", fmt::join(notes, "; ")), "");
  job.auxv[3] += kPage;
  CHECK(!Generations(directory / "", 1000, job).newest(notes, [](const Parent&) {}));
  CHECK(!Generations(directory / "", 1000, {}).newest(notes, [](const Parent&) {}));
  CHECK_EQ(directory.names(), "context.1000.1");
}

TEST("generations: a job that runs") {
  const LiveJob job = live_job(::getpid());
  Mark mark{};
  std::memcpy(mark.data(), reinterpret_cast<const void*>(::getauxval(AT_RANDOM)), mark.size());
  CHECK(job.line.marks.contains(mark));
  CHECK(job.started_ns > 0);
  CHECK(!job.node.empty());
  CHECK(live_job(1 << 30).line.marks.empty());
}

}  // namespace
