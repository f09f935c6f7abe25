// SPDX-License-Identifier: LGPL-2.1-or-later
// Running cr_restart for a request. It does the work, and ends when it is done: then the job's parent is the
// caller, who has to be the reaper of orphans for that time. A thread waits for it, so that the handle tells
// of a job that can be waited for.
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "internal.h"
#include "restart_report.h"

namespace cryo::libcr {
namespace {

constexpr char kProgram[] = CRYO_BINDIR "/cr_restart";
constexpr int kFirstFd = 3;  // the others are the job's
constexpr int kMaxArguments = 10 + CR_MAX_RSTRT_RELOC;

// ---- the caller as reaper

pthread_mutex_t g_reaper_mutex = PTHREAD_MUTEX_INITIALIZER;
int g_restarts = 0;          // that are going on
bool g_made_reaper = false;  // by the library, for them

// The program may have ended it since the one before began.
void begin_reaping() {
  const MutexGuard guard(g_reaper_mutex);
  int is_reaper = 0;
  ++g_restarts;
  ::prctl(PR_GET_CHILD_SUBREAPER, &is_reaper);
  if (is_reaper != 0) return;
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  g_made_reaper = true;
}

// A program that was none has its say again, one that was is left as it has made itself meanwhile.
void end_reaping() {
  const MutexGuard guard(g_reaper_mutex);
  if (--g_restarts > 0 || !g_made_reaper) return;
  ::prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
  g_made_reaper = false;
}

// ---- the command

// Pointers to malloc()ed strings.
struct Command {
  char* arguments[kMaxArguments + 1];
  int count;
  bool complete;  // no memory was missing
};

void add(Command& command, char* argument) {
  command.complete = command.complete && argument != nullptr;
  command.arguments[command.count] = argument;
  if (argument != nullptr) ++command.count;
}

void add_number(Command& command, const char* option, int number) {
  char text[48];
  ::snprintf(text, sizeof(text), "%s=%d", option, number);
  add(command, ::strdup(text));
}

char* escape(char* to, const char* from) {
  for (; *from != '\0'; ++from) {
    if (*from == '=' || *from == '\\') *to++ = '\\';
    *to++ = *from;
  }
  return to;
}

char* relocation(const cr_rstrt_relocate_pair& pair) {
  constexpr char kOption[] = "--relocate=";
  const std::size_t size = sizeof(kOption) + 2 * (::strlen(pair.oldpath) + ::strlen(pair.newpath)) + 1;
  auto* const text = static_cast<char*>(std::malloc(size));
  if (text == nullptr) return nullptr;
  char* at = escape(::stpcpy(text, "--relocate"), "");
  *at++ = '=';
  at = escape(at, pair.oldpath);
  *at++ = '=';
  *escape(at, pair.newpath) = '\0';
  return text;
}

void free_command(Command& command) {
  for (int i = 0; i < command.count; ++i) std::free(command.arguments[i]);
}

bool make_command(Command& command, const cr_restart_args& args) {
  const unsigned int flags = args.cr_flags;
  command.complete = true;
  add(command, ::strdup(kProgram));
  add_number(command, "--fd", args.cr_fd);
  if (args.cr_signal != 0) add_number(command, "--signal", std::abs(args.cr_signal));
  add(command, ::strdup((flags & CR_RSTRT_RESTORE_PID) != 0 ? "--restore-pid" : "--no-restore-pid"));
  add(command, ::strdup((flags & CR_RSTRT_RESTORE_PGID) != 0 ? "--restore-pgid" : "--no-restore-pgid"));
  add(command, ::strdup((flags & CR_RSTRT_RESTORE_SID) != 0 ? "--restore-sid" : "--no-restore-sid"));
  const cr_rstrt_relocate* const relocate = args.cr_relocate;
  for (unsigned int i = 0; relocate != nullptr && i < relocate->count; ++i)
    add(command, relocation(relocate->path[i]));
  return command.complete;
}

// ---- one restart, by a thread of its own

// What the caller waits for, on his stack.
struct Start {
  std::atomic<std::uint32_t> known;
  int error;  // 0: it goes on
};

struct Work {
  Command command;
  int context_fd;  // of the caller; open until he knows
  int handle;      // the end to write to
  bool asynchronous;
  Start* start;
  pid_t pid;
};

void tell_start(Work& work, int error) {
  Start& start = *work.start;
  start.error = error;
  start.known = 1;
  futex_wake_all(start.known);  // by its address: it may be gone
}

int move_up(int fd) {
  const int moved = ::fcntl(fd, F_DUPFD_CLOEXEC, kFirstFd);
  const ErrnoSaver saver;
  ::close(fd);
  return moved;
}

int spawn(Work& work, int report_fd) {
  add_number(work.command, "--report-fd", report_fd);
  if (!work.command.complete) return ENOMEM;
  sigset_t none, child;
  sigemptyset(&none);
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_t actions;
  if (::posix_spawnattr_init(&attributes) != 0) return ENOMEM;
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &child);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  int error = ::posix_spawn_file_actions_init(&actions);
  if (error == 0) {
    // To its own number: that makes it stay open.
    error = ::posix_spawn_file_actions_adddup2(&actions, report_fd, report_fd);
    if (error == 0) error = ::posix_spawn_file_actions_adddup2(&actions, work.context_fd, work.context_fd);
    if (error == 0)
      error = ::posix_spawn(&work.pid, kProgram, &actions, &attributes, work.command.arguments, environ);
    ::posix_spawn_file_actions_destroy(&actions);
  }
  ::posix_spawnattr_destroy(&attributes);
  return error;
}

// False at the end.
bool read_all(int fd, void* bytes, std::size_t size) {
  auto* at = static_cast<char*>(bytes);
  while (size > 0) {
    const ssize_t got = ::read(fd, at, size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

void write_all(int fd, const void* bytes, std::size_t size) {
  const auto* at = static_cast<const char*>(bytes);
  while (size > 0) {
    const ssize_t written = ::write(fd, at, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;  // the handle has been closed
    at += written;
    size -= static_cast<std::size_t>(written);
  }
}

RestartReport failure(int error) {
  return {RestartReport::kResult, error, 0, 0};
}

// One that ends without a word has been killed.
RestartReport read_report(int fd) {
  RestartReport report{};
  return read_all(fd, &report, sizeof(report)) && report.length <= RestartReport::kMaxText ? report
                                                                                           : failure(EIO);
}

// A file that is no context, or a damaged one, is EINVAL to BLCR's clients.
RestartReport read_first_report(int fd) {
  RestartReport report = read_report(fd);
  if (report.error == EBADMSG) report.error = EINVAL;
  return report;
}

// The end of cr_restart is there when somebody else has waited for it, too.
void wait_for_end(pid_t pid) {
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
}

// The result in `report`, and its text, malloc()ed.
char* follow(Work& work, int fd, RestartReport& report) {
  report = read_first_report(fd);
  const bool failed = report.kind != RestartReport::kRead && !work.asynchronous;
  if (!failed) {
    tell_start(work, 0);
    work.start = nullptr;
  }
  if (report.kind == RestartReport::kRead) report = read_report(fd);
  auto* const text = static_cast<char*>(std::malloc(report.length + 1));
  if (text == nullptr || !read_all(fd, text, report.length)) report.length = 0;
  wait_for_end(work.pid);
  return text;
}

char* restart(Work& work, RestartReport& report) {
  int ends[2];
  report = failure(EMFILE);
  if (::pipe2(ends, O_CLOEXEC) != 0) return nullptr;
  const int writer = move_up(ends[1]);
  char* text = nullptr;
  begin_reaping();
  const int error = writer < 0 ? errno : spawn(work, writer);
  ::close(writer);
  if (error == 0)
    text = follow(work, ends[0], report);
  else
    report = failure(error);
  end_reaping();
  ::close(ends[0]);
  return text;
}

void* work_main(void* pointer) {
  auto* const work = static_cast<Work*>(pointer);
  RestartReport report;
  char* const text = restart(*work, report);
  if (work->start != nullptr && work->asynchronous) {
    tell_start(*work, 0);
    work->start = nullptr;
  }
  if (work->start == nullptr) {
    write_all(work->handle, &report, sizeof(report));
    write_all(work->handle, text, report.length);
  } else {
    tell_start(*work, report.error);
  }
  ::close(work->handle);
  std::free(text);
  free_command(work->command);
  std::free(work);
  return nullptr;
}

void discard(Work* work) {
  const ErrnoSaver saver;
  ::close(work->handle);
  free_command(work->command);
  std::free(work);
}

}  // namespace

int start_restart(const cr_restart_args& args, int handle) {
  Start start{};
  auto* const work = static_cast<Work*>(std::calloc(1, sizeof(Work)));
  if (work == nullptr) {
    ::close(handle);
    return fail(ENOMEM);
  }
  work->context_fd = args.cr_fd;
  work->handle = handle;
  work->asynchronous = (args.cr_flags & CR_RSTRT_ASYNC_ERR) != 0;
  work->start = &start;
  errno = ENOMEM;
  if (!make_command(work->command, args) || start_worker(work_main, work, Stack::kSmall) != 0) {
    discard(work);
    return -1;
  }
  while (start.known == 0) futex_wait(start.known, 0, -1);
  return start.error == 0 ? 0 : fail(start.error);
}

void reset_reaping() {
  g_reaper_mutex = PTHREAD_MUTEX_INITIALIZER;
  g_restarts = 0;
  g_made_reaper = false;
}

}  // namespace cryo::libcr
