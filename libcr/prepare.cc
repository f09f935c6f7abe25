// SPDX-License-Identifier: LGPL-2.1-or-later
// Functions that are called when a checkpoint has been announced, while the whole program still runs. Each
// call has a thread of its own, so that the helper need not wait for one that hangs.
#include <stdio.h>

#include "internal.h"

namespace cryo::libcr {
namespace {

constexpr int kMaxFunctions = 32;
constexpr int kPollMs = 20;
constexpr int kMaxCode = 0xffff;

struct Prepare {
  cr_prepare_func_t function;  // NULL: the place is kept for another one
  void* argument;
  unsigned int timeout_ms;  // 0: none
};

// First registered first. With g_process.mutex.
Prepare g_functions[kMaxFunctions];
int g_count = 0;

// The call that goes on, or has been late; by the helper.
struct Call {
  Prepare what;
  int result;
  char name[CRYO_CLIENT_NOTE_MAX - 32];  // the rest is for what is said of it
};

Call g_call{};
std::atomic<std::uint32_t> g_running = 0;
__thread bool t_preparing = false;

// By its end, or that of the thread.
void end_call(void*) {
  g_running = 0;
  futex_wake_all(g_running);
}

void* call_main(void*) {
  t_preparing = true;
  pthread_cleanup_push(end_call, nullptr);
  g_call.result = g_call.what.function(g_call.what.argument);
  pthread_cleanup_pop(1);
  return nullptr;
}

// Of the call that goes on: kReady, kGivenUp or the number to refuse with.
int wait_for_call() {
  const std::int64_t end = now_ms() + g_call.what.timeout_ms;
  char note[CRYO_CLIENT_NOTE_MAX];
  ::snprintf(note, sizeof(note), "%s is not over", g_call.name);
  while (g_running != 0) {
    if (is_given_up(note)) return kGivenUp;
    const std::int64_t left = end - now_ms();
    const bool limited = g_call.what.timeout_ms != 0;
    if (limited && left <= 0) return CR_ETEMPFAIL;
    futex_wait(g_running, 1, limited && left < kPollMs ? static_cast<int>(left) : kPollMs);
  }
  if (g_call.result == 0) return kReady;
  return g_call.result < 0 || g_call.result > kMaxCode ? CR_ETEMPFAIL : g_call.result;
}

int call(const Prepare& what) {
  stop_waiting();
  g_call.what = what;
  describe_function(g_call.name, sizeof(g_call.name), "prepare function",
                    reinterpret_cast<void*>(what.function));
  if (is_given_up(g_call.name)) return kGivenUp;
  g_call.result = CR_ETEMPFAIL;
  g_running = 1;
  if (start_worker(call_main, nullptr, Stack::kDefault) != 0) {
    g_running = 0;
    return CR_ETEMPFAIL;
  }
  return wait_for_call();
}

Prepare function_at(int index) {
  const ProcessLock lock;
  return index < g_count ? g_functions[index] : Prepare{};
}

int count_of_functions() {
  const ProcessLock lock;
  return g_count;
}

int check_caller() {
  if (t_chain != nullptr) return EBUSY;
  return t_thread == nullptr ? CR_ENOINIT : 0;
}

}  // namespace

int run_prepares() {
  // Of the time before, and nobody's success.
  if (g_running != 0) {
    stop_waiting();
    const int late = wait_for_call();
    if (g_running != 0) return late;
  }
  for (int index = count_of_functions(); index-- > 0;) {
    const Prepare what = function_at(index);
    const int result = what.function == nullptr ? kReady : call(what);
    if (result != kReady) return result;
  }
  return kReady;
}

bool is_preparing() {
  return t_preparing;
}

void reset_prepares() {
  g_count = 0;
  g_running = 0;
  t_preparing = false;
}

}  // namespace cryo::libcr

using namespace cryo::libcr;

LIBCR_PUBLIC cr_prepare_id_t cr_register_prepare(cr_prepare_func_t func, void* arg, unsigned int timeout_ms) {
  const int error = check_caller();
  if (error != 0) return fail(error);
  const ProcessLock lock;
  if (g_count == kMaxFunctions) return fail(ENOSPC);
  if (register_process() != 0) return -1;
  g_functions[g_count] = {func, arg, timeout_ms};
  return g_count++;
}

LIBCR_PUBLIC int cr_replace_prepare(cr_prepare_id_t id, cr_prepare_func_t func, void* arg,
                                    unsigned int timeout_ms) {
  const int error = check_caller();
  if (error != 0) return fail(error);
  const ProcessLock lock;
  if (id < 0 || id >= g_count) return fail(EINVAL);
  g_functions[id] = {func, arg, timeout_ms};
  return 0;
}
