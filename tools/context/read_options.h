// SPDX-License-Identifier: GPL-2.0-only
#pragma once

namespace cryo {

struct ReadOptions {
  // Look at the page data too, and at the padding before them, which reads the whole file.  Without it,
  // verify_pages() can be called for each chunk when its data are needed.
  bool verify_pages = true;

  // For display: unknown required sections and ro_compat bits become Context::obstacles instead of
  // an error.
  bool show_only = false;

  // Off only in the fuzzer, so that mutated bytes reach the code behind the checksums.
  bool check_crcs = true;
};

}  // namespace cryo
