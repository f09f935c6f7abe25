// SPDX-License-Identifier: LGPL-2.1-or-later
// What there is once per process: the way to the module, the registration, and what a fork makes of them.
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

#include "high_fd.h"
#include "internal.h"

namespace cryo::libcr {

constinit Process g_process{.mutex = PTHREAD_MUTEX_INITIALIZER,
                            .module = 0,
                            .fork_handler = false,
                            .consented = false,
                            .registered = false,
                            .has_helper = 0,
                            .client_fd = -1,
                            .threads = nullptr,
                            .callbacks = {},
                            .sections = {},
                            .preparing = false,
                            .hold_init = CR_HOLD_BOTH,
                            .hold_uninit = CR_HOLD_BOTH,
                            .hooks = {},
                            .own_requests = 0,
                            .client_before = false,
                            .forks = 0,
                            .started = 0};

namespace {

// Of the thread: whether it has the lock, or is about to, and a signal of ours has come meanwhile.
__thread bool t_locks = false;
__thread volatile bool t_was_asked = false;

bool is_right_module(int device) {
  cryo_version version{};
  version.size = sizeof(version);
  return ::ioctl(device, CRYO_IOC_VERSION, &version) == 0 &&
         CRYO_ABI_FITS(version.abi_major, version.abi_minor);
}

// Nothing is registered in the child: the helper is not there, and the descriptor is the parent's. Or
// something else of the program's, which has closed ours and got the number again.
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
  g_process.started = 0;
  g_process.client_before = false;
  ++g_process.forks;
  t_locks = false;
  t_was_asked = false;
  reset_round();
  reset_exclusions();
  reset_prepares();
  reset_restarts();
  reset_logs();
  forget_facts();
  forget_thread();
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

// Once: a child has that of its parent, and a program that has taken it back is not overruled by its other
// threads.
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
  if (!g_process.client_before) consent(device);
  g_process.client_before = true;
  cryo_client client{};
  client.size = sizeof(client);
  const int fd = ::ioctl(device, CRYO_IOC_CLIENT, &client);
  const int error = errno;
  ::close(device);
  return fd >= 0 ? move_high(fd) : fail(error == ENOTTY ? CR_EVERSION : error);
}

// In the module, which keeps the handle: it says that it is there before, and sleeps nowhere else on its way.
void await_helper() {
  static constexpr timespec kPause{0, 100000};
  static constexpr int kTries = 20000;
  while (g_process.has_helper == 0) futex_wait(g_process.has_helper, 0, -1);
  for (int tries = 0; tries < kTries && !is_asleep(helper_tid()); ++tries) ::nanosleep(&kPause, nullptr);
}

// Of make_client(): a limit that others, or the program itself, have come up to.
bool is_passing(int error) {
  return error == EMFILE || error == ENFILE || error == ENOMEM || error == EAGAIN || error == ENOSPC;
}

// The helper is not to get the signals of the process. Once it waits, the program may close the descriptor.
int start_helper() {
  g_process.has_helper = 0;
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t helper;
  const int error = ::pthread_create(&helper, nullptr, helper_main, nullptr);
  if (error == 0) ::pthread_detach(helper);
  if (error == 0) await_helper();
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

// A handler of the program's for CR_SIGNUM, where ours is now; one of the two, or none.
struct ForeignHandler {
  std::atomic<void (*)(int)> plain;
  std::atomic<void (*)(int, siginfo_t*, void*)> with_info;
};

constinit ForeignHandler g_foreign{};
constinit ForeignHandler g_foreign_before{};  // which that has taken the place of

ForeignHandler foreign_of(const struct sigaction& action) {
  if ((action.sa_flags & SA_SIGINFO) != 0) return {nullptr, action.sa_sigaction};
  return {action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN ? nullptr : action.sa_handler,
          nullptr};
}

bool is_any(const ForeignHandler& handler) {
  return handler.plain != nullptr || handler.with_info != nullptr;
}

void set(ForeignHandler& to, const ForeignHandler& from) {
  to.plain = from.plain.load();
  to.with_info = from.with_info.load();
}

void call(const ForeignHandler& handler, int signal, siginfo_t* info, void* context) {
  if (auto* const with_info = handler.with_info.load()) with_info(signal, info, context);
  if (auto* const plain = handler.plain.load()) plain(signal);
}

// The other handler may hand the signal back: one that the program has put in the place of ours, and that
// calls what was there, or that of another copy of the library. So each copy leaves marks in the part of the
// structure that the kernel clears for each signal.
struct Marks {
  int own;
  bool others;
};

// Those that were there, and one of ours, for which there may be no room.
Marks leave_mark(siginfo_t* info) {
  constexpr std::size_t kMarks = 8;
  Marks marks{};
  auto* const end = reinterpret_cast<void**>(info + 1);
  for (void** at = end - kMarks; at < end; ++at) {
    if (*at == nullptr) {
      *at = &g_foreign;
      return marks;
    }
    if (*at == &g_foreign)
      ++marks.own;
    else
      marks.others = true;
  }
  return {2, true};
}

}  // namespace

// Nobody is cancelled with the lock, which would keep it.
ProcessLock::ProcessLock() {
  ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state_);
  t_locks = true;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  ::pthread_mutex_lock(&g_process.mutex);
}

