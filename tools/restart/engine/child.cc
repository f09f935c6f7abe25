// SPDX-License-Identifier: GPL-2.0-only
#include "restart/engine/child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/error.h"
#include "restart/cgroups/cgroup.h"
#include "restart/common/proc_files.h"
#include "restart/common/restart_arch.h"
#include "restart/files/files.h"
#include "restart/files/locks.h"
#include "restart/files/output_files.h"
#include "restart/files/polled_rings.h"
#include "restart/files/pty.h"
#include "restart/ipc/mqueue.h"
#include "restart/ipc/sysv.h"
#include "restart/memory/memory_plan.h"
#include "restart/net/sockets.h"
#include "restart/ns/namespaces.h"
#include "restart/ns/pid_namespaces.h"
#include "restart/process/process_state.h"
#include "restart/process/timers.h"
#include "restart/rights/thread_ids.h"
#include "restart/stub/shared_report.h"
#include "restart/stub/step_kind.h"
#include "restart/threads/posix_timers.h"
#include "restart/threads/thread_fs.h"
#include "restart/threads/thread_plan.h"

namespace cryo {
namespace {

const StepKind kSealStep("seal a memfd");

using stub::Expect;

constexpr std::size_t kLockSize = 128;           // stub area for one lock: call and struct flock
constexpr std::size_t kOwnerSize = 16;           // struct f_owner_ex, aligned
constexpr std::size_t kMostAtOnce = 0x7ffff000;  // bytes that sendfile(2) copies in one call
constexpr int kTailCalls = 8;                    // that copy what has come to a file while memory was read
constexpr std::size_t kEndSize =
    CRYO_END_BYTES_MAX + 2 * sizeof(std::uint64_t);  // that are looked at before one is cut, and an offset
constexpr std::size_t kFixedSize = 65536;

class Child {
 public:
  Child(const ChildInput& input, std::size_t index, std::size_t slot)
      : input_(input),
        index_(index),
        slot_(slot),
        process_(input.context.processes[index]),
        shared_(input.common) {}

  [[noreturn]] void run();

 private:
  void restore_ordinary_state();
  void act_as_own_user() const;
  void restore_open_files();
  [[nodiscard]] std::map<std::uint32_t, int> first_fds() const;
  void restore_what_files_hold();
  void fill_own_epolls(const std::map<std::uint32_t, int>& first) const;
  [[nodiscard]] bool adds_seals() const;
  [[nodiscard]] std::map<std::uint32_t, int> own_fds() const;
  [[nodiscard]] ThreadFilePlan of_threads() const;
  [[nodiscard]] StubArea make_area(AddressSpace& space);
  [[nodiscard]] bool makes_memory() const { return !input_.shared_life.memory_of; }
  [[nodiscard]] MemoryPlan plan_own_memory(StubArea& area, AddressSpace& space);
  [[nodiscard]] bool is_child_of_exited_leader() const;
  void plan_process_calls(CallList& calls, StubArea& area);
  [[nodiscard]] std::set<int> descriptors_of_tails() const;
  void plan_tail(const Inode& inode, const CutFile& cut, CallList& calls, StubArea& area);
  [[nodiscard]] bool is_leased(std::uint32_t inode) const;
  void plan_leased_tails(CallList& calls, StubArea& area);
  void plan_tails(CallList& calls, StubArea& area);
  void plan_truncation(CallList& calls, bool kept);
  [[nodiscard]] stub::Parameters* plan(StubArea& area, AddressSpace& space);

