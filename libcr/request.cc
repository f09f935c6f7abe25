// SPDX-License-Identifier: LGPL-2.1-or-later
// Asking for a checkpoint. The module does the work in whoever calls it: so that is a thread made for it, and
// the caller has a descriptor to wait for.
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "destination.h"
#include "handle.h"
#include "internal.h"

namespace cryo::libcr {
namespace {

constexpr unsigned int kMillisecond = 1000;
constexpr int kBeginMs = 2;       // how often one looks whether a request has begun
constexpr int kThroughMs = 50;    // likewise, whether another one has while the file gets its name
constexpr int kLongestMs = 1000;  // callbacks of others in the request may wait for the caller

// What the caller and the worker know of each other, until both are through.
struct Begin {
  std::atomic<int> users;
  std::atomic<int> error;              // of CRYO_CKPT_RUN
  std::atomic<std::uint32_t> through;  // 1: that has returned, and the file has its name
};

void put(Begin* begin) {
  if (begin->users.fetch_sub(1) == 1) std::free(begin);
}

// What the worker needs; its own.
struct Work {
  Begin* begin;
  int handle;                // the caller's: it may be closed when the run has begun, as the call keeps it
  Destination* destination;  // of cr_request() and its like; NULL: none
};

void* work_main(void* pointer) {
  auto* const work = static_cast<Work*>(pointer);
  const int result = ::ioctl(work->handle, CRYO_CKPT_RUN, 0);
  const int error = result < 0 ? errno : 0;
  if (work->destination != nullptr) {
    // 1: this is the process that a restart has made.
    end_destination(work->destination, result == 0  ? Outcome::kWritten
                                       : result < 0 ? Outcome::kFailed
                                                    : Outcome::kRestarted);
    g_process.own_requests.fetch_sub(1);
  }
  work->begin->error = error;  // the caller may abort now
  work->begin->through = 1;
  futex_wake_all(work->begin->through);
  put(work->begin);
  std::free(work);
  return nullptr;
}

std::uint32_t flags_of(const cr_checkpoint_args& args) {
  std::uint32_t flags = 0;
  if ((args.cr_flags & CR_CHKPT_PROHIBIT_SELF) == 0) flags |= CRYO_CKPT_SELF;
  if ((args.cr_flags & CR_CHKPT_PTRACED_ALLOW) != 0) flags |= CRYO_CKPT_PTRACED_ALLOW;
  if ((args.cr_flags & CR_CHKPT_PTRACED_SKIP) != 0) flags |= CRYO_CKPT_PTRACED_SKIP;
  if ((args.cr_flags & CR_CHKPT_PTRACER_SKIP) != 0) flags |= CRYO_CKPT_PTRACER_SKIP;
  if ((args.cr_flags & CR_CHKPT_DUMP_EXEC) != 0) flags |= CRYO_CKPT_SAVE_EXE;
  // The executable is mapped privately, too.
  if ((args.cr_flags & CR_CHKPT_DUMP_PRIVATE) != 0) flags |= CRYO_CKPT_SAVE_PRIVATE | CRYO_CKPT_SAVE_EXE;
  if ((args.cr_flags & CR_CHKPT_DUMP_SHARED) != 0) flags |= CRYO_CKPT_SAVE_SHARED;
  if ((args.cr_flags & CR_CHKPT_DUMP_OPEN) != 0) flags |= CRYO_CKPT_SAVE_OPEN;
  if ((args.cr_flags & CR_CHKPT_SNAPSHOT) != 0) flags |= CRYO_CKPT_SNAPSHOT;
  if (args.cr_signal != 0) flags |= CRYO_CKPT_SIGNAL;
  return flags;
}

pid_t parent_of(pid_t pid) {
  char path[32];
  ::snprintf(path, sizeof(path), "/proc/%d/stat", static_cast<int>(pid));
  FILE* const file = ::fopen(path, "re");
  if (file == nullptr) return 0;
  char line[512];
  int parent = 0;
  const char* const end = ::fgets(line, sizeof(line), file) == nullptr ? nullptr : ::strrchr(line, ')');
  if (end == nullptr || ::sscanf(end + 1, " %*c %d", &parent) != 1) parent = 0;
  ::fclose(file);
  return parent;
}

// Is the caller among those that the request is about?
bool includes_self(const cr_checkpoint_args& args) {
  if (args.cr_target == 0) return true;
  switch (args.cr_scope) {
    case CR_SCOPE_PGRP:
      return args.cr_target == ::getpgrp();
    case CR_SCOPE_SESS:
      return args.cr_target == ::getsid(0);
    case CR_SCOPE_TREE:
      for (pid_t pid = ::getpid(); pid > 0; pid = parent_of(pid))
        if (pid == args.cr_target) return true;
      return false;
    default:
      return args.cr_target == ::getpid();
  }
}

// 0, or what is wrong with the request itself.
int check(const cr_checkpoint_args& args) {
  constexpr unsigned int kTraced = CR_CHKPT_PTRACED_ALLOW | CR_CHKPT_PTRACED_SKIP;
  constexpr unsigned int kKnown = CR_CHKPT_PROHIBIT_SELF | kTraced | CR_CHKPT_PTRACER_SKIP |
                                  CR_CHKPT_ASYNC_ERR | CR_CHKPT_DUMP_ALL | CR_CHKPT_DUMP_OPEN |
                                  CR_CHKPT_SNAPSHOT;
  if ((args.cr_flags & kTraced) == kTraced) return EINVAL;
  if (args.cr_version != CR_CHECKPOINT_ARGS_VERSION) return EINVAL;
  if (static_cast<unsigned int>(args.cr_scope) > CR_SCOPE_TREE) return EINVAL;
  if ((args.cr_flags & ~kKnown) != 0) return EINVAL;
  if (args.cr_signal >= NSIG || args.cr_signal <= -NSIG) return EINVAL;
  const int mode = ::fcntl(args.cr_fd, F_GETFL);
  if (mode < 0) return EINVAL;
  if ((mode & O_ACCMODE) == O_RDONLY || (mode & O_PATH) != 0) return EBADF;
  if ((args.cr_flags & CR_CHKPT_PROHIBIT_SELF) != 0 && includes_self(args)) return EDEADLK;
  return 0;
}

// The handle, or -1 with errno.
int make_handle(const cr_checkpoint_args& args) {
  cryo_checkpoint request{};
  request.size = sizeof(request);
  request.flags = flags_of(args);
  request.target = args.cr_target;
  request.scope = static_cast<std::uint32_t>(args.cr_scope);
  request.out_fd = args.cr_fd;
  request.timeout_ms =
      args.cr_timeout > UINT32_MAX / kMillisecond ? UINT32_MAX : args.cr_timeout * kMillisecond;
  request.announced_signal = args.cr_signal;  // of which a negative one comes first
  const int device = open_device();
  if (device < 0) return -1;
  const int handle = ::ioctl(device, CRYO_IOC_CHECKPOINT, &request);
  const int error = errno;
  ::close(device);
  return handle >= 0 ? handle : fail(error);
}

// Has the request still to begin, for the caller? It is in it where `self`, and is frozen soon, or told
// before by the round that follows `begun`.
bool is_to_begin(std::uint32_t state, std::uint32_t begun, bool self) {
  switch (state) {
    case CRYO_STATE_NEW:
      return true;
    case CRYO_STATE_NOTIFYING:
      return self && g_process.registered && rounds_begun() == begun;
    case CRYO_STATE_FREEZING:
      return self;
    default:
      return false;
  }
}

// Until the request has begun, and the process knows of it if it is one of those that it is about. 0, or what
// has kept it from beginning: the handle is as before.
int wait_for_begin(int handle, const Begin& begin, std::uint32_t begun, bool self) {
  const ErrnoSaver saver;
  cryo_ckpt_status status{};
  for (;;) {
    const bool through = begin.through != 0;
    status.size = sizeof(status);
    if (::ioctl(handle, CRYO_CKPT_STATUS, &status) != 0 || !is_to_begin(status.state, begun, self)) return 0;
    if (through) return status.state == CRYO_STATE_NEW ? begin.error.load() : 0;
    if (status.state == CRYO_STATE_NOTIFYING)
      (void)wait_for_round(begun, kBeginMs);
    else
      futex_wait(begin.through, 0, kBeginMs);
  }
}

// The worker's arguments, or NULL with errno.
Work* make_work(int handle, Destination* destination) {
  auto* const work = static_cast<Work*>(std::malloc(sizeof(Work)));
  auto* const begin = static_cast<Begin*>(std::calloc(1, sizeof(Begin)));
  if (work == nullptr || begin == nullptr) {
    std::free(begin);
    std::free(work);
    errno = ENOMEM;
    return nullptr;
  }
  begin->users = 2;
  *work = {begin, handle, destination};
  return work;
}

void discard(Work* work) {
  std::free(work->begin);
  std::free(work);
}

// What the process was in before a request.
struct Before {
  std::uint32_t forks = g_process.forks;
  std::uint32_t begun = rounds_begun();
  std::uint32_t ended = rounds_ended();
};

// The callbacks of the caller that belong to the request are run here. When all have ended, what is left of
// one of cr_request() and its like (`is_own`) takes no longer, and is not to be lost if the program ends.
void run_callbacks(const Begin& begin, const Before& before, bool is_own) {
  if (rounds_begun() != before.begun) run_own_callbacks(rounds_begun());
  if (!is_own || g_process.forks != before.forks || rounds_ended() == before.ended) return;
  const std::int64_t end = now_ms() + kLongestMs;
  while (begin.through == 0 && !g_process.preparing && !g_process.sections.closed() && now_ms() < end)
    futex_wait(begin.through, 0, kThroughMs);
}

// Has a thread do it, which takes `destination` with it. 0, or -1 with errno.
int start_work(int handle, bool self, Destination*& destination) {
  auto* const work = make_work(handle, destination);
  if (work == nullptr) return -1;
  Begin* const begin = work->begin;
  const Before before;
  if (start_worker(work_main, work, Stack::kSmall) != 0) {
    const ErrnoSaver saver;
    discard(work);
    return -1;
  }
  const bool is_own = destination != nullptr;
  destination = nullptr;
  const int error = wait_for_begin(handle, *begin, before.begun, self);
  if (error == 0 && self) run_callbacks(*begin, before, is_own);
  put(begin);
  return error == 0 ? 0 : fail(error);
}

// Makes the request; `destination` is NULL when the worker has it.
int start(const cr_checkpoint_args& args, Destination*& destination) {
  const int error = check(args);
  if (error != 0) return fail(error);
  if (prepare_process() != 0) return -1;
  const int handle = make_handle(args);
  if (handle < 0) return -1;
  forget_log(handle);  // of one that was closed without cr_reap_checkpoint()
  if (start_work(handle, includes_self(args), destination) == 0) return handle;
  const ErrnoSaver saver;
  ::close(handle);
  return -1;
}

// What a client is to find in errno.
int error_of(int handle, int result, std::uint32_t obstacles) {
  cryo_ckpt_verdict verdict{};
  verdict.size = sizeof(verdict);
  switch (result) {
    case -ECANCELED:
      if (::ioctl(handle, CRYO_CKPT_VERDICT, &verdict) != 0 || verdict.vote == CRYO_VOTE_READY)
        return ECANCELED;
      return static_cast<int>(verdict.code);
    case -ETIMEDOUT:
      return CR_ETEMPFAIL;
    case -EOPNOTSUPP:
      return (obstacles & CRYO_OBSTACLE_PTRACED) != 0   ? CR_EPTRACED
             : (obstacles & CRYO_OBSTACLE_PTRACER) != 0 ? CR_EPTRACER
                                                        : CR_ENOSUPPORT;
    default:
      return -result;
  }
}

int reap(int handle) {
  cryo_ckpt_status status{};
  status.size = sizeof(status);
  if (::ioctl(handle, CRYO_CKPT_STATUS, &status) != 0) return -1;
  int error = 0;
  switch (status.state) {
    case CRYO_STATE_RESTARTED:
      error = CR_ERESTARTED;
      break;
    case CRYO_STATE_HELD:
    case CRYO_STATE_DONE:
      break;
    case CRYO_STATE_FAILED:
      error = error_of(handle, status.result, status.obstacles);
      break;
    default:
      return fail(EAGAIN);
  }
  forget_log(handle);
  ::close(handle);
  return error == 0 ? 0 : fail(error);
}

constexpr PollSteps kSteps{
    is_checkpoint, copy_log, reap, CR_POLL_CHKPT_ERR_PRE, CR_POLL_CHKPT_ERR_POST, CR_POLL_CHKPT_ERR_LOG};

int fd_of(const cr_checkpoint_handle_t* handle) {
  return static_cast<int>(*handle);
}

// ---- the old calls: they do not report errors

void start_own(Destination* destination) {
  cr_checkpoint_args_t args;
  cri_init_checkpoint_args_t(CR_CHECKPOINT_ARGS_VERSION, &args);
  args.cr_scope = CR_SCOPE_PROC;
  args.cr_fd = destination->fd;
  g_process.own_requests.fetch_add(1);
  const int handle = start(args, destination);
  if (handle < 0 && destination != nullptr) end_destination(destination, Outcome::kFailed);
  if (handle < 0) std::abort();
  if (is_checkpoint(handle)) ::close(handle);  // its callbacks may have closed it, and opened another file
}

}  // namespace

}  // namespace cryo::libcr

