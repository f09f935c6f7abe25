// SPDX-License-Identifier: GPL-2.0-only
// The restart stub.  Runs from a copy of its own machine code, with no library, no thread-local storage
// and no memory but its own area: see stub.h.
//
// This file is compiled with the flags of freestanding code and without jump tables, and it must not
// use string literals, tables, global objects or library calls, because only its text section is copied.
// tests/unit/stub.sh looks at the object.

#include "restart/stub/stub.h"

#include <linux/futex.h>
#include <linux/sched.h>
#include <time.h>

#include "stub_arch.h"

#define STUB_CODE [[gnu::section("cryo_stub"), gnu::noinline]] static

namespace cryo::stub {
namespace {

constexpr long kMaxErrno = 4095;
constexpr std::uint32_t kMaxBuffers = 1024;  // UIO_MAXIOV
constexpr long kErrorPerm = 1;
constexpr long kErrorNoProcess = 3;
constexpr long kErrorInterrupted = 4;
constexpr long kErrorAgain = 11;
constexpr long kErrorBusy = 16;
constexpr long kErrorNoMemory = 12;
constexpr long kErrorExists = 17;
constexpr long kErrorStale = 116;
constexpr long kErrorData = 61;  // ENODATA: the context ended early

[[gnu::always_inline]] inline std::uint64_t address_of(const void* pointer) {
  return reinterpret_cast<std::uint64_t>(pointer);
}

[[gnu::always_inline]] inline bool is_error(long result) {
  return result < 0 && result >= -kMaxErrno;
}

// The first failure is the one that is reported.
[[noreturn]] STUB_CODE void fail(Parameters* p, Step step, std::uint32_t thread, std::uint32_t index,
                                 long error, std::uint64_t address) {
  Report* report = p->report;
  std::uint32_t none = 0;
  if (__atomic_compare_exchange_n(&report->failed, &none, 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
    report->step = step;
    report->process = p->process;
    report->thread = thread;
    report->index = index;
    report->address = address;
    report->error = static_cast<std::int32_t>(error);
    __atomic_store_n(&report->failed, 2, __ATOMIC_RELEASE);
  }
  for (;;) raw_syscall(SYS_exit_group, kFailureStatus);
}

// As crc32c() has it, without its tables: it is done for a few thousand bytes.
STUB_CODE std::uint32_t crc32c_of(const unsigned char* bytes, std::uint64_t count) {
  constexpr std::uint32_t kPolynomial = 0x82f63b78;
  std::uint32_t crc = ~0U;
  for (std::uint64_t i = 0; i < count; ++i) {
    crc ^= bytes[i];
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
  }
  return ~crc;
}

[[gnu::always_inline]] inline bool has_read(const Call& call, std::uint64_t count) {
  return count == call.args[2] &&
         crc32c_of(reinterpret_cast<const unsigned char*>(call.args[1]), count) == call.args[4];
}

STUB_CODE void move_descriptor(Parameters* p, const Call& call, std::uint64_t fd) {
  const long moved = raw_syscall(SYS_dup3, fd, call.args[5], call.args[4]);
  if (is_error(moved)) fail(p, call.step, 0, call.index, -moved, 0);
  raw_syscall(SYS_close, fd);
}

STUB_CODE void make_calls(Parameters* p, const Call* calls, std::uint32_t count, std::uint32_t thread) {
  for (std::uint32_t i = 0; i < count; ++i) {
    const Call& call = calls[i];
    if (thread == 0) p->slot->step = call.step;
    const long result = raw_syscall(call.number, call.args[0], call.args[1], call.args[2], call.args[3],
                                    call.args[4], call.args[5]);
    if (call.expect == Expect::kLocked && result == -kErrorNoMemory) continue;
    if (is_error(result)) fail(p, call.step, thread, call.index, -result, call.args[0]);
    if (call.expect == Expect::kMoved) move_descriptor(p, call, static_cast<std::uint64_t>(result));
    const std::uint64_t value = static_cast<std::uint64_t>(result);
    if ((call.expect == Expect::kArgument0 && value != call.args[0]) ||
        (call.expect == Expect::kArgument1 && value != call.args[1]) ||
        (call.expect == Expect::kArgument3 && value != call.args[3]) ||
        (call.expect == Expect::kArgument4 && value != call.args[4]))
      fail(p, call.step, thread, call.index, kErrorBusy, call.args[0]);
    if (call.expect == Expect::kBytes && !has_read(call, value))
      fail(p, call.step, thread, call.index, kErrorStale, 0);
  }
}

// Take @bytes off the front of the buffers; returns how many are finished.
STUB_CODE std::uint32_t consume(iovec* buffers, std::uint32_t count, std::uint64_t bytes) {
  std::uint32_t done = 0;
  while (done < count && bytes >= buffers[done].iov_len) {
    bytes -= buffers[done].iov_len;
    ++done;
  }
  if (done < count) {
    buffers[done].iov_base = static_cast<char*>(buffers[done].iov_base) + bytes;
    buffers[done].iov_len -= bytes;
  }
  return done;
}

STUB_CODE void read_contents(Parameters* p) {
  p->slot->step = Step::kRead;
  for (std::uint32_t i = 0; i < p->nr_reads; ++i) {
    std::uint64_t offset = p->reads[i].offset;
    iovec* buffers = p->buffers + p->reads[i].first;
    std::uint32_t left = p->reads[i].count;
    while (left > 0) {
      const std::uint32_t batch = left < kMaxBuffers ? left : kMaxBuffers;
      const long got = raw_syscall(SYS_preadv, static_cast<std::uint64_t>(p->reads[i].fd),
                                   address_of(buffers), batch, offset, 0);
      if (got == -kErrorInterrupted || got == -kErrorAgain) continue;
      if (is_error(got)) fail(p, Step::kRead, 0, i, -got, address_of(buffers->iov_base));
      if (got == 0) fail(p, Step::kRead, 0, i, kErrorData, address_of(buffers->iov_base));
      offset += static_cast<std::uint64_t>(got);
      const std::uint32_t done = consume(buffers, batch, static_cast<std::uint64_t>(got));
      buffers += done;
      left -= done;
    }
  }
}

// From here on nobody may use this memory by an address without them.
STUB_CODE void set_all_tags(Parameters* p) {
  for (std::uint32_t i = 0; i < p->nr_tags; ++i)
    set_tags(p->tags[i].start, p->tags[i].tags, p->tags[i].count);
}

STUB_CODE void arrive(Parameters* p) {
  __atomic_add_fetch(&p->report->arrived, 1, __ATOMIC_ACQ_REL);
  raw_syscall(SYS_futex, address_of(&p->report->arrived), FUTEX_WAKE, 1);
}

// The module waits until it is gone before it takes the code away.
[[noreturn]] STUB_CODE void exit_as_before(Parameters* p) {
  arrive(p);
  for (;;) raw_syscall(SYS_exit, static_cast<std::uint64_t>(p->leader_status));
}

STUB_CODE void arrive_and_resume(Parameters* p, Thread* thread) {
  make_calls(p, thread->last, thread->nr_last, thread->index);
  claim_registers(thread->registers);
  arrive(p);
  const long result = raw_syscall(SYS_ioctl, static_cast<std::uint64_t>(p->handle_fd), CRYO_RST_RESUME,
                                  address_of(thread->resume));
  fail(p, Step::kResume, thread->index, 0, is_error(result) ? -result : 0, 0);
}

// A thread that got another tid than wanted leaves without a trace.
STUB_CODE void thread_main(void* argument) {
  Thread* thread = static_cast<Thread*>(argument);
  Parameters* p = thread->parameters;
  if (thread->tid != 0 && raw_syscall(SYS_gettid) != thread->tid)
    for (;;) raw_syscall(SYS_exit, 0);
  make_calls(p, thread->calls, thread->nr_calls, thread->index);
  __atomic_add_fetch(&p->set_up, 1, __ATOMIC_ACQ_REL);
  raw_syscall(SYS_futex, address_of(&p->set_up), FUTEX_WAKE_PRIVATE, 1);
  arrive_and_resume(p, thread);
}

// Returns an error, or where the cursor was.
STUB_CODE long move_cursor(Parameters* p, std::int32_t pid) {
  cryo_pid_cursor cursor;
  cursor.size = sizeof(cursor);
  cursor.pid = pid;
  cursor.previous = 0;
  cursor.reserved = 0;
  const long result = raw_syscall(SYS_ioctl, static_cast<std::uint64_t>(p->device_fd), CRYO_IOC_PID_CURSOR,
                                  address_of(&cursor));
  return is_error(result) ? result : cursor.previous;
}

STUB_CODE long clone_once(Parameters* p, Thread* thread) {
  long previous = 0;
  if (thread->tid != 0 && p->use_cursor != 0) {
    previous = move_cursor(p, thread->tid);
    if (is_error(previous)) fail(p, Step::kPidCursor, thread->index, 0, -previous, 0);
  }
  std::int32_t tid = thread->tid;
  clone_args args;
  for (std::uint32_t i = 0; i < sizeof(args) / sizeof(std::uint64_t); ++i)
    reinterpret_cast<volatile std::uint64_t*>(&args)[i] = 0;
  args.flags =
      CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_CHILD_CLEARTID;
  args.child_tid = address_of(&thread->alive);
  args.stack = address_of(thread->stack);
  args.stack_size = thread->stack_size;
  if (thread->tid != 0 && p->use_cursor == 0) {
    args.set_tid = address_of(&tid);
    args.set_tid_size = 1;
  }
  __atomic_store_n(&thread->alive, 1, __ATOMIC_RELEASE);
  const long result = clone_thread(&args, sizeof(args), thread_main, thread);
  // Others' forks go on where they were: the ids from here on are wanted, too.
  if (previous > 0) move_cursor(p, kCursorBack);
  return result;
}

STUB_CODE void wait_until_gone(Thread* thread) {
  while (__atomic_load_n(&thread->alive, __ATOMIC_ACQUIRE) != 0)
    raw_syscall(SYS_futex, address_of(&thread->alive), FUTEX_WAIT, 1, 0);
}

STUB_CODE void pause_before(int attempt) {
  volatile timespec pause;
  pause.tv_sec = 0;
  pause.tv_nsec = attempt < kQuickTidTries ? 0 : kTidPauseNs;
  raw_syscall(SYS_nanosleep, address_of(const_cast<timespec*>(&pause)), 0);
}

STUB_CODE void create_thread(Parameters* p, Thread* thread) {
  make_calls(p, thread->before, thread->nr_before, 0);
  p->slot->step = Step::kCreateThread;
  for (int attempt = 0; attempt < kMaxTidTries; ++attempt) {
    const long tid = clone_once(p, thread);
    if (tid == -kErrorPerm && thread->tid != 0 && p->use_cursor == 0 && p->device_fd >= 0) {
      p->use_cursor = 1;
      continue;
    }
    // Somebody has the id, often for a moment only.
    const bool taken = tid == -kErrorExists && thread->tid != 0;
    if (is_error(tid) && !taken) fail(p, Step::kCreateThread, thread->index, 0, -tid, 0);
    thread->made = static_cast<std::int32_t>(tid);
    if (!taken && (thread->tid == 0 || tid == thread->tid)) return;
    if (!taken) wait_until_gone(thread);
    pause_before(attempt);
  }
  fail(p, Step::kThreadId, thread->index, 0, kErrorExists, 0);
}

// As a name that is relative to a directory: ".///////1234".
STUB_CODE void write_id(volatile char* at, std::uint32_t id) {
  int i = kIdRoom;
  do {
    at[--i] = static_cast<char>('0' + id % 10);
    id /= 10;
  } while (id != 0);
  while (i > 1) at[--i] = '/';
  at[0] = '.';
}

STUB_CODE void write_ids(Parameters* p) {
  for (std::uint32_t i = 0; i < p->nr_ids; ++i)
    write_id(p->ids[i].at, static_cast<std::uint32_t>(p->threads[p->ids[i].thread].made));
}

STUB_CODE void wait_for_threads(Parameters* p) {
  for (;;) {
    const std::uint32_t set_up = __atomic_load_n(&p->set_up, __ATOMIC_ACQUIRE);
    if (set_up + 1 >= p->nr_threads) return;
    raw_syscall(SYS_futex, address_of(&p->set_up), FUTEX_WAIT_PRIVATE, set_up, 0);
  }
}

// Until as many processes have come here as there are. The last one wakes the others.
STUB_CODE void arrive_at(std::uint32_t* count, std::uint32_t total) {
  if (__atomic_add_fetch(count, 1, __ATOMIC_ACQ_REL) == total)
    raw_syscall(SYS_futex, address_of(count), FUTEX_WAKE, 0x7fffffff);
}

// Some who wait have their own death signal again, or none: whether cr_restart lives they have to ask.
STUB_CODE void wait_a_second(const Parameters* p, std::uint32_t* word, std::uint32_t value) {
  volatile timespec timeout;
  timeout.tv_sec = 1;
  timeout.tv_nsec = 0;
  raw_syscall(SYS_futex, address_of(word), FUTEX_WAIT, value, address_of(const_cast<timespec*>(&timeout)));
  if (p->coordinator != 0 &&
      raw_syscall(SYS_kill, static_cast<std::uint64_t>(p->coordinator), 0) == -kErrorNoProcess)
    raw_syscall(SYS_exit_group, kFailureStatus);
}

STUB_CODE void say_that_it_waits(const Parameters* p, std::uint16_t waits) {
  __atomic_store_n(&p->slot->waits, waits, __ATOMIC_RELAXED);
}

STUB_CODE void wait_until(const Parameters* p, std::uint32_t* count) {
  say_that_it_waits(p, 1);
  for (std::uint32_t now; (now = __atomic_load_n(count, __ATOMIC_ACQUIRE)) < p->nr_processes;)
    wait_a_second(p, count, now);
  say_that_it_waits(p, 0);
}

STUB_CODE void set_and_wake(std::uint32_t* word) {
  __atomic_store_n(word, 1, __ATOMIC_RELEASE);
  raw_syscall(SYS_futex, address_of(word), FUTEX_WAKE, 0x7fffffff);
}

// Nobody's user can write there: it is gone before anybody has other ids than cr_restart.
STUB_CODE void leave_gate(Parameters* p) {
  const long result = raw_syscall(SYS_munmap, address_of(p->gate), p->gate_size);
  if (is_error(result)) fail(p, Step::kUnmap, 0, 0, -result, address_of(p->gate));
}

STUB_CODE void wait_for(const Parameters* p, std::uint32_t* word) {
  say_that_it_waits(p, 1);
  while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == 0) wait_a_second(p, word, 0);
  say_that_it_waits(p, 0);
}

}  // namespace
}  // namespace cryo::stub

