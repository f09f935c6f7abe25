// SPDX-License-Identifier: GPL-2.0-only
// A user's request about processes some of which are not his: of root in the same process group, session,
// control group, or a child that is set-user-id. It is refused; root's never stand still, are not told, and
// keep their names.
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <thread>

#include "others.h"
#include "tap.h"

using namespace others;

namespace {

constexpr unsigned kFreezeMs = 4000;
constexpr int64_t kPause = 1500;  // far less than that, and more than a busy machine makes
const char* const kBoard = "/var/tmp/foreign.board";
const char* const kProgram = "/var/tmp/foreign.suid";
const char* const kPlain = "/var/tmp/foreign.plain";

// Root's, and the user's in the same session and process group. The user's has a child that never comes to
// rest.
class Job {
 public:
  Job() {
    shell_.emplace([this] { shell(); });
    if (!until([this] { return board_->ready == 1 && board_->ticks > 3; }))
      throw std::runtime_error("the job does not start");
  }
  ~Job() {
    kill(-shell_->pid(), SIGKILL);
    unlink(kBoard);
  }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  Board* board() { return board_; }
  pid_t user() const { return board_->result; }
  pid_t leader() const { return shell_->pid(); }

 private:
  void shell() {
    setsid();
    const pid_t user = static_cast<pid_t>(must(fork(), "fork"));
    if (user == 0) user_process();
    board_->result = user;
    prctl(PR_SET_NAME, "root-secret");
    tick(board_, true);
  }
  // In vfork() until its child, who stays, has memory of its own.
  [[noreturn]] void user_process() {
    become(kUser);
    prctl(PR_SET_NAME, "\033[2J\x7f\xc2\x9b\xffjob");
    board_->ready = 1;
    if (vfork() == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      for (;;) pause();
    }
    _exit(0);
  }

