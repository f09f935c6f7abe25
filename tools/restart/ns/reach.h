// SPDX-License-Identifier: GPL-2.0-only
// From which namespaces a process gets to which others.
//
// Who is in a user namespace may enter what that owns, or one below it, and no other: what is owned off the
// way down has to be entered before the way leaves the last user namespace above its owner.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "context/model.h"

namespace cryo {

struct Membership {
  std::uint32_t type;
  std::uint32_t cryo_namespaces::*of;
};

// All but those of users and pids, and that of time for children.
inline constexpr std::size_t kMemberships = 6;
[[nodiscard]] const std::array<Membership, kMemberships>& memberships();

// The user namespace that owns the namespace `id`; of 0, which is cr_restart's, and need not be owned by its
// own: 0.
[[nodiscard]] std::uint32_t owner_of(const Context& context, std::uint32_t id);
// Is the user namespace `user` the namespace `top`, or below it?
[[nodiscard]] bool is_below(const Context& context, std::uint32_t user, std::uint32_t top);

// Whether the time namespace `ns` was made by a process that is not in it itself, for its children
// (unshare(2)). There is no way into such a one but to be forked by that process, or by one that was.
[[nodiscard]] bool is_for_children(const Context& context, std::uint32_t ns);

// Of a child of who is in `from`, before it enters any.
[[nodiscard]] cryo_namespaces at_birth(cryo_namespaces from);
// The type of one of `to` that who is in `from` cannot get to; nothing: all can be entered.
[[nodiscard]] std::optional<std::uint32_t> out_of_reach(const Context& context, const cryo_namespaces& from,
                                                        const cryo_namespaces& to);
// A process is forked with all that its forker has: can it go from there to its own namespaces?
[[nodiscard]] bool can_be_forked(const Context& context, const cryo_namespaces& forker,
                                 const cryo_namespaces& child);

// On the way from `from`: what of `to` is to be entered before the user namespace `user`, and that one.
[[nodiscard]] cryo_namespaces down_to(const Context& context, const cryo_namespaces& from,
                                      const cryo_namespaces& to, std::uint32_t user);

// Does a process have to enter `one` of `to` before it leaves cr_restart's user namespace, that does not own
// it?
[[nodiscard]] bool is_entered_from_outside(const Context& context, const cryo_namespaces& to,
                                           const Membership& one);

}  // namespace cryo
