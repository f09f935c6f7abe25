// SPDX-License-Identifier: GPL-2.0-only
#include "restart/engine/tree_steps.h"

#include <cryo/ioctl.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <set>

#include "base/error.h"
#include "base/unique_fd.h"
#include "restart/cgroups/cgroup.h"
#include "restart/engine/failure.h"
#include "restart/ns/pid_namespaces.h"
#include "restart/ns/reach.h"
#include "restart/process/fork.h"
#include "restart/rights/credentials.h"
#include "restart/stub/shared_report.h"

namespace cryo {
namespace {

using Kind = TreeStep::Kind;

void wake(std::uint32_t& word, int count) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE, count);
}

// A child has told us of its end, and nobody is to hear of that: all signals are blocked, so it is still
// pending.
void forget(int exit_signal) {
  sigset_t told;
  sigemptyset(&told);
  sigaddset(&told, exit_signal);
  const timespec now{0, 0};
  while (::sigtimedwait(&told, nullptr, &now) > 0) {
  }
}

class TreeRunner {
 public:
  explicit TreeRunner(const TreeRunInput& input) : input_(input), places_(places_of(input.shared.ledger)) {}

  // From step `first` on.
  std::size_t run(std::size_t first = 0);

 private:
  void end_with_cr_restart() const;
  void wait_while(std::uint32_t& word, std::uint32_t value) const;
  void take_strays() const;
  void wait_for_turn(std::size_t step);
  void pass_on(std::size_t step);
  void take(std::size_t number);
  void create(std::size_t node, std::size_t step);
  void create_sharing(std::size_t node, std::size_t step, ForkRequest request);
  [[noreturn]] void live_sharing(std::size_t node, std::size_t step);
  void create_through_door(std::size_t node, const ForkRequest& request, std::uint32_t owner);
  void fork_in(std::uint32_t owner, std::size_t node, const ForkRequest& request);
  void await_first(std::size_t node, pid_t door) const;
  void take_door_away(std::size_t node, const ForkRequest& request, pid_t door) const;
  [[nodiscard]] std::set<pid_t> ids_of_job(std::uint32_t ns) const;
  [[nodiscard]] std::uint32_t pid_namespace(std::size_t node) const;
  [[nodiscard]] pid_t number(pid_t id) const { return number_in(input_.context, in_.pid, id); }
  void begin_life(std::size_t node);
  void go_to(std::size_t process, const cryo_namespaces& wanted, bool first);
  void enter_halfway();
  void enter_namespaces(std::size_t node);
  void die_with_parent() const;
  [[nodiscard]] bool is_first_there(std::size_t node) const;
  void enter_group(const TreeStep& step);
  void await(std::size_t node);
  void set_exit_signal(int signal) const;
  [[noreturn]] void end(std::size_t number);

  const TreeRunInput input_;  // a copy: others that have it share our memory, not our stack
  Place* places_;
  std::size_t node_ = kMaker;
  cryo_namespaces in_{};  // of this process, so far
};

// Some of us are not its children; and when it kills all that it knows of, one that has just been forked by
// another may not be known, nor have heard of its parent's death.
void TreeRunner::end_with_cr_restart() const {
  // From a pid namespace of our own we do not see it; but that ends with its first process.
  const bool gone = in_.pid == 0 && ::kill(input_.coordinator, 0) != 0 && errno == ESRCH;
  if (gone || __atomic_load_n(&input_.shared.ledger->ending, __ATOMIC_ACQUIRE) != 0)
    ::_exit(stub::kFailureStatus);
}

// Nothing wakes us when all is over.
void TreeRunner::wait_while(std::uint32_t& word, std::uint32_t value) const {
  while (__atomic_load_n(&word, __ATOMIC_ACQUIRE) == value) {
    const timespec timeout{1, 0};
    ::syscall(SYS_futex, &word, FUTEX_WAIT, value, &timeout);
    end_with_cr_restart();
    take_strays();
  }
}

// Siblings of its children that got a wrong pid: nobody else can wait for them, and a pid that they have may
// be that of another process of the job.
void TreeRunner::take_strays() const {
  for (const Stray& stray : strays_of(*input_.shared.ledger, static_cast<std::uint32_t>(node_))) {
    ::waitpid(stray.pid, nullptr, __WALL);
    (void)forget_stray(*input_.shared.ledger, stray.pid, stray.waiter);
    forget(stray.signal);
  }
}

