// SPDX-License-Identifier: LGPL-2.1-or-later
// Threads that take part: cr_init(), and how long what they have lives.
#include <limits.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "internal.h"

namespace cryo::libcr {

__thread Thread* t_thread = nullptr;
__thread Chain* t_chain = nullptr;

namespace {

constexpr std::size_t kStackSize = 256 * 1024;
constexpr std::size_t kLargeStackSize = 8 * 1024 * 1024;

pthread_once_t g_key_once = PTHREAD_ONCE_INIT;
pthread_key_t g_key;
int g_key_error = 0;
std::atomic<bool> g_has_key = false;
__thread bool t_initialises = false;

void unlink(Thread& thread) {
  for (Thread** at = &g_process.threads; *at != nullptr; at = &(*at)->next) {
    if (*at != &thread) continue;
    *at = thread.next;
    return;
  }
}

// At the end of a thread. Destructors that still need its data keep them by a count, and the C library asks
// again a few times.
void on_thread_exit(void* pointer) {
  auto& thread = *static_cast<Thread*>(pointer);
  if (thread.persist > 0) {
    ::pthread_setspecific(g_key, &thread);
    return;
  }
  {
    const ProcessLock lock;
    leave_round(thread);
    t_thread = nullptr;
    unlink(thread);
  }
  t_chain = nullptr;  // it may have ended in a callback
  if (thread.in_section != 0) g_process.sections.tell_left();
  thread.callbacks.clear();
  std::free(&thread);
}

void make_key() {
  g_key_error = ::pthread_key_create(&g_key, on_thread_exit);
  g_has_key = g_key_error == 0;
}

// From the moment that others find it, the thread knows that it is its own.
bool make_thread() {
  ::pthread_once(&g_key_once, make_key);
  auto* thread = static_cast<Thread*>(std::calloc(1, sizeof(Thread)));
  if (thread == nullptr || g_key_error != 0) {
    std::free(thread);
    errno = ENOMEM;
    return false;
  }
  const std::uint64_t started = g_process.started != 0 ? g_process.started.load() : start_of_process();
  thread->tid = own_tid();
  thread->mark = mark_of(0);
  thread->hold = CR_HOLD_DFLT;
  const ProcessLock lock;
  if (::pthread_setspecific(g_key, thread) != 0) {
    std::free(thread);
    errno = ENOMEM;
    return false;
  }
  if (g_process.started == 0) g_process.started = started;
  thread->next = g_process.threads;
  g_process.threads = thread;
  t_thread = thread;
  return true;
}

// What a worker begins with.
struct Start {
  void* (*main)(void*);
  void* argument;
  std::atomic<std::uint32_t> go;  // the caller has its signals again
};

// What the worker does may be a checkpoint, and that does not disturb threads that block signals.
void* start_main(void* pointer) {
  auto* const start = static_cast<Start*>(pointer);
  while (start->go == 0) futex_wait(start->go, 0, -1);
  auto* const main = start->main;
  void* const argument = start->argument;
  std::free(start);
  return main(argument);
}

int change_persist(int by) {
  if (t_thread == nullptr) return fail(CR_ENOINIT);
  const int before = t_thread->persist;
  if ((by > 0 && before == INT_MAX) || (by < 0 && before == 0)) return fail(ERANGE);
  t_thread->persist = before + by;
  return before;
}

}  // namespace

void forget_thread() {
  t_thread = nullptr;
  t_chain = nullptr;
  t_initialises = false;
  // Else the end of the thread would be that of the parent's, with what it was in the middle of.
  if (g_has_key) ::pthread_setspecific(g_key, nullptr);
}

int start_worker(void* (*main)(void*), void* argument, Stack stack) {
  auto* const start = static_cast<Start*>(std::calloc(1, sizeof(Start)));
  if (start == nullptr) return fail(ENOMEM);
  start->main = main;
  start->argument = argument;
  pthread_attr_t attributes;
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  if (stack == Stack::kSmall) ::pthread_attr_setstacksize(&attributes, kStackSize);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  int error = ::pthread_create(&thread, &attributes, start_main, start);
  // Too small, in a program with much thread-local data.
  if (error == EINVAL && ::pthread_attr_setstacksize(&attributes, kLargeStackSize) == 0)
    error = ::pthread_create(&thread, &attributes, start_main, start);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::pthread_attr_destroy(&attributes);
  if (error != 0) {
    std::free(start);
    return fail(error);
  }
  start->go = 1;
  futex_wake_all(start->go);  // of the address alone: the worker may have freed it
  return 0;
}

}  // namespace cryo::libcr

using namespace cryo::libcr;

LIBCR_PUBLIC cr_client_id_t cr_init(void) {
  if (t_thread != nullptr) return t_thread->ids++;
  // In a handler that has interrupted us.
  if (ProcessLock::is_mine() || t_initialises) return fail(EDEADLK);
  t_initialises = true;
  const bool made = prepare_process() == 0 && (consent_in_init(), make_thread());
  t_initialises = false;
  return made ? t_thread->ids++ : -1;
}

LIBCR_PUBLIC int cr_status(void) {
  if (t_chain != nullptr) return CR_STATE_ACTIVE;
  if (t_thread == nullptr) return fail(CR_ENOINIT);
  const bool pending =
      g_process.preparing || g_process.sections.closed() || g_process.own_requests.load() != 0;
  return pending ? CR_STATE_PENDING : CR_STATE_IDLE;
}

LIBCR_PUBLIC int cr_inc_persist(void) {
  return change_persist(1);
}

LIBCR_PUBLIC int cr_dec_persist(void) {
  return change_persist(-1);
}