  Board* board_ = new_board(kBoard);
  std::optional<Child> shell_;
};

bool printable(const char* text) {
  for (const auto* c = reinterpret_cast<const unsigned char*>(text); *c; c++)
    if ((*c < 0x20 && *c != '\n') || *c >= 0x7f) return false;
  return true;
}

// By a request that tells those who registered, or one (`quiet`) that comes to the freeze at once.
void refused(crt::Tap& tap, std::string where, uint32_t scope, bool by_leader, bool quiet = false) {
  Job job;
  Board* board = job.board();
  cryo_checkpoint request = request_for(by_leader ? job.leader() : job.user(), scope, kFreezeMs);
  if (quiet) {
    request.flags |= CRYO_CKPT_NO_CALLBACKS;
    where += ", nobody to be told";
  }
  const int error = request_as(board, kUser, request);
  // Also when the last tick was the last before a pause.
  const int64_t ticks = board->ticks;
  const bool runs = until([&] { return board->ticks > ticks + 2; });
  tap.ok(error == EPERM, where + ": refused: " + std::strerror(error));
  tap.ok(std::strstr(board->log, "there is a process in") || std::strstr(board->log, "may not trace it"),
         where + ": the log says why");
  tap.ok(runs && board->longest < kPause,
         where + ": root's process runs on; longest pause " + std::to_string(board->longest) + " ms");
  tap.ok(!board->told, where + ": it is not told");
  tap.ok(std::strstr(board->log, "root-secret") == nullptr, where + ": it is not named");
  tap.ok(printable(board->log), where + ": the log holds no control characters");
  tap.diag(board->log);
}

// Copies of this program: one that is set-user-id, and root's; one that is not.
void install() {
  for (const char* copy : {kProgram, kPlain}) {
    std::filesystem::copy_file("/proc/self/exe", copy, std::filesystem::copy_options::overwrite_existing);
    must(chown(copy, 0, 0), copy);
    must(chmod(copy, copy == kProgram ? 04755 : 0755), copy);
  }
}

// What the copies do: run for a moment, and become the other one. That which is root's notes how long it
// stood still, from before its exec() on.
int as_copy() {
  const int fd = open(kBoard, O_RDWR);
  void* at = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (at == MAP_FAILED) return 1;
  close(fd);
  auto* board = static_cast<Board*>(at);
  const bool root = geteuid() == 0;
  for (const int64_t end = now_ms() + 5; now_ms() < end;) {
    const int64_t now = now_ms();
    syscall(SYS_getpid);
    if (root && now - board->last > board->longest) board->longest = now - board->last;
    board->last = now;
  }
  board->ticks += root;
  if (root && setresuid(kUser, kUser, kUser) != 0) return 1;
  const char* const other = root ? kPlain : kProgram;
  char* const argv[] = {const_cast<char*>(other), const_cast<char*>("copy"), nullptr};
  // The user's own may have stood still up to here. What is called now is bound already.
  board->last = now_ms();
  syscall(SYS_execve, other, argv, environ);
  return 1;
}

// The user has a process that becomes such a program again and again: requests meet it at any instruction,
// exec() included. His tree does not come to rest, as above.
void set_user_id(crt::Tap& tap) {
  Board* board = new_board(kBoard);
  Child user([&] {
    become(kUser);
    must(setsid(), "setsid");
    if (fork() == 0) {
      if (vfork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;) pause();
      }
      _exit(0);
    }
    if (fork() == 0) {
      execl(kPlain, kPlain, "copy", nullptr);
      _exit(1);
    }
    for (;;) pause();
  });
  tap.ok(until([&] { return board->ticks > 10; }), "a process becomes a set-user-id program again and again");
  int refused = 0, late = 0, other = 0;
  for (int i = 0; i < 40 && (i < 10 || !late || !refused); i++) {
    const int error = request_as(board, kUser, request_for(user.pid(), CRYO_SCOPE_TREE, kFreezeMs));
    refused += error == EPERM;
    late += error == ETIMEDOUT;
    other += error != EPERM && error != ETIMEDOUT;
    if (error != EPERM && error != ETIMEDOUT) tap.diag(std::strerror(error) + std::string(": ") + board->log);
  }
  tap.ok(other == 0, "a user's checkpoints of it: " + std::to_string(refused) + " refused, " +
                         std::to_string(late) + " not at rest in time, " + std::to_string(other) +
                         " neither");
  tap.ok(refused > 0, "... some meet it as that");
  tap.ok(board->longest < kPause,
         "it never stands still; longest pause " + std::to_string(board->longest) + " ms");
  kill(-user.pid(), SIGKILL);
  user.end();
}

// A process that the user may trace when it is asked to stop, and may not when it could: it waits for a child
// of vfork(), who makes both of them not dumpable. Others of the tree keep the freeze waiting.
void changes_when_asked(crt::Tap& tap) {
  Board* board = new_board(kBoard);
  Child user([&] {
    become(kUser);
    must(setsid(), "setsid");
    if (fork() == 0) {
      if (vfork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;) pause();
      }
      _exit(0);
    }
    if (fork() == 0) {
      if (vfork() == 0) {
        while (!board->ready) usleep(10000);
        usleep(1000000);
        prctl(PR_SET_DUMPABLE, 0);
        board->last = now_ms();
        _exit(0);
      }
      board->longest = now_ms() - board->last;
      board->told = 1;
    }
    for (;;) pause();
  });
  usleep(500000 * factor());
  board->ready = 1;
  const int error = request_as(board, kUser, request_for(user.pid(), CRYO_SCOPE_TREE, kFreezeMs));
  tap.ok(error == EPERM, std::string("a process that may not be traced any more when it comes to rest: ") +
                             std::strerror(error));
  tap.ok(board->elapsed < kFreezeMs, "... at once, after " + std::to_string(board->elapsed) + " ms");
  tap.ok(until([&] { return board->told == 1; }) && board->longest < kPause,
         "... it does not stand still; it came back after " + std::to_string(board->longest) + " ms");
  tap.diag(board->log);
  kill(-user.pid(), SIGKILL);
  user.end();
}

