// SPDX-License-Identifier: LGPL-2.1-or-later
// What there is once per process: the way to the module, the registration, and what a fork makes of them.
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

#include "internal.h"

namespace cryo::libcr {

constinit Process g_process{.mutex = PTHREAD_MUTEX_INITIALIZER,
                            .module = 0,
                            .fork_handler = false,
                            .consented = false,
                            .registered = false,
                            .client_fd = -1,
                            .threads = nullptr,
                            .callbacks = {},
                            .sections = {},
                            .preparing = false,
                            .hold_init = CR_HOLD_BOTH,
                            .hold_uninit = CR_HOLD_BOTH,
                            .hooks = {},
                            .own_requests = 0};

namespace {

bool is_right_module(int device) {
  cryo_version version{};
  version.size = sizeof(version);
  return ::ioctl(device, CRYO_IOC_VERSION, &version) == 0 &&
         CRYO_ABI_FITS(version.abi_major, version.abi_minor);
}

// Nothing is registered in the child: the helper is not there, and the descriptor is the parent's. Or something else of the program's,
// which has closed ours and got the number again.
void after_fork_in_child() {
  const int fd = g_process.client_fd;
  if (fd >= 0 && ::ioctl(fd, CRYO_CLIENT_CLAIM, 0) != 0 && errno == EPERM) ::close(fd);
  g_process.mutex = PTHREAD_MUTEX_INITIALIZER;
  g_process.registered = false;
  g_process.client_fd = -1;
  g_process.threads = nullptr;
  g_process.callbacks.clear();
  g_process.sections.reset();
  g_process.preparing = false;
  g_process.own_requests = 0;
  reset_round();
  reset_exclusions();
  reset_prepares();
  reset_restarts();
  forget_facts();
  t_thread = nullptr;
  t_chain = nullptr;
}

// Who takes part in checkpoints wants them; only Yama notices. Where it cannot be had it is of no use.
void consent(int device) {
  if (::secure_getenv("CRYO_NO_CONSENT") != nullptr) return;
  cryo_consent args{};
  args.size = sizeof(args);
  args.consent = CRYO_CONSENT_GIVE;
  (void)::ioctl(device, CRYO_IOC_CONSENT, &args);
}

}  // namespace

// Once: a child has that of its parent, and a program that has taken it back is not overruled by its other threads.
void consent_in_init() {
  if (g_process.consented.exchange(true)) return;
  const int device = open_device();
  if (device < 0) return;
  consent(device);
  ::close(device);
}

namespace {

int make_client() {
  const int device = open_device();
  if (device < 0) return -1;
  consent(device);
  cryo_client client{};
  client.size = sizeof(client);
  const int fd = ::ioctl(device, CRYO_IOC_CLIENT, &client);
  const int error = errno;
  ::close(device);
  return fd >= 0 ? fd : fail(error == ENOTTY ? CR_EVERSION : error);
}

// The helper is not to get the signals of the process.
int start_helper(int fd) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t helper;
  const int error = ::pthread_create(&helper, nullptr, helper_main,
                                     reinterpret_cast<void*>(static_cast<std::intptr_t>(fd)));
  if (error == 0) ::pthread_detach(helper);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return error == 0 ? 0 : fail(error);
}

int install_handler() {
  struct sigaction action {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigfillset(&action.sa_mask);
  return ::sigaction(CR_SIGNUM, &action, nullptr);
}

// What the program does with CR_SIGNUM where it has set that after us; one of the two, or none.
struct ForeignHandler {
  std::atomic<void (*)(int)> plain;
  std::atomic<void (*)(int, siginfo_t*, void*)> with_info;
};

constinit ForeignHandler g_foreign{};

}  // namespace

void keep_handler() {
  struct sigaction now {};
  if (::sigaction(CR_SIGNUM, nullptr, &now) != 0) return;
  const bool with_info = (now.sa_flags & SA_SIGINFO) != 0;
  if (with_info && now.sa_sigaction == on_signal) return;
  const bool plain = !with_info && now.sa_handler != SIG_DFL && now.sa_handler != SIG_IGN;
  g_foreign.with_info = with_info ? now.sa_sigaction : nullptr;
  g_foreign.plain = plain ? now.sa_handler : nullptr;
  (void)install_handler();
}

void hand_on_signal(int signal, siginfo_t* info, void* context) {
  if (auto* const with_info = g_foreign.with_info.load()) with_info(signal, info, context);
  if (auto* const plain = g_foreign.plain.load()) plain(signal);
}

int open_device() {
  const int device = ::open(CRYO_DEVICE_PATH, O_RDWR | O_CLOEXEC);
  if (device < 0) return fail(ENOSYS);
  if (g_process.module != 0) return device;
  if (!is_right_module(device)) {
    ::close(device);
    return fail(CR_EVERSION);
  }
  g_process.module = 1;
  return device;
}

int prepare_process() {
  if (g_process.module == 0) {
    const int device = open_device();
    if (device < 0) return -1;
    ::close(device);
  }
  const MutexGuard guard(g_process.mutex);
  if (g_process.fork_handler) return 0;
  const int error = ::pthread_atfork(nullptr, nullptr, after_fork_in_child);
  if (error != 0) return fail(error);
  g_process.fork_handler = true;
  return 0;
}

int register_process() {
  if (g_process.registered) return 0;
  const int fd = make_client();
  if (fd < 0) return -1;
  g_process.client_fd = fd;
  if (install_handler() != 0 || start_helper(fd) != 0) {
    const int error = errno;
    g_process.client_fd = -1;
    ::close(fd);
    return fail(error);
  }
  g_process.registered = true;
  return 0;
}

}  // namespace cryo::libcr
