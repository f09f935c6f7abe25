// SPDX-License-Identifier: GPL-2.0-only
#include "restart/process/vm_child.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/rseq.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.h"
#include "stub_arch.h"

namespace cryo {
namespace {

constexpr std::size_t kHelperStackSize = 8 << 20;
constexpr std::size_t kThreadRoom = 1 << 18;  // of that, for what the thread itself had
constexpr std::uint64_t kRedZone = 4096;
constexpr std::uint32_t kRseqLength = 32;

struct Left {
  std::uint64_t stack_end = 0;
  std::uint64_t thread_pointer = 0;
  pid_t tid = 0;  // the last one to be set
};

void* leave(void* argument) {
  auto* left = static_cast<Left*>(argument);
  left->stack_end = (reinterpret_cast<std::uint64_t>(__builtin_frame_address(0)) - kRedZone) & ~15ULL;
  left->thread_pointer = reinterpret_cast<std::uint64_t>(stub::thread_pointer());
  const auto tid = static_cast<pid_t>(stub::raw_syscall(SYS_gettid));
  __atomic_store_n(&left->tid, tid, __ATOMIC_RELEASE);
  for (;;) stub::raw_syscall(SYS_exit, 0);
}

Left make_and_lose_thread() {
  Left left;
  pthread_attr_t attributes;
  pthread_t thread;
  ::pthread_attr_init(&attributes);
  int error = ::pthread_attr_setstacksize(&attributes, kHelperStackSize);
  if (error == 0) error = ::pthread_create(&thread, &attributes, leave, &left);
  ::pthread_attr_destroy(&attributes);
  if (error != 0) fail(error, "cannot create a stack for a process that shares memory");
  pid_t tid = 0;
  while ((tid = __atomic_load_n(&left.tid, __ATOMIC_ACQUIRE)) == 0) ::sched_yield();
  while (::syscall(SYS_tgkill, ::getpid(), tid, 0) == 0 || errno != ESRCH) ::sched_yield();
  return left;
}

// As the library does for a thread; given up like that of any other (StubArea).
void register_rseq() {
  if (__rseq_size == 0) return;
  char* area = static_cast<char*>(stub::thread_pointer()) + __rseq_offset;
  if (::syscall(SYS_rseq, area, kRseqLength, 0, RSEQ_SIG) != 0)
    fail_errno("cannot register restartable sequences (rseq)");
}

}  // namespace

VmChild::VmChild(Entry entry, void* argument, bool shares_handlers)
    : entry_(entry), argument_(argument), shares_handlers_(shares_handlers) {
  const Left left = make_and_lose_thread();
  stack_size_ = kHelperStackSize - kThreadRoom;
  stack_ = left.stack_end - stack_size_;
  thread_pointer_ = left.thread_pointer;
}

void VmChild::begin(void* life) {
  auto* self = static_cast<VmChild*>(life);
  if (self->wanted_ != 0 && ::getpid() != self->wanted_) ::_exit(0);
  while (__atomic_load_n(&self->may_go_, __ATOMIC_ACQUIRE) == 0)
    stub::raw_syscall(SYS_futex, reinterpret_cast<std::uint64_t>(&self->may_go_), FUTEX_WAIT, 0, 0);
  register_rseq();
  self->entry_(self->argument_);
  ::_exit(1);
}

long VmChild::clone(clone_args args, pid_t wanted) {
  wanted_ = wanted;
  args.flags |= CLONE_VM | CLONE_SETTLS | CLONE_CHILD_CLEARTID;
  if (shares_handlers_) args.flags |= CLONE_SIGHAND;
  args.child_tid = reinterpret_cast<std::uint64_t>(&alive_);
  args.tls = thread_pointer_;
  args.stack = stack_;
  args.stack_size = stack_size_;
  __atomic_store_n(&alive_, 1, __ATOMIC_RELEASE);
  return stub::clone_thread(&args, sizeof(args), begin, this);
}

void VmChild::let_go() {
  __atomic_store_n(&may_go_, 1, __ATOMIC_RELEASE);
  ::syscall(SYS_futex, &may_go_, FUTEX_WAKE, 1);
}

void VmChild::wait_until_gone() {
  while (__atomic_load_n(&alive_, __ATOMIC_ACQUIRE) != 0)
    ::syscall(SYS_futex, &alive_, FUTEX_WAIT, 1, nullptr);
}

}  // namespace cryo
