// SPDX-License-Identifier: GPL-2.0-only
#include "restart/rights/missing_directories.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "restart/rights/names.h"

namespace cryo {
namespace {

// "" for what is in the root directory, or has no directory.
std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

}  // namespace

std::string nearest_directory(std::string path) {
  struct stat link;
  do {
    const std::size_t slash = path.rfind('/');
    if (slash == std::string::npos) return ".";
    path.resize(std::max<std::size_t>(slash, 1));
  } while (path != "/" && names::access(path, F_OK) != 0 && errno == ENOENT && names::lstat(path, link) != 0);
  // A link that leads nowhere is in the way of a directory.
  return path;
}

void MissingDirectories::remove() {
  for (; !made_.empty(); made_.pop_back()) (void)created_.discard(made_.back());
}

bool MissingDirectories::make(const std::string& path) {
  if (make_last(path)) return true;
  const std::string parent = parent_of(path);
  if (errno != ENOENT || parent.empty()) return false;
  // "a/.." is there with "a".
  return make(parent) && (make_last(path) || (errno == EEXIST && names::access(path, X_OK) == 0));
}

bool MissingDirectories::make_above(const std::string& path) {
  const std::string parent = parent_of(path);
  return parent.empty() || names::access(parent, F_OK) == 0 || make(parent);
}

void MissingDirectories::note(const std::string& path) {
  made_.push_back(path);
  created_.add(path);
}

bool MissingDirectories::make_last(const std::string& path) {
  // Not by chmod() afterwards: where others may write, something else could have the name by then.
  const mode_t before = ::umask(077);
  const int made = names::mkdir(path, 0700);
  ::umask(before);
  if (made != 0) return false;
  note(path);
  return true;
}

}  // namespace cryo
