// SPDX-License-Identifier: GPL-2.0-only
// Reads a context into the model of model.h, believing nothing that the file says.
#pragma once

#include "context/model.h"
#include "context/read_options.h"
#include "context/source.h"

namespace cryo {

// Reads all sections in one pass.  A Context that is returned has been checked:
//  - header, section and (optionally) page checksums; nothing after END; padding is zero (that of page data
//    optionally); the index and the totals of END agree with the sections found;
//  - at least one process; pids positive and unique; each process has its mm, its leader as the first
//    thread and as many threads as it says; each thread has register sets;
//  - ids (mm, inode, file) are not 0, are unique, and whatever refers to one finds it; the sections
//    that a file's kind needs are there (PIPE, SOCKET, EVENTFD); descriptors are unique per process;
//  - VMAs are page-aligned, ascending and not overlapping; page runs are inside VMAs of their mm or
//    inside their inode's size rounded up to pages, and no page appears twice;
//  - pages whose bytes are in other contexts (PageChunk::ancestor) have hashes, and name one of ancestors;
//    whether those are there is Chain's question (chain.h);
//  - strings have no NUL inside; lengths, counts and offsets are inside their section.
// Limits are those of the format: whether the values suit this machine (architecture, address space,
// page size) is the restart engine's question.
//
// Throws Error: EBADMSG for a damaged or cut file or one that is not a context, EOPNOTSUPP for one
// that a newer Cryo wrote, errno of the failed call otherwise.  The text names the file, the byte
// offset and the section.
[[nodiscard]] Context read_context(const Source& source, const ReadOptions& options = {});

// Compares the checksum of one chunk's data, and the padding before them with zeros; throws Error (EBADMSG).
void verify_pages(const Source& source, const PageChunk& chunk);

// Of all chunks but those that are left out, by several threads.
void verify_pages(const Source& source, const std::vector<PageChunk>& chunks, const ChunkSet& left_out = {});

}  // namespace cryo
