// SPDX-License-Identifier: GPL-2.0-only
// The auxiliary vector of another kernel, which may have more entries than this one has room for.
#include <elf.h>

#include "restart/process/auxv.h"
#include "unit/tap.h"

namespace cryo::test {
namespace {

constexpr std::uint64_t kNewType = 0x7fff;

TEST("auxv: as many entries as this kernel makes, or fewer, stay") {
  const Auxv own = {AT_PAGESZ, 4096, AT_UID, 1, AT_NULL, 0};
  const Auxv same = {AT_PAGESZ, 4096, kNewType, 7, AT_NULL, 0};
  CHECK(fitting_auxv(same, own) == same);
  CHECK((fitting_auxv({AT_UID, 5, AT_NULL, 0}, own) == Auxv{AT_UID, 5, AT_NULL, 0}));
}

TEST("auxv: of more than this kernel makes, those that it does not know go") {
  const Auxv own = {AT_PAGESZ, 4096, AT_UID, 1, AT_NULL, 0};
  const Auxv saved = {AT_UID, 5, kNewType, 7, AT_PAGESZ, 4096, AT_NULL, 0};
  CHECK((fitting_auxv(saved, own) == Auxv{AT_UID, 5, AT_PAGESZ, 4096, AT_NULL, 0}));
}

TEST("auxv: what is behind the end does not count") {
  const Auxv own = {AT_UID, 1, AT_NULL, 0};
  CHECK((fitting_auxv({AT_UID, 5, AT_NULL, 0, kNewType, 7}, own) == Auxv{AT_UID, 5, AT_NULL, 0}));
  CHECK((fitting_auxv({}, own) == Auxv{AT_NULL, 0}));
  CHECK((fitting_auxv({AT_UID, 5, kNewType}, own) == Auxv{AT_UID, 5, AT_NULL, 0}));
}

TEST("auxv: that of this process") {
  CHECK(own_auxv().size() > 10);
  CHECK(own_auxv().size() % 2 == 0);
}

}  // namespace
}  // namespace cryo::test
