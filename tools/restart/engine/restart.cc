// SPDX-License-Identifier: GPL-2.0-only
#include "restart/engine/restart.h"

#include <cryo/ioctl.h>
#include <cryo/map.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <set>
#include <string>

#include "base/consent.h"
#include "base/error.h"
#include "base/exit_codes.h"
#include "base/progress_line.h"
#include "base/termination.h"
#include "context/reader.h"
#include "restart/cgroups/control_groups.h"
#include "restart/common/child_end.h"
#include "restart/common/device.h"
#include "restart/engine/failure.h"
#include "restart/engine/guardian.h"
#include "restart/engine/last_steps.h"
#include "restart/engine/maker.h"
#include "restart/engine/oom.h"
#include "restart/engine/own_children.h"
#include "restart/memory/inherited_pages.h"
#include "restart/memory/mapped.h"
#include "restart/process/fork.h"
#include "restart/process/tree_plan.h"
#include "restart/rights/created_paths.h"
#include "restart/stub/shared_report.h"

namespace cryo {
namespace {

constexpr long kPollNs = 10000000;
constexpr std::chrono::milliseconds kLookAfter(500);  // at all processes,
constexpr std::chrono::milliseconds kTelling(5000);   // a line of text
constexpr std::chrono::milliseconds kKilling(30000);
constexpr int kLookShare = 20;  // which takes one part in so many of the time

struct Totals {
  std::size_t processes = 0;  // that will run
  std::size_t threads = 0;
  std::size_t exited = 0;  // of the threads: do not resume
};

Totals totals_of(const Context& context) {
  Totals totals;
  for (const Process& process : context.processes) {
    totals.processes += process.threads.empty() ? 0 : 1;
    totals.threads += process.threads.size();
    totals.exited += !process.threads.empty() && has_exited(process.threads.front());
  }
  return totals;
}

// The processes that are made, children of this one, let their user checkpoint them again.
UniqueFd open_device_with_consent() {
  UniqueFd device = open_device().fd;
  if (::secure_getenv(kNoConsentVariable) == nullptr) set_consent(device.get(), true);
  return device;
}

UniqueFd open_handle(int device, const Totals& totals) {
  cryo_restart args{};
  args.size = sizeof(args);
  args.threads = static_cast<__u32>(totals.threads - totals.exited);
  args.processes = static_cast<__u32>(totals.processes);
  UniqueFd handle(::ioctl(device, CRYO_IOC_RESTART, &args));
  if (!handle)
    fail_errno("the kernel module refuses a restart with {} processes and {} threads", totals.processes,
               args.threads);
  return handle;
}

// Orphans of the job come to cr_restart, as long as it puts the job together.
class Subreaper {
 public:
  Subreaper() {
    ::prctl(PR_GET_CHILD_SUBREAPER, &old_);
    if (::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0) fail_errno("PR_SET_CHILD_SUBREAPER");
  }
  ~Subreaper() { ::prctl(PR_SET_CHILD_SUBREAPER, static_cast<unsigned long>(old_), 0, 0, 0); }
  Subreaper(const Subreaper&) = delete;
  Subreaper& operator=(const Subreaper&) = delete;

 private:
  int old_ = 0;
};

}  // namespace

// One try; destroyed before it is over, it leaves nothing behind.
class Restart::Attempt {
 public:
  explicit Attempt(Restart& restart)
      : restart_(restart),
        context_(restart.context_),
        totals_(totals_of(context_)),
        plan_(plan_tree(context_, restart.options_, root_group(context_))),
        inherited_(context_, plan_),
        device_(open_device_with_consent()),
        handle_(open_handle(device_.get(), totals_)),
        report_(plan_.nodes.size(), CreatedPaths::room_for(context_)),
        children_(report_),
        guardian_(report_, totals_.processes, {device_.get(), handle_.get()}, ids_of_job(), context_),
        fanotify_(context_),
        groups_(context_, restart.options_, CreatedPaths(report_.ledger(), &context_), restart.warnings_) {
    children_.leave_out(guardian_.pid());
  }
  ~Attempt();
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;

  pid_t run(const Findings& findings, const BeforeCommit& before_commit);

