// SPDX-License-Identifier: GPL-2.0-only
// aarch64 under the restart stub; the contract is in arch/x86_64/user/stub_arch.h.
#pragma once

#include <cryo/format.h>
#include <linux/sched.h>
#include <sys/syscall.h>

#include <cstddef>
#include <cstdint>

namespace cryo::stub {

// With addresses of 48 bits; with 52 nothing is above that unless asked for.
constexpr std::uint64_t address_end() {
  return 1ULL << 48;
}

// Not a part of the stub.
inline void* thread_pointer() {
  return __builtin_thread_pointer();
}

using Entry = void (*)(void*);

[[gnu::always_inline]] inline long raw_syscall(long number, std::uint64_t a0 = 0, std::uint64_t a1 = 0,
                                               std::uint64_t a2 = 0, std::uint64_t a3 = 0,
                                               std::uint64_t a4 = 0, std::uint64_t a5 = 0) {
  // Written to: going on by restart_syscall(2), the kernel leaves that number in the register.
  register long x8 asm("x8") = number;
  register std::uint64_t x0 asm("x0") = a0;
  register std::uint64_t x1 asm("x1") = a1;
  register std::uint64_t x2 asm("x2") = a2;
  register std::uint64_t x3 asm("x3") = a3;
  register std::uint64_t x4 asm("x4") = a4;
  register std::uint64_t x5 asm("x5") = a5;
  asm volatile("svc #0" : "+r"(x0), "+r"(x8) : "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory", "cc");
  return static_cast<long>(x0);
}

[[gnu::always_inline]] inline long clone_thread(const clone_args* args, std::size_t size, Entry entry,
                                                void* argument) {
  register long x8 asm("x8") = SYS_clone3;
  register std::uint64_t x0 asm("x0") = reinterpret_cast<std::uint64_t>(args);
  register std::uint64_t x1 asm("x1") = size;
  register Entry x19 asm("x19") = entry;
  register void* x20 asm("x20") = argument;
  // The child starts behind the system call, with the (16-byte aligned) end of args->stack in sp.
  asm volatile(
      "svc #0\n\t"
      "cbnz x0, 1f\n\t"
      "mov x29, xzr\n\t"
      "mov x30, xzr\n\t"
      "mov x0, x20\n\t"
      "blr x19\n\t"
      "udf #0\n"
      "1:"
      : "+r"(x0), "+r"(x8)
      : "r"(x1), "r"(x19), "r"(x20)
      : "memory", "cc");
  return static_cast<long>(x0);
}

[[noreturn, gnu::always_inline]] inline void enter(void* stack_end, Entry entry, void* argument) {
  register void* x0 asm("x0") = argument;
  asm volatile(
      "mov sp, %0\n\t"
      "mov x29, xzr\n\t"
      "mov x30, xzr\n\t"
      "blr %1\n\t"
      "udf #0"
      :
      : "r"(stack_end), "r"(entry), "r"(x0)
      : "memory");
  __builtin_unreachable();
}

[[gnu::always_inline]] inline void set_tag(std::uint64_t address, std::uint64_t tag) {
  asm volatile(".arch armv8.5-a+memtag\n\tstg %0, [%1]"
               :
               : "r"(address | tag << 56), "r"(address)
               : "memory");
}

[[gnu::always_inline]] inline void set_tags(std::uint64_t address, const std::byte* tags,
                                            std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i, address += 2 * CRYO_TAG_GRANULE) {
    set_tag(address, static_cast<std::uint64_t>(tags[i]) & 15);
    set_tag(address + CRYO_TAG_GRANULE, static_cast<std::uint64_t>(tags[i]) >> 4);
  }
}

// All are there.
[[gnu::always_inline]] inline void claim_registers(std::uint64_t) {}

// Not a part of the stub: it calls a function of the compiler's library.
inline void sync_code(void* start, std::size_t size) {
  char* begin = static_cast<char*>(start);
  __builtin___clear_cache(begin, begin + size);
}

}  // namespace cryo::stub
