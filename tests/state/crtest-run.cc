// SPDX-License-Identifier: GPL-2.0-only
// crtest-run - takes a test program (see crtest.h) through checkpoint and restart
//
//   crtest-run PROGRAM [CASE]
//
// Modes (CRTEST_MODES, comma-separated; default: what suits the test):
//   plain       no checkpoint at all: the program has to pass undisturbed
//   continue    three checkpoints in place (continue=N: N of them)
//   restart     checkpoint and kill, restart
//   twice       the same, and then once more from the same context
//   restarts=N  the same, N times
//   lives=N     checkpoint and kill at a random moment, restart, and so on N times; only the last one looks
//   surroundings=SEED  checkpoint and kill, a change of one of the files (surroundings.h), restart: all is as
//   it was, or the
//               restart is refused, as --check said, has touched nothing, and works once the change is undone
//   refuse      the checkpoint has to be refused, with everything crt_expect() named
//
// Other environment: CRTEST_USER (default "cryo"), CR_CHECKPOINT and CR_RESTART (the tools),
// CRTEST_TAMPER (a command that gets the context's path between kill and restart; used to see
// tests fail), CRTEST_SNAPSHOT=1 (contexts are written while the program runs on), CRTEST_PARENT=1 (they have
// what has changed since another one; =account: as the kernel tells it), CRTEST_KEEP=1 (leave the run's
// directory), CRTEST_TMP (default /var/tmp).
//
// Output is TAP. cr_restart runs in surroundings that differ from those of the program in
// everything it could inherit: directory, umask, limits, masks, priority, environment.

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "crtest.h"
#include "process.h"
#include "surroundings.h"
#include "tap.h"

namespace fs = std::filesystem;
using namespace crt;

namespace {

constexpr int kExitRefused = 52;  // CR_ENOSUPPORT
constexpr int kExitPtraced = 56;  // CR_EPTRACED
constexpr int kExitPtracer = 57;  // CR_EPTRACER

// ---- what the program says of itself -----------------------------------------------

struct Description {
  std::map<std::string, std::string> values;

  std::string text(const char* name) const {
    auto it = values.find(name);
    return it == values.end() ? "" : it->second;
  }
  unsigned number(const char* name) const {
    return static_cast<unsigned>(std::strtoul(text(name).c_str(), nullptr, 10));
  }
  bool flag(unsigned bit) const { return number("flags") & bit; }
};

Description describe(const std::string& program) {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC)) throw std::runtime_error("pipe: " + std::string(strerror(errno)));
  pid_t pid = fork();
  if (pid == 0) {
    dup2(fds[1], STDOUT_FILENO);
    execl(program.c_str(), program.c_str(), "--describe", nullptr);
    _exit(127);
  }
  close(fds[1]);
  std::string text;
  char buf[512];
  for (ssize_t n; (n = read(fds[0], buf, sizeof(buf))) > 0;) text.append(buf, static_cast<size_t>(n));
  close(fds[0]);
  int status = 0;
  waitpid(pid, &status, 0);
  if (status) throw std::runtime_error(program + " --describe failed");
  Description d;
  for (const auto& line : split(text, '\n'))
    if (auto eq = line.find('='); eq != std::string::npos) d.values[line.substr(0, eq)] = line.substr(eq + 1);
  return d;
}

// Any of its threads: the first one may have ended.
bool runs_program(pid_t pid, const fs::path& program) {
  std::error_code error;
  for (fs::directory_iterator at("/proc/" + std::to_string(pid) + "/task", error), end; !error && at != end;
       at.increment(error)) {
    std::error_code gone;
    const std::string exe = fs::read_symlink(at->path() / "exe", gone);
    if (exe == program || exe.rfind(program.string() + ".moved", 0) == 0) return true;
  }
  return false;
}

// ---- one run -----------------------------------------------------------------------

