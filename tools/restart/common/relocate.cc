// SPDX-License-Identifier: GPL-2.0-only
#include "restart/common/relocate.h"

#include <cstdlib>
#include <memory>

#include "base/error.h"

namespace cryo {
namespace {

// One side: an absolute path without trailing slashes ("/" becomes empty, which every path starts with).
std::string checked_path(std::string path, std::string_view argument, const char* side) {
  if (path.empty() || path.front() != '/')
    fail(EINVAL, "--relocate {}: the {} path is not absolute", argument, side);
  while (!path.empty() && path.back() == '/') path.pop_back();
  return path;
}

}  // namespace

void Relocations::add(std::string_view argument) {
  std::string sides[2];
  int side = 0;
  for (std::size_t i = 0; i < argument.size(); ++i) {
    if (argument[i] == '\\' && i + 1 < argument.size() &&
        (argument[i + 1] == '=' || argument[i + 1] == '\\')) {
      sides[side] += argument[++i];
    } else if (argument[i] == '=') {
      if (side == 1) fail(EINVAL, "--relocate {}: more than one unescaped '='", argument);
      side = 1;
    } else {
      sides[side] += argument[i];
    }
  }
  if (side == 0) fail(EINVAL, "--relocate {}: not of the form OLD=NEW", argument);
  Pair pair{checked_path(sides[0], argument, "old"), checked_path(sides[1], argument, "new")};
  if (pairs_.size() == kMax) fail(EINVAL, "--relocate {}: more than {} relocations", argument, kMax);
  pairs_.push_back(std::move(pair));
}

void Relocations::follow_links() {
  for (Pair& pair : pairs_) {
    const std::unique_ptr<char, decltype(&std::free)> path(::realpath(pair.to.c_str(), nullptr), &std::free);
    if (!pair.to.empty() && path && std::string_view(path.get()) != "/") pair.to = path.get();
  }
}

const Relocations::Pair* Relocations::pair_of(const std::string& path) const {
  for (const Pair& pair : pairs_)
    if (path.starts_with(pair.from) && (path.size() <= pair.from.size() || path[pair.from.size()] == '/'))
      return &pair;
  return nullptr;
}

std::string Relocations::apply(const std::string& path) const {
  const Pair* const pair = pair_of(path);
  if (pair == nullptr) return path;
  const std::string moved = pair->to + path.substr(pair->from.size());
  return moved.empty() ? "/" : moved;
}

}  // namespace cryo
