// SPDX-License-Identifier: GPL-2.0-only
// System V shared memory, semaphores and message queues.
#pragma once

#include <string>

#include "restart/common/findings.h"
#include "restart/files/files.h"
#include "restart/stub/address_space.h"

namespace cryo {

// What cannot be made because something else is there.
void check_sysv(const Context& context, Findings& findings);
// Is the segment there that has been saved? It is not made then, but filled.
[[nodiscard]] bool is_segment_there(const cryo_shm& saved);
// Whether some have to be made, with their ids, outside of namespaces of the context's own.
[[nodiscard]] bool needs_sysv_ids(const Context& context);

// What has to be made of them.
struct SysvNeeds {
  std::uint64_t segments = 0, pages = 0, largest_segment = 0;  // bytes
  std::uint64_t sets = 0, semaphores = 0, largest_set = 0;
  std::uint64_t queues = 0, largest_message = 0;  // bytes
};
[[nodiscard]] SysvNeeds sysv_needs(const Context& context);

// Makes all objects of the context with their ids, or finds them as they were left, and fills them.  Once
// for all processes; a segment that is to go with its last user loses its name later.
void restore_sysv(const FileRestoreInput& input);

// By each process for itself, after that: what it would undo when it ends.
void restore_sem_undo(const Context& context, const Process& process);
// Attaches a segment in the calling process, which is `process`, at `place`, where nothing is.  Fails when it
// is not the one that restore_sysv() has seen to.
void attach_segment(const Context& context, const Process& process, const cryo_shm& saved,
                    const AddressRange& place, bool read_only);

// How restore_sysv() notes an object ("shm", "sem", "msg") among the paths made. Empty, with errno: it cannot
// be looked at.
[[nodiscard]] std::string sysv_note(const std::string& tag, int id);
// Takes back what has been noted so, unless another object has its id by now.  False: `name` is none of
// these.
bool remove_sysv(const std::string& name);

}  // namespace cryo
