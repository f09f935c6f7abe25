// SPDX-License-Identifier: GPL-2.0-only
// The vdso of another kernel: what is read of it, and what its functions are made to do.
#include <elf.h>
#include <sys/auxv.h>

#include <algorithm>
#include <cstring>

#include "base/crc32c.h"
#include "base/exit_codes.h"
#include "restart/common/restart_arch.h"
#include "restart/memory/vdso.h"
#include "unit/context_builder.h"
#include "unit/damage.h"
#include "unit/tap.h"

namespace cryo::test {
namespace {

// That of the kernel that runs this test stands for any.
Bytes own_image() {
  for (const KernelMapping& mapping : kernel_mappings(own_mappings()))
    if (mapping.kind == CRYO_VMA_VDSO) {
      const auto* start = reinterpret_cast<const std::byte*>(mapping.range.start);
      return {start, start + mapping.range.size()};
    }
  return {};
}

bool contains(const Bytes& bytes, const Bytes& part) {
  return std::search(bytes.begin(), bytes.end(), part.begin(), part.end()) != bytes.end();
}

std::size_t position(const Bytes& bytes, std::string_view text) {
  const auto* from = reinterpret_cast<const std::byte*>(text.data());
  const auto at = std::search(bytes.begin(), bytes.end(), from, from + text.size());
  return static_cast<std::size_t>(at - bytes.begin());
}

// The text stands for itself and the NUL behind it.
void rename(Bytes& image, std::string_view from, std::string_view to) {
  const std::size_t at = position(image, from);
  CHECK(at + to.size() < image.size());
  std::memcpy(image.data() + at, to.data(), to.size());
}

TEST("vdso: functions lead to those of the other image") {
  const Bytes image = own_image();
  if (image.empty()) return;  // none here (vdso=0)
  const Bytes made = redirected_vdso(image, image, 0x700000000000);
  CHECK_EQ(made.size(), image.size());
  CHECK(made != image);
  // Some function has a jump into the other image at its start, which is not there before.
  std::size_t jumps = 0;
  for (std::uint64_t offset = 0; offset < image.size(); ++offset)
    if (const Bytes code = jump_code(0x700000000000 + offset); contains(made, code) && !contains(image, code))
      ++jumps;
  CHECK(jumps >= 2);
  // All that changes is at the start of functions.
  std::size_t changed = 0;
  for (std::size_t i = 0; i < image.size(); ++i) changed += image[i] != made[i] ? 1 : 0;
  CHECK(changed <= vdso_functions().size() * jump_code(0).size());
}

TEST("vdso: a function that this kernel lacks makes a system call") {
  const Bytes image = own_image();
  const VdsoFunction& first = vdso_functions().front();
  if (image.empty()) return;
  Bytes other = image;
  rename(other, first.name, std::string(first.name.size(), '_'));
  const Bytes made = redirected_vdso(image, other, 0x10000);
  CHECK(contains(made, syscall_code(first.call)));
  CHECK(!contains(image, syscall_code(first.call)));
}

TEST("vdso: a function that is not known is refused by name") {
  const VdsoFunction& first = vdso_functions().front();
  Bytes image = own_image();
  if (image.empty()) return;
  std::string name(first.name);
  name[2] = 'X';
  rename(image, first.name, name);
  // Its alias, if it has one, does not make it known.
  CHECK_ERROR(kErrBadArch, " is not known", (void)redirected_vdso(image, own_image(), 0x10000));
}

TEST("vdso: images that are none") {
  Bytes image = own_image();
  if (image.empty()) return;
  const Bytes own = image;
  const auto refuse = [&own](std::string_view text, const Bytes& bytes) {
    CHECK_ERROR(kErrBadArch, text, (void)redirected_vdso(bytes, own, 0x10000));
  };
  refuse("a vdso that ends before", Bytes(16));
  refuse("a vdso without symbols", Bytes(4096));
  image.resize(4096);
  refuse("a vdso", image);
  // No byte makes it look outside: the sanitizers say so.
  for (std::size_t at = 0; at < own.size(); ++at) {
    Bytes bent = own;
    bent[at] ^= std::byte{0xff};
    try {
      (void)redirected_vdso(bent, own, 0x10000);
    } catch (const Error&) {
    }
  }
}

TEST("vdso: in a context") {
  ContextBuilder builder;
  const Bytes image(builder.context.header.page_size, std::byte{7});
  const Bytes data(100, std::byte{9});
  builder.context.vdsos[crc32c(image)] = {image, data};
  const Context context = read(builder.build());
  CHECK_EQ(context.vdsos.size(), 1U);
  CHECK(context.vdsos.at(crc32c(image)).image == image);
  CHECK(context.vdsos.at(crc32c(image)).data == data);
}

TEST("vdso: in a damaged context") {
  const auto with = [](std::size_t image_size, std::size_t data_size, std::uint32_t checksum_change = 0) {
    return [=](ContextBuilder& b) {
      const Bytes image(image_size, std::byte{7});
      b.context.vdsos[crc32c(image) ^ checksum_change] = {image, Bytes(data_size, std::byte{9})};
    };
  };
  refused("VDSO: an image of 0 bytes", with(0, 0));
  refused("VDSO: an image of 100 bytes", with(100, 0));
  refused("VDSO: an image of 2097152 bytes", with(2 << 20, 0));
  refused("VDSO: an image of 4096 bytes and data of 5000 bytes", with(4096, 5000));
  refused("VDSO: its checksum is", with(4096, 10, 1));
  refused("VDSO: an image of 4096 bytes and data of 10 bytes do not fill", [&](ContextBuilder& b) {
    with(4096, 10)(b);
    b.edit = [](RawSection& s) {
      if (s.type == CRYO_SEC_VDSO) s.tail.resize(4100);
    };
  });
}

}  // namespace
}  // namespace cryo::test
