// SPDX-License-Identifier: GPL-2.0-only
#include "restart/files/polled_rings.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <exception>
#include <memory>
#include <set>
#include <sstream>
#include <thread>

#include "base/error.h"
#include "base/parse.h"
#include "restart/common/proc_files.h"
#include "restart/files/file_uses.h"
#include "restart/files/io_uring.h"
#include "restart/rights/credentials.h"
#include "restart/rights/names.h"

namespace cryo {
namespace {

constexpr std::size_t kMoreTries = 100;     // than there are ids in the way
constexpr int kMaxWaitMs = 10000;           // for a ring that was not wanted to go
constexpr useconds_t kPollInterval = 1000;  // microseconds

// Credentials belong to threads: what this process is going to be, a thread of it is for a while.  Its id is
// free again afterwards.  The kernel's thread stays, and has them, too: whoever may look at that one by
// ptrace(2) gets at the memory of all of the process, with what it still may do here.  So nobody may from now
// on (CRYO_RESUME_DUMPABLE).
UniqueFd set_up_as(const CredentialChange& change, const Context& context, const File& file) {
  if (!change.to) return set_up_uring(context, file);
  const SteadyProcess steady;
  UniqueFd fd;
  pid_t tid = 0;
  std::exception_ptr error;
  std::thread other([&] {
    tid = static_cast<pid_t>(::syscall(SYS_gettid));
    try {
      set_credentials(change);
      const OwnNames own;
      fd = set_up_uring(context, file);
    } catch (...) {
      error = std::current_exception();
    }
  });
  other.join();
  while (::syscall(SYS_tgkill, ::getpid(), tid, 0) == 0) ::usleep(kPollInterval);
  steady.unseen();
  if (error) std::rethrow_exception(error);
  return fd;
}

std::set<pid_t> own_threads() {
  UniqueFd fd = open_proc("self/task", O_RDONLY | O_DIRECTORY);
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::fdopendir(fd.get()), ::closedir);
  if (!dir) fail_errno("cannot read /proc/self/task");
  (void)fd.release();
  std::set<pid_t> ids;
  while (const dirent* entry = ::readdir(dir.get()))
    if (const auto id = parse_number<pid_t>(entry->d_name)) ids.insert(*id);
  return ids;
}

// In all namespaces that it is in.
std::set<pid_t> ids_of(pid_t tid) {
  std::istringstream status(read_proc(fmt::format("self/task/{}/status", tid)));
  std::set<pid_t> ids{tid};
  for (std::string line; std::getline(status, line);) {
    std::istringstream fields(line);
    std::string name;
    fields >> name;
    if (name != "NSpid:") continue;
    for (pid_t id = 0; fields >> id;) ids.insert(id);
  }
  return ids;
}

// Of the job, in whatever namespace.
std::set<pid_t> wanted_ids(const Context& context) {
  std::set<pid_t> ids;
  for (const Process& process : context.processes) {
    for (const Thread& thread : process.threads) ids.insert(thread.head.tid);
    for (const cryo_nested_id& id : process.nested_ids) ids.insert(id.number);
  }
  return ids;
}

class PolledRings {
 public:
  explicit PolledRings(const PolledRingsInput& input) : input_(input) {}

  std::map<std::uint32_t, UniqueFd> make();

 private:
  [[nodiscard]] bool is_in_the_way(pid_t tid) const;
  [[nodiscard]] UniqueFd make(const File& file) const;

  const PolledRingsInput& input_;
  std::set<pid_t> wanted_;  // once there is a ring
};

bool PolledRings::is_in_the_way(pid_t tid) const {
  for (const pid_t id : ids_of(tid))
    if (wanted_.contains(id)) return true;
  return false;
}

void wait_until_gone(pid_t tid) {
  for (int left = kMaxWaitMs; own_threads().contains(tid); --left) {
    if (left == 0) fail(ETIMEDOUT, "the SQPOLL thread of an io_uring does not exit");
    ::usleep(kPollInterval);
  }
}

// The thread gets any free id, also one that a thread of the job is going to have.
UniqueFd PolledRings::make(const File& file) const {
  for (std::size_t left = wanted_.size() + kMoreTries; left > 0; --left) {
    const std::set<pid_t> before = own_threads();
    UniqueFd fd = set_up_as(input_.credentials, input_.context, file);
    pid_t in_the_way = 0;
    for (const pid_t tid : own_threads())
      if (!before.contains(tid) && input_.restore_ids && is_in_the_way(tid)) in_the_way = tid;
    if (in_the_way == 0) return input_.descriptors.park(std::move(fd));
    fd.reset();
    wait_until_gone(in_the_way);
  }
  fail(EBUSY, "the SQPOLL thread of an io_uring only gets ids that the job needs");
}

std::map<std::uint32_t, UniqueFd> PolledRings::make() {
  std::map<std::uint32_t, UniqueFd> rings;
  for (const auto& [id, use] : file_uses(input_.context, input_.index)) {
    const File& file = input_.context.file(id);
    if (!is_polled_ring(file)) continue;
    if (wanted_.empty()) wanted_ = wanted_ids(input_.whole);
    UniqueFd fd = make(file);
    fill_uring(file, fd.get(), input_.handle_fd);
    rings.emplace(id, std::move(fd));
  }
  register_eventfds(input_.context, rings, input_.files);
  return rings;
}

}  // namespace

std::map<std::uint32_t, UniqueFd> make_polled_rings(const PolledRingsInput& input) {
  return PolledRings(input).make();
}

}  // namespace cryo
