// SPDX-License-Identifier: GPL-2.0-only
// The inner layer of the format: a payload is a fixed structure, then a tail.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "context/section.h"

namespace cryo {

// A structure that may be shorter or longer in the file than the one known here.
template <typename T>
[[nodiscard]] T grown(std::span<const std::byte> from) {
  static_assert(std::is_trivially_copyable_v<T>);
  T value{};
  if (!from.empty()) std::memcpy(&value, from.data(), std::min(sizeof(T), from.size()));
  return value;
}

class Payload {
 public:
  Payload(const SectionScanner& scanner, const Section& section)
      : scanner_(scanner), section_(section), data_(scanner.payload(section)) {}

  [[nodiscard]] const Section& section() const { return section_; }
  [[nodiscard]] std::uint32_t object() const { return section_.head.object; }
  [[nodiscard]] std::span<const std::byte> all() const { return data_; }
  [[nodiscard]] std::span<const std::byte> tail() const {
    return std::span(data_).subspan(section_.head.fixed_len);
  }

  template <typename T>
  [[nodiscard]] T fixed() const {
    return grown<T>(std::span(data_).first(section_.head.fixed_len));
  }

  // The tail as `count` records of `record_size` bytes.
  template <typename T>
  [[nodiscard]] std::vector<T> records(std::uint64_t count, std::uint32_t record_size) const {
    const auto bytes = tail();
    if (count != 0 && record_size < sizeof(std::uint64_t) && record_size < sizeof(T))
      damaged("records of {} bytes are too short", record_size);
    if (count * record_size != bytes.size())
      damaged("{} records of {} bytes do not fill its {} bytes", count, record_size, bytes.size());
    std::vector<T> result;
    if (record_size == sizeof(T)) {  // of pages there can be millions
      result.resize(count);
      if (count != 0) std::memcpy(result.data(), bytes.data(), bytes.size());
      return result;
    }
    result.reserve(count);
    for (std::uint64_t i = 0; i < count; ++i)
      result.push_back(grown<T>(bytes.subspan(i * record_size, record_size)));
    return result;
  }

  // The tail of a section whose structure is struct cryo_array.
  template <typename T>
  [[nodiscard]] std::vector<T> array() const {
    const auto head = fixed<cryo_array>();
    return records<T>(head.count, head.record_size);
  }

  // The tail as plain words.
  template <typename T>
  [[nodiscard]] std::vector<T> words() const {
    if (tail().size() % sizeof(T) != 0)
      damaged("its {} bytes are no multiple of {}", tail().size(), sizeof(T));
    return records<T>(tail().size() / sizeof(T), sizeof(T));
  }

  [[nodiscard]] std::string string() const {
    const auto bytes = tail();
    std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (text.find('\0') != std::string::npos) damaged("a NUL byte is inside its text");
    return text;
  }

  [[nodiscard]] Bytes tail_bytes() const { return {tail().begin(), tail().end()}; }

  template <typename... Args>
  [[noreturn]] void damaged(fmt::format_string<Args...> format, Args&&... args) const {
    scanner_.damaged(section_, format, std::forward<Args>(args)...);
  }

 private:
  const SectionScanner& scanner_;
  const Section& section_;
  Bytes data_;
};

}  // namespace cryo
