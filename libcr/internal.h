// SPDX-License-Identifier: LGPL-2.1-or-later
// What the files of libcr share. No C++ run-time library: nothing is thrown, nothing is allocated by new, and
// all state is constant-initialised.
#pragma once

#include <cryo/client.h>
#include <pthread.h>
#include <signal.h>
#include <sys/types.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#define _CR_DEPRECATED  // we have to define them all the same
#include "libcr.h"

#define LIBCR_PUBLIC extern "C" __attribute__((visibility("default")))

namespace cryo::libcr {

// ---- lock.cc

// Waits while `*word` is `value`, for at most `ms` milliseconds (-1: any time). May wake up for nothing.
void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t value, int ms);
void futex_wake_all(const std::atomic<std::uint32_t>& word);
// For time limits: of the monotonic clock.
std::int64_t now_ms();

struct Thread;

// Critical sections on one side, a checkpoint on the other: either is there, or the other one. Each thread
// says whether it is inside; who wants in has to wait while a checkpoint is wanted. A handler of a signal may
// do so in the middle of these functions: all that they change is one word, and by one instruction.
class SectionLock {
 public:
  // False: a checkpoint is wanted, and `wait` is not.
  [[nodiscard]] bool enter(Thread& thread, bool wait);
  static bool is_inside(const Thread& thread);
  // Is a thread but the caller, or is it about to look whether it may be?
  static bool is_other_inside();
  // Of one that is.
  void leave(Thread& thread);
  // A thread that has left, or has ended: the helper looks again.
  void tell_left();
  // A checkpoint is wanted: nobody comes in any more. By the helper.
  void close() { closed_ = 1; }
  // Waits until nobody is inside, at most `ms` milliseconds. Returns whether that is so.
  [[nodiscard]] bool wait_empty(int ms);
  void open();
  [[nodiscard]] bool closed() const { return closed_ != 0; }
  // In the child of a fork.
  void reset() { closed_ = 0; }

 private:
  [[nodiscard]] bool come_in(Thread& thread, bool wait);

  std::atomic<std::uint32_t> closed_ = 0;
  std::atomic<std::uint32_t> left_ = 0;  // counts
};

// errno as it was, for code that runs in the middle of other code.
class ErrnoSaver {
 public:
  ErrnoSaver() : value_(errno) {}
  ~ErrnoSaver() { errno = value_; }
  ErrnoSaver(const ErrnoSaver&) = delete;
  ErrnoSaver& operator=(const ErrnoSaver&) = delete;

 private:
  int value_;
};

class MutexGuard {
 public:
  // Nobody is cancelled with it, as nothing is unwound then.
  explicit MutexGuard(pthread_mutex_t& mutex) : mutex_(mutex) {
    ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state_);
    ::pthread_mutex_lock(&mutex_);
  }
  ~MutexGuard() {
    ::pthread_mutex_unlock(&mutex_);
    ::pthread_setcancelstate(cancel_state_, nullptr);
  }
  MutexGuard(const MutexGuard&) = delete;
  MutexGuard& operator=(const MutexGuard&) = delete;

 private:
  pthread_mutex_t& mutex_;
  int cancel_state_ = 0;
};

// ---- callbacks.cc

struct Callback {
  cr_callback_t function;  // NULL: the place is kept for another one
  void* argument;
};

// The callbacks of the process, or of a thread, first registered first. Grows only.
class CallbackTable {
 public:
  // Index of the new one, or -1 with errno ENOMEM or ENOSPC.
  int add(Callback callback);
  [[nodiscard]] int size() const { return size_; }
  Callback& operator[](int index) { return entries_[index]; }
  void clear() {
    std::free(entries_);
    entries_ = nullptr;
    size_ = room_ = 0;
  }

 private:
  Callback* entries_ = nullptr;
  int size_ = 0;
  int room_ = 0;
};

// One run through a table: each callback is called by the cr_checkpoint() of the one before, which is the one
// registered after it.
class Chain {
 public:
  // What comes behind the last callback; returns what all cr_checkpoint() return.
  using Bottom = int (*)();
  // How a callback leaves the checkpoint; returns what its cr_checkpoint() returns.
  using Abort = int (*)(std::uint32_t vote, std::uint32_t code);

  // Before each callback; may be NULL.
  using Note = void (*)(const Callback& callback);

  Chain(CallbackTable& table, int context, Bottom bottom, Abort abort_how, Note note)
      : table_(table),
        context_(context),
        next_(table.size()),
        bottom_(bottom),
        abort_(abort_how),
        note_(note) {}

  // Runs all; returns the result.
  int run();
  // cr_checkpoint() of the callback that is running.
  int go_on(int flags);
  int replace_self(Callback callback, int context);
  [[nodiscard]] int context() const { return context_; }
  [[nodiscard]] bool restarted() const { return done_ && result_ > 0; }

 private:
  int refuse(std::uint32_t vote, std::uint32_t code);
  void call(int index);

