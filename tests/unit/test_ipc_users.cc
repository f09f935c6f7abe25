// SPDX-License-Identifier: GPL-2.0-only
// Who may change a System V object that is there already.
#include <linux/capability.h>

#include "restart/ipc/ipc_users.h"
#include "unit/tap.h"

namespace {

using namespace cryo;

ipc_perm object(unsigned mode) {
  ipc_perm perm{};
  perm.uid = 100;
  perm.gid = 10;
  perm.cuid = 101;
  perm.cgid = 11;
  perm.mode = static_cast<decltype(perm.mode)>(mode);
  return perm;
}

Rights user(std::uint32_t uid, std::uint32_t gid, std::vector<std::uint32_t> groups = {}) {
  Rights rights;
  rights.uid = uid;
  rights.gid = gid;
  rights.groups = std::move(groups);
  return rights;
}

TEST("owner and creator of a System V object have its owner's rights") {
  CHECK(may_change(user(100, 1), object(0600)));
  CHECK(may_change(user(101, 1), object(0600)));
  CHECK(!may_change(user(102, 1), object(0600)));
  CHECK(!may_change(user(100, 1), object(0466)));
  CHECK(!may_change(user(101, 10), object(0266)));
}

TEST("its groups have theirs, as main or supplementary ones, and nobody else those of others") {
  CHECK(may_change(user(1, 10), object(0060)));
  CHECK(may_change(user(1, 11), object(0060)));
  CHECK(may_change(user(1, 1, {7, 11}), object(0060)));
  CHECK(!may_change(user(1, 1, {7}), object(0660)));
  CHECK(!may_change(user(1, 10), object(0606)));
  CHECK(may_change(user(1, 1), object(0006)));
}

TEST("reading and writing is asked for, not one of them") {
  for (const unsigned mode : {0004U, 0002U, 0622U, 0644U}) CHECK(!may_change(user(1, 1), object(mode)));
  CHECK(may_change(user(1, 1), object(0666)));
}

TEST("root has no more rights to it than its capability gives") {
  Rights root = user(0, 0);
  CHECK(!may_change(root, object(0600)));
  root.capabilities = std::uint64_t{1} << CAP_IPC_OWNER;
  CHECK(may_change(root, object(0)));
}

TEST("all of its users must have the right") {
  const std::vector<Rights> both{user(100, 1), user(5, 1)};
  CHECK(ipc_refusal({user(100, 1)}, object(0600)).empty());
  CHECK(ipc_refusal(both, object(0600)).find("user 5, whose process uses it, may not read and write it") !=
        std::string::npos);
  CHECK(ipc_refusal(both, object(0606)).empty());
}

}  // namespace
