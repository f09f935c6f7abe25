// SPDX-License-Identifier: LGPL-2.1-or-later
// libcr_omit.so.0: what cr_run --omit preloads. A process that has it is left out of every checkpoint, and so
// are its children, which preload it too.
#include <cryo/client.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>

#include "blcr_common.h"
#include "high_fd.h"

extern "C" __attribute__((visibility("default"))) int cr_omit_link_me;
int cr_omit_link_me = 1;

// As in libcr_run.cc.
extern "C" __attribute__((visibility("default"))) const int cri_signum;
const int cri_signum = CR_SIGNUM;
extern "C" __attribute__((visibility("default"))) void cri_omit_sig_handler(int, siginfo_t*, void*) {}

namespace {

int g_client = -1;

// Without the module there are no checkpoints either.
void say_so() {
  const int device = ::open(CRYO_DEVICE_PATH, O_RDWR | O_CLOEXEC);
  if (device < 0) return;
  cryo_client client{};
  client.size = sizeof(client);
  client.flags = CRYO_CLIENT_OMIT;
  g_client = cryo::libcr::move_high(::ioctl(device, CRYO_IOC_CLIENT, &client));
  ::close(device);
}

// The descriptor is the parent's, if the program has not closed it and got the number again.
void after_fork_in_child() {
  if (g_client >= 0 && ::ioctl(g_client, CRYO_CLIENT_CLAIM, 0) != 0 && errno == EPERM) ::close(g_client);
  say_so();
}

__attribute__((constructor)) void start() {
  say_so();
  ::pthread_atfork(nullptr, nullptr, after_fork_in_child);
}

}  // namespace
