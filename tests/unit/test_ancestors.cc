// SPDX-License-Identifier: GPL-2.0-only
// Contexts that need others: what the reader takes and refuses, and what is found of those others.
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "context/chain.h"
#include "context/hash.h"
#include "unit/damage.h"

namespace {

using namespace cryo;
using test::bytes_of;
using test::ContextBuilder;
using test::read;

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kStart = 8 * kPage;  // mapped in ContextBuilder's memory, without pages

// What is written, and the values with which it can be made wrong.
struct Parts {
  cryo_ancestor ancestor{};
  std::string name = "parent";
  std::uint32_t count = 1;
  cryo_pages head{CRYO_PAGES_MM, 1, sizeof(cryo_elsewhere_run), 2};
  cryo_elsewhere_run run{kStart, kPage, 2, 1};
  std::vector<Hash> hashes = std::vector<Hash>(2);
};

void append(Bytes& to, std::span<const std::byte> bytes) {
  to.insert(to.end(), bytes.begin(), bytes.end());
}

void add(ContextBuilder& builder, Parts parts) {
  parts.ancestor.name_len = static_cast<std::uint32_t>(parts.name.size());
  Bytes names = bytes_of(parts.ancestor);
  append(names, std::as_bytes(std::span(parts.name)));
  Bytes runs = bytes_of(parts.run);
  append(runs, std::as_bytes(std::span(parts.hashes)));
  const cryo_array array{parts.count, sizeof(cryo_ancestor)};
  builder.extra.push_back({CRYO_SEC_PAGES_ELSEWHERE, 1, CRYO_SECF_REQUIRED, bytes_of(parts.head), runs});
  builder.extra.push_back({CRYO_SEC_ANCESTORS, 0, CRYO_SECF_REQUIRED, bytes_of(array), names});
}

Parts good_parts() {
  Parts parts;
  parts.ancestor.length = 10 * kPage;
  return parts;
}

template <typename Change>
void refused(std::string_view text, Change&& change) {
  ContextBuilder builder;
  Parts parts = good_parts();
  change(parts);
  add(builder, parts);
  CHECK_ERROR(EBADMSG, text, read(builder.build()));
}

// A directory with a context "parent", whose first pages are what "child" does not have.
struct Family {
  Family() {
    std::string name = std::filesystem::temp_directory_path() / "cryo-XXXXXX";
    directory = ::mkdtemp(name.data());
    bytes = ContextBuilder().build();
    write("parent", bytes);
    const Context context = read(bytes);
    Parts parts = good_parts();
    parts.ancestor.length = bytes.size();
    parts.run.offset = context.pages[0].data_offset;
    parts.run.nr_pages = parts.head.nr_pages = static_cast<std::uint32_t>(context.pages[0].nr_pages);
    parts.hashes.clear();
    for (std::uint64_t i = 0; i < parts.run.nr_pages; ++i)
      parts.hashes.push_back(hash_of(std::span(bytes).subspan(parts.run.offset + i * kPage, kPage)));
    const Hash id = identity_of(Source::from_memory(bytes, "test"));
    std::memcpy(std::begin(parts.ancestor.id), id.data(), id.size());
    ContextBuilder builder;
    add(builder, parts);
    write("child", builder.build());
  }
  ~Family() { std::filesystem::remove_all(directory); }
  Family(const Family&) = delete;
  Family& operator=(const Family&) = delete;

  void write(const std::string& name, const Bytes& what) const {
    std::ofstream(path(name), std::ios::binary)
        .write(reinterpret_cast<const char*>(what.data()), static_cast<std::streamsize>(what.size()));
  }
  [[nodiscard]] std::string path(const std::string& name) const { return directory + "/" + name; }
  // As cr_restart looks at the child.
  void look(const AncestorPlace& place) const {
    const Source source = Source::open(path("child"));
    const Context context = read_context(source);
    Chain(context, source, place).verify(context);
  }
  void look() const { look({path("child"), {}}); }