class Run {
 public:
  Run(Tap& tap, std::string program, std::string test_case, Description desc, std::string mode)
      : tap_(tap),
        program_(std::move(program)),
        case_(std::move(test_case)),
        desc_(std::move(desc)),
        mode_(std::move(mode)),
        user_(find_user(desc_.flag(CRT_ROOT))),
        temp_("crtest", user_),
        dir_(temp_.path()) {
    name_ = fs::path(program_).filename().string() + (case_.empty() ? "" : " " + case_);
    if (surroundings_seed() && fs::copy_file(program_, dir_ / "program")) program_ = dir_ / "program";
    limit_ms_ = 1000 * (desc_.number("timeout_s") ? desc_.number("timeout_s") : 60) *
                static_cast<unsigned>(std::stoul(env_or("CRTEST_FACTOR", "1")));
  }
  ~Run() {
    if (pipe_ >= 0) close(pipe_);
    for (pid_t pid : {pid_, helper_})
      if (pid > 0) {
        kill(-pid, SIGKILL);
        kill(pid, SIGKILL);
        while (waitpid(pid, nullptr, 0) > 0) {
        }
      }
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  // What verify() finds wrong of the change alone, without any checkpoint. Empty: nothing, or @changed is
  // another one.
  std::set<std::string> undisturbed_faults(std::string* changed) {
    if (!start_program()) return {};
    elsewhere_ = Elsewhere::of(program_, dir_);
    surround();
    try {
      if (!around_->change()) return {};
    } catch (const std::runtime_error&) {
      return {};  // of a port, which the program has
    }
    *changed = around_->what();
    open_go();
    if (desc_.flag(CRT_STOPPED)) kill(pid_, SIGCONT);
    type_lines();
    if (wait_for(pid_, limit_ms_) != -1) pid_ = 0;
    return faults();
  }

  void go() {
    if (!start_program()) return;
    if (mode_ == "plain") {
      finish(pid_, "undisturbed");
    } else if (mode_ == "refuse") {
      refuse();
    } else if (unsigned times = repetitions("continue", 3)) {
      for (unsigned i = 1; i <= times; i++)
        if (!checkpoint(false, "checkpoint " + std::to_string(i))) return;
      finish(pid_, "after " + std::to_string(times) + " checkpoints");
    } else if (unsigned lives = repetitions("lives", 0)) {
      live(lives);
    } else if (surroundings_seed()) {
      change_surroundings();
    } else {
      times = mode_ == "restart" ? 1 : mode_ == "twice" ? 2 : repetitions("restarts", 1);
      if (!times) throw std::runtime_error("unknown mode " + mode_);
      if (!checkpoint(true, "checkpoint")) return;
      for (unsigned i = 1; i <= times; i++)
        if (!restart(i, times)) return;
    }
  }

 private:
  // 0: of another mode.
  unsigned surroundings_seed() const { return repetitions("surroundings", 0); }

  void surround() {
    around_ = std::make_unique<Surroundings>(dir_,
                                             split("out err ready go skip expect ctx ctx-parent ctx-unused "
                                                   "ck.out ck.err rs.out rs.err cc.out cc.err",
                                                   ' '),
                                             user_, surroundings_seed(), elsewhere_);
  }

  // Names of what went wrong in the program's own eyes.
  std::set<std::string> faults() const {
    std::set<std::string> all;
    bool complete = false;
    for (const auto& line : split(read_file(dir_ / "out"), '\n')) {
      complete = complete || line.rfind("1..", 0) == 0;
      if (auto dash = line.find(" - "); line.rfind("not ok ", 0) == 0)
        all.insert(dash == std::string::npos ? line : line.substr(dash + 3));
    }
    if (!complete) all.insert("did not get to the end of verify()");
    return all;
  }

  std::vector<std::string> restart_command(const std::vector<std::string>& options) const {
    std::vector<std::string> args{env_or("CR_RESTART", "cr_restart")};
    args.insert(args.end(), options.begin(), options.end());
    for (const auto& a : split(desc_.text("restart_args"), ' ')) args.push_back(a);
    args.push_back(context().string());
    return args;
  }

  // The wait status of cr_restart --check.
  int check_restart() {
    helper_starts_ = true;
    helper_ = launch(restart_command({"--check"}), "cc.out", "cc.err", desc_.flag(CRT_PTY), true);
    helper_starts_ = false;
    const int status = wait_for(helper_, limit_ms_);
    if (status != -1) helper_ = 0;
    return status;
  }

  bool same(const Surroundings::State& before, const Surroundings::State& after, const std::string& text) {
    const auto changed = Surroundings::differences(before, after);
    const bool good = tap_.ok(changed.empty(), label(text));
    for (const auto& line : changed) tap_.diag(line);
    return good;
  }

  void change_surroundings() {
    elsewhere_ = Elsewhere::of(program_, dir_);
    if (!checkpoint(true, "checkpoint")) return;
    surround();
    if (!around_->change()) return tap_.skip(label(mode_), "has no files");
    const std::string what = mode_ + ", " + around_->what();
    const auto state = around_->state(), strangers = around_->strangers();
    const int check = check_restart();
    same(state, around_->state(), what + ": --check has touched nothing");
    fs::remove(dir_ / "go");
    fs::resize_file(dir_ / "out", out_size_);
    pid_ = launch(restart_command({}), "rs.out", "rs.err", desc_.flag(CRT_PTY), true);
    int status = -1;
    until(limit_ms_, [&] { return (status = wait_for(pid_, 0)) != -1 || runs_program(old_pid_, program_); });
    if (status == -1) return restarted_anyway(what, check, strangers);
    pid_ = 0;
    const bool refused = WIFEXITED(status) && WEXITSTATUS(status) != 0;
    bool good = tap_.ok(refused, label(what + ": cr_restart " + say_status(status)));
    good &= tap_.ok(!exited_with(check, 0), label(what + ": refused, as --check has said"));
    good &= same(state, around_->state(), what + ": nothing is touched");
    good &= tap_.ok(read_file(dir_ / "rs.err").find(around_->name()) != std::string::npos,
                    label(what + ": by name"));
    tap_.diag(show("rs.err"));
    if (!good) tap_.diag(show("cc.err"));
    around_->undo();
    restart(1, 1);
  }

  void restarted_anyway(const std::string& what, int check, const Surroundings::State& strangers) {
    bool good = tap_.ok(exited_with(check, 0), label(what + ": restarted, as --check has said"));
    pause_for(200);
    good &= same(strangers, around_->strangers(), what + ": what is of others is as it was");
    if (desc_.flag(CRT_STOPPED)) until(3000, [&] { return process_state(old_pid_) == 'T'; });
    open_go();
    if (desc_.flag(CRT_STOPPED)) kill(old_pid_, SIGCONT);
    type_lines();
    if (wait_for(pid_, limit_ms_) != -1) pid_ = 0;
    const auto found = faults();
    std::string changed;
    Run undisturbed(tap_, original_, case_, desc_, mode_);
    const auto known = found.empty() ? found : undisturbed.undisturbed_faults(&changed);
    for (const auto& fault : found)
      good &= tap_.ok(told() || is_of_copy(fault) || known.contains(fault),
                      label(what + ": " + fault + " (told, or the same without a restart)"));
    if (found.empty()) tap_.ok(true, label(what + ": all is as it was"));
    if (!good)
      for (auto file : {"cc.err", "rs.err", "err"}) tap_.diag(show(file));
    around_->undo();
  }

  // Of a copy of a file all is as it was, but for which one it is.
  bool is_of_copy(const std::string& fault) const {
    return around_->what().ends_with(": replaced by a copy") && fault.find("inode") != std::string::npos;
  }

  // Has --check said of this very file that another one, or what has become of it, is taken instead?
  bool told() const {
    const auto lines = split(read_file(dir_ / "cc.err"), '\n');
    return std::any_of(lines.begin(), lines.end(), [&](const std::string& line) {
      const bool says = line.find("than at the checkpoint") != std::string::npos ||
                        line.find("changed since the checkpoint") != std::string::npos ||
                        line.find("its name now refers to a different ") != std::string::npos;
      return says && line.find("/" + around_->name()) != std::string::npos;
    });
  }

  void live(unsigned lives) {
    std::uniform_int_distribution<unsigned> ms(0, 40);
    const std::string all = "after " + std::to_string(lives) + " restarts";
    for (unsigned i = 1; i <= lives; i++) {
      const std::string what = "life " + std::to_string(i);
      pause_for(ms(random_));
      if (!checkpoint(true, what) || !revive(what)) return;
    }
    pause_for(200);
    finish(old_pid_, all);
  }

  // N of the mode "NAME=N"; @plain of "NAME" alone; 0 of another mode.
  unsigned repetitions(const std::string& name, unsigned plain) const {
    if (mode_ == name) return plain;
    if (mode_.rfind(name + "=", 0)) return 0;
    return static_cast<unsigned>(std::stoul(mode_.substr(name.size() + 1)));
  }

  std::string label(const std::string& text) const { return name_ + ": " + text; }

  std::string show(const char* file) { return std::string(file) + ":\n" + read_file(dir_ / file); }

  bool fail(const std::string& text, std::initializer_list<const char*> files = {}) {
    tap_.ok(false, label(text));
    for (auto file : files) tap_.diag(show(file));
    return false;
  }

  int open_log(const char* name, int flags = O_TRUNC) {
    int fd = open((dir_ / name).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0644);
    (void)!fchown(fd, user_.uid, user_.gid);
    return fd;
  }

  // Runs as the test's user, with stdin from the terminal or /dev/null.
  pid_t launch(std::vector<std::string> args, const char* out, const char* err, bool with_pty, bool strange) {
    Spawn spawn;
    spawn.args = std::move(args);
    spawn.dir = strange ? fs::path("/") : dir_;
    spawn.strange = strange;
    spawn.env = {"PATH=" + env_or("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"),
                 "CRTEST_DIR=" + dir_.string(), strange ? "STRANGE=1" : "LANG=C"};
    if (const char* preload = std::getenv("LD_LIBRARY_PATH"))
      spawn.env.push_back(std::string("LD_LIBRARY_PATH=") + preload);
    if (with_pty) {
      pty_ = std::make_unique<Pty>();
      pty_->give_to(user_);
      spawn.session = true;
    }
    spawn.in = with_pty ? pty_->slave() : open_stdin();
    spawn.out = open_log(out);
    spawn.err = open_log(err);
    pid_t pid = start(spawn, user_);
    if (!with_pty) close(spawn.in);
    close(spawn.out);
    close(spawn.err);
    return pid;
  }

  // A test of pipes gets one for its program, and another for cr_restart.
  int open_stdin() {
    if (!desc_.flag(CRT_PIPE) || helper_starts_) return open("/dev/null", O_RDONLY | O_CLOEXEC);
    int fds[2];
    if (pipe2(fds, O_CLOEXEC)) throw std::runtime_error("pipe: " + std::string(strerror(errno)));
    if (pipe_ >= 0) close(pipe_);
    pipe_ = fds[1];
    return fds[0];
  }

  void type_lines() {
    static const std::string lines = "first line\nsecond line\n";
    if (!desc_.flag(CRT_PTY | CRT_PIPE)) return;
    pause_for(300);  // the reader has seen the word by then
    if (desc_.flag(CRT_PTY))
      pty_->type(lines);
    else
      (void)!write(pipe_, lines.data(), lines.size());
  }

  bool start_program() {
    std::vector<std::string> args{program_};
    if (!case_.empty()) args.push_back(case_);
    pid_ = launch(args, "out", "err", desc_.flag(CRT_PTY), false);
    int status = -1;
    bool up = until(limit_ms_, [&] {
      status = wait_for(pid_, 0);
      return status != -1 || fs::exists(dir_ / "ready");
    });
    if (status != -1) {
      pid_ = 0;
      if (exited_with(status, 77) && fs::exists(dir_ / "skip")) {
        tap_.skip(label(mode_), read_file(dir_ / "skip"));
        return false;
      }
      return fail("set-up: " + say_status(status), {"out", "err"});
    }
    if (!up) return fail("set-up took too long", {"out", "err"});
    if (desc_.flag(CRT_STOPPED) && !until(5000, [&] { return process_state(pid_) == 'T'; }))
      return fail("did not stop itself");
    pause_for(desc_.number("settle_ms") ? desc_.number("settle_ms") : 100);
    return true;
  }

  // With CRTEST_SNAPSHOT it runs on behind the context; another checkpoint, for which there is no use, ends
  // it.
  int run_checkpoint(bool kill) {
    if (!kill || desc_.flag(CRT_RUNS_ON)) return run_checkpoint({}, context());
    if (!env_or("CRTEST_PARENT", "").empty()) return run_increment();
    if (env_or("CRTEST_SNAPSHOT", "").empty()) return run_checkpoint({"--kill"}, context());
    const int status = run_checkpoint({"--snapshot"}, context());
    return exited_with(status, 0) ? run_checkpoint({"--kill"}, dir_ / "ctx-unused") : status;
  }

  // By the kernel's account of what was written since the parent, which one that ends it would not look at.
  int run_accounted() {
    const std::vector<std::string> parent{"--parent", (dir_ / "ctx-parent").string()};
    int status = run_checkpoint({"--no-snapshot", "--track"}, parent.back());
    if (exited_with(status, 0)) status = run_checkpoint({"--no-snapshot", parent[0], parent[1]}, context());
    return exited_with(status, 0) ? run_checkpoint({"--kill"}, dir_ / "ctx-unused") : status;
  }

  int run_increment() {
    if (env_or("CRTEST_PARENT", "") == "account") return run_accounted();
    const fs::path parent = dir_ / "ctx-parent";
    const int status = run_checkpoint({}, parent);
    return exited_with(status, 0) ? run_checkpoint({"--kill", "--parent", parent.string()}, context())
                                  : status;
  }

  int run_checkpoint(const std::vector<std::string>& options, const fs::path& file) {
    std::vector<std::string> args{env_or("CR_CHECKPOINT", "cr_checkpoint")};
    for (const auto& a : split(desc_.text("checkpoint_args"), ' ')) args.push_back(a);
    args.insert(args.end(), options.begin(), options.end());
    args.insert(args.end(), {"-f", file.string(), std::to_string(old_pid_ ? old_pid_ : pid_)});
    helper_starts_ = true;
    helper_ = launch(args, "ck.out", "ck.err", false, false);
    helper_starts_ = false;
    int status = wait_for(helper_, limit_ms_);
    if (status != -1) helper_ = 0;
    return status;
  }

  fs::path context() const { return dir_ / "ctx"; }

  bool checkpoint(bool kill, const std::string& what) {
    int status = run_checkpoint(kill);
    if (!exited_with(status, 0))
      return fail(what + ": cr_checkpoint: " + say_status(status), {"ck.out", "ck.err"});
    if (!fs::exists(context())) return fail(what + ": no context file", {"ck.out", "ck.err"});
    unsigned long kib = fs::file_size(context()) / 1024;
    unsigned long max = desc_.number("max_context_kib");
    if (max && !tap_.ok(kib <= max, label(what + ": context of " + std::to_string(kib) +
                                          " KiB is not larger than " + std::to_string(max))))
      return false;
    if (!kill) {
      if (desc_.flag(CRT_STOPPED) && process_state(pid_) != 'T') return fail(what + ": no longer stopped");
      pause_for(repetitions("continue", 3) > 3 ? 10 : 100);
      return true;
    }
    return check_killed(what);
  }

  bool check_killed(const std::string& what) {
    if (!old_pid_) old_pid_ = pid_;
    if (desc_.flag(CRT_RUNS_ON) && kill(-old_pid_, SIGKILL) != 0) kill(old_pid_, SIGKILL);
    int status = wait_for(pid_, 5000);  // cr_restart ends as its process does
    if (status == -1 || !WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
      return fail(what + ": --kill: the process " + say_status(status), {"ck.out", "ck.err"});
    pid_ = 0;
    // Its children, whose ids are wanted again.
    if (desc_.flag(CRT_RUNS_ON) && !until(5000, [&] { return kill(-old_pid_, 0) != 0; }))
      return fail(what + ": not all of its group are gone");
    out_size_ = fs::file_size(dir_ / "out");
    pause_for(desc_.number("dead_ms"));
    return tamper(what);
  }

  bool tamper(const std::string& what) {
    std::string command = env_or("CRTEST_TAMPER", "");
    if (command.empty()) return true;
    std::string line = command + " '" + context().string() + "'";
    if (int rc = std::system(line.c_str()))
      return fail(what + ": CRTEST_TAMPER returned " + std::to_string(rc));
    return true;
  }

  bool restart(unsigned round, unsigned rounds) {
    std::string what = rounds == 1 ? "restart" : "restart " + std::to_string(round);
    if (!revive(what)) return false;
    pause_for(rounds > 2 ? 20 : 200);
    return finish(old_pid_, what);
  }

  // From the context, until the process is there.
  bool revive(const std::string& what) {
    fs::remove(dir_ / "go");
    fs::resize_file(dir_ / "out", out_size_);  // as the checkpoint left it
    pid_ = launch(restart_command({}), "rs.out", "rs.err", desc_.flag(CRT_PTY), true);
    int status = -1;
    bool up = until(limit_ms_, [&] {
      status = wait_for(pid_, 0);
      return status != -1 || runs_program(old_pid_, program_);
    });
    if (status != -1) {
      pid_ = 0;
      return fail(what + ": cr_restart: " + say_status(status), {"rs.out", "rs.err", "err", "out"});
    }
    if (!up)
      return fail(what + ": no process " + std::to_string(old_pid_) + " appeared", {"rs.out", "rs.err"});
    return true;
  }

  // Gives the word, waits for the end, and passes on what the program found.
  bool finish(pid_t who, const std::string& what) {
    if (desc_.flag(CRT_STOPPED) && mode_ != "plain") {
      if (!until(3000, [&] { return process_state(who) == 'T'; }))
        return fail(what + ": not stopped", {"rs.err"});
    }
    open_go();
    if (desc_.flag(CRT_STOPPED)) kill(who, SIGCONT);
    type_lines();
    int status = wait_for(pid_, limit_ms_);
    if (status != -1) pid_ = 0;
    bool found = report(what);
    bool clean = exited_with(status, 0);
    if (!clean) fail(what + ": " + say_status(status), {"err", "rs.err"});
    return found && clean;
  }

  void open_go() {
    int fd = open((dir_ / "go").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    close(fd);
  }

  bool report(const std::string& what) {
    bool complete = false, good = true;
    std::istringstream lines(read_file(dir_ / "out"));
    for (std::string line; std::getline(lines, line);) {
      bool bad = line.rfind("not ok ", 0) == 0;
      if (bad || line.rfind("ok ", 0) == 0) {
        auto dash = line.find(" - ");
        tap_.ok(!bad, label(what + ": " + (dash == std::string::npos ? line : line.substr(dash + 3))));
        good = good && !bad;
      } else if (line.rfind("1..", 0) == 0) {
        complete = true;
      } else if (line.rfind("# ", 0) == 0 && line.substr(2) != desc_.text("text")) {
        std::cout << line << std::endl;
      }
    }
    if (!complete) fail(what + ": did not get to the end of verify()", {"out", "err"});
    return complete && good;
  }

  // Literally; "fd 3" is not in "fd 31".
  static bool has_word(const std::string& line, const std::string& word) {
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    for (auto at = line.find(word); at != std::string::npos; at = line.find(word, at + 1)) {
      const auto end = at + word.size();
      if (!is_digit(word.back()) || end == line.size() || !is_digit(line[end])) return true;
    }
    return false;
  }

  // A process is named by its pid and its command: "pid 7" is looked for as "pid 7 (COMMAND)".
  static std::string with_command(const std::string& word) {
    if (word.rfind("pid ", 0) != 0 || word.find_first_not_of("0123456789", 4) != std::string::npos)
      return word;
    std::string comm = read_file("/proc/" + word.substr(4) + "/comm");
    return word + " (" + comm.substr(0, comm.find('\n')) + ")";
  }

  static bool line_with_all(const std::string& text, const std::vector<std::string>& words) {
    for (const auto& line : split(text, '\n'))
      if (std::all_of(words.begin(), words.end(),
                      [&](const auto& word) { return has_word(line, with_command(word)); }))
        return true;
    return false;
  }

  void refuse() {
    int status = run_checkpoint(false);
    const std::string expected = read_file(dir_ / "expect");
    // Where a debugger is at work, that is what the status says.
    const int wanted = expected.find("is being traced") != std::string::npos ? kExitPtraced
                       : expected.find("traces other") != std::string::npos  ? kExitPtracer
                                                                             : kExitRefused;
    tap_.ok(exited_with(status, wanted),
            label("cr_checkpoint: " + say_status(status) + ", expected " + std::to_string(wanted)));
    std::string said = read_file(dir_ / "ck.err") + read_file(dir_ / "ck.out");
    bool all = true;
    for (const auto& expect : split(read_file(dir_ / "expect"), '\n'))
      all &= tap_.ok(line_with_all(said, split(expect, '|')), label("is told of " + expect));
    if (!all) tap_.diag(said);
    tap_.ok(!fs::exists(context()), label("no context file is left"));
    finish(pid_, "runs on");
  }

  Tap& tap_;
  std::string program_, original_ = program_, case_;
  Description desc_;
  std::string mode_;
  User user_;
  TempDir temp_;
  fs::path dir_;
  std::string name_;
  unsigned limit_ms_ = 0;
  std::unique_ptr<Pty> pty_;
  Elsewhere elsewhere_;  // before the checkpoint
  std::unique_ptr<Surroundings> around_;
  int pipe_ = -1;               // the writing end of stdin
  bool helper_starts_ = false;  // the next to start is cr_checkpoint
  pid_t pid_ = 0;               // our child: the program, later cr_restart
  pid_t helper_ = 0;            // a cr_checkpoint that has not ended
  pid_t old_pid_ = 0;           // the program's pid before and after the restart
  std::uintmax_t out_size_ = 0;
  std::mt19937 random_{std::random_device{}()};
};

std::string default_modes(const Description& desc) {
  if (desc.flag(CRT_REFUSE)) return "refuse";
  if (desc.flag(CRT_NO_RESTART)) return "continue";
  const bool once = desc.flag(CRT_ONCE) || !env_or("CRTEST_BRIEF", "").empty();
  return once ? "continue,restart" : "continue,twice";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::cerr << "usage: crtest-run PROGRAM [CASE]\n";
    return 2;
  }
  signal(SIGPIPE, SIG_IGN);
  Tap tap;
  try {
    std::string program = fs::canonical(argv[1]);
    Description desc = describe(program);
    tap.diag(desc.text("text"));
    if (desc.flag(CRT_ROOT) && geteuid() != 0) {
      tap.skip(program, "needs root");
      return tap.finish();
    }
    std::vector<std::string> cases{argc > 2 ? argv[2] : ""};
    if (argc == 2)
      for (const auto& one : split(desc.text("cases"), ' ')) cases.push_back(one);
    for (const auto& one : cases)
      for (const auto& mode : split(env_or("CRTEST_MODES", default_modes(desc)), ',')) {
        Run run(tap, program, one, desc, mode);
        run.go();
      }
  } catch (const std::exception& error) {
    tap.ok(false, error.what());
  }
  return tap.finish();
}
