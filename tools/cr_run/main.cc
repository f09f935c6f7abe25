// SPDX-License-Identifier: GPL-2.0-only
// cr_run - run a program with libcr_run or libcr_omit preloaded
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/consent.h"
#include "base/error.h"
#include "base/exit_codes.h"
#include "base/message.h"
#include "base/option_table.h"
#include "base/unique_fd.h"
#include "base/version.h"
#include "cr_run/cpu_baseline.h"

namespace cryo {
namespace {

constexpr const char* kRunLibrary = "libcr_run.so.0";
constexpr const char* kOmitLibrary = "libcr_omit.so.0";
constexpr const char* kPluginsVariable = "CRYO_PLUGINS";
constexpr int kExitCannotRun = 126;  // as the shell has it
constexpr int kExitNotFound = 127;

// Does the dynamic loader find the library by this name?
bool can_load(const std::string& name) {
  void* handle = ::dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (handle == nullptr) return false;
  ::dlclose(handle);
  return true;
}

// Directory of the running executable, without the last slash; empty when /proc does not tell.
std::string own_directory() {
  char path[4096];
  const ssize_t length = ::readlink("/proc/self/exe", path, sizeof(path));
  if (length <= 0 || length == static_cast<ssize_t>(sizeof(path))) return {};
  const std::string_view exe(path, static_cast<std::size_t>(length));
  return std::string(exe.substr(0, exe.rfind('/')));
}

// How to name the library in LD_PRELOAD. The bare name is best: the loader then takes the one of the
// program's own word size. After "make install" without ldconfig, and in a copied tree, only a path does.
std::optional<std::string> find_library(const std::string& library) {
  if (can_load(library)) return library;
  const std::string own = own_directory();
  for (const std::string& candidate :
       {CRYO_LIBDIR "/" + library, own + "/../lib/" + library, own + "/.libs/" + library})
    // a space or colon cannot be written in LD_PRELOAD
    if (candidate.find_first_of(" :") == std::string::npos && can_load(candidate)) return candidate;
  return std::nullopt;
}

// Is this entry of LD_PRELOAD one of ours, with or without a directory?
bool is_own_entry(std::string_view entry) {
  const std::string_view base = entry.substr(entry.rfind('/') + 1);
  return base.starts_with("libcr_run.so") || base.starts_with("libcr_omit.so");
}

// The library first, then what LD_PRELOAD held before, each of ours once.
std::string preload_value(const std::string& library, std::string_view before) {
  std::string value = library;
  while (!before.empty()) {
    const std::size_t end = std::min(before.find_first_of(" :"), before.size());
    const std::string_view entry = before.substr(0, end);
    if (!entry.empty() && !is_own_entry(entry)) value.append(":").append(entry);
    before.remove_prefix(std::min(end + 1, before.size()));
  }
  return value;
}

// Takes CRYO_PLUGINS out of the environment, by which libcr_run loads plug-ins into whoever loads it: cr_run
// only looks for it.
std::optional<std::string> take_plugins() {
  const char* const names = std::getenv(kPluginsVariable);
  if (names == nullptr) return std::nullopt;
  std::string taken = names;
  ::unsetenv(kPluginsVariable);
  return taken;
}

void put_plugins(const std::string& names) {
  if (::setenv(kPluginsVariable, names.c_str(), 1) != 0) fail_errno("{}", kPluginsVariable);
}

// What libcr_run is told to load.
std::string plugin_list(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) {
    const std::string path = CRYO_PLUGINDIR "/" + name + ".so";
    if (name.empty() || name.find_first_of("/:") != std::string::npos)
      fail(EINVAL, "'{}' is not a plug-in name", name);
    if (::access(path.c_str(), R_OK) != 0) fail_errno("plug-in {}: {}", name, path);
    list.append(list.empty() ? "" : ":").append(name);
  }
  return list;
}

void set_preload(bool omit, bool plugins) {
  const std::optional<std::string> library = find_library(omit ? kOmitLibrary : kRunLibrary);
  if (!library && plugins) fail(ENOENT, "{} is not found, which loads plug-ins", kRunLibrary);
  if (!library && omit) fail(ENOENT, "cannot find {}, which --omit requires", kOmitLibrary);
  if (!library) return;  // the process can be checkpointed without it
  const char* before = std::getenv("LD_PRELOAD");
  const std::string value = preload_value(*library, before == nullptr ? "" : before);
  if (::setenv("LD_PRELOAD", value.c_str(), 1) != 0) fail_errno("LD_PRELOAD");
}

// Of this process, which PROGRAM is going to be. Without the module there are no checkpoints.
void consent(bool given) {
  const UniqueFd device(::open(CRYO_DEVICE_PATH, O_RDWR | O_CLOEXEC));
  if (device) set_consent(device.get(), given);
  if (!given && ::setenv(kNoConsentVariable, "1", 1) != 0) fail_errno("{}", kNoConsentVariable);
}

[[noreturn]] void usage_error(const std::string& text) {
  if (!text.empty()) message("cr_run", "{}", text);
  std::fputs("Try 'cr_run --help' for more information.\n", stderr);
  std::exit(kExitUsage);
}

enum : int {
  kOptionRun = 256,
  kOptionOmit,
  kOptionNoConsent,
  kOptionPlugin,
  kOptionCpuBaseline,
  kOptionVersion
};

constexpr OptionRow kOptionRows[] = {
    {"", "run", "", kOptionRun, "let the process be checkpointed (default)"},
    {"", "omit", "", kOptionOmit, "leave it and its children out of checkpoints (libcr_omit.so.0)"},
    {"", "no-consent", "", kOptionNoConsent,
     "where kernel.yama.ptrace_scope is 1: do not let its user checkpoint it"},
    {"", "cpu-baseline", "=LEVEL", kOptionCpuBaseline,
     "keep it to processors of this level (x86-64-v2, say), so\n"
     "that it can be restarted on others"},
    {"", "plugin", "=NAME", kOptionPlugin, "load this plug-in into the program (may be repeated)"},
    {"?h", "help", "", 'h', "show this text"},
    {"", "version", "", kOptionVersion, "show the version"},
};

void usage() {
  std::fputs(
      "Usage: cr_run [options] [--] PROGRAM [ARGUMENT...]\n"
      "Runs PROGRAM with libcr_run.so.0 preloaded. Any other process can be checkpointed as well.\n\n",
      stdout);
  print_options(kOptionRows, 19);
}

struct Arguments {
  int program = 0;  // index in argv
  bool omit = false;
  bool consent = true;
  std::string cpu_baseline;  // empty: none
  std::vector<std::string> plugins;
};

Arguments parse_options(int argc, char** argv) {
  Arguments arguments;
  int choice;
  // By "?" getopt tells of errors.
  for (int i = 1; i < argc && argv[i][0] == '-' && std::string_view(argv[i]) != "--"; ++i)
    if (std::string_view(argv[i]) == "-?") argv[i] = const_cast<char*>("-h");
  const std::string letters = "+" + short_options(kOptionRows);
  const std::vector<::option> names = long_options(kOptionRows);
  while ((choice = ::getopt_long(argc, argv, letters.c_str(), names.data(), nullptr)) != -1) {
    switch (choice) {
      case kOptionRun:
        arguments.omit = false;
        break;
      case kOptionOmit:
        arguments.omit = true;
        break;
      case kOptionNoConsent:
        arguments.consent = false;
        break;
      case kOptionPlugin:
        arguments.plugins.emplace_back(optarg);
        break;
      case kOptionCpuBaseline:
        arguments.cpu_baseline = optarg;
        if (arguments.cpu_baseline.empty()) usage_error("--cpu-baseline needs a level");
        break;
      case kOptionVersion:
        print_version("cr_run");
        std::exit(0);
      case '?':
        usage_error("");  // getopt has named the option
      default:
        usage();
        std::exit(0);
    }
  }
  if (optind == argc) usage_error("no program given");
  if (arguments.omit && !arguments.plugins.empty()) usage_error("--omit and --plugin exclude each other");
  arguments.program = optind;
  return arguments;
}

int run(int argc, char** argv) {
  const Arguments arguments = parse_options(argc, argv);
  char** program = argv + arguments.program;
  if (!arguments.cpu_baseline.empty()) set_cpu_baseline(arguments.cpu_baseline);
  const std::string plugins = plugin_list(arguments.plugins);
  const std::optional<std::string> before = take_plugins();
  set_preload(arguments.omit, !plugins.empty());
  if (!plugins.empty() || before) put_plugins(plugins.empty() ? *before : plugins);
  consent(arguments.consent);
  ::execvp(program[0], program);
  const int error = errno;
  message("cr_run", "{}: {}", program[0], errno_text(error));
  return error == ENOENT || error == ENOTDIR ? kExitNotFound : kExitCannotRun;
}

}  // namespace
}  // namespace cryo

int main(int argc, char** argv) {
  try {
    return cryo::run(argc, argv);
  } catch (const cryo::Error& error) {
    cryo::message("cr_run", "{}", error.what());
    return error.code() == EINVAL ? cryo::kExitUsage : cryo::exit_code(error.code());
  } catch (const std::exception& error) {
    cryo::message("cr_run", "{}", error.what());
    return 1;
  }
}
