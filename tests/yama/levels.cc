// SPDX-License-Identifier: GPL-2.0-only
// Levels 0 to 3 of kernel.yama.ptrace_scope: who may checkpoint a process that has consented, one that has
// not, and one that has become another since; and that nobody may trace it by that. (A group of its own:
// level 3 stays until the next boot.)
#include <cryo/ioctl.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <system_error>

#include "tap.h"

namespace {

constexpr uid_t kUser = 1000;
constexpr uid_t kOther = 1001;
const std::string kLevel = "/proc/sys/kernel/yama/ptrace_scope";

int must(long result, const char* what) {
  if (result < 0) throw std::system_error(errno, std::generic_category(), what);
  return static_cast<int>(result);
}

void become(uid_t user) {
  must(::setgroups(0, nullptr), "setgroups");
  must(::setresgid(user, user, user), "setresgid");
  must(::setresuid(user, user, user), "setresuid");
  must(::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0), "PR_SET_DUMPABLE");
}

int device() {
  return must(::open("/dev/cryo", O_RDWR | O_CLOEXEC), "/dev/cryo");
}

int consent(uint32_t what) {
  cryo_consent args{sizeof(cryo_consent), what};
  return must(::ioctl(device(), CRYO_IOC_CONSENT, &args), "CRYO_IOC_CONSENT");
}

// ---- targets: this program once more; each says its pid when it is what it is to be ----

[[noreturn]] void wait_here(int out) {
  const pid_t pid = ::getpid();
  if (::write(out, &pid, sizeof(pid)) != sizeof(pid)) ::_exit(1);
  for (;;) ::pause();
}

[[noreturn]] void execute(const std::string& program, const char* mode) {
  ::execl(program.c_str(), "levels", "--target", mode, nullptr);
  ::_exit(127);
}

// Standard output is the pipe.
[[noreturn]] void be_target(const std::string& mode) {
  if (mode == "fork" && ::fork() != 0)
    for (;;) ::pause();
  if (mode == "fork-exec") {
    if (::fork() == 0) execute("/proc/self/exe", "fork");
    for (;;) ::pause();
  }
  if (mode == "other-rights") become(kUser);  // a set-user-id program that gives its rights up
  if (mode == "not-dumpable") ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  if (mode == "zombie" && ::fork() == 0) ::_exit(7);  // it is not waited for
  if (mode == "zombie") ::waitid(P_ALL, 0, nullptr, WEXITED | WNOWAIT);
  if (mode == "cr_init") {
    void* const library = ::dlopen("libcr.so.0", RTLD_NOW);
    const auto init = library == nullptr ? nullptr : reinterpret_cast<int (*)()>(::dlsym(library, "cr_init"));
    if (init == nullptr || init() < 0) ::_exit(1);
  }
  if (mode == "taken-back" && consent(CRYO_CONSENT_TAKE_BACK) != 1) ::_exit(1);
  wait_here(STDOUT_FILENO);
}

// A target in a session of its own, until the end of the block.
class Target {
 public:
  explicit Target(const std::function<void()>& start) {
    int pipe[2];
    must(::pipe2(pipe, O_CLOEXEC), "pipe2");
    first_ = must(::fork(), "fork");
    if (first_ == 0) {
      ::setsid();
      ::dup2(pipe[1], STDOUT_FILENO);
      try {
        start();
      } catch (const std::exception& e) {
        std::cerr << "# " << e.what() << std::endl;
      }
      ::_exit(1);
    }
    ::close(pipe[1]);
    if (::read(pipe[0], &pid_, sizeof(pid_)) != sizeof(pid_)) pid_ = -1;
    ::close(pipe[0]);
  }
  ~Target() {
    ::kill(-first_, SIGKILL);
    ::waitpid(first_, nullptr, 0);
  }
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;
  pid_t pid() const { return pid_; }

 private:
  pid_t first_;
  pid_t pid_ = -1;
};

