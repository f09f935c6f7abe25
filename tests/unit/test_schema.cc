// SPDX-License-Identifier: GPL-2.0-only
// What the headers of the format say, and what the reader and cr_info --json make of it: for every section,
// and each of its fields.
#include <algorithm>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "context/reader.h"
#include "context/schema.h"
#include "cr_info/report.h"
#include "unit/sample_contexts.h"
#include "unit/tap.h"

namespace {

using namespace cryo;
using test::ContextBuilder;
using test::RawSection;
using Json = nlohmann::ordered_json;

// The first section of its type in the samples.
struct Found {
  const test::SampleContext* sample = nullptr;
  std::size_t number = 0;
  RawSection section;
};

const std::vector<test::SampleContext>& samples() {
  static const std::vector<test::SampleContext> all = test::sample_contexts();
  return all;
}

const std::map<std::uint16_t, Found>& found_sections() {
  static const std::map<std::uint16_t, Found> all = [] {
    std::map<std::uint16_t, Found> found;
    for (const test::SampleContext& sample : samples()) {
      if (sample.builder.growth != 0) continue;  // with what no writer writes
      ContextBuilder builder = sample.builder;
      std::size_t number = 0;
      builder.edit = [&](const RawSection& section) {
        found.try_emplace(section.type, Found{&sample, number++, section});
      };
      (void)builder.build();
    }
    return found;
  }();
  return all;
}

// With another section in the place of that one.
Bytes with(const Found& found, const RawSection& other) {
  ContextBuilder builder = found.sample->builder;
  std::size_t number = 0;
  builder.edit = [&](RawSection& section) {
    if (number++ == found.number) section = other;
  };
  return builder.build();
}

// The error's text, or nothing: then all of it can be shown. What is not said by an Error of the reader's own
// fails the test.
std::string outcome(const SchemaSection& section, const std::string& change, const Bytes& bytes) {
  const Source source = Source::from_memory(bytes, "test");
  try {
    (void)read_context(source);
    (void)sections_json(source, true);
  } catch (const Error& e) {
    if (e.code() != EBADMSG && e.code() != EOPNOTSUPP)
      tap::failure(__FILE__, __LINE__, fmt::format("{}: {}: {}", section.name, change, e.what()));
    return e.what();
  }
  return "";
}

template <typename Use>
void each_found(Use&& use) {
  for (const SchemaSection& section : schema_sections()) {
    const auto at = found_sections().find(section.type);
    if (at == found_sections().end()) continue;
    try {
      use(section, at->second);
    } catch (const std::exception& e) {
      tap::failure(__FILE__, __LINE__, fmt::format("{}: {}", section.name, e.what()));
    }
  }
}

// Fields that are numbers, also those of structures inside, with their place in the payload.
template <typename Use>
void each_field(const SchemaStruct& structure, std::size_t at, Use&& use) {
  for (const SchemaField& field : structure.fields)
    if (field.structure != nullptr)
      each_field(*field.structure, at + field.offset, use);
    else
      use(field, at + field.offset);
}

// In the structure, or in the first record of the tail.
template <typename Use>
void each_place(const SchemaSection& section, const RawSection& raw, Use&& use) {
  if (section.structure != nullptr)
    each_field(*section.structure, 0, [&](const SchemaField& field, std::size_t at) {
      if (at + field.one_size <= raw.fixed.size()) use(field, &RawSection::fixed, at);
    });
  if (section.tail.empty() || section.tail.front().structure == nullptr) return;
  each_field(*section.tail.front().structure, 0, [&](const SchemaField& field, std::size_t at) {
    if (at + field.one_size <= raw.tail.size()) use(field, &RawSection::tail, at);
  });
}

RawSection set(RawSection section, Bytes RawSection::*part, std::size_t at, std::size_t size,
               std::uint64_t value) {
  std::memcpy(&(section.*part)[at], &value, std::min(size, sizeof(value)));
  return section;
}

TEST("schema: numbers ascend, names are found") {
  std::uint32_t last = 0;
  for (const SchemaSection& section : schema_sections()) {
    CHECK(section.type > last);
    last = section.type;
    CHECK_EQ(section_name(section.type), section.name);
    CHECK(schema_section(section.type) == &section);
  }
  CHECK_EQ(section_name(104), "VMA_NAME");
  CHECK_EQ(section_name(99), "section type 99");
  CHECK(schema_section(0) == nullptr);
  CHECK(schema_section(1 << 20) == nullptr);
  CHECK(!schema_section(CRYO_SEC_VMA_NAME)->required);
  CHECK(schema_section(CRYO_SEC_VMA)->required);
}

TEST("schema: the samples have a section of each type") {
  for (const SchemaSection& section : schema_sections())
    if (section.in_file && !found_sections().contains(section.type))
      tap::failure(__FILE__, __LINE__, fmt::format("tests/unit/sample_contexts.cc has no {}", section.name));
}

TEST("schema: structures that are cut") {
  each_found([](const SchemaSection& section, const Found& found) {
    for (std::size_t size = 0; size < found.section.fixed.size(); size += size < 16 ? 2 : 8) {
      RawSection cut = found.section;
      cut.fixed.resize(size);
      (void)outcome(section, fmt::format("{} bytes", size), with(found, cut));
    }
  });
}

TEST("schema: tails that are cut or too long") {
  each_found([](const SchemaSection& section, const Found& found) {
    RawSection more = found.section;
    more.tail.push_back(std::byte{1});
    (void)outcome(section, "one byte more", with(found, more));
    const std::size_t step = std::max<std::size_t>(1, found.section.tail.size() / 50);
    for (std::size_t size = 0; size < found.section.tail.size(); size += step) {
      RawSection cut = found.section;
      cut.tail.resize(size);
      (void)outcome(section, fmt::format("a tail of {} bytes", size), with(found, cut));
    }
  });
}

TEST("schema: fields at 0, their highest and lowest value, and next to what they were") {
  each_found([](const SchemaSection& section, const Found& found) {
    each_place(
        section, found.section, [&](const SchemaField& field, Bytes RawSection::*part, std::size_t at) {
          std::uint64_t old = 0;
          const std::size_t size = std::min(field.one_size, sizeof(old));
          std::memcpy(&old, &(found.section.*part)[at], size);
          const auto top = std::uint64_t{1} << (8 * size - 1);
          for (const std::uint64_t value : {std::uint64_t{0}, ~std::uint64_t{0}, top, top - 1, old + 1})
            (void)outcome(section, fmt::format("{} = {:#x}", field.name, value),
                          with(found, set(found.section, part, at, size, value)));
        });
  });
}

TEST("schema: reserved fields of structures must be zero") {
  std::size_t tried = 0;
  each_found([&](const SchemaSection& section, const Found& found) {
    if (section.structure == nullptr) return;
    each_field(*section.structure, 0, [&](const SchemaField& field, std::size_t at) {
      if (field.kind != SchemaKind::kReserved || at >= found.section.fixed.size()) return;
      ++tried;
      const Bytes bytes = with(found, set(found.section, &RawSection::fixed, at + field.size - 1, 1, 1));
      const std::string wanted = fmt::format("{}: {} is not zero", section.name, field.name);
      const std::string text = outcome(section, field.name, bytes);
      if (text.find(wanted) == std::string::npos)
        tap::failure(__FILE__, __LINE__, fmt::format("{} {}: \"{}\"", section.name, field.name, text));
    });
  });
  CHECK(tried > 15);
}

TEST("schema: reserved fields of a later minor version are left alone") {
  ContextBuilder builder;
  builder.context.header.format_minor = CRYO_FORMAT_MINOR + 1;
  builder.edit = [](RawSection& section) {
    if (section.type == CRYO_SEC_INODE) section.fixed[offsetof(cryo_inode, reserved)] = std::byte{1};
  };
  (void)read_context(Source::from_memory(builder.build(), "test"));
}

TEST("schema: flags that nothing knows") {
  each_found([](const SchemaSection& section, const Found& found) {
    each_place(section, found.section,
               [&](const SchemaField& field, Bytes RawSection::*part, std::size_t at) {
                 if (!field.flags) return;
                 std::uint64_t known = 0;
                 for (const SchemaValue& value : field.values) known |= value.value;
                 for (unsigned int bit = 0; bit < 8 * field.one_size; ++bit)
                   if ((known >> bit & 1) == 0)
                     (void)outcome(section, fmt::format("{} bit {}", field.name, bit),
                                   with(found, set(found.section, part, at, field.one_size, 1ULL << bit)));
               });
  });
}

// Fields of the structure that the JSON lacks.
void check_fields(const SchemaSection& section, const SchemaStruct& structure, const Json& json) {
  for (const SchemaField& field : structure.fields) {
    if (field.kind == SchemaKind::kReserved) continue;
    const std::string name = field.name;
    if (!json.contains(name))
      tap::failure(__FILE__, __LINE__,
                   fmt::format("{}: the JSON has no {}.{}", section.name, structure.name, name));
    else if (field.structure != nullptr)
      check_fields(section, *field.structure, json[name]);
    if (!field.values.empty()) CHECK(json.contains(name + (field.flags ? "_names" : "_name")));
  }
}

const Json* first_record(const SchemaSection& section, const Json& tail) {
  if (section.repeated) return tail.empty() ? nullptr : &tail[0];
  const Json& records = tail[section.tail.front().name];
  return records.empty() ? nullptr : &records[0];
}

TEST("schema: cr_info --json has each section, and each field of it") {
  std::set<std::string> complete;
  for (const test::SampleContext& sample : samples()) {
    const Bytes bytes = sample.builder.build();
    for (const Json& json : sections_json(Source::from_memory(bytes, sample.name), true)) {
      const std::string name = json["section"];
      const auto& all = schema_sections();
      const auto known = std::find_if(all.begin(), all.end(),
                                      [&](const SchemaSection& section) { return name == section.name; });
      check_fields(*known, schema_section_header(), json["header"]);
      if (known == all.end() || known->type == CRYO_SEC_PAGE_DATA) continue;
      if (known->structure != nullptr) check_fields(*known, *known->structure, json["fields"]);
      for (const SchemaPart& part : known->tail)
        if (!known->repeated) CHECK(json["tail"].contains(part.name));
      if (known->tail.empty() || known->tail.front().structure == nullptr) {
        complete.insert(name);
      } else if (const Json* record = first_record(*known, json["tail"])) {
        check_fields(*known, *known->tail.front().structure, *record);
        complete.insert(name);
      }
    }
  }
  for (const SchemaSection& section : schema_sections())
    if (section.in_file && section.type != CRYO_SEC_PAGE_DATA && !complete.contains(section.name))
      tap::failure(__FILE__, __LINE__, fmt::format("{}: no record of its tail is shown", section.name));
}

const Json& only(const Json& sections, const char* name) {
  for (const Json& section : sections)
    if (section["section"] == name) return section;
  fail(ENOENT, "no section {}", name);
}

TEST("schema: what cr_info --json says of fields") {
  ContextBuilder builder;
  builder.process().head.flags = CRYO_PROC_STOPPED | CRYO_PROC_KEEPCAPS | 1U << 31;
  builder.process().head.oom_score_adj = -5;
  builder.context.system.processes = 1;
  const Bytes bytes = builder.build();
  const Json all = sections_json(Source::from_memory(bytes, "test"), false);
  const Json& process = only(all, "PROCESS")["fields"];
  const Json header = file_header_json(builder.context.header);
  CHECK_EQ(header["arch"].dump(), fmt::format("{}", builder.context.header.arch));
  CHECK(header.contains("incompat") && header.contains("ro_compat") && header.contains("crc"));
  CHECK_EQ(process["flags_names"].dump(), R"(["STOPPED","KEEPCAPS","0x80000000"])");
  CHECK_EQ(process["oom_score_adj"].dump(), "-5");
  CHECK_EQ(only(all, "SYSTEM")["fields"]["sysname"].dump(), "\"Linux\"");
  CHECK_EQ(only(all, "FILE")["fields"]["kind_name"].dump(), "\"PATH\"");
  CHECK_EQ(only(all, "VMA_NAME")["tail"]["name"].dump(), "\"buffers\"");
  CHECK_EQ(only(all, "VMA_NAME")["required"].dump(), "false");
  CHECK_EQ(only(all, "VMA")["fields"]["flags_names"].dump(), R"(["READ","EXEC"])");
  CHECK_EQ(only(all, "VMA")["fields"]["kind_name"].dump(), "\"FILE\"");
  CHECK_EQ(only(all, "CREDS")["tail"]["gids"].dump(), "[4,24,27]");
  CHECK_EQ(only(all, "INOTIFY")["tail"][0]["tail"]["path"].dump(), "\"/tmp\"");
  for (const Json& section : all) CHECK(section["section"] != "PAGES" && section["section"] != "INDEX");
}

}  // namespace
