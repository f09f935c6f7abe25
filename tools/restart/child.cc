// SPDX-License-Identifier: GPL-2.0-only
#include "restart/child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "base/error.h"
#include "restart/files.h"
#include "restart/locks.h"
#include "restart/memory_plan.h"
#include "restart/posix_timers.h"
#include "restart/process_state.h"
#include "restart/thread_plan.h"
#include "restart/timers.h"

namespace cryo {
namespace {

using stub::Step;

constexpr std::size_t kLockSize = 128;  // stub area for one lock: call and struct flock
constexpr std::size_t kOwnerSize = 16;  // struct f_owner_ex, aligned
constexpr std::size_t kFixedSize = 65536;

class Child {
 public:
  explicit Child(const ChildInput& input) : input_(input), process_(input.process), report_(input.report) {}

  [[noreturn]] void run();

 private:
  void restore_ordinary_state();
  void restore_open_files();
  [[nodiscard]] StubArea make_area(AddressSpace& space);
  void plan_process_calls(CallList& calls, StubArea& area);
  void plan_truncation(CallList& calls);
  [[nodiscard]] stub::Parameters* plan(StubArea& area, AddressSpace& space);
  [[noreturn]] void give_up(const char* text, int code);

  const ChildInput& input_;
  const Process& process_;
  stub::Report* report_;
  RestoredFiles files_;
  // Parked; released to the stub.
  int context_fd_ = -1;
  int handle_fd_ = -1;
  int device_fd_ = -1;
  std::vector<KernelMapping> kernel_mappings_;
  CredentialChange credentials_;
};

void Child::give_up(const char* text, int code) {
  std::strncpy(report_->text, text, sizeof(report_->text) - 1);
  report_->step = Step::kPrepare;
  report_->error = code;
  __atomic_store_n(&report_->failed, 1, __ATOMIC_RELEASE);
  ::_exit(stub::kFailureStatus);
}

void Child::restore_ordinary_state() {
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) fail_errno("PR_SET_PDEATHSIG");
  if (::getppid() != input_.parent) fail(ECANCELED, "cr_restart is gone");
  credentials_ = credential_change(*process_.creds, own_credentials());
  raise_limits(process_);
  restore_session(process_, input_.options);
  restore_attributes(process_);
  restore_open_files();
  CreatedPaths created(*report_);
  restore_cwd(process_, input_.options, created);
  restore_umask(process_);
}

void Child::restore_open_files() {
  const Descriptors descriptors(process_.fds);
  context_fd_ = descriptors.park_copy(input_.context_fd).release();
  handle_fd_ = descriptors.park_copy(input_.handle_fd).release();
  if (input_.device_fd >= 0) device_fd_ = descriptors.park_copy(input_.device_fd).release();
  CreatedPaths created(*report_);
  FileRestoreInput input{input_.context, process_, input_.options, descriptors, created, context_fd_, {}};
  std::set<int> keep{context_fd_, handle_fd_, device_fd_};
  for (int number = 0; number < 3; ++number) {
    if (::fcntl(number, F_GETFD) < 0) continue;
    input.stdio[number] = descriptors.park_copy(number);
    keep.insert(input.stdio[number].get());
  }
  descriptors.close_others(keep, false);
  files_ = restore_files(input);
  fill_inotifies(input_.context, process_, input_.options, files_.fds);
  fill_epolls(input_.context, process_, files_.fds, handle_fd_);
  take_file_locks(input_.context, process_, files_.fds);
  keep = {context_fd_, handle_fd_, device_fd_, files_.exe_fd};
  keep.insert(files_.parked.begin(), files_.parked.end());
  for (UniqueFd& fd : input.stdio) fd.reset();
  descriptors.close_others(keep, true);
}

StubArea Child::make_area(AddressSpace& space) {
  std::size_t transit = 0;
  const std::vector<OwnMapping> own = own_mappings();
  for (const OwnMapping& mapping : own) space.use(mapping.range);
  kernel_mappings_ = kernel_mappings(own);
  for (const KernelMapping& mapping : kernel_mappings_) transit += mapping.range.size();
  const Mm& mm = input_.context.mm(process_.head.mm);
  use_saved_addresses(mm, space);
  const std::size_t data = memory_plan_size(input_.context, mm) + thread_plan_size(process_, credentials_) +
                           timerfd_plan_size(process_) + posix_timer_plan_size(process_) +
                           process_.locks.size() * kLockSize + files_.parked.size() * 2 * sizeof(stub::Call) +
                           files_.fds.size() * (5 * sizeof(stub::Call) + kOwnerSize) + kFixedSize;
  return StubArea(space, report_, data, transit, input_.context.header.page_size);
}

void Child::plan_process_calls(CallList& calls, StubArea& area) {
  for (const auto& [fd, seals] : files_.seals) calls.add(Step::kSeal, 0, SYS_fcntl, fd, F_ADD_SEALS, seals);
  plan_process(process_, calls, area);
  for (const int fd : files_.parked) calls.add(Step::kClose, 0, SYS_close, fd);
  calls.add(Step::kClose, 0, SYS_close, context_fd_);
  plan_process_locks(process_, files_.fds, calls, area);
}

// What a file that was open for writing has got since then is what this run is going to write.
void Child::plan_truncation(CallList& calls) {
  if (!input_.options.truncate) return;
  for (const auto& [id, use] : file_uses(input_.context, process_)) {
    const File& file = input_.context.file(id);
    const int mode = static_cast<int>(file.head.flags) & (O_ACCMODE | O_PATH);
    if (use.fds.empty() || file.head.kind != CRYO_FILE_PATH || (mode != O_WRONLY && mode != O_RDWR)) continue;
    const Inode& inode = input_.context.inode(file.head.inode);
    struct stat now;
    if (!S_ISREG(inode.head.mode) || ::fstat(files_.fds.at(id), &now) != 0) continue;
    if (static_cast<std::uint64_t>(now.st_size) > inode.head.size)
      calls.add(Step::kTruncate, id, SYS_ftruncate, files_.fds.at(id), inode.head.size);
  }
}

stub::Parameters* Child::plan(StubArea& area, AddressSpace& space) {
  auto* parameters = area.array<stub::Parameters>(1);
  const Mm& mm = input_.context.mm(process_.head.mm);
  const MemoryPlanInput memory_input{input_.context, mm, kernel_mappings_,
                                     [this](std::uint32_t file) { return files_.fds.at(file); }};
  MemoryPlan memory = plan_memory(memory_input, area, space);
  const ThreadPlanInput threads{process_,   input_.options, credentials_, input_.nice_not_permitted,
                                handle_fd_, files_.exe_fd};
  CallList& process_calls = memory.after_reads;
  plan_process_calls(process_calls, area);
  CallList leader_calls;
  plan_owners({input_.context, process_, input_.options, files_.fds}, leader_calls, area);
  plan_truncation(leader_calls);
  plan_timerfds(input_.context, process_, files_.fds, leader_calls, area);
  plan_posix_timers(input_.context, threads, leader_calls, area);
  plan_leader(threads, leader_calls, area);

  parameters->report = area.report();
  parameters->threads = plan_threads(threads, area, parameters);
  parameters->nr_threads = static_cast<std::uint32_t>(process_.threads.size());
  parameters->memory_calls = area.copy(memory.before_reads);
  parameters->nr_memory_calls = static_cast<std::uint32_t>(memory.before_reads.calls().size());
  parameters->reads = area.copy(memory.reads);
  parameters->nr_reads = static_cast<std::uint32_t>(memory.reads.size());
  parameters->buffers = area.copy(memory.buffers);
  parameters->process_calls = area.copy(process_calls);
  parameters->nr_process_calls = static_cast<std::uint32_t>(process_calls.calls().size());
  parameters->leader_calls = area.copy(leader_calls);
  parameters->nr_leader_calls = static_cast<std::uint32_t>(leader_calls.calls().size());
  parameters->context_fd = context_fd_;
  parameters->handle_fd = handle_fd_;
  parameters->device_fd = device_fd_;
  return parameters;
}

void Child::run() {
  try {
    restore_ordinary_state();
    AddressSpace space(input_.context.header.page_size);
    StubArea area = make_area(space);
    report_ = area.report();
    stub::Parameters* parameters = plan(area, space);
    area.enter(parameters);
  } catch (const Error& error) {
    give_up(error.what(), error.code());
  } catch (const std::exception& error) {
    give_up(error.what(), ENOMEM);
  }
}

}  // namespace

void become(const ChildInput& input) {
  Child(input).run();
}

}  // namespace cryo
