// SPDX-License-Identifier: GPL-2.0-only
// The module as it answers, and what can be told when it does not.
#include <cryo/format.h>
#include <cryo/ioctl.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/capability.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/device_missing.h"
#include "base/error.h"
#include "base/unique_fd.h"
#include "cr_info/check.h"

namespace cryo {
namespace {

struct Feature {
  std::uint64_t bit;
  const char* name;
  const char* without;
  // Where it is missing, of a user who has neither this capability nor CAP_SYS_ADMIN; -1: the same for all.
  int capability = -1;
  const char* user = nullptr;
  bool needed = false;  // by all restarts
};

constexpr Feature kFeatures[] = {
    {CRYO_FEATURE_PID_CHOICE, "pid-choice",
     "only users with CAP_CHECKPOINT_RESTORE can restart processes with their old pids (module parameter "
     "pid_choice)",
     CAP_CHECKPOINT_RESTORE,
     "your restarts cannot bring back pids: only a process alone can be restarted, with --no-restore-pid"},
    {CRYO_FEATURE_IPC_ID_CHOICE, "ipc-id-choice",
     "only users with CAP_CHECKPOINT_RESTORE can restart processes with System V objects (module parameter "
     "ipc_id_choice)",
     CAP_CHECKPOINT_RESTORE, "you cannot restart processes with System V objects"},
    {CRYO_FEATURE_EXE_LINK, "exe-link",
     "only users with CAP_CHECKPOINT_RESTORE can set /proc/PID/exe of restarted processes, or nobody can "
     "(module "
     "parameter exe_link)",
     CAP_CHECKPOINT_RESTORE, "you cannot restart any program: /proc/PID/exe cannot be set", true},
    {CRYO_FEATURE_PEER_PID, "peer-pid",
     "only root can restart processes with connected or listening Unix sockets (module parameter peer_pid)",
     CAP_SYS_ADMIN, "you cannot restart processes with connected or listening Unix sockets"},
    {CRYO_FEATURE_TIME_WAIT_PORTS, "time-wait-ports",
     "users without CAP_NET_ADMIN wait up to a minute for TCP ports that closed connections keep (module "
     "parameter "
     "time_wait_ports)"},
    {CRYO_FEATURE_CONSENT, "consent",
     "where kernel.yama.ptrace_scope is 1, users cannot checkpoint what they start by cr_run"},
    {CRYO_FEATURE_RESTART_BLOCK, "restart-block", "sleeps that were interrupted end early after a restart"},
    {CRYO_FEATURE_TIMED_WAITS, "timed-waits",
     "epoll_wait() and sigtimedwait() start their timeouts afresh after a checkpoint"},
    {CRYO_FEATURE_SECCOMP, "seccomp", "processes with seccomp cannot be restarted"},
    {CRYO_FEATURE_LANDLOCK, "landlock", "Landlock restrictions are lost silently"},
    {CRYO_FEATURE_SOCKET_OPTIONS, "socket-options", "processes with sockets are refused"},
    {CRYO_FEATURE_DATAGRAMS, "datagrams",
     "only users with CAP_NET_RAW can restart UDP sockets with queued datagrams, or nobody can (module "
     "parameter datagrams)",
     CAP_NET_RAW, "you cannot restart UDP sockets in which something waits"},
    {CRYO_FEATURE_SHARED_TABLES, "shared-tables",
     "processes that share descriptors or a working directory (clone(2)) cannot be restarted"},
    {CRYO_FEATURE_SNAPSHOT, "snapshot", "processes stand still until their memory has been written"},
    {CRYO_FEATURE_TRACK, "track", "incremental contexts are made by reading all of the memory"},
    {CRYO_FEATURE_MAP, "map", "all memory is read before a restarted process resumes"},
    {CRYO_FEATURE_SHARE, "share", "restarts from the same context share no memory (module parameter share)"},
};

template <std::size_t N>
std::string text_of(const char (&field)[N]) {
  return std::string(field, ::strnlen(field, N));
}

bool has_capability(int capability) {
  std::ifstream lines("/proc/self/status");
  constexpr std::string_view kField = "CapEff:\t";
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(kField))
      return (std::stoull(line.substr(kField.size()), nullptr, 16) >> capability & 1) != 0;
  return false;
}

// What the caller's own restarts lack for it.
void check_user(CheckResult& result, const Feature& feature) {
  if (feature.user == nullptr || has_capability(feature.capability) || has_capability(CAP_SYS_ADMIN)) return;
  const std::string text = fmt::format("without {}, {}", feature.name, feature.user);
  if (feature.needed)
    result.missing("user", text);
  else
    result.note("user", text);
}

void check_version(CheckResult& result, const cryo_version& version) {
  result.good("module",
              fmt::format("Cryo {}, interface {}.{}, format {}.{}", text_of(version.release),
                          version.abi_major, version.abi_minor, version.format_major, version.format_minor));
  if (!CRYO_ABI_FITS(version.abi_major, version.abi_minor))
    result.missing("module",
                   fmt::format("interface {}.{} and these tools' {}.{} do not fit: install module and tools "
                               "of the same release",
                               version.abi_major, version.abi_minor, CRYO_ABI_MAJOR, CRYO_ABI_MINOR));
  if (version.format_major != CRYO_FORMAT_MAJOR)
    result.missing("module", fmt::format("writes format {}, these tools read format {}", version.format_major,
                                         CRYO_FORMAT_MAJOR));
  for (const Feature& feature : kFeatures) {
    if (version.features & feature.bit)
      result.good("feature", feature.name);
    else
      result.note("feature", fmt::format("no {}: {}", feature.name, feature.without));
    if ((version.features & feature.bit) == 0) check_user(result, feature);
  }
  if (version.missing[0] != '\0')
    result.note("symbols", fmt::format("not found in this kernel: {}", text_of(version.missing)));
}

bool module_loaded() {
  std::ifstream modules("/proc/modules");
  for (std::string line; std::getline(modules, line);)
    if (line.starts_with("cryo ")) return true;
  return false;
}

void check_files(CheckResult& result) {
  const std::string release = kernel_release();
  if (const auto path = installed_module(release)) {
    result.note("module",
                fmt::format("installed, but not loaded: modprobe cryo (/lib/modules/{}/{})", release, *path));
    return;
  }
  result.note("module",
              fmt::format("none installed for the running kernel {} (after installing: depmod)", release));
  const std::string headers = fmt::format("/lib/modules/{}/build", release);
  if (::access((headers + "/include/generated/utsrelease.h").c_str(), R_OK) == 0)
    result.good("headers", fmt::format("{}: the module can be built", headers));
  else
    result.note("headers", fmt::format("{} is not there: the module cannot be built (Debian: apt install "
                                       "linux-headers-{})",
                                       headers, release));
}

// "none [integrity] confidentiality": the one in brackets is in force.
std::string lockdown_mode(const std::string& line) {
  const std::size_t start = line.find('[');
  const std::size_t end = line.find(']');
  return start == std::string::npos || end < start ? line : line.substr(start + 1, end - start - 1);
}

bool secure_boot() {
  // Four bytes of attributes, then the value.
  std::ifstream file("/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c",
                     std::ios::binary);
  char bytes[5] = {};
  return file.read(bytes, sizeof(bytes)) && bytes[4] == 1;
}

void check_signatures(CheckResult& result) {
  const auto disabled = first_line("/proc/sys/kernel/modules_disabled");
  if (disabled == "1") result.note("loading", "kernel.modules_disabled is 1: nothing loads before a reboot");
  const auto lockdown = first_line("/sys/kernel/security/lockdown");
  if (lockdown && lockdown_mode(*lockdown) != "none")
    result.note("loading",
                fmt::format("kernel lockdown is \"{}\": the module must be signed with a key that this "
                            "kernel trusts",
                            lockdown_mode(*lockdown)));
  if (secure_boot()) result.note("loading", "Secure Boot is on: the module may have to be signed (mokutil)");
  if (first_line("/sys/module/module/parameters/sig_enforce") == "Y")
    result.note("loading", "module signatures are enforced (module.sig_enforce)");
}

}  // namespace

