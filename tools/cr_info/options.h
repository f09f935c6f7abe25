// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>

namespace cryo {

struct InfoOptions {
  bool check = false;     // of this machine, not of a file
  std::string module;     // with --check: a file; only its structures are compared
  std::string btf;        // ... with those of the kernel that is described there
  bool chain = false;     // only those that it needs
  std::string ancestors;  // directory where these are; empty: that of the file
  bool json = false;
  bool verify = true;
  int verbose = 0;  // -v: areas of memory and registers, -vv: register sets and sections too
  std::string file;
};

// What was asked for when it is not a file or --check: said, nothing is left to do.
struct InfoDone {};

// Throws UsageError.
struct UsageError {
  std::string text;
};

// Throws UsageError, or InfoDone after --help and --version.
[[nodiscard]] InfoOptions parse_info_options(int argc, char** argv);

}  // namespace cryo
