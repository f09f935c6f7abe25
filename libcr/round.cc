// SPDX-License-Identifier: LGPL-2.1-or-later
// One checkpoint as this process sees it. The helper is told by the module, runs the callbacks of the
// process, has the threads run theirs, votes, and learns what has become of it; the threads learn it from the
// helper.
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "high_fd.h"
#include "internal.h"

namespace cryo::libcr {
namespace {

constexpr int kPollMs = 50;  // how often the helper asks whether the request still stands
constexpr int kVoteShift = 16;

struct Round {
  cr_checkpoint_info info;
  cr_restart_info restart;
  std::atomic<std::uint32_t> missing;   // threads whose callbacks have not come to the end
  std::atomic<std::uint32_t> released;  // 1: `result` is known
  std::atomic<std::uint32_t> left;      // threads that are not through, the helper included
  std::atomic<std::uint32_t> begun;     // counts rounds
  std::atomic<std::uint32_t> ended;     // likewise
  std::atomic<std::uint32_t>
      asked;  // which of them is the last whose threads have been asked, or not to be waited for
  std::atomic<std::uint32_t> refusal;  // by a thread: vote and code, 0: none
  int result;
  char dest[PATH_MAX];
  char source[PATH_MAX];
};

constinit Round g_round{};
// The helper's, in no list.
constinit Thread g_helper{};
char g_tag;  // its address marks our signals

void count_down(std::atomic<std::uint32_t>& counter) {
  counter.fetch_sub(1);
  futex_wake_all(counter);
}

bool change_phase(Thread& thread, Phase from, Phase to) {
  auto expected = static_cast<std::uint32_t>(from);
  return thread.phase.compare_exchange_strong(expected, static_cast<std::uint32_t>(to));
}

// What the round counts the thread for, once.
void settle(Thread& thread, std::uint32_t debt) {
  if ((thread.owes.fetch_and(~debt) & debt) != 0)
    count_down(debt == kOwesBottom ? g_round.missing : g_round.left);
}

// The first one holds.
void refuse(std::uint32_t vote, std::uint32_t code) {
  std::uint32_t none = 0;
  g_round.refusal.compare_exchange_strong(none, vote << kVoteShift | code);
}

// It has not begun, and need not any more.
void dismiss(Thread& thread) {
  if (!change_phase(thread, Phase::kAsked, Phase::kIdle)) return;
  settle(thread, kOwesBottom);
  settle(thread, kOwesEnd);
}

// ---- the vote

// What a callback gets for the module's result.
int result_of(const cryo_client_vote& vote) {
  if (vote.result == 1) return vote.requester > 0 ? vote.requester : 1;
  switch (vote.result) {
    case -ECANCELED:
    case -ETIMEDOUT:
    case -EINTR:
      return -CR_ETEMPFAIL;
    default:
      return vote.result;
  }
}

void ask_about_restart() {
  cryo_client_restart restart{};
  restart.size = sizeof(restart);
  restart.source = reinterpret_cast<std::uintptr_t>(g_round.source);
  restart.source_size = sizeof(g_round.source);
  g_round.source[0] = '\0';
  if (::ioctl(g_process.client_fd, CRYO_CLIENT_RESTART_INFO, &restart) == 0)
    g_round.restart.requester = restart.requester;
  g_round.restart.src = g_round.source;
  read_facts();
}

bool has_callback(CallbackTable& callbacks) {
  for (int i = 0; i < callbacks.size(); ++i)
    if (callbacks[i].function != nullptr) return true;
  return false;
}

// Has anybody something to do when the checkpoint is over? By the helper, which counts among those that are
// not through.
bool has_end() {
  return has_callback(g_process.callbacks) || g_round.left > 1 || has_hook(CR_HOOK_CONT_NO_CALLBACKS) ||
         has_hook(CR_HOOK_CONT_THREAD_CONTEXT) || has_hook(CR_HOOK_CONT_SIGNAL_CONTEXT);
}

int cast_vote(std::uint32_t kind, std::uint32_t code) {
  cryo_client_vote vote{};
  vote.size = sizeof(vote);
  vote.vote = kind;
  vote.code = code;
  const bool hold = kind == CRYO_VOTE_READY && wants_hold();
  if (hold) vote.flags |= CRYO_VOTE_HOLD;
  if (kind == CRYO_VOTE_READY && !has_end()) vote.flags |= CRYO_VOTE_NO_END;
  while (::ioctl(g_process.client_fd, CRYO_CLIENT_VOTE, &vote) != 0) {
    // An older module does not know it: the process may have been restarted on another machine.
    if (errno == EINVAL && (vote.flags & CRYO_VOTE_NO_END) != 0)
      vote.flags &= ~CRYO_VOTE_NO_END;
    else if (errno != EINTR)
      return -CR_ETEMPFAIL;
  }
  switch (kind) {
    case CRYO_VOTE_OMIT:
      return -CR_EOMITTED;
    case CRYO_VOTE_TEMPORARY:
      return -static_cast<int>(code);
    case CRYO_VOTE_PERMANENT:
      ::kill(::getpid(), SIGKILL);
      return -static_cast<int>(code);
    default:
      break;
  }
  const int result = result_of(vote);
  if (result > 0) {
    if (!hold) {
      const ProcessLock lock;  // nobody is held
      let_unheld_go();
    } else {
      let_unheld_go();
    }
    ask_about_restart();
  } else if (result == 0) {
    const ProcessLock lock;
    ask_uninitialised(CR_HOOK_CONT_NO_CALLBACKS);
  }
  return result;
}

// ---- threads

bool has_signal_hook() {
  return has_hook(CR_HOOK_CONT_SIGNAL_CONTEXT) || has_hook(CR_HOOK_RSTRT_SIGNAL_CONTEXT);
}

// Is there anything to do for the thread? Only then it is disturbed.
bool takes_part(Thread& thread) {
  if (has_callback(thread.callbacks)) return true;
  const bool wants = has_signal_hook() || (thread.hold != CR_HOLD_DFLT && thread.hold != CR_HOLD_NONE);
  return wants && !blocks_signal(thread.tid);
}

bool is_ours(const siginfo_t& info) {
  return info.si_code == SI_QUEUE && info.si_value.sival_ptr == &g_tag;
}

void send_signal(Thread& thread) {
  siginfo_t info{};
  info.si_signo = CR_SIGNUM;
  info.si_code = SI_QUEUE;
  info.si_pid = ::getpid();
  info.si_uid = ::getuid();
  info.si_value.sival_ptr = &g_tag;
  if (::syscall(SYS_rt_tgsigqueueinfo, ::getpid(), thread.tid.load(), CR_SIGNUM, &info) == 0) return;
  // It has ended. All else (EAGAIN: RLIMIT_SIGPENDING) would be a checkpoint without its callbacks.
  if (errno != ESRCH) refuse(CRYO_VOTE_TEMPORARY, static_cast<std::uint32_t>(errno));
  dismiss(thread);
}

// Whether the thread is to be asked. One that cannot be found after a restart is no checkpoint without its
// callbacks.
bool is_to_be_asked(Thread& thread, bool known) {
  if (!takes_part(thread)) return false;
  if (known || is_there(thread)) return thread.mark == nullptr || is_there(thread);
  ::ioctl(g_process.client_fd, CRYO_CLIENT_NOTE,
          "the id of a thread that has callbacks is not known after a restart");
  refuse(CRYO_VOTE_TEMPORARY, CR_ETEMPFAIL);
  return false;
}

// All threads that have something to do.
void ask_threads() {
  const ProcessLock lock;
  const bool known = find_threads();
  (void)keep_handler();
  g_round.left = 1;
  for (Thread* thread = g_process.threads; thread != nullptr; thread = thread->next) {
    if (static_cast<Phase>(thread->phase.load()) != Phase::kIdle || !is_to_be_asked(*thread, known)) continue;
    // First, as a signal of an earlier round may come as soon as it counts as asked; nobody else asks one
    // that is idle.
    thread->owes = kOwesBottom | kOwesEnd;
    g_round.missing.fetch_add(1);
    g_round.left.fetch_add(1);
    change_phase(*thread, Phase::kIdle, Phase::kAsked);
  }
  for (Thread* thread = g_process.threads; thread != nullptr; thread = thread->next)
    if (static_cast<Phase>(thread->phase.load()) == Phase::kAsked) send_signal(*thread);
}

// Those that have not begun need not begin any more.
void dismiss_threads() {
  const ProcessLock lock;
  for (Thread* thread = g_process.threads; thread != nullptr; thread = thread->next) dismiss(*thread);
}

void wait_for_threads() {
  for (std::uint32_t missing = g_round.missing; missing != 0 && g_round.refusal == 0;
       missing = g_round.missing) {
    if (is_given_up("callbacks in signal context")) return;
    futex_wait(g_round.missing, missing, kPollMs);
  }
}

void release(int result) {
  g_round.result = result;
  g_round.released = 1;
  futex_wake_all(g_round.released);
}

int wait_for_release() {
  while (g_round.released == 0) futex_wait(g_round.released, 0, -1);
  return g_round.result;
}

// ---- both sides of a chain

// Behind the callbacks of the process.
int helper_bottom() {
  ask_threads();
  stop_waiting();
  wait_for_threads();
  const std::uint32_t refusal = g_round.refusal;
  if (refusal != 0 || g_round.missing != 0) dismiss_threads();
  if (refusal == 0) tell_exclusions();
  const int result = refusal == 0 ? cast_vote(CRYO_VOTE_READY, 0)
                                  : cast_vote(refusal >> kVoteShift, refusal & ((1U << kVoteShift) - 1));
  release(result);
  return result;
}

int thread_bottom() {
  settle(*t_thread, kOwesBottom);
  return wait_for_release();
}

int thread_abort(std::uint32_t vote, std::uint32_t code) {
  refuse(vote, code);
  settle(*t_thread, kOwesBottom);
  if (vote == CRYO_VOTE_PERMANENT) {
    wait_for_release();  // the helper's vote has the others killed
    for (;;) ::kill(::getpid(), SIGKILL);
  }
  return vote == CRYO_VOTE_OMIT ? -CR_EOMITTED : -static_cast<int>(code);
}

bool holds(int setting, bool restarted) {
  return (setting & (restarted ? CR_HOLD_RSTRT : CR_HOLD_CONT)) != 0;
}

// The callbacks of the calling thread have ended. `round`: what g_round.ended was when they began.
void finish(int result, int hold, std::uint32_t round, cr_hook_event_t hook_cont,
            cr_hook_event_t hook_restart) {
  const std::uint32_t forks = g_process.forks;
  if (result >= 0) run_hook(result > 0 ? hook_restart : hook_cont);
  if (forks != g_process.forks) return;
  settle(*t_thread, kOwesEnd);
  if (result < 0 || !holds(hold, result > 0)) return;
  while (g_round.ended == round) futex_wait(g_round.ended, round, -1);
}

// ---- the helper

// The module tells the name when the time is over.
void note_callback(const Callback& callback) {
  char note[CRYO_CLIENT_NOTE_MAX];
  describe_function(note, sizeof(note), "callback", reinterpret_cast<void*>(callback.function));
  ::ioctl(g_process.client_fd, CRYO_CLIENT_NOTE, note);
}

void begin(const cryo_client_request& request) {
  g_round.info = {request.signal, g_round.dest, request.requester, request.target,
                  static_cast<cr_scope_t>(request.scope)};
  g_round.restart = {0, g_round.source};
  g_round.missing = 0;
  g_round.released = 0;
  g_round.refusal = 0;
  g_round.result = 0;
}

// Who waits for the end of the round goes on.
void end_round() {
  forget_facts();
  g_process.sections.open();  // who goes on finds that it is over
  stop_waiting();
  g_round.ended.fetch_add(1);
  futex_wake_all(g_round.ended);
}

void run_callbacks() {
  const std::uint32_t forks = g_process.forks;
  g_round.left = 1;
  g_helper.owes = kOwesEnd;
  // They may wait for whoever waits to be asked.
  if (has_callback(g_process.callbacks)) stop_waiting();
  Chain chain(g_process.callbacks, CR_THREAD_CONTEXT, helper_bottom, cast_vote, note_callback);
  const int result = chain.run();
  if (forks != g_process.forks) return;
  finish(result, CR_HOLD_NONE, 0, CR_HOOK_CONT_THREAD_CONTEXT, CR_HOOK_RSTRT_THREAD_CONTEXT);
  if (forks != g_process.forks) return;
  // The next round needs the threads as they were.
  for (std::uint32_t left = g_round.left; left != 0; left = g_round.left) futex_wait(g_round.left, left, -1);
  end_round();
}

// While the program runs as if there were no checkpoint. Whether it goes on.
bool prepare() {
  const int refusal = run_prepares();
  if (refusal != kReady && refusal != kGivenUp)
    cast_vote(CRYO_VOTE_TEMPORARY, static_cast<std::uint32_t>(refusal));
  return refusal == kReady;
}

// Threads may be in a round whose helper has ended. Whether this one goes on.
bool wait_for_last_round() {
  for (std::uint32_t left = g_round.left; left != 0; left = g_round.left) {
    if (is_given_up("callbacks of an earlier checkpoint")) return false;
    futex_wait(g_round.left, left, kPollMs);
  }
  return true;
}

void take_part(const cryo_client_request& request) {
  if (!wait_for_last_round()) return;
  begin(request);
  g_process.preparing = true;
  g_round.begun.fetch_add(1);
  futex_wake_all(g_round.begun);
  bool given_up = !prepare();
  if (!given_up) g_process.sections.close();
  g_process.preparing = false;
  if (given_up) return stop_waiting();
  while (!given_up && !g_process.sections.wait_empty(kPollMs))
    given_up = is_given_up("a thread is in a critical section (cr_enter_cs)");
  if (!given_up) return run_callbacks();
  g_process.sections.open();
  stop_waiting();
}

// The helper ends, by a callback: there is no checkpoint, those who wait for it go on, and another thread
// takes its place.
void end_helper(void* forks) {
  if (*static_cast<std::uint32_t*>(forks) != g_process.forks) return;
  cryo_client_vote vote{};
  vote.size = sizeof(vote);
  vote.vote = CRYO_VOTE_TEMPORARY;
  vote.code = CR_ETEMPFAIL;
  while (::ioctl(g_process.client_fd, CRYO_CLIENT_VOTE, &vote) != 0 && errno == EINTR) {
  }
  g_process.preparing = false;
  dismiss_threads();
  if (g_round.released == 0) release(-CR_ETEMPFAIL);
  settle(g_helper, kOwesEnd);
  end_round();
  replace_helper(g_process.client_fd);
}

// As long as the process is what it was: in a child that a callback has forked there is no helper.
void help(std::uint32_t forks) {
  while (forks == g_process.forks) {
    cryo_client_request request{};
    request.size = sizeof(request);
    request.dest = reinterpret_cast<std::uintptr_t>(g_round.dest);
    request.dest_size = sizeof(g_round.dest);
    request.flags = CRYO_WAIT_HANDLE;
    if (::ioctl(g_process.client_fd, CRYO_CLIENT_WAIT, &request) == 0) {
      // The program has closed our descriptor.
      if (request.handle != 0) g_process.client_fd = move_high(request.handle);
      take_part(request);
    } else if (errno == EAGAIN && request.handle != 0) {
      g_process.client_fd = move_high(request.handle);
    } else if (errno != EINTR && register_again() != 0) {
      return;
    }
  }
}

// The callbacks of the calling thread, if it has been asked, and not dismissed since.
void call_callbacks() {
  if (t_thread == nullptr || !change_phase(*t_thread, Phase::kAsked, Phase::kRunning)) return;
  const std::uint32_t round = g_round.ended;
  Chain chain(t_thread->callbacks, CR_SIGNAL_CONTEXT, thread_bottom, thread_abort, nullptr);
  const int result = chain.run();
  if (t_thread == nullptr) return;  // the child of a fork in a callback
  const int hold = t_thread->hold == CR_HOLD_DFLT ? g_process.hold_init.load() : t_thread->hold;
  t_thread->phase = static_cast<std::uint32_t>(Phase::kIdle);
  finish(result, hold, round, CR_HOOK_CONT_SIGNAL_CONTEXT, CR_HOOK_RSTRT_SIGNAL_CONTEXT);
}

// A thread may be cancelled at any place if it has said so: here it is in callbacks only, where these let it.
void answer() {
  int cancel = PTHREAD_CANCEL_DEFERRED;
  ::pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &cancel);
  call_callbacks();
  ::pthread_setcanceltype(cancel, nullptr);
}

}  // namespace

