// SPDX-License-Identifier: GPL-2.0-only
// Names that a restart has made in the file system, and ids that it has taken, kept where cr_restart can
// see them when the child is dead: a failed restart leaves nothing behind.  The list is whole whenever a
// process dies that is at it.
#pragma once

#include <string>
#include <vector>

#include "restart/stub.h"

namespace cryo {

class CreatedPaths {
 public:
  explicit CreatedPaths(stub::Report& report) : report_(report) {}

  // What there is no room for is taken away again.
  void add(const std::string& path);
  void remove(const std::string& path);
  [[nodiscard]] std::vector<std::string> list() const;
  // The names and what they stand for, the last first: directories are empty by then.
  void remove_all() const;
  // Before all processes of the restart are killed: nobody makes a name from then on.
  void end() const;

 private:
  friend class DeathDeferred;
  stub::Report& report_;
};

// Lets the death that comes with cr_restart's wait for a moment in which a name exists that nobody else would
// remove.  Where cr_restart has begun to end all of it, the process ends here.
class DeathDeferred {
 public:
  explicit DeathDeferred(CreatedPaths& created);
  ~DeathDeferred();
  DeathDeferred(const DeathDeferred&) = delete;
  DeathDeferred& operator=(const DeathDeferred&) = delete;

 private:
  stub::Report& report_;
  int parent_;
};

}  // namespace cryo