  const ChildInput& input_;
  std::size_t index_;
  std::size_t slot_;
  const Process& process_;
  Shared shared_;  // the report moves
  RestoredFiles files_;
  std::vector<cryo_lock> locks_;        // that it takes
  std::map<std::uint32_t, int> first_;  // files that no earlier process has
  std::set<int> parked_;                // closed by the stub,
  std::set<int> kept_;                  // by its last steps
  std::vector<KernelMapping> kernel_mappings_;
  InheritedVmas inherited_;
  CredentialChange credentials_;
  std::optional<ThreadDirectories> directories_;
};

void Child::restore_ordinary_state() {
  // For those that a helper has forked, and left.
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) fail_errno("PR_SET_PDEATHSIG");
  credentials_ = credential_change(input_.context, process_, own_credentials());
  if (credentials_.to) keep_unmapped(credentials_, own_id_maps());
  raise_limits(process_);
  // With a cgroup namespace it has been there before that.
  if (process_.namespaces.cgroup == 0) join_cgroup(input_.context, index_);
  restore_attributes(process_);
  ask_for_registers(process_);
  act_as_own_user();
  const NamesOf own(index_, rights_inside(input_.context, process_));
  restore_sem_undo(input_.context, process_);
  const std::uint64_t created_ns = input_.context.header.created_ns;
  directories_.emplace(process_, input_.options, input_.files, created_ns);
  restore_cwd(process_, input_.options, input_.files, created_ns);
  directories_->note_own(input_.options, created_ns);
  restore_open_files();
  restore_umask(process_);
}

// In a user namespace cr_restart's rights to files are gone, and without a number there it has no others.
void Child::act_as_own_user() const {
  const std::uint32_t ns = process_.namespaces.user;
  if (ns == 0 || input_.file_input.namespaces.knows_user(ns)) return;
  const cryo_creds& saved = process_.creds->head;
  set_fsgid(saved.fsgid);
  set_fsuid(saved.fsuid);
}

// Files that it has up to the last steps: those in its table, and those under way in messages that it sees
// to.
std::map<std::uint32_t, int> Child::own_fds() const {
  std::map<std::uint32_t, int> fds;
  for (const auto& [id, fd] : files_.fds)
    if (!parked_.contains(fd)) fds.emplace(id, fd);
  return fds;
}

// One process does that, for all: it waits until all have made their mappings.
bool Child::adds_seals() const {
  return index_ == 0 && !input_.files.seals.empty();
}

// What is watched need not be in this process's table.
void Child::fill_own_epolls(const std::map<std::uint32_t, int>& first) const {
  if (std::none_of(first.begin(), first.end(), [this](const auto& own) {
        return input_.context.file(own.first).head.kind == CRYO_FILE_EPOLL;
      }))
    return;
  std::map<std::uint32_t, int> all = files_.fds;
  for (const auto& [id, fd] : input_.files.fds) all.try_emplace(id, fd.get());
  fill_epolls(input_.context, process_, first, all, input_.handle_fd);
}

// For which it does what one process does for all.
std::map<std::uint32_t, int> Child::first_fds() const {
  std::map<std::uint32_t, int> first;
  for (const auto& [id, fd] : files_.fds)
    if (files_.kept.contains(id) || is_first_with(input_.context, process_, id)) first.emplace(id, fd);
  return first;
}

void Child::restore_what_files_hold() {
  locks_ = process_.locks;
  std::erase_if(locks_, [](const cryo_lock& lock) { return lock.kind != CRYO_LOCK_POSIX; });
  if (const auto shared = input_.files.locks.find(index_); shared != input_.files.locks.end()) {
    take_file_locks(input_.context, shared->second, files_.fds, input_.files);
    locks_.insert(locks_.end(), shared->second.begin(), shared->second.end());
  }
  first_ = first_fds();
  // By the numbers that cr_restart sees.
  const bool nested = process_.namespaces.pid != 0;
  name_peers(input_.context, input_.options, nested ? std::set<pid_t>() : input_.files.named_peers, first_,
             input_.handle_fd);
  const FdOf fd_of = [this](std::uint32_t file) {
    const auto own = files_.fds.find(file);
    return own != files_.fds.end() ? own->second : input_.files.fds.at(file).get();
  };
  fill_inotifies({input_.context, input_.options, fd_of, input_.handle_fd}, first_);
  fill_own_epolls(first_);
}

// Of files that this process cuts.
std::set<int> Child::descriptors_of_tails() const {
  std::set<int> fds;
  for (const auto& [inode, cut] : input_.files.cut)
    for (const int fd : {cut.from.get(), cut.to.get()})
      if (cut.process == index_ && fd >= 0) fds.insert(fd);
  return fds;
}

void Child::restore_open_files() {
  std::map<std::uint32_t, UniqueFd> rings = make_polled_rings(
      {input_.context, input_.file_input.context, index_, credentials_, input_.file_input.descriptors,
       input_.files.fds, input_.handle_fd, input_.options.restore_pid});
  files_ = take_files(input_.file_input, input_.files, index_, std::move(rings));
  const Context& context = input_.file_input.context;
  settle_terminals(
      context, context.processes[index_], input_.files.terminals,
      {.device_fd = input_.device_fd, .ledger = input_.common.ledger, .handle_fd = input_.handle_fd});
  claim_clients(input_.context, process_, files_.fds);
  restore_what_files_hold();
  std::set<int> keep(input_.context_fds.begin(), input_.context_fds.end());
  keep.insert({input_.handle_fd, input_.device_fd, files_.exe_fd});
  if (kept_proc() >= 0) keep.insert(kept_proc());
  for (const auto& [id, fd] : files_.fds) keep.insert(fd);
  if (adds_seals())
    for (const auto& [fd, seals] : input_.files.seals) keep.insert(fd.get());
  const std::set<int> tails = descriptors_of_tails();
  const Descriptors own(process_);
  std::set<int> open = keep;
  open.insert(tails.begin(), tails.end());
  for (const int fd : directories_->descriptors()) open.insert(fd);
  for (const ThreadFile& file : files_.of_threads) open.insert(file.directory.get());
  own.close_others(open, true);
  keep.erase(input_.handle_fd);
  keep.erase(input_.device_fd);
  keep.erase(files_.exe_fd);
  for (const std::uint32_t id : files_.kept) kept_.insert(files_.fds.at(id));
  for (const int fd : keep)
    if (!own.wants(fd) && !kept_.contains(fd)) parked_.insert(fd);
}

// Their names are those that cr_restart sees.
ThreadFilePlan Child::of_threads() const {
  return {input_.file_input.context, index_, input_.options.restore_pid,
          files_.of_threads.empty() ? Creds() : own_credentials()};
}

StubArea Child::make_area(AddressSpace& space) {
  std::size_t transit = 0;
  const std::vector<OwnMapping> own = own_mappings();
  for (const OwnMapping& mapping : own) space.use(mapping.range);
  kernel_mappings_ = kernel_mappings(own);
  const Mm& mm = input_.context.mm(process_.head.mm);
  use_saved_addresses(mm, space);
  std::size_t memory_size = 0;
  if (makes_memory()) {
    inherited_ = input_.inherited.vmas_of(mm);
    memory_size = memory_plan_size(input_.context, mm, inherited_);
    transit = transit_size(input_.context, mm, kernel_mappings_);
  }
  const std::size_t data =
      memory_size + thread_plan_size(process_, credentials_) + timerfd_plan_size(files_.fds.size()) +
      posix_timer_plan_size(process_) + (locks_.size() + process_.fds.size()) * kLockSize +
      (parked_.size() + kept_.size() + input_.files.seals.size()) * 2 * sizeof(stub::Call) +
      (process_.threads.size() + 1) * 10 * sizeof(stub::Call) +
      files_.fds.size() * (6 * sizeof(stub::Call) + sizeof(std::uint64_t) + kOwnerSize) +
      input_.files.cut.size() * ((kTailCalls + 4) * sizeof(stub::Call) + kEndSize) +
      thread_files_size(of_threads(), files_.of_threads) + kFixedSize;
  StubArea area(space, {shared_.report, report_size(input_.slots), !makes_memory()}, data, transit,
                input_.context.header.page_size);
  if (!makes_memory()) input_.shared_life.areas.push_back(area.range());
  return area;
}

MemoryPlan Child::plan_own_memory(StubArea& area, AddressSpace& space) {
  if (!makes_memory()) return {};
  const MemoryPlanInput input{input_.context,
                              input_.context.mm(process_.head.mm),
                              process_.threads,
                              kernel_mappings_,
                              [this](std::uint32_t file) { return files_.fds.at(file); },
                              input_.shared,
                              input_.context_fds,
                              input_.handle_fd,
                              input_.shared_life.areas,
                              input_.mapped.at(process_.head.mm),
                              inherited_,
                              input_.inherited.places_of(inherited_),
                              input_.options.populate,
                              [this](const cryo_shm& segment, const AddressRange& place, bool read_only) {
                                attach_segment(input_.context, process_, segment, place, read_only);
                              }};
  return plan_memory(input, area, space);
}

bool Child::is_child_of_exited_leader() const {
  return input_.of_exited_leaders.contains(index_);
}

void Child::plan_process_calls(CallList& calls, StubArea& area) {
  if (adds_seals())
    for (const auto& [fd, seals] : input_.files.seals)
      calls.add(kSealStep, 0, SYS_fcntl, fd.get(), F_ADD_SEALS, seals);
  plan_process(process_, calls, area);
  for (const int fd : parked_) calls.add(kCloseStep, 0, SYS_close, fd);
  plan_queue_notifications(input_.context, process_, calls, area);
}

// What a file that was open for writing has got since then is kept aside by now, or is not wanted: but for
// what has come while memory was read. Where there is no room for all, only the next call says why. Right
// before it is cut, it has to be the job's file still.
void Child::plan_tail(const Inode& inode, const CutFile& cut, CallList& calls, StubArea& area) {
  auto* offset = area.array<std::uint64_t>(1);
  *offset = cut.end;
  for (int i = 0; cut.to && i < kTailCalls; ++i)
    calls.add(kTruncateStep, cut.file, SYS_sendfile, cut.to.get(), cut.from.get(), offset, kMostAtOnce);
  if (cut.is_known)
    calls.expect(Expect::kBytes, kOldEndStep, cut.file, SYS_pread64, cut.from.get(),
                 area.array<std::byte>(inode.end->length), inode.end->length,
                 inode.head.size - inode.end->length, inode.end->crc);
  for (const int fd : {cut.to.get(), cut.from.get()})
    if (fd >= 0) calls.add(kCloseStep, 0, SYS_close, fd);
}

// A lease is granted only where no other process has the file open.
bool Child::is_leased(std::uint32_t inode) const {
  const auto is_lease = [&](const cryo_lock& lock) {
    return lock.kind == CRYO_LOCK_LEASE && input_.context.file(lock.file).head.inode == inode;
  };
  return std::any_of(input_.files.locks.begin(), input_.files.locks.end(), [&](const auto& locks) {
    return std::any_of(locks.second.begin(), locks.second.end(), is_lease);
  });
}

void Child::plan_leased_tails(CallList& calls, StubArea& area) {
  for (const auto& [inode, cut] : input_.files.cut)
    if (cut.process == index_ && is_leased(inode)) plan_tail(input_.context.inode(inode), cut, calls, area);
}

// The others. Before the process has its locks (F_SETLK): it would lose those of a file by closing what reads
// that.
void Child::plan_tails(CallList& calls, StubArea& area) {
  for (const auto& [inode, cut] : input_.files.cut)
    if (cut.process == index_ && !is_leased(inode)) plan_tail(input_.context.inode(inode), cut, calls, area);
}

// By a descriptor that is only `kept`, or by others: those are there to the end, and what may fail comes
// before them.
void Child::plan_truncation(CallList& calls, bool kept) {
  for (const auto& [inode, cut] : input_.files.cut) {
    if (cut.process != index_) continue;
    const int fd = files_.fds.at(cut.file);
    if (kept_.contains(fd) == kept)
      calls.add(kTruncateStep, cut.file, SYS_ftruncate, fd, input_.context.inode(inode).head.size);
  }
}

stub::Parameters* Child::plan(StubArea& area, AddressSpace& space) {
  auto* parameters = area.array<stub::Parameters>(1);
  MemoryPlan memory = plan_own_memory(area, space);
  const std::map<std::uint32_t, int> fds = own_fds();
  const ThreadPlanInput threads{input_.context,
                                process_,
                                input_.options,
                                credentials_,
                                input_.nice_not_permitted,
                                input_.handle_fd,
                                files_.exe_fd,
                                input_.device_fd,
                                fds,
                                is_child_of_exited_leader(),
                                *directories_,
                                holders_of(input_.context, process_),
                                memory.moved};
  CallList& process_calls = memory.after_reads;
  plan_process_calls(process_calls, area);
  CallList leader_calls;
  CallList final_calls;
  plan_leased_tails(final_calls, area);
  // Threads of other processes may be owners, and a lease wants no other process to have the file.
  plan_leases(locks_, fds, final_calls);
  plan_owners({input_.context, process_, index_, input_.options, fds, input_.files.kept_by}, final_calls,
              area);
  directories_->plan_after(directories_->order().back(), leader_calls, area);
  plan_real_user(credentials_, leader_calls);
  plan_timerfds(input_.context, first_, leader_calls, area);
  plan_posix_timers(input_.context, threads, leader_calls, area);
  plan_leader(threads, leader_calls, area);
  plan_tails(final_calls, area);
  plan_truncation(final_calls, true);
  for (const int fd : kept_) final_calls.add(kCloseStep, 0, SYS_close, fd);
  std::map<std::uint32_t, int> left = fds;
  std::erase_if(left, [this](const auto& file) { return kept_.contains(file.second); });
  plan_process_locks(input_.context, locks_, left, final_calls, area);
  plan_truncation(final_calls, false);

  parameters->report = area.report();
  parameters->slot = slots_of(area.report()) + slot_;
  parameters->gate = gate_of(area.report(), input_.slots);
  parameters->gate_size = gate_size(input_.slots);
  stub::Turn* const turns = turns_of(parameters->gate);
  parameters->turn = turns + slot_;
  if (!makes_memory()) parameters->memory_of = turns + *input_.shared_life.memory_of;
  parameters->nr_processes = input_.nr_processes;
  parameters->process = static_cast<std::uint32_t>(index_);
  parameters->wait_mapped = adds_seals() ? 1 : 0;
  parameters->threads = plan_threads(threads, area, parameters);
  parameters->nr_threads = static_cast<std::uint32_t>(process_.threads.size());
  plan_thread_files(of_threads(), files_.of_threads, area, *parameters);
  parameters->memory_calls = area.copy(memory.before_reads);
  parameters->nr_memory_calls = static_cast<std::uint32_t>(memory.before_reads.calls().size());
  parameters->reads = area.copy(memory.reads);
  parameters->nr_reads = static_cast<std::uint32_t>(memory.reads.size());
  parameters->buffers = area.copy(memory.buffers);
  parameters->tags = area.copy(memory.tags);
  parameters->nr_tags = static_cast<std::uint32_t>(memory.tags.size());
  parameters->process_calls = area.copy(process_calls);
  parameters->nr_process_calls = static_cast<std::uint32_t>(process_calls.calls().size());
  parameters->leader_calls = area.copy(leader_calls);
  parameters->nr_leader_calls = static_cast<std::uint32_t>(leader_calls.calls().size());
  parameters->final_calls = area.copy(final_calls);
  parameters->nr_final_calls = static_cast<std::uint32_t>(final_calls.calls().size());
  if (has_exited(process_.threads.front())) {
    parameters->leader_exits = 1;
    parameters->leader_status = WEXITSTATUS(process_.head.exit_code);
  }
  parameters->handle_fd = input_.handle_fd;
  parameters->device_fd = input_.device_fd;
  parameters->coordinator = process_.namespaces.pid == 0 ? input_.coordinator : 0;
  return parameters;
}

// The C library unblocks two signals of its own where it creates a process's first thread, as reading from
// several contexts does. A timer of the job may have one of them (SIGEV_THREAD), and expires while the
// process is being rebuilt.
void block_signals_of_library() {
  const std::uint64_t all = ~std::uint64_t{0};
  ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, nullptr, sizeof(all));
}

void Child::run() {
  try {
    restore_ordinary_state();
    AddressSpace space(input_.context.header.page_size);
    StubArea area = make_area(space);
    shared_.report = area.report();
    stub::Parameters* parameters = plan(area, space);
    make_empty_for_children(input_.context, process_);
    block_signals_of_library();
    area.enter(parameters);
  } catch (const Error& error) {
    report_failure(shared_, static_cast<std::uint32_t>(index_), error.what(), error.code());
  } catch (const std::exception& error) {
    report_failure(shared_, static_cast<std::uint32_t>(index_), error.what(), ENOMEM);
  }
  ::_exit(stub::kFailureStatus);
}

}  // namespace

void become_saved_process(const ChildInput& input, std::size_t index, std::size_t slot) {
  Child(input, index, slot).run();
}

}  // namespace cryo
