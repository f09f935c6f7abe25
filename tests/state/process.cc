// SPDX-License-Identifier: GPL-2.0-only
// process.cc - starting and watching the processes of a test
#include "process.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace crt {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

std::string env_or(const char* name, const std::string& fallback) {
  const char* value = std::getenv(name);
  return value && *value ? value : fallback;
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

void pause_for(unsigned ms) {
  std::this_thread::sleep_for(milliseconds(ms));
}

User find_user(bool root) {
  User user;
  if (root || geteuid() != 0) {
    user.uid = geteuid();
    user.gid = getegid();
    return user;
  }
  user.name = env_or("CRTEST_USER", "cryo");
  const passwd* pw = getpwnam(user.name.c_str());
  if (!pw) throw std::runtime_error("no user " + user.name + " (CRTEST_USER)");
  user.uid = pw->pw_uid;
  user.gid = pw->pw_gid;
  return user;
}

// Everything that a restarted process could take over from cr_restart by mistake.
void be_strange() {
  umask(0137);
  rlimit limit{};
  for (auto resource : {RLIMIT_CORE, RLIMIT_NOFILE, RLIMIT_NPROC, RLIMIT_SIGPENDING}) {
    getrlimit(resource, &limit);
    limit.rlim_cur = limit.rlim_cur > 3 ? limit.rlim_cur - 1 : limit.rlim_cur;
    setrlimit(resource, &limit);
  }
  prctl(PR_SET_TIMERSLACK, 77000UL);
  signal(SIGUSR2, SIG_IGN);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGWINCH);
  sigaddset(&set, SIGRTMIN + 7);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  int fd = open("/dev/null", O_RDONLY);
  dup2(fd, 77);
  if (fd != 77) close(fd);
}

[[noreturn]] void child(const Spawn& spawn, const User& user) {
  if (spawn.session) {
    setsid();
    ioctl(spawn.in, TIOCSCTTY, 0);
  } else {
    setpgid(0, 0);
  }
  if (geteuid() == 0 && user.uid != 0 &&
      (initgroups(user.name.c_str(), user.gid) || setresgid(user.gid, user.gid, user.gid) ||
       setresuid(user.uid, user.uid, user.uid)))
    _exit(126);
  if (chdir(spawn.dir.c_str())) _exit(126);
  dup2(spawn.in, STDIN_FILENO);
  dup2(spawn.out, STDOUT_FILENO);
  dup2(spawn.err, STDERR_FILENO);
  close_range(3, ~0U, 0);
  umask(022);
  signal(SIGPIPE, SIG_DFL);
  if (spawn.strange) be_strange();
  std::vector<char*> args, env;
  for (const auto& a : spawn.args) args.push_back(const_cast<char*>(a.c_str()));
  for (const auto& e : spawn.env) env.push_back(const_cast<char*>(e.c_str()));
  args.push_back(nullptr);
  env.push_back(nullptr);
  execvpe(args[0], args.data(), env.data());
  dprintf(STDERR_FILENO, "%s: %s\n", args[0], strerror(errno));
  _exit(127);
}

pid_t start(const Spawn& spawn, const User& user) {
  std::cout.flush();
  pid_t pid = fork();
  if (pid < 0) throw std::runtime_error("fork: " + std::string(strerror(errno)));
  if (pid == 0) child(spawn, user);
  return pid;
}

int wait_for(pid_t pid, unsigned ms) {
  for (auto end = Clock::now() + milliseconds(ms);;) {
    int status;
    pid_t got = waitpid(pid, &status, WNOHANG);
    if (got == pid) return status;
    if (got < 0 || Clock::now() >= end) return -1;
    pause_for(5);
  }
}

std::string say_status(int status) {
  if (status == -1) return "did not end in time";
  if (WIFSIGNALED(status)) return "killed by signal " + std::to_string(WTERMSIG(status));
  return "exit status " + std::to_string(WEXITSTATUS(status));
}

bool exited_with(int status, int code) {
  return status != -1 && WIFEXITED(status) && WEXITSTATUS(status) == code;
}

char process_state(pid_t pid) {
  std::string stat = read_file("/proc/" + std::to_string(pid) + "/stat");
  auto paren = stat.rfind(')');
  return paren == std::string::npos || paren + 2 >= stat.size() ? '-' : stat[paren + 2];
}

bool until(unsigned ms, const std::function<bool()>& cond) {
  for (auto end = Clock::now() + milliseconds(ms); !cond();) {
    if (Clock::now() >= end) return false;
    pause_for(5);
  }
  return true;
}

pid_t start_logged(const std::vector<std::string>& args, const User& user,
                   const std::filesystem::path& output) {
  Spawn spawn;
  spawn.args = args;
  spawn.dir = "/";
  spawn.in = open("/dev/null", O_RDONLY | O_CLOEXEC);
  spawn.out = spawn.err = open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
  (void)!fchown(spawn.out, user.uid, user.gid);
  spawn.env = {"PATH=" + env_or("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")};
  pid_t pid = start(spawn, user);
  close(spawn.in);
  close(spawn.out);
  return pid;
}

Pty::Pty() : master_(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)) {
  if (master_ < 0 || grantpt(master_) || unlockpt(master_)) throw std::runtime_error("no pseudo-terminal");
  char name[64];
  ptsname_r(master_, name, sizeof(name));
  slave_ = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (slave_ < 0) throw std::runtime_error(std::string(name) + ": " + strerror(errno));
}

Pty::~Pty() {
  close(slave_);
  close(master_);
}

void Pty::give_to(const User& user) {
  (void)!fchown(slave_, user.uid, user.gid);
}

void Pty::type(const std::string& text) {
  (void)!write(master_, text.data(), text.size());
}

TempDir::TempDir(const std::string& prefix, const User& owner) {
  std::string pattern = env_or("CRTEST_TMP", "/var/tmp") + "/" + prefix + ".XXXXXX";
  if (!mkdtemp(pattern.data())) throw std::runtime_error(pattern + ": " + strerror(errno));
  path_ = pattern;
  chmod(path_.c_str(), 0755);
  (void)!chown(path_.c_str(), owner.uid, owner.gid);
}

TempDir::~TempDir() {
  std::error_code ignored;
  if (env_or("CRTEST_KEEP", "").empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace crt