std::optional<std::string> installed_module(const std::string& release) {
  std::ifstream dep(fmt::format("/lib/modules/{}/modules.dep", release));
  for (std::string line; std::getline(dep, line);) {
    const std::string path = line.substr(0, line.find(':'));
    const std::string name = path.substr(path.rfind('/') + 1);
    if (name.starts_with("cryo.ko")) return path;
  }
  return std::nullopt;
}

bool check_device(CheckResult& result) {
  const UniqueFd fd(::open(CRYO_DEVICE_PATH, O_RDWR | O_CLOEXEC));
  if (!fd) {
    result.missing("device", fmt::format("{}: {}", CRYO_DEVICE_PATH, errno_text(errno)));
    return false;
  }
  cryo_version version{};
  version.size = sizeof(version);
  if (::ioctl(fd.get(), CRYO_IOC_VERSION, &version) != 0) {
    result.missing("device", fmt::format("{} does not answer as Cryo's module does: {}", CRYO_DEVICE_PATH,
                                         errno_text(errno)));
    return false;
  }
  result.good("device", CRYO_DEVICE_PATH);
  check_version(result, version);
  return true;
}

void check_module(CheckResult& result) {
  if (module_loaded())
    result.note("module",
                ::access(CRYO_DEVICE_PATH, F_OK) == 0
                    ? fmt::format("loaded; who may open {}: {}", CRYO_DEVICE_PATH, who_may_open_device())
                    : why_no_device());
  else
    check_files(result);
  check_signatures(result);
}

}  // namespace cryo
