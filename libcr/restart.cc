// SPDX-License-Identifier: LGPL-2.1-or-later
// Asking for a restart: the request, and its handle.
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "handle.h"
#include "internal.h"
#include "restart_report.h"

namespace cryo::libcr {
namespace {

constexpr int kRestored = CR_RSTRT_RESTORE_PID | CR_RSTRT_RESTORE_PGID | CR_RSTRT_RESTORE_SID;

// ---- handles: pipes with one report in them

struct Record {
  Record* next;
  int fd;
  ino_t inode;            // the number may be that of another file by now
  std::uint64_t started;  // when the process has, whose pipe has that inode
  std::size_t length;
  bool ended;
  char bytes[sizeof(RestartReport) + RestartReport::kMaxText];
};

pthread_mutex_t g_mutex = PTHREAD_MUTEX_INITIALIZER;
Record* g_records = nullptr;

// With g_mutex, like all that follow. Is the pipe at the record's number its own? After a restart it is
// another one, with what was in it.
bool is_own_pipe(Record& record, ino_t inode) {
  if (record.inode == inode) return true;
  const std::uint64_t started = start_of_process();
  if (started == 0 || record.started == 0 || started == record.started) return false;
  record.inode = inode;
  record.started = started;
  return true;
}

// NULL with errno.
Record* record_of(int fd) {
  struct stat now;
  if (::fstat(fd, &now) != 0) return nullptr;
  for (Record* record = g_records; record != nullptr; record = record->next)
    if (record->fd == fd && S_ISFIFO(now.st_mode) && is_own_pipe(*record, now.st_ino)) return record;
  errno = ENOTTY;
  return nullptr;
}

void drop(int fd) {
  for (Record** at = &g_records; *at != nullptr; at = &(*at)->next) {
    Record* const record = *at;
    if (record->fd != fd) continue;
    *at = record->next;
    std::free(record);
    return;
  }
}

RestartReport report_of(const Record& record) {
  RestartReport report{};
  if (record.length >= sizeof(report)) ::memcpy(&report, record.bytes, sizeof(report));
  return report;
}

bool is_complete(const Record& record) {
  return record.length >= sizeof(RestartReport) &&
         record.length - sizeof(RestartReport) >= report_of(record).length;
}

// Is all of it there? When a part is, the rest comes at once.
bool is_over(Record& record) {
  while (!record.ended && !is_complete(record)) {
    const ssize_t got = ::read(record.fd, record.bytes + record.length, sizeof(record.bytes) - record.length);
    if (got >= 0) {
      record.ended = got == 0;
      record.length += static_cast<std::size_t>(got);
    } else if (errno == EAGAIN && record.length > 0) {
      pollfd rest{record.fd, POLLIN, 0};
      ::poll(&rest, 1, -1);
    } else if (errno != EINTR) {
      break;
    }
  }
  return is_complete(record);
}

int add_record(int fd) {
  struct stat now;
  auto* const record = static_cast<Record*>(std::calloc(1, sizeof(Record)));
  if (record == nullptr || ::fstat(fd, &now) != 0) {
    std::free(record);
    return fail(ENOMEM);
  }
  record->fd = fd;
  record->inode = now.st_ino;
  record->started = start_of_process();
  const MutexGuard guard(g_mutex);
  drop(fd);  // of one that was closed without cr_reap_restart()
  record->next = g_records;
  g_records = record;
  return 0;
}

bool is_handle(int fd) {
  const MutexGuard guard(g_mutex);
  return record_of(fd) != nullptr;
}

int log(int fd, unsigned int size, char* text) {
  const MutexGuard guard(g_mutex);
  Record* const record = record_of(fd);
  if (record == nullptr) return -1;
  const std::size_t length = is_over(*record) ? report_of(*record).length : 0;
  if (size > 0) {
    const std::size_t part = length < size ? length : size - 1;
    ::memcpy(text, record->bytes + sizeof(RestartReport), part);
    text[part] = '\0';
  }
  return length == 0 ? 0 : static_cast<int>(length + 1);
}

int reap(int fd) {
  RestartReport report{RestartReport::kResult, EIO, 0, 0};
  {
    const MutexGuard guard(g_mutex);
    Record* const record = record_of(fd);
    if (record == nullptr) return -1;
    const bool over = is_over(*record);
    if (!over && !record->ended) return fail(EAGAIN);
    if (over) report = report_of(*record);
    drop(fd);
  }
  ::close(fd);
  return report.error == 0 ? report.pid : fail(report.error);
}

constexpr PollSteps kSteps{
    is_handle, log, reap, CR_POLL_RSTRT_ERR_PRE, CR_POLL_RSTRT_ERR_POST, CR_POLL_RSTRT_ERR_LOG};

int fd_of(const cr_restart_handle_t* handle) {
  return static_cast<int>(*handle);
}

// ---- the request

// 0, or what is wrong with it.
int check_relocations(const cr_rstrt_relocate* relocate) {
  if (relocate == nullptr) return 0;
  if (relocate->count > CR_MAX_RSTRT_RELOC) return EINVAL;
  for (unsigned int i = 0; i < relocate->count; ++i) {
    const char* const paths[] = {relocate->path[i].oldpath, relocate->path[i].newpath};
    for (const char* path : paths)
      if (path == nullptr || *path != '/' || ::strnlen(path, PATH_MAX) == PATH_MAX) return EINVAL;
  }
  return 0;
}

int check(const cr_restart_args& args) {
  struct stat file;
  if (args.cr_version != CR_RESTART_ARGS_VERSION) return EINVAL;
  if ((args.cr_flags & ~static_cast<unsigned int>(CR_RSTRT_ASYNC_ERR | kRestored)) != 0) return EINVAL;
  if (args.cr_signal >= NSIG || args.cr_signal <= -NSIG) return EINVAL;
  const int mode = ::fcntl(args.cr_fd, F_GETFL);
  if (mode < 0 || ::fstat(args.cr_fd, &file) != 0) return EINVAL;
  if (S_ISDIR(file.st_mode)) return EISDIR;
  if ((mode & O_ACCMODE) == O_WRONLY || (mode & O_PATH) != 0) return EBADF;
  return check_relocations(args.cr_relocate);
}

// A pipe whose first end is the handle.
int make_handle(int& writer) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return -1;
  writer = ends[1];
  if (::fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0 && add_record(ends[0]) == 0) return ends[0];
  const ErrnoSaver saver;
  ::close(ends[0]);
  ::close(ends[1]);
  return -1;
}

int give_up(int handle) {
  const ErrnoSaver saver;
  const MutexGuard guard(g_mutex);
  drop(handle);
  ::close(handle);
  return -1;
}

int request(const cr_restart_args& args) {
  const int error = check(args);
  if (error != 0) return fail(error);
  if (prepare_process() != 0) return -1;
  int writer = -1;
  const int handle = make_handle(writer);
  if (handle < 0) return -1;
  return start_restart(args, writer) == 0 ? handle : give_up(handle);
}

}  // namespace