 private:
  [[nodiscard]] std::set<pid_t> ids_of_job() const;
  [[nodiscard]] bool hand_over(std::uint32_t number);
  void hand_over_files();
  void verify_what_is_read() const;
  void start_maker(const Findings& findings);
  void wait_for_threads();
  [[nodiscard]] std::size_t node_of(pid_t pid) const;
  [[nodiscard]] std::size_t node_behind(pid_t door) const;
  void check_children();
  [[nodiscard]] bool check_all();
  [[nodiscard]] bool go_on(pid_t pid) const;
  [[nodiscard]] bool continue_doors();
  void check_end(std::size_t node, pid_t pid);
  void check_time(bool stopped);
  void commit();
  [[nodiscard]] bool kill_all();
  void take_away_others(pid_t root);
  [[nodiscard]] pid_t pid_of(const Process& process) const;
  [[noreturn]] void fail_reported();
  [[noreturn]] void fail_dead(const siginfo_t& info);
  void read_log();

  Restart& restart_;
  const Context& context_;
  Totals totals_;
  TreePlan plan_;
  InheritedPages inherited_;
  UniqueFd device_;
  UniqueFd handle_;
  SharedReport report_;
  OwnChildren children_;
  Guardian guardian_;
  FanotifyGroups fanotify_;  // of which the guardian has no descriptors
  ControlGroups groups_;
  Subreaper subreaper_;
  pid_t maker_ = -1;
  MappedMemory mapped_;
  LastSteps last_steps_{context_, plan_};
  Stops stops_;
  const std::uint64_t oom_kills_ = oom_kills();  // before it has begun
  bool succeeded_ = false;
};

Restart::Attempt::~Attempt() {
  restore_cursor(device_.get());
  fanotify_.close();
  if (succeeded_) return;
  const bool all_ended = kill_all();
  restore_cursor(device_.get());  // of a process that was killed while it forked
  const Cutting cutting = !may_be_cutting(*report_, totals_.processes) ? Cutting::kNo
                          : all_ended                                  ? Cutting::kByServers
                                                                       : Cutting::kByAll;
  for (const std::string& tail : CreatedPaths(report_.ledger(), &context_).remove_all(cutting))
    restart_.kernel_log_.append(fmt::format(
        "{} is kept: the file whose data it holds no longer has that data, or may still be truncated\n",
        tail));
}

// A process that is being killed may have a child that is not in the list yet: it comes to us as an orphan,
// and ends by itself as it waits for its turn.
bool Restart::Attempt::kill_all() {
  CreatedPaths(report_.ledger()).end();
  const std::size_t left = children_.kill_all(kKilling);
  if (left != 0)
    restart_.kernel_log_.append(
        fmt::format("{} processes of the restart have been killed and do not end\n", left));
  return left == 0;
}

// The maker and the guardian are there while the processes are forked: they must not have an id of the job.
std::set<pid_t> Restart::Attempt::ids_of_job() const {
  std::set<pid_t> ids;
  for (const TreeNode& node : plan_.nodes) ids.insert(node.pid);
  for (const Process& process : context_.processes)
    for (const Thread& thread : process.threads) ids.insert(thread.head.tid);
  return ids;
}

// May the module map from the context, or from its Nth ancestor?  Nobody can write to an ancestor from then
// on, so that it stays untouched if it is.
bool Restart::Attempt::hand_over(std::uint32_t number) {
  const Source& source = restart_.chain_.numbered(number);
  const auto is_read = [&](const std::string& why) {
    restart_.kernel_log_.append(
        fmt::format("{}: cannot be mapped, is read in full: {}\n", source.name(), why));
    return false;
  };
  if (source.spooled()) return false;
  const cryo_map_file args{.size = sizeof(args), .fd = source.fd(), .file = number, .reserved = 0};
  if (::ioctl(handle_.get(), CRYO_RST_MAP_FILE, &args) != 0) return is_read(errno_text(errno));
  if (number != 0 && !is_untouched(context_.ancestors[number - 1], source))
    return is_read("it may have been modified since it became an ancestor");
  return true;
}

// What the module cannot map from is read, as without the option.
void Restart::Attempt::hand_over_files() {
  MappableFiles files(restart_.options_.map ? 1 + context_.ancestors.size() : 0);
  for (std::uint32_t i = 0; i < files.size(); ++i) {
    files[i].mapped = hand_over(i);
    if (i != 0 && files[i].mapped) files[i].sections = page_data_of(restart_.chain_.numbered(i));
  }
  mapped_ = mapped_memory(context_, files, inherited_);
  for (const auto& [mm, areas] : mapped_) restart_.maps_ |= !areas.empty();
}

// The module verifies the checksums of what it alone uses, each before the first of its pages is used.
void Restart::Attempt::verify_what_is_read() const {
  if (!restart_.options_.map) return;  // all have been verified when they were read
  const ChunkSet left = chunks_left_to_module(context_, mapped_);
  verify_pages(restart_.chain_.own(), context_.pages, left);
  restart_.chain_.verify(context_, left);
}

void Restart::Attempt::start_maker(const Findings& findings) {
  MakerInput input{context_, restart_.options_, plan_, findings.nice_not_permitted};
  input.context_fds = restart_.chain_.descriptors();
  input.handle_fd = handle_.get();
  input.device_fd = device_.get();
  input.fanotify = &fanotify_;
  input.other_uses = &findings.other_uses;
  input.shared = report_.both();
  input.nr_processes = static_cast<std::uint32_t>(totals_.processes);
  input.coordinator = ::getpid();
  input.mapped = &mapped_;
  input.inherited = &inherited_;
  const ForkRequest request{.exit_signal = SIGCHLD, .ledger = &report_.ledger()};
  const std::set<pid_t> wanted = ids_of_job();
  for (;;) {
    maker_ = fork_with_pid(request);
    if (maker_ == 0 && wanted.contains(::getpid())) ::_exit(0);
    if (maker_ == 0) make_job(input);
    children_.set_maker(maker_);
    if (!wanted.contains(maker_)) return;
    ::waitpid(maker_, nullptr, 0);
  }
}

std::string process_name(const Context& context, std::uint32_t process) {
  return process < context.processes.size() ? fmt::format("pid {}", context.processes[process].head.pid)
                                            : "the restart";
}

// A process may have been killed while it wrote its report.
void Restart::Attempt::fail_reported() {
  if (!await_failure(*report_, kTelling))
    fail(EIO, "a process of the restart was killed while reporting an error: the error is unknown");
  const FailureReport failure = read_failure(*report_, report_.ledger());
  fail(failure.error, "{}", describe_failure(failure, context_));
}

// Of a process; kMaker, which is none: of no other.
std::size_t Restart::Attempt::node_of(pid_t pid) const {
  const auto places = report_.places();
  const auto place =
      std::find_if(places.begin(), places.end(), [pid](const Place& other) { return other.pid == pid; });
  return place == places.end() ? kMaker : static_cast<std::size_t>(place - places.begin());
}

// Whom that one was to fork; kMaker: nobody.
std::size_t Restart::Attempt::node_behind(pid_t door) const {
  const auto places = report_.places();
  const auto place =
      std::find_if(places.begin(), places.end(), [door](const Place& other) { return other.door == door; });
  return place == places.end() ? kMaker : static_cast<std::size_t>(place - places.begin());
}

// A process that died without a report: its slot has the last step that it began.
void Restart::Attempt::fail_dead(const siginfo_t& info) {
  const std::size_t node = node_of(info.si_pid);
  const bool known = node != kMaker && info.si_pid != maker_;
  if (info.si_code != CLD_EXITED && info.si_status == SIGKILL && oom_kills() != oom_kills_)
    fail(ENOMEM,
         "out of memory, of the machine or of a control group at its memory.max: the OOM killer killed {}",
         known ? fmt::format("pid {}", info.si_pid) : "the restart's maker process");
  if (const std::size_t behind = node_behind(info.si_pid); !known && behind != kMaker)
    fail(EIO, "{}", describe_door_end(plan_.nodes[behind].pid, info));
  fail(EIO, "{} {} {} {}", known ? fmt::format("pid {}", info.si_pid) : "the restart's maker process",
       info.si_code == CLD_EXITED ? "exited with status" : "died of signal", info.si_status,
       known ? describe_progress(read_step(report_.slots()[node])) : "while files were being opened");
}

// Of our own children only the maker may end; a grandchild that dies takes the whole down as
// well: then the module tells, or the time limit does.
void Restart::Attempt::check_children() {
  if (__atomic_load_n(&report_->failed, __ATOMIC_ACQUIRE)) fail_reported();
  while (const std::optional<siginfo_t> info = children_.take_ended()) {
    if (__atomic_load_n(&report_->failed, __ATOMIC_ACQUIRE)) fail_reported();
    // A fork that got a wrong pid is killed for it.
    const bool is_stray = forget_stray(report_.ledger(), info->si_pid);
    const std::size_t behind = node_behind(info->si_pid);
    const bool has_forked =
        behind != kMaker && __atomic_load_n(&report_.places()[behind].pid, __ATOMIC_ACQUIRE) != 0;
    const bool well = (info->si_code == CLD_EXITED && info->si_status == 0) || is_stray || has_forked;
    const std::size_t node = node_of(info->si_pid);
    const bool process = node != kMaker && plan_.nodes[node].process != TreeNode::kHelper;
    if (!well || process) fail_dead(*info);
    if (node != kMaker) report_.places()[node].pid = 0;
    if (behind != kMaker) report_.places()[behind].door = 0;
  }
}

void Restart::Attempt::check_end(std::size_t node, pid_t pid) {
  const std::size_t process = plan_.nodes[node].process;
  const bool goes = process == TreeNode::kHelper || context_.processes[process].threads.empty();
  if (goes && __atomic_load_n(&report_.places()[node].ended, __ATOMIC_ACQUIRE) != 0) return;  // as it should
  if (__atomic_load_n(&report_->failed, __ATOMIC_ACQUIRE)) fail_reported();
  if (process == TreeNode::kHelper)
    fail(EIO, "a helper process (pid {}) exited before the process tree was complete", pid);
  fail(EIO, "pid {} exited unexpectedly {}", pid, describe_progress(read_step(report_.slots()[node])));
}

// One that is stopped. Its number may be a stranger's by now: whose parent is none of the restart's.
bool Restart::Attempt::go_on(pid_t pid) const {
  const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!process || life_of(pid) != Life::kStopped) return false;
  const pid_t parent = parent_pid_of(pid);
  const auto places = report_.places();
  const bool ours = parent == ::getpid() || (parent > 0 && parent == children_.living_maker()) ||
                    std::any_of(places.begin(), places.end(), [parent](const Place& place) {
                      return parent > 0 && (place.pid == parent || place.door == parent);
                    });
  return ours && ::syscall(SYS_pidfd_send_signal, process.get(), SIGCONT, nullptr, 0) == 0;
}

