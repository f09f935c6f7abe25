// SPDX-License-Identifier: GPL-2.0-only
// A process becomes another user's at a moment at which a request has stopped, in a module that has places
// for that (kmod/lib/point.c): it does not stand still for who may not trace it any more. And what a request
// does when its time is over, or when it is cancelled, at such a moment. For tests/points/inside.
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "others.h"
#include "tap.h"

using namespace others;

namespace {

constexpr unsigned kFreezeMs = 4000;
const char* const kBoard = "/var/tmp/becomes.board";
const char* const kProgram = "/var/tmp/becomes.suid";
const std::string kParameters = "/sys/module/cryo/parameters/";

void set_parameter(const std::string& name, const std::string& value) {
  std::ofstream(kParameters + name) << value << std::endl;
}

pid_t stopped() {
  pid_t pid = 0;
  std::ifstream(kParameters + "stop_pid") >> pid;
  return pid;
}

// Who has come to rest, by the module's tracepoint.
class Parks {
 public:
  Parks() {
    if (!std::filesystem::exists(kTracing + "/trace")) mount("none", kTracing.c_str(), "tracefs", 0, nullptr);
    enable("1");
  }
  ~Parks() { enable("0"); }
  Parks(const Parks&) = delete;
  Parks& operator=(const Parks&) = delete;

  bool works() const { return works_; }
  void forget() { std::ofstream(kTracing + "/trace", std::ios::trunc) << std::flush; }
  bool has(pid_t tid) const {
    std::ifstream trace(kTracing + "/trace");
    for (std::string line; std::getline(trace, line);)
      if (line.ends_with(" tid=" + std::to_string(tid))) return true;
    return false;
  }

 private:
  void enable(const char* text) {
    std::ofstream file(kTracing + "/events/cryo/cryo_park/enable");
    works_ = static_cast<bool>(file << text << std::flush);
  }

