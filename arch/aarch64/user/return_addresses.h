// SPDX-License-Identifier: GPL-2.0-only
// Signed return addresses (pointer authentication).
//
// The signature is in the bits of an address above those that addresses have: from bit 48 on with kernels
// that give programs 48 bits, from 52 on with those that give 52, on CPUs which have them.  How it is
// computed depends on the CPU.  An address that was signed in one way does not pass in another.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "context/model.h"

namespace cryo {

// 0: not told; of bits, also: nothing is signed.
struct Signing {
  std::uint64_t bits = 0;       // of a code address, that hold its signature
  std::uint32_t algorithm = 0;  // and its variant, as the CPU tells it
  std::uint32_t maker = 0;      // and model, of a CPU with an algorithm of its own
};
[[nodiscard]] Signing signing_of(const Context& context);
[[nodiscard]] const Signing& own_signing();

// Both sign, and what one has signed the other one would not accept.
[[nodiscard]] bool differ(const Signing& a, const Signing& b);
// "bits 54 to 48, QARMA5"
[[nodiscard]] std::string describe(const Signing& signing);

// Does the code sign return addresses?
[[nodiscard]] bool signs_return_addresses(std::span<const std::byte> code);

// The same code without signatures: it no longer signs, and takes them (in `bits`) off where it would have
// checked them.  Whether there was any.
bool drop_signatures(Bytes& code, std::uint64_t bits);

}  // namespace cryo
