// SPDX-License-Identifier: GPL-2.0-only
// What ordinary users may do by the module's exceptions, with each parameter on and off, and whatever it says
// with the capability; and what they may do to nobody else's objects. (CRYO_RST_PORT: see ports.cc.)
#include <arpa/inet.h>
#include <cryo/ioctl.h>
#include <elf.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <functional>
#include <string>
#include <system_error>

#include "tap.h"

namespace {

constexpr uid_t kUser = 1000;

int must(long result, const char* what) {
  if (result < 0) throw std::system_error(errno, std::generic_category(), what);
  return static_cast<int>(result);
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  if (!(file << text << std::flush)) throw std::runtime_error(path);
}

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  std::string text;
  std::getline(file, text);
  return text;
}

// A parameter of the module, or another setting, until the end of the block.
class Setting {
 public:
  Setting(std::string path, const std::string& value) : path_(std::move(path)), old_(read_file(path_)) {
    write_file(path_, value);
  }
  ~Setting() { write_file(path_, old_); }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;

 private:
  std::string path_;
  std::string old_;
};

std::string parameter(const std::string& name) {
  return "/sys/module/cryo/parameters/" + name;
}

// 0, or an errno value: what `work` returns in a process of its own.
int in_child(const std::function<int()>& work) {
  const pid_t pid = must(::fork(), "fork");
  if (pid == 0) {
    int code = 255;
    try {
      code = work();
    } catch (const std::system_error& e) {
      std::cout << "# " << e.what() << std::endl;
    }
    ::_exit(code);
  }
  int status;
  must(::waitpid(pid, &status, 0), "waitpid");
  return WIFEXITED(status) ? WEXITSTATUS(status) : 254;
}

void become_user() {
  must(::setgroups(0, nullptr), "setgroups");
  must(::setresgid(kUser, kUser, kUser), "setresgid");
  must(::setresuid(kUser, kUser, kUser), "setresuid");
  // Another user's process before.
  must(::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0), "PR_SET_DUMPABLE");
}

int as_user(const std::function<int()>& work) {
  return in_child([&] {
    become_user();
    return work();
  });
}

// As root of namespaces of his own, which anybody can be.
int as_root_inside(int namespaces, const std::function<int()>& work) {
  return as_user([&] {
    must(::unshare(CLONE_NEWUSER | namespaces), "unshare");
    return in_child(work);
  });
}

int device() {
  return must(::open("/dev/cryo", O_RDWR | O_CLOEXEC), "/dev/cryo");
}

int restart_handle() {
  cryo_restart request{};
  request.size = sizeof(request);
  request.threads = 1;
  return must(::ioctl(device(), CRYO_IOC_RESTART, &request), "CRYO_IOC_RESTART");
}

template <typename Args>
int call(int fd, unsigned long command, Args args) {
  return ::ioctl(fd, command, &args) >= 0 ? 0 : errno;
}

int choose_pid() {
  return call(device(), CRYO_IOC_PID_CURSOR, cryo_pid_cursor{sizeof(cryo_pid_cursor), 3000, 0, 0});
}

// In a namespace that has no process yet: another first one than 1 would take the kernel down.
int choose_first_pid(int (*choose)()) {
  return as_user([&] {
    must(::unshare(CLONE_NEWUSER | CLONE_NEWPID), "unshare");
    return choose();
  });
}

int choose_pid_by_handle() {
  return call(restart_handle(), CRYO_RST_PID_CURSOR,
              cryo_nested_cursor{sizeof(cryo_nested_cursor), 3000, 0, 0});
}

// Where the next pid goes to, and where it was; -1: refused.
int move_next_pid(pid_t pid) {
  cryo_pid_cursor cursor{sizeof(cryo_pid_cursor), pid, 0, 0};
  return ::ioctl(device(), CRYO_IOC_PID_CURSOR, &cursor) == 0 ? cursor.previous : -1;
}

constexpr pid_t kBack = 0;

