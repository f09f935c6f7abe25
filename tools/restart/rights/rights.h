// SPDX-License-Identifier: GPL-2.0-only
// What a process of the context may do on this machine.
//
// The credentials of a process (Process::creds) are numbers of its own user namespace: they say nothing about
// users of this machine.  Whoever compares them with what is outside of that asks here.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "context/model.h"

namespace cryo {

// Real and effective ids.
struct OwnIds {
  std::uint32_t uid = 0, euid = 0, gid = 0, egid = 0;

  bool operator==(const OwnIds&) const = default;
};

// What the file system asks for.
struct Rights {
  std::uint32_t uid = 0, gid = 0;                    // fsuid, fsgid
  std::optional<std::vector<std::uint32_t>> groups;  // nothing: the caller's are right
  std::uint64_t capabilities = 0;                    // effective
  bool for_good = false;        // ids and groups stay: the caller is to become that process
  bool effective = false;       // `uid` is the effective user id, too, which System V IPC asks for
  std::optional<OwnIds> ids{};  // nothing: as the caller's

  bool operator==(const Rights&) const = default;
};

// Of a process of the context, with the ids of cr_restart's user namespace.  What it may do in a user
// namespace of its own gives it no right here.
[[nodiscard]] Rights rights_of(const Context& context, const Process& process);
// Of a user of whom SO_PEERCRED tells: a process's that is him, or else nothing but his ids.
[[nodiscard]] Rights rights_of_user(const Context& context, std::uint32_t uid, std::uint32_t gid);
// What System V IPC asks for.
[[nodiscard]] Rights ipc_rights_of(const Context& context, const Process& process);
// The same as the first with those of its own user namespace, for a caller that is in it.
[[nodiscard]] Rights rights_inside(const Context& context, const Process& process);

// Are all user ids of `process` that user's of this machine?  What root has (its environment) is not for
// others, and root of a user namespace is another.
[[nodiscard]] bool is_of_user(const Context& context, const Process& process, std::uint32_t uid);

// Could they open such a file for reading, by its owner and mode?  Access control lists are not in the
// context.
[[nodiscard]] bool may_read(const Rights& rights, const cryo_inode& inode);

// The number here of a user (or group) of the user namespace `ns` of the context; nothing: it has none.
[[nodiscard]] std::optional<std::uint32_t> number_outside(const Context& context, std::uint32_t ns,
                                                          std::uint32_t id, bool group);
// The other way round.
[[nodiscard]] std::optional<std::uint32_t> number_inside(const Context& context, std::uint32_t ns,
                                                         std::uint32_t id);

}  // namespace cryo
