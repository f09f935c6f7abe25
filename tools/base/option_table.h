// SPDX-License-Identifier: GPL-2.0-only
// The options of a command, in one table: getopt_long(3) and --help take them from there, completion in the
// shell from --help, and man/option-tags the tags of the manual page's entries, whose texts are its own.
#pragma once

#include <getopt.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cryo {

// One option. Several rows are one entry of --help, with the text of the last, if those before have
// kWithNext.
struct OptionRow {
  const char* letters;  // "f": -f; '?' is for --help only, as getopt has that for errors; nullptr: a heading
  const char* name;     // "file": --file
  const char*
      argument;  // as --help has it after the name: "=FILE" or " FILE"; "[=FILE]" may be left out; "": none
  int value;     // what getopt_long() returns
  const char* text;  // lines after the first are indented by print_options()
};

inline constexpr char kWithNext[] = "with the next row";
inline constexpr char kNamedElsewhere[] = "in the text of another row";
inline constexpr char kHidden[] = "neither in --help nor in the manual page";

constexpr OptionRow heading(const char* text) {
  return {nullptr, nullptr, nullptr, 0, text};
}

// What getopt_long() takes.
std::string short_options(std::span<const OptionRow> rows);
std::vector<option> long_options(std::span<const OptionRow> rows);

// The entries of --help, on standard output, with their texts at this column.
void print_options(std::span<const OptionRow> rows, std::size_t column);

}  // namespace cryo
