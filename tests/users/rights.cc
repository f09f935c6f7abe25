// SPDX-License-Identifier: GPL-2.0-only
// Who may checkpoint whom: one table for two users and root, with Yama at each level, processes that are not
// dumpable, that have changed their credentials, and descendants; what a request says of others where /proc
// hides them. Yama's level 3 stays until the machine ends: it comes last.
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <fstream>
#include <thread>
#include <vector>

#include "each_level.h"
#include "others.h"
#include "tap.h"

using namespace others;

namespace {

const char* const kYama = "/proc/sys/kernel/yama/ptrace_scope";
constexpr int kLevels = 4;

enum class Kind { kPlain, kNotDumpable, kPermits, kChild, kSelf, kWasRoot };

struct Row {
  const char* text;
  uid_t requester;
  uid_t target;
  Kind kind;
  int error[kLevels];  // with Yama at 0, 1, 2, 3
};

constexpr Row kTable[] = {
    {"his own process", kUser, kUser, Kind::kPlain, {0, EPERM, EPERM, EPERM}},
    {"his own child", kUser, kUser, Kind::kChild, {0, 0, EPERM, EPERM}},
    {"his own that permits it (PR_SET_PTRACER)", kUser, kUser, Kind::kPermits, {0, 0, EPERM, EPERM}},
    {"himself", kUser, kUser, Kind::kSelf, {0, 0, 0, 0}},
    {"his own that is not dumpable", kUser, kUser, Kind::kNotDumpable, {EPERM, EPERM, EPERM, EPERM}},
    {"one that was root's before setuid()", kUser, kUser, Kind::kWasRoot, {EPERM, EPERM, EPERM, EPERM}},
    {"another user's", kUser, kOther, Kind::kPlain, {EPERM, EPERM, EPERM, EPERM}},
    {"another user's that permits it", kUser, kOther, Kind::kPermits, {EPERM, EPERM, EPERM, EPERM}},
    {"root's", kUser, 0, Kind::kPlain, {EPERM, EPERM, EPERM, EPERM}},
    {"a user's, for root", 0, kUser, Kind::kPlain, {0, 0, 0, EPERM}},
    {"another user's, for root", 0, kOther, Kind::kPlain, {0, 0, 0, EPERM}},
    {"one that is not dumpable, for root", 0, kUser, Kind::kNotDumpable, {0, 0, 0, EPERM}},
    {"root's own", 0, 0, Kind::kPlain, {0, 0, 0, EPERM}},
};

class Test {
 public:
  int run() {
    after_setuid();
    changes_while_it_runs();
    hidden();
    changes_users();
    if (access(kYama, W_OK) != 0) {
      level(0);
      tap_.skip("Yama", "this kernel has none");
    } else {
      std::ofstream(kYama) << 0 << std::endl;
      EachLevel more(tap_, board_);
      for (int i = 0; i < kLevels; i++) {
        std::ofstream(kYama) << i << std::endl;
        level(i);
        more.at(i);
        if (i == 1) comes_and_goes();
      }
    }
    return tap_.finish();
  }

 private:
  void expect(int got, int wanted, const std::string& text) {
    if (!tap_.ok(got == wanted, text + ": " + (wanted ? "refused" : "allowed")))
      tap_.diag(std::string("it is ") + std::strerror(got) + "\n" + board_->log);
  }

  [[noreturn]] void be_target(const Row& row) {
    if (row.kind == Kind::kWasRoot) {
      must(setresgid(row.target, row.target, row.target), "setresgid");
      must(setresuid(row.target, row.target, row.target), "setresuid");
    } else {
      become(row.target);
    }
    if (row.kind == Kind::kNotDumpable) must(prctl(PR_SET_DUMPABLE, 0), "PR_SET_DUMPABLE");
    // Yama may not be there.
    if (row.kind == Kind::kPermits) prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    board_->ready = 1;
    for (;;) pause();
  }

  int own_child(const Row& row) {
    Child requester([&] {
      become(row.requester);
      const pid_t child = static_cast<pid_t>(must(fork(), "fork"));
      if (child == 0) be_target(row);
      until([this] { return board_->ready == 1; });
      board_->error = run_request(board_, request_for(child, CRYO_SCOPE_PROCESS, 0));
      kill(child, SIGKILL);
    });
    requester.wait();
    return board_->error;
  }