  std::string directory;
  Bytes bytes;
};

TEST("pages elsewhere are read") {
  ContextBuilder builder;
  Parts parts = good_parts();
  parts.hashes[1].fill(std::byte{7});
  add(builder, parts);
  const Context context = read(builder.build());
  CHECK_EQ(context.ancestors.size(), 1U);
  CHECK_EQ(context.ancestors.front().name, "parent");
  CHECK_EQ(context.ancestors.front().head.length, 10 * kPage);
  const PageChunk& chunk = context.pages.back();
  CHECK_EQ(chunk.ancestor, 1U);
  CHECK_EQ(chunk.nr_pages, 2U);
  CHECK_EQ(chunk.bytes, 2 * kPage);
  CHECK_EQ(chunk.data_offset, kPage);
  CHECK_EQ(chunk.runs.front().start, kStart);
  CHECK(chunk.hashes == parts.hashes);
}

TEST("every flipped bit of sections about ancestors is noticed") {
  ContextBuilder builder = ContextBuilder::smallest();
  Parts parts = good_parts();
  parts.run = {kPage * 16, kPage, 1, 1};
  parts.head.nr_pages = 1;
  parts.hashes.resize(1);
  add(builder, parts);
  Bytes bytes = builder.build();
  (void)read(bytes);
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    CHECK_ERROR(EBADMSG, "", read(bytes));
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
  }
}

TEST("ancestors that cannot be") {
  refused("ANCESTORS: 0 contexts", [](Parts& p) { p.count = 0; });
  refused("ANCESTORS: 129 contexts", [](Parts& p) { p.count = CRYO_ANCESTORS_MAX + 1; });
  refused("ANCESTORS: 4294967295 contexts", [](Parts& p) { p.count = ~0U; });
  refused("ANCESTORS: its records are cut", [](Parts& p) { p.count = 2; });
  refused("ANCESTORS: a name of 0 bytes", [](Parts& p) { p.name.clear(); });
  refused("ANCESTORS: a name of 4096 bytes", [](Parts& p) { p.name.assign(4096, 'x'); });
  refused("ANCESTORS: a NUL byte", [](Parts& p) { p.name[2] = '\0'; });
}

TEST("pages elsewhere that cannot be") {
  refused("are in no other context", [](Parts& p) { p.run.ancestor = 0; });
  refused("are in context 2 of 1", [](Parts& p) { p.run.ancestor = 2; });
  refused("byte 4097 is not one of pages", [](Parts& p) { p.run.offset = kPage + 1; });
  refused("is not one of pages", [](Parts& p) { p.run.offset = ~0ULL - kPage + 1; });
  refused("parent at byte 36864, which has 40960 bytes", [](Parts& p) { p.run.offset = 9 * kPage; });
  refused("0 +0 pages", [](Parts& p) { p.run.nr_pages = 0; });
  refused("2 pages in its runs, 1 pages in its head", [](Parts& p) {
    p.head.nr_pages = 1;
    p.hashes.resize(1);
  });
  refused("do not fill its", [](Parts& p) { p.head.nr_pages = ~0U; });
  refused("do not fill its", [](Parts& p) { p.head.nr_runs = ~0U; });
  refused("do not fill its", [](Parts& p) { p.hashes.resize(1); });
  refused("do not fill its", [](Parts& p) { p.hashes.resize(3); });
  refused("records of 8 bytes", [](Parts& p) { p.head.record_size = 8; });
  refused("unknown kind 3", [](Parts& p) { p.head.kind = 3; });
  refused("are outside of memory 1", [](Parts& p) { p.run.start = 100 * kPage; });
  refused("is no range of pages", [](Parts& p) { p.run.start += 1; });
  refused("more than 65536 pages", [](Parts& p) {
    p.run.nr_pages = p.head.nr_pages = CRYO_ELSEWHERE_MAX + 1;
    p.hashes.resize(CRYO_ELSEWHERE_MAX + 1);
  });
}

TEST("no page twice, here and elsewhere") {
  const std::uint64_t own = read(ContextBuilder().build()).pages.front().runs.front().start;
  refused(fmt::format("page {:#x} of memory 1 appears twice", own), [&](Parts& p) { p.run.start = own; });
  ContextBuilder builder;
  add(builder, good_parts());
  ContextBuilder again = builder;
  again.extra.insert(again.extra.begin(), builder.extra.front());
  CHECK_ERROR(EBADMSG, "appears twice", read(again.build()));
  again = builder;
  again.extra.push_back(builder.extra.back());
  CHECK_ERROR(EBADMSG, "ANCESTORS: object 0 has it twice", read(again.build()));
}