// In a namespace that may have the place and the number of one that has just gone, of which the module knows
// where its next pid was.
int put_first_pid_back() {
  return in_child([] {
    must(::unshare(CLONE_NEWUSER | CLONE_NEWPID), "unshare");
    if (call(restart_handle(), CRYO_RST_PID_CURSOR,
             cryo_nested_cursor{sizeof(cryo_nested_cursor), 1, 0, 0}) != 0)
      return EINVAL;
    (void)move_next_pid(kBack);
    return in_child([] { return ::getpid() == 1 ? 0 : EXDEV; });
  });
}

int put_first_pid_back_after_others() {
  return as_user([] {
    for (int i = 0; i < 100; ++i) {
      (void)in_child([] {
        must(::unshare(CLONE_NEWUSER | CLONE_NEWPID), "unshare");
        return in_child([] { return move_next_pid(1) < 0; });
      });
      if (const int error = put_first_pid_back(); error != 0) return error;
    }
    return 0;
  });
}

// Of the machine's namespace, although others put theirs back.
int is_put_back_for_the_machine() {
  constexpr pid_t kFree = 30000;
  const pid_t was = move_next_pid(kFree);
  for (int i = 0; i < 10; ++i)
    (void)as_user([] {
      must(::unshare(CLONE_NEWUSER | CLONE_NEWPID), "unshare");
      return in_child([] {
        for (int call = 0; call < 4; ++call) (void)move_next_pid(kBack);
        return 0;
      });
    });
  const pid_t before = move_next_pid(kBack);
  return was > 0 && before == was ? 0 : EXDEV;
}

int choose_semaphores(int id) {
  return call(device(), CRYO_IOC_IPC_ID, cryo_ipc_id{sizeof(cryo_ipc_id), CRYO_IPC_KIND_SEM, id, 0});
}

// A free id: that one, made and removed.
int choose_free_semaphores() {
  const int id = must(::semget(IPC_PRIVATE, 1, 0600), "semget");
  must(::semctl(id, 0, IPC_RMID), "IPC_RMID");
  const int error = choose_semaphores(id);
  if (error != 0) return error;
  const int again = must(::semget(IPC_PRIVATE, 1, 0600), "semget");
  must(::semctl(again, 0, IPC_RMID), "IPC_RMID");
  return again == id ? 0 : EXDEV;
}

// Its place, with another sequence number.
int choose_taken_semaphores() {
  const int id = must(::semget(IPC_PRIVATE, 1, 0600), "semget");
  const int error = choose_semaphores(id ^ (1 << 15));
  must(::semctl(id, 0, IPC_RMID), "IPC_RMID");
  return error;
}

// What a process that is being restarted has as its registers.
struct Registers {
  char bytes[1024];
  size_t length;
};

// What the commit says when a process wants `path` for its /proc/PID/exe. The executable of this test stays
// mapped, so that one that it may have cannot be had (EBUSY).
int take_exe(const char* path, bool map) {
  auto* registers = static_cast<Registers*>(
      ::mmap(nullptr, sizeof(Registers), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  cryo_restart request{};
  request.size = sizeof(request);
  request.threads = 1;
  const int handle = must(::ioctl(device(), CRYO_IOC_RESTART, &request), "CRYO_IOC_RESTART");
  const pid_t pid = must(::fork(), "fork");
  if (pid == 0) {
    const int fd = must(::open(path, O_RDONLY | O_CLOEXEC), path);
    if (map && ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED) ::_exit(1);
    must(::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr), "PTRACE_TRACEME");
    ::raise(SIGSTOP);
    cryo_regset set{NT_PRSTATUS, static_cast<__u32>(registers->length),
                    reinterpret_cast<__u64>(&registers->bytes)};
    cryo_resume args{};
    args.size = sizeof(args);
    args.flags = CRYO_RESUME_LEADER;
    args.regsets = reinterpret_cast<__u64>(&set);
    args.nr_regsets = 1;
    args.close_fd = -1;
    args.exe_fd = fd;
    ::ioctl(handle, CRYO_RST_RESUME, &args);
    ::_exit(1);
  }
  int status;
  must(::waitpid(pid, &status, 0), "waitpid");
  iovec where{registers->bytes, sizeof(registers->bytes)};
  must(::ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &where), "PTRACE_GETREGSET");
  registers->length = where.iov_len;
  must(::ptrace(PTRACE_DETACH, pid, nullptr, nullptr), "PTRACE_DETACH");
  cryo_commit args{};
  args.size = sizeof(args);
  args.timeout_ms = 20000;
  const int error = ::ioctl(handle, CRYO_RST_COMMIT, &args) == 0 ? 0 : errno;
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  return error;
}

