// SPDX-License-Identifier: GPL-2.0-only
#include "restart/files/contents_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <optional>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/place.h"
#include "restart/common/proc_files.h"
#include "restart/files/reopen.h"
#include "restart/rights/missing_directories.h"

namespace cryo {

UniqueFd ContentsFiles::open(const File& file, const FileUse& use, Make make) {
  const Inode& inode = input_.context.inode(file.head.inode);
  auto base = contents_.find(inode.id);
  if (base == contents_.end())
    base = contents_
               .emplace(inode.id,
                        Contents{input_.descriptors.park(make(input_, inode, file)), use.processes, file.id})
               .first;
  // There is one, as memfd_create() is called once for each.
  if (file.head.how & CRYO_OPENED_MADE) return input_.descriptors.park_copy(base->second.fd.get());
  return reopen(base->second.fd.get(), open_flags(file, use), file.path.c_str());
}

void ContentsFiles::finish(FileStore& store) {
  for (auto& [id, contents] : contents_) {
    const Inode& inode = input_.context.inode(id);
    const NamesOf theirs(input_.context, contents.processes, input_.context.file(contents.file));
    // The kernel alone says whose a memfd is, and cr_restart has made it.
    std::optional<OwnNames> own;
    if (inode.head.flags & CRYO_INODE_MEMFD) own.emplace();
    finish_contents(input_.context, inode, contents.fd.get());
    if (seals_of(inode) != 0) store.seals.emplace_back(std::move(contents.fd), seals_of(inode));
  }
}

namespace {

// Shared anonymous memory that is open, too, is the very memory that is mapped.
UniqueFd contents_of(const FileRestoreInput& input, const Inode& inode, const File& file) {
  const auto place = input.shared->find(inode.id);
  if (place == input.shared->end()) return make_contents(input, inode, file);
  UniqueFd fd =
      open_proc(fmt::format("self/map_files/{:x}-{:x}", place->second.start, place->second.end), O_RDWR);
  if (!fd) fail_errno("cannot open shared anonymous memory, which requires CAP_CHECKPOINT_RESTORE");
  return fd;
}

// Inodes that have been reported.
struct ReportedFallbacks {
  std::set<std::uint32_t> inodes;
};

// What the job gets in place of a file that is gone or has changed. Once for each inode.
void check_fallback(FileCheck& at, const File& file) {
  const Inode& inode = at.context.inode(file.head.inode);
  if (inode.found <= FileFound::kSameContents ||
      !at.state<ReportedFallbacks>().inodes.insert(inode.id).second)
    return;
  if (inode.made_by_name) {
    if (const std::string directory = nearest_directory(at.path); names::access(directory, W_OK | X_OK) != 0)
      return at.problem(errno, "no longer exists, and cannot be recreated in {} (--restore-files): {}",
                        directory, errno_text(errno));
    return at.findings.warning("pid {}: {}: no longer exists, and is recreated with its saved contents",
                               at.pid, at.what);
  }
  const char* what = inode.found == FileFound::kGone      ? "no longer exists"
                     : inode.found == FileFound::kChanged ? "has changed since the checkpoint"
                                                          : "can no longer be read";
  const char* way = inode.found == FileFound::kGone      ? " (--restore-files recreates it)"
                    : inode.found == FileFound::kChanged ? " (--changed-files=warn accepts the file as is)"
                                                         : "";
  at.findings.warning("pid {}: {}: {}; the process gets an unnamed file with the saved contents{}", at.pid,
                      at.what, what, way);
}

void check_hidden(FileCheck& at, const File& file, const FileUse& use) {
  const Inode& inode = at.context.inode(file.head.inode);
  if ((inode.head.flags & CRYO_INODE_MEMFD) || inode.head.size == 0 || (file.head.flags & O_PATH) != 0)
    return;
  const NamesToCheck theirs(at.context, use.processes, file);
  if (is_hidden_from_owner(at.context, inode))
    at.findings.warning("{}: is open write-only, and its user may not read it: its contents are not restored",
                        file.path);
}

}  // namespace

const FileKind kContentsKind = {
    .kind = CRYO_FILE_CONTENTS,
    .check =
        [](FileCheck& at, const File& file, const FileUse& use) {
          check_hidden(at, file, use);
          check_fallback(at, file);
        },
    .open = [](FileMaking& making, const File& file,
               const FileUse& use) { return making.state<ContentsFiles>().open(file, use, contents_of); },
    .finish = [](FileMaking& making) { making.state<ContentsFiles>().finish(making.store); },
    .has_position = true,
    .redirectable = Redirectable::kIfData};

}  // namespace cryo
