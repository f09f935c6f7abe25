// SPDX-License-Identifier: GPL-2.0-only
// process.h - starting and watching the processes of a test
#ifndef CRT_PROCESS_H
#define CRT_PROCESS_H

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "tap.h"

namespace crt {

std::string env_or(const char* name, const std::string& fallback);
std::string read_file(const std::filesystem::path& path);
void pause_for(unsigned ms);

struct User {
  std::string name = "root";
  uid_t uid = 0;
  gid_t gid = 0;
};

// Root when @root or when this process is not root (then: itself), else CRTEST_USER.
User find_user(bool root);

struct Spawn {
  std::vector<std::string> args;
  std::filesystem::path dir;
  int in = -1, out = -1, err = -1;
  bool session = false;  // a session of its own, @in its controlling terminal
  bool strange = false;  // with inherited state unlike that of any test program
  std::vector<std::string> env;
};

pid_t start(const Spawn& spawn, const User& user);

// Runs @args as @user, all output into @output (replaced); returns the pid.
pid_t start_logged(const std::vector<std::string>& args, const User& user,
                   const std::filesystem::path& output);

// The wait status, or -1 when it did not end in time (it runs on).
int wait_for(pid_t pid, unsigned ms);
std::string say_status(int status);
bool exited_with(int status, int code);

char process_state(pid_t pid);  // as in /proc/PID/stat; '-' if there is none
bool until(unsigned ms, const std::function<bool()>& cond);

// A pseudo-terminal; the process that gets slave() with Spawn::session is on it.
class Pty {
 public:
  Pty();
  ~Pty();
  Pty(const Pty&) = delete;
  Pty& operator=(const Pty&) = delete;
  int slave() const { return slave_; }
  void give_to(const User& user);
  void type(const std::string& text);

 private:
  int master_;
  int slave_ = -1;
};

// A directory that goes away with all it holds, unless CRTEST_KEEP is set.
class TempDir {
 public:
  TempDir(const std::string& prefix, const User& owner);
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace crt

#endif  // CRT_PROCESS_H
