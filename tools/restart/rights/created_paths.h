// SPDX-License-Identifier: GPL-2.0-only
// Names that a restart has made in the file system, and ids that it has taken, kept where cr_restart can
// see them when the child is dead: a failed restart leaves nothing behind.  The list is whole whenever a
// process dies that is at it.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <vector>

namespace cryo {

struct Context;
struct Ledger;

// Of files of which a tail is kept, when a restart has failed: which processes may still cut them.
enum class Cutting {
  kNo,         // none: not all tails have been kept
  kByServers,  // all processes that were to do so have ended: what has been cut can be seen, but where a
               // server may yet do it
  kByAll,      // one of them has not, as its disk stalls
};

// What a restart makes that is in no file system is noted by a name of another form. Each kind of it says so
// in its own file, and has a line here.
struct CreatedObject {
  // Takes back one; false: the name is of something else.
  bool (*remove)(const std::string& name, std::uint64_t dev, std::uint64_t ino);
  bool with_rights_of_process;  // whose it is; else cr_restart's own
};
extern const CreatedObject kCreatedSysv;
extern const CreatedObject kCreatedQueue;
inline constexpr const CreatedObject* kCreatedObjects[] = {&kCreatedSysv, &kCreatedQueue};

class CreatedPaths {
 public:
  // Names of processes of `context` are removed with their rights.
  explicit CreatedPaths(Ledger& ledger, const Context* context = nullptr)
      : ledger_(ledger), context_(context) {}

  // Bytes that are enough for all that a restart of it can make.
  [[nodiscard]] static std::size_t room_for(const Context& context);
  // A name of those whose names are made now, see names.h. What there is no room for is taken away again.
  void add(const std::string& path);
  // The same, where stat(2) knows no such name.
  void add_open(const std::string& name, int fd);
  // The same, of one that has what is to be cut off the file `of`, which is now as `before` says: it stays
  // when that has not its bytes any more.
  void add_tail(const std::string& path, const std::string& of, const struct stat& before);
  // It stays, or has gone already.
  void remove(const std::string& path);
  // It goes, as in remove_all(). False: it does not, as it leads elsewhere by now, or may not be removed; it
  // is kept in mind then.
  [[nodiscard]] bool discard(const std::string& path);
  [[nodiscard]] std::vector<std::string> list() const;
  // The names and what they stand for, the last first: directories are empty by then. Only what has been
  // made, and where: others may have exchanged it, or a directory on the way, since.  Returns tails that
  // stay: of files that may have been cut, or may be yet.
  std::vector<std::string> remove_all(Cutting cutting) const;
  // Before all processes of the restart are killed: no name is made from then on.
  void end() const;

 private:
  friend class DeathDeferred;
  [[nodiscard]] std::vector<std::string> entries() const;
  void note(const std::string& entry);

  Ledger& ledger_;
  const Context* context_;
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
  Ledger& ledger_;
  int parent_;
};

}  // namespace cryo
