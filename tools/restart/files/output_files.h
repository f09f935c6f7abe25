// SPDX-License-Identifier: GPL-2.0-only
// Regular files that the job had open for writing, and that are longer than they were.  What has come since
// may be the job's own, of a run that went on after the checkpoint and that the restart does again; or
// somebody else's.  Nothing tells which, so nothing of it is thrown away unless the user says so; and where
// others had the file open at the checkpoint, too, as a script or another job of it, it stays in its place.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/unique_fd.h"
#include "context/model.h"
#include "restart/common/options.h"
#include "restart/files/file_uses.h"
#include "restart/rights/created_paths.h"
#include "restart/stub/step_kind.h"

namespace cryo {

struct OtherUse;

enum class Tail {
  kStays,  // the job's output comes after it
  kAside,  // moved to a file of its own
  kGoes,
};
// Of an inode that descriptors of the job write to.
struct Output {
  // Have all of them O_APPEND?  Who appends shares the file with others as a rule, and loses no place by what
  // these have written.  Who does not writes where he was: what is there has to go.
  bool all_append = true;
  std::uint32_t outside = 0;  // CRYO_OUTSIDE_*, of any of them
};
using Outputs = std::map<std::uint32_t, Output>;  // by inode
[[nodiscard]] Outputs find_outputs(const Context& context, const FileUses& uses);
// What is to become of it, where nobody else writes there (other_uses.h).
[[nodiscard]] Tail tail_of(const Context& context, const Outputs& outputs, const RestartOptions& options,
                           const File& file);

// Where the job goes on in it.
enum class OutputPlace {
  kSaved,
  kEnd,      // as it is by now
  kAppends,  // the same, with O_APPEND from then on: so do others, and none writes over what another one has
             // written
};
// `other`: who has it open now; nullptr: nobody.
[[nodiscard]] OutputPlace output_place(const Context& context, const Outputs& outputs, const File& file,
                                       const FileUse& use, const OtherUse* other, std::uint64_t size);

// Was it open for writing by a descriptor?
[[nodiscard]] bool is_output(const File& file, const FileUse& use);

// Is `fd` open for as much as it was?
[[nodiscard]] bool covers(int fd, const File& file);

// Of cr_restart's own standard descriptors (`fds`, -1: closed) the one that the job's is: the same file, open
// for as much, at 0, 1 or 2 in both; -1: none.  The job shares its offset with whoever has started
// cr_restart, and nothing is cut.
[[nodiscard]] int own_output(const File& file, const Inode& inode, const FileUse& use, const int (&fds)[3]);

// The last bytes that a file had: of one that has been written anew since they are others.
enum class OldEnd { kUnknown, kSame, kOther };
// Who may not read it, or reads while it is changed, knows nothing.
[[nodiscard]] OldEnd old_end_of(const Inode& inode, int fd);
// That they are others, of one that has `size` bytes now.
[[nodiscard]] std::string rewritten_text(const Inode& inode, std::uint64_t size);

// The first free name for what is moved: FILE.cut.N, where FILE is shortened if there is not room for both.
[[nodiscard]] std::string aside_name(const std::string& path);
// A file that is to be cut, and where its tail is by now: up to `end`.  What comes to it before it is cut has
// to be added.
struct CutFile {
  UniqueFd from, to;  // no `to`: nothing is kept
  std::uint64_t end = 0;
  bool is_known = false;  // it had its old end, and is cut only if it has it then; `from` reads it
  // By whom, and by which open file, it is cut: one for all.
  std::size_t process = 0;
  std::uint32_t file = 0;
};
// Copies what is behind the first `size` bytes there, and opens both, or that which is not open.
void keep_tail_aside(CreatedPaths& created, int fd, std::uint64_t size, const std::string& path,
                     CutFile& cut);

// Index of the call: the file.
extern const StepKind kTruncateStep;
extern const StepKind kOldEndStep;

}  // namespace cryo
