// SPDX-License-Identifier: GPL-2.0-only
#include "context/hash.h"

#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"
#include "context/section.h"

namespace cryo {
namespace {

Hash canonical(XXH128_hash_t hash) {
  static_assert(sizeof(XXH128_canonical_t) == sizeof(Hash));
  XXH128_canonical_t bytes;
  XXH128_canonicalFromHash(&bytes, hash);
  Hash result;
  std::memcpy(result.data(), &bytes, sizeof(bytes));
  return result;
}

template <typename T>
std::span<const std::byte> bytes_of(const T& object) {
  return std::as_bytes(std::span(&object, 1));
}

}  // namespace

Hash hash_of(std::span<const std::byte> page) {
  return canonical(XXH3_128bits(page.data(), page.size()));
}

struct Hasher::State {
  XXH3_state_t state;
};

Hasher::Hasher() : state_(std::make_unique<State>()) {
  XXH3_128bits_reset(&state_->state);
}

Hasher::~Hasher() = default;

void Hasher::add(std::span<const std::byte> data) {
  XXH3_128bits_update(&state_->state, data.data(), data.size());
}

Hash Hasher::value() const {
  return canonical(XXH3_128bits_digest(&state_->state));
}

Hash identity_of(const Source& source) {
  SectionScanner scanner(source, {});
  Hasher hasher;
  Bytes header(scanner.header().header_len);
  source.read(0, header);
  hasher.add(header);
  Section section;
  do {
    section = scanner.next();
    hasher.add(bytes_of(section.head));
  } while (section.head.type != CRYO_SEC_END);
  if (section.end() != source.size())
    fail(EBADMSG, "{}: {} bytes follow the end mark", source.name(), source.size() - section.end());
  return hasher.value();
}

}  // namespace cryo
