// SPDX-License-Identifier: GPL-2.0-only
// Part of tamper.cc: what it does to the registers of ppc64le.
#include <cryo/arch/ppc64le.h>

Change in_registers(std::function<void(cryo_ppc64le_regs&)> change) {
  return in_regset(NT_PRSTATUS,
                   [=](std::span<char> set) { change(*reinterpret_cast<cryo_ppc64le_regs*>(set.data())); });
}

bool computing(const cryo_ppc64le_regs& regs) {
  return regs.trap != CRYO_PPC64LE_TRAP_SC && regs.trap != CRYO_PPC64LE_TRAP_SCV;
}

Change in_byte(__u32 note, size_t at) {
  return in_regset(note, [=](std::span<char> set) {
    if (set.size() > at) set[at] ^= 1;
  });
}

Change in_all(__u32 note, size_t end) {
  return in_regset(note, [=](std::span<char> set) {
    for (size_t at = 0; at < end && at < set.size(); at++) set[at] ^= 1;
  });
}

Changes of_registers() {
  return {
      {"r20", in_registers([](auto& r) {
         if (computing(r)) r.gpr[20] ^= 1;
       })},
      {"flags", in_registers([](auto& r) {
         if (computing(r)) r.ccr ^= 1U << 20;
       })},
      {"ctr", in_registers([](auto& r) {
         if (computing(r)) r.ctr ^= 1;
       })},
      {"floating", in_all(CRYO_PPC64LE_PRFPREG, 256)},
      {"fpscr", in_byte(CRYO_PPC64LE_PRFPREG, 256)},
      {"vectors", in_all(CRYO_PPC64LE_VMX, 512)},
      {"vscr", in_byte(CRYO_PPC64LE_VMX, 512)},
      {"vrsave", in_byte(CRYO_PPC64LE_VMX, 528)},
      {"vsx", in_all(CRYO_PPC64LE_VSX, 256)},
      {"tar", in_byte(CRYO_PPC64LE_TAR, 0)},
      {"dscr", in_byte(CRYO_PPC64LE_DSCR, 0)},
      {"call-interrupted", in_registers([](auto& r) {
         if (r.trap == CRYO_PPC64LE_TRAP_SCV && static_cast<long long>(r.gpr[3]) <= -512)
           r.gpr[3] = static_cast<__u64>(-4);
         if (r.trap == CRYO_PPC64LE_TRAP_SC && r.ccr & CRYO_PPC64LE_CR0_SO && r.gpr[3] >= 512) r.gpr[3] = 4;
       })},
  };
}
