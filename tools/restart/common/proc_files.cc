// SPDX-License-Identifier: GPL-2.0-only
#include "restart/common/proc_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace cryo {
namespace {

int g_proc = -1;

}  // namespace

void keep_proc(int fd) {
  g_proc = fd;
}

int kept_proc() {
  return g_proc;
}

UniqueFd open_proc(const std::string& name, int flags) {
  if (g_proc >= 0) return UniqueFd(::openat(g_proc, name.c_str(), flags | O_CLOEXEC));
  return UniqueFd(::open(("/proc/" + name).c_str(), flags | O_CLOEXEC));
}

NameOfDescriptor name_of_descriptor(int fd) {
  const std::string name = fmt::format("self/fd/{}", fd);
  return g_proc >= 0 ? NameOfDescriptor{g_proc, name} : NameOfDescriptor{AT_FDCWD, "/proc/" + name};
}

std::string read_proc(const std::string& name) {
  const UniqueFd fd = open_proc(name);
  std::string text;
  char part[4096];
  for (ssize_t got; fd && (got = ::read(fd.get(), part, sizeof(part))) > 0;)
    text.append(part, static_cast<std::size_t>(got));
  return text;
}

}  // namespace cryo
