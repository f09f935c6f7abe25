// SPDX-License-Identifier: GPL-2.0-only
// Turns the saved address space into calls for the stub.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "context/model.h"
#include "restart/memory/inherited_pages.h"
#include "restart/memory/mapped.h"
#include "restart/memory/shared_memory.h"
#include "restart/memory/vdso.h"
#include "restart/stub/address_space.h"
#include "restart/stub/calls.h"
#include "restart/stub/stub_area.h"

namespace cryo {

struct MemoryPlan {
  CallList before_reads;  // in place of the old address space, the new one, writable where necessary
  std::vector<stub::Read> reads;
  std::vector<iovec> buffers;
  std::vector<stub::Tags> tags;
  CallList after_reads;  // final protections and all else
  std::optional<CodeMove> moved{};
};

struct MemoryPlanInput {
  const Context& context;
  const Mm& mm;
  const std::vector<Thread>& threads;
  std::vector<KernelMapping> own_kernel_mappings;
  std::function<int(std::uint32_t file)> fd_of;  // descriptor through which a file is mapped
  const SharedMemory& shared;
  const std::vector<int>& context_fds;           // by PageChunk::ancestor
  int handle_fd = -1;                            // restart handle, through which rings of io_uring are mapped
  std::vector<AddressRange> kept{};              // besides the stub area: of others who share the memory
  const MappedAreas& mapped;                     // come from the context when they are used first
  const InheritedVmas& inherited;                // have pages already
  std::vector<AddressRange> inherited_places{};  // where these are, and more
  bool populate = true;                          // and in the background, before that
  // Attaches a System V segment in this process, where nothing is.
  std::function<void(const cryo_shm&, const AddressRange&, bool read_only)> attach{};
};

// `space` holds all that is in use now or will be; temporary places are taken from it.
[[nodiscard]] MemoryPlan plan_memory(const MemoryPlanInput& input, StubArea& area, AddressSpace& space);

// Everything that the saved process will have in its address space, with the gap below its stacks.
void use_saved_addresses(const Mm& mm, AddressSpace& space);

// Bytes of address space of the transit place that plan_memory() needs.
[[nodiscard]] std::size_t transit_size(const Context& context, const Mm& mm,
                                       const std::vector<KernelMapping>& own);

// Bytes of stub area that plan_memory() and the copying of its plan will need at most.
[[nodiscard]] std::size_t memory_plan_size(const Context& context, const Mm& mm,
                                           const InheritedVmas& inherited);

}  // namespace cryo
