// SPDX-License-Identifier: GPL-2.0-only
// What the command line of cr_checkpoint asks for.
#pragma once

#include <cryo/ioctl.h>
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace cryo {

// How a file that already has the name is treated.
enum class Placement {
  kAtomic,     // temporary file, then rename over the old one
  kBackup,     // the same, but the old one is renamed first
  kClobber,    // written in place
  kNoClobber,  // an old one is an error
};

// When pages of memory go past the page cache (O_DIRECT).
enum class Direct {
  kAuto,    // where that is faster: see CRYO_CKPT_DIRECT
  kAlways,  // wherever it can be done
  kNever,
};

// When the module's log of the request is shown.
enum class LogLevel { kNever, kOnError, kAlways };

struct DestinationFile {
  std::string path;
  bool chosen_by_user;  // given with --file: it may be a device or a FIFO
};

struct DestinationFd {
  int fd;
};

// What becomes of descriptors of a device.
struct DeviceRule {
  std::string path;
  std::uint32_t policy;  // CRYO_DEVICE_*
};

// How the context is compressed.
struct Compression {
  std::optional<int> level = {};  // none: what goes with the speed of the output
  std::optional<int> window_log =
      {};  // matches are looked for over 1 << window_log bytes; none: as the level has it
};

// CRYO_CKPT_*, of --save-all.
inline constexpr std::uint32_t kSaveAll =
    CRYO_CKPT_SAVE_EXE | CRYO_CKPT_SAVE_PRIVATE | CRYO_CKPT_SAVE_SHARED | CRYO_CKPT_SAVE_OPEN;

struct Options {
  // Is what the process writes from now on to be known at the next checkpoint?
  [[nodiscard]] bool tracks() const {
    return track.value_or(!parent.empty() || !generations.empty()) && !dry_run;
  }

  pid_t target = 0;
  std::uint32_t scope = CRYO_SCOPE_TREE;
  std::variant<DestinationFile, DestinationFd> destination;
  Placement placement = Placement::kAtomic;
  std::string backup_name;  // empty: NAME.~N~
  bool sync = true;
  Direct direct = Direct::kAuto;
  std::optional<int> signal;  // sent when the context is in place; negative: before callbacks go on
  std::uint32_t flags = 0;    // CRYO_CKPT_SAVE_*, CRYO_CKPT_PTRACED_ALLOW
  std::uint32_t timeout_ms = 0;
  bool snapshot = true;
  std::uint64_t save_limit = 0,
                save_total = 0;      // CRYO_CKPT_SAVE_OPEN, in bytes; 0: what the module thinks right
  std::uint64_t snapshot_limit = 0;  // bytes; 0: what the module thinks right
  std::optional<Compression> compression;
  std::optional<bool> track;  // what is written from now on; not said: if there is a parent or may be one
  std::string parent;         // context of which only changes are written; empty: none
  std::string generations;    // directory of them: see generations.h; empty: none
  std::optional<int> keep_newest;  // of the generations
  bool dry_run = false;
  std::vector<DeviceRule> devices;
  LogLevel log = LogLevel::kOnError;
  int verbose = 0;
  bool quiet = false;
};

// A bad command line; what() may be empty when getopt has said it already.
struct UsageError {
  std::string text;
};

// Reads the command line. Throws UsageError or Error; ends the program for --help and --version.
[[nodiscard]] Options parse_options(int argc, char** argv);

}  // namespace cryo
