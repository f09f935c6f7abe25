// SPDX-License-Identifier: GPL-2.0-only
// What the tests of obstacles to a restart have in common.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "restart/check/check.h"
#include "restart/common/restart_arch.h"
#include "unit/context_builder.h"
#include "unit/tap.h"

namespace cryo::test {

inline void says(const Findings& findings, int code, std::string_view text, int line) {
  for (const Problem& problem : findings.problems)
    if (problem.code == code && problem.text == text) return;
  tap::failure(__FILE__, line, fmt::format("not told (error {}): {}", code, text));
  for (const Problem& problem : findings.problems)
    tap::failure(__FILE__, line, fmt::format("  but (error {}): {}", problem.code, problem.text));
}
#define SAYS(findings, code, ...) says((findings), (code), fmt::format(__VA_ARGS__), __LINE__)

inline bool warns_of(const Findings& findings, const std::string& text) {
  return std::find(findings.warnings.begin(), findings.warnings.end(), text) != findings.warnings.end();
}
#define WARNS(findings, ...) CHECK(warns_of((findings), fmt::format(__VA_ARGS__)))

// The least that can be looked at, on this machine.
inline ContextBuilder sample() {
  ContextBuilder builder = ContextBuilder::smallest(own_arch());
  builder.context.header.page_size = static_cast<std::uint32_t>(::sysconf(_SC_PAGESIZE));
  Process& process = builder.process();
  process.head.pid = process.head.pgid = process.head.sid = 3999999;
  process.cwd = Path{{}, "/"};
  process.creds->head.cap_bset = 0;
  builder.thread().head.tid = process.head.pid;
  builder.thread().head.nr_cpus = 0;
  builder.thread().cpus.clear();
  return builder;
}

// A directory that everybody may look into.
class Directory {
 public:
  Directory() {
    char name[] = "/tmp/cryo-check-XXXXXX";
    if (::mkdtemp(name) == nullptr) fail_errno("cannot make {}", name);
    path_ = name;
    ::chmod(name, 0755);
  }
  ~Directory() { std::filesystem::remove_all(path_); }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  [[nodiscard]] std::string file(std::string_view name, mode_t mode) const {
    const std::string path = fmt::format("{}/{}", path_, name);
    std::ofstream(path) << "text";
    ::chmod(path.c_str(), mode);
    return path;
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline File& add_file(ContextBuilder& builder, std::uint32_t kind, const std::string& path,
                      std::uint32_t mode, int flags = O_RDONLY) {
  Context& context = builder.context;
  const auto id = static_cast<std::uint32_t>(context.files.size() + 1);
  Inode inode;
  inode.id = id;
  inode.head.mode = mode;
  context.inodes[id] = inode;
  File& file = context.files[id];
  file.id = id;
  file.head.inode = id;
  file.head.kind = kind;
  file.head.flags = static_cast<std::uint32_t>(flags);
  file.path = path;
  builder.process().fds.push_back({id + 2, id, 0, 0});
  return file;
}

}  // namespace cryo::test
