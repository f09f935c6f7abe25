// SPDX-License-Identifier: GPL-2.0-only
// hostile.h - a victim, and the tools run against it
#ifndef HOSTILE_H
#define HOSTILE_H

#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "process.h"
#include "tap.h"
#include "watch.h"

namespace hostile {

using crt::User;
using Args = std::vector<std::string>;

// One run of a tool: its wait status (-1: had to be killed) and all it said.
struct Outcome {
  int status = -1;
  std::string text;

  bool ok() const { return crt::exited_with(status, 0); }
  // An orderly failure: an exit status that is not 0, no signal, and something said.
  bool clean_failure() const;
  bool says(const std::string& word) const { return text.find(word) != std::string::npos; }
  std::string summary() const { return crt::say_status(status) + ": " + text; }
};

// A directory with a victim in it, both of the test's user.
class Victim {
 public:
  explicit Victim(const Args& behaviour);
  ~Victim();
  Victim(const Victim&) = delete;
  Victim& operator=(const Victim&) = delete;

  pid_t pid() const { return pid_; }
  const std::filesystem::path& dir() const { return temp_.path(); }
  std::filesystem::path context() const { return dir() / "ctx"; }
  const User& user() const { return user_; }

  // It does something: the counter moves within five seconds.
  bool ticking() const;
  unsigned long errors() const { return watch_->errors; }
  bool reaped(unsigned ms);  // it has ended, and is gone
  int end_status() const { return end_status_; }

  pid_t start_checkpoint(const Args& options, const std::string& context = "");
  Outcome finish_tool(pid_t pid, unsigned ms = 60000);
  Outcome checkpoint(const Args& options, const std::string& context = "");
  bool checkpoint_and_kill();

  // Runs cr_restart; when it runs on, that is, the program does, it is ended again after a
  // look at it: restarted() tells.
  Outcome restart(const std::filesystem::path& context, const Args& options = {});
  bool restarted() const { return restarted_; }
  // No process of the old pid.
  bool gone() const;

 private:
  User user_;
  crt::TempDir temp_;
  watch* watch_ = nullptr;
  pid_t pid_ = 0;
  bool alive_ = false;
  int end_status_ = 0;
  bool restarted_ = false;
};

// The seed of this run: CRTEST_SEED, or another one each time; printed.
unsigned seed(crt::Tap& tap);

// Where the programs lie.
std::filesystem::path program(const std::string& name);

std::vector<char> read_bytes(const std::filesystem::path& path);
void write_bytes(const std::filesystem::path& path, const std::vector<char>& bytes, const User& user);

}  // namespace hostile

#endif  // HOSTILE_H