void stop_waiting() {
  g_round.asked = g_round.begun.load();
  futex_wake_all(g_round.asked);
}

// It does not if the descriptor is not ours any more either.
bool is_given_up(const char* note) {
  return ::ioctl(g_process.client_fd, CRYO_CLIENT_NOTE, note) != 0 && errno != EINTR;
}

pid_t helper_tid() {
  return g_helper.tid;
}

bool is_helper() {
  return t_thread == &g_helper;
}

void describe_function(char* text, std::size_t size, const char* what, void* address) {
  Dl_info where{};
  const bool known = ::dladdr(address, &where) != 0;
  ::snprintf(text, size, "%s %s (%p in %s)", what,
             known && where.dli_sname != nullptr ? where.dli_sname : "without a name", address,
             known && where.dli_fname != nullptr ? ::basename(where.dli_fname) : "?");
}

void* helper_main(void*) {
  std::uint32_t forks = g_process.forks;
  t_thread = &g_helper;
  g_helper.tid = own_tid();
  g_process.has_helper = 1;
  futex_wake_all(g_process.has_helper);
  pthread_cleanup_push(end_helper, &forks);
  help(forks);
  pthread_cleanup_pop(0);
  return nullptr;
}

void on_signal(int signal, siginfo_t* info, void* context) {
  const ErrnoSaver saver;
  if (info->si_code == SI_QUEUE && run_hook_of_signal(info->si_value.sival_ptr)) return;
  if (!is_ours(*info)) return hand_on_signal(signal, info, context);
  if (ProcessLock::puts_off_signal()) return;
  answer();
}

