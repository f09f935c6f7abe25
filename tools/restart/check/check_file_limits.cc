// SPDX-License-Identifier: GPL-2.0-only
// What the machine allows each user, or all together, of what is behind descriptors: watches of epoll,
// fanotify, POSIX message queues, pseudo-terminals.
#include <dirent.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/fanotify.h>
#include <sys/resource.h>
#include <sys/vfs.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <set>

#include "base/parse.h"
#include "restart/check/check_limits.h"
#include "restart/common/helper_process.h"
#include "restart/common/proc_files.h"
#include "restart/files/fanotify.h"
#include "restart/files/files.h"
#include "restart/ipc/mqueue.h"
#include "restart/rights/names.h"

namespace cryo {
namespace {

constexpr std::uint64_t kMostTried = 65536;  // watches: of more only the limit is looked at
constexpr long kQueueFilesystem = 0x19800202;

std::uint64_t limit_at(const std::string& name) {
  const std::string text = read_proc("sys/" + name);
  return parse_number<std::uint64_t>(text.substr(0, text.find('\n'))).value_or(kNoLimit);
}

std::string raise_text(const std::string& name, std::uint64_t value) {
  return fmt::format("as root, sysctl -w {}={}", name, value);
}

// How many watches of so many can be made now by them.  Each is a pair of an instance and a descriptor.
std::uint64_t watches_to_be_had(const Context& context, const std::vector<std::size_t>& processes,
                                std::uint64_t wanted) {
  const std::string made = text_from_helper([&] {
    const NamesOf theirs(context, processes);
    const UniqueFd event(as_maker([] { return ::eventfd(0, EFD_CLOEXEC); }));
    std::vector<UniqueFd> watched, instances;
    while (watched.size() * watched.size() < wanted)
      watched.emplace_back(::fcntl(event.get(), F_DUPFD_CLOEXEC, 0));
    for (std::uint64_t i = 0; i < wanted; ++i) {
      const std::size_t at = i % watched.size();
      if (at == 0) instances.emplace_back(as_maker([] { return ::epoll_create1(EPOLL_CLOEXEC); }));
      epoll_event nothing{};
      // Other errors say nothing of watches.
      if (::epoll_ctl(instances.back().get(), EPOLL_CTL_ADD, watched[at].get(), &nothing) != 0)
        return std::to_string(errno == ENOSPC ? i : wanted);
    }
    return std::to_string(wanted);
  });
  return parse_number<std::uint64_t>(made).value_or(wanted);
}

// Those that have a name, where the file system of all of them is mounted.
std::uint64_t named_queues() {
  struct statfs system;
  std::uint64_t count = 0;
  if (::statfs("/dev/mqueue", &system) != 0 || system.f_type != kQueueFilesystem) return 0;
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::opendir("/dev/mqueue"), ::closedir);
  while (const dirent* entry = dir ? ::readdir(dir.get()) : nullptr) count += entry->d_name[0] != '.' ? 1 : 0;
  return count;
}

// As it is when they are made: see raise_limits().
std::uint64_t queue_bytes_allowed(const Context& context) {
  rlimit own;
  if (::getrlimit(RLIMIT_MSGQUEUE, &own) != 0) return kNoLimit;
  std::uint64_t most = own.rlim_max;
  for (const Process& process : context.processes)
    if (process.rlimits.size() > RLIMIT_MSGQUEUE)
      most = std::max<std::uint64_t>(most, process.rlimits[RLIMIT_MSGQUEUE].max);
  return most;
}

// Of one user.
struct UserNeeds {
  std::uint64_t watches = 0, marks = 0;
  std::vector<std::size_t> processes;  // one that has an epoll instance
};

class FileLimitChecker {
 public:
  FileLimitChecker(const Context& context, const MachineLimits& limits, Findings& findings)
      : context_(context), limits_(limits), findings_(findings), uses_(file_uses(context)) {}

  void check_users();
  void check_fanotify_groups();
  void check_queues(const Creds& own);
  void check_terminals();

