// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <set>
#include <string>

namespace cryo {

// Is a living Unix socket bound to what `place` is a descriptor (O_PATH) of, in whatever network namespace,
// and whatever it was called when it was bound?  `type`: of the socket that was there.  Nobody who listens is
// called to find that out. Who may not write to it has it looked for among the sockets of this network
// namespace: by its inode, or, where those have other numbers for the kernel, by the `name` that it was bound
// to.
[[nodiscard]] bool is_bound(int place, int type, const std::string& name);
// Inodes of those of this network namespace, for messages.
[[nodiscard]] std::set<unsigned long> sockets_bound_to(int place, const std::string& name);

}  // namespace cryo