ProcessLock::~ProcessLock() {
  const ErrnoSaver saver;
  ::pthread_mutex_unlock(&g_process.mutex);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  t_locks = false;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  ::pthread_setcancelstate(cancel_state_, nullptr);
  if (!t_was_asked) return;
  t_was_asked = false;
  answer_late();
}

bool ProcessLock::puts_off_signal() {
  if (t_locks) t_was_asked = true;
  return t_locks;
}

bool ProcessLock::is_mine() {
  return t_locks;
}

bool keep_handler() {
  struct sigaction now {};
  if (::sigaction(CR_SIGNUM, nullptr, &now) != 0) return false;
  if ((now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == on_signal) return true;
  const ForeignHandler found = foreign_of(now);
  const bool is_same = found.plain == g_foreign.plain && found.with_info == g_foreign.with_info;
  if (!is_same) {
    set(g_foreign_before, g_foreign);
    set(g_foreign, found);
  }
  return install_handler() == 0;
}

void hand_on_signal(int signal, siginfo_t* info, void* context) {
  const Marks marks = leave_mark(info);
  if (marks.own == 0) return call(g_foreign, signal, info, context);
  if (marks.own > 1) return;
  // Handed back: it is for who was there before, whom another copy may know.
  if (is_any(g_foreign_before))
    call(g_foreign_before, signal, info, context);
  else if (marks.others)
    call(g_foreign, signal, info, context);
}

int open_device() {
  const int device = ::open(CRYO_DEVICE_PATH, O_RDWR | O_CLOEXEC);
  if (device < 0) return fail(errno == ENOENT || errno == ENXIO || errno == ENODEV ? ENOSYS : errno);
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
  const ProcessLock lock;
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
  if (!keep_handler() || start_helper() != 0) {
    const int error = errno;
    g_process.client_fd = -1;
    ::close(fd);
    return fail(error);
  }
  g_process.registered = true;
  return 0;
}

void close_client(int fd) {
  if (::ioctl(fd, CRYO_CLIENT_CLAIM, 0) == 0) ::close(fd);
}

void replace_helper(int old) {
  static constexpr timespec kPause{1, 0};
  {
    const ProcessLock lock;
    g_process.registered = false;
    g_process.client_fd = -1;
  }
  for (bool first = true;; first = false) {
    {
      const ProcessLock lock;
      const int result = register_process();  // or another thread has
      const int error = errno;
      if (first && old != g_process.client_fd)
        close_client(old);  // the program may have closed that, and this be its number
      if (result == 0 || !is_passing(error)) return;
    }
    // What it lacked may have been the descriptor that has been closed since.
    if (!first) ::nanosleep(&kPause, nullptr);
  }
}

int register_again() {
  static constexpr timespec kPause{1, 0};
  for (bool first = true;; first = false) {
    {
      const ProcessLock lock;
      if (!first && g_process.registered) return -1;  // another thread has, with a helper of its own
      close_client(g_process.client_fd);
      g_process.client_fd = make_client();
      g_process.registered = g_process.client_fd >= 0;
      if (g_process.registered) return 0;
    }
    if (!is_passing(errno)) return -1;
    ::nanosleep(&kPause, nullptr);
  }
}

}  // namespace cryo::libcr
