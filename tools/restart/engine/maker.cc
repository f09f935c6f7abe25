// SPDX-License-Identifier: GPL-2.0-only
#include "restart/engine/maker.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <set>

#include "base/error.h"
#include "restart/common/proc_files.h"
#include "restart/engine/allocation.h"
#include "restart/engine/child.h"
#include "restart/engine/tree_steps.h"
#include "restart/files/locks.h"
#include "restart/files/mount_files.h"
#include "restart/files/pty.h"
#include "restart/ipc/mqueue.h"
#include "restart/ipc/sysv.h"
#include "restart/memory/inherited_memory.h"
#include "restart/memory/shared_memory.h"
#include "restart/net/sockets.h"
#include "restart/ns/namespaces.h"
#include "restart/ns/pid_namespaces.h"
#include "restart/process/process_state.h"
#include "restart/rights/created_paths.h"
#include "restart/stub/shared_report.h"

namespace cryo {
namespace {

constexpr std::uint32_t kNoProcess = ~0U;

class Maker {
 public:
  explicit Maker(const MakerInput& input)
      : input_(input),
        descriptors_(input.context),
        created_(*input.shared.ledger, &input.context),
        namespaces_(input.context, descriptors_) {}

  [[noreturn]] void run();

 private:
  void stay_close();
  void park();
  void make_everything();
  void find_relations();
  [[noreturn]] void live(std::size_t node);
  [[nodiscard]] SharedLife shared_life(std::size_t index);
  void await_library(const SharedLife& life) const;
  void take_terminals_of(std::size_t node) const;
  void report(std::uint32_t process, const std::exception& error) const;

