// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>
#include <vector>

#include "restart/rights/created_paths.h"

namespace cryo {

// Directories that have gone, there again until remove(), or as long as it lives: something gets a name in
// them that it will lose at once, as it had lost it at the checkpoint.  What they are made in stays as it
// was.
class MissingDirectories {
 public:
  explicit MissingDirectories(CreatedPaths& created) : created_(created) {}
  ~MissingDirectories() { remove(); }
  MissingDirectories(const MissingDirectories&) = delete;
  MissingDirectories& operator=(const MissingDirectories&) = delete;

  // `path` itself, and all that is missing above it; false, with errno: it is there, or cannot be made.
  bool make(const std::string& path);
  // All that is missing above `path`; false, with errno, when something still is.
  bool make_above(const std::string& path);
  // One that the caller has made goes with them.
  void note(const std::string& path);
  // They are needed no longer; the last made first.
  void remove();

 private:
  bool make_last(const std::string& path);

  CreatedPaths& created_;
  std::vector<std::string> made_;
};

// The directory above `path`, or above that, which is there.
[[nodiscard]] std::string nearest_directory(std::string path);

}  // namespace cryo
