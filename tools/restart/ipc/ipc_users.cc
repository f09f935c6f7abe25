// SPDX-License-Identifier: GPL-2.0-only
#include "restart/ipc/ipc_users.h"

#include <fmt/format.h>
#include <linux/capability.h>

#include <algorithm>

namespace cryo {
namespace {

void add(std::vector<Rights>& users, const Rights& rights) {
  if (std::find(users.begin(), users.end(), rights) != users.end()) return;
  users.insert(rights.uid != 0 ? users.begin() : users.end(), rights);
}

bool is_in_group(const Rights& rights, gid_t group) {
  return rights.gid == group || (rights.groups && std::find(rights.groups->begin(), rights.groups->end(),
                                                            group) != rights.groups->end());
}

}  // namespace

IpcUsers::IpcUsers(const Context& context) : context_(context) {
  std::map<std::uint32_t, std::set<std::uint32_t>> segments;  // inodes, by the mm that has them attached
  for (const auto& [id, mm] : context.mms)
    for (const cryo_vma& vma : mm.vmas)
      if (vma.kind == CRYO_VMA_SYSV) segments[id].insert(context_.file(vma.file).head.inode);
  for (const Process& process : context.processes) {
    if (!process.creds || process.threads.empty()) continue;  // it has exited
    const Rights rights = ipc_rights_of(context, process);
    add(all_, rights);
    const auto own = segments.find(process.head.mm);
    if (own != segments.end())
      for (const std::uint32_t inode : own->second) add(attached_[inode], rights);
    if (process.namespaces.ipc != 0) continue;
    for (const cryo_sem_undo& undo : process.sem_undo) add(undone_[undo.id], rights);
  }
}

const std::vector<Rights>& IpcUsers::of_shm(std::uint32_t inode) const {
  const auto users = attached_.find(inode);
  return users == attached_.end() ? all_ : users->second;
}

const std::vector<Rights>& IpcUsers::of_sem(std::int32_t id) const {
  const auto users = undone_.find(id);
  return users == undone_.end() ? all_ : users->second;
}

bool may_change(const Rights& rights, const ipc_perm& now) {
  unsigned granted = now.mode;
  if (rights.uid == now.cuid || rights.uid == now.uid)
    granted >>= 6;
  else if (is_in_group(rights, now.cgid) || is_in_group(rights, now.gid))
    granted >>= 3;
  return (granted & 6) == 6 || (rights.capabilities >> CAP_IPC_OWNER & 1) != 0;
}

std::string ipc_refusal(const std::vector<Rights>& users, const ipc_perm& now) {
  for (const Rights& rights : users)
    if (!may_change(rights, now))
      return fmt::format(
          "already exists, and user {}, whose process uses it, may not read and write it (it belongs to "
          "user {}, mode {:04o})",
          rights.uid, now.uid, now.mode & 0777);
  return {};
}

}  // namespace cryo
