// SPDX-License-Identifier: GPL-2.0-only
// Files that the job writes to, and whose old bytes are not what they were: a restart cuts what has come
// behind their old end, or goes on there, which makes nothing but a mixture of one that has been written anew
// since.  The checksum of the last bytes tells it from one that has only grown.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <tuple>

#include "restart/check/check.h"
#include "restart/files/files.h"
#include "restart/files/output_files.h"
#include "restart/ns/mounts.h"
#include "restart/rights/identity.h"

namespace cryo {
namespace {

// All that the job does with one inode by descriptors and shared mappings.
struct WrittenFile {
  const File* file = nullptr;  // the first, of those with descriptors if there are any
  const FileUse* use = nullptr;
  bool in_place = false;  // who reads what he writes may change what is there
};

class RewrittenChecker {
 public:
  RewrittenChecker(const Context& context, const RestartOptions& options, Findings& findings)
      : context_(context),
        options_(options),
        findings_(findings),
        uses_(file_uses(context)),
        outputs_(find_outputs(context, uses_)) {}

  void check();

 private:
  [[nodiscard]] bool concerns(const File& file, const FileUse& use) const;
  void check_inode(const Inode& inode, const WrittenFile& written);
  [[nodiscard]] bool goes_on_inside(const Inode& inode, const FileNow& now) const;
  void report_anew(const Inode& inode, const WrittenFile& written, const FileNow& now);
  void report_in_place(const Inode& inode, const FileNow& now, bool certain);