// True: one had been stopped.
bool Restart::Attempt::continue_doors() {
  bool stopped = false;
  for (std::size_t node = 1; node < plan_.nodes.size(); ++node) {
    Place& place = report_.places()[node];
    const pid_t door = __atomic_load_n(&place.door, __ATOMIC_ACQUIRE);
    const Life life = door <= 0 ? Life::kRuns : life_of(door);
    if (life == Life::kStopped) stopped |= go_on(door);
    if (life != Life::kEnded) continue;
    if (__atomic_load_n(&report_->failed, __ATOMIC_ACQUIRE)) fail_reported();
    if (__atomic_load_n(&place.pid, __ATOMIC_ACQUIRE) == 0)
      fail(EIO, "the process that was to fork pid {}, the first one of a pid namespace, ended before that",
           plan_.nodes[node].pid);
    place.door = 0;
  }
  return stopped;
}

// There is no signal for the end of a grandchild, nor for one that has been stopped: by a user with the ids
// that it, or a thread of it, has or had for a moment, or by the owner of its user namespace. That one is
// continued. True: there was one.
bool Restart::Attempt::check_all() {
  bool stopped = continue_doors();
  const auto look_at = [&](pid_t pid) {
    const Life life = life_of(pid);
    if (life == Life::kStopped) stopped |= go_on(pid);
    return life;
  };
  if (const pid_t maker = children_.living_maker(); maker > 0) (void)look_at(maker);
  for (std::size_t node = 1; node < plan_.nodes.size(); ++node) {
    const pid_t pid = __atomic_load_n(&report_.places()[node].pid, __ATOMIC_ACQUIRE);
    if (pid > 0 && look_at(pid) == Life::kEnded) check_end(node, pid);
  }
  return stopped;
}

