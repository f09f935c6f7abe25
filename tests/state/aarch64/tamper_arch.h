// SPDX-License-Identifier: GPL-2.0-only
// Part of tamper.cc: what it does to the registers of aarch64.
#include <cryo/arch/aarch64.h>

Change in_registers(std::function<void(cryo_aarch64_regs&)> change) {
  return in_regset(NT_PRSTATUS,
                   [=](std::span<char> set) { change(*reinterpret_cast<cryo_aarch64_regs*>(set.data())); });
}

Change in_word(__u32 note, size_t index) {
  return in_regset(note, [=](std::span<char> set) {
    if (set.size() >= 8 * (index + 1)) set[8 * index] ^= 1;
  });
}

// Both sets that hold v0 to v31: which of them counts depends on the CPU.
Change in_vectors(size_t from, size_t to, char bits) {
  return [=](Context& context) {
    in_regset(CRYO_AARCH64_PRFPREG, [=](auto set) {
      for (size_t at = from; at < to && at < set.size(); at++) set[at] ^= bits;
    })(context);
    in_regset(CRYO_AARCH64_SVE, [=](auto set) {
      for (size_t at = from + sizeof(cryo_aarch64_vector_head);
           at < to + sizeof(cryo_aarch64_vector_head) && at < set.size(); at++)
        set[at] ^= bits;
    })(context);
  };
}

// Long vectors with their predicates: all of them.
Change in_long_vectors(__u32 note) {
  return in_regset(note, [](std::span<char> set) {
    for (size_t at = sizeof(cryo_aarch64_vector_head); at < set.size(); at++) set[at] ^= 1;
  });
}

Change in_gcs(std::function<void(cryo_aarch64_gcs&)> change) {
  return in_regset(CRYO_AARCH64_GCS,
                   [=](std::span<char> set) { change(*reinterpret_cast<cryo_aarch64_gcs*>(set.data())); });
}

Changes of_registers() {
  return {
      {"x19", in_registers([](auto& r) { r.x[19] ^= 1; })},
      {"flags", in_registers([](auto& r) { r.pstate ^= 1ULL << 29; })},
      {"vectors", in_vectors(0, 512, 1)},
      {"fpcr", in_vectors(518, 519, 0x40)},
      {"thread-pointer-2", in_word(CRYO_AARCH64_TLS, 1)},
      {"sve", in_long_vectors(CRYO_AARCH64_SVE)},
      {"streaming-sve", in_long_vectors(CRYO_AARCH64_SSVE)},
      {"za", in_long_vectors(CRYO_AARCH64_ZA)},
      {"address-keys", in_word(CRYO_AARCH64_PACA_KEYS, 0)},
      {"generic-key", in_word(CRYO_AARCH64_PACG_KEYS, 0)},
      {"enabled-keys", in_word(CRYO_AARCH64_PAC_ENABLED_KEYS, 0)},
      {"tag-control", in_word(CRYO_AARCH64_TAGGED_ADDR_CTRL, 0)},
      {"gcs-modes", in_gcs([](auto& gcs) { gcs.enabled &= 1; })},
      {"gcs-off", in_gcs([](auto& gcs) { gcs.enabled = 0; })},
      {"gcs-locks", in_gcs([](auto& gcs) { gcs.locked = 0; })},
      {"gcs-pointer", in_gcs([](auto& gcs) {
         if (gcs.enabled) gcs.pointer += 8;
       })},
      {"gcs-nowhere", in_gcs([](auto& gcs) { gcs.pointer += 4; })},
      {"gcs-not-freed", in_gcs([](auto& gcs) { gcs.stack = gcs.stack_size = 0; })},
      {"gcs-frees-all", in_gcs([](auto& gcs) {
         if (gcs.stack) gcs.stack = 0x10000, gcs.stack_size = 0x7ffffff00000;
       })},
      {"call-not-known",
       in_regset(CRYO_AARCH64_CALL,
                 [](auto set) { reinterpret_cast<cryo_aarch64_call*>(set.data())->error = 0; })},
      {"call-interrupted", in_registers([](auto& r) {
         if (r.x[8] == 128) r.x[0] = static_cast<__u64>(-4), r.pc += 4;
       })},
  };
}
