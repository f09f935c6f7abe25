// SPDX-License-Identifier: GPL-2.0-only
// Who hears of checkpoints: the administrator of the network namespace by events, others of their own by
// their handles.
#include "hear.h"
#include "tap.h"

using namespace others;

int main() {
  crt::Tap tap;
  try {
    Board* board = new_board();
    const int fd = listen_socket();
    int error = join(fd);
    tap.ok(error == 0, std::string("root listens: ") + std::strerror(error));
    Child user([&] {
      become(kUser);
      board->error = join(listen_socket());
    });
    user.wait();
    tap.ok(board->error == EPERM, std::string("a user does not: ") + std::strerror(board->error));

    Child target([&] {
      close(fd);
      become(kUser);
      for (;;) pause();
    });
    usleep(200000 * factor());
    error = request_as(board, kUser, request_for(target.pid(), CRYO_SCOPE_PROCESS, 0));
    tap.ok(error == 0, std::string("the user's own checkpoint: ") + std::strerror(error));
    pollfd ready{fd, POLLIN, 0};
    tap.ok(poll(&ready, 1, 1000) == 1, "root hears of it");
    Child asks([&] {
      become(kUser);
      cryo_checkpoint c = request_for(target.pid(), CRYO_SCOPE_PROCESS, 0);
      const int handle =
          static_cast<int>(must(ioctl(device(), CRYO_IOC_CHECKPOINT, &c), "CRYO_IOC_CHECKPOINT"));
      must(ioctl(handle, CRYO_CKPT_RUN), "CRYO_CKPT_RUN");
      cryo_ckpt_status status{};
      status.size = sizeof(status);
      must(ioctl(handle, CRYO_CKPT_STATUS, &status), "CRYO_CKPT_STATUS");
      board->result = static_cast<int>(status.state);
    });
    asks.wait();
    tap.ok(board->result == CRYO_STATE_DONE, "the user by his handle");
  } catch (const std::exception& error) {
    tap.ok(false, error.what());
  }
  return tap.finish();
}
