// SPDX-License-Identifier: GPL-2.0-only
// Rings of io_uring.  Who makes a ring, or enables it, is the only one who may submit to it where it was set
// up so (IORING_SETUP_SINGLE_ISSUER); and a thread of the kernel that submits (IORING_SETUP_SQPOLL) is one of
// the process that makes the ring, with its credentials.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/unique_fd.h"
#include "context/model.h"
#include "restart/stub/calls.h"

namespace cryo {

// Why this kernel cannot have such a ring; empty when it can.
[[nodiscard]] std::string uring_problem(const cryo_uring& saved);

// The thread that enables the ring when everything else is done; 0: none, it is as it is to be.
[[nodiscard]] std::int32_t enabler_of(const Context& context, const File& file);

// One that a thread of the kernel submits to: see polled_rings.h.
[[nodiscard]] bool is_polled_ring(const File& file);

// Empty, and filled.
[[nodiscard]] UniqueFd set_up_uring(const Context& context, const File& file);
void fill_uring(const File& file, int fd, int handle_fd);
[[nodiscard]] UniqueFd make_uring(const Context& context, const File& file, int handle_fd);

// Those of `files` that `rings` tell of completions; both by file id.
void register_eventfds(const Context& context, const std::map<std::uint32_t, UniqueFd>& rings,
                       const std::map<std::uint32_t, UniqueFd>& files);

// What `tid` does last: enable those of the rings at `fds` that it has to.
void plan_rings(const Context& context, std::int32_t tid, const std::map<std::uint32_t, int>& fds,
                CallList& calls);

}  // namespace cryo
