// SPDX-License-Identifier: GPL-2.0-only
// Ids in use: who has them, and whom a restart waits for.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "restart/common/id_holder.h"
#include "tap.h"

namespace cryo {
namespace {

using std::chrono::milliseconds;

std::string comm_of(pid_t pid) {
  std::string comm;
  std::getline(std::ifstream(fmt::format("/proc/{}/comm", pid)), comm);
  return comm;
}

pid_t start_sleeper() {
  const pid_t pid = ::fork();
  if (pid == 0)
    for (;;) ::pause();
  return pid;
}

// A process group of one sleeper, a child of this process (a subreaper). Returns its id.
pid_t start_leaderless_group() {
  const pid_t leader = ::fork();
  if (leader == 0) {
    ::setpgid(0, 0);
    const pid_t member = ::fork();
    if (member == 0)
      for (;;) ::pause();
    ::_exit(0);
  }
  ::waitpid(leader, nullptr, 0);
  return leader;
}

bool is_zombie(pid_t pid) {
  siginfo_t info;
  return ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT) == 0;
}

TEST("ids: free ones, and those that are in use") {
  CHECK_EQ(IdHolders(milliseconds(0)).find(3999999), "");
  CHECK_EQ(IdHolders(milliseconds(0)).find(::getpid()), "cr_restart itself");
  const pid_t pid = start_sleeper();
  // At once, or the tests would take as long.
  CHECK_EQ(IdHolders(std::chrono::seconds(30)).find(pid), comm_of(pid));
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
}

TEST("ids: a process that has ended, and that nobody has waited for") {
  const pid_t pid = start_sleeper();
  ::kill(pid, SIGKILL);
  CHECK(is_zombie(pid));
  CHECK_EQ(IdHolders(milliseconds(20)).find(pid),
           fmt::format("{}, which has ended, but pid {} ({}) has not waited for it", comm_of(pid), ::getpid(),
                       comm_of(::getpid())));
  std::thread reaper([pid] {
    std::this_thread::sleep_for(milliseconds(50));
    ::waitpid(pid, nullptr, 0);
  });
  CHECK_EQ(IdHolders(std::chrono::seconds(30)).find(pid), "");
  reaper.join();
}

TEST("ids: a process group whose last member is leaving") {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  const pid_t leader = start_leaderless_group();
  CHECK(id_exists(-leader));
  std::thread killer([leader] {
    std::this_thread::sleep_for(milliseconds(50));
    ::kill(-leader, SIGKILL);
    ::waitpid(-leader, nullptr, 0);
  });
  const std::string holder = IdHolders(milliseconds(0)).find(leader);
  CHECK_EQ(holder.rfind("the process group of pid ", 0), 0U);
  killer.join();
  CHECK_EQ(IdHolders(milliseconds(0)).find(leader), "");
  ::prctl(PR_SET_CHILD_SUBREAPER, 0);
}

// The last member may leave between two questions: then nobody can be named, and there is nobody to name.
TEST("ids: a process group whose last member leaves while it is looked for") {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  int unnamed = 0;
  for (int i = 0; i < 100; ++i) {
    const pid_t leader = start_leaderless_group();
    std::thread killer([=] {
      std::this_thread::sleep_for(std::chrono::microseconds(100 * (i % 20)));
      ::kill(-leader, SIGKILL);
      ::waitpid(-leader, nullptr, 0);
    });
    const std::string holder = IdHolders(std::chrono::seconds(30)).find(leader);
    unnamed += !holder.empty() && !holder.starts_with("the process group of pid ");
    killer.join();
  }
  CHECK_EQ(unnamed, 0);
  ::prctl(PR_SET_CHILD_SUBREAPER, 0);
}

}  // namespace
}  // namespace cryo