  CallbackTable& table_;
  int context_;
  int next_;             // callbacks below this index are still to be called
  int current_ = -1;     // the one that is running
  bool called_ = false;  // its cr_checkpoint() has been
  bool done_ = false;
  int result_ = 0;
  Bottom bottom_;
  Abort abort_;
  Note note_;
};

// ---- thread.cc

// The part of a thread in a checkpoint, as the helper and the thread itself see it.
enum class Phase : std::uint32_t { kIdle, kAsked, kRunning };

// What a round still counts a thread for.
inline constexpr std::uint32_t kOwesBottom = 1U << 0;  // the end of its callbacks' first halves
inline constexpr std::uint32_t kOwesEnd = 1U << 1;     // of the second ones

// A thread that has called cr_init(), or the helper.
struct Thread {
  Thread* next;
  std::atomic<pid_t> tid;  // another one after a restart, see tasks.cc
  void* mark;              // by which it is known again
  cr_client_id_t ids;      // how many it has got
  std::atomic<int> section_depth;
  std::atomic<std::uint32_t> in_section;
  int hold;  // CR_HOLD_*
  int persist;
  std::atomic<std::uint32_t> phase;  // Phase
  std::atomic<std::uint32_t> owes;   // kOwes*
  CallbackTable callbacks;           // signal context
};

extern __thread Thread* t_thread;
extern __thread Chain* t_chain;  // the callback that runs in this thread, if one does

// In the child of a fork.
void forget_thread();

// Starts a thread that does one thing and ends. It gets no signals: they are for the threads of the program.
// Its stack is small, or what the program's threads have. 0, or -1 with errno.
enum class Stack { kSmall, kDefault };
int start_worker(void* (*main)(void*), void* argument, Stack stack);

// ---- process.cc

struct Process {
  pthread_mutex_t mutex;    // protects all that has no other rule
  std::atomic<int> module;  // 0 not looked for, 1 there
  bool fork_handler;
  std::atomic<bool> consented;  // cr_init() has
  std::atomic<bool> registered;
  std::atomic<std::uint32_t> has_helper;  // it waits for requests, or is about to
  int client_fd;
  Thread* threads;
  CallbackTable callbacks;  // thread context; changed inside a critical section
  SectionLock sections;
  std::atomic<bool> preparing;  // a checkpoint is, and sections are still open
  std::atomic<int> hold_init;
  std::atomic<int> hold_uninit;
  std::atomic<cr_hook_fn_t> hooks[CR_NUM_HOOKS];
  std::atomic<std::uint32_t> own_requests;  // of cr_request() and its like, not over yet
  bool client_before;                       // there has been a registration
  std::uint32_t forks;                      // that have led here
  std::atomic<std::uint64_t> started;  // when the process has, as the ids of the threads are; 0: not known
};

extern Process g_process;

// Has g_process.mutex. A callback in signal context that interrupts that waits for the end: those who wait
// for the callback may want the mutex, too.
class ProcessLock {
 public:
  ProcessLock();
  ~ProcessLock();
  ProcessLock(const ProcessLock&) = delete;
  ProcessLock& operator=(const ProcessLock&) = delete;
  // By the handler: does the thread have it? Then answer_late() comes when it has not any more.
  static bool puts_off_signal();
  // By the program's handlers: does the thread that they have interrupted have it?
  static bool is_mine();

 private:
  int cancel_state_ = 0;
};

// A descriptor of /dev/cryo, or -1 with errno: ENOSYS when it is not there, CR_EVERSION when it is another
// one.
int open_device();
// Once per process: what has to be there before anything else. 0, or -1 with errno.
int prepare_process();
// By cr_init().
void consent_in_init();
// The program may have set an action of its own for CR_SIGNUM: ours takes its place before we send the
// signal, and hands on what is not from us. Whether ours is there.
bool keep_handler();
void hand_on_signal(int signal, siginfo_t* info, void* context);
// Registers the process for checkpoints, unless it is. With g_process.mutex. 0, or -1 with errno.
int register_process();
// The same by the helper, which has lost the descriptor to the program: another one. 0, or -1 with errno.
int register_again();
// The calling helper ends: registers with another one, and gives up the descriptor OLD. At a limit, until
// there is room.
void replace_helper(int old);
// Closes the descriptor of a registration, unless it is something else of the program's by now.
void close_client(int fd);

// ---- round.cc: one checkpoint as this process sees it

