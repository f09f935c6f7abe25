// SPDX-License-Identifier: GPL-2.0-only
// The parts of the report about descriptors, and about what a restart needs.
#include <fmt/format.h>

#include <map>
#include <set>

#include "base/bytes.h"
#include "context/describe.h"
#include "cr_info/file_text.h"
#include "cr_info/report.h"
#include "cr_info/text.h"

namespace cryo {
namespace {

// Whose bytes are needed as they were: those that the context does not hold.
bool by_reference(const Context& context, std::uint32_t file) {
  const cryo_file& head = context.file(file).head;
  return head.kind == CRYO_FILE_PATH && head.inode != 0 &&
         (context.inode(head.inode).head.flags & CRYO_INODE_CONTENTS) == 0;
}

void print_unchanged(const Context& context) {
  std::set<std::string> paths;
  for (const auto& [id, mm] : context.mms)
    for (const cryo_vma& vma : mm.vmas)
      if (vma.kind == CRYO_VMA_FILE && by_reference(context, vma.file))
        paths.insert(printable(context.file(vma.file).path));
  for (const std::string& path : paths) fmt::print("  mapped file  {}, as it was\n", path);
}

void print_present(const Context& context) {
  std::set<std::string> paths;
  for (const Process& process : context.processes)
    for (const cryo_fd& fd : process.fds)
      if (by_reference(context, fd.file)) paths.insert(printable(context.file(fd.file).path));
  for (const std::string& path : paths) fmt::print("  open file    {}\n", path);
}

void print_ids(const Context& context) {
  std::string pids;
  for (const Process& process : context.processes)
    for (const Thread& thread : process.threads) pids += fmt::format(" {}", thread.head.tid);
  fmt::print("  free pids   {}\n", pids);
  for (const Process& process : context.processes)
    if (process.creds)
      fmt::print("  to run as    user {}, group {} (process {})\n", process.creds->head.uid,
                 process.creds->head.gid, process.head.pid);
}

}  // namespace

void print_files(const Context& context, const Process& process) {
  fmt::print("  descriptors  {}\n", process.fds.size());
  for (const cryo_fd& fd : process.fds) {
    const File& file = context.file(fd.file);
    fmt::print("    {:>5}  {} [{}{}]\n", fd.fd, file_text(context, file),
               join(open_flag_names(context.header.arch, file.head.flags)),
               (fd.flags & CRYO_FD_CLOEXEC) ? " close-on-exec" : "");
  }
  for (const cryo_lock& lock : process.locks)
    fmt::print("    {} of {}\n", lock_text(lock), printable(context.file(lock.file).path));
}

void print_needs(const Context& context) {
  fmt::print("\na restart needs\n");
  fmt::print("  machine      {}, pages of {}\n", arch_name(context.header.arch),
             bytes_text(context.header.page_size));
  print_ids(context);
  std::set<std::string> directories, roots;
  for (const Process& process : context.processes) {
    if (process.cwd) directories.insert(process.cwd->path);
    for (const Thread& thread : process.threads)
      if (thread.root) roots.insert(thread.root->path);
  }
  for (const std::string& path : directories) fmt::print("  directory    {}\n", printable(path));
  for (const std::string& path : roots) fmt::print("  root         {}\n", printable(path));
  print_unchanged(context);
  print_present(context);
}

}  // namespace cryo