void TreeRunner::wait_for_turn(std::size_t step) {
  std::uint32_t& turn = places_[node_].turn;
  // Steps are numbered from 1 there; 0 is no turn.
  for (std::uint32_t now; (now = __atomic_load_n(&turn, __ATOMIC_ACQUIRE)) != step + 1;)
    wait_while(turn, now);
  take_strays();
}

void TreeRunner::pass_on(std::size_t step) {
  if (step + 1 == input_.plan.steps.size()) {
    __atomic_store_n(&input_.shared.ledger->created, 1, __ATOMIC_RELEASE);
    wake(input_.shared.ledger->created, 0x7fffffff);
    return;
  }
  std::uint32_t& turn = places_[input_.plan.steps[step + 1].actor].turn;
  __atomic_store_n(&turn, static_cast<std::uint32_t>(step + 2), __ATOMIC_RELEASE);
  wake(turn, 1);
}

void TreeRunner::create(std::size_t node, std::size_t step) {
  const TreeNode& wanted = input_.plan.nodes[node];
  const std::uint32_t ns = pid_namespace(node);
  ForkRequest request{
      .pid = number(wanted.pid),
      .exit_signal = wanted.exit_signal,
      .sibling = wanted.sibling,
      .waiter = wanted.parent == kMaker ? kOfCrRestart : static_cast<std::uint32_t>(wanted.parent),
      .device_fd = input_.device_fd,
      .ledger = input_.shared.ledger,
      .new_pid_namespace = ns != in_.pid,
      .outer = wanted.pid == 0 ? std::vector<pid_t>() : numbers_above(input_.context, in_.pid, wanted.pid),
      .handle_fd = input_.handle_fd};
  if (wanted.process != TreeNode::kHelper) {
    const Process& process = input_.context.processes[wanted.process];
    if (!process.threads.empty())
      request.timer_slack_ns = process.threads.front().head.default_timer_slack_ns;
  }
  if (request.new_pid_namespace && input_.context.namespaces.at(ns).head.owner != in_.user)
    return create_through_door(node, request, input_.context.namespaces.at(ns).head.owner);
  std::set<pid_t> taken, outer_taken;
  if (wanted.pid == 0 && input_.restore_pid) {
    taken = ids_of_job(in_.pid);
    request.taken = &taken;
    if (in_.pid != 0) outer_taken = ids_of_job(0);
    if (in_.pid != 0) request.outer_taken = &outer_taken;
  }
  if (wanted.shares_memory) return create_sharing(node, step, request);
  const pid_t pid = fork_with_pid(request);
  if (pid == 0) {
    begin_life(node);
  } else {
    places_[node].pid = in_.pid == 0 ? pid : wanted.pid;
    places_[node].number = pid;
  }
}

// Which a helper that may have any must not have, as it is there when they are asked for.
std::set<pid_t> TreeRunner::ids_of_job(std::uint32_t ns) const {
  std::set<pid_t> ids;
  const auto add = [&](pid_t id) { ids.insert(number_in(input_.context, ns, id)); };
  for (const TreeNode& node : input_.plan.nodes) add(node.pid);
  for (const Process& process : input_.context.processes)
    for (const Thread& thread : process.threads) add(thread.head.tid);
  return ids;
}

// Where two processes have one library, only one of them is in it at a time, and none when either of them
// forks: a child would inherit the locks. What the new one needs is not on our stack, and never freed.
void TreeRunner::create_sharing(std::size_t node, std::size_t step, ForkRequest request) {
  struct Birth {
    TreeRunner runner;
    std::size_t node;
    std::size_t step;
  };
  auto birth = std::make_unique<Birth>(Birth{*this, node, step});
  const auto begin = [](void* argument) {
    const auto* own = static_cast<Birth*>(argument);
    TreeRunner(own->runner).live_sharing(own->node, own->step);
  };
  auto life = std::make_unique<VmChild>(begin, birth.get(), input_.plan.nodes[node].shares_handlers);
  request.shared = life.get();
  const pid_t pid = fork_with_pid(request);
  (void)birth.release();
  (void)life.release();
  places_[node].pid = in_.pid == 0 ? pid : input_.plan.nodes[node].pid;
  places_[node].number = pid;
  wait_while(places_[node].settled, 0);
}

