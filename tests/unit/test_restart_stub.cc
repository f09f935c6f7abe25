// SPDX-License-Identifier: GPL-2.0-only
// The restart stub at work, up to the call that only the module answers.
//
// A child becomes the stub: it clears its address space, builds another one, reads contents, and writes
// what is there then to a pipe.
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/unique_fd.h"
#include "restart/files/output_files.h"
#include "restart/memory/memory_plan.h"
#include "restart/memory/memory_steps.h"
#include "restart/stub/shared_report.h"
#include "unit/context_builder.h"
#include "unit/tap.h"

namespace cryo::test {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kPlain = 0x10000000;
constexpr std::uint64_t kReadOnly = 0x10100000;
constexpr std::uint64_t kFirstShare = 0x10200000;
constexpr std::uint64_t kSecondShare = 0x10300000;
constexpr std::uint64_t kStack = 0x10800000;
constexpr std::uint32_t kSharedInode = 9;
constexpr std::uint32_t kSharedFile = 9;

cryo_vma vma(std::uint64_t start, std::uint64_t pages, std::uint64_t flags,
             std::uint32_t kind = CRYO_VMA_ANON) {
  return {start, start + pages * kPage, 0, flags, kind, kind == CRYO_VMA_SHMEM ? kSharedFile : 0, 0, 0};
}

PageChunk chunk(std::uint32_t kind, std::uint32_t object, std::vector<cryo_page_run> runs,
                std::uint64_t offset) {
  PageChunk result;
  result.kind = kind;
  result.object = object;
  result.runs = std::move(runs);
  for (const cryo_page_run& run : result.runs) result.nr_pages += run.nr_pages;
  result.data_offset = offset;
  result.bytes = result.nr_pages * kPage;
  return result;
}

// Five areas; the contents are pages of 'a', 'b', 'c', 'd', 'e'.
Context make_context() {
  Context context;
  context.header.page_size = kPage;
  constexpr std::uint64_t kReadWrite = CRYO_VMA_READ | CRYO_VMA_WRITE;
  Mm mm;
  mm.id = 1;
  mm.vmas = {vma(kPlain, 4, kReadWrite), vma(kReadOnly, 1, CRYO_VMA_READ),
             vma(kFirstShare, 2, kReadWrite | CRYO_VMA_SHARED, CRYO_VMA_SHMEM),
             vma(kSecondShare, 1, CRYO_VMA_READ | CRYO_VMA_SHARED, CRYO_VMA_SHMEM),
             vma(kStack, 2, kReadWrite | CRYO_VMA_GROWSDOWN)};
  mm.vmas[3].offset = kPage;
  for (__u64* field : {&mm.head.start_code, &mm.head.end_code, &mm.head.start_data, &mm.head.end_data,
                       &mm.head.start_brk, &mm.head.brk, &mm.head.start_stack, &mm.head.arg_start,
                       &mm.head.arg_end, &mm.head.env_start, &mm.head.env_end})
    *field = kPlain + (field == &mm.head.end_code ? 1 : 0);
  context.mms.emplace(1, mm);
  context.inodes[kSharedInode].id = kSharedInode;
  context.inodes[kSharedInode].head.size = 2 * kPage;
  context.files[kSharedFile].id = kSharedFile;
  context.files[kSharedFile].head.inode = kSharedInode;
  context.pages = {chunk(CRYO_PAGES_MM, 1, {{kPlain, 1}, {kPlain + 3 * kPage, 1}, {kReadOnly, 1}}, kPage),
                   chunk(CRYO_PAGES_INODE, kSharedInode, {{kPage, 1}}, 8 * kPage),
                   chunk(CRYO_PAGES_MM, 1, {{kStack, 1}}, 4 * kPage)};
  return context;
}

UniqueFd make_contents_file() {
  UniqueFd fd(::memfd_create("contents", 0));
  for (const auto& [offset, letter] : {std::pair{1, 'a'}, {2, 'b'}, {3, 'c'}, {8, 'd'}, {4, 'e'}}) {
    const std::string bytes(kPage, letter);
    if (::pwrite(fd.get(), bytes.data(), kPage, static_cast<off_t>(offset * kPage)) !=
        static_cast<ssize_t>(kPage))
      fail_errno("pwrite");
  }
  return fd;
}

struct Outcome {
  int status = 0;
  stub::Report report{};
  std::string text;
  std::string output;
};

// What the child does with the stub: see the tests.
struct Script {
  CallList process;
  CallList thread;  // of a second thread, which waits for ever afterwards
  CallList leader;
  bool second_thread = false;
};

template <typename T>
std::uint32_t size_of(const T& list) {
  return static_cast<std::uint32_t>(list.size());
}

[[noreturn]] void become_stub(const Context& context, stub::Report* report, int contents_fd,
                              const Script& script) {
  const std::vector<int> context_fds{contents_fd};
  const SharedMemory shared = make_shared_memory(context, context_fds);
  AddressSpace space(kPage);
  const Mm& mm = context.mm(1);
  const std::vector<OwnMapping> own = own_mappings();
  for (const OwnMapping& mapping : own) space.use(mapping.range);
  use_saved_addresses(mm, space);
  StubArea area(space, {report, report_size(1)}, memory_plan_size(context, mm, {}) + 100000, 65536, kPage);
  // The saved process has no vdso: this one's goes away.
  const MemoryPlanInput input{.context = context,
                              .mm = mm,
                              .threads = {},
                              .own_kernel_mappings = kernel_mappings(own),
                              .fd_of = [](std::uint32_t) { return -1; },
                              .shared = shared,
                              .context_fds = context_fds,
                              .mapped = {},
                              .inherited = {}};
  MemoryPlan memory = plan_memory(input, area, space);
  memory.after_reads.append(script.process);

  auto* p = area.array<stub::Parameters>(1);
  p->report = area.report();
  p->slot = slots_of(area.report());
  p->gate = gate_of(area.report(), 1);
  p->gate_size = gate_size(1);
  p->turn = turns_of(p->gate);
  p->nr_processes = 1;
  p->memory_calls = area.copy(memory.before_reads);
  p->nr_memory_calls = size_of(memory.before_reads.calls());
  p->reads = area.copy(memory.reads);
  p->nr_reads = size_of(memory.reads);
  p->buffers = area.copy(memory.buffers);
  p->process_calls = area.copy(memory.after_reads);
  p->nr_process_calls = size_of(memory.after_reads.calls());
  p->leader_calls = area.copy(script.leader);
  p->nr_leader_calls = size_of(script.leader.calls());
  p->nr_threads = script.second_thread ? 2 : 1;
  p->threads = area.array<stub::Thread>(2);
  p->handle_fd = ::open("/dev/null", O_RDWR);
  p->device_fd = -1;
  CallList wait;
  wait.add(stub::Step::kResume, 0, SYS_ppoll, 0, 0, 0, 0, 8);
  for (std::uint32_t i = 0; i < 2; ++i) {
    p->threads[i].parameters = p;
    p->threads[i].index = i;
  }
  p->threads[1].calls = area.copy(script.thread);
  p->threads[1].nr_calls = size_of(script.thread.calls());
  p->threads[1].last = area.copy(wait);
  p->threads[1].nr_last = 1;
  p->threads[1].stack_size = stub::kThreadStackSize;
  p->threads[1].stack = area.allocate(stub::kThreadStackSize, 16);
  area.enter(p);
}

Outcome run_stub(const Context& context, const std::function<Script(int pipe)>& script) {
  const UniqueFd contents = make_contents_file();
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) fail_errno("pipe2");
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  const SharedReport report(1);
  const pid_t child = ::fork();
  if (child == 0) {
    const std::uint64_t all = ~0ULL;
    ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, nullptr, sizeof(all));
    ::alarm(60);
    try {
      become_stub(context, report.get(), contents.get(), script(writer.get()));
    } catch (const Error& error) {
      std::strncpy(report.ledger().text, error.what(), sizeof(report.ledger().text) - 1);
      ::_exit(99);
    }
  }
  writer.reset();
  Outcome outcome;
  char buffer[64];
  for (ssize_t got; (got = ::read(reader.get(), buffer, sizeof(buffer))) > 0;)
    outcome.output.append(buffer, static_cast<std::size_t>(got));
  ::waitpid(child, &outcome.status, 0);
  outcome.report = *report;
  outcome.text = report.ledger().text;
  return outcome;
}

