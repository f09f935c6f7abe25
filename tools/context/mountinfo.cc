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

std::optional<Mount> parse_line(const std::string& line) {
  std::istringstream in(line);
  std::string id, parent, options, word, root, point;
  Mount mount;
  in >> id >> parent >> mount.device >> root >> point >> options;
  while (in >> word && word != "-") {
    if (word.starts_with("shared:")) mount.shared = group_of(word);
    if (word.starts_with("master:")) mount.slave = group_of(word);
  }
  std::string source, super;
  in >> mount.type >> source >> super;
  const auto number = parse_number<std::uint32_t>(id);
  const auto above = parse_number<std::uint32_t>(parent);
  if (!in || !number || !above || !root.starts_with('/') || !point.starts_with('/')) return {};
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