// Threads that have come to rest belong to a memory that another process has, too, who is not asked for: that
// makes it not dumpable. Another thread keeps the freeze waiting; it is his child, in vfork().
void changes_from_outside(crt::Tap& tap) {
  Board* board = new_board(kBoard);
  Child user([&] {
    become(kUser);
    std::thread([&] {
      if (vfork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        while (!board->ready) usleep(10000);
        // All are let go at first, to come again with more patience.
        usleep(kFreezeMs * 1000 * 2 / 3);
        prctl(PR_SET_DUMPABLE, 0);
        for (;;) pause();
      }
      _exit(0);
    }).detach();
    for (;;) pause();
  });
  usleep(500000 * factor());
  board->ready = 1;
  const int error = request_as(board, kUser, request_for(user.pid(), CRYO_SCOPE_PROCESS, kFreezeMs));
  tap.ok(error == EPERM && board->elapsed < kFreezeMs,
         "memory that another process makes not dumpable while it comes to rest: EPERM, after " +
             std::to_string(board->elapsed) + " ms: " + std::strerror(error));
  tap.diag(board->log);
}

int participant() {
  cryo_client args{};
  args.size = sizeof(args);
  return static_cast<int>(must(ioctl(device(), CRYO_IOC_CLIENT, &args), "CRYO_IOC_CLIENT"));
}

[[noreturn]] void vote_for_the_end(int fd) {
  cryo_client_request r{};
  r.size = sizeof(r);
  must(ioctl(fd, CRYO_CLIENT_WAIT, &r), "CRYO_CLIENT_WAIT");
  cryo_client_vote v{};
  v.size = sizeof(v);
  v.vote = CRYO_VOTE_PERMANENT;
  v.code = 7;
  ioctl(fd, CRYO_CLIENT_VOTE, &v);
  for (;;) pause();
}

// While one of them does not vote, another one makes itself not dumpable: that is not seen at the end of the
// time limit only.
void changes_while_voting(crt::Tap& tap) {
  Board* board = new_board(kBoard);
  Child user([&] {
    become(kUser);
    must(setsid(), "setsid");
    if (fork() == 0) {
      pollfd told{participant(), POLLIN, 0};
      board->ready = 1;
      poll(&told, 1, -1);
      board->told = 1;
      for (;;) pause();
    }
    if (fork() == 0) {
      while (!board->told) usleep(10000);
      prctl(PR_SET_DUMPABLE, 0);
      for (;;) pause();
    }
    for (;;) pause();
  });
  until([&] { return board->ready == 1; });
  cryo_checkpoint request = request_for(user.pid(), CRYO_SCOPE_TREE, kFreezeMs);
  request.timeout_ms = 12000 * factor();
  const int error = request_as(board, kUser, request);
  tap.ok(error == EPERM && board->elapsed < 6000 * factor(),
         "one that may not be traced any more while another one does not vote: EPERM, after " +
             std::to_string(board->elapsed) + " ms: " + std::strerror(error));
  tap.diag(board->log);
  kill(-user.pid(), SIGKILL);
}

// Votes for the death of all: his own only.
void vote(crt::Tap& tap) {
  Board* board = new_board(kBoard);
  Child shell([&] {
    setsid();
    if (fork() == 0) {
      become(kUser);
      const int fd = participant();
      board->result = getpid();
      if (fork() == 0)
        for (;;) pause();
      board->ready = 1;
      vote_for_the_end(fd);
    }
    signal(SIGCHLD, SIG_IGN);
    tick(board, false);
  });
  until([&] { return board->ready == 1 && board->ticks > 3; });
  const pid_t voter = board->result;
  const int error = request_as(board, 0, request_for(shell.pid(), CRYO_SCOPE_SESSION, kFreezeMs));
  tap.ok(error == ECANCELED,
         std::string("root's checkpoint of a session, in which a user votes for its end: ") +
             std::strerror(error));
  tap.ok(until([&] { return kill(voter, 0) != 0; }), "his process is killed");
  const int64_t ticks = board->ticks;
  tap.ok(shell.alive() && until([&] { return board->ticks > ticks + 2; }), "root's is not");
  tap.ok(std::strstr(board->log, "voted for that, may not signal it") != nullptr, "and the log says so");
  tap.diag(board->log);
  kill(-shell.pid(), SIGKILL);
}

