// SPDX-License-Identifier: LGPL-2.1-or-later
#include "handle.h"

#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"

namespace cryo::libcr {
namespace {

constexpr std::int64_t kMicrosecond = 1000;
constexpr std::int64_t kSecond = 1000000000;
constexpr std::size_t kChunk = 1024;

// The module gives each line once: they are kept here until the handle is closed.
struct Log {
  Log* next;
  int fd;
  std::size_t length;
  char* text;
};

pthread_mutex_t g_mutex = PTHREAD_MUTEX_INITIALIZER;
Log* g_logs = nullptr;

std::int64_t now() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * kSecond + time.tv_nsec;
}

Log* log_of(int fd) {
  for (Log* log = g_logs; log != nullptr; log = log->next)
    if (log->fd == fd) return log;
  auto* log = static_cast<Log*>(std::calloc(1, sizeof(Log)));
  if (log == nullptr) return nullptr;
  log->fd = fd;
  log->next = g_logs;
  g_logs = log;
  return log;
}

// Adds what has come since. 0, or -1 with errno.
int read_more(Log& log) {
  for (;;) {
    auto* text = static_cast<char*>(std::realloc(log.text, log.length + kChunk));
    if (text == nullptr) return fail(ENOMEM);
    log.text = text;
    const ssize_t got = ::read(log.fd, log.text + log.length, kChunk);
    if (got < 0) return -1;
    if (got == 0) return 0;
    log.length += static_cast<std::size_t>(got);
  }
}

// The text of a request, malloc()ed, in `message`; as it is when there is none.
int take_log(const PollSteps& steps, int fd, char** message) {
  const int size = steps.log(fd, 0, nullptr);
  if (size <= 0 || message == nullptr) return size;
  auto* text = static_cast<char*>(std::malloc(static_cast<std::size_t>(size)));
  if (text == nullptr) return fail(ENOMEM);
  if (steps.log(fd, static_cast<unsigned int>(size), text) < 0) {
    std::free(text);
    return -1;
  }
  *message = text;
  return size;
}

}  // namespace

int wait_readable(int fd, struct timeval* timeout) {
  pollfd wait{fd, POLLIN, 0};
  timespec limit{};
  const std::int64_t start = now();
  if (timeout != nullptr) limit = {timeout->tv_sec, timeout->tv_usec * kMicrosecond};
  const int result = ::ppoll(&wait, 1, timeout == nullptr ? nullptr : &limit, nullptr);
  if (timeout != nullptr) {
    std::int64_t left = limit.tv_sec * kSecond + limit.tv_nsec - (now() - start);
    if (left < 0) left = 0;
    *timeout = {left / kSecond, left % kSecond / kMicrosecond};
  }
  if (result > 0 && (wait.revents & POLLNVAL) != 0) return fail(EBADF);
  return result;
}

bool is_checkpoint(int fd) {
  cryo_ckpt_status status{};
  status.size = sizeof(status);
  return ::ioctl(fd, CRYO_CKPT_STATUS, &status) == 0;
}

int copy_log(int fd, unsigned int size, char* text) {
  if (!is_checkpoint(fd)) return -1;
  const MutexGuard guard(g_mutex);
  Log* const log = log_of(fd);
  if (log == nullptr) return fail(ENOMEM);
  if (read_more(*log) != 0) return -1;
  if (size > 0) {
    const std::size_t part = log->length < size ? log->length : size - 1;
    ::memcpy(text, log->text, part);
    text[part] = '\0';
  }
  return log->length == 0 ? 0 : static_cast<int>(log->length + 1);
}

void forget_log(int fd) {
  const MutexGuard guard(g_mutex);
  for (Log** at = &g_logs; *at != nullptr; at = &(*at)->next) {
    Log* const log = *at;
    if (log->fd != fd) continue;
    *at = log->next;
    std::free(log->text);
    std::free(log);
    return;
  }
}

void reset_logs() {
  g_mutex = PTHREAD_MUTEX_INITIALIZER;
  g_logs = nullptr;
}

int poll_handle(const PollSteps& steps, int fd, struct timeval* timeout, char** message) {
  const int ready = wait_readable(fd, timeout);
  if (ready < 0) return steps.error_before;
  if (ready == 0) return 0;
  if (!steps.is_handle(fd)) return steps.error_before;
  if (take_log(steps, fd, message) < 0) return steps.error_log;
  const int result = steps.reap(fd);
  if (result < 0) return steps.error_after;
  return result > 0 ? result : 1;
}

}  // namespace cryo::libcr
