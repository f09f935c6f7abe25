// SPDX-License-Identifier: GPL-2.0-only
// The levels of the x86-64 psABI, 3.1.1, and how the C library (glibc.cpu.hwcaps, its manual's "Hardware
// Capability Tunables") is kept to them. It ignores names that it does not know.
#include "cr_run/cpu_levels.h"

// Above each level. RTM is in none, and is used where it is found; so are XSAVEC and XSAVES, by the code that
// binds functions lazily. AVX_Fast_Unaligned_Load is the library's conclusion from AVX2, drawn before.
#define ABOVE_V4 "-RTM,-FMA4,-AVX512ER,-AVX512PF,-XSAVEC"
#define ABOVE_V3 "-AVX512F,-AVX512BW,-AVX512CD,-AVX512DQ,-AVX512VL," ABOVE_V4
#define ABOVE_V2 \
  "-AVX,-AVX2,-AVX_Fast_Unaligned_Load,-BMI1,-BMI2,-F16C,-FMA,-LZCNT,-MOVBE,-OSXSAVE,-XSAVE," ABOVE_V3
#define ABOVE_V1 "-CMPXCHG16B,-LAHF64_SAHF64,-POPCNT,-SSE3,-SSSE3,-SSE4_1,-SSE4_2," ABOVE_V2

// OPENSSL_ia32cap(3): leaf 1 (ECX is the upper half), then leaf 7 (EBX is the lower one). Taken away
// are, from v3 on: AES, PCLMULQDQ, RDRAND, XOP and what leaf 7 has beside the level's own.
#define OPENSSL_V1 "~0x7ed81a0300000000:0"
#define OPENSSL_V2 "~0x7e40180200000000:0"
#define OPENSSL_V3 "~0x4200080200000000:~0xfffffffffffffed7"
#define OPENSSL_V4 "~0x4200080200000000:~0xffffffff2ffcfed7"

namespace cryo {

std::span<const CpuLevel> cpu_levels() {
  static constexpr CpuLevel kLevels[] = {
      {"x86-64", ABOVE_V1, OPENSSL_V1, [] { return true; }},
      {"x86-64-v2", ABOVE_V2, OPENSSL_V2, [] { return __builtin_cpu_supports("x86-64-v2") != 0; }},
      {"x86-64-v3", ABOVE_V3, OPENSSL_V3, [] { return __builtin_cpu_supports("x86-64-v3") != 0; }},
      {"x86-64-v4", ABOVE_V4, OPENSSL_V4, [] { return __builtin_cpu_supports("x86-64-v4") != 0; }}};
  return kLevels;
}

}  // namespace cryo
