// SPDX-License-Identifier: GPL-2.0-only
// Names that a restart has made in the file system, kept where cr_restart can see them when the child
// is dead: a failed restart leaves nothing behind.
#pragma once

#include <string>
#include <vector>

#include "restart/stub.h"

namespace cryo {

// Lets cr_restart's death wait for a moment in which a name exists that nobody else would remove.
class DeathDeferred {
 public:
  DeathDeferred();
  ~DeathDeferred();
  DeathDeferred(const DeathDeferred&) = delete;
  DeathDeferred& operator=(const DeathDeferred&) = delete;

 private:
  int parent_;
};

class CreatedPaths {
 public:
  explicit CreatedPaths(stub::Report& report) : report_(report) {}

  void add(const std::string& path);
  void remove(const std::string& path);
  [[nodiscard]] std::vector<std::string> list() const;

 private:
  void store(const std::vector<std::string>& paths);

  stub::Report& report_;
};

}  // namespace cryo
