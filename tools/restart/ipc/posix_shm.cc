// SPDX-License-Identifier: GPL-2.0-only
#include "restart/ipc/posix_shm.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "restart/files/contents_files.h"
#include "restart/rights/created_paths.h"
#include "restart/rights/identity.h"
#include "restart/rights/names.h"

namespace cryo {
namespace {

UniqueFd open_left_behind(const std::string& path, int access) {
  return names::open(path, access | O_NOFOLLOW | O_NONBLOCK);
}

// A read lease cannot be had of a file that anybody has open for writing, or mapped so; nor of a file of
// others, of which it cannot be told.
bool is_open_for_writing(int fd) {
  if (names::set_lease(fd, F_RDLCK) != 0) return errno == EAGAIN || errno == EACCES;
  ::fcntl(fd, F_SETLEASE, F_UNLCK);
  return false;
}

// The memory of a process that was killed may go a moment after its pid.
bool is_in_use(int fd) {
  constexpr int kTries = 50;
  for (int i = 0; i < kTries; ++i) {
    if (!is_open_for_writing(fd)) return false;
    ::usleep(10000);
  }
  return true;
}

// The one of the checkpoint, or one that an earlier restart has made: that has the time of the checkpoint's
// to the nanosecond, as writing to memory does not change it.  Numbers begin again when the machine boots:
// whoever counts up to the right one has a file of his own with it.
bool is_of_the_job(const Inode& inode, int fd, const struct stat& now) {
  if (!S_ISREG(now.st_mode) || (now.st_uid != inode.head.uid && now.st_uid != names::owner())) return false;
  if (is_known_same(inode.head, fd)) return true;
  return now.st_mtim.tv_sec == inode.head.mtime_sec &&
         now.st_mtim.tv_nsec == static_cast<long>(inode.head.mtime_nsec);
}

std::string problem_with(const Inode& inode, int fd) {
  struct stat now;
  if (::fstat(fd, &now) != 0) return fmt::format("cannot be inspected: {}", errno_text(errno));
  if (!is_of_the_job(inode, fd, now)) return "another object than at the checkpoint has its name";
  if (is_in_use(fd)) return "is in use: its contents cannot be put back";
  return {};
}

// What came since is for nobody.  It keeps its size meanwhile, for those who have it mapped for reading.
bool empty_it(int fd) {
  struct stat now;
  if (::fstat(fd, &now) != 0) return false;
  // To the end of its last page: that may have been written to by who had it mapped.
  const off_t page = ::sysconf(_SC_PAGESIZE);
  const off_t size = (now.st_size + page - 1) / page * page;
  if (size == 0 || ::fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, size) == 0) return true;
  // Files that are no memory, where somebody has put them.
  return errno == EOPNOTSUPP && ::ftruncate(fd, 0) == 0;
}

UniqueFd take_left_behind(const Inode& inode, const std::string& path) {
  const UniqueFd found = open_left_behind(path, O_RDONLY);
  if (!found) fail_errno("cannot open the shared memory {}", path);
  if (const std::string text = problem_with(inode, found.get()); !text.empty())
    fail(EEXIST, "{}: {}", path, text);
  // The same one, whatever has the name by then.
  UniqueFd fd = names::reopen_regular(found.get(), O_RDWR);
  if (!fd || !empty_it(fd.get())) fail_errno("cannot open the shared memory {} for writing", path);
  return fd;
}

UniqueFd make_name(const FileRestoreInput& input, const std::string& path) {
  const DeathDeferred deferred(input.created);
  UniqueFd fd = names::open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  if (fd) input.created.add(path);
  return fd;
}

}  // namespace

std::string posix_shm_problem(const Inode& inode, const std::string& path) {
  const UniqueFd fd = open_left_behind(path, O_RDONLY);
  if (!fd && errno == ENOENT) {
    const std::string directory = path.substr(0, path.rfind('/') + 1);
    if (names::access(directory, W_OK | X_OK) == 0) return {};
    return fmt::format("cannot be recreated in {}: {}", directory, errno_text(errno));
  }
  if (!fd) return fmt::format("cannot be opened: {}", errno_text(errno));
  std::string text = problem_with(inode, fd.get());
  if (text.empty() && names::access(path, W_OK) != 0)
    text = fmt::format("cannot be written: {}", errno_text(errno));
  return text;
}

UniqueFd make_named_memory(const FileRestoreInput& input, const Inode& inode, const std::string& path) {
  UniqueFd fd = make_name(input, path);
  if (!fd && errno == EEXIST) fd = take_left_behind(inode, path);
  if (!fd) fail_errno("cannot create the shared memory {}", path);
  return fd;
}

UniqueFd make_posix_shm(const FileRestoreInput& input, const Inode& inode, const File& file) {
  const std::string path = input.options.relocations.apply(file.path);
  UniqueFd fd = make_named_memory(input, inode, path);
  fill_contents(input, inode, fd.get(), path);
  return fd;
}

namespace {

void check_posix_shm(FileCheck& at, const File& file, const FileUse&) {
  const std::string text = posix_shm_problem(at.context.inode(file.head.inode), at.path);
  if (!text.empty()) at.problem(EEXIST, "{}", text);
}

}  // namespace

const FileKind kPosixShmKind = {
    .kind = CRYO_FILE_POSIX_SHM,
    .check = check_posix_shm,
    .open = [](FileMaking& making, const File& file,
               const FileUse& use) { return making.state<ContentsFiles>().open(file, use, make_posix_shm); },
    .has_position = true};

}  // namespace cryo