using namespace cryo::libcr;

LIBCR_PUBLIC int cri_init_checkpoint_args_t(cr_version_t version, cr_checkpoint_args_t* args) {
  if (version != CR_CHECKPOINT_ARGS_VERSION) return fail(EINVAL);
  *args = {CR_CHECKPOINT_ARGS_VERSION, CR_SCOPE_PROC, 0, -1, 0, 0, 0};
  ::memset(&args->cr_scope, 0xff, sizeof(args->cr_scope));  // -1: has to be set
  return 0;
}

LIBCR_PUBLIC int cr_request_checkpoint(cr_checkpoint_args_t* args, cr_checkpoint_handle_t* handle) {
  Destination* none = nullptr;
  const int fd = start(*args, none);
  if (fd < 0) return -1;
  *handle = static_cast<cr_checkpoint_handle_t>(fd);
  return 0;
}

LIBCR_PUBLIC int cr_wait_checkpoint(cr_checkpoint_handle_t* handle, struct timeval* timeout) {
  return wait_readable(fd_of(handle), timeout);
}

LIBCR_PUBLIC int cr_log_checkpoint(cr_checkpoint_handle_t* handle, unsigned int len, char* msg) {
  return copy_log(fd_of(handle), len, msg);
}

LIBCR_PUBLIC int cr_reap_checkpoint(cr_checkpoint_handle_t* handle) {
  return reap(fd_of(handle));
}

LIBCR_PUBLIC int cr_poll_checkpoint_msg(cr_checkpoint_handle_t* handle, struct timeval* timeout,
                                        char** msg_p) {
  return poll_handle(kSteps, fd_of(handle), timeout, msg_p);
}

LIBCR_PUBLIC int cr_poll_checkpoint(cr_checkpoint_handle_t* handle, struct timeval* timeout) {
  return poll_handle(kSteps, fd_of(handle), timeout, nullptr);
}

LIBCR_PUBLIC void cr_request_fd(int fd) {
  Destination* const destination = destination_of(fd);
  if (destination == nullptr) std::abort();
  start_own(destination);
}

// A disk that is full already is as one that becomes full: the request fails, and nobody is told.
LIBCR_PUBLIC void cr_request_file(const char* filename) {
  Destination* const destination = open_destination(filename);
  if (destination != nullptr)
    start_own(destination);
  else if (errno != ENOSPC && errno != EDQUOT)
    std::abort();
}

LIBCR_PUBLIC void cr_request(void) {
  char name[32];
  ::snprintf(name, sizeof(name), "context.%d", static_cast<int>(::getpid()));
  cr_request_file(name);
}