  const MakerInput& input_;
  Descriptors descriptors_;
  CreatedPaths created_;
  Namespaces namespaces_;
  std::optional<PidNamespaces> pid_namespaces_;
  std::vector<int> context_fds_;  // parked, all of them
  int handle_fd_ = -1;
  int device_fd_ = -1;
  std::optional<FileRestoreInput> file_input_;
  FileStore files_;
  SharedMemory shared_;
  std::optional<InheritedMemory> inherited_;
  std::vector<AddressRange> sharers_areas_;
  // Computed once: each process would have to inspect all others.
  std::set<std::uint32_t> shared_mms_;
  std::set<std::size_t> of_exited_leaders_;
};

// Neither without cr_restart nor within limits that the job does not have.
void Maker::stay_close() {
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) fail_errno("PR_SET_PDEATHSIG");
  __atomic_store_n(&input_.shared.ledger->maker, ::getpid(), __ATOMIC_RELEASE);
  if (::getppid() != input_.coordinator) fail(ECANCELED, "cr_restart has exited");
  ::signal(SIGCHLD, SIG_DFL);  // zombies stay, whatever cr_restart's caller ignores
  for (const Process& process : input_.context.processes) raise_limits(process);
}

void Maker::park() {
  for (const int fd : input_.context_fds) context_fds_.push_back(descriptors_.park_copy(fd).release());
  handle_fd_ = descriptors_.park_copy(input_.handle_fd).release();
  if (input_.device_fd >= 0) device_fd_ = descriptors_.park_copy(input_.device_fd).release();
  file_input_.emplace(FileRestoreInput{
      input_.context, input_.options, descriptors_, created_, namespaces_, context_fds_, handle_fd_, {}});
  std::set<int> keep(context_fds_.begin(), context_fds_.end());
  keep.insert({handle_fd_, device_fd_});
  const bool mounts = std::any_of(input_.context.namespaces.begin(), input_.context.namespaces.end(),
                                  [](const auto& ns) { return ns.second.mnt.has_value(); });
  if (mounts) {
    UniqueFd proc(::open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!proc) fail_errno("cannot open /proc");
    keep_proc(descriptors_.park(std::move(proc)).release());
    keep.insert(kept_proc());
  }
  for (int number = 0; number < 3; ++number) {
    if (!is_inherited(static_cast<std::uint32_t>(number))) continue;
    file_input_->stdio[number] = descriptors_.park_copy(number);
    keep.insert(file_input_->stdio[number].get());
  }
  for (const auto& [id, file] : input_.context.files) {
    const std::uint32_t number = file.head.stdio_fd;
    if (file.head.kind != CRYO_FILE_STDIO || number < 3 || !is_inherited(number)) continue;
    UniqueFd& copy = file_input_->inherited[number];
    if (!copy) copy = descriptors_.park_copy(static_cast<int>(number));
    keep.insert(copy.get());
  }
  for (const auto& [file, fd] : input_.fanotify->descriptors()) {
    UniqueFd& copy = file_input_->fanotify[file];
    copy = descriptors_.park_copy(fd.get());
    keep.insert(copy.get());
  }
  for (const auto& [inode, use] : *input_.other_uses) {
    OtherUse& parked = file_input_->other_uses[inode] = use;
    if (!use.file) continue;
    parked.file = std::make_shared<const UniqueFd>(descriptors_.park_copy(use.file->get()));
    keep.insert(parked.file->get());
  }
  descriptors_.close_others(keep, false);
}

void Maker::make_everything() {
  namespaces_.make([this](std::uint32_t ns, std::uint32_t mount, const std::string& point) {
    fill_mount(input_.context, context_fds_, ns, mount, point);
  });
  pid_namespaces_.emplace(input_.context, descriptors_);
  file_input_->roots = namespaces_.take_roots();
  if (input_.options.time_namespace) continue_clocks(input_.context);
  shared_ = make_shared_memory(input_.context, context_fds_);
  file_input_->shared = &shared_;
  restore_sysv(*file_input_);
  make_unused_queues(*file_input_);
  files_ = make_files(*file_input_);
  make_removed_cwds(*file_input_, files_);
  files_.locks = share_file_locks(input_.context, files_);
  std::map<std::uint32_t, int> fds;
  for (const auto& [id, fd] : files_.fds) fds.emplace(id, fd.get());
  inherited_.emplace(input_.context, *input_.inherited, context_fds_, std::move(fds));
}

void Maker::find_relations() {
  std::set<std::uint32_t> mms;
  std::set<std::int32_t> leaders;  // pids
  for (const Process& process : input_.context.processes) {
    if (process.threads.empty()) continue;
    if (!mms.insert(process.head.mm).second) shared_mms_.insert(process.head.mm);
    if (has_exited(process.threads.front())) leaders.insert(process.head.pid);
  }
  for (std::size_t i = 0; i < input_.context.processes.size(); ++i)
    if (leaders.contains(input_.context.processes[i].head.ppid)) of_exited_leaders_.insert(i);
}

void Maker::report(std::uint32_t process, const std::exception& error) const {
  const auto* known = dynamic_cast<const Error*>(&error);
  report_failure(input_.shared, process, error.what(), known == nullptr ? ENOMEM : known->code());
}

void Maker::live(std::size_t node) {
  const auto index = static_cast<std::uint32_t>(input_.plan.nodes[node].process);
  try {
    const SharedLife life = shared_life(index);
    await_library(life);
    const Process& process = input_.context.processes[index];
    const std::uint32_t ns = process.namespaces.pid;
    pid_namespaces_->enter_for_children(process);
    const Context seen = ns == 0 ? Context() : seen_from(input_.context, ns);
    std::vector<std::int32_t> nice_not_permitted = input_.nice_not_permitted;
    for (std::int32_t& tid : nice_not_permitted) tid = number_in(input_.context, ns, tid);
    const ChildInput child{ns == 0 ? input_.context : seen,
                           input_.options,
                           nice_not_permitted,
                           *file_input_,
                           files_,
                           shared_,
                           context_fds_,
                           handle_fd_,
                           device_fd_,
                           input_.coordinator,
                           input_.shared,
                           input_.plan.nodes.size(),
                           input_.nr_processes,
                           life,
                           *input_.mapped,
                           *inherited_,
                           of_exited_leaders_};
    become_saved_process(child, index, node);
  } catch (const std::exception& error) {
    report(index, error);
  }
  ::_exit(stub::kFailureStatus);
}

// All who share memory take turns: in the order of the context, so that nobody waits for one who waits for
// something of a process behind it. The last one makes the memory.
SharedLife Maker::shared_life(std::size_t index) {
  SharedLife life{{}, {}, sharers_areas_};
  const std::uint32_t mm = input_.context.processes[index].head.mm;
  if (!shared_mms_.contains(mm)) return life;
  for (std::size_t node = 1; node < input_.plan.nodes.size(); ++node) {
    const std::size_t other = input_.plan.nodes[node].process;
    if (other == TreeNode::kHelper || other == index || input_.context.processes[other].threads.empty() ||
        input_.context.processes[other].head.mm != mm)
      continue;
    if (other < index)
      life.before.push_back(node);
    else if (!life.memory_of || other > input_.plan.nodes[*life.memory_of].process)
      life.memory_of = node;
  }
  return life;
}

void Maker::await_library(const SharedLife& life) const {
  stub::Turn* turns = turns_of(gate_of(input_.shared.report, input_.plan.nodes.size()));
  for (const std::size_t node : life.before)
    while (__atomic_load_n(&turns[node].in_stub, __ATOMIC_ACQUIRE) == 0) {
      const timespec timeout{1, 0};
      ::syscall(SYS_futex, &turns[node].in_stub, FUTEX_WAIT, 0, &timeout);
    }
}

void Maker::take_terminals_of(std::size_t node) const {
  const std::size_t process = input_.plan.nodes[node].process;
  if (process != TreeNode::kHelper)
    take_terminals(input_.context, input_.context.processes[process], files_.terminals);
}

void Maker::run() {
  try {
    stay_close();
    park();
    make_everything();
    find_relations();
    allocation::keep_to_own_area();
    if (input_.options.restore_pid)
      files_.named_peers =
          name_gone_peers({input_.context, files_.fds, device_fd_, handle_fd_, input_.shared.ledger});
    const std::size_t node = run_tree(
        {input_.context, input_.plan, namespaces_, *pid_namespaces_, input_.shared, device_fd_, handle_fd_,
         input_.coordinator, input_.options.restore_pid,
         [this](std::size_t forker, std::size_t step) { inherited_->read(forker, step); },
         [this](std::size_t node) { take_terminals_of(node); }, [this](std::size_t born) { live(born); },
         [this](std::size_t born, const std::exception& error) {
           report(static_cast<std::uint32_t>(input_.plan.nodes[born].process), error);
         }});
    if (node == kMaker) ::_exit(0);
    live(node);
  } catch (const std::exception& error) {
    report(kNoProcess, error);
  }
  ::_exit(stub::kFailureStatus);
}

}  // namespace

void make_job(const MakerInput& input) {
  Maker(input).run();
}

}  // namespace cryo
