// SPDX-License-Identifier: GPL-2.0-only
// Who has a socket that is in the way, for messages: the kernel does not say it with EADDRINUSE.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "context/model.h"

namespace cryo {

// Each: "process 7 (nc)", or empty where nobody is to be seen, as among the processes of other users.
// A TCP socket that neither listens nor is connected is in no table of the kernel's.
// `name`: the address that cannot be had; `type`: SOCK_STREAM or SOCK_DGRAM.
[[nodiscard]] std::string inet_holder(int type, const Bytes& name);
[[nodiscard]] std::string abstract_holder(const Bytes& name);
[[nodiscard]] std::string netlink_holder(std::uint32_t protocol, std::uint32_t port);
// Of any kind, by their inodes.
[[nodiscard]] std::string holder_of(const std::set<unsigned long>& sockets);

}  // namespace cryo
