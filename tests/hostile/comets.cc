// SPDX-License-Identifier: GPL-2.0-only
// A process group of a user in which processes are there for a moment only, each forked by the one before: a request of the group ends
// by the time limit of the freeze at the latest, and the one process that stays is not kept from running for longer.
#include <cryo/ioctl.h>

#include "../state/tap.h"
#include "others.h"

using namespace others;

namespace {

constexpr unsigned kComets = 24, kFreezeMs = 2000;

[[noreturn]] void fly() {
    for (;;) {
        const pid_t next = fork();
        if (next > 0) _exit(0);
    }
}

// The group is that of the one that ticks.
void lead(Board* board) {
    become(kUser);
    must(setpgid(0, 0), "setpgid");
    for (unsigned i = 0; i < kComets; i++)
        if (fork() == 0) fly();
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
    const int handle = static_cast<int>(must(ioctl(device(), CRYO_IOC_CHECKPOINT, &args), "CRYO_IOC_CHECKPOINT"));
    const int64_t begin = now_ms();
    error = ioctl(handle, CRYO_CKPT_RUN, 0) < 0 ? errno : 0;
    const int64_t took = now_ms() - begin;
    const ssize_t got = read(handle, log->log, sizeof(log->log) - 1);
    log->log[got > 0 ? got : 0] = '\0';
    close(handle);
    return took;
}

void test(crt::Tap& tap) {
    Board* const board = new_board();
    const Child leader([&] { lead(board); });
    while (board->ticks < 20) usleep(10000);
    board->longest = 0;
    Board* const result = new_board();
    const Child requester([&] {
        int error = -1;
        become(kUser);
        result->last = run(leader.pid(), error, result);
        result->longest = error;
        result->ticks = 1;
    });
    const int64_t end = now_ms() + 10 * kFreezeMs * factor();
    while (result->ticks == 0 && now_ms() < end) usleep(50000);
    tap.ok(result->ticks == 1, "a request of a group whose processes come and go ends");
    tap.ok(result->last < 4 * kFreezeMs * factor(), "... by the time limit of the freeze");
    tap.ok(result->longest == 0 || result->longest == ETIMEDOUT, "... well, or with ETIMEDOUT");
    tap.diag("it took " + std::to_string(result->last) + " ms, errno " + std::to_string(result->longest) + ": " + result->log);
    const int64_t ticks = board->ticks;
    usleep(500000);
    tap.ok(board->ticks > ticks, "the process that stays runs then");
    tap.ok(board->longest < 4 * kFreezeMs * factor(), "... and has stood still for no longer than the time limit of the freeze");
    tap.diag("it stood still for " + std::to_string(board->longest) + " ms");
    kill(-leader.pid(), SIGKILL);
}

}  // namespace

int main() {
    crt::Tap tap;
    try {
        test(tap);
    } catch (const std::exception& error) {
        tap.ok(false, error.what());
    }
    return tap.finish();
}
