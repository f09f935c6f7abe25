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

void visit(const char* name, TaskVisitor visitor, int argument) {
  const auto tid = static_cast<pid_t>(std::strtol(name, nullptr, 10));
  if (tid != 0 && tid != own_tid() && !is_initialised(tid)) visitor(tid, argument);
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

}  // namespace

pid_t own_tid() {
  return static_cast<pid_t>(::syscall(SYS_gettid));
}

bool visit_uninitialised(TaskVisitor visitor, int argument) {
  alignas(DirectoryEntry) char entries[4096];
  const int fd = ::open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return false;
  for (long got; (got = ::syscall(SYS_getdents64, fd, entries, sizeof(entries))) > 0;) {
    for (long at = 0; at < got;) {
      const auto* entry = reinterpret_cast<const DirectoryEntry*>(entries + at);
      visit(entry->name, visitor, argument);
      at += entry->length;
    }
  }
  ::close(fd);
  return true;
}

bool blocks_signal(pid_t tid) {
  static constexpr char kField[] = "\nSigBlk:";
  char text[4096];  // the lines before the field come to a fraction of it
  const int fd = ::open(StatusPath(tid).get(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return errno != ENOENT && errno != ESRCH;  // it has ended, or is not to be disturbed if that cannot be seen
  const ssize_t got = ::read(fd, text, sizeof(text) - 1);
  ::close(fd);
  text[got > 0 ? got : 0] = '\0';
  const char* const field = ::strstr(text, kField);
  if (field == nullptr) return false;
  return (std::strtoull(field + sizeof(kField) - 1, nullptr, 16) >> (CR_SIGNUM - 1) & 1) != 0;
}

}  // namespace cryo::libcr