  int himself(const Row& row) {
    Child requester([&] {
      become(row.requester);
      cryo_checkpoint c = request_for(0, CRYO_SCOPE_PROCESS, 0);
      c.flags |= CRYO_CKPT_SELF;
      board_->error = run_request(board_, c);
    });
    requester.wait();
    return board_->error;
  }

  int error_of(const Row& row) {
    board_->ready = 0;
    board_->error = -1;
    if (row.kind == Kind::kChild) return own_child(row);
    if (row.kind == Kind::kSelf) return himself(row);
    Child target([&] { be_target(row); });
    if (!until([this] { return board_->ready == 1; })) return -1;
    return request_as(board_, row.requester, request_for(target.pid(), CRYO_SCOPE_PROCESS, 0));
  }

  void level(int yama) {
    for (const Row& row : kTable)
      expect(error_of(row), row.error[yama], "Yama " + std::to_string(yama) + ": " + row.text);
  }

  // Of what has just ended Yama says from level 1 on that nobody may trace it: that is no refusal.
  void comes_and_goes() {
    board_->ticks = 0;
    Child target([&] {
      become(kUser);
      must(setsid(), "setsid");
      for (int i = 0; i < 4; i++)
        if (fork() == 0)
          for (;;) {
            std::thread thread([] {});
            const pid_t child = fork();
            if (child == 0) _exit(0);
            thread.join();
            waitpid(child, nullptr, 0);
            board_->ticks++;
          }
      for (;;) pause();
    });
    until([this] { return board_->ticks > 20; });
    int refused = 0, good = 0;
    for (int i = 0; i < 40; i++) {
      const int error = request_as(board_, 0, request_for(target.pid(), CRYO_SCOPE_TREE, 0));
      refused += error == EPERM;
      good += error == 0;
      if (error != 0) tap_.diag(std::strerror(error) + std::string(": ") + board_->log);
    }
    tap_.ok(refused == 0, "threads and processes that come and go: " + std::to_string(good) +
                              " of 40 allowed, " + std::to_string(refused) + " refused");
    kill(-target.pid(), SIGKILL);
  }

  // A handle gives no right: who runs the request is asked.
  void after_setuid() {
    Child target([] {
      for (;;) pause();
    });
    Child requester([&] {
      cryo_checkpoint c = request_for(target.pid(), CRYO_SCOPE_PROCESS, 0);
      const int fd = static_cast<int>(must(ioctl(device(), CRYO_IOC_CHECKPOINT, &c), "CRYO_IOC_CHECKPOINT"));
      become(kUser);
      board_->error = ioctl(fd, CRYO_CKPT_RUN) < 0 ? errno : 0;
    });
    requester.wait();
    expect(board_->error, EPERM, "root's handle, run by a user");
  }

  // The handle is made while the target is the user's; it is not when the request runs, or not any more while
  // it stands still.
  void changes_while_it_runs() {
    board_->ready = 0;
    Child target([&] {
      become(kUser);
      board_->ready = 1;
      until([this] { return board_->ready == 2; });
      must(prctl(PR_SET_DUMPABLE, 0), "PR_SET_DUMPABLE");
      board_->ready = 3;
      for (;;) pause();
    });
    until([this] { return board_->ready == 1; });
    Child requester([&] {
      become(kUser);
      cryo_checkpoint c = request_for(target.pid(), CRYO_SCOPE_PROCESS, 0);
      const int fd = static_cast<int>(must(ioctl(device(), CRYO_IOC_CHECKPOINT, &c), "CRYO_IOC_CHECKPOINT"));
      board_->ready = 2;
      until([this] { return board_->ready == 3; });
      board_->error = ioctl(fd, CRYO_CKPT_RUN) < 0 ? errno : 0;
    });
    requester.wait();
    expect(board_->error, EPERM, "a target that is not dumpable since the handle was made");
  }

