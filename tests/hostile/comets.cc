// SPDX-License-Identifier: GPL-2.0-only
// A process group of a user in which processes are there for a moment only, each forked by the one before: a
// request of the group ends by the time limit of the freeze at the latest, and the one process that stays is
// not kept from running for longer. Those that have gone are not kept in any number, neither those that have
// registered with the module.
#include <cryo/client.h>
#include <cryo/ioctl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>

#include "../state/tap.h"
#include "others.h"

using namespace others;

namespace {

constexpr unsigned kComets = 60, kLanes = 24, kFreezeMs = 2000;

enum class Kind { kProcesses, kRegistered, kThreads, kChain };

constexpr long kKept = 16384;  // three times 4096, and those that are there

[[noreturn]] void fly(bool registered) {
  const int cryo = registered ? device() : -1;
  for (;;) {
    cryo_client args{};
    args.size = sizeof(args);
    const int client = registered ? ioctl(cryo, CRYO_IOC_CLIENT, &args) : -1;
    const pid_t next = fork();
    if (next > 0) _exit(0);
    if (client >= 0) close(client);
  }
}

// A thread that goes on as another one. It may have its stack when the one that had it before has gone.
struct Lane {
  std::atomic<pid_t> tid[2];
  struct End {
    Lane* lane;
    unsigned at;
  } ends[2];
  alignas(16) char stacks[2][4096];
};

int fly_on(void* arg) {
  const Lane::End& end = *static_cast<Lane::End*>(arg);
  Lane& lane = *end.lane;
  const unsigned next = 1 - end.at;
  constexpr int kThread = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
                          CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
  while (lane.tid[next] != 0) continue;
  while (clone(fly_on, lane.stacks[next] + sizeof(lane.stacks[next]), kThread, &lane.ends[next],
               &lane.tid[next], nullptr, &lane.tid[next]) < 0)
    continue;
  syscall(SYS_exit, 0);
  return 0;
}

[[noreturn]] void fly_as_threads() {
  static Lane lanes[kLanes];
  for (Lane& lane : lanes) {
    lane.ends[0] = {&lane, 0};
    lane.ends[1] = {&lane, 1};
    lane.tid[0] = 1;
    if (pthread_t thread; pthread_create(
                              &thread, nullptr,
                              [](void* at) -> void* {
                                fly_on(at);
                                return nullptr;
                              },
                              &lane.ends[0]) != 0)
      _exit(1);
    lane.tid[0] = 0;
  }
  for (;;) pause();
}

// Processes, and those that have gone and are kept: task_struct alone would count what the kernel has not got
// to freeing yet.
long kept() {
  FILE* const file = fopen("/proc/slabinfo", "r");
  char line[256];
  long count = 0;
  while (file && fgets(line, sizeof(line), file))
    if (sscanf(line, "signal_cache %ld", &count) == 1) break;
  if (file) fclose(file);
  return count;
}

int enroll() {
  cryo_client args{};
  args.size = sizeof(args);
  return static_cast<int>(must(ioctl(device(), CRYO_IOC_CLIENT, &args), "CRYO_IOC_CLIENT"));
}

// Each has another one that registers before it votes.
[[noreturn]] void chain() {
  cryo_client_request request{};
  request.size = sizeof(request);
  cryo_client_vote vote{};
  vote.size = sizeof(vote);
  int ready[2];
  char byte = 0;
  must(pipe(ready), "pipe");
  int client = enroll();
  must(ioctl(client, CRYO_CLIENT_WAIT, &request), "CRYO_CLIENT_WAIT");
  while (fork() == 0) {
    close(client);
    client = enroll();
    must(write(ready[1], &byte, 1), "write");
    must(ioctl(client, CRYO_CLIENT_WAIT, &request), "CRYO_CLIENT_WAIT");
  }
  must(read(ready[0], &byte, 1), "read");
  must(ioctl(client, CRYO_CLIENT_VOTE, &vote), "CRYO_CLIENT_VOTE");
  for (;;) ioctl(client, CRYO_CLIENT_WAIT, &request);
}

// The group is that of the one that ticks.
void lead(Board* board, Kind kind) {
  become(kUser);
  must(setpgid(0, 0), "setpgid");
  if (kind == Kind::kThreads && fork() == 0) fly_as_threads();
  if (kind == Kind::kChain && fork() == 0) chain();
  const unsigned comets = kind == Kind::kProcesses ? kComets : kind == Kind::kRegistered ? kComets / 2 : 0;
  for (unsigned i = 0; i < comets / factor(); i++)
    if (fork() == 0) fly(kind == Kind::kRegistered);
  signal(SIGCHLD, SIG_IGN);
  tick(board, false);
}

// In ms; `error` is 0 or the errno of CRYO_CKPT_RUN.
int64_t run(pid_t leader, int& error, Board* log) {
  cryo_checkpoint args{};
  args.size = sizeof(args);
  args.target = leader;
  args.scope = CRYO_SCOPE_PGRP;
  args.out_fd = -1;
  args.flags = CRYO_CKPT_DRY_RUN;
  args.freeze_ms = kFreezeMs * factor();
  const int handle =
      static_cast<int>(must(ioctl(device(), CRYO_IOC_CHECKPOINT, &args), "CRYO_IOC_CHECKPOINT"));
  const int64_t begin = now_ms();
  error = ioctl(handle, CRYO_CKPT_RUN, 0) < 0 ? errno : 0;
  const int64_t took = now_ms() - begin;
  const ssize_t got = read(handle, log->log, sizeof(log->log) - 1);
  log->log[got > 0 ? got : 0] = '\0';
  close(handle);
  return took;
}

void test(crt::Tap& tap, Kind kind, const std::string& what) {
  Board* const board = new_board();
  const Child leader([&] { lead(board, kind); });
  while (board->ticks < 20) usleep(10000);
  board->longest = 0;
  long most = 0;
  Board* const result = new_board();
  const Child requester([&] {
    int error = -1;
    become(kUser);
    result->last = run(leader.pid(), error, result);
    result->longest = error;
    result->ticks = 1;
  });
  // Callbacks have no time limit: of those that register, so many rounds are asked as the module has patience
  // for.
  const bool rounds = kind == Kind::kRegistered || kind == Kind::kChain;
  const int64_t end = now_ms() + (rounds ? 120 : 10) * kFreezeMs * factor();
  while (result->ticks == 0 && now_ms() < end) {
    usleep(50000);
    most = std::max(most, kept());
  }
  tap.ok(result->ticks == 1, "a request of a group " + what + " ends");
  tap.ok(most < kKept, "... and keeps no more of them than it may");
  tap.diag("up to " + std::to_string(most) + " were kept");
  tap.ok(rounds || result->last < 4 * kFreezeMs * factor(), "... by the time limit of the freeze");
  tap.ok(result->longest == 0 || result->longest == ETIMEDOUT, "... well, or with ETIMEDOUT");
  tap.diag("it took " + std::to_string(result->last) + " ms, errno " + std::to_string(result->longest) +
           ": " + result->log);
  if (kind == Kind::kChain)
    tap.ok(result->longest == 0 &&
               std::strstr(result->log, "it keeps creating processes: callbacks of some may not be run"),
           "... without all of them, and says so");
  const int64_t ticks = board->ticks;
  usleep(500000);
  tap.ok(board->ticks > ticks, "the process that stays runs then");
  tap.ok(board->longest < 4 * kFreezeMs * factor(),
         "... and has stood still for no longer than the time limit of the freeze");
  tap.diag("it stood still for " + std::to_string(board->longest) + " ms");
  kill(-leader.pid(), SIGKILL);
}

}  // namespace

int main() {
  crt::Tap tap;
  try {
    test(tap, Kind::kProcesses, "whose processes come and go");
    test(tap, Kind::kRegistered, "whose processes come, register and go");
    test(tap, Kind::kThreads, "whose threads come and go");
    test(tap, Kind::kChain, "in which there is one more for each that is asked");
  } catch (const std::exception& error) {
    tap.ok(false, error.what());
  }
  return tap.finish();
}