void TreeRunner::live_sharing(std::size_t node, std::size_t step) {
  try {
    begin_life(node);
    __atomic_store_n(&places_[node].settled, 1, __ATOMIC_RELEASE);
    wake(places_[node].settled, 1);
    input_.live(run(step + 1));
  } catch (const std::exception& error) {
    input_.report_failure(node_, error);
  }
  ::_exit(stub::kFailureStatus);
}

// Whoever makes a pid namespace is in the user namespace that is to own it: not the parent, but one who
// has the same parent for its child, and ends.  The owner of that user namespace may stop and kill it.
void TreeRunner::create_through_door(std::size_t node, const ForkRequest& request, std::uint32_t owner) {
  ForkRequest door = request;
  door.pid = 0;
  door.new_pid_namespace = false;
  door.outer.clear();
  // Any id but that of its child: others of the job's would be kept from it by who has had them, and is not
  // waited for until later.
  const std::set<pid_t> of_child{request.pid}, outer_of_child(request.outer.begin(), request.outer.end());
  door.taken = &of_child;
  if (!request.outer.empty()) door.outer_taken = &outer_of_child;
  door.noted = &places_[node].door;
  const pid_t pid = fork_with_pid(door);
  if (pid == 0) return fork_in(owner, node, request);
  await_first(node, pid);
  take_door_away(node, request, pid);
}

// In the process between. Returns in its child.
void TreeRunner::fork_in(std::uint32_t owner, std::size_t node, const ForkRequest& request) {
  if (in_.pid == 0) places_[node].door = ::getpid();
  in_ = at_birth(in_);
  // What its child has from above that.
  const std::size_t process = input_.plan.nodes[node].process;
  const Process& saved = input_.context.processes[process];
  go_to(process, down_to(input_.context, in_, saved.threads.empty() ? in_ : saved.namespaces, owner), false);
  ForkRequest through = request;
  if (!request.sibling) through.waiter = static_cast<std::uint32_t>(node_);
  through.sibling = true;
  const pid_t first = fork_with_pid(through);
  if (first == 0) return begin_life(node);
  __atomic_store_n(&places_[node].pid, in_.pid == 0 ? first : input_.plan.nodes[node].pid, __ATOMIC_RELEASE);
  ::_exit(0);
}

