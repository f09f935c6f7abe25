// SPDX-License-Identifier: GPL-2.0-only
#include "cr_checkpoint/request.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>

#include "base/device_missing.h"
#include "base/error.h"
#include "base/exit_codes.h"
#include "cr_checkpoint/trace_access.h"

namespace cryo {
namespace {

void check_version(int device) {
  cryo_version version{};
  version.size = sizeof(version);
  if (::ioctl(device, CRYO_IOC_VERSION, &version) != 0)
    fail_errno("{} is not Cryo's device", CRYO_DEVICE_PATH);
  if (!CRYO_ABI_FITS(version.abi_major, version.abi_minor))
    fail(kErrVersion,
         "the loaded module (release {}, interface {}.{}) is not for this tool (interface {}.{})",
         version.release, version.abi_major, version.abi_minor, CRYO_ABI_MAJOR, CRYO_ABI_MINOR);
}

// Of the process that has a thread of that id; 0: there is none.
pid_t leader_of(pid_t thread) {
  std::ifstream file(fmt::format("/proc/{}/status", thread));
  pid_t leader = 0;
  for (std::string line; std::getline(file, line);)
    if (std::sscanf(line.c_str(), "Tgid: %d", &leader) == 1) break;
  return leader;
}

// PF_KTHREAD, by the ninth field of /proc/PID/stat.
bool is_kernel_thread(pid_t pid) {
  constexpr unsigned long kKernelThread = 0x00200000;
  std::string line;
  std::getline(std::ifstream(fmt::format("/proc/{}/stat", pid)), line);
  const std::size_t name = line.rfind(')');
  unsigned long flags = 0;
  return name != std::string::npos &&
         std::sscanf(line.c_str() + name + 1, " %*c %*d %*d %*d %*d %*d %lu", &flags) == 1 &&
         (flags & kKernelThread) != 0;
}

[[noreturn]] void fail_request(pid_t target, std::uint32_t scope) {
  switch (errno) {
    case ESRCH:
      fail_unknown(target, scope);
    case EPERM:
      if (is_kernel_thread(target)) fail(EPERM, "process {} is a kernel thread", target);
      fail(EPERM, "process {} {}", target, why_not_traced(target));
    default:
      fail_errno("process {}", target);
  }
}

}  // namespace

void fail_unknown(pid_t target, std::uint32_t scope) {
  const bool process = scope == CRYO_SCOPE_PROCESS || scope == CRYO_SCOPE_TREE;
  if (const pid_t leader = process ? leader_of(target) : 0; leader != 0 && leader != target)
    fail(ESRCH, "{} is a thread of process {}", target, leader);
  const char* what = scope == CRYO_SCOPE_PGRP      ? "process group"
                     : scope == CRYO_SCOPE_SESSION ? "session"
                                                   : "process";
  fail(ESRCH, "there is no {} {}", what, target);
}

Device::Device() : fd_(::open(CRYO_DEVICE_PATH, O_RDWR | O_CLOEXEC)) {
  if (!fd_) {
    if (errno == ENOENT || errno == ENXIO || errno == ENODEV) fail(ENOSYS, "{}", why_no_device());
    if (errno == EACCES)
      fail(EACCES, "cannot open {}: {}: {}", CRYO_DEVICE_PATH, errno_text(EACCES), who_may_open_device());
    fail_errno("cannot open {}", CRYO_DEVICE_PATH);
  }
  check_version(fd_.get());
}

Request::Request(const Device& device, const cryo_checkpoint& parameters)
    : target_(parameters.target), handle_(::ioctl(device.fd(), CRYO_IOC_CHECKPOINT, &parameters)) {
  if (!handle_) fail_request(target_, parameters.scope);
}

void Request::set_device(const std::string& path, std::uint32_t policy) {
  struct stat device;
  if (::stat(path.c_str(), &device) != 0) fail_errno("--device: {}", path);
  if (!S_ISCHR(device.st_mode) && !S_ISBLK(device.st_mode)) fail(ENODEV, "--device: {} is no device", path);
  cryo_ckpt_device rule{};
  rule.size = sizeof(rule);
  rule.policy = policy;
  rule.rdev = static_cast<std::uint32_t>(device.st_rdev);
  rule.block = S_ISBLK(device.st_mode) ? 1 : 0;
  if (::ioctl(handle_.get(), CRYO_CKPT_DEVICE, &rule) != 0) fail_errno("--device: {}", path);
}

namespace {

cryo_ckpt_context context_called(const Hash& id) {
  cryo_ckpt_context context{};
  context.size = sizeof(context);
  static_assert(sizeof(context.id) == sizeof(id));
  std::memcpy(std::begin(context.id), id.data(), id.size());
  return context;
}

// The target has ended, or has become somebody's whom the caller may not trace, since the handle was made.
bool is_of_target(int error) {
  return error == ESRCH || error == EPERM;
}

}  // namespace

bool Request::set_parent(const Hash& id) {
  cryo_ckpt_context context = context_called(id);
  if (::ioctl(handle_.get(), CRYO_CKPT_PARENT, &context) == 0) return context.tracked != 0;
  // The run says it better.
  if (!is_of_target(errno)) fail_errno("parent of the checkpoint");
  return false;
}

void Request::set_complete(const Hash& id) {
  cryo_ckpt_context context = context_called(id);
  // The context is as good: the next one is compared with it.
  if (::ioctl(handle_.get(), CRYO_CKPT_COMPLETE, &context) != 0 && !is_of_target(errno))
    fail_errno("the context is complete, but the module did not record it for the next one");
}

int Request::run() noexcept {
  return ::ioctl(handle_.get(), CRYO_CKPT_RUN, 0) == 0 ? 0 : errno;
}

void Request::cancel() noexcept {
  ::ioctl(handle_.get(), CRYO_CKPT_CANCEL, 0);
}

void Request::thaw(int signal) {
  if (::ioctl(handle_.get(), CRYO_CKPT_THAW, signal) == 0) return;
  const int code = errno;
  fail(code, "the context is complete, but process {} did not get signal {}: {}", target_, signal,
       errno_text(code));
}

cryo_ckpt_status Request::status() const {
  cryo_ckpt_status status{};
  status.size = sizeof(status);
  if (::ioctl(handle_.get(), CRYO_CKPT_STATUS, &status) != 0) fail_errno("status of the checkpoint");
  return status;
}

cryo_ckpt_verdict Request::verdict() const {
  cryo_ckpt_verdict verdict{};
  verdict.size = sizeof(verdict);
  if (::ioctl(handle_.get(), CRYO_CKPT_VERDICT, &verdict) != 0) fail_errno("verdict of the checkpoint");
  return verdict;
}

std::vector<std::string> Request::read_log() {
  std::string text;
  char chunk[4096];
  ssize_t got;
  while ((got = ::read(handle_.get(), chunk, sizeof(chunk))) > 0)
    text.append(chunk, static_cast<std::size_t>(got));
  std::vector<std::string> lines;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    if (end > start) lines.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return lines;
}

}  // namespace cryo
