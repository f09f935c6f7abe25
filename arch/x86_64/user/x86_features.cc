// SPDX-License-Identifier: GPL-2.0-only
#include "x86_features.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>

namespace cryo {
namespace {

// Intel SDM volume 2, CPUID; AMD APM volume 3, appendix E. Levels: x86-64 psABI, 3.1.1.
constexpr struct {
  int word;
  unsigned int bit;
  const char* name;
  int level = 0;  // the first one that asks for it; 0: none does
} kFeatures[] = {
    {CRYO_X86_64_1_ECX, 0, "pni", 2},
    {CRYO_X86_64_1_ECX, 1, "pclmulqdq"},
    {CRYO_X86_64_1_ECX, 9, "ssse3", 2},
    {CRYO_X86_64_1_ECX, 12, "fma", 3},
    {CRYO_X86_64_1_ECX, 13, "cx16", 2},
    {CRYO_X86_64_1_ECX, 19, "sse4_1", 2},
    {CRYO_X86_64_1_ECX, 20, "sse4_2", 2},
    {CRYO_X86_64_1_ECX, 22, "movbe", 3},
    {CRYO_X86_64_1_ECX, 23, "popcnt", 2},
    {CRYO_X86_64_1_ECX, 25, "aes"},
    {CRYO_X86_64_1_ECX, 26, "xsave", 3},
    {CRYO_X86_64_1_ECX, 28, "avx", 3},
    {CRYO_X86_64_1_ECX, 29, "f16c", 3},
    {CRYO_X86_64_1_ECX, 30, "rdrand"},
    {CRYO_X86_64_7_EBX, 0, "fsgsbase"},
    {CRYO_X86_64_7_EBX, 3, "bmi1", 3},
    {CRYO_X86_64_7_EBX, 4, "hle"},
    {CRYO_X86_64_7_EBX, 5, "avx2", 3},
    {CRYO_X86_64_7_EBX, 8, "bmi2", 3},
    {CRYO_X86_64_7_EBX, 11, "rtm"},
    {CRYO_X86_64_7_EBX, 16, "avx512f", 4},
    {CRYO_X86_64_7_EBX, 17, "avx512dq", 4},
    {CRYO_X86_64_7_EBX, 18, "rdseed"},
    {CRYO_X86_64_7_EBX, 19, "adx"},
    {CRYO_X86_64_7_EBX, 21, "avx512ifma"},
    {CRYO_X86_64_7_EBX, 23, "clflushopt"},
    {CRYO_X86_64_7_EBX, 24, "clwb"},
    {CRYO_X86_64_7_EBX, 26, "avx512pf"},
    {CRYO_X86_64_7_EBX, 27, "avx512er"},
    {CRYO_X86_64_7_EBX, 28, "avx512cd", 4},
    {CRYO_X86_64_7_EBX, 29, "sha_ni"},
    {CRYO_X86_64_7_EBX, 30, "avx512bw", 4},
    {CRYO_X86_64_7_EBX, 31, "avx512vl", 4},
    {CRYO_X86_64_7_ECX, 1, "avx512vbmi"},
    {CRYO_X86_64_7_ECX, 3, "pku"},
    {CRYO_X86_64_7_ECX, 5, "waitpkg"},
    {CRYO_X86_64_7_ECX, 6, "avx512_vbmi2"},
    {CRYO_X86_64_7_ECX, 8, "gfni"},
    {CRYO_X86_64_7_ECX, 9, "vaes"},
    {CRYO_X86_64_7_ECX, 10, "vpclmulqdq"},
    {CRYO_X86_64_7_ECX, 11, "avx512_vnni"},
    {CRYO_X86_64_7_ECX, 12, "avx512_bitalg"},
    {CRYO_X86_64_7_ECX, 14, "avx512_vpopcntdq"},
    {CRYO_X86_64_7_ECX, 22, "rdpid"},
    {CRYO_X86_64_7_ECX, 25, "cldemote"},
    {CRYO_X86_64_7_ECX, 27, "movdiri"},
    {CRYO_X86_64_7_ECX, 28, "movdir64b"},
    {CRYO_X86_64_7_ECX, 29, "enqcmd"},
    {CRYO_X86_64_7_EDX, 2, "avx512_4vnniw"},
    {CRYO_X86_64_7_EDX, 3, "avx512_4fmaps"},
    {CRYO_X86_64_7_EDX, 8, "avx512_vp2intersect"},
    {CRYO_X86_64_7_EDX, 14, "serialize"},
    {CRYO_X86_64_7_EDX, 16, "tsxldtrk"},
    {CRYO_X86_64_7_EDX, 22, "amx_bf16"},
    {CRYO_X86_64_7_EDX, 23, "avx512_fp16"},
    {CRYO_X86_64_7_EDX, 24, "amx_tile"},
    {CRYO_X86_64_7_EDX, 25, "amx_int8"},
    {CRYO_X86_64_7_1_EAX, 0, "sha512"},
    {CRYO_X86_64_7_1_EAX, 1, "sm3"},
    {CRYO_X86_64_7_1_EAX, 2, "sm4"},
    {CRYO_X86_64_7_1_EAX, 4, "avx_vnni"},
    {CRYO_X86_64_7_1_EAX, 5, "avx512_bf16"},
    {CRYO_X86_64_7_1_EAX, 7, "cmpccxadd"},
    {CRYO_X86_64_7_1_EAX, 21, "amx_fp16"},
    {CRYO_X86_64_7_1_EAX, 23, "avx_ifma"},
    {CRYO_X86_64_D_1_EAX, 0, "xsaveopt"},
    {CRYO_X86_64_D_1_EAX, 1, "xsavec"},
    {CRYO_X86_64_D_1_EAX, 2, "xgetbv1"},
    {CRYO_X86_64_80000001_ECX, 0, "lahf_lm", 2},
    {CRYO_X86_64_80000001_ECX, 5, "abm", 3},
    {CRYO_X86_64_80000001_ECX, 6, "sse4a"},
    {CRYO_X86_64_80000001_ECX, 8, "3dnowprefetch"},
    {CRYO_X86_64_80000001_ECX, 11, "xop"},
    {CRYO_X86_64_80000001_ECX, 15, "lwp"},
    {CRYO_X86_64_80000001_ECX, 16, "fma4"},
    {CRYO_X86_64_80000001_ECX, 21, "tbm"},
    {CRYO_X86_64_80000001_EDX, 22, "mmxext"},
    {CRYO_X86_64_80000001_EDX, 27, "rdtscp"},
    {CRYO_X86_64_80000001_EDX, 30, "3dnowext"},
    {CRYO_X86_64_80000001_EDX, 31, "3dnow"},
};

}  // namespace

cryo_x86_64_cpu x86_64_cpu(std::span<const std::byte> payload) {
  cryo_x86_64_cpu cpu{};
  std::memcpy(&cpu, payload.data(), std::min(payload.size(), sizeof(cpu)));
  return cpu;
}

bool has_x86_64_cpuid(std::span<const std::byte> payload) {
  return payload.size() >= sizeof(cryo_x86_64_cpu);
}

std::optional<int> x86_64_level(std::string_view name) {
  constexpr std::string_view kNames[] = {"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"};
  const auto* const at = std::find(std::begin(kNames), std::end(kNames), name);
  if (at == std::end(kNames)) return std::nullopt;
  return static_cast<int>(at - std::begin(kNames)) + 1;
}

cryo_x86_64_cpu x86_64_within_level(cryo_x86_64_cpu cpu, int level) {
  for (const auto& feature : kFeatures)
    if (feature.level == 0 || feature.level > level) cpu.cpuid[feature.word] &= ~(1U << feature.bit);
  return cpu;
}

std::vector<std::string> x86_64_features(const cryo_x86_64_cpu& have, const cryo_x86_64_cpu& lack) {
  std::vector<std::string> names;
  for (const auto& feature : kFeatures)
    if ((have.cpuid[feature.word] & ~lack.cpuid[feature.word]) >> feature.bit & 1U)
      names.emplace_back(feature.name);
  return names;
}

}  // namespace cryo
