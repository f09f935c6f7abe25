// SPDX-License-Identifier: GPL-2.0-only
// What a restart needs to know about the architecture that it runs on: the contract that
// arch/<a>/user/restart_arch.cc fulfils, same functions in every architecture.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "context/model.h"

namespace cryo {

// CRYO_ARCH_* of this machine.
[[nodiscard]] std::uint32_t own_arch();

// A register set never gets larger than this here; bounds the memory that is set aside.
inline constexpr std::size_t kMaxRegsetSize = 16384;

// The sets of one thread as this machine's kernel takes them: in the order in which they are to be
// set, without those that another set includes, and with the size that this CPU's sets have.
[[nodiscard]] std::vector<Regset> restart_regsets(const std::vector<Regset>& saved);

// Asks the kernel for what registers the process had asked it for.  In that process, before it handles
// signals on stacks of its own.
void ask_for_registers(const Process& process);

// The argument of the stub's claim_registers() for a thread that is to get these sets.
[[nodiscard]] std::uint64_t registers_to_claim(const std::vector<Regset>& sets);

// What mprotect(2) is to be told beside reading, writing and execution, by the flags of a mapping.
[[nodiscard]] int restart_protection(std::uint64_t vma_flags);

// Whether such a mapping has tags; what mprotect(2) is told for that, 0 where memory has none.
[[nodiscard]] bool is_tagged(std::uint64_t vma_flags);
[[nodiscard]] int tagged_protection();

// The shadow stack of a thread with these sets.
struct ShadowStack {
  bool enabled = false;
  std::uint64_t pointer = 0;
  std::uint64_t start = 0;  // what the kernel has made for the thread and unmaps when it exits
  std::uint64_t size = 0;   // 0: nothing
};
[[nodiscard]] ShadowStack shadow_stack(const std::vector<Regset>& sets);

// The instruction pointer of a thread with these sets; 0 when they have none.
[[nodiscard]] std::uint64_t instruction_pointer(const std::vector<Regset>& sets);
void set_instruction_pointer(std::vector<Regset>& sets, std::uint64_t address);

// A function of the vdso, and the system call with the same arguments that does the same.
struct VdsoFunction {
  std::string_view name;
  long call;  // kVdsoKeep: it needs no data of the kernel and works on any
};
inline constexpr long kVdsoKeep = -1;
[[nodiscard]] std::span<const VdsoFunction> vdso_functions();

// Instructions for the start of such a function: go on at `target`; make the system call and return.
[[nodiscard]] Bytes jump_code(std::uint64_t target);
[[nodiscard]] Bytes syscall_code(long number);

// Makes the vdso of the context fit for addresses as they are on this machine.  Whether anything had to
// change.
bool adapt_vdso(Bytes& image, const Context& context);

// Says why a program cannot go on in this code here; empty: it can.  No function: it can in any code.
using CodeCheck = std::function<std::string(std::span<const std::byte> code)>;
[[nodiscard]] CodeCheck code_check(const Context& context);

struct CpuProblem {
  std::string text;
  bool certain;           // the process has state that this CPU cannot hold; else: it may use what is missing
  bool unlikely = false;  // it has been started without it (cr_run --cpu-baseline)
};
// The levels that the processes of the context were started with; empty unless all were.
using CpuBaselines = std::vector<std::string>;
// Compares the CPU of the context with this one.
[[nodiscard]] std::vector<CpuProblem> cpu_problems(const Context& context, const CpuBaselines& baselines);

}  // namespace cryo