void say(CallList& calls, int pipe, std::uint64_t address) {
  calls.add(stub::Step::kPrepare, 0, SYS_write, pipe, address, 1);
}

// The last step is the module's, and /dev/null does not know it.
void check_arrived(const Outcome& outcome) {
  CHECK_EQ(outcome.text, "");
  CHECK(WIFEXITED(outcome.status) && WEXITSTATUS(outcome.status) == stub::kFailureStatus);
  CHECK_EQ(outcome.report.failed, 2U);
  CHECK(outcome.report.step == stub::Step::kResume);
  CHECK_EQ(outcome.report.error, ENOTTY);
}

TEST("stub: memory is rebuilt and filled") {
  const Outcome outcome = run_stub(make_context(), [](int pipe) {
    Script script;
    for (const std::uint64_t address :
         {kPlain, kPlain + 3 * kPage, kReadOnly, kSecondShare, kFirstShare + kPage, kStack})
      say(script.process, pipe, address);
    // Where nothing was saved there is zero.
    for (const std::uint64_t address : {kPlain + kPage, kFirstShare, kStack + kPage})
      say(script.process, pipe, address);
    return script;
  });
  check_arrived(outcome);
  CHECK_EQ(outcome.report.arrived, 1U);
  CHECK_EQ(outcome.output, std::string("abcdde\0\0\0", 9));
}