// Of `sleep`, which a user or root restarts from a context of the user's: he has its pid again.
class Restarted {
 public:
  Restarted(const std::string& context, pid_t pid, uid_t by, bool consents) : pid_(pid) {
    tool_ = must(::fork(), "fork");
    if (tool_ == 0) {
      if (by != 0) become(by);
      if (!consents) ::setenv("CRYO_NO_CONSENT", "1", 1);
      be_quiet();
      // Root, who has not written it, says that he knows.
      ::execlp("cr_restart", "cr_restart", "--other-owner=warn",
               ("--run-on-success=touch " + said(context)).c_str(), context.c_str(), nullptr);
      ::_exit(127);
    }
    const auto is_over = [&] {
      return std::filesystem::exists(said(context)) || ::waitpid(tool_, nullptr, WNOHANG) != 0;
    };
    for (int i = 0; i < 3000 && !is_over(); ++i) ::usleep(10000);
    std::filesystem::remove(said(context));
  }
  ~Restarted() {
    if (sleeps(pid_)) ::kill(pid_, SIGKILL);
    ::waitpid(tool_, nullptr, 0);
  }
  Restarted(const Restarted&) = delete;
  Restarted& operator=(const Restarted&) = delete;

  bool works() const { return sleeps(pid_); }

  static bool sleeps(pid_t pid) {
    std::string name;
    std::ifstream("/proc/" + std::to_string(pid) + "/comm") >> name;
    return name == "sleep";
  }

  static void be_quiet() {
    ::setsid();
    const int null = must(::open("/dev/null", O_RDWR), "/dev/null");
    for (int fd = 0; fd < 3; ++fd) ::dup2(null, fd);
    ::close_range(3, ~0U, 0);
  }

 private:
  static std::string said(const std::string& context) { return context + ".over"; }

  pid_t pid_;
  pid_t tool_ = -1;
};

// ---- who asks: a brother of the target ----

int in_child(const std::function<int()>& work) {
  const pid_t pid = must(::fork(), "fork");
  if (pid == 0) {
    int code = 255;
    try {
      code = work();
    } catch (const std::exception& e) {
      std::cout << "# " << e.what() << std::endl;
    }
    ::_exit(code);
  }
  int status;
  must(::waitpid(pid, &status, 0), "waitpid");
  return WIFEXITED(status) ? WEXITSTATUS(status) : 254;
}

// A whole request, which looks at the target once more when it stands still.
int checkpoint(pid_t pid) {
  cryo_checkpoint args{};
  args.size = sizeof(args);
  args.target = pid;
  args.flags = CRYO_CKPT_DRY_RUN;
  args.out_fd = must(::open("/dev/null", O_WRONLY | O_CLOEXEC), "/dev/null");
  const int handle = ::ioctl(device(), CRYO_IOC_CHECKPOINT, &args);
  if (handle < 0 || ::ioctl(handle, CRYO_CKPT_RUN, 0) != 0) return errno;
  return 0;
}

int trace(pid_t pid) {
  return ::ptrace(PTRACE_SEIZE, pid, nullptr, nullptr) == 0 ? 0 : errno;
}

int as(uid_t user, const std::function<int()>& work) {
  return in_child([&] {
    if (user != 0) become(user);
    return work();
  });
}

class Test {
 public:
  explicit Test(std::string self)
      : self_(std::move(self)), suid_(std::filesystem::temp_directory_path() / "cryo-levels") {
    std::filesystem::copy_file(self_, suid_, std::filesystem::copy_options::overwrite_existing);
    must(::chmod(suid_.c_str(), 04755), "chmod");
  }
  ~Test() {
    std::filesystem::remove(suid_);
    std::filesystem::remove(silent_.context);
    std::filesystem::remove(willing_.context);
  }
  Test(const Test&) = delete;
  Test& operator=(const Test&) = delete;

  int run() {
    for (int level = 0; level < 4; ++level) {
      std::ofstream file(kLevel);
      if (!(file << level << std::flush)) throw std::runtime_error(kLevel);
      if (level == 0) silent_ = make_context(false), willing_ = make_context(true);
      at(level);
    }
    return tap_.finish();
  }