void reset_restarts() {
  g_mutex = PTHREAD_MUTEX_INITIALIZER;
  reset_reaping();
}

}  // namespace cryo::libcr

using namespace cryo::libcr;

LIBCR_PUBLIC int cri_init_restart_args_t(cr_version_t version, cr_restart_args_t* args) {
  if (version != CR_RESTART_ARGS_VERSION) return fail(EINVAL);
  *args = {CR_RESTART_ARGS_VERSION, -1, 0, CR_RSTRT_RESTORE_PID, nullptr};
  return 0;
}

LIBCR_PUBLIC int cr_request_restart(cr_restart_args_t* args, cr_restart_handle_t* handle) {
  const int fd = request(*args);
  if (fd < 0) return -1;
  *handle = static_cast<cr_restart_handle_t>(fd);
  return 0;
}

LIBCR_PUBLIC int cr_wait_restart(cr_restart_handle_t* handle, struct timeval* timeout) {
  return wait_readable(fd_of(handle), timeout);
}

LIBCR_PUBLIC int cr_log_restart(cr_restart_handle_t* handle, unsigned int len, char* msg) {
  return log(fd_of(handle), len, msg);
}

LIBCR_PUBLIC int cr_reap_restart(cr_restart_handle_t* handle) {
  return reap(fd_of(handle));
}

LIBCR_PUBLIC int cr_poll_restart_msg(cr_restart_handle_t* handle, struct timeval* timeout, char** msg_p) {
  return poll_handle(kSteps, fd_of(handle), timeout, msg_p);
}

LIBCR_PUBLIC int cr_poll_restart(cr_restart_handle_t* handle, struct timeval* timeout) {
  return poll_handle(kSteps, fd_of(handle), timeout, nullptr);
}
