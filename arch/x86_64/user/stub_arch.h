// SPDX-License-Identifier: GPL-2.0-only
// x86-64 under the restart stub: system calls, the start of a thread, the way in.
//
// The contract, same names in every arch/<a>/user/stub_arch.h.  Everything is inlined into the stub:
// no function here may need libc, a relocation or read-only data.
//
//   address_end()     first address that no mapping of an ordinary process can have
//   raw_syscall()     the system call, result or -errno
//   clone_thread()    clone3(2) whose child calls entry(argument) on the stack of @args; the entry
//                     does not return
//   enter()           leave this stack for another one and call entry(argument) there
//   set_tags()        the tags of memory from an address on, as in a PAGE_TAGS section, so many bytes of
//   them;
//                     nobody asks for that where tagged_protection() is 0
//   claim_registers() uses registers of a kind for which the kernel keeps no room until a thread uses them;
//                     which, says registers_to_claim()
//   thread_pointer()  what CLONE_SETTLS sets, and the C library knows its place by
//   sync_code()       make instructions that were written as data executable
#pragma once

#include <linux/sched.h>
#include <sys/syscall.h>

#include <cstddef>
#include <cstdint>

namespace cryo::stub {

// TASK_SIZE_MAX with four-level page tables; with five levels nothing is above it unless asked for.
constexpr std::uint64_t address_end() {
  return 0x7ffffffff000;
}

// Not a part of the stub.
inline void* thread_pointer() {
  return __builtin_thread_pointer();
}

using Entry = void (*)(void*);

[[gnu::always_inline]] inline long raw_syscall(long number, std::uint64_t a0 = 0, std::uint64_t a1 = 0,
                                               std::uint64_t a2 = 0, std::uint64_t a3 = 0,
                                               std::uint64_t a4 = 0, std::uint64_t a5 = 0) {
  long result;
  register std::uint64_t r10 asm("r10") = a3;
  register std::uint64_t r8 asm("r8") = a4;
  register std::uint64_t r9 asm("r9") = a5;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a0), "S"(a1), "d"(a2), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
}

[[gnu::always_inline]] inline long clone_thread(const clone_args* args, std::size_t size, Entry entry,
                                                void* argument) {
  long result;
  register Entry r12 asm("r12") = entry;
  register void* r13 asm("r13") = argument;
  // The child starts behind the system call with nothing on its stack, which the kernel has set to the
  // (16-byte aligned) end of args->stack: the call makes it what the ABI wants at a function's start.
  asm volatile(
      "syscall\n\t"
      "test %%rax, %%rax\n\t"
      "jnz 1f\n\t"
      "xor %%ebp, %%ebp\n\t"
      "mov %%r13, %%rdi\n\t"
      "call *%%r12\n\t"
      "ud2\n"
      "1:"
      : "=a"(result)
      : "a"(SYS_clone3), "D"(args), "S"(size), "r"(r12), "r"(r13)
      : "rcx", "r11", "memory");
  return result;
}

[[noreturn, gnu::always_inline]] inline void enter(void* stack_end, Entry entry, void* argument) {
  asm volatile(
      "mov %0, %%rsp\n\t"
      "xor %%ebp, %%ebp\n\t"
      "call *%1\n\t"
      "ud2"
      :
      : "r"(stack_end), "r"(entry), "D"(argument)
      : "memory");
  __builtin_unreachable();
}

// Memory has no tags.
[[gnu::always_inline]] inline void set_tags(std::uint64_t, const std::byte*, std::uint64_t) {}

// AMX data: four bytes of one tile, set to zero, and given back.
[[gnu::always_inline]] inline void claim_registers(std::uint64_t registers) {
  constexpr std::uint64_t kTileData = 1ULL << 18;
  constexpr std::size_t kConfigSize = 64, kBytesPerRow = 16, kRows = 48;
  if ((registers & kTileData) == 0) return;
  volatile std::uint8_t config[kConfigSize];
  for (std::size_t i = 0; i < kConfigSize; ++i) config[i] = 0;
  config[0] = 1;  // palette
  config[kBytesPerRow] = 4;
  config[kRows] = 1;
  asm volatile(
      "ldtilecfg (%0)\n\t"
      "tilezero %%tmm0\n\t"
      "tilerelease"
      :
      : "r"(config)
      : "memory");
}

// Instruction and data caches are coherent.
inline void sync_code(void*, std::size_t) {}

}  // namespace cryo::stub