// The end of one that is not our child cr_restart sees; and it continues those that have been stopped.
void TreeRunner::await_first(std::size_t node, pid_t door) const {
  const auto is_over = [&] {
    return __atomic_load_n(&places_[node].pid, __ATOMIC_ACQUIRE) != 0 ||
           __atomic_load_n(&input_.shared.report->failed, __ATOMIC_ACQUIRE) != 0;
  };
  while (!is_over()) {
    siginfo_t info{};
    const bool ended =
        ::waitid(P_PID, static_cast<id_t>(door), &info, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0 &&
        info.si_pid == door;
    if (ended && !is_over()) fail(EIO, "{}", describe_door_end(input_.plan.nodes[node].pid, info));
    ::usleep(1000);
    end_with_cr_restart();
  }
}

// It has done its work, or nobody wants that any more: it may have been stopped before it ended. One of
// others stays noted until cr_restart sees its end.
void TreeRunner::take_door_away(std::size_t node, const ForkRequest& request, pid_t door) const {
  if (request.sibling) {
    leave_to_waiter(request, door);
    return wake_waiter(*input_.shared.ledger, request.waiter);
  }
  ::kill(door, SIGKILL);
  siginfo_t info{};
  (void)::waitid(P_PID, static_cast<id_t>(door), &info, WEXITED | WNOWAIT | __WALL);
  places_[node].door = 0;  // while the number is still its own
  ::waitpid(door, nullptr, __WALL);
  take_strays();
  forget(request.exit_signal);
}

// A helper is where its parent is.
std::uint32_t TreeRunner::pid_namespace(std::size_t node) const {
  const std::size_t process = input_.plan.nodes[node].process;
  return process == TreeNode::kHelper ? in_.pid : input_.context.processes[process].namespaces.pid;
}

// In a new process.
void TreeRunner::begin_life(std::size_t node) {
  if (in_.pid != pid_namespace(node)) input_.pid_namespaces.leave(pid_namespace(node));
  in_.pid = pid_namespace(node);
  in_.time = in_.time_for_children;
  node_ = node;
  if (!input_.plan.nodes[node].enters_late) enter_namespaces(node);
  die_with_parent();
}

// When it has its credentials for now: with others that is lost. A helper ends before its children do
// anything that takes long.
void TreeRunner::die_with_parent() const {
  const std::size_t parent = input_.plan.nodes[node_].parent;
  const bool of_helper = parent != kMaker && input_.plan.nodes[parent].process == TreeNode::kHelper;
  if (!of_helper && ::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) fail_errno("PR_SET_PDEATHSIG");
  const bool of_coordinator = parent == kMaker && input_.plan.nodes[node_].sibling;
  if (of_coordinator && in_.pid == 0 && ::getppid() != input_.coordinator)
    fail(ECANCELED, "cr_restart has exited");
}

// Of its pid namespace in its mount namespace: no process is there before it.
bool TreeRunner::is_first_there(std::size_t node) const {
  const auto namespaces_of = [this](std::size_t one) -> const cryo_namespaces* {
    const std::size_t process = input_.plan.nodes[one].process;
    if (process == TreeNode::kHelper || input_.context.processes[process].threads.empty()) return nullptr;
    return &input_.context.processes[process].namespaces;
  };
  const cryo_namespaces& own = *namespaces_of(node);
  for (const TreeStep& step : input_.plan.steps) {
    const cryo_namespaces* other = step.kind == Kind::kCreate ? namespaces_of(step.subject) : nullptr;
    if (other != nullptr && other->pid == own.pid && other->mnt == own.mnt) return step.subject == node;
  }
  return false;
}

void TreeRunner::go_to(std::size_t process, const cryo_namespaces& wanted, bool first) {
  // By its path in the hierarchy of cr_restart.
  if (wanted.cgroup != in_.cgroup || wanted.mnt != in_.mnt) join_cgroup(input_.context, process);
  if (in_.user == 0 && wanted.user != 0) take_outer_groups(input_.context, input_.context.processes[process]);
  input_.namespaces.enter(in_, wanted, first);
  in_ = wanted;
}

// Where it forks some of its children.
void TreeRunner::enter_halfway() {
  const TreeNode& self = input_.plan.nodes[node_];
  const bool mounts = self.halfway.mnt == input_.context.processes[self.process].namespaces.mnt;
  go_to(self.process, self.halfway, mounts && is_first_there(node_));
}

// Before it forks any other, and before it asks for anything that is lost when it gets other credentials.
void TreeRunner::enter_namespaces(std::size_t node) {
  const TreeNode& self = input_.plan.nodes[node];
  if (self.process == TreeNode::kHelper || input_.context.processes[self.process].threads.empty()) return;
  const cryo_namespaces& wanted = input_.context.processes[self.process].namespaces;
  go_to(self.process, wanted, self.halfway.mnt != wanted.mnt && is_first_there(node));
}

// The terminal that cr_restart has in the foreground follows a process of its own into its group. All
// signals are blocked: nobody is stopped for that.
void TreeRunner::enter_group(const TreeStep& step) {
  const pid_t old_group = ::getpgrp();
  const TreeNode& self = input_.plan.nodes[node_];
  // A leader that has got another pid leads a group of that number.
  const bool leads = self.pid == 0 && self.process != TreeNode::kHelper &&
                     input_.context.processes[self.process].head.pid == step.id;
  // 0: where cr_restart is.
  const pid_t outer = step.id == 0 ? ::getpgid(input_.coordinator) : 0;
  const pid_t group = leads ? ::getpid() : step.id == 0 ? outer : number(step.id);
  if (old_group == group && step.subject == 0) return;
  // Where that of cr_restart has no number (docker exec, nsenter), it is 0, and setpgid(2) makes one of its
  // own.
  const pid_t who = step.subject == 0 ? 0 : number(input_.plan.nodes[step.subject].pid);
  if (::setpgid(who, group == ::getpid() && who == 0 ? 0 : group) != 0)
    fail_errno("cannot enter process group {}", step.id);
  if (who != 0) return;
  if (self.parent != kMaker) return;
  const UniqueFd terminal(::open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (terminal && ::tcgetpgrp(terminal.get()) == old_group && ::tcsetpgrp(terminal.get(), ::getpgrp()) != 0)
    fail_errno("cannot bring the process group to the foreground of the terminal");
}

// What had exited stays a zombie, to be waited for by the process when it runs again.
void TreeRunner::await(std::size_t node) {
  const bool helper = input_.plan.nodes[node].process == TreeNode::kHelper;
  // Of a helper it is the forker.
  const pid_t pid = helper         ? places_[node].number
                    : in_.pid == 0 ? places_[node].pid
                                   : number(input_.plan.nodes[node].pid);
  siginfo_t info{};
  while (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | __WALL | WNOWAIT) != 0)
    if (errno != EINTR) fail_errno("cannot wait for pid {}", places_[node].pid);
  if (helper) {
    places_[node].pid = 0;  // while the number is still its own
    ::waitpid(pid, nullptr, __WALL);
  }
  const std::size_t process = input_.plan.nodes[node].process;
  forget(helper ? input_.plan.nodes[node].exit_signal : input_.context.processes[process].head.exit_signal);
}

void TreeRunner::set_exit_signal(int signal) const {
  cryo_exit_signal args{sizeof(cryo_exit_signal), signal};
  if (::ioctl(input_.handle_fd, CRYO_RST_EXIT_SIGNAL, &args) != 0)
    fail_errno("cannot set exit signal {}", signal);
}

// Dies as it died, with its name and credentials; without a core dump this time.
[[noreturn]] void die_like(const Process& process) {
  const int status = process.head.exit_code;
  ::prctl(PR_SET_NAME, process.command.c_str());
  if (process.ended_as) end_as(*process.ended_as);
  if (!WIFSIGNALED(status)) ::_exit(WEXITSTATUS(status));
  // A limit does not keep a program that takes core dumps (core_pattern) from one.
  if (::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) ::_exit(stub::kFailureStatus);
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  const int signal = WTERMSIG(status);
  ::sigaction(signal, &action, nullptr);
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, signal);
  ::syscall(SYS_tgkill, ::getpid(), ::syscall(SYS_gettid), signal);
  ::sigprocmask(SIG_UNBLOCK, &one, nullptr);
  ::_exit(stub::kFailureStatus);  // the signal does not end a process
}

