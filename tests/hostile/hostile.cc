// SPDX-License-Identifier: GPL-2.0-only
// hostile.cc - a victim, and the tools run against it
#include "hostile.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdexcept>

namespace hostile {

namespace fs = std::filesystem;
using namespace crt;

bool Outcome::clean_failure() const {
  return status != -1 && WIFEXITED(status) && WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != 126 &&
         WEXITSTATUS(status) != 127 && !text.empty();
}

fs::path program(const std::string& name) {
  return fs::canonical("/proc/self/exe").parent_path() / name;
}

unsigned seed(Tap& tap) {
  std::string given = env_or("CRTEST_SEED", "");
  unsigned value = given.empty() ? std::random_device{}() % 100000 : static_cast<unsigned>(std::stoul(given));
  tap.diag("CRTEST_SEED=" + std::to_string(value));
  return value;
}

std::vector<char> read_bytes(const fs::path& path) {
  std::string text = read_file(path);
  return {text.begin(), text.end()};
}

void write_bytes(const fs::path& path, const std::vector<char>& bytes, const User& user) {
  fs::remove(path);
  std::ofstream out(path, std::ios::binary);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!out) throw std::runtime_error("cannot write " + path.string());
  (void)!chown(path.c_str(), user.uid, user.gid);
}

Victim::Victim(const Args& behaviour) : user_(find_user(false)), temp_("hostile", user_) {
  write_bytes(dir() / "watch", std::vector<char>(4096), user_);
  write_bytes(dir() / "data", std::vector<char>(8192, 'd'), user_);
  int fd = open((dir() / "watch").c_str(), O_RDWR | O_CLOEXEC);
  void* map = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (map == MAP_FAILED) throw std::runtime_error("cannot map " + (dir() / "watch").string());
  watch_ = static_cast<watch*>(map);
  Args args{program("target").string(), behaviour[0], dir().string()};
  args.insert(args.end(), behaviour.begin() + 1, behaviour.end());
  pid_ = start_logged(args, user_, dir() / "log");
  alive_ = true;
  if (!until(30000, [&] { return watch_->ready != 0; }))
    throw std::runtime_error("the victim does not start: " + read_file(dir() / "log"));
}

Victim::~Victim() {
  if (alive_) {
    kill(-pid_, SIGKILL);
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  munmap(watch_, 4096);
}

bool Victim::ticking() const {
  unsigned long then = watch_->ticks;
  return until(5000, [&] { return watch_->ticks > then + 2; });
}

bool Victim::reaped(unsigned ms) {
  if (!alive_) return true;
  int status = wait_for(pid_, ms);
  if (status == -1) return false;
  alive_ = false;
  end_status_ = status;
  return true;
}

pid_t Victim::start_checkpoint(const Args& options, const std::string& context_name) {
  Args args{env_or("CR_CHECKPOINT", "cr_checkpoint")};
  args.insert(args.end(), options.begin(), options.end());
  args.insert(args.end(),
              {"-f", context_name.empty() ? context().string() : context_name, std::to_string(pid_)});
  return start_logged(args, user_, dir() / "tool.log");
}

Outcome Victim::finish_tool(pid_t pid, unsigned ms) {
  Outcome outcome;
  outcome.status = wait_for(pid, ms);
  if (outcome.status == -1) {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
  outcome.text = read_file(dir() / "tool.log");
  return outcome;
}

Outcome Victim::checkpoint(const Args& options, const std::string& context_name) {
  return finish_tool(start_checkpoint(options, context_name));
}

bool Victim::checkpoint_and_kill() {
  Outcome outcome = checkpoint({"--kill"});
  return outcome.ok() && reaped(5000);
}

bool Victim::gone() const {
  return kill(pid_, 0) == -1 && errno == ESRCH;
}

Outcome Victim::restart(const fs::path& context_path, const Args& options) {
  Args args{env_or("CR_RESTART", "cr_restart")};
  args.insert(args.end(), options.begin(), options.end());
  args.push_back(context_path.string());
  restarted_ = false;
  unsigned long then = watch_->ticks;
  pid_t tool = start_logged(args, user_, dir() / "tool.log");
  Outcome outcome;
  until(30000, [&] {
    outcome.status = wait_for(tool, 0);
    restarted_ = watch_->ticks > then + 2;
    return outcome.status != -1 || restarted_;
  });
  if (restarted_ && !gone()) {
    kill(pid_, SIGKILL);
    outcome.status = wait_for(tool, 5000);
  }
  if (outcome.status == -1) {
    kill(tool, SIGKILL);
    waitpid(tool, nullptr, 0);
  }
  until(2000, [&] { return gone(); });
  outcome.text = read_file(dir() / "tool.log");
  return outcome;
}

}  // namespace hostile
