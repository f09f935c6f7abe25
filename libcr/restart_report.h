// SPDX-License-Identifier: LGPL-2.1-or-later
// What cr_restart tells the library that has started it, by "--report-fd": once or twice this, the last time
// with kResult. It ends with that.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cryo {

struct RestartReport {
  enum Kind : std::uint32_t {
    kRead = 1,    // the context has been read, and is one
    kResult = 2,  // it is over; `length` bytes of text follow
  };

  // Of the text: it is to fit into a pipe.
  static constexpr std::size_t kMaxText = 60000;

  std::uint32_t kind;
  std::int32_t error;    // 0, errno or CR_E*
  std::int32_t pid;      // of the first process of the job, when `error` is 0
  std::uint32_t length;  // of the text, that has no NUL
};

}  // namespace cryo
