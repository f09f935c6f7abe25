// SPDX-License-Identifier: GPL-2.0-only
// What the headers of the format say of sections, structures and fields: tools/schema.pl reads them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace cryo {

enum class SchemaKind { kUnsigned, kSigned, kText, kBytes, kStruct, kReserved };

// A flag or another value that has a name.
struct SchemaValue {
  const char* name;  // without what all of them begin with: "STOPPED"
  std::uint64_t value;
};

struct SchemaStruct;

struct SchemaField {
  const char* name;
  SchemaKind kind;
  std::size_t offset;
  std::size_t size;      // of all of it
  std::size_t one_size;  // of one, when it is an array
  const SchemaStruct* structure;
  std::span<const SchemaValue> values;
  bool flags;  // `values` are those
};

struct SchemaStruct {
  const char* name;
  std::size_t size;
  std::span<const SchemaField> fields;  // all of them, in their order
};

// Of what follows the structure.
struct SchemaPart {
  const char* name;
  SchemaKind kind;
  std::size_t size;  // of one
  const SchemaStruct* structure;
  const char* count;  // the field that has the number of them; "": what is left
};

struct SchemaSection {
  std::uint16_t type;
  const char* name;
  const SchemaStruct* structure;  // nullptr: has none, or one that an architecture knows
  std::span<const SchemaPart> tail;
  bool repeated;  // the parts: as often as there is room
  bool required;
  bool in_file;
  bool layout;  // of the file: says where other sections and pages are
};

// Of what no section is: before the first one, and before each.
[[nodiscard]] const SchemaStruct& schema_file_header();
[[nodiscard]] const SchemaStruct& schema_section_header();
// Ascending by number.
[[nodiscard]] std::span<const SchemaSection> schema_sections();
// nullptr: not known.
[[nodiscard]] const SchemaSection* schema_section(std::uint32_t type);
// "THREAD", "section type 40": for messages.
[[nodiscard]] std::string section_name(std::uint32_t type);
// nullptr: the structure has no such field.
[[nodiscard]] const SchemaField* schema_field(const SchemaStruct& structure, const char* name);
// A number in `bytes`, which may end before it, as structures grow: 0 then. `index`: of an array.
[[nodiscard]] std::uint64_t schema_number(const SchemaField& field, std::span<const std::byte> bytes,
                                          std::size_t index = 0);

}  // namespace cryo