  const std::string kTracing = "/sys/kernel/tracing";
  bool works_ = false;
};

// A copy of this program that is set-user-id, and of another user than all others here.
void install() {
  std::filesystem::copy_file("/proc/self/exe", kProgram, std::filesystem::copy_options::overwrite_existing);
  must(chown(kProgram, kOther, kOther), kProgram);
  must(chmod(kProgram, 04755), kProgram);
}

// What the copy does: goes round, so that it comes to rest when it is asked to.
int as_copy() {
  const int fd = open(kBoard, O_RDWR);
  void* at = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (at == MAP_FAILED || geteuid() != kOther) return 1;
  close(fd);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (static_cast<Board*>(at)->ready = 2;;) usleep(10000);
}

void stays_itself(crt::Tap& tap, Parks& parks) {
  Board* board = new_board(kBoard);
  Child target([] {
    become(kUser);
    for (;;) usleep(10000);
  });
  usleep(100000);
  parks.forget();
  const int error = request_as(board, kUser, request_for(target.pid(), CRYO_SCOPE_PROCESS, kFreezeMs));
  tap.ok(error == 0 && parks.has(target.pid()),
         std::string("a user's process comes to rest, which is traced: ") + std::strerror(error));
  tap.diag(board->log);
}

// A user's request of `target` stops at `point`, and the target changes until it may go on.  Whether both
// came about.
bool changes_meanwhile(Board* board, pid_t target, const std::string& point) {
  set_parameter("stop_point", point);
  board->error = -1;
  Child requester([&] {
    become(kUser);
    board->error = run_request(board, request_for(target, CRYO_SCOPE_PROCESS, kFreezeMs));
  });
  const bool came = until([&] { return stopped() == requester.pid(); });
  board->result = 1;
  const bool changed = until([&] { return board->ready == 2; });
  set_parameter("stop_point", "");
  requester.wait();
  return came && changed;
}

void becomes_at(crt::Tap& tap, Parks& parks, const std::string& point) {
  Board* board = new_board(kBoard);
  Child target([&] {
    become(kUser);
    for (board->ready = 1; board->result != 1;) usleep(10000);
    execl(kProgram, kProgram, "copy", nullptr);
    _exit(1);
  });
  until([&] { return board->ready == 1; });
  parks.forget();
  const bool became = changes_meanwhile(board, target.pid(), point);
  tap.ok(became && board->error == EPERM,
         point +
             ": a process becomes another user's set-user-id program: EPERM: " + std::strerror(board->error));
  tap.ok(!parks.has(target.pid()),
         "... it does not stand still for a request that has stopped at \"" + point + "\"");
  tap.diag(board->log);
}

// All have come to rest; a process that is not asked for has the same memory, and makes that not dumpable.
void changes_when_frozen(crt::Tap& tap) {
  static Board* board;
  board = new_board(kBoard);
  Child target([] {
    static char stack[65536];
    become(kUser);
    clone(
        [](void*) {
          prctl(PR_SET_PDEATHSIG, SIGKILL);
          for (board->ready = 1; board->result != 1;) usleep(10000);
          prctl(PR_SET_DUMPABLE, 0);
          for (board->ready = 2;;) pause();
          return 0;
        },
        stack + sizeof(stack), CLONE_VM | SIGCHLD, nullptr);
    for (;;) pause();
  });
  until([] { return board->ready == 1; });
  const bool changed = changes_meanwhile(board, target.pid(), "frozen");
  tap.ok(changed && board->error == EPERM,
         std::string("memory that another process makes not dumpable when all are at rest: EPERM: ") +
             std::strerror(board->error));
  tap.diag(board->log);
}

// Who looks at the descriptors of a process sees at each of them whether he is to end.
void cancelled_while_looking(crt::Tap& tap) {
  constexpr int kPassed = 20, kOpen = 200;
  Board* board = new_board(kBoard);
  Child target([&] {
    become(kUser);
    for (int i = 0; i < kOpen; i++) must(open("/dev/null", O_RDONLY), "/dev/null");
    for (board->ready = 2;;) pause();
  });
  until([&] { return board->ready == 2; });
  set_parameter("stop_point", "look");
  Child requester([&] {
    become(kUser);
    cryo_checkpoint c = request_for(target.pid(), CRYO_SCOPE_PROCESS, kFreezeMs);
    const int fd = static_cast<int>(must(ioctl(device(), CRYO_IOC_CHECKPOINT, &c), "CRYO_IOC_CHECKPOINT"));
    if (fork() == 0) {
      while (board->result != 1) usleep(10000);
      ioctl(fd, CRYO_CKPT_CANCEL);
      board->ready = 1;
      _exit(0);
    }
    board->error = ioctl(fd, CRYO_CKPT_RUN) < 0 ? errno : 0;
    board->told = 1;
  });
  bool came = until([&] { return stopped() == requester.pid(); });
  for (int i = 0; i < kPassed && came; i++) {
    set_parameter("stop_point", "look");
    came = until([&] { return stopped() == requester.pid(); });
  }
  board->result = 1;
  const bool cancelled = until([&] { return board->ready == 1; });
  // It goes on, up to the next look.
  set_parameter("stop_point", "look");
  for (const int64_t end = now_ms() + 5000 * factor(); now_ms() < end && !board->told;) usleep(10000);
  const bool ended = board->told == 1;
  set_parameter("stop_point", "");
  requester.wait();
  tap.ok(came && cancelled && ended && board->error == ECANCELED,
         std::string("a request is cancelled while it looks: it ends before the next look: ") +
             std::strerror(board->error));
}

// A process that never comes to rest has as much time as anybody may wait, whatever the requester says.
void bound_of_freeze(crt::Tap& tap) {
  Board* board = new_board(kBoard);
  Child target([&] {
    become(kUser);
    board->ready = 1;
    if (vfork() == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      for (;;) pause();
    }
    _exit(0);
  });
  until([&] { return board->ready == 1; });
  usleep(100000);
  set_parameter("few_freeze_ms", "2000");
  cryo_checkpoint c = request_for(target.pid(), CRYO_SCOPE_PROCESS, 3000000000U);
  c.timeout_ms = 20000 * factor();
  const int error = request_as(board, kUser, c);
  set_parameter("few_freeze_ms", "0");
  tap.ok(error == ETIMEDOUT && board->elapsed < 10000 * factor(),
         "what a user gives a process to come to rest is bounded: " + std::to_string(board->elapsed) +
             " ms: " + std::strerror(error));
  tap.ok(std::strstr(board->log, "at most 2 s to freeze") != nullptr, "... which the log says");
  tap.diag(board->log);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == "copy") return as_copy();
  crt::Tap tap;
  if (getuid() != 0 || !std::filesystem::exists(kParameters + "stop_point")) {
    std::cout << "1..0 # SKIP needs root, and a module with points" << std::endl;
    return 0;
  }
  try {
    install();
    Parks parks;
    if (parks.works()) {
      stays_itself(tap, parks);
      becomes_at(tap, parks, "found");
      becomes_at(tap, parks, "noted");
    } else {
      tap.diag("this kernel traces nothing: who comes to rest cannot be seen");
    }
    changes_when_frozen(tap);
    cancelled_while_looking(tap);
    bound_of_freeze(tap);
  } catch (const std::exception& error) {
    tap.ok(false, error.what());
  }
  set_parameter("stop_point", "");
  unlink(kProgram);
  unlink(kBoard);
  return tap.finish();
}
