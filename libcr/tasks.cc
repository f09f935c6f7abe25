// SPDX-License-Identifier: LGPL-2.1-or-later
// The threads of the process as the kernel has them, whether they have called cr_init() or not. Without the C
// library's locks and memory: after a restart a held thread may have them.
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "internal.h"

namespace cryo::libcr {
namespace {

struct DirectoryEntry {
  std::uint64_t inode;
  std::int64_t next;
  unsigned short length;
  unsigned char type;
  char name[];
};

bool is_initialised(pid_t tid) {
  for (const Thread* thread = g_process.threads; thread != nullptr; thread = thread->next)
    if (thread->tid == tid) return true;
  return false;
}

// Whether all could be listed.
template <typename Visitor>
bool visit_all(Visitor visitor) {
  alignas(DirectoryEntry) char entries[4096];
  long got = -1;
  const int fd = ::open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return false;
  while ((got = ::syscall(SYS_getdents64, fd, entries, sizeof(entries))) > 0) {
    for (long at = 0; at < got;) {
      const auto* entry = reinterpret_cast<const DirectoryEntry*>(entries + at);
      const auto tid = static_cast<pid_t>(std::strtol(entry->name, nullptr, 10));
      if (tid != 0) visitor(tid);
      at += entry->length;
    }
  }
  ::close(fd);
  return got == 0;
}

// Behind `skip` fields of /proc/self/stat after the name, or 0.
std::uint64_t field_of_stat(int skip) {
  char text[1024];
  const int fd = ::open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  const ssize_t got = ::read(fd, text, sizeof(text) - 1);
  ::close(fd);
  text[got > 0 ? got : 0] = '\0';
  const char* at = ::strrchr(text, ')');
  while (at != nullptr && skip-- >= 0) at = ::strchr(at + 1, ' ');
  return at == nullptr ? 0 : std::strtoull(at, nullptr, 10);
}

// Whether all of those that take part are where they are thought to be.
bool are_all_there() {
  for (const Thread* thread = g_process.threads; thread != nullptr; thread = thread->next)
    if (!is_there(*thread)) return false;
  return true;
}

// "/proc/self/task/TID/status".
class StatusPath {
 public:
  explicit StatusPath(pid_t tid) {
    char digits[16];
    int count = 0;
    for (auto rest = static_cast<unsigned int>(tid); rest != 0; rest /= 10)
      digits[count++] = static_cast<char>('0' + rest % 10);
    char* at = ::stpcpy(path_, "/proc/self/task/");
    while (count > 0) *at++ = digits[--count];
    ::strcpy(at, "/status");
  }
  [[nodiscard]] const char* get() const { return path_; }

 private:
  char path_[64];
};

using StatusText = char[4096];  // the lines before the fields come to a fraction of it

// Behind `field`, in `text`; nullptr: it cannot be read.
const char* status_of(pid_t tid, const char* field, StatusText& text) {
  const int fd = ::open(StatusPath(tid).get(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return nullptr;
  const ssize_t got = ::read(fd, text, sizeof(text) - 1);
  ::close(fd);
  text[got > 0 ? got : 0] = '\0';
  const char* const found = ::strstr(text, field);
  return found == nullptr ? nullptr : found + ::strlen(field);
}

}  // namespace

pid_t own_tid() {
  return static_cast<pid_t>(::syscall(SYS_gettid));
}

bool visit_uninitialised(TaskVisitor visitor, int argument) {
  return visit_all([visitor, argument](pid_t tid) {
    if (tid != own_tid() && !is_initialised(tid)) visitor(tid, argument);
  });
}

std::uint64_t start_of_process() {
  constexpr int kSkip = 19;
  return field_of_stat(kSkip);
}

// The head of the list of robust futexes, which the C library has for each thread in its own memory, and a
// restart sets again.
void* mark_of(pid_t tid) {
  void* head = nullptr;
  std::size_t size = 0;
  return ::syscall(SYS_get_robust_list, tid, &head, &size) == 0 ? head : nullptr;
}

bool is_there(const Thread& thread) {
  return thread.mark != nullptr && mark_of(thread.tid) == thread.mark;
}

// Who has ended without telling leaves his record, and a later thread may have his memory, and so his mark:
// ids are new after a restart only.
bool find_threads() {
  if (are_all_there()) return true;
  const std::uint64_t now = start_of_process();
  if (now == 0 ? t_thread->tid == own_tid() : now == g_process.started) return true;
  bool known = true;
  for (const Thread* thread = g_process.threads; thread != nullptr; thread = thread->next)
    known = known && thread->mark != nullptr;
  const bool listed = visit_all([](pid_t tid) {
    const void* const mark = mark_of(tid);
    for (Thread* thread = g_process.threads; mark != nullptr && thread != nullptr; thread = thread->next)
      if (thread->mark == mark) thread->tid = tid;
  });
  if (!listed || !known) return false;
  t_thread->tid = own_tid();
  g_process.started = now;
  return true;
}

bool blocks_signal(pid_t tid) {
  StatusText text;
  const char* const blocked = status_of(tid, "\nSigBlk:", text);
  return blocked == nullptr || (std::strtoull(blocked, nullptr, 16) >> (CR_SIGNUM - 1) & 1) != 0;
}

bool is_pending(pid_t tid) {
  StatusText text;
  const char* const pending = status_of(tid, "\nSigPnd:", text);
  return pending != nullptr && (std::strtoull(pending, nullptr, 16) >> (CR_SIGNUM - 1) & 1) != 0;
}

bool is_asleep(pid_t tid) {
  StatusText text;
  const char* const state = status_of(tid, "\nState:\t", text);
  return state == nullptr || *state == 'S';
}

}  // namespace cryo::libcr
