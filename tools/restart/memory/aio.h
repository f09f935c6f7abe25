// SPDX-License-Identifier: GPL-2.0-only
// Contexts of io_setup(2).  The kernel gives them rings at addresses of its own choice, which is their id;
// moved, they have another.
#pragma once

#include <string>

#include "context/model.h"
#include "restart/stub/address_space.h"

namespace cryo {

// Why this kernel has no contexts such as those of `mm`; empty: it has.
[[nodiscard]] std::string aio_obstacle(const Mm& mm);

// Of all together; the parameters are the texts of fs.aio-nr and fs.aio-max-nr.
[[nodiscard]] std::string aio_total_obstacle(const Context& context, const std::string& in_use,
                                             const std::string& most);

// Makes one in this process, with the events that wait in it, where nothing is and nothing will be.
[[nodiscard]] AddressRange make_aio_context(const AioContext& saved, AddressSpace& space);

}  // namespace cryo
