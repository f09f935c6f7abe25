// SPDX-License-Identifier: GPL-2.0-only
// Names that a restart has made in the file system, and ids that it has taken, kept where cr_restart can
// see them when the child is dead: a failed restart leaves nothing behind.  The list is whole whenever a
// process dies that is at it.
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
  // The names and what they stand for, the last first: directories are empty by then.
  void remove_all() const;

 private:
  stub::Report& report_;
};

}  // namespace cryo
