// SPDX-License-Identifier: GPL-2.0-only
#include "restart/files/file_uses.h"

#include <fcntl.h>

#include <algorithm>
#include <optional>

namespace cryo {
namespace {

void add_uses(const Context& context, std::size_t index, FileUses& uses) {
  const Process& process = context.processes[index];
  if (process.head.flags & CRYO_PROC_ZOMBIE) return;
  const auto use_of = [&](std::uint32_t file) -> FileUse& {
    const auto [use, added] = uses.try_emplace(file);
    if (added) use->second.process = index;
    if (use->second.processes.empty() || use->second.processes.back() != index)
      use->second.processes.push_back(index);
    return use->second;
  };
  for (const cryo_fd& fd : process.fds) {
    FileUse& use = use_of(fd.file);
    use.fds.push_back(fd);
    if (use.holders == 0 || use.last_holder != index) ++use.holders;
    use.last_holder = index;
  }
  const Mm& mm = context.mm(process.head.mm);
  for (const cryo_vma& vma : mm.vmas) {
    if (vma.kind != CRYO_VMA_FILE) continue;
    FileUse& use = use_of(vma.file);
    use.mapped = true;
    if (!(vma.flags & CRYO_VMA_SHARED)) continue;
    use.mapped_shared = true;
    if (vma.flags & CRYO_VMA_MAYWRITE) use.mapped_shared_writable = true;
  }
  if (mm.head.exe_file != 0) use_of(mm.head.exe_file).executable = true;
  // Whoever locks an open file for writing may write to it.
  for (const cryo_lock& lock : process.locks)
    if (const auto use = uses.find(lock.file);
        use != uses.end() && lock.kind == CRYO_LOCK_OFD && lock.type == F_WRLCK)
      use->second.mapped_shared_writable = use->second.mapped_shared_writable || use->second.mapped;
}

// Who has the socket `socket` will have a file that waits there; where nobody has it yet, it may be anybody.
void add_receivers(const Context& context, std::uint32_t socket, const FileUses& uses, FileUse& use) {
  use.passed = true;
  const auto receiver = uses.find(socket);
  const bool known = receiver != uses.end() && !receiver->second.processes.empty();
  for (std::size_t i = 0; i < context.processes.size(); ++i)
    if (!known || std::find(receiver->second.processes.begin(), receiver->second.processes.end(), i) !=
                      receiver->second.processes.end())
      use.processes.push_back(i);
}

}  // namespace

FileUses file_uses(const Context& context, std::size_t process) {
  FileUses uses;
  add_uses(context, process, uses);
  return uses;
}

FileUses file_uses(const Context& context) {
  FileUses uses;
  for (std::size_t i = 0; i < context.processes.size(); ++i) add_uses(context, i, uses);
  for (const auto& [id, file] : context.files)
    for (const SocketMessage& message : file.queue)
      for (const std::uint32_t passed : message.files) add_receivers(context, id, uses, uses[passed]);
  return uses;
}

bool is_first_with(const Context& context, const Process& process, std::uint32_t file) {
  for (const Process& other : context.processes) {
    const bool has = std::any_of(other.fds.begin(), other.fds.end(),
                                 [file](const cryo_fd& fd) { return fd.file == file; });
    if (has) return &other == &process;
  }
  return false;
}

bool left_closed(const File& file, const RestartOptions& options) {
  if (file.head.kind != CRYO_FILE_DEVICE && file.head.kind != CRYO_FILE_CLOSED) return false;
  const auto chosen = options.device_policy(file.path);
  return chosen ? *chosen == DevicePolicy::kClose : file.head.kind == CRYO_FILE_CLOSED;
}

int open_flags(const File& file, const FileUse& use) {
  if (use.fds.empty() && !use.passed) return use.mapped_shared_writable ? O_RDWR : O_RDONLY;
  int flags = static_cast<int>(file.head.flags) & ~(O_CREAT | O_EXCL | O_TRUNC | O_ASYNC);
  if ((flags & O_TMPFILE) == O_TMPFILE) flags &= ~O_TMPFILE;  // there is a file now
  return flags | O_NOCTTY;
}

}  // namespace cryo