void TreeRunner::end(std::size_t number) {
  const std::size_t process = input_.plan.nodes[node_].process;
  __atomic_store_n(&places_[node_].ended, 1, __ATOMIC_RELEASE);
  pass_on(number);
  if (process == TreeNode::kHelper) ::_exit(0);
  die_like(input_.context.processes[process]);
}

void TreeRunner::take(std::size_t number) {
  const TreeStep& step = input_.plan.steps[number];
  switch (step.kind) {
    case Kind::kCreate:
      input_.before_fork(node_, number);
      return create(step.subject, number);
    case Kind::kSession:
      if (::setsid() < 0) fail_errno("cannot start a session");
      return input_.in_session(node_);
    case Kind::kHalfway:
      enter_halfway();
      return die_with_parent();
    case Kind::kEnter:
      enter_namespaces(node_);
      return die_with_parent();
    case Kind::kGroup:
      return enter_group(step);
    case Kind::kSubreaper:
      if (::prctl(PR_SET_CHILD_SUBREAPER, static_cast<unsigned long>(step.id), 0, 0, 0) != 0)
        fail_errno("PR_SET_CHILD_SUBREAPER");
      return;
    case Kind::kSignal:
      return set_exit_signal(step.id);
    case Kind::kExit:
      end(number);
    case Kind::kAwait:
      return await(step.subject);
  }
}

std::size_t TreeRunner::run(std::size_t first) {
  const std::vector<TreeStep>& steps = input_.plan.steps;
  // Whoever is forked by a step goes on behind it; the forker passes the turn on.
  for (std::size_t number = first; number < steps.size(); ++number) {
    if (steps[number].actor != node_) continue;
    if (number > 0) wait_for_turn(number);
    const std::size_t before = node_;
    take(number);
    if (node_ == before) pass_on(number);
  }
  if (node_ != kMaker) wait_while(input_.shared.ledger->created, 0);
  take_strays();
  return node_;
}

}  // namespace

std::size_t run_tree(const TreeRunInput& input) {
  return TreeRunner(input).run();
}

}  // namespace cryo
