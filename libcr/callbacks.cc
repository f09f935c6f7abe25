// SPDX-License-Identifier: LGPL-2.1-or-later
// Tables of callbacks, and running through them.
#include <sys/syscall.h>
#include <unistd.h>

#include "internal.h"

namespace cryo::libcr {
namespace {

constexpr int kContexts = CR_THREAD_CONTEXT | CR_SIGNAL_CONTEXT;
constexpr int kCodeShift = 16;
constexpr int kFirstRoom = 8;

// Exactly one of the two.
bool is_context(int flags) {
  return flags == CR_THREAD_CONTEXT || flags == CR_SIGNAL_CONTEXT;
}

CallbackTable& table_of(int context) {
  return context == CR_THREAD_CONTEXT ? g_process.callbacks : t_thread->callbacks;
}

void let_signal_in() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, CR_SIGNUM);
  ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

}  // namespace

int CallbackTable::add(Callback callback) {
  if (size_ == CR_MAX_CALLBACKS) return fail(ENOSPC);
  if (size_ == room_) {
    const int room = room_ == 0 ? kFirstRoom : room_ * 2;
    // Another thread may fork at any time: what the child finds in entries_ is there, and its own to be
    // freed.
    Callback* const old = entries_;
    auto* const entries =
        static_cast<Callback*>(std::malloc(static_cast<std::size_t>(room) * sizeof(Callback)));
    if (entries == nullptr) return fail(ENOMEM);
    for (int i = 0; i < size_; ++i) entries[i] = old[i];
    entries_ = entries;
    std::atomic_thread_fence(std::memory_order_seq_cst);
    room_ = room;
    std::free(old);
  }
  entries_[size_] = callback;
  return size_++;
}

int Chain::run() {
  Chain* const outer = t_chain;
  t_chain = this;
  // A child that a callback has forked has no chain.
  while (!done_ && t_chain == this) {
    if (next_ == 0) {
      result_ = bottom_();
      done_ = true;
    } else if (table_[--next_].function != nullptr) {
      call(next_);
    }
  }
  if (t_chain == this) t_chain = outer;
  return result_;
}

// One that returns without cr_checkpoint() is ready; unless it says by its value that something is wrong.
void Chain::call(int index) {
  const int outer = current_;
  const bool outer_called = called_;
  current_ = index;
  called_ = false;
  const Callback callback = table_[index];
  if (note_ != nullptr) note_(callback);
  const int value = callback.function(callback.argument);
  if (!done_ && value != 0 && t_chain == this) refuse(CRYO_VOTE_TEMPORARY, CR_ETEMPFAIL);
  current_ = outer;
  called_ = outer_called;
}

int Chain::refuse(std::uint32_t vote, std::uint32_t code) {
  result_ = abort_(vote, code);
  done_ = true;
  return result_;
}

int Chain::go_on(int flags) {
  const auto code = static_cast<std::uint32_t>(flags) >> kCodeShift;
  if (done_ || called_) return done_ ? result_ : -EBUSY;
  switch (flags & CR_CHECKPOINT_ABORT_MASK) {
    case CR_CHECKPOINT_READY:
      called_ = true;
      return run();
    case CR_CHECKPOINT_TEMP_FAILURE:
      return refuse(CRYO_VOTE_TEMPORARY, code != 0 ? code : CR_ETEMPFAIL);
    case CR_CHECKPOINT_PERM_FAILURE:
      return refuse(CRYO_VOTE_PERMANENT, code != 0 ? code : CR_EPERMFAIL);
    case CR_CHECKPOINT_OMIT:
      return refuse(CRYO_VOTE_OMIT, 0);
    default:
      return -EINVAL;
  }
}

int Chain::replace_self(Callback callback, int context) {
  if (context != context_) return fail(EINVAL);
  table_[current_] = callback;
  return 0;
}

}  // namespace cryo::libcr

using namespace cryo::libcr;

LIBCR_PUBLIC cr_callback_id_t cr_register_callback(cr_callback_t func, void* arg, int flags) {
  if (!is_context(flags)) return fail(EINVAL);
  if (t_chain != nullptr || is_helper()) return fail(EBUSY);
  if (t_thread == nullptr) return fail(CR_ENOINIT);
  {
    const ProcessLock lock;
    if (register_process() != 0) return -1;
  }
  if (flags == CR_SIGNAL_CONTEXT) let_signal_in();
  const Section section;
  const ProcessLock lock;
  const int index = table_of(flags).add({func, arg});
  return index < 0 ? -1 : index | flags;
}

LIBCR_PUBLIC int cr_replace_callback(cr_callback_id_t id, cr_callback_t func, void* arg, int flags) {
  if (!is_context(flags)) return fail(EINVAL);
  if (t_chain != nullptr || is_helper()) return fail(EBUSY);
  if (t_thread == nullptr) return fail(CR_ENOINIT);
  const int index = id & ~kContexts;
  const Section section;
  const ProcessLock lock;
  if (id < 0 || (id & kContexts) != flags || index >= table_of(flags).size()) return fail(EINVAL);
  table_of(flags)[index] = {func, arg};
  return 0;
}

LIBCR_PUBLIC int cr_replace_self(cr_callback_t func, void* arg, int flags) {
  if (!is_context(flags)) return fail(EINVAL);
  if (t_chain == nullptr) return fail(CR_ENOTCB);
  return t_chain->replace_self({func, arg}, flags);
}

LIBCR_PUBLIC int cr_checkpoint(int flags) {
  return t_chain == nullptr ? -CR_ENOTCB : t_chain->go_on(flags);
}

LIBCR_PUBLIC const cr_checkpoint_info* cr_get_checkpoint_info(void) {
  return t_chain == nullptr && !is_preparing() ? nullptr : &checkpoint_info();
}

LIBCR_PUBLIC const cr_restart_info* cr_get_restart_info(void) {
  return t_chain == nullptr || !t_chain->restarted() ? nullptr : &restart_info();
}

LIBCR_PUBLIC int cr_forward_checkpoint(cr_scope_t scope, pid_t target) {
  if (t_chain == nullptr) return fail(CR_ENOTCB);
  if (static_cast<unsigned int>(scope) > CR_SCOPE_TREE) return fail(EINVAL);
  return forward(static_cast<std::uint32_t>(scope), target);
}
