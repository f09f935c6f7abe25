// SPDX-License-Identifier: GPL-2.0-only
#include "context/schema.h"

#include <cryo/format.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace cryo {
namespace {

// Nothing between the fields and behind them: then none is missing.
constexpr bool fills(std::span<const SchemaField> fields, std::size_t size) {
  std::size_t at = 0;
  for (const SchemaField& field : fields) {
    if (field.offset != at || (field.structure != nullptr && field.structure->size != field.size))
      return false;
    at += field.size;
  }
  return at == size;
}

#include "schema/tables.inc"

}  // namespace

const SchemaStruct& schema_file_header() {
  return kStruct_cryo_file_header;
}

const SchemaStruct& schema_section_header() {
  return kStruct_cryo_section;
}

std::span<const SchemaSection> schema_sections() {
  return kSections;
}

const SchemaSection* schema_section(std::uint32_t type) {
  const auto* const at =
      std::lower_bound(std::begin(kSections), std::end(kSections), type,
                       [](const SchemaSection& known, std::uint32_t wanted) { return known.type < wanted; });
  return at != std::end(kSections) && at->type == type ? at : nullptr;
}

const SchemaField* schema_field(const SchemaStruct& structure, const char* name) {
  for (const SchemaField& field : structure.fields)
    if (std::strcmp(field.name, name) == 0) return &field;
  return nullptr;
}

std::uint64_t schema_number(const SchemaField& field, std::span<const std::byte> bytes, std::size_t index) {
  std::array<std::byte, sizeof(std::uint64_t)> number{};
  const std::size_t offset = field.offset + index * field.one_size;
  if (field.one_size > number.size() || offset >= bytes.size()) return 0;
  std::copy_n(&bytes[offset], std::min(field.one_size, bytes.size() - offset), number.begin());
  std::uint64_t value;
  std::memcpy(&value, number.data(), sizeof(value));
  const auto bits = static_cast<unsigned int>(8 * (sizeof(value) - field.one_size));
  if (field.kind != SchemaKind::kSigned) return value;
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(value << bits) >> bits);
}

std::string section_name(std::uint32_t type) {
  const SchemaSection* const known = schema_section(type);
  return known != nullptr ? known->name : fmt::format("section type {}", type);
}

}  // namespace cryo
