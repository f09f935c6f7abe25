// SPDX-License-Identifier: GPL-2.0-only
// What cr_info prints: of names that anybody may have chosen nothing that a terminal acts upon; flags of
// other architectures.
#include <fcntl.h>

#include "context/describe.h"
#include "cr_info/text.h"
#include "unit/tap.h"

namespace cryo::test {
namespace {

TEST("cr_info: control characters of names") {
  CHECK_EQ(printable("plain \xc3\xa9"), "plain \xc3\xa9");
  CHECK_EQ(printable("a\\b"), "a\\x5cb");
  CHECK_EQ(printable("\x1b[2J\x7f"), "\\x1b[2J\\x7f");
  CHECK_EQ(printable("\x9b"
                     "2J"),
           "\\x9b2J");
  CHECK_EQ(printable("\xc2\x9b"), "\\xc2\\x9b");
  CHECK_EQ(printable("\xe4\xbd\x9b"), "\xe4\xbd\x9b");
}

TEST("cr_info: control characters in JSON") {
  CHECK_EQ(printable_json("\"\xc2\x9b"
                          "2J\x7f\xc2\xa0\xc3\xa9\""),
           "\"\\u009b2J\\u007f\xc2\xa0\xc3\xa9\"");
}

TEST("flags of open(2) are those of the context's architecture") {
  struct Case {
    std::uint32_t arch, large_file, direct, no_follow;
  };
  for (const auto& [arch, large_file, direct, no_follow] :
       {Case{CRYO_ARCH_X86_64, 0100000, 040000, 0400000}, Case{CRYO_ARCH_AARCH64, 0400000, 0200000, 0100000},
        Case{CRYO_ARCH_PPC64LE, 0200000, 0400000, 0100000}}) {
    CHECK_EQ(open_flags_here(arch, large_file | O_RDWR | O_APPEND),
             static_cast<std::uint32_t>(O_RDWR | O_APPEND));
    CHECK_EQ(open_flags_here(arch, large_file | direct), static_cast<std::uint32_t>(O_DIRECT));
    CHECK_EQ(open_flags_here(arch, no_follow), static_cast<std::uint32_t>(O_NOFOLLOW));
  }
}

}  // namespace
}  // namespace cryo::test
