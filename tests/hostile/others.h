// SPDX-License-Identifier: GPL-2.0-only
// others.h - processes of several users, and requests by any of them
#ifndef OTHERS_H
#define OTHERS_H

#include <cryo/client.h>
#include <cryo/ioctl.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <system_error>

namespace others {

constexpr uid_t kUser = 1000, kOther = 1001;

inline long must(long result, const std::string& what) {
  if (result < 0) throw std::system_error(errno, std::generic_category(), what);
  return result;
}

inline int64_t now_ms() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

inline unsigned factor() {
  const char* text = getenv("CRTEST_FACTOR");
  return text ? static_cast<unsigned>(std::max(atoi(text), 1)) : 1;
}

// What processes of the test tell each other; one page that all of them share.
struct Board {
  std::atomic<int64_t> ticks, longest, last;  // of the ticker; ms
  std::atomic<int> told;                      // by a request
  std::atomic<int> ready, result, error;
  std::atomic<int64_t> elapsed;
  char log[8192];
};

inline Board* new_board(const char* path = nullptr) {
  int fd = -1;
  if (path) {
    fd = static_cast<int>(must(open(path, O_RDWR | O_CREAT | O_TRUNC, 0666), path));
    must(fchmod(fd, 0666), path);
    must(ftruncate(fd, sizeof(Board)), path);
  }
  void* at = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE,
                  path ? MAP_SHARED : MAP_SHARED | MAP_ANONYMOUS, fd, 0);
  if (at == MAP_FAILED) must(-1, "mmap");
  return new (at) Board;
}

inline void become(uid_t uid) {
  if (uid == getuid()) return;
  must(setgroups(0, nullptr), "setgroups");
  must(setresgid(uid, uid, uid), "setresgid");
  must(setresuid(uid, uid, uid), "setresuid");
  // As after exec(): who has become another by setuid() may not be traced.
  must(prctl(PR_SET_DUMPABLE, 1), "PR_SET_DUMPABLE");
}

inline int device() {
  return static_cast<int>(must(open(CRYO_DEVICE_PATH, O_RDWR | O_CLOEXEC), CRYO_DEVICE_PATH));
}

// Notes the longest time for which it did not run, and whether a request has told it.
[[noreturn]] inline void tick(Board* board, bool registered) {
  pollfd client{-1, POLLIN, 0};
  if (registered) {
    cryo_client args{};
    args.size = sizeof(args);
    client.fd = static_cast<int>(must(ioctl(device(), CRYO_IOC_CLIENT, &args), "CRYO_IOC_CLIENT"));
  }
  board->last = now_ms();
  for (;;) {
    const int64_t now = now_ms();
    if (now - board->last > board->longest) board->longest = now - board->last;
    board->last = now;
    board->ticks++;
    if (poll(&client, 1, 5) > 0) board->told = 1;
  }
}

// A process in which `body` runs; killed at the end of the block.
class Child {
 public:
  explicit Child(const std::function<void()>& body) {
    std::fflush(nullptr);
    pid_ = static_cast<pid_t>(must(fork(), "fork"));
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      try {
        body();
      } catch (const std::exception& error) {
        std::fprintf(stderr, "# pid %d: %s\n", getpid(), error.what());
        _exit(1);
      }
      _exit(0);
    }
  }
  ~Child() { end(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  pid_t pid() const { return pid_; }
  int wait() {
    int status = -1;
    if (pid_ > 0) waitpid(pid_, &status, 0);
    pid_ = 0;
    return status;
  }
  void end() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
    pid_ = 0;
  }
  bool alive() const { return pid_ > 0 && waitpid(pid_, nullptr, WNOHANG) == 0; }

 private:
  pid_t pid_ = 0;
};

// Waits, up to a minute, until `what` is true.
inline bool until(const std::function<bool()>& what) {
  for (int64_t end = now_ms() + 60000 * factor(); now_ms() < end; usleep(10000))
    if (what()) return true;
  return false;
}

inline cryo_checkpoint request_for(pid_t target, uint32_t scope, uint32_t freeze_ms) {
  cryo_checkpoint c{};
  c.size = sizeof(c);
  c.target = target;
  c.scope = scope;
  c.flags = CRYO_CKPT_DRY_RUN;
  c.freeze_ms = freeze_ms;
  c.timeout_ms = freeze_ms + 20000;  // also where somebody is told who does not vote
  c.out_fd = -1;
  return c;
}

// By the caller: 0 or an errno value, of making the request or of running it; what it logged on the board.
inline int run_request(Board* board, const cryo_checkpoint& c) {
  const int dev = device();
  cryo_checkpoint copy = c;
  const int fd = ioctl(dev, CRYO_IOC_CHECKPOINT, &copy);
  int error = fd < 0 ? errno : 0;
  board->log[0] = '\0';
  if (!error) {
    const int64_t begin = now_ms();
    error = ioctl(fd, CRYO_CKPT_RUN) < 0 ? errno : 0;
    board->elapsed = now_ms() - begin;
    ssize_t have = 0, n;
    while ((n = read(fd, board->log + have, sizeof(board->log) - 1 - have)) > 0) have += n;
    board->log[have] = '\0';
    close(fd);
  }
  close(dev);
  return error;
}

// By a process of its own, of the user `uid`.
inline int request_as(Board* board, uid_t uid, const cryo_checkpoint& c) {
  board->error = -1;
  Child requester([&] {
    become(uid);
    board->error = run_request(board, c);
  });
  requester.wait();
  return board->error;
}

}  // namespace others

#endif  // OTHERS_H