// A process that waits until the end of the block.
class Sleeper {
 public:
  explicit Sleeper(const std::function<void()>& prepare = [] {}) {
    int ready[2];
    must(::pipe2(ready, O_CLOEXEC), "pipe2");
    pid_ = must(::fork(), "fork");
    if (pid_ == 0) {
      prepare();
      (void)!::write(ready[1], "", 1);
      for (;;) ::pause();
    }
    char byte;
    must(::read(ready[0], &byte, 1), "read");
    ::close(ready[0]);
    ::close(ready[1]);
  }
  ~Sleeper() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

int name_peer(int handle, int fd, pid_t pid, uint32_t flags = 0) {
  return call(handle, CRYO_RST_PEER_PID, cryo_peer_pid{sizeof(cryo_peer_pid), fd, pid, flags});
}

pid_t peer_of(int fd) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  must(::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size), "SO_PEERCRED");
  return peer.pid;
}

struct Pair {
  int fds[2];
  explicit Pair(int type = SOCK_STREAM) {
    must(::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, fds), "socketpair");
  }
};

int name_peer_of_pair(int handle, pid_t pid) {
  const Pair pair;
  const int error = name_peer(handle, pair.fds[0], pid);
  if (error != 0) return error;
  return peer_of(pair.fds[0]) == pid ? 0 : EXDEV;
}

sockaddr_un address(const char* name) {
  sockaddr_un where{};
  where.sun_family = AF_UNIX;
  std::strcpy(where.sun_path + 1, name);
  return where;
}

int listener(const char* name) {
  const int fd = must(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
  const sockaddr_un where = address(name);
  must(::bind(fd, reinterpret_cast<const sockaddr*>(&where), sizeof(where)), "bind");
  must(::listen(fd, 5), "listen");
  return fd;
}

int connect_to(const char* name) {
  const int fd = must(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
  const sockaddr_un where = address(name);
  must(::connect(fd, reinterpret_cast<const sockaddr*>(&where), sizeof(where)), "connect");
  return fd;
}

// A datagram from 192.0.2.1 port 53, which nobody here can send.
int forge(int handle, int fd, int error = 0) {
  static const char text[] = "forged";
  cryo_datagram args{};
  args.size = sizeof(args);
  args.fd = fd;
  args.error = static_cast<__u32>(error);
  args.family = AF_INET;
  args.from_port = 53;
  const unsigned char from[4] = {192, 0, 2, 1};
  std::memcpy(args.from, from, sizeof(from));
  if (error == 0) {
    args.data = reinterpret_cast<__u64>(text);
    args.length = sizeof(text);
  }
  return call(handle, CRYO_RST_DATAGRAM, args);
}

int udp_socket() {
  return must(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), "socket");
}

// 0: the sender is who was said to be.
int forge_and_receive(int handle, int fd) {
  const int error = forge(handle, fd);
  if (error != 0) return error;
  char text[16];
  sockaddr_in from{};
  socklen_t size = sizeof(from);
  must(::recvfrom(fd, text, sizeof(text), MSG_DONTWAIT, reinterpret_cast<sockaddr*>(&from), &size),
       "recvfrom");
  return ntohl(from.sin_addr.s_addr) == 0xc0000201 && ntohs(from.sin_port) == 53 ? 0 : EXDEV;
}

int forge_alone() {
  return forge_and_receive(restart_handle(), udp_socket());
}

// What else has it: a descriptor, a process, a message, a process with the same table.
int forge_with_second() {
  const int fd = udp_socket();
  must(::dup(fd), "dup");
  return forge_and_receive(restart_handle(), fd);
}

int forge_inherited() {
  const int fd = udp_socket();
  const Sleeper other;
  return forge_and_receive(restart_handle(), fd);
}

int forge_under_way() {
  const int fd = udp_socket();
  const Pair pair;
  char control[CMSG_SPACE(sizeof(int))] = {};
  iovec byte{control, 1};
  msghdr message{};
  message.msg_iov = &byte;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  cmsghdr* head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(head), &fd, sizeof(fd));
  must(::sendmsg(pair.fds[0], &message, 0), "sendmsg");
  return forge_and_receive(restart_handle(), fd);
}

