// SPDX-License-Identifier: GPL-2.0-only
// Standard input, output and error of the job where they were of the kind that whoever starts cr_restart
// gives anew: a terminal, a pipe or a socket with its other end outside.  Each number takes cr_restart's own
// descriptor of that number, also where all three were one open file, as a terminal is: else a redirection of
// one would be one of all, or of none.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/unique_fd.h"
#include "context/model.h"

namespace cryo {

struct FileUse;

// What is open at one of cr_restart's own descriptors.
struct OwnStandard {
  bool open = false;
  int mode = 0;  // O_ACCMODE
  bool terminal = false;
  bool null = false;  // /dev/null can be had for reading and for writing
};
using OwnStandards = std::array<OwnStandard, 3>;
[[nodiscard]] OwnStandard own_standard(int fd);  // -1: closed
// Of this process, without what its caller has not given it.
[[nodiscard]] OwnStandards own_standards();

// Whether cr_restart's caller has given it this descriptor: its own are close-on-exec.
[[nodiscard]] bool is_inherited(std::uint32_t number);
// CRYO_FILE_STDIO: the number of cr_restart's descriptor that takes the place of the file if there is none of
// its own.
[[nodiscard]] std::uint32_t standard_number(const File& file);

[[nodiscard]] bool is_standard_kind(const File& file);

struct StandardSource {
  static constexpr int kNone = -1;
  static constexpr int kTerminal = -2;  // /dev/tty
  int number = kNone;                   // of cr_restart's descriptor
  int mode = 0;                         // that it is to be open for
  bool whole = true;                    // it is open for all that the process may do with it
};
// What the job's descriptor `number` of `file` becomes; `use` is of the whole job.
[[nodiscard]] StandardSource standard_source(const File& file, const FileUse& use, std::uint32_t number,
                                             const OwnStandards& own);

// A copy of `fd`, which is open for `mode`, or will be.
[[nodiscard]] UniqueFd copy_standard(int fd, int mode);

// "closed", "not open for reading": why a descriptor of cr_restart does not do.
[[nodiscard]] std::string why_not(const OwnStandard& own, int mode);

}  // namespace cryo
