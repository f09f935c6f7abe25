// SPDX-License-Identifier: GPL-2.0-only
// Users, groups and capabilities: what has to change, whether it may, and the calls that do it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "context/model.h"
#include "restart/stub/arena.h"
#include "restart/stub/calls.h"
#include "restart/stub/step_kind.h"

namespace cryo {

[[nodiscard]] Creds own_credentials();

// nullopt: a process with the credentials `own` has nothing to change.
struct CredentialChange {
  std::optional<Creds> to;
  Creds own;
  // The supplementary groups of the checkpoint where `own` has what stands for them, take_outer_groups().
  std::optional<std::vector<std::uint32_t>> given_groups = {};
};
[[nodiscard]] CredentialChange credential_change(const Creds& saved, const Creds& own);
// Of a process that is in its user namespace and has `own` there.
[[nodiscard]] CredentialChange credential_change(const Context& context, const Process& process,
                                                 const Creds& own);

// The ids that have a number in a user namespace.
struct IdMaps {
  std::vector<cryo_id_range> uids;
  std::vector<cryo_id_range> gids;
};
// Of the caller's.  Throws Error.
[[nodiscard]] IdMaps own_id_maps();

// Who has no number in a user namespace is the overflow user there, which nobody can be made.  Where `own` is
// that already, as is whoever has entered the namespace as the same user, the ids of `to` become kKeepId; the
// ids for file systems need none, as a call that cannot set them does nothing.
inline constexpr std::uint32_t kKeepId = ~0U;
void keep_unmapped(CredentialChange& change, const IdMaps& maps);

// What a thread has to change, where its process has to change `process`.  Throws Error.
[[nodiscard]] CredentialChange thread_credentials(const Thread& thread, const CredentialChange& process);

// After the caller has entered a user namespace in which it keeps the supplementary groups that it had,
// outside, though some have no number there: own_credentials() has these from now on.
void keep_outer_groups(std::vector<std::uint32_t> groups);
// Then a context that was made in such a namespace has them as they were told there: they are the same ones.
void take_outer_numbers(Context& context);

// Whether `id` is in one of them, inside.
[[nodiscard]] bool has_number(const std::vector<cryo_id_range>& ranges, std::uint32_t id);
// Whether the supplementary groups of `process` cannot be set in its user namespace: nobody may there, or
// some have no number.
[[nodiscard]] bool needs_outer_groups(const Context& context, const Process& process);
// Gives them to the caller, who is about to enter it.  Throws Error.
void take_outer_groups(const Context& context, const Process& process);

// Throws Error (EINVAL) for a caller of --groups=own who may set any: the groups of an administrator are
// nothing for a user's process.
void refuse_own_groups(const Creds& own);
// As if all processes had had those of the caller, `own` (--groups=own).
void take_own_groups(Context& context, const Creds& own);
// "its supplementary groups (27, 100) are not those of cr_restart (100)"
[[nodiscard]] std::string groups_problem(const std::vector<std::uint32_t>& saved,
                                         const std::vector<std::uint32_t>& own);

// Why it cannot be done; empty when it can.
[[nodiscard]] std::vector<std::string> credential_problems(const CredentialChange& change);

// For one thread: credentials belong to threads, and these are raw system calls.
void plan_credentials(const CredentialChange& change, CallList& calls, Arena& arena);
// Before that: the real user id, to whom timers and signals that wait are charged.
void plan_real_user(const CredentialChange& change, CallList& calls);

// capset(2), for the calling thread.
void plan_capabilities(CallList& calls, Arena& arena, std::uint64_t effective, std::uint64_t permitted,
                       std::uint64_t inheritable);

// What plan_credentials() plans, done at once, for the calling thread.  Throws Error.
void set_credentials(const CredentialChange& change);

// Ids and groups of one that is about to exit, and what it has of the capabilities.  Those that have no
// number here, or that are not the caller's to set, stay as they are: false.
[[nodiscard]] bool may_end_as(const Creds& saved, const Creds& own);
void end_as(const Creds& saved);

// Is `capability` (CAP_*) effective here?
[[nodiscard]] bool capable(const Creds& own, int capability);
// The same of the caller, without asking for all the rest.  Throws Error.
[[nodiscard]] bool is_capable(int capability);
// Can the caller do what ordinary users cannot?
[[nodiscard]] bool is_privileged(const Creds& own);

// Index of the call: what of the credentials it is.
extern const StepKind kCredentialsStep;
// Which other ids take away.
extern const StepKind kDeathSignalStep;

}  // namespace cryo