// Runs in the helper thread for as long as the process lives.
void* helper_main(void*);
// Is the caller that thread?
bool is_helper();
// Of this process; valid once it has said that it is there.
pid_t helper_tid();
// The handler of CR_SIGNUM.
void on_signal(int signal, siginfo_t* info, void* context);
// A signal of ours came while the thread had the ProcessLock.
void answer_late();
// How many rounds there have been; and waits for one more than `begun`, at most `ms` milliseconds. Returns
// whether there is none yet.
std::uint32_t rounds_begun();
// How many have ended with their callbacks.
std::uint32_t rounds_ended();
bool wait_for_round(std::uint32_t begun, int ms);
// Has the caller's callbacks run, if it has some, as part of the round `begun`. Others who may wait for the
// caller are not waited for: prepare functions and callbacks in thread context, and, for more than a second,
// those who are in critical sections.
void run_own_callbacks(std::uint32_t begun);
// Has the calling thread blocked the signal by which it is asked?
bool blocks_own_signal();
// Has a round begun whose threads have not been asked yet?
bool is_round_open();
// A thread ends, in its callbacks even: nobody waits for it any more. With g_process.mutex.
void leave_round(Thread& thread);
// In the child of a fork.
void reset_round();

// Who waits to be asked in the round goes on: what comes next may wait for him. By the helper.
void stop_waiting();
// Whether the request that is being prepared does not stand any more. `note` is what the module says we are
// about when it does not come to an end.
bool is_given_up(const char* note);
// Writes "WHAT NAME (ADDRESS in LIBRARY)".
void describe_function(char* text, std::size_t size, const char* what, void* address);

// Has other processes taken part in the checkpoint that is being prepared. 0, or -1 with errno.
int forward(std::uint32_t scope, pid_t target);

const cr_checkpoint_info& checkpoint_info();
const cr_restart_info& restart_info();

// ---- prepare.cc

inline constexpr int kReady = 0;
inline constexpr int kGivenUp = -1;
// Calls the functions of cr_register_prepare(). By the helper. kReady, kGivenUp when the request does not
// stand any more, or the number to refuse it with.
int run_prepares();
// Is the caller in one of them?
bool is_preparing();
// In the child of a fork.
void reset_prepares();

// ---- exclude.cc

// Tells the module which memory is not needed. By the helper, before it votes.
void tell_exclusions();
// In the child of a fork.
void reset_exclusions();

// ---- restart_facts.cc

// Asks the module for environment and moved paths. After a restart, by the helper, before others go on.
void read_facts();
// When the callbacks are through, and in the child of a fork.
void forget_facts();

// ---- restart_run.cc

// Runs cr_restart. Returns when it has read the context: 0, or -1 with errno, without CR_RSTRT_ASYNC_ERR. The
// result goes to `handle`, a pipe that is closed then.
int start_restart(const cr_restart_args& args, int handle);
// In the child of a fork.
void reset_reaping();

// ---- restart.cc

// In the child of a fork.
void reset_restarts();

// ---- handle.cc

// In the child of a fork.
void reset_logs();

// ---- tasks.cc

pid_t own_tid();
// Calls the function for each thread of the process that has not called cr_init(), except the caller. With
// g_process.mutex, or while all that could change the list are held. Whether the threads could be listed.
using TaskVisitor = void (*)(pid_t tid, int argument);
bool visit_uninitialised(TaskVisitor visitor, int argument);
// Is the thread not to be sent CR_SIGNUM, as it blocks that? Yes as well if it has ended, or it cannot be
// seen.
bool blocks_signal(pid_t tid);
// Is CR_SIGNUM pending for the thread, and not only for the process? No if that cannot be seen.
bool is_pending(pid_t tid);
// Does the thread sleep, as in a call that waits? Yes as well if it cannot be seen.
bool is_asleep(pid_t tid);
// When the process has started: another time after a restart. 0: it cannot be told.
std::uint64_t start_of_process();
// By what the thread is known again when it has got another id, or NULL.
void* mark_of(pid_t tid);
// After a restart the ids of threads may be others: finds them. Whether all that have not ended are known. By
// the helper, rules as for visit_uninitialised().
bool find_threads();
// Is the thread where it is thought to be? It has ended if not, after find_threads().
bool is_there(const Thread& thread);

// ---- hooks.cc

void run_hook(cr_hook_event_t event);
bool has_hook(cr_hook_event_t event);
// Has the threads that have not called cr_init() run the hook, as soon as they go on. Rules as for
// visit_uninitialised().
void ask_uninitialised(cr_hook_event_t event);
// Was that signal for a hook? Then the hook has been run.
bool run_hook_of_signal(const void* tag);

// ---- hold.cc

// Is there a thread that is to wait after a restart until the callbacks are through?
bool wants_hold();
// After a restart, by the helper: those that are not to wait, or have callbacks of their own, go on.
void let_unheld_go();

inline int fail(int error) {
  errno = error;
  return -1;
}

// Keeps checkpoints away from what changes, however deep in sections the thread is, unless this is part of
// one.
class Section {
 public:
  Section() : inside_(::cr_enter_cs(CR_ID_CALLBACK) == 0) {}
  ~Section() {
    if (inside_) ::cr_leave_cs(CR_ID_CALLBACK);
  }
  Section(const Section&) = delete;
  Section& operator=(const Section&) = delete;

 private:
  bool inside_;
};

}  // namespace cryo::libcr
