// SPDX-License-Identifier: GPL-2.0-only
#include "base/option_table.h"

#include <cstdio>

namespace cryo {
namespace {

bool is_heading(const OptionRow& row) {
  return row.letters == nullptr;
}

int argument_of(const OptionRow& row) {
  if (*row.argument == '\0') return no_argument;
  return *row.argument == '[' ? optional_argument : required_argument;
}

// "-f, --file=FILE"
std::string syntax(const OptionRow& row) {
  std::string text;
  for (const char letter : std::string_view(row.letters)) text.append({'-', letter, ',', ' '});
  return text.append("--").append(row.name).append(row.argument);
}

void print_entry(std::string entry, std::string_view text, std::size_t column) {
  const std::string indentation(column, ' ');
  if (!text.empty()) {
    if (entry.size() < column)
      entry.resize(column, ' ');
    else
      entry.append("\n").append(indentation);
  }
  for (const char c : text) {
    entry.push_back(c);
    if (c == '\n') entry.append(indentation);
  }
  std::puts(entry.c_str());
}

}  // namespace

std::string short_options(std::span<const OptionRow> rows) {
  std::string options;
  for (const OptionRow& row : rows) {
    if (is_heading(row)) continue;
    for (const char letter : std::string_view(row.letters)) {
      if (letter == '?') continue;
      options.push_back(letter);
      options.append(static_cast<std::size_t>(argument_of(row)), ':');  // one: required, two: optional
    }
  }
  return options;
}

std::vector<option> long_options(std::span<const OptionRow> rows) {
  std::vector<option> options;
  for (const OptionRow& row : rows)
    if (!is_heading(row)) options.push_back({row.name, argument_of(row), nullptr, row.value});
  options.push_back({});
  return options;
}

void print_options(std::span<const OptionRow> rows, std::size_t column) {
  std::string entry;
  for (const OptionRow& row : rows) {
    if (row.text == kHidden || row.text == kNamedElsewhere) continue;
    if (is_heading(row)) {
      std::printf("\n%s:\n", row.text);
      continue;
    }
    entry.append(!entry.empty() ? ", " : *row.letters == '\0' ? "      " : "  ").append(syntax(row));
    if (row.text == kWithNext) continue;
    print_entry(std::move(entry), row.text, column);
    entry.clear();
  }
}

}  // namespace cryo