TEST("stub: shared anonymous memory is one object, protections are the saved ones") {
  const Outcome outcome = run_stub(make_context(), [](int pipe) {
    Script script;
    // What the kernel writes into the first mapping shows in the second ...
    script.process.add(stub::Step::kPrepare, 0, SYS_write, pipe, kPlain, 1);
    script.process.add(stub::Step::kPrepare, 0, SYS_getcwd, kFirstShare + kPage, kPage);
    say(script.process, pipe, kSecondShare);
    // ... and one into read-only memory fails.
    script.process.add(kProtectStep, 77, SYS_getcwd, kReadOnly, kPage);
    return script;
  });
  CHECK_EQ(outcome.output, "a/");
  CHECK(outcome.report.step == kProtectStep);
  CHECK_EQ(outcome.report.index, 77U);
  CHECK_EQ(outcome.report.error, EFAULT);
  CHECK_EQ(outcome.report.address, kReadOnly);
}

TEST("stub: the leader goes on when the other threads are set up") {
  const Outcome outcome = run_stub(make_context(), [](int pipe) {
    Script script;
    script.second_thread = true;
    say(script.process, pipe, kPlain);
    say(script.thread, pipe, kReadOnly);
    say(script.leader, pipe, kStack);
    return script;
  });
  check_arrived(outcome);
  CHECK_EQ(outcome.output, "ace");
}

TEST("stub: a mapping in the way is an error that names it") {
  Context context = make_context();
  Mm& mm = context.mms.at(1);
  mm.vmas.insert(mm.vmas.begin() + 1, vma(kPlain + kPage, 1, CRYO_VMA_READ));
  const Outcome outcome = run_stub(context, [](int) { return Script{}; });
  CHECK(outcome.report.step == kMapStep);
  CHECK_EQ(outcome.report.index, 1U);
  CHECK_EQ(outcome.report.error, EEXIST);
  CHECK_EQ(outcome.report.arrived, 0U);
}

TEST("stub: bytes that are others are an error") {
  const std::string text = "123456789";  // whose CRC32C is 0xe3069283
  const auto end_of = [&](std::uint32_t crc, std::uint64_t length) {
    return run_stub(make_context(), [&](int) {
      const int fd = ::memfd_create("file", 0);
      CHECK_EQ(::write(fd, text.data(), text.size()), static_cast<ssize_t>(text.size()));
      Script script;
      script.process.expect(stub::Expect::kBytes, kOldEndStep, 3, SYS_pread64, fd, kPlain, length, 0, crc);
      return script;
    });
  };
  check_arrived(end_of(0xe3069283, 9));
  const Outcome other = end_of(0xe3069284, 9);
  CHECK(other.report.step == kOldEndStep);
  CHECK_EQ(other.report.error, ESTALE);
  CHECK_EQ(other.report.index, 3U);
  const Outcome shorter = end_of(0xe3069283, 10);
  CHECK_EQ(shorter.report.error, ESTALE);
}

TEST("stub: contents that end early are an error") {
  Context context = make_context();
  context.pages.back().data_offset = 100 * kPage;
  const Outcome outcome = run_stub(context, [](int) { return Script{}; });
  CHECK(outcome.report.step == stub::Step::kRead);
  CHECK_EQ(outcome.report.error, ENODATA);
  CHECK_EQ(outcome.report.address, kStack);
}

}  // namespace
}  // namespace cryo::test
