// SPDX-License-Identifier: GPL-2.0-only
// The command line of cr_checkpoint.
#include <getopt.h>

#include <csignal>
#include <initializer_list>
#include <vector>

#include "cr_checkpoint/options.h"
#include "unit/tap.h"

namespace {

using namespace cryo;

Options parse(std::initializer_list<const char*> arguments) {
  std::vector<std::string> copies{"cr_checkpoint"};
  copies.insert(copies.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& copy : copies) argv.push_back(copy.data());
  argv.push_back(nullptr);
  optind = 0;  // starts getopt_long() afresh
  return parse_options(static_cast<int>(copies.size()), argv.data());
}

std::string path(std::initializer_list<const char*> arguments) {
  const Options options = parse(arguments);
  const auto* file = std::get_if<DestinationFile>(&options.destination);
  return file == nullptr ? "(descriptor)" : file->path;
}

int descriptor(std::initializer_list<const char*> arguments) {
  const Options options = parse(arguments);
  const auto* fd = std::get_if<DestinationFd>(&options.destination);
  return fd == nullptr ? -1 : fd->fd;
}

// The text of the UsageError that these arguments give.
std::string wrong(std::initializer_list<const char*> arguments) {
  try {
    (void)parse(arguments);
  } catch (const UsageError& error) {
    return error.text;
  }
  return "(accepted)";
}

TEST("defaults") {
  const Options options = parse({"42"});
  CHECK_EQ(options.target, 42);
  CHECK_EQ(options.scope, static_cast<std::uint32_t>(CRYO_SCOPE_TREE));
  CHECK(options.placement == Placement::kAtomic);
  CHECK(options.sync && !options.signal && !options.compression && !options.dry_run && !options.quiet);
  CHECK(options.log == LogLevel::kOnError);
  CHECK_EQ(options.flags, 0U);
  CHECK_EQ(options.timeout_ms, 0U);
}

TEST("where the context goes") {
  CHECK_EQ(path({"42"}), "context.42");
  CHECK_EQ(path({"042"}), "context.42");
  CHECK_EQ(path({"-z", "42"}), "context.42.zst");
  CHECK_EQ(path({"-d", "/var/tmp", "42"}), "/var/tmp/context.42");
  CHECK_EQ(path({"42", "--dir=/var/tmp", "-z9"}), "/var/tmp/context.42.zst");
  CHECK_EQ(path({"-f", "name", "42"}), "name");
  CHECK_EQ(path({"-z", "-f", "name", "42"}), "name");
  CHECK_EQ(path({"-f", "name", "-c", "42"}), "context.42");
  CHECK_EQ(descriptor({"-f", "-", "42"}), 1);
  CHECK_EQ(descriptor({"-f", "/dev/stdout", "42"}), 1);
  CHECK_EQ(descriptor({"-f", "/dev/fd/2", "42"}), 2);
  CHECK_EQ(descriptor({"-F", "2", "42"}), 2);
  CHECK_ERROR(EBADF, "descriptor 999 is not open", parse({"-F", "999", "42"}));
}

TEST("the last of several choices counts") {
  CHECK_EQ(parse({"--kill", "--stop", "42"}).signal.value_or(0), SIGSTOP);
  CHECK(!parse({"--kill", "--run", "42"}).signal);
  CHECK_EQ(parse({"-S", "10", "42"}).signal.value_or(0), 10);
  CHECK_EQ(parse({"--early-stop", "-f", "a", "42"}).signal.value_or(0), -SIGSTOP);
  CHECK_EQ(parse({"--early-abrt", "42"}).signal.value_or(0), -SIGABRT);
  CHECK(parse({"--backup=x", "--noclobber", "42"}).placement == Placement::kNoClobber);
  CHECK_EQ(parse({"--backup=x", "42"}).backup_name, "x");
  CHECK_EQ(parse({"--save-all", "--save-none", "--save-exe", "42"}).flags, CRYO_CKPT_SAVE_EXE);
  CHECK_EQ(parse({"--save-all", "--save-none", "--save-open", "42"}).flags, CRYO_CKPT_SAVE_OPEN);
  CHECK_EQ(parse({"--save-open=4096", "--save-open", "42"}).save_limit, 0U);
  CHECK_EQ(parse({"--save-open=1,2", "--save-none", "42"}).save_limit, 0U);
  CHECK_EQ(parse({"--ptraced-allow", "42"}).flags, CRYO_CKPT_PTRACED_ALLOW);
  CHECK_EQ(parse({"--ptraced-allow", "--ptraced-error", "42"}).flags, 0U);
  CHECK_EQ(parse({"--ptraced-allow", "--ptraced-skip", "42"}).flags, CRYO_CKPT_PTRACED_SKIP);
  CHECK_EQ(parse({"--ptraced-skip", "--ptraced-allow", "42"}).flags, CRYO_CKPT_PTRACED_ALLOW);
  CHECK_EQ(parse({"--ptracer-skip", "42"}).flags, CRYO_CKPT_PTRACER_SKIP);
  CHECK_EQ(parse({"--ptracer-skip", "--ptracer-error", "42"}).flags, 0U);
  CHECK_EQ(parse({"-p", "42"}).scope, static_cast<std::uint32_t>(CRYO_SCOPE_PROCESS));
}

TEST("numbers") {
  CHECK_EQ(parse({"-t", "3", "42"}).timeout_ms, 3000U);
  CHECK_EQ(parse({"-z19", "42"}).compression->level.value_or(0), 19);
  CHECK_EQ(parse({"--compress=1", "42"}).compression->level.value_or(0), 1);
  for (const char* bad : {"", "0", "-1", "4194305", "12x", " 12", "0x10", "99999999999999999999"})
    CHECK_EQ(wrong({"--", bad}), fmt::format("'{}' is not a process id", bad));
  for (const char* bad : {"x", "-1", "4294968", "1.5"})
    CHECK_EQ(wrong({"-t", bad, "42"}), fmt::format("time '{}' is not a number from 0 to 4294967", bad));
  CHECK(wrong({"-z0", "42"}).starts_with("compression level '0' is not a number from 1"));
  CHECK_EQ(wrong({"-S", "65", "42"}),
           "--signal: '65' is neither a signal number (1 to 64) nor a name (TERM)");
}

TEST("how much of open files is saved") {
  CHECK_EQ(parse({"--save-open=64K", "42"}).save_limit, 65536U);
  CHECK_EQ(parse({"--save-open=64K", "42"}).save_total, 0U);
  CHECK_EQ(parse({"--save-open=64K,2M", "42"}).save_total, std::uint64_t{2} << 20);
  CHECK_EQ(wrong({"--save-open=0", "42"}), "--save-open '0': one byte is the least");
  CHECK_EQ(wrong({"--save-open=1M,0", "42"}), "--save-open '0': one byte is the least");
  for (const char* bad : {"", "x", "1M,", ",1M", "1,2,3"})
    CHECK(wrong({fmt::format("--save-open={}", bad).c_str(), "42"})
              .ends_with("is not a number of bytes, such as 4096, 512M or 2G"));
}

TEST("compression") {
  CHECK_EQ(parse({"-z", "42"}).compression->level.value_or(0), 3);
  CHECK(!parse({"-z", "42"}).compression->window_log);
  for (const auto& arguments : {parse({"-zauto", "42"}), parse({"-z", "auto", "42"}),
                                parse({"42", "-z", "auto"}), parse({"-vz", "auto", "42", "-v"}),
                                parse({"--compress=auto", "42"}), parse({"42", "--compress", "auto"})}) {
    CHECK(arguments.compression && !arguments.compression->level);
    CHECK_EQ(arguments.target, 42);
  }
  CHECK_EQ(parse({"-zauto", "-z", "42"}).compression->level.value_or(0), 3);
  CHECK_EQ(parse({"--long", "-z", "42"}).compression->window_log.value_or(0), 27);
  CHECK_EQ(parse({"-z", "auto", "--long=24", "42"}).compression->window_log.value_or(0), 24);
  CHECK_EQ(wrong({"--long", "42"}), "--long is for compressed contexts: give -z, too");
  for (const char* bad : {"19", "28", "", "x"})
    CHECK_EQ(wrong({"-z", fmt::format("--long={}", bad).c_str(), "42"}),
             fmt::format("--long '{}' is not a number from 20 to 27", bad));
  CHECK(wrong({"-zfast", "42"}).starts_with("compression level 'fast' is not a number from 1 to "));
  CHECK_EQ(wrong({"auto", "-z"}), "'auto' is not a process id");
}

TEST("what is checkpointed") {
  CHECK_EQ(parse({"42"}).scope, static_cast<std::uint32_t>(CRYO_SCOPE_TREE));
  CHECK_EQ(parse({"-g", "42"}).scope, static_cast<std::uint32_t>(CRYO_SCOPE_PGRP));
  CHECK_EQ(parse({"--session", "42"}).scope, static_cast<std::uint32_t>(CRYO_SCOPE_SESSION));
  CHECK_EQ(parse({"--cgroup", "42"}).scope, static_cast<std::uint32_t>(CRYO_SCOPE_CGROUP));
}

TEST("what there is not") {
  CHECK_EQ(wrong({}), "no process given");
  CHECK_EQ(wrong({"1", "2"}), "one process only: '2' is too much");
  CHECK_EQ(wrong({"-f", "", "1"}), "option -f needs a value that is not empty");
}

}  // namespace
