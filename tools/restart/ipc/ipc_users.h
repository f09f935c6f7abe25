// SPDX-License-Identifier: GPL-2.0-only
// Who may change a System V object that is there already: its contents are put back only where the processes
// of the context that use it could do so themselves.
#pragma once

#include <sys/ipc.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "context/model.h"
#include "restart/rights/names.h"

namespace cryo {

// Of the ipc namespace of cr_restart.
class IpcUsers {
 public:
  explicit IpcUsers(const Context& context);

  // Of the processes that are known to use it or, as a context does not tell who used an object that nobody
  // has attached or would undo operations of, of all of them.  Those of another user than root come first.
  [[nodiscard]] const std::vector<Rights>& of_shm(std::uint32_t inode) const;
  [[nodiscard]] const std::vector<Rights>& of_sem(std::int32_t id) const;
  [[nodiscard]] const std::vector<Rights>& of_msg() const { return all_; }

 private:
  const Context& context_;
  std::map<std::uint32_t, std::vector<Rights>> attached_;  // by inode
  std::map<std::int32_t, std::vector<Rights>> undone_;     // by id of the set
  std::vector<Rights> all_;
};

// The kernel's rule for reading and writing; `now` as cr_restart sees it.
[[nodiscard]] bool may_change(const Rights& rights, const ipc_perm& now);

// Why not; empty when all of them may.
[[nodiscard]] std::string ipc_refusal(const std::vector<Rights>& users, const ipc_perm& now);

}  // namespace cryo