TEST("a chain that is whole") {
  const Family family;
  family.look();
  std::filesystem::create_directory(family.path("other"));
  std::filesystem::rename(family.path("parent"), family.path("other/parent"));
  family.look({{}, family.path("other")});
  CHECK_ERROR(ENOENT, "/parent, which cannot be opened", family.look());
  CHECK_ERROR(ENOENT, "not read from a directory", family.look({{}, {}}));
}

TEST("the context may be known by a link") {
  const Family family;
  std::filesystem::create_directory(family.path("other"));
  std::filesystem::create_symlink(family.path("child"), family.path("other/link"));
  family.look({family.path("other/link"), {}});
}

TEST("an ancestor that is not what it was") {
  const Family family;
  const auto altered = [&](std::size_t at) {
    Bytes bytes = family.bytes;
    bytes[at] ^= std::byte{1};
    family.write("parent", bytes);
  };
  const Context context = read(family.bytes);
  altered(context.pages[0].data_offset + 17);
  CHECK_ERROR(EBADMSG, "/parent, which has been modified", family.look());
  altered(8);
  CHECK_ERROR(EBADMSG, "/parent, which is damaged", family.look());
  family.write("parent", Bytes(family.bytes.begin(), family.bytes.end() - 1));
  CHECK_ERROR(EBADMSG, "/parent, which is damaged", family.look());
  ContextBuilder other;
  other.process().command = "another";
  family.write("parent", other.build());
  CHECK_ERROR(EBADMSG, "/parent, but another context has that name", family.look());
  family.write("parent", family.bytes);
  family.look();
}

TEST("an ancestor that is no file") {
  const Family family;
  std::filesystem::remove(family.path("parent"));
  CHECK_EQ(::mkfifo(family.path("parent").c_str(), 0600), 0);
  CHECK_ERROR(EBADMSG, "/parent, which is not a regular file", family.look());
}

TEST("an ancestor that nobody has touched") {
  const Family family;
  struct stat status {};
  CHECK_EQ(::stat(family.path("parent").c_str(), &status), 0);
  CHECK_EQ(changed_ns(status), 0U);  // it has just been written
  do {
    ::usleep(10'000);
  } while (changed_ns(status) == 0);
  Ancestor ancestor;
  ancestor.head.inode = status.st_ino;
  ancestor.head.changed_ns = changed_ns(status);
  const auto untouched = [&] { return is_untouched(ancestor, Source::open(family.path("parent"))); };
  CHECK(untouched());
  ++ancestor.head.inode;
  CHECK(!untouched());
  --ancestor.head.inode;
  ++ancestor.head.changed_ns;
  CHECK(!untouched());
  ancestor.head.changed_ns = 0;  // not known
  CHECK(!untouched());
  ancestor.head.changed_ns = changed_ns(status);
  CHECK_EQ(::chmod(family.path("parent").c_str(), 0400), 0);
  ::usleep(50'000);  // else there is no time that it was changed at
  CHECK(!untouched());
}

TEST("what a context is known by") {
  const Family family;
  const auto id = [](const Bytes& bytes) { return identity_of(Source::from_memory(bytes, "test")); };
  CHECK(id(family.bytes) == id(ContextBuilder().build()));
  ContextBuilder other;
  other.page_data[0][5] ^= std::byte{1};
  CHECK(id(other.build()) != id(family.bytes));
  // XXH3 of 128 bits, as `xxhsum -H2` gives it.
  CHECK(hash_of(std::as_bytes(std::span("", 0))) == Hash(std::bit_cast<Hash>(std::array<std::uint8_t, 16>{
                                                        0x99, 0xaa, 0x06, 0xd3, 0x01, 0x47, 0x98, 0xd8, 0x60,
                                                        0x01, 0xc3, 0x24, 0x46, 0x8d, 0x49, 0x7f})));
}

}  // namespace
