// SPDX-License-Identifier: GPL-2.0-only
// Tags of memory.  Private memory gets them from the stub; what is shared when its contents are made.
#pragma once

#include <string>

#include "context/model.h"
#include "restart/common/findings.h"
#include "restart/stub/address_space.h"

namespace cryo {

// What those of a page take.
[[nodiscard]] std::uint64_t tag_bytes(const Context& context);

// Of the contents of an inode, all of which is mapped there, shared and for writing.  `clear`: it may have
// others.  `what` names it.
void set_memory_tags(const Context& context, std::uint32_t inode, const AddressRange& place, bool clear,
                     const std::string& what);

// Of what has been made anew with its contents; `kind` is CRYO_PAGES_INODE or CRYO_PAGES_TMPFS.
void set_file_tags(const Context& context, std::uint32_t kind, std::uint32_t object, int fd,
                   const std::string& path);

// Of private memory, and of all that is shared.
void check_tags(const CheckInput& input, const Mm& mm, Findings& findings);
void check_shared_tags(const Context& context, Findings& findings);

}  // namespace cryo
