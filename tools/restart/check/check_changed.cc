// SPDX-License-Identifier: GPL-2.0-only
// Files by reference that are no longer what they were: one line for each, with what differs and what the
// file is for.  Code or data that is mapped would be other code or data; what is only read may be meant to
// change; and what the job writes itself has changed since the checkpoint as a matter of course.
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <algorithm>

#include "base/bytes.h"
#include "restart/check/check.h"
#include "restart/files/files.h"
#include "restart/memory/build_id.h"
#include "restart/ns/mounts.h"
#include "restart/rights/identity.h"

namespace cryo {
namespace {

// All that the job does with one inode, under one name.
struct Use {
  const File* file = nullptr;  // the mapped one, if any
  bool executable = false;     // mapped with execute permission, or the program
  bool mapped = false;
  bool written = false;
  std::int32_t pid = 0;
  int fd = -1;
  std::vector<std::size_t> processes;  // that have it
};

bool writable(const File& file) {
  const int flags = static_cast<int>(file.head.flags);
  return !(flags & O_PATH) && (flags & O_ACCMODE) != O_RDONLY;
}

class ChangeChecker {
 public:
  ChangeChecker(const Context& context, const RestartOptions& options, Findings& findings)
      : context_(context), options_(options), findings_(findings) {}

  void check();

 private:
  void collect(std::size_t index);
  void compare(const Inode& inode, const Use& use);
  void report(const Use& use, const std::string& path, const std::string& differences, ChangedFiles fallback);

  const Context& context_;
  const RestartOptions& options_;
  Findings& findings_;
  std::map<std::uint32_t, Use> uses_;  // by inode
};

void ChangeChecker::collect(std::size_t index) {
  const Process& process = context_.processes[index];
  if (process.threads.empty()) return;  // it has exited
  for (const auto& [id, file_use] : file_uses(context_, index)) {
    const File& file = context_.file(id);
    if (file.head.kind != CRYO_FILE_PATH || file.head.inode == 0) continue;
    if (static_cast<int>(file.head.flags) & O_PATH && !file_use.mapped && !file_use.executable) continue;
    Use& use = uses_[file.head.inode];
    const bool mapped = file_use.executable || (file_use.mapped && !file_use.mapped_shared_writable);
    if (use.file == nullptr || (mapped && !use.mapped)) use.file = &file;
    use.executable |= file_use.executable;
    use.mapped |= mapped;
    use.written |= file_use.mapped_shared_writable || (!file_use.fds.empty() && writable(file));
    use.processes.push_back(index);
    if (use.pid == 0) use.pid = process.head.pid;
    if (use.fd < 0 && !file_use.fds.empty()) use.fd = static_cast<int>(file_use.fds.front().fd);
  }
  for (const cryo_vma& vma : context_.mm(process.head.mm).vmas)
    if (vma.kind == CRYO_VMA_FILE && vma.flags & CRYO_VMA_EXEC)
      if (const auto use = uses_.find(context_.file(vma.file).head.inode); use != uses_.end())
        use->second.executable = true;
}

// Where times and sizes are made up when somebody looks.
bool is_pseudo(const std::string& path) {
  struct statfs system;
  if (::statfs(path.c_str(), &system) != 0) return false;
  static constexpr long kMagic[] = {PROC_SUPER_MAGIC,    SYSFS_MAGIC,   CGROUP_SUPER_MAGIC,
                                    CGROUP2_SUPER_MAGIC, DEBUGFS_MAGIC, TRACEFS_MAGIC,
                                    SECURITYFS_MAGIC,    0x62656570 /* configfs */};
  return std::find(std::begin(kMagic), std::end(kMagic), static_cast<long>(system.f_type)) !=
         std::end(kMagic);
}

std::string modification(const cryo_inode& before, const struct stat& now) {
  if (now.st_mtim.tv_sec == before.mtime_sec && now.st_mtim.tv_nsec == before.mtime_nsec) return {};
  const bool fraction = now.st_mtim.tv_sec == before.mtime_sec;
  return fmt::format("modified {} (was {})", time_text(now.st_mtim.tv_sec, fraction, now.st_mtim.tv_nsec),
                     time_text(before.mtime_sec, fraction, before.mtime_nsec));
}

void ChangeChecker::report(const Use& use, const std::string& path, const std::string& differences,
                           ChangedFiles fallback) {
  std::string role = use.executable ? "mapped code" : "mapped";
  if (!use.mapped) role = fmt::format("descriptor {} of pid {}, only read", use.fd, use.pid);
  const std::string line = fmt::format("{}: {}; {}", path, differences, role);
  const std::string another = use.mapped ? "" : fmt::format(", --redirect {}=FILE takes another one", use.fd);
  switch (options_.changed_files.value_or(fallback)) {
    case ChangedFiles::kRefuse:
      return findings_.problem(
          ESTALE, "file changed since the checkpoint: {} (--changed-files=warn accepts it as is{})", line,
          another);
    case ChangedFiles::kWarn:
      return findings_.warning("file changed since the checkpoint: {}", line);
    case ChangedFiles::kIgnore:
      return;
  }
}

void ChangeChecker::compare(const Inode& inode, const Use& use) {
  const std::optional<std::string> outer = outer_path(context_, options_.relocations, *use.file);
  if (!outer || !S_ISREG(inode.head.mode) || (use.written && !use.mapped) ||
      inode.found == FileFound::kSameContents)
    return;
  const std::string& path = *outer;
  const NamesToCheck theirs(context_, use.processes, *use.file);
  struct stat now;
  // What cannot be found or is something else is reported by the check of each file.
  if (names::stat(path, now) != 0 || !S_ISREG(now.st_mode) || is_pseudo(path)) return;
  std::vector<std::string> differences;
  if (static_cast<std::uint64_t>(now.st_size) != inode.head.size)
    differences.push_back(fmt::format("size {} -> {}", inode.head.size, now.st_size));
  if (const std::string text = modification(inode.head, now); !text.empty()) differences.push_back(text);
  const Bytes& before = use.file->build_id;
  const Bytes after = before.empty() ? Bytes{} : build_id_of(path);
  if (before != after)
    differences.push_back(
        fmt::format("build-id {} -> {}", hex_text(before), after.empty() ? "none" : hex_text(after)));
  if (differences.empty()) return;
  // Installed again, or on another machine: the same code at the same places.
  const bool same_code = !before.empty() && before == after && differences.size() == 1 &&
                         static_cast<std::uint64_t>(now.st_size) == inode.head.size;
  if (same_code) differences.emplace_back("same size and build-id");
  // What it reads at its place in the file is not what was there, if it is not even the same file.
  const UniqueFd place = names::open(path, O_PATH);
  const bool other =
      !use.mapped && place && is_other_file(options_.relocations, *use.file, inode, place.get());
  if (other) differences.emplace_back("another file");
  report(use, path, fmt::format("{}", fmt::join(differences, ", ")),
         (use.mapped && !same_code) || other ? ChangedFiles::kRefuse : ChangedFiles::kWarn);
}

void ChangeChecker::check() {
  for (std::size_t i = 0; i < context_.processes.size(); ++i) collect(i);
  for (const auto& [id, use] : uses_) compare(context_.inode(id), use);
}

}  // namespace

void check_changed(const Context& context, const RestartOptions& options, Findings& findings) {
  ChangeChecker(context, options, findings).check();
}

}  // namespace cryo
