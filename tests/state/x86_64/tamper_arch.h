// SPDX-License-Identifier: GPL-2.0-only
// Part of tamper.cc: what it does to the registers of x86-64.
#include <cryo/arch/x86_64.h>

Change in_registers(std::function<void(cryo_x86_64_regs&)> change) {
  return in_regset(NT_PRSTATUS,
                   [=](std::span<char> set) { change(*reinterpret_cast<cryo_x86_64_regs*>(set.data())); });
}

bool computing(const cryo_x86_64_regs& regs) {
  return static_cast<long long>(regs.orig_rax) < 0;
}

Changes of_registers() {
  return {
      {"rbx", in_registers([](auto& r) {
         if (computing(r)) r.rbx ^= 1;
       })},
      {"flags", in_registers([](auto& r) {
         if (computing(r)) r.eflags ^= 1;
       })},
      {"gs-base", in_registers([](auto& r) {
         if (r.gs_base) r.gs_base += 8;
       })},
      {"ymm", in_regset(NT_X86_XSTATE,
                        [](auto set) {
                          for (size_t at = 576; at < 832 && at < set.size(); at++) set[at] ^= 1;
                        })},
      {"xmm", in_regset(NT_X86_XSTATE,
                        [](auto set) {
                          for (size_t at = 160; at < 416; at += 16) set[at] ^= 1;
                        })},
      {"mxcsr", in_regset(NT_X86_XSTATE, [](auto set) { set[25] ^= 0x60; })},
      {"call-interrupted", in_registers([](auto& r) {
         if (!computing(r) && static_cast<long long>(r.rax) <= -512) r.rax = static_cast<__u64>(-4);
       })},
  };
}