int forge_in_common_table() {
  const int fd = udp_socket();
  const int handle = restart_handle();
  clone_args args{};
  args.flags = CLONE_FILES;
  args.exit_signal = SIGCHLD;
  const auto pid = static_cast<pid_t>(must(::syscall(SYS_clone3, &args, sizeof(args)), "clone3"));
  if (pid == 0)
    for (;;) ::pause();
  const int error = forge_and_receive(handle, fd);
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  return error;
}

int forge_error() {
  const int fd = udp_socket();
  const int handle = restart_handle();
  const int error = forge(handle, fd, ECONNREFUSED);
  if (error != 0) return error;
  char byte;
  return ::recv(fd, &byte, 1, MSG_DONTWAIT) < 0 && errno == ECONNREFUSED ? 0 : EXDEV;
}

int forge_error_inherited() {
  const int fd = udp_socket();
  const Sleeper other;
  return forge(restart_handle(), fd, ECONNREFUSED);
}

class Test {
 public:
  int run() {
    pids();
    ipc_ids();
    exe_links();
    peers();
    peers_of_others();
    peers_under_yama();
    datagrams();
    outer_pids();
    exit_signals();
    return tap_.finish();
  }

 private:
  void expect(int got, int wanted, const std::string& what) {
    if (!tap_.ok(got == wanted, what)) tap_.diag("it is " + std::to_string(got) + ", " + std::strerror(got));
  }

  void pids() {
    expect(as_user(choose_pid), 0, "pid_choice: a user may choose the next pid");
    expect(as_user(choose_pid_by_handle), 0, "... by a restart handle, too");
    expect(choose_first_pid(choose_pid), EINVAL, "... not of a namespace without any process");
    expect(choose_first_pid(choose_pid_by_handle), EINVAL, "... nor that by a restart handle");
    expect(put_first_pid_back_after_others(), 0, "... nor put it back to where that of another one was");
    expect(is_put_back_for_the_machine(), 0, "the machine's own is put back, whatever others put back");
    const Setting off(parameter("pid_choice"), "N");
    expect(as_user(choose_pid), EPERM, "... not when it is off");
    expect(as_user(choose_pid_by_handle), EPERM, "... nor by a restart handle");
    expect(as_user(choose_free_semaphores), 0, "... which is not about System V ids");
    expect(choose_pid(), 0, "... but root may");
    expect(as_root_inside(CLONE_NEWPID, choose_pid), 0, "... and who is root of the pid namespace");
    expect(as_root_inside(0, choose_pid), EPERM, "... not who is root of another namespace only");
  }

  void ipc_ids() {
    expect(as_user(choose_free_semaphores), 0, "ipc_id_choice: a user may choose the next System V id");
    expect(as_user(choose_taken_semaphores), EEXIST, "... not one whose place is taken");
    const Setting off(parameter("ipc_id_choice"), "N");
    expect(as_user(choose_free_semaphores), EPERM, "... not when it is off");
    expect(as_user(choose_pid), 0, "... which is not about pids");
    expect(choose_free_semaphores(), 0, "... but root may");
    expect(as_root_inside(CLONE_NEWIPC, choose_free_semaphores), 0,
           "... and who is root of the ipc namespace");
    expect(as_root_inside(0, choose_free_semaphores), EPERM, "... not who is root of another namespace only");
  }

