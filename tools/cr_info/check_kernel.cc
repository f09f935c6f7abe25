// SPDX-License-Identifier: GPL-2.0-only
// The kernel: version, architecture, configuration, and policies that concern checkpoints.
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <utility>

#include "base/bytes.h"
#include "base/error.h"
#include "cr_info/check.h"
#include "kmod/compat/newest.h"

namespace cryo {
namespace {

constexpr std::array kMachines = {"x86_64", "aarch64", "ppc64le"};  // whose arch/ is there
constexpr std::pair kOldestKernel = {6, 1};
constexpr std::pair kNewestKernel = {CRYO_NEWEST_KERNEL_MAJOR, CRYO_NEWEST_KERNEL_MINOR};

struct ConfigOption {
  const char* name;
  Verdict without;
  const char* why;
};

constexpr ConfigOption kOptions[] = {
    {"MODULES", Verdict::kMissing, "no module can be loaded"},
    {"KALLSYMS", Verdict::kMissing, "the module cannot find kernel functions that are not exported"},
    {"KPROBES", Verdict::kMissing, "the module cannot find kernel functions that are not exported"},
    {"NET", Verdict::kMissing, "the module reports events over generic netlink"},
    {"DEBUG_INFO_BTF", Verdict::kNote,
     "the module cannot see whether it knows the kernel's private structures"},
    {"PROC_FS", Verdict::kMissing, "the tools need /proc"},
};

// "6.1.0-28-amd64" -> {6, 1}
std::pair<int, int> version_of(const std::string& release) {
  std::pair<int, int> version{};
  if (std::sscanf(release.c_str(), "%d.%d", &version.first, &version.second) != 2) return {0, 0};
  return version;
}

std::optional<std::string> read_file(const std::string& path) {
  std::ifstream file(path);
  if (!file) return std::nullopt;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void report_options(CheckResult& result, const std::string& path, const std::string& config) {
  bool complete = true;
  for (const ConfigOption& option : kOptions) {
    if (config_value(config, option.name) != "n") continue;
    complete = false;
    result.findings.push_back(
        {option.without, "config", fmt::format("no CONFIG_{} in {}: {}", option.name, path, option.why)});
  }
  if (config_value(config, "MODULE_SIG_FORCE") == "y")
    result.note("config",
                "CONFIG_MODULE_SIG_FORCE: the module must be signed with a key that this kernel trusts");
  if (complete) result.good("config", fmt::format("{} has what the module needs", path));
}

void check_yama(CheckResult& result) {
  const auto scope = first_line("/proc/sys/kernel/yama/ptrace_scope");
  if (!scope || *scope == "0") {
    result.good("policy", "users may checkpoint their own processes");
    return;
  }
  if (*scope == "1")
    result.note(
        "policy",
        "kernel.yama.ptrace_scope is 1: users may checkpoint only what they start by cr_run, programs with "
        "libcr, and what cr_restart has restarted");
  else if (*scope == "2")
    result.note("policy", "kernel.yama.ptrace_scope is 2: checkpoints need CAP_SYS_PTRACE");
  else
    result.missing(
        "policy",
        fmt::format("kernel.yama.ptrace_scope is {}: no process can be checkpointed until a reboot", *scope));
}

void check_memlock(CheckResult& result) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) != 0) fail_errno("getrlimit");
  const std::string text = limit.rlim_max == RLIM_INFINITY ? "unlimited" : bytes_text(limit.rlim_max);
  result.good("limits", fmt::format("locked memory (RLIMIT_MEMLOCK): {}", text));
}

}  // namespace

void check_kernel(CheckResult& result) {
  utsname name{};
  if (::uname(&name) != 0) fail_errno("uname");
  const std::string text = fmt::format("{} {} on {}", name.sysname, name.release, name.machine);
  if (version_of(name.release) < kOldestKernel)
    result.missing("kernel", fmt::format("{}: Cryo runs on {}.{} and later", text, kOldestKernel.first,
                                         kOldestKernel.second));
  else if (std::find(kMachines.begin(), kMachines.end(), std::string_view(name.machine)) == kMachines.end())
    result.missing("kernel", fmt::format("{}: Cryo does not run on this architecture", text));
  else if (version_of(name.release) > kNewestKernel)
    result.note(
        "kernel",
        fmt::format("{}: newer than {}.{}, the newest that this version of Cryo has been tested on: it is "
                    "neither built nor loaded unless that is asked for (configure "
                    "--enable-untested-kernel, module parameter untested_kernel)",
                    text, kNewestKernel.first, kNewestKernel.second));
  else
    result.good("kernel", text);
}

void check_config(CheckResult& result) {
  const std::string release = kernel_release();
  for (const std::string& path :
       {fmt::format("/boot/config-{}", release), fmt::format("/lib/modules/{}/config", release),
        fmt::format("/lib/modules/{}/build/.config", release)})
    if (const auto config = read_file(path)) return report_options(result, path, *config);
  const bool packed = ::access("/proc/config.gz", R_OK) == 0;
  result.note("config", packed ? "only in /proc/config.gz, which was not read (zgrep KPROBES /proc/config.gz)"
                               : "the kernel's configuration is not to be found");
}

void check_policy(CheckResult& result) {
  check_yama(result);
  check_memlock(result);
}

}  // namespace cryo
