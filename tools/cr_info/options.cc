// SPDX-License-Identifier: GPL-2.0-only
#include "cr_info/options.h"

#include <cstdio>

#include "base/option_table.h"
#include "base/version.h"

namespace cryo {
namespace {

enum : int {
  kCheckOption = 256,
  kModuleOption,
  kBtfOption,
  kChainOption,
  kAncestorsOption,
  kJsonOption,
  kNoVerifyOption,
  kVersionOption
};

// "-?" is getopt's unknown option "?"
constexpr OptionRow kOptionRows[] = {
    {"v", "verbose", "", 'v',
     "also areas of memory and registers; twice: register sets and sections;\n"
     "three times: each section with each of its fields"},
    {"", "json", "", kJsonOption, "for programs; with -v also where pages and sections are"},
    {"", "chain", "", kChainOption,
     "which other contexts FILE needs, and whether they are there as they were"},
    {"", "ancestors", " DIR", kAncestorsOption, "these are in DIR, not beside FILE"},
    {"", "no-verify", "", kNoVerifyOption, "do not verify the checksums of the memory contents"},
    {"", "check", "", kCheckOption,
     "tell whether this machine can checkpoint and restart, and what is missing"},
    {"", "module", " MODULE", kModuleOption,
     "only whether MODULE, a cryo.ko, knows the kernel's private structures"},
    {"", "btf", " KERNEL", kBtfOption,
     "of the kernel with the type information in KERNEL, a vmlinux or a\n"
     "file like /sys/kernel/btf/vmlinux, which is what is looked at otherwise"},
    {"?h", "help", "", 'h', "show this text"},
    {"", "version", "", kVersionOption, "show the version"},
};

void print_usage() {
  std::fputs(
      R"(Usage: cr_info [options] FILE
       cr_info [--json] [--no-verify] DIRECTORY
       cr_info --check [--module MODULE [--btf KERNEL]] [--json]
Shows what is in a context, of any architecture, and verifies its checksums; of a directory, which contexts are in it, and which
of them can be restarted.
FILE may be compressed with zstd; "-" is standard input.

)",
      stdout);
  print_options(kOptionRows, 21);
  std::fputs(
      R"(
Exit status: 0 the context is whole (or the machine can); 1 it is damaged, cut or no
context (or the machine cannot; or, with --chain, one that it needs is missing); 2 a newer Cryo is needed; 3 FILE cannot be read; 255 usage.
)",
      stdout);
}

// What getopt_long(3) did not take; its own message would also be for "-?".
[[noreturn]] void refuse_option(char** argv) {
  if (::optopt != 0 && ::optopt < 256)
    throw UsageError{std::string("unknown option -") + static_cast<char>(::optopt)};
  throw UsageError{std::string("unknown or ambiguous option, or a value it does not take: ") +
                   argv[::optind - 1]};
}

void take_option(int option, char** argv, InfoOptions& options) {
  switch (option) {
    case 'v':
      ++options.verbose;
      return;
    case kCheckOption:
      options.check = true;
      return;
    case kModuleOption:
      options.module = ::optarg;
      return;
    case kBtfOption:
      options.btf = ::optarg;
      return;
    case kChainOption:
      options.chain = true;
      return;
    case kAncestorsOption:
      options.ancestors = ::optarg;
      return;
    case kJsonOption:
      options.json = true;
      return;
    case kNoVerifyOption:
      options.verify = false;
      return;
    case kVersionOption:
      print_version("cr_info");
      throw InfoDone();
    case '?':
      if (::optopt != '?') refuse_option(argv);
      [[fallthrough]];
    case 'h':
      print_usage();
      throw InfoDone();
    default:
      throw UsageError();
  }
}

}  // namespace

InfoOptions parse_info_options(int argc, char** argv) {
  InfoOptions options;
  ::opterr = 0;
  const std::string letters = short_options(kOptionRows);
  const std::vector<::option> names = long_options(kOptionRows);
  for (int option; (option = ::getopt_long(argc, argv, letters.c_str(), names.data(), nullptr)) != -1;)
    take_option(option, argv, options);
  const int operands = argc - ::optind;
  if (!options.module.empty() && !options.check) throw UsageError{"--module without --check"};
  if (!options.btf.empty() && options.module.empty()) throw UsageError{"--btf without --module"};
  if (options.check) {
    if (operands != 0) throw UsageError{"--check takes no file"};
    return options;
  }
  if (operands == 0) throw UsageError{"no file given"};
  if (operands > 1) throw UsageError{std::string("more than one file: ") + argv[::optind + 1]};
  options.file = argv[::optind];
  return options;
}

}  // namespace cryo
