// SPDX-License-Identifier: GPL-2.0-only
// What stands in the way of a restart, all of it at once, before anything is created.
#pragma once

#include "context/chain.h"
#include "context/model.h"
#include "restart/common/findings.h"
#include "restart/common/options.h"

namespace cryo {

struct TreePlan;

[[nodiscard]] Findings check_context(const Context& context, const Chain& chain,
                                     const RestartOptions& options);

// ---- the parts, each in a file of its own ----

// Files that have changed since the checkpoint, of all processes at once: one line for each.
void check_changed(const Context& context, const RestartOptions& options, Findings& findings);
// Files that the job writes to, and that somebody has written anew.  Before check_files().
void check_rewritten(const Context& context, const RestartOptions& options, Findings& findings);
// Locks of files that somebody else holds by now.
void check_locks(const Context& context, const RestartOptions& options, Findings& findings);
// Code that cannot go on on this machine, file by file.
void check_code(const Context& context, const RestartOptions& options, Findings& findings);
// Whether the module lets the caller do it.  Apart from the others: it is about this machine, at this moment.
void check_module(const Context& context, const RestartOptions& options, Findings& findings);
// Whether a privileged caller would hand its terminal, or other descriptors, on to another user's process.
void check_handed_on(const Context& context, const RestartOptions& options, const Creds& own,
                     Findings& findings);
// Who can have written it: one file, and with all that it needs.
void check_origin_of(const Source& source, const RestartOptions& options, const Creds& own,
                     Findings& findings);
void check_origin(const Context& context, const Chain& chain, const RestartOptions& options, const Creds& own,
                  Findings& findings);
void check_memory(const CheckInput& input, Findings& findings);
// Contexts of io_setup(2) of all processes together.
void check_aio(const Context& context, Findings& findings);
// Huge pages of all processes together.
void check_hugetlb(const Context& context, const RestartOptions& options, const Creds& own,
                   Findings& findings);
// Each file once, in the name of the first process that has it.
void check_files(const Context& context, const RestartOptions& options, const Creds& own, Findings& findings);
void check_shadow_stacks(const CheckInput& input, Findings& findings);
void check_process(const CheckInput& input, Findings& findings);
// Who has no number in the caller's user namespace cannot be there, nor can anything be looked at with his
// rights: false, and nothing else is worth looking at.
bool check_user_numbers(const Context& context, Findings& findings);
// Of processes, threads and helpers.
void check_ids(const Context& context, const TreePlan& plan, Findings& findings);
void check_threads(const CheckInput& input, Findings& findings);
// Of all processes, and whether they can be made again.
void check_cgroups(const Context& context, const RestartOptions& options, Findings& findings);

}  // namespace cryo