// The same where the process that asks for the checkpoint is one of those that it is of: the kernel asks
// nobody who signals himself.
void vote_against_requester(crt::Tap& tap) {
  Board* board = new_board(kBoard);
  Child shell([&] {
    setsid();
    if (fork() == 0) {
      become(kUser);
      const int fd = participant();
      board->ready = 1;
      vote_for_the_end(fd);
    }
    signal(SIGCHLD, SIG_IGN);
    while (board->ready != 1) usleep(10000);
    cryo_checkpoint c = request_for(getpid(), CRYO_SCOPE_SESSION, kFreezeMs);
    c.flags |= CRYO_CKPT_SELF;
    board->error = run_request(board, c);
    tick(board, false);
  });
  tap.ok(until([&] { return board->ticks > 2 || !shell.alive(); }) && board->ticks > 2 &&
             board->error == ECANCELED,
         std::string("nor is root's process that has asked for the checkpoint of itself: ") +
             std::strerror(board->error));
  tap.diag(board->log);
  kill(-shell.pid(), SIGKILL);
}

void limits(crt::Tap& tap) {
  Job job;
  Board* board = job.board();
  Child requester([&] {
    become(kUser);
    const int dev = device();
    int n = 0, error = 0;
    for (; n < 1000 && !error; n++) {
      cryo_client args{};
      args.size = sizeof(args);
      if (ioctl(dev, CRYO_IOC_CLIENT, &args) < 0) error = errno;
    }
    board->error = error;
    board->elapsed = n - 1;
  });
  requester.wait();
  tap.ok(board->error == ENOSPC && board->elapsed == CRYO_MAX_CLIENTS,
         "a process has " + std::to_string(board->elapsed) +
             " registrations at most: " + std::strerror(board->error));

  board->log[0] = '\0';
  Child patient([&] {
    become(kUser);
    // More than an int holds: not for ever.
    cryo_checkpoint c = request_for(job.user(), CRYO_SCOPE_PROCESS, 3000000000U);
    const int fd = static_cast<int>(must(ioctl(device(), CRYO_IOC_CHECKPOINT, &c), "CRYO_IOC_CHECKPOINT"));
    if (fork() == 0) {
      sleep(2);
      ioctl(fd, CRYO_CKPT_CANCEL);
      _exit(0);
    }
    board->error = ioctl(fd, CRYO_CKPT_RUN) < 0 ? errno : 0;
    const ssize_t n = read(fd, board->log, sizeof(board->log) - 1);
    board->log[n > 0 ? n : 0] = '\0';
  });
  patient.wait();
  tap.ok(board->error == ECANCELED &&
             std::strstr(board->log, "at most 60 s to freeze: more requires CAP_SYS_ADMIN") != nullptr,
         "a user's patience is bounded");
  tap.diag(board->log);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == "copy") return as_copy();
  crt::Tap tap;
  if (getuid() != 0) {
    std::cout << "1..0 # SKIP needs root" << std::endl;
    return 0;
  }
  try {
    install();
    refused(tap, "process group", CRYO_SCOPE_PGRP, true);
    refused(tap, "session", CRYO_SCOPE_SESSION, true);
    refused(tap, "control group", CRYO_SCOPE_CGROUP, false);
    refused(tap, "process group", CRYO_SCOPE_PGRP, true, true);
    refused(tap, "session", CRYO_SCOPE_SESSION, true, true);
    refused(tap, "control group", CRYO_SCOPE_CGROUP, false, true);
    set_user_id(tap);
    changes_when_asked(tap);
    changes_from_outside(tap);
    changes_while_voting(tap);
    vote(tap);
    vote_against_requester(tap);
    limits(tap);
  } catch (const std::exception& error) {
    tap.ok(false, error.what());
  }
  unlink(kProgram);
  unlink(kPlain);
  unlink(kBoard);
  return tap.finish();
}