// No user makes the restart of another one wait for ever.
void Restart::Attempt::check_time(bool stopped) {
  if (stops_.take_too_long(stopped))
    fail(ETIMEDOUT, "processes of the restart have been stopped again and again (SIGSTOP), for {} s",
         kPatience / std::chrono::seconds(1));
  if (last_steps_.take_too_long(report_))
    fail(ETIMEDOUT,
         "the processes have their ids, but were not restored within {} s: have they been stopped "
         "(SIGSTOP, ptrace)?",
         kPatience / std::chrono::seconds(1));
}

void Restart::Attempt::wait_for_threads() {
  using Clock = std::chrono::steady_clock;
  Clock::time_point look = Clock::now() + kLookAfter;
  for (;;) {
    const std::uint32_t arrived = __atomic_load_n(&report_->arrived, __ATOMIC_ACQUIRE);
    check_children();
    if (const auto now = Clock::now(); now >= look) {
      check_time(check_all());
      const auto end = Clock::now();
      look = end + std::max<Clock::duration>(kLookAfter, kLookShare * (end - now));
    }
    if (arrived == totals_.threads) return progress::clear();
    progress::step("restoring memory", 0);
    if (is_pending_termination()) fail(EINTR, "interrupted by a signal");
    const timespec timeout{0, kPollNs};
    ::syscall(SYS_futex, &report_->arrived, FUTEX_WAIT, arrived, &timeout);
  }
}