  void exe_links() {
    const auto mapped = [] { return take_exe("/bin/sleep", true); };
    const auto not_mapped = [] { return take_exe("/bin/sleep", false); };
    expect(as_user(mapped), EBUSY, "exe_link: a user may have a file that he has mapped for execution");
    expect(as_user(not_mapped), EPERM, "... not one that he has not mapped");
    expect(not_mapped(), EBUSY, "... but root may");
    expect(as_root_inside(0, not_mapped), EBUSY,
           "... and who is root of his user namespace, as with prctl(2)");
    const Setting off(parameter("exe_link"), "N");
    expect(as_user(mapped), EPERM, "... not when it is off");
    expect(mapped(), EBUSY, "... but root may");
  }

  void peers() {
    const auto own_child = [] {
      const int handle = restart_handle();
      const Sleeper child;
      return name_peer_of_pair(handle, child.pid());
    };
    expect(as_user(own_child), 0, "peer_pid: a user may name a process that he restarts");
    expect(as_user([] {
             const Sleeper stranger;
             return in_child([&] { return name_peer_of_pair(restart_handle(), stranger.pid()); });
           }),
           EPERM, "... not one of his own that the restart has not made");
    expect(as_user([] {
             const int handle = restart_handle();
             const Sleeper child([] { ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); });
             return name_peer_of_pair(handle, child.pid());
           }),
           EPERM, "... nor one that he may not trace");
    expect(as_user([] { return name_peer_of_pair(restart_handle(), 0); }), 0, "... nobody can be named");
    expect(as_user([] { return name_peer_of_pair(restart_handle(), 1); }), EPERM, "... but not process 1");
    const Setting off(parameter("peer_pid"), "N");
    expect(as_user(own_child), EPERM, "... not when it is off");
    expect(own_child(), 0, "... but root may");
    expect(as_root_inside(CLONE_NEWPID, own_child), 0, "... and who is root of the pid namespace");
  }

  void peers_of_others() {
    const int server = listener("cryo-root");
    const auto of_own_end = [] { return name_peer(restart_handle(), connect_to("cryo-root"), ::getpid()); };
    const auto of_other_end = [] {
      return name_peer(restart_handle(), connect_to("cryo-root"), ::getpid(), CRYO_PEER_PID_OTHER_END);
    };
    expect(as_user(of_own_end), EPERM, "a connection to another user's server is left alone");
    expect(as_user(of_other_end), EPERM, "... and what the server is told");
    ::close(server);
    expect(as_user([] {
             const int own = listener("cryo-user");
             const int handle = restart_handle();
             const int fd = connect_to("cryo-user");
             const Sleeper child;
             const int error = name_peer(handle, fd, child.pid(), CRYO_PEER_PID_OTHER_END);
             if (error != 0) return error;
             return peer_of(must(::accept4(own, nullptr, nullptr, SOCK_CLOEXEC), "accept4")) == child.pid()
                        ? 0
                        : EXDEV;
           }),
           0, "a server of one's own can be told");
    expect(as_user([] {
             const Pair pair(SOCK_DGRAM);
             return name_peer(restart_handle(), pair.fds[0], ::getpid(), CRYO_PEER_PID_OTHER_END);
           }),
           EINVAL, "a socket for datagrams may be at anybody's");
    const Pair of_root;
    expect(as_user([&] { return name_peer(restart_handle(), of_root.fds[0], ::getpid()); }), EPERM,
           "another user's socket is left alone");
    const Sleeper users([] {
      become_user();
      listener("cryo-users");
    });
    const int to_user = connect_to("cryo-users");
    expect(as_user([&] { return name_peer(restart_handle(), to_user, ::getpid()); }), EPERM,
           "... nor one that is connected to the user's own server");
    ::close(to_user);
  }

  // Brothers: the one that asks is no ancestor.
  static int name_brother(int dumpable) {
    const int handle = restart_handle();
    const Sleeper child([dumpable] { must(::prctl(PR_SET_DUMPABLE, dumpable, 0, 0, 0), "PR_SET_DUMPABLE"); });
    return in_child([&] { return name_peer_of_pair(handle, child.pid()); });
  }

  void peers_under_yama() {
    const std::string level = "/proc/sys/kernel/yama/ptrace_scope";
    if (::access(level.c_str(), W_OK) != 0) return tap_.skip("with Yama", "there is none");
    const Setting by_admin(level, "2");
    expect(as_user([] { return name_brother(1); }), 0, "Yama does not forbid to name a brother");
    expect(as_user([] { return name_brother(0); }), EPERM,
           "... but one that is not dumpable is not to be named");
  }

  void datagrams() {
    expect(as_user(forge_alone), 0, "datagrams: a user may fill a socket that he alone has");
    expect(as_user(forge_error), 0, "... and have its next call fail");
    expect(as_user(forge_with_second), EBUSY, "... not one with two descriptors");
    expect(as_user(forge_inherited), EBUSY, "... nor one that another process has");
    expect(as_user(forge_error_inherited), EBUSY, "... for errors neither");
    expect(as_user(forge_under_way), EBUSY, "... nor one that is in a message");
    expect(as_user(forge_in_common_table), EBUSY, "... nor one that another process has in the same table");
    const int of_root = udp_socket();
    expect(as_user([&] { return forge(restart_handle(), of_root); }), EPERM,
           "... nor one that another user has made");
    expect(forge_inherited(), 0, "... but root may");
    expect(as_root_inside(CLONE_NEWNET, forge_inherited), 0, "... and who is root of the network namespace");
    expect(as_root_inside(0, forge_inherited), EBUSY, "... not who is root of another namespace only");
    const Setting off(parameter("datagrams"), "N");
    expect(as_user(forge_alone), EPERM, "... not when it is off");
    expect(as_user(forge_error), EPERM, "... errors neither");
    expect(as_user(choose_pid), 0, "... which is not about pids");
    expect(forge_alone(), 0, "... but root may");
    expect(as_root_inside(CLONE_NEWNET, forge_alone), 0, "... and who is root of the network namespace");
  }

  void outer_pids() {
    const auto outer = [](int handle, pid_t pid) {
      cryo_outer_pid args{sizeof(cryo_outer_pid), pid, 0, 0};
      return ::ioctl(handle, CRYO_RST_OUTER_PID, &args) == 0 ? (args.outer == pid ? 0 : EXDEV) : errno;
    };
    expect(as_user([&] { return outer(restart_handle(), ::getpid()); }), 0,
           "the outer pid of a process that is restarted");
    expect(as_user([&] { return outer(restart_handle(), 1); }), ESRCH, "... and of no other");
  }

  // The caller's parent is not made by the restart that the caller has begun himself.
  void exit_signals() {
    const auto tell = [](int signal) {
      const int handle = restart_handle();
      const pid_t child = ::fork();
      if (child == 0) {
        cryo_exit_signal args{sizeof(cryo_exit_signal), signal};
        ::_exit(::ioctl(handle, CRYO_RST_EXIT_SIGNAL, &args) == 0 ? 0 : errno);
      }
      int status = 0;
      const pid_t told = ::waitpid(child, &status, __WALL);
      return told == child && WIFEXITED(status) ? WEXITSTATUS(status) : ECHILD;
    };
    const auto tell_stranger = [] {
      cryo_exit_signal args{sizeof(cryo_exit_signal), SIGUSR1};
      return ::ioctl(restart_handle(), CRYO_RST_EXIT_SIGNAL, &args) == 0 ? 0 : errno;
    };
    expect(as_user([&] { return tell(0); }), 0, "who restarts is told of the end of a child by no signal");
    expect(as_user([&] { return tell(65); }), EINVAL, "... which has to be one");
    expect(as_user(tell_stranger), EPERM, "... not whoever has made that process");
  }

  crt::Tap tap_;
};

}  // namespace

int main() {
  try {
    return Test().run();
  } catch (const std::exception& e) {
    std::cout << "Bail out! " << e.what() << std::endl;
    return 1;
  }
}