 private:
  // Where Yama has no say; where it takes consent; what root may.
  void at(int level) {
    const int any = level == 0 ? 0 : EPERM;
    const int consented = level < 2 ? 0 : EPERM;
    const int root = level < 3 ? 0 : EPERM;
    level_ = level;
    look(
        "a process that has said nothing", [this] { started("wait"); }, any, root);
    look(
        "started by cr_run", [this] { by_cr_run({}, self_, "wait"); }, consented, root, true);
    look(
        "its child", [this] { by_cr_run({}, self_, "fork"); }, consented, root);
    look(
        "a program that its child runs, and its child", [this] { by_cr_run({}, self_, "fork-exec"); },
        consented, root);
    look(
        "with a child that has exited", [this] { by_cr_run({}, self_, "zombie"); }, consented, root);
    look(
        "cr_run --no-consent", [this] { by_cr_run("--no-consent", self_, "wait"); }, any, root);
    look(
        "by cr_run, which takes it back", [this] { by_cr_run({}, self_, "taken-back"); }, any, root);
    look(
        "by cr_run, a set-user-id program", [this] { by_cr_run({}, suid_, "other-rights"); }, any, root);
    look(
        "by cr_run, not dumpable", [this] { by_cr_run({}, self_, "not-dumpable"); }, EPERM, root);
    look(
        "that has called cr_init()", [this] { started("cr_init"); }, consented, root, true);
    look(
        "that has called cr_init() with CRYO_NO_CONSENT",
        [this] {
          ::setenv("CRYO_NO_CONSENT", "1", 1);
          started("cr_init");
        },
        any, root);
    look(
        "consented as root, the user's since then",
        [] {
          consent(CRYO_CONSENT_GIVE);
          become(kUser);
          wait_here(STDOUT_FILENO);
        },
        any, root);
    strangers();
    if (level == 1) without_consents();
    restarted(silent_, kUser, true, "restarted by cr_restart", consented, root);
    restarted(silent_, kUser, false, "restarted by cr_restart with CRYO_NO_CONSENT", any, root);
    restarted(silent_, 0, true, "restarted by root's cr_restart", any, root);
    restarted(willing_, 0, true, "by cr_run, restarted by root's cr_restart", consented, root);
    restarted(willing_, 0, false, "by cr_run, restarted by root's cr_restart with CRYO_NO_CONSENT", any,
              root);
  }

  struct Sleeper {
    std::string context;
    pid_t pid = -1;
  };

  Sleeper make_context(bool consents) {
    const std::string context =
        "/var/tmp/cryo-levels." + std::to_string(::getpid()) + (consents ? ".willing" : "");
    const pid_t pid = must(::fork(), "fork");
    if (pid == 0) {
      become(kUser);
      Restarted::be_quiet();
      if (consents) ::execlp("cr_run", "cr_run", "sleep", "100000", nullptr);
      ::execlp("sleep", "sleep", "100000", nullptr);
      ::_exit(127);
    }
    for (int i = 0; i < 3000 && !Restarted::sleeps(pid); ++i) ::usleep(10000);
    const int status = as(kUser, [&] {
      ::execlp("cr_checkpoint", "cr_checkpoint", "--kill", "-f", context.c_str(), std::to_string(pid).c_str(),
               nullptr);
      return 127;
    });
    tap_.ok(status == 0, "a context");
    ::waitpid(pid, nullptr, 0);
    return {context, pid};
  }

  // Its user and root ask, and whoever has restarted it is no ancestor of theirs.
  void restarted(const Sleeper& sleeper, uid_t by, bool consents, const std::string& what, int user,
                 int root) {
    const Restarted job(sleeper.context, sleeper.pid, by, consents);
    if (!tap_.ok(job.works(), "level " + std::to_string(level_) + ": " + what)) return;
    expect(as(kUser, [&] { return checkpoint(sleeper.pid); }), user, what + ": its user");
    expect(as(0, [&] { return checkpoint(sleeper.pid); }), root, what + ": root");
  }