void Restart::Attempt::read_log() {
  char text[4096];
  for (ssize_t got; (got = ::read(handle_.get(), text, sizeof(text))) > 0;)
    restart_.kernel_log_.append(text, static_cast<std::size_t>(got));
}

void Restart::Attempt::commit() {
  cryo_commit args{};
  args.size = sizeof(args);
  args.signal = restart_.options_.signal;
  __atomic_store_n(&report_.ledger().committing, 1, __ATOMIC_RELEASE);
  const int result = ::ioctl(handle_.get(), CRYO_RST_COMMIT, &args);
  const int error = errno;
  read_log();
  if (result == 0) return;
  if (__atomic_load_n(&report_->failed, __ATOMIC_ACQUIRE)) fail_reported();
  fail(error, "{}: the module could not resume it: {}",
       totals_.processes == 1 ? process_name(context_, 0) : "the job", errno_text(error));
}

pid_t Restart::Attempt::pid_of(const Process& process) const {
  const auto index = static_cast<std::size_t>(&process - context_.processes.data());
  for (std::size_t node = 1; node < plan_.nodes.size(); ++node)
    if (plan_.nodes[node].process == index) return report_.places()[node].pid;
  return -1;
}

// The maker and forks that got a wrong pid: they have ended or are about to.
void Restart::Attempt::take_away_others(pid_t root) {
  if (const pid_t maker = children_.living_maker(); maker > 0 && root != maker) take_away(maker);
  // The pid of one that has been waited for may be that of a process of the job by now.
  for (const Stray& stray : strays_of(report_.ledger()))
    if (node_of(stray.pid) == kMaker) take_away(stray.pid);
}

pid_t Restart::Attempt::run(const Findings& findings, const BeforeCommit& before_commit) {
  hand_over_files();
  verify_what_is_read();
  groups_.make();
  start_maker(findings);
  wait_for_threads();
  const auto pids = [this](const Process& process) { return pid_of(process); };
  groups_.settle(pids);
  fanotify_.set_marks(context_, restart_.options_.relocations);
  before_commit(pids);
  commit();
  fanotify_.close();
  succeeded_ = true;
  const pid_t root = pid_of(context_.processes[root_process(context_)]);
  take_away_others(root);
  return root;
}

pid_t Restart::launch(const Findings& findings, const BeforeCommit& before_commit) {
  return Attempt(*this).run(findings, before_commit);
}

}  // namespace cryo