 private:
  [[nodiscard]] std::uint32_t user_of(const FileUse& use) const {
    const Process& process = context_.processes[use.process];
    return process.creds ? process.creds->head.uid : 0;
  }
  void check_watches(std::uint32_t uid, const UserNeeds& needs);
  void check_queue_bytes(const std::vector<const Inode*>& queues);
  [[nodiscard]] std::vector<const Inode*> queues_to_be_made() const;

  const Context& context_;
  const MachineLimits& limits_;
  Findings& findings_;
  const FileUses uses_;
};

void FileLimitChecker::check_users() {
  std::map<std::uint32_t, UserNeeds> users;
  for (const auto& [id, use] : uses_) {
    const File& file = context_.file(id);
    UserNeeds& needs = users[user_of(use)];
    if (file.head.kind == CRYO_FILE_EPOLL)
      needs.watches += file.epoll.size(), needs.processes = {use.process};
    if (file.fanotify && (file.fanotify->head.init_flags & FAN_UNLIMITED_MARKS) == 0)
      needs.marks += file.fanotify->marks.size();
  }
  for (const auto& [uid, needs] : users) {
    check_watches(uid, needs);
    if (needs.marks > limits_.fanotify_marks)
      findings_.problem(
          ENOSPC,
          "{} fanotify marks of user {} are more than /proc/sys/fs/fanotify/max_user_marks allows ({}): {}",
          needs.marks, uid, limits_.fanotify_marks, raise_text("fs.fanotify.max_user_marks", needs.marks));
  }
}

void FileLimitChecker::check_watches(std::uint32_t uid, const UserNeeds& needs) {
  const std::string name = "fs.epoll.max_user_watches";
  const std::uint64_t most = limits_.epoll_watches;
  if (needs.watches > most)
    return findings_.problem(
        ENOSPC,
        "{} epoll watches of user {} are more than /proc/sys/fs/epoll/max_user_watches allows ({}): {}",
        needs.watches, uid, most, raise_text(name, needs.watches));
  if (most == kNoLimit || needs.watches == 0 || needs.watches > kMostTried) return;
  const std::uint64_t left = watches_to_be_had(context_, needs.processes, needs.watches);
  if (left < needs.watches)
    findings_.problem(ENOSPC,
                      "{} epoll watches of user {} are more than are left of "
                      "/proc/sys/fs/epoll/max_user_watches ({}, and others have {}): {}",
                      needs.watches, uid, most, most - std::min(left, most),
                      raise_text(name, most - std::min(left, most) + needs.watches));
}

void FileLimitChecker::check_fanotify_groups() {
  const auto wanted = static_cast<std::uint64_t>(
      std::count_if(context_.files.begin(), context_.files.end(),
                    [](const auto& entry) { return entry.second.fanotify.has_value(); }));
  if (wanted == 0 || limits_.fanotify_groups == kNoLimit) return;
  const std::uint64_t left = wanted > limits_.fanotify_groups ? 0 : fanotify_groups_to_be_had(context_);
  if (left < wanted)
    findings_.problem(
        EMFILE, "{} fanotify groups are more than are left of /proc/sys/fs/fanotify/max_user_groups ({}): {}",
        wanted, limits_.fanotify_groups,
        raise_text("fs.fanotify.max_user_groups", limits_.fanotify_groups + wanted - left));
}

std::vector<const Inode*> FileLimitChecker::queues_to_be_made() const {
  std::set<std::uint32_t> seen;
  std::vector<const Inode*> queues;
  for (const auto& [id, use] : uses_) {
    const File& file = context_.file(id);
    const auto inode = context_.inodes.find(file.head.inode);
    if (inode == context_.inodes.end() || !inode->second.mqueue || inode->second.mqueue->head.ns != 0 ||
        !seen.insert(inode->first).second)
      continue;
    const NamesToCheck theirs(context_, use.processes);
    if (!is_queue_there(inode->second, file.path)) queues.push_back(&inode->second);
  }
  return queues;
}

// The kernel counts their messages at full size, and what it keeps of each.
void FileLimitChecker::check_queue_bytes(const std::vector<const Inode*>& queues) {
  constexpr std::uint64_t kMessage = 48, kPriority = 48;  // bytes, of 64-bit kernels
  constexpr std::uint64_t kPriorities = 32768;            // MQ_PRIO_MAX
  std::map<std::uint32_t, std::pair<std::uint64_t, std::uint64_t>> users;
  for (const Inode* inode : queues) {
    const cryo_mqueue& queue = inode->mqueue->head;
    auto& [least, likely] = users[inode->head.uid];
    least += queue.max_messages * queue.message_size;
    likely += queue.max_messages * (queue.message_size + kMessage) +
              std::min<std::uint64_t>(queue.max_messages, kPriorities) * kPriority;
  }
  for (const auto& [uid, bytes] : users) {
    const auto& [least, likely] = bytes;
    if (likely <= limits_.queue_bytes) continue;
    const std::string text = fmt::format(
        "{} bytes of POSIX message queues of user {} are more than the limit allows ({}): as root, ulimit -q "
        "{}",
        likely, uid, limits_.queue_bytes, likely);
    if (least > limits_.queue_bytes)
      findings_.problem(EMFILE, "{}", text);
    else
      findings_.warning("{}", text);
  }
}

void FileLimitChecker::check_queues(const Creds& own) {
  const std::vector<const Inode*> queues = queues_to_be_made();
  check_queue_bytes(queues);
  const std::uint64_t wanted = queues.size();
  if (capable(own, CAP_SYS_RESOURCE) || limits_.queues.has_room_for(wanted)) return;
  const std::string text = fmt::format(
      "{} POSIX message queues exceed /proc/sys/fs/mqueue/queues_max: {}, of which {} are in use: {}", wanted,
      limits_.queues.most, limits_.queues.used,
      raise_text("fs.mqueue.queues_max", limits_.queues.used + wanted));
  // What is in /dev/mqueue may be those of another ipc namespace.
  if (wanted > limits_.queues.most)
    findings_.problem(ENOSPC, "{}", text);
  else
    findings_.warning("{}", text);
}

// The last ones are for the first mount namespace.
void FileLimitChecker::check_terminals() {
  const auto wanted = static_cast<std::uint64_t>(
      std::count_if(context_.files.begin(), context_.files.end(),
                    [](const auto& entry) { return entry.second.pty.has_value(); }));
  const Amount all = limits_.terminals;
  if (wanted == 0) return;
  const std::string text =
      fmt::format("{} pseudo-terminals exceed /proc/sys/kernel/pty/max: {}, of which {} are in use", wanted,
                  all.most, all.used);
  if (!all.has_room_for(wanted))
    findings_.problem(ENOSPC, "{}: {}", text, raise_text("kernel.pty.max", all.used + wanted + 1));
  else if (all.most != kNoLimit && !all.has_room_for(wanted + limits_.reserved_terminals))
    findings_.warning("{}, and {} are reserved: {}", text, limits_.reserved_terminals,
                      raise_text("kernel.pty.max", all.used + wanted + limits_.reserved_terminals + 1));
}

}  // namespace

void add_file_limits(const Context& context, MachineLimits& limits) {
  limits.epoll_watches = limit_at("fs/epoll/max_user_watches");
  limits.fanotify_groups = limit_at("fs/fanotify/max_user_groups");
  limits.fanotify_marks = limit_at("fs/fanotify/max_user_marks");
  limits.queue_bytes = queue_bytes_allowed(context);
  limits.queues = {limit_at("fs/mqueue/queues_max"), named_queues()};
  const std::uint64_t most = limit_at("kernel/pty/max"), used = limit_at("kernel/pty/nr"),
                      reserved = limit_at("kernel/pty/reserve");
  // There are fewer than that.
  if (most != kNoLimit && used != kNoLimit) limits.terminals = {std::max<std::uint64_t>(most, 1) - 1, used};
  if (reserved != kNoLimit) limits.reserved_terminals = reserved;
}

void check_file_limits(const Context& context, const Creds& own, const MachineLimits& limits,
                       Findings& findings) {
  FileLimitChecker checker(context, limits, findings);
  checker.check_users();
  checker.check_fanotify_groups();
  checker.check_queues(own);
  checker.check_terminals();
}

}  // namespace cryo
