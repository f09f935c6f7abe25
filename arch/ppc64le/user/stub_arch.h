// SPDX-License-Identifier: GPL-2.0-only
// ppc64le under the restart stub; the contract is in arch/x86_64/user/stub_arch.h.
#pragma once

#include <linux/sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

namespace cryo::stub {

// Of kernels with pages of 64 KiB, where nothing is above that unless asked for; those with smaller ones
// have shorter page tables.
inline std::uint64_t address_end() {
  return ::sysconf(_SC_PAGESIZE) == 65536 ? 1ULL << 47 : 1ULL << 46;
}

// Not a part of the stub.
inline void* thread_pointer() {
  void* pointer;
  asm("mr %0, 13" : "=r"(pointer));
  return pointer;
}

using Entry = void (*)(void*);

// By sc, which all processors have: an error is told by the summary overflow bit.
[[gnu::always_inline]] inline long raw_syscall(long number, std::uint64_t a0 = 0, std::uint64_t a1 = 0,
                                               std::uint64_t a2 = 0, std::uint64_t a3 = 0,
                                               std::uint64_t a4 = 0, std::uint64_t a5 = 0) {
  register long r0 asm("r0") = number;
  register std::uint64_t r3 asm("r3") = a0;
  register std::uint64_t r4 asm("r4") = a1;
  register std::uint64_t r5 asm("r5") = a2;
  register std::uint64_t r6 asm("r6") = a3;
  register std::uint64_t r7 asm("r7") = a4;
  register std::uint64_t r8 asm("r8") = a5;
  asm volatile(
      "sc\n\t"
      "bns+ 1f\n\t"
      "neg 3, 3\n"
      "1:"
      : "+r"(r0), "+r"(r3), "+r"(r4), "+r"(r5), "+r"(r6), "+r"(r7), "+r"(r8)
      :
      : "r9", "r10", "r11", "r12", "cr0", "ctr", "xer", "memory");
  return static_cast<long>(r3);
}

[[gnu::always_inline]] inline long clone_thread(const clone_args* args, std::size_t size, Entry entry,
                                                void* argument) {
  register long r0 asm("r0") = SYS_clone3;
  register std::uint64_t r3 asm("r3") = reinterpret_cast<std::uint64_t>(args);
  register std::uint64_t r4 asm("r4") = size;
  register Entry r29 asm("r29") = entry;
  register void* r30 asm("r30") = argument;
  // The child starts behind the system call, with the (16-byte aligned) end of args->stack in r1. A function
  // finds its TOC by its own address in r12, and stores above its caller's frame.
  asm volatile(
      "sc\n\t"
      "bns+ 1f\n\t"
      "neg 3, 3\n\t"
      "b 2f\n"
      "1:\n\t"
      "cmpdi 3, 0\n\t"
      "bne 2f\n\t"
      "li 0, 0\n\t"
      "stdu 0, -64(1)\n\t"
      "mr 3, 30\n\t"
      "mr 12, 29\n\t"
      "mtctr 12\n\t"
      "bctrl\n\t"
      "trap\n"
      "2:"
      : "+r"(r0), "+r"(r3), "+r"(r4)
      : "r"(r29), "r"(r30)
      : "r5", "r6", "r7", "r8", "r9", "r10", "r11", "r12", "cr0", "ctr", "xer", "memory");
  return static_cast<long>(r3);
}

[[noreturn, gnu::always_inline]] inline void enter(void* stack_end, Entry entry, void* argument) {
  register void* r3 asm("r3") = argument;
  register Entry r12 asm("r12") = entry;
  asm volatile(
      "mr 1, %0\n\t"
      "li 0, 0\n\t"
      "stdu 0, -64(1)\n\t"
      "mtctr 12\n\t"
      "bctrl\n\t"
      "trap"
      :
      : "r"(stack_end), "r"(r12), "r"(r3)
      : "r0", "memory");
  __builtin_unreachable();
}

// Memory has no tags.
[[gnu::always_inline]] inline void set_tags(std::uint64_t, const std::byte*, std::uint64_t) {}

// All are there.
[[gnu::always_inline]] inline void claim_registers(std::uint64_t) {}

// Not a part of the stub: it calls a function of the compiler's library.
inline void sync_code(void* start, std::size_t size) {
  char* begin = static_cast<char*>(start);
  __builtin___clear_cache(begin, begin + size);
}

}  // namespace cryo::stub