void answer_late() {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  answer();
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

std::uint32_t rounds_begun() {
  return g_round.begun;
}

std::uint32_t rounds_ended() {
  return g_round.ended;
}

bool wait_for_round(std::uint32_t begun, int ms) {
  if (g_round.begun == begun) futex_wait(g_round.begun, begun, ms);
  return g_round.begun == begun;
}

namespace {

constexpr int kSectionMs = 1000;  // who is in a section may wait for the caller

// Is there anybody else in a section? For so long that he is not to be waited for, since the time `since`; 0:
// not yet. However often signals of the program end the wait in between.
bool is_section_long(std::int64_t& since) {
  if (!g_process.sections.is_other_inside()) {
    since = 0;
    return false;
  }
  if (since == 0) since = now_ms();
  return now_ms() - since >= kSectionMs;
}

// In a round or a section nobody asks the caller.
bool may_be_asked() {
  return t_thread != nullptr && t_chain == nullptr && !is_helper() && t_thread->in_section == 0 &&
         !ProcessLock::is_mine() && has_callback(t_thread->callbacks);
}

// Whether the round `begun` has come to that. Another process, the child of a fork in a callback, has no such
// round.
bool wait_until_asked(std::uint32_t begun) {
  const std::uint32_t forks = g_process.forks;
  std::int64_t since = 0;
  for (std::uint32_t asked = g_round.asked; static_cast<std::int32_t>(asked - begun) < 0;
       asked = g_round.asked) {
    if (is_section_long(since)) return false;
    futex_wait(g_round.asked, asked, kPollMs);
    if (forks != g_process.forks) break;
  }
  return forks == g_process.forks;
}

// Signals of others, which are taken to get at ours. Without the C library's memory, of which a thread may
// have the lock for good.
class Others {
 public:
  Others() = default;
  Others(const Others&) = delete;
  Others& operator=(const Others&) = delete;
  ~Others() { leave(); }
  // For one more.
  bool has_room() { return count_ < room_ || grow(); }
  void add(const siginfo_t& info) { all_[count_++] = info; }
  siginfo_t* begin() { return all_; }
  siginfo_t* end() { return all_ + count_; }

 private:
  static constexpr std::size_t kFew = 16;
  static constexpr std::size_t kTimes = 8;

  void leave() {
    if (all_ != few_) ::munmap(all_, room_ * sizeof(siginfo_t));
  }
  bool grow() {
    const std::size_t room = room_ * kTimes;
    void* const more =
        ::mmap(nullptr, room * sizeof(siginfo_t), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (more == MAP_FAILED) return false;
    ::memcpy(more, all_, count_ * sizeof(siginfo_t));
    leave();
    all_ = static_cast<siginfo_t*>(more);
    room_ = room;
    return true;
  }

  siginfo_t few_[kFew];
  siginfo_t* all_ = few_;
  std::size_t room_ = kFew;
  std::size_t count_ = 0;
};

// One CR_SIGNUM that is pending for the thread itself, if there is one: those for the process are not
// touched.
bool take_signal(siginfo_t& info) {
  sigset_t set;
  const timespec now{};
  sigemptyset(&set);
  sigaddset(&set, CR_SIGNUM);
  return is_pending(own_tid()) && ::sigtimedwait(&set, &info, &now) == CR_SIGNUM;
}

bool put_back(siginfo_t& info) {
  return ::syscall(SYS_rt_tgsigqueueinfo, ::getpid(), own_tid(), CR_SIGNUM, &info) == 0;
}

constexpr int kBackMs = 1000;  // for all of them
constexpr timespec kBackPause{0, 1000000};

// There was room for it a moment ago, which others of the user may have taken: it is waited for, until `end`.
// A signal that cannot be queued then comes without its value, as one of kill(2) does, which takes no room.
void give_back(siginfo_t& info, std::int64_t end) {
  while (!put_back(info)) {
    if (now_ms() >= end) {
      siginfo_t bare{};
      bare.si_signo = CR_SIGNUM;
      bare.si_code = SI_USER;
      put_back(bare);
      return;
    }
    ::nanosleep(&kBackPause, nullptr);
  }
}

// Ours do not stay pending for a thread that has answered, where each counts against the user's
// RLIMIT_SIGPENDING. Those of others do, in their order; and so does ours when it is that of the next round,
// which may have begun by now. Returns false if it cannot.
bool take_signals() {
  Others others;
  siginfo_t info{};
  siginfo_t own{};
  bool taken = false;
  while (others.has_room() && take_signal(info)) {
    if (is_ours(info)) {
      own = info;
      taken = true;
    } else {
      others.add(info);
    }
  }
  const std::int64_t end = now_ms() + kBackMs;
  for (siginfo_t& other : others) give_back(other, end);
  return !taken || static_cast<Phase>(t_thread->phase.load()) != Phase::kAsked || put_back(own);
}

// Of a thread that has blocked it, which nobody cancels in between.
void clear_signals() {
  int cancel = PTHREAD_CANCEL_ENABLE;
  if (!blocks_own_signal()) return;
  ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
  const bool kept = take_signals();
  ::pthread_setcancelstate(cancel, nullptr);
  if (!kept) answer_late();
}

}  // namespace

bool blocks_own_signal() {
  sigset_t now;
  return ::pthread_sigmask(SIG_SETMASK, nullptr, &now) == 0 && sigismember(&now, CR_SIGNUM) == 1;
}

bool is_round_open() {
  return g_round.asked != g_round.begun;
}

void run_own_callbacks(std::uint32_t begun) {
  if (!may_be_asked()) return;
  const ErrnoSaver saver;
  const std::uint32_t forks = g_process.forks;
  // Our signal may be on its way, or blocked.
  if (!wait_until_asked(begun) || static_cast<Phase>(t_thread->phase.load()) != Phase::kAsked) return;
  answer_late();
  if (forks == g_process.forks && t_thread != nullptr) clear_signals();
}

void leave_round(Thread& thread) {
  dismiss(thread);
  if ((thread.owes & kOwesBottom) != 0) refuse(CRYO_VOTE_TEMPORARY, CR_ETEMPFAIL);
  settle(thread, kOwesBottom);
  settle(thread, kOwesEnd);
}

void reset_round() {
  g_round.released = 0;
  g_round.left = 0;
  g_round.ended = 0;
  g_round.asked = g_round.begun.load();
  g_helper.owes = 0;
}

int forward(std::uint32_t scope, pid_t target) {
  if (g_round.released != 0) return fail(EINVAL);  // it is over
  cryo_client_forward args{};
  args.size = sizeof(args);
  args.scope = scope;
  args.target = target;
  while (::ioctl(g_process.client_fd, CRYO_CLIENT_FORWARD, &args) != 0)
    if (errno != EINTR) return -1;
  return 0;
}

const cr_checkpoint_info& checkpoint_info() {
  return g_round.info;
}

const cr_restart_info& restart_info() {
  return g_round.restart;
}

}  // namespace cryo::libcr