extern "C" [[gnu::section("cryo_stub")]] void cryo_stub_main(void* argument) {
  using namespace cryo::stub;
  Parameters* p = static_cast<Parameters*>(argument);
  set_and_wake(&p->turn->in_stub);
  make_calls(p, p->memory_calls, p->nr_memory_calls, 0);
  read_contents(p);
  set_all_tags(p);
  Report* report = p->report;
  arrive_at(&p->gate->mapped, p->nr_processes);
  if (p->wait_mapped != 0) wait_until(p, &p->gate->mapped);
  if (p->memory_of != nullptr) wait_for(p, &p->memory_of->memory);
  make_calls(p, p->process_calls, p->nr_process_calls, 0);
  set_and_wake(&p->turn->memory);
  leave_gate(p);
  for (std::uint32_t i = 1; i < p->nr_threads; ++i) create_thread(p, &p->threads[i]);
  Thread* leader = &p->threads[0];
  make_calls(p, leader->calls, leader->nr_calls, 0);
  wait_for_threads(p);
  arrive_at(&report->peopled, p->nr_processes);
  if (p->wait_peopled != 0) wait_until(p, &report->peopled);
  write_ids(p);
  make_calls(p, p->proc_calls, p->nr_proc_calls, 0);
  make_calls(p, p->leader_calls, p->nr_leader_calls, 0);
  if (p->device_fd >= 0) raw_syscall(SYS_close, static_cast<std::uint64_t>(p->device_fd));
  arrive_at(&report->ready, p->nr_processes);
  wait_until(p, &report->ready);
  make_calls(p, p->final_calls, p->nr_final_calls, 0);
  say_that_it_waits(p, 1);
  if (p->leader_exits != 0) exit_as_before(p);
  arrive_and_resume(p, leader);
}
