// SPDX-License-Identifier: GPL-2.0-only
#include "return_addresses.h"

#include <cryo/arch/aarch64.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <optional>

#include "restart/process/hwcap.h"
#include "restart/process/regsets.h"

namespace cryo {
namespace {

constexpr std::uint32_t kPaciasp = 0xd503233f, kPacibsp = 0xd503237f, kPaciaz = 0xd503231f,
                        kPacibz = 0xd503235f;
constexpr std::uint32_t kAutiasp = 0xd50323bf, kAutibsp = 0xd50323ff;
// What PACIASP is, too: a place that may be branched to (no operation where that does not matter).
constexpr std::uint32_t kBtiC = 0xd503245f;

// "and x30, x30, #mask" for the mask of the lowest `bits` bits.
constexpr std::uint32_t keep_low_bits_of_x30(unsigned bits) {
  return 0x92400000 | (bits - 1) << 10 | 30 << 5 | 30;
}

std::uint32_t word_at(std::span<const std::byte> code, std::size_t offset) {
  std::uint32_t word = 0;
  std::memcpy(&word, code.data() + offset, sizeof(word));
  return word;
}

std::optional<std::uint32_t> without_signature(std::uint32_t word, std::uint64_t bits) {
  if (word == kPaciasp || word == kPacibsp) return kBtiC;
  if (word == kAutiasp || word == kAutibsp)
    return keep_low_bits_of_x30(static_cast<unsigned>(std::countr_zero(bits)));
  return std::nullopt;
}

// The instruction is among the hints, which do nothing on CPUs without it.
std::uint64_t sign(std::uint64_t address, std::uint64_t modifier) {
  register std::uint64_t x17 asm("x17") = address;
  register std::uint64_t x16 asm("x16") = modifier;
  asm("hint #8" : "+r"(x17) : "r"(x16));  // pacia1716
  return x17;
}

// Fields of the identification registers: how return addresses are signed, and the variant of that.
struct Algorithm {
  const char* name;
  bool second;     // in ID_AA64ISAR2_EL1
  unsigned shift;  // four bits
};
constexpr Algorithm kAlgorithms[] = {
    {"QARMA5", false, 4}, {"an algorithm of the maker's", false, 8}, {"QARMA3", true, 12}};
constexpr unsigned kMakers = 1;  // index above

// One byte: index and one, and variant.  Variants above 3 differ in what happens when a check fails only.
std::uint32_t algorithm_of(std::uint64_t isar1, std::uint64_t isar2) {
  constexpr std::uint64_t kPauth2 = 3;
  for (std::uint32_t i = 0; i < std::size(kAlgorithms); ++i) {
    const std::uint64_t field = (kAlgorithms[i].second ? isar2 : isar1) >> kAlgorithms[i].shift & 0xf;
    if (field != 0) return (i + 1) << 4 | static_cast<std::uint32_t>(std::min(field, kPauth2));
  }
  return 0;
}

Signing signing(std::uint64_t bits, const cryo_aarch64_cpu& cpu) {
  constexpr std::uint64_t kVariantAndRevision = 0x00f0000f;  // of MIDR_EL1
  Signing result{bits, algorithm_of(cpu.isar1, cpu.isar2)};
  if (result.algorithm >> 4 == kMakers + 1)
    result.maker = static_cast<std::uint32_t>(cpu.midr & ~kVariantAndRevision);
  return result;
}

// The same for all threads.
std::uint64_t signature_bits(const Context& context) {
  constexpr std::size_t kCode = offsetof(cryo_aarch64_pac_mask, code);
  for (const Process& process : context.processes)
    for (const Thread& thread : process.threads)
      if (!thread.regsets.empty()) return register_of(thread.regsets, CRYO_AARCH64_PAC_MASK, kCode);
  return 0;
}

// A signature is as good as random: what no one of many has changed is not a part of it.
std::uint64_t own_signature_bits() {
  constexpr std::uint64_t kAddress = 0x10000, kSignatures = 128;
  std::uint64_t bits = 0;
  for (std::uint64_t i = 0; i < kSignatures; ++i) bits |= sign(kAddress, i) ^ kAddress;
  return bits;
}

// The kernel answers for these registers, where it says so (HWCAP_CPUID).
cryo_aarch64_cpu own_cpu() {
  constexpr unsigned kCpuid = 11;
  cryo_aarch64_cpu cpu{};
  if (!has_hwcap(kCpuid)) return cpu;
  asm("mrs %0, MIDR_EL1" : "=r"(cpu.midr));
  asm("mrs %0, S3_0_C0_C6_1" : "=r"(cpu.isar1));
  asm("mrs %0, S3_0_C0_C6_2" : "=r"(cpu.isar2));
  return cpu;
}

}  // namespace

Signing signing_of(const Context& context) {
  cryo_aarch64_cpu cpu{};
  std::memcpy(&cpu, context.cpu.data(), std::min(sizeof(cpu), context.cpu.size()));
  return signing(signature_bits(context), cpu);
}

const Signing& own_signing() {
  static const Signing own = signing(own_signature_bits(), own_cpu());
  return own;
}

bool differ(const Signing& a, const Signing& b) {
  if (a.bits == 0 || b.bits == 0) return false;
  if (a.bits != b.bits) return true;
  return a.algorithm != 0 && b.algorithm != 0 && (a.algorithm != b.algorithm || a.maker != b.maker);
}

std::string describe(const Signing& signing) {
  std::string text =
      fmt::format("bits {} to {}", std::bit_width(signing.bits) - 1, std::countr_zero(signing.bits));
  if (signing.algorithm != 0)
    text += fmt::format(", {}, variant {}", kAlgorithms[(signing.algorithm >> 4) - 1].name,
                        signing.algorithm & 0xf);
  if (signing.maker != 0) text += fmt::format(" of {:#x}", signing.maker);
  return text;
}

bool signs_return_addresses(std::span<const std::byte> code) {
  constexpr std::uint32_t kSigning[] = {kPaciasp, kPacibsp, kPaciaz, kPacibz};
  for (std::size_t at = 0; at + sizeof(std::uint32_t) <= code.size(); at += sizeof(std::uint32_t))
    if (std::find(std::begin(kSigning), std::end(kSigning), word_at(code, at)) != std::end(kSigning))
      return true;
  return false;
}

bool drop_signatures(Bytes& code, std::uint64_t bits) {
  bool any = false;
  for (std::size_t at = 0; at + sizeof(std::uint32_t) <= code.size(); at += sizeof(std::uint32_t))
    if (const auto word = without_signature(word_at(code, at), bits)) {
      std::memcpy(code.data() + at, &*word, sizeof(*word));
      any = true;
    }
  return any;
}

}  // namespace cryo
