// SPDX-License-Identifier: GPL-2.0-only
// Makes a context that needs no other of one that does.
#pragma once

#include "context/chain.h"
#include "context/writer.h"

namespace cryo {

// Writes what `context`, read from chain.own(), would be if it had all bytes of its pages.  Throws Error;
// EBADMSG when an ancestor has other bytes than those that the context had.
void merge(const Context& context, const Chain& chain, const ContextWriter::Sink& sink);

// Compares the pages of two contexts byte by byte.  Throws Error (EIO) that names the first that differs.
void compare_pages(const Context& context, const Chain& chain, const Context& merged,
                   const Chain& merged_chain);

}  // namespace cryo