  const Context& context_;
  const RestartOptions& options_;
  Findings& findings_;
  const FileUses uses_;
  const Outputs outputs_;
  std::string who_;  // "pid 7: descriptor 3 (/path)"
};

// Also of one that has been put back from a backup, or by a clock that was wrong. Not all file systems keep
// fractions of a second.
bool is_modified_since(const cryo_inode& before, const FileNow& now) {
  const auto then = static_cast<time_t>(before.mtime_sec);
  const statx_timestamp& modified = now.stat().stx_mtime;
  return modified.tv_sec != then || modified.tv_nsec > before.mtime_nsec;
}

// What was written before the checkpoint gets its time there when it is written back, soon afterwards.
bool is_time_of_server(std::uint32_t magic) {
  // NFS, FUSE, CIFS, SMB, Ceph, 9P, Lustre, AFS, GPFS.
  constexpr std::uint32_t kMagic[] = {0x6969,     0x65735546, 0xff534d42, 0xfe534d42, 0x00c36400,
                                      0x01021997, 0x0bd00bd0, 0x5346414f, 0x47504653};
  return std::find(std::begin(kMagic), std::end(kMagic), magic) != std::end(kMagic);
}

// What cr_restart itself has open is shared with it, and not cut; what is another file is reported as such.
bool RewrittenChecker::concerns(const File& file, const FileUse& use) const {
  constexpr int kStandard[3] = {0, 1, 2};
  if (file.head.kind != CRYO_FILE_PATH || !file.redirected.empty() ||
      (!is_output(file, use) && !use.mapped_shared_writable))
    return false;
  const Inode& inode = context_.inode(file.head.inode);
  const auto other = findings_.other_uses.find(inode.id);
  return S_ISREG(inode.head.mode) && own_output(file, inode, use, kStandard) < 0 &&
         (other == findings_.other_uses.end() || !other->second.context);
}

// Would the job write where it was?
bool RewrittenChecker::goes_on_inside(const Inode& inode, const FileNow& now) const {
  const auto found = findings_.other_uses.find(inode.id);
  const OtherUse* const other = found == findings_.other_uses.end() ? nullptr : &found->second;
  return std::any_of(uses_.begin(), uses_.end(), [&](const auto& entry) {
    const File& file = context_.file(entry.first);
    return file.head.inode == inode.id && concerns(file, entry.second) && is_output(file, entry.second) &&
           (static_cast<int>(file.head.flags) & O_APPEND) == 0 &&
           output_place(context_, outputs_, file, entry.second, other, now.stat().stx_size) ==
               OutputPlace::kSaved;
  });
}

void RewrittenChecker::report_anew(const Inode& inode, const WrittenFile& written, const FileNow& now) {
  const std::string text = fmt::format("{}: {}", who_, rewritten_text(inode, now.stat().stx_size));
  // What is there stays, and new output comes after it; or so the caller wants it.
  const bool stays = tail_of(context_, outputs_, options_, *written.file) == Tail::kStays &&
                     (options_.tails == Tails::kStay || !goes_on_inside(inode, now));
  switch (options_.changed_files.value_or(stays ? ChangedFiles::kWarn : ChangedFiles::kRefuse)) {
    case ChangedFiles::kRefuse:
      findings_.rewritten.insert(inode.id);
      return findings_.problem(ESTALE,
                               "{}; --changed-files=warn continues in it anyway (--redirect {}=FILE takes "
                               "another one, --relocate=OLD=NEW if it is elsewhere now)",
                               text, written.use->fds.front().fd);
    case ChangedFiles::kWarn:
      return findings_.warning("{}", text);
    case ChangedFiles::kIgnore:
      return;
  }
}

// `certain`: it has not only become longer, or been written back to a server.
void RewrittenChecker::report_in_place(const Inode& inode, const FileNow& now, bool certain) {
  if (options_.changed_files == ChangedFiles::kIgnore) return;
  const statx_timestamp& modified = now.stat().stx_mtime;
  const bool fraction = modified.tv_sec == inode.head.mtime_sec;
  const std::string text =
      fmt::format("{}: modified {} (was {}): what has been overwritten in it since is not undone", who_,
                  time_text(modified.tv_sec, fraction, modified.tv_nsec),
                  time_text(inode.head.mtime_sec, fraction, inode.head.mtime_nsec));
  if (certain && options_.changed_files == ChangedFiles::kRefuse)
    findings_.problem(ESTALE, "{} (--changed-files=warn continues with it as it is)", text);
  else
    findings_.warning("{}", text);
}

void RewrittenChecker::check_inode(const Inode& inode, const WrittenFile& written) {
  const std::optional<std::string> outer = outer_path(context_, options_.relocations, *written.file);
  if (!outer) return;  // found out when its mount namespace is there
  const std::string& path = *outer;
  const NamesToCheck theirs(context_, written.use->processes, *written.file);
  const UniqueFd place = names::open(path, O_PATH);
  const FileNow now(place.get());
  if (!now.is_known() || !S_ISREG(now.stat().stx_mode) || is_made_up(inode.head) ||
      is_other_file(options_.relocations, *written.file, inode, now))
    return;
  const std::uint64_t size = now.stat().stx_size;
  const bool modified = is_modified_since(inode.head, now);
  if (size < inode.head.size || (size == inode.head.size && !modified)) return;
  const std::vector<cryo_fd>& fds = written.use->fds;
  who_ = fmt::format("pid {}: {} ({})", context_.processes[written.use->process].head.pid,
                     fds.empty() ? "mapped file" : fmt::format("descriptor {}", fds.front().fd), path);
  const OldEnd end = inode.end ? old_end_of(inode, names::open_regular(path).get()) : OldEnd::kUnknown;
  if (end == OldEnd::kOther && size > inode.head.size && is_output(*written.file, *written.use))
    return report_anew(inode, written, now);
  // A copy elsewhere is younger as a rule.
  if (modified && path == outer_path(context_, *written.file) && (written.in_place || end == OldEnd::kOther))
    report_in_place(
        inode, now,
        end == OldEnd::kOther || (size == inode.head.size && !is_time_of_server(inode.head.fs_magic)));
}

void RewrittenChecker::check() {
  std::map<std::uint32_t, WrittenFile> found;
  for (const auto& [id, use] : uses_) {
    const File& file = context_.file(id);
    if (!concerns(file, use)) continue;
    WrittenFile& written = found[file.head.inode];
    // One that is mapped only says less.
    if (written.file == nullptr || (!is_output(*written.file, *written.use) && is_output(file, use)))
      written.file = &file, written.use = &use;
    const int flags = static_cast<int>(file.head.flags);
    if (use.mapped_shared_writable || ((flags & O_ACCMODE) == O_RDWR && (flags & O_APPEND) == 0))
      written.in_place = true;
  }
  for (const auto& [id, written] : found) check_inode(context_.inode(id), written);
}

}  // namespace

void check_rewritten(const Context& context, const RestartOptions& options, Findings& findings) {
  RewrittenChecker(context, options, findings).check();
}

}  // namespace cryo
