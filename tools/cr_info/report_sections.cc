// SPDX-License-Identifier: GPL-2.0-only
// Each section of a context with each of its fields, as the tables say that are made of the headers of the
// format.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "context/schema.h"
#include "context/section.h"
#include "cr_info/report.h"
#include "cr_info/text.h"

namespace cryo {
namespace {

using Json = nlohmann::ordered_json;
using View = std::span<const std::byte>;

// Of longer ones only the length is shown: contents of a full pipe are.
constexpr std::size_t kShownBytes = std::size_t{1} << 20;

View part_of(View bytes, std::size_t offset, std::size_t size) {
  if (offset >= bytes.size()) return {};
  return bytes.subspan(offset, std::min(size, bytes.size() - offset));
}

std::string text_of(View bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string padded_text(View bytes) {
  const std::string text = text_of(bytes);
  return text.substr(0, text.find('\0'));
}

Json names_of(const SchemaField& field, std::uint64_t value) {
  if (!field.flags) {
    for (const SchemaValue& known : field.values)
      if (known.value == value) return known.name;
    return "unknown";
  }
  Json names = Json::array();
  for (const SchemaValue& known : field.values) {
    if ((value & known.value) == 0) continue;
    names.push_back(known.name);
    value &= ~known.value;
  }
  if (value != 0) names.push_back(fmt::format("{:#x}", value));
  return names;
}

Json number_json(const SchemaField& field, View bytes, std::size_t index) {
  const std::uint64_t value = schema_number(field, bytes, index);
  if (field.kind == SchemaKind::kSigned) return static_cast<std::int64_t>(value);
  return value;
}

Json numbers_json(const SchemaField& field, View bytes) {
  if (field.size == field.one_size) return number_json(field, bytes, 0);
  Json all = Json::array();
  for (std::size_t i = 0; i < field.size / field.one_size; ++i) all.push_back(number_json(field, bytes, i));
  return all;
}

bool has_bits(View bytes) {
  return std::any_of(bytes.begin(), bytes.end(), [](std::byte byte) { return byte != std::byte{0}; });
}

Json structure_json(const SchemaStruct& structure, View bytes);

Json field_json(const SchemaField& field, View bytes) {
  const View own = part_of(bytes, field.offset, field.size);
  switch (field.kind) {
    case SchemaKind::kStruct:
      return structure_json(*field.structure, own);
    case SchemaKind::kText:
      return padded_text(own);
    case SchemaKind::kBytes:
      return hex_text(own);
    default:
      return numbers_json(field, bytes);
  }
}

// What is reserved appears only where it is not zero.
Json structure_json(const SchemaStruct& structure, View bytes) {
  Json json = Json::object();
  for (const SchemaField& field : structure.fields) {
    if (field.kind == SchemaKind::kReserved && !has_bits(part_of(bytes, field.offset, field.size))) continue;
    json[field.name] = field_json(field, bytes);
    if (!field.values.empty())
      json[std::string(field.name) + (field.flags ? "_names" : "_name")] =
          names_of(field, schema_number(field, bytes));
  }
  return json;
}

// A structure that says how many there are of what follows it.
struct Head {
  const SchemaStruct* structure = nullptr;
  View bytes;

  [[nodiscard]] std::uint64_t value(const char* name) const {
    const SchemaField* const field = structure == nullptr ? nullptr : schema_field(*structure, name);
    return field == nullptr ? 0 : schema_number(*field, bytes);
  }
};

class Tail {
 public:
  Tail(const SchemaSection& section, Head fixed, View bytes)
      : section_(section), fixed_(fixed), rest_(bytes) {}

  Json json() {
    if (section_.repeated) return repeated();
    Json all = Json::object();
    for (std::size_t i = 0; i < section_.tail.size(); ++i) add(all, i, fixed_);
    return all;
  }

 private:
  // A structure, and what it says that follows; as often as there is room.
  Json repeated() {
    Json all = Json::array();
    const SchemaPart& first = section_.tail.front();
    for (std::size_t size = size_of(first); size != 0 && rest_.size() >= size;) {
      const Head head{first.structure, rest_.first(size)};
      rest_ = rest_.subspan(size);
      Json one = structure_json(*head.structure, head.bytes);
      Json more = Json::object();
      for (std::size_t i = 1; i < section_.tail.size(); ++i) add(more, i, head);
      one["tail"] = std::move(more);
      all.push_back(std::move(one));
    }
    return all;
  }

  // Structures may have grown: their size is in the section then.
  [[nodiscard]] std::size_t size_of(const SchemaPart& part) const {
    const std::uint64_t size = part.structure == nullptr ? 0 : fixed_.value("record_size");
    return size != 0 ? size : part.size;
  }

  [[nodiscard]] std::size_t bytes_of(std::size_t index, const Head& head) const {
    const SchemaPart& part = section_.tail[index];
    const std::uint64_t all = rest_.size();
    if (*part.count != '\0') return std::min(all, head.value(part.count) * size_of(part));
    std::uint64_t later = 0;
    for (std::size_t i = index + 1; i < section_.tail.size(); ++i)
      if (*section_.tail[i].count != '\0')
        later += head.value(section_.tail[i].count) * size_of(section_.tail[i]);
    return all - std::min(all, later);
  }

  void add(Json& json, std::size_t index, const Head& head) {
    const SchemaPart& part = section_.tail[index];
    const View own = rest_.first(bytes_of(index, head));
    rest_ = rest_.subspan(own.size());
    switch (part.kind) {
      case SchemaKind::kText:
        json[part.name] = text_of(own);
        return;
      case SchemaKind::kBytes:
        json[std::string(part.name) + "_bytes"] = own.size();
        if (own.size() <= kShownBytes) json[part.name] = hex_text(own);
        return;
      default:
        json[part.name] = records(part, own);
    }
  }

  [[nodiscard]] Json records(const SchemaPart& part, View bytes) const {
    Json all = Json::array();
    const std::size_t size = size_of(part);
    const SchemaField number{"", SchemaKind::kUnsigned, 0, size, size, nullptr, {}, false};
    for (; size != 0 && bytes.size() >= size; bytes = bytes.subspan(size))
      all.push_back(part.structure != nullptr ? structure_json(*part.structure, bytes.first(size))
                                              : number_json(number, bytes, 0));
    return all;
  }

  const SchemaSection& section_;
  Head fixed_;
  View rest_;
};

Json section_json(const SectionScanner& scanner, const Section& section) {
  Json json = {
      {"section", section_name(section.head.type)},
      {"offset", section.offset},
      {"object", section.head.object},
      {"required", (section.head.flags & CRYO_SECF_REQUIRED) != 0},
      {"bytes", section.head.length},
      {"header", structure_json(schema_section_header(), std::as_bytes(std::span(&section.head, 1)))}};
  const SchemaSection* const known = schema_section(section.head.type);
  if (known == nullptr || section.head.type == CRYO_SEC_PAGE_DATA) return json;
  const Bytes payload = scanner.payload(section);
  const View fixed = View(payload).first(section.head.fixed_len);
  if (known->structure != nullptr)
    json["fields"] = structure_json(*known->structure, fixed);
  else if (!fixed.empty())
    json["structure"] = hex_text(fixed);
  if (!known->tail.empty())
    json["tail"] =
        Tail(*known, {known->structure, fixed}, View(payload).subspan(section.head.fixed_len)).json();
  return json;
}

bool is_layout(std::uint32_t type) {
  const SchemaSection* const known = schema_section(type);
  return known != nullptr && known->layout;
}

// The reader has compared the checksums.
template <typename Take>
void each_section(const Source& source, bool with_layout, Take&& take) {
  SectionScanner scanner(source, {.verify_pages = false, .show_only = true, .check_crcs = false});
  for (bool more = true; more;) {
    const Section section = scanner.next();
    more = section.head.type != CRYO_SEC_END;
    if (with_layout || !is_layout(section.head.type)) take(section_json(scanner, section));
  }
}

// "start 4096, end 8192"
std::string values_text(const Json& json) {
  std::string text;
  for (const auto& [name, value] : json.items()) {
    if (!text.empty()) text += ", ";
    text += name + " ";
    text += value.is_string() ? value.get<std::string>()
                              : value.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  return text;
}

}  // namespace

Json file_header_json(const cryo_file_header& header) {
  return structure_json(schema_file_header(), std::as_bytes(std::span(&header, 1)));
}

Json sections_json(const Source& source, bool with_layout) {
  Json all = Json::array();
  each_section(source, with_layout, [&](Json section) { all.push_back(std::move(section)); });
  return all;
}

void print_every_section(const Source& source) {
  fmt::print("\nevery section\n");
  each_section(source, true, [](const Json& section) {
    fmt::print("  byte {}: {} {}", section["offset"].get<std::uint64_t>(),
               section["section"].get<std::string>(), section["object"].get<std::uint64_t>());
    for (const char* part : {"fields", "tail"})
      if (section.contains(part) && !section[part].empty())
        fmt::print("; {}", printable(section[part].is_array()
                                         ? section[part].dump(-1, ' ', false, Json::error_handler_t::replace)
                                         : values_text(section[part])));
    fmt::print("\n");
  });
}

}  // namespace cryo