  // In a /proc with hidepid=2, root's process in what the user asks for has neither a pid nor a name.
  void hidden() {
    const std::string group = "/sys/fs/cgroup/cryo-hidden";
    must(unshare(CLONE_NEWNS), "unshare");
    must(mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr), "mount");
    must(mount("none", "/proc", "proc", MS_REMOUNT, "hidepid=2"), "hidepid=2");
    mkdir(group.c_str(), 0755);
    board_->ready = 0;
    pid_t users = 0;
    {
      Child leader([&] {
        setsid();
        std::ofstream(group + "/cgroup.procs") << 0 << std::endl;
        prctl(PR_SET_NAME, "hidden-name");
        int ends[2];
        must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), "socketpair");
        const pid_t user = static_cast<pid_t>(must(fork(), "fork"));
        if (user == 0) {
          close(ends[0]);
          become(kUser);
          prctl(PR_SET_NAME, "mine");
          for (int fd = 0; fd < 3; fd++) dup2(open("/dev/null", O_RDWR), fd);
          board_->result = getpid();
          board_->ready = 1;
          for (;;) pause();
        }
        close(ends[1]);
        for (;;) pause();
      });
      until([this] { return board_->ready == 1; });
      users = board_->result;
      const std::string number = "pid " + std::to_string(leader.pid()) + " ";
      const auto look = [&](pid_t target, uint32_t scope, int wanted, const std::string& what) {
        board_->log[0] = '\0';
        const int error = request_as(board_, kUser, request_for(target, scope, 0));
        const std::string log = board_->log;
        expect(error, wanted, what);
        if (!tap_.ok(log.find("hidden-name") == std::string::npos && log.find(number) == std::string::npos,
                     "... and neither pid nor name of what is hidden"))
          tap_.diag(log);
        return log;
      };
      const std::string log =
          look(leader.pid(), CRYO_SCOPE_SESSION, EPERM, "a session with a process of root");
      tap_.ok(log.find("not trace") != std::string::npos, "... the log says why");
      look(leader.pid(), CRYO_SCOPE_PGRP, EPERM, "a process group with a process of root");
      look(users, CRYO_SCOPE_CGROUP, EPERM, "a control group with a process of root");
      look(leader.pid(), CRYO_SCOPE_PROCESS, EPERM, "a process of root by its number");
      look(users, CRYO_SCOPE_PROCESS, EOPNOTSUPP, "a process at the other end of whose connection root's is");
      kill(-leader.pid(), SIGKILL);
    }
    until([&] { return rmdir(group.c_str()) == 0; });
    must(mount("none", "/proc", "proc", MS_REMOUNT, "hidepid=0"), "hidepid=0");
  }

  // Threads that change the user of all of them, to the one that they have, while others ask for them: each
  // waits for the others then, some of which stand still.  And root's process that is sometimes the user's is
  // not stopped at any instant.
  void changes_users() {
    board_->ready = 0;
    board_->ticks = 0;
    Child target([&] {
      become(kUser);
      for (int i = 0; i < 3; i++)
        std::thread([&] {
          for (;;) {
            if (setresuid(kUser, kUser, kUser) == 0) board_->ticks++;
            usleep(1000);
          }
        }).detach();
      board_->ready = 1;
      for (;;) pause();
    });
    until([this] { return board_->ready == 1 && board_->ticks > 10; });
    int good = 0;
    for (int i = 0; i < 20; i++)
      good += request_as(board_, kUser, request_for(target.pid(), CRYO_SCOPE_PROCESS, 0)) == 0;
    const int64_t before = board_->ticks;
    tap_.ok(good == 20,
            "threads in the middle of setresuid(): " + std::to_string(good) + " of 20 checkpoints");
    tap_.ok(until([&] { return board_->ticks > before + 10; }), "... and they go on with it");
    if (good != 20) tap_.diag(board_->log);
    board_->ready = 0;
    Child other([&] {
      board_->ready = 1;
      for (;;) {
        if (setresuid(kUser, kUser, 0) != 0 || prctl(PR_SET_DUMPABLE, 1) != 0 || setresuid(0, 0, 0) != 0)
          _exit(1);
        board_->ticks++;
      }
    });
    until([this] { return board_->ready == 1; });
    int refused = 0;
    for (int i = 0; i < 40; i++)
      refused += request_as(board_, kUser, request_for(other.pid(), CRYO_SCOPE_PROCESS, 0)) == EPERM;
    tap_.ok(refused == 40,
            "one that is root's and the user's in turn: " + std::to_string(refused) + " of 40 refused");
  }

  crt::Tap tap_;
  Board* board_ = new_board();
};

}  // namespace

int main() {
  if (getuid() != 0) {
    std::cout << "1..0 # SKIP needs root" << std::endl;
    return 0;
  }
  try {
    return Test().run();
  } catch (const std::exception& error) {
    std::cout << "Bail out! " << error.what() << std::endl;
    return 1;
  }
}
