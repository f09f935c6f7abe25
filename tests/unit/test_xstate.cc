// SPDX-License-Identifier: GPL-2.0-only
// Registers of one x86-64 CPU on another: which of them count, and where they are.
#include <cryo/arch/x86_64.h>

#include <algorithm>
#include <cstring>

#include "restart/common/restart_arch.h"
#include "unit/context_builder.h"
#include "unit/tap.h"
#include "xstate.h"

namespace cryo::test {
namespace {

constexpr std::uint64_t kX87 = 1, kSse = 2, kAvx = 4, kAvx512 = 0xe0, kPkru = 0x200;
constexpr std::uint64_t kTileConfig = 1 << 17, kTileData = 1 << 18;
constexpr std::uint64_t kServer = kX87 | kSse | kAvx | kAvx512 | kPkru;
constexpr std::size_t kIntelSize = 2696, kAmdSize = 2440, kHeader = 512;

void put(Bytes& area, std::size_t offset, std::uint64_t value) {
  std::memcpy(area.data() + offset, &value, sizeof(value));
}

std::uint64_t get(const Bytes& area, std::size_t offset) {
  std::uint64_t value = 0;
  if (area.size() >= offset + sizeof(value)) std::memcpy(&value, area.data() + offset, sizeof(value));
  return value;
}

void fill(Bytes& area, std::size_t offset, std::size_t size, int value) {
  std::fill_n(area.begin() + static_cast<std::ptrdiff_t>(offset), size, static_cast<std::byte>(value));
}

bool all(const Bytes& area, std::size_t offset, std::size_t size, int value) {
  return area.size() >= offset + size &&
         std::all_of(area.begin() + static_cast<std::ptrdiff_t>(offset),
                     area.begin() + static_cast<std::ptrdiff_t>(offset + size),
                     [value](std::byte b) { return b == static_cast<std::byte>(value); });
}

// As Intel's servers have it, with everything in use.
Bytes intel() {
  Bytes area(kIntelSize);
  fill(area, 0, 464, 0x11);
  put(area, CRYO_X86_64_XSTATE_MASK_OFFSET, kServer);
  put(area, kHeader, kServer);
  fill(area, 576, 256, 0x22);
  fill(area, 1088, 64, 0x55);
  fill(area, 1152, 512, 0x66);
  fill(area, 1664, 1024, 0x77);
  put(area, 2688, 0x55555554);
  return area;
}

XstateLayout amd() {
  XstateLayout layout{kServer, kAmdSize, {}};
  layout.offset[2] = 576;
  layout.offset[5] = 832;
  layout.offset[6] = 896;
  layout.offset[7] = 1408;
  layout.offset[9] = 2432;
  return layout;
}

TEST("xstate: components move to where the other CPU has them") {
  const Bytes area = convert_xstate(intel(), amd());
  CHECK_EQ(area.size(), kAmdSize);
  CHECK_EQ(get(area, kHeader), kServer);
  CHECK(all(area, 0, 464, 0x11));
  CHECK(all(area, 576, 256, 0x22));
  CHECK(all(area, 832, 64, 0x55));
  CHECK(all(area, 896, 512, 0x66));
  CHECK(all(area, 1408, 1024, 0x77));
  CHECK_EQ(get(area, 2432), 0x55555554U);
  // And back: the layout is known by its size.
  const auto layout = xstate_layout(area);
  CHECK(layout && layout->offset == amd().offset);
  const auto from = xstate_layout(intel());
  CHECK(from.has_value());
  if (from) CHECK(convert_xstate(area, *from) == intel());
}

TEST("xstate: what the other CPU lacks is left out") {
  XstateLayout avx{kX87 | kSse | kAvx, 832, {}};
  avx.offset[2] = 576;
  const Bytes area = convert_xstate(intel(), avx);
  CHECK_EQ(area.size(), 832U);
  CHECK_EQ(get(area, kHeader), kX87 | kSse | kAvx);
  CHECK(all(area, 576, 256, 0x22));
  CHECK(convert_xstate(intel(), XstateLayout{kX87 | kSse, 0, {}}).empty());
}

TEST("xstate: registers that are all zeros are not in use") {
  Bytes area = intel();
  CHECK_EQ(xstate_in_use(area), kServer & ~kPkru);
  fill(area, 1088, 64 + 512 + 1024, 0);
  CHECK_EQ(xstate_in_use(area), kX87 | kSse | kAvx);
  area[576 + 255] = std::byte{0};
  CHECK_EQ(xstate_in_use(area), kX87 | kSse | kAvx);
  fill(area, 576, 256, 0);
  CHECK_EQ(xstate_in_use(area), kX87 | kSse);
  put(area, 2688, 0x55555555);  // all memory is closed, also that without a key
  CHECK_EQ(xstate_in_use(area), kX87 | kSse | kPkru);
}

TEST("xstate: threads that use tiles claim room for them") {
  Bytes area(11008);
  std::vector<Regset> sets = {{{1, 8}, bytes_of(cryo_x86_64_regs{})}, {{0x202, 8}, area}};
  CHECK_EQ(registers_to_claim(sets), 0U);
  put(area, kHeader, kX87 | kSse | kTileConfig | kTileData);
  sets[1].data = area;
  CHECK_EQ(registers_to_claim(sets), kTileData);
  // asked for, which is nothing that is set
  sets.push_back({{CRYO_X86_64_XCOMP_PERM, 8}, bytes_of(std::uint64_t{kTileData})});
  for (const Regset& set : restart_regsets(sets)) CHECK(set.head.note != CRYO_X86_64_XCOMP_PERM);
}

TEST("xstate: a process that has asked for registers that no CPU has") {
  ContextBuilder builder = ContextBuilder::smallest(CRYO_ARCH_X86_64);
  builder.context.cpu.clear();
  builder.process().head.pid = 77;
  CHECK(cpu_problems(builder.context, {}).empty());
  builder.thread().regsets.push_back(
      {{CRYO_X86_64_XCOMP_PERM, 8}, bytes_of(std::uint64_t{1} << 40 | std::uint64_t{1} << 41)});
  const std::vector<CpuProblem> problems = cpu_problems(builder.context, {});
  CHECK_EQ(problems.size(), 1U);
  if (problems.empty()) return;
  CHECK_EQ(problems.front().text,
           "pid 77 has asked for registers that this CPU lacks: component 40, component 41");
  CHECK(problems.front().certain);
  CHECK_ERROR(EINVAL, "pid 77: registers that it had asked for (component 40)",
              ask_for_registers(builder.process()));
}

TEST("shadow stacks: what a register set says of them") {
  const std::vector<Regset> none = {{{1, 8}, bytes_of(cryo_x86_64_regs{})}};
  std::vector<Regset> sets = none;
  sets.push_back({{CRYO_X86_64_SHSTK, 8}, bytes_of(cryo_x86_64_shstk{0x7008, 2 | 1, 1, 0x4000, 0x8000})});
  const ShadowStack stack = shadow_stack(sets);
  CHECK(stack.enabled && !shadow_stack(none).enabled);
  CHECK_EQ(stack.pointer, 0x7008U);
  CHECK_EQ(stack.start, 0x4000U);
  CHECK_EQ(stack.size, 0x8000U);
  CHECK_EQ(restart_regsets(none).size(), 1U);
  CHECK_EQ(restart_regsets(sets).back().head.note, static_cast<std::uint32_t>(CRYO_X86_64_SHSTK));
}

TEST("xstate: a layout that is not known") {
  Bytes area = intel();
  area.resize(2600);
  CHECK(!xstate_layout(area));
  CHECK_EQ(xstate_in_use(area), kServer);  // all of it, then
  put(area, CRYO_X86_64_XSTATE_MASK_OFFSET, kServer | std::uint64_t{1} << 40);
  CHECK(!xstate_layout(area));
  CHECK(!xstate_layout(Bytes(100)));
  CHECK_EQ(xstate_in_use(Bytes(100)), 0U);
}

}  // namespace
}  // namespace cryo::test
