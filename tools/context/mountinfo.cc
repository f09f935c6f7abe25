// SPDX-License-Identifier: GPL-2.0-only
#include "context/mountinfo.h"

#include <algorithm>
#include <sstream>

#include "base/parse.h"

namespace cryo {
namespace {

bool is_octal(std::string_view digits) {
  return digits.size() == 3 && digits[0] <= '3' &&
         std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '7'; });
}

}  // namespace

std::string unescape_octal(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\\' && is_octal(text.substr(at + 1, 3))) {
      result +=
          static_cast<char>((text[at + 1] - '0') * 64 + (text[at + 2] - '0') * 8 + (text[at + 3] - '0'));
      at += 3;
    } else {
      result += text[at];
    }
  }
  return result;
}

namespace {

std::set<std::string> split(const std::string& text) {
  std::set<std::string> words;
  std::istringstream in(text);
  for (std::string word; std::getline(in, word, ',');) words.insert(word);
  return words;
}

// "shared:N"; 0 is none, and no number is.
std::uint32_t group_of(const std::string& word) {
  return parse_number<std::uint32_t>(word.substr(word.find(':') + 1)).value_or(0);
}

// A field may be empty, or have any character in it but a space, a tab, a line feed and a backslash.
std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields;
  std::istringstream in(line);
  for (std::string field; std::getline(in, field, ' ');) fields.push_back(field);
  if (line.ends_with(' ')) fields.emplace_back();
  return fields;
}

std::optional<Mount> parse_line(const std::string& line) {
  enum { kId, kParent, kDevice, kRoot, kPoint, kOptions, kOptional };
  enum { kType = 1, kSource, kSuper };  // behind the separator
  const std::vector<std::string> fields = fields_of(line);
  if (fields.size() <= kOptional) return {};
  const auto end = std::find(fields.begin() + kOptional, fields.end(), "-");
  if (fields.end() - end <= kSuper) return {};
  Mount mount;
  for (auto word = fields.begin() + kOptional; word != end; ++word) {
    if (word->starts_with("shared:")) mount.shared = group_of(*word);
    if (word->starts_with("master:")) mount.slave = group_of(*word);
  }
  mount.device = fields[kDevice];
  mount.type = end[kType];
  const std::string &root = fields[kRoot], &point = fields[kPoint], &options = fields[kOptions];
  const std::string &source = end[kSource], &super = end[kSuper];
  const auto number = parse_number<std::uint32_t>(fields[kId]);
  const auto above = parse_number<std::uint32_t>(fields[kParent]);
  if (!number || !above || !root.starts_with('/') || !point.starts_with('/')) return {};
  mount.id = *number;
  mount.parent = *above;
  mount.root = unescape_octal(root);
  mount.point = unescape_octal(point);
  mount.source = unescape_octal(source);
  mount.options = split(options);
  mount.super_options = unescape_octal(super);
  return mount;
}

}  // namespace

std::optional<std::vector<Mount>> parse_mountinfo(std::string_view text) {
  std::vector<Mount> mounts;
  std::istringstream in{std::string(text)};
  for (std::string line; std::getline(in, line);) {
    std::optional<Mount> mount = parse_line(line);
    if (!mount) return {};
    mounts.push_back(std::move(*mount));
  }
  return mounts;
}

bool lies_below(std::string_view path, std::string_view top) {
  return top == "/" || path == top || (path.starts_with(top) && path[top.size()] == '/');
}

}  // namespace cryo