  void started(const char* mode) {
    become(kUser);
    execute(self_, mode);
  }

  static void by_cr_run(const std::string& option, const std::string& program, const char* mode) {
    become(kUser);
    if (option.empty())
      ::execlp("cr_run", "cr_run", program.c_str(), "--target", mode, nullptr);
    else
      ::execlp("cr_run", "cr_run", option.c_str(), program.c_str(), "--target", mode, nullptr);
  }

  void look(const std::string& what, const std::function<void()>& start, int user, int root,
            bool traced = false) {
    const Target target(start);
    if (target.pid() < 0) {
      tap_.ok(false, what + " does not start");
      return;
    }
    expect(as(kUser, [&] { return checkpoint(target.pid()); }), user, what + ": its user");
    expect(as(0, [&] { return checkpoint(target.pid()); }), root, what + ": root");
    if (traced)
      expect(as(kUser, [&] { return trace(target.pid()); }), level_ == 0 ? 0 : EPERM,
             what + ": its user, by ptrace(2)");
  }

  void strangers() {
    const Target target([this] { by_cr_run({}, self_, "wait"); });
    expect(as(kOther, [&] { return checkpoint(target.pid()); }), EPERM, "started by cr_run: another user");
    expect(as(kUser,
              [&] {
                must(::unshare(CLONE_NEWUSER), "unshare");
                return checkpoint(target.pid());
              }),
           EPERM, "started by cr_run: its user, in a user namespace of his own");
  }

  // As long as the administrator does not want consents to count; those that have been given are there
  // afterwards.
  void without_consents() {
    const Target target([this] { by_cr_run({}, self_, "wait"); });
    const auto by = [&](uid_t user) { return as(user, [&] { return checkpoint(target.pid()); }); };
    const int log = must(::open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC), "/dev/kmsg");
    // The kernel tells of ten at most in five seconds.
    ::sleep(6);
    must(::lseek(log, 0, SEEK_END), "/dev/kmsg");
    expect(by(kUser), 0, "consent=1: its user");
    tap_.ok(!says_attach(log), "... and the kernel's log has no attempt to trace it");
    set_parameter("0");
    expect(by(kUser), EPERM, "consent=0: its user");
    tap_.ok(says_attach(log), "... which the kernel's log has");
    ::close(log);
    expect(by(0), 0, "consent=0: root");
    look(
        "cr_run with consent=0", [this] { by_cr_run({}, self_, "wait"); }, EPERM, 0);
    set_parameter("1");
    expect(by(kUser), 0, "consent=1 again: its user");
  }

  // One record is read at a time.
  static bool says_attach(int log) {
    char record[8192];
    for (;;) {
      const ssize_t size = ::read(log, record, sizeof(record));
      if (size < 0 && errno == EPIPE) continue;
      if (size <= 0) return false;
      if (std::string(record, static_cast<std::size_t>(size)).find("ptrace attach of") != std::string::npos)
        return true;
    }
  }

  static void set_parameter(const char* value) {
    const std::string path = "/sys/module/cryo/parameters/consent";
    std::ofstream file(path);
    if (!(file << value << std::flush)) throw std::runtime_error(path);
  }

  void expect(int got, int wanted, const std::string& what) {
    if (!tap_.ok(got == wanted, "level " + std::to_string(level_) + ": " + what))
      tap_.diag("it is " + std::to_string(got) + ", " + std::strerror(got));
  }

  crt::Tap tap_;
  std::string self_;
  std::string suid_;
  Sleeper silent_, willing_;
  int level_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc == 3 && std::string(argv[1]) == "--target") be_target(argv[2]);
    if (::access(kLevel.c_str(), W_OK) != 0) {
      std::cout << "1..0 # SKIP there is no Yama" << std::endl;
      return 0;
    }
    return Test(std::filesystem::read_symlink("/proc/self/exe")).run();
  } catch (const std::exception& e) {
    std::cout << "Bail out! " << e.what() << std::endl;
    return 1;
  }
}
