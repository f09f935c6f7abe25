// SPDX-License-Identifier: GPL-2.0-only
#include "cr_restart/context_lock.h"

#include <dirent.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <thread>

#include "base/error.h"
#include "base/termination.h"
#include "context/find_context.h"

namespace cryo {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kSmbMagics[] = {0x517b, 0xff534d42, 0xfe534d42};

// There it would keep other machines from reading the file.
bool is_mandatory(int fd) {
  struct statfs system {};
  if (::fstatfs(fd, &system) != 0) return true;
  for (const std::uint32_t magic : kSmbMagics)
    if (static_cast<std::uint32_t>(system.f_type) == magic) return true;
  return false;
}

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

// By a descriptor that the caller has inherited, as proc_pid_fdinfo(5) tells of the locks of each open file.
bool is_held_by_us(const struct stat& file) {
  const std::unique_ptr<DIR, CloseDirectory> own(::opendir("/proc/self/fd"));
  if (!own) return false;
  while (const dirent* entry = ::readdir(own.get())) {
    struct stat status {};
    if (entry->d_name[0] == '.' || ::fstat(std::atoi(entry->d_name), &status) != 0) continue;
    if (status.st_dev != file.st_dev || status.st_ino != file.st_ino) continue;
    std::ifstream info(fmt::format("/proc/self/fdinfo/{}", entry->d_name));
    for (std::string line; std::getline(info, line);)
      if (line.starts_with("lock:") && line.find("FLOCK") != std::string::npos) return true;
  }
  return false;
}

// Also of one that has been replaced since, by a newer package.
std::string executable_of(const std::string& process) {
  constexpr std::string_view kGone = " (deleted)";
  std::array<char, PATH_MAX> buffer{};
  if (::readlink((process + "/exe").c_str(), buffer.data(), buffer.size() - 1) <= 0) return "";
  std::string path = buffer.data();
  if (path.ends_with(kGone)) path.resize(path.size() - kGone.size());
  return path;
}

// Of one of the processes that have locked the file, as /proc/locks shows them: is it a restart of the
// caller's user?
bool is_restart(long pid) {
  struct stat status {};
  const std::string process = fmt::format("/proc/{}", pid);
  if (::stat(process.c_str(), &status) != 0 || status.st_uid != ::geteuid()) return false;
  const std::string own = executable_of("/proc/self");
  return !own.empty() && executable_of(process) == own;
}

bool is_held_by_restart(const struct stat& file) {
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    char kind[16];
    long pid = 0;
    unsigned long long inode = 0;
    // Not the device: that of the file system, which stat(2) does not tell of files of btrfs and overlays.
    if (std::sscanf(line.c_str(), "%*s %15s %*s %*s %ld %*x:%*x:%llu", kind, &pid, &inode) != 3) continue;
    if (std::string(kind) == "FLOCK" && inode == file.st_ino && is_restart(pid)) return true;
  }
  return false;
}

}  // namespace

ContextLock::ContextLock(const std::string& file, const std::function<void(const std::string&)>& say) {
  constexpr std::chrono::milliseconds kLap{10};
  constexpr std::chrono::seconds kSilence{1}, kPatience{10};
  struct stat status {};
  UniqueFd fd = open_regular_context(file).place;
  if (!fd || ::fstat(fd.get(), &status) != 0 || is_mandatory(fd.get())) return;
  const auto begin = Clock::now();
  for (bool told = false; ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0;) {
    if (errno != EWOULDBLOCK || is_held_by_us(status)) return;
    if (is_pending_termination()) fail(EINTR, "interrupted by a signal");
    const auto waited = Clock::now() - begin;
    if (waited > kSilence && !told)
      say(fmt::format("waiting for whoever has {} locked (flock(2)): another restart of it?", file));
    told = told || waited > kSilence;
    if (waited > kPatience && !is_held_by_restart(status)) {
      say(fmt::format(
          "warning: {} is still locked (flock(2)), not by one of your restarts: continuing without the lock",
          file));
      return;
    }
    std::this_thread::sleep_for(kLap);
  }
  fd_ = std::move(fd);
}

ContextLock::~ContextLock() {
  if (fd_) ::flock(fd_.get(), LOCK_UN);
}

}  // namespace cryo
