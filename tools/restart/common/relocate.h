// SPDX-License-Identifier: GPL-2.0-only
// Moves saved paths: --relocate OLD=NEW.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cryo {

class Relocations {
 public:
  // Without slashes at the end: "/" is empty.
  struct Pair {
    std::string from;
    std::string to;
  };

  static constexpr std::size_t kMax = 16;

  // "OLD=NEW"; "\=" and "\\" stand for themselves.  Throws Error (EINVAL) that names what is wrong.
  void add(std::string_view argument);

  // Of each NEW that is there, the path without symbolic links: it is the caller's, and may have anybody's in
  // it.
  void follow_links();

  // `path` with the first OLD that it starts with, on whole components, replaced.
  [[nodiscard]] std::string apply(const std::string& path) const;
  // Whether some OLD says where it is, be it where it was: then the caller knows that what is there is the
  // right one.
  [[nodiscard]] bool covers(const std::string& path) const { return pair_of(path) != nullptr; }
  [[nodiscard]] const std::vector<Pair>& pairs() const { return pairs_; }

 private:
  [[nodiscard]] const Pair* pair_of(const std::string& path) const;

  std::vector<Pair> pairs_;
};

}  // namespace cryo
