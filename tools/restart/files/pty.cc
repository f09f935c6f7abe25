// SPDX-License-Identifier: GPL-2.0-only
#include "restart/files/pty.h"

#include <asm/termbits.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <set>
#include <thread>

#include "base/error.h"
#include "restart/common/helper_process.h"
#include "restart/files/file_kinds.h"
#include "restart/ns/pid_namespaces.h"
#include "restart/process/tree_plan.h"

namespace cryo {
namespace {

// Where the C library's structure never was a shorter one, the first command takes all of it.
#ifdef TCSETS2
constexpr unsigned long kSetSettings = TCSETS2;
#else
constexpr unsigned long kSetSettings = TCSETS;
#endif

constexpr int kPatience = 2000;  // milliseconds for the kernel's worker that moves bytes along

bool edits_lines(const cryo_pty& pty) {
  return (pty.lflag & ICANON) && !(pty.lflag & EXTPROC);
}

ktermios saved_settings(const cryo_pty& pty) {
  ktermios settings{};
  settings.c_iflag = pty.iflag;
  settings.c_oflag = pty.oflag;
  settings.c_cflag = pty.cflag;
  settings.c_lflag = pty.lflag;
  settings.c_ispeed = pty.ispeed;
  settings.c_ospeed = pty.ospeed;
  std::copy_n(pty.cc, std::size(settings.c_cc), settings.c_cc);
  return settings;
}

// The master takes settings for the slave.
void set(int master, const ktermios& settings) {
  if (::ioctl(master, kSetSettings, &settings) != 0) fail_errno("cannot set a pseudo-terminal");
}

template <typename Condition>
bool wait_for(Condition condition) {
  for (int i = 0; i < kPatience; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return condition();
}

void write_all(int fd, const Bytes& bytes, const char* what) {
  std::size_t done = 0;
  const auto step = [&] {
    while (done < bytes.size()) {
      const ssize_t wrote = ::write(fd, bytes.data() + done, bytes.size() - done);
      if (wrote < 0 && errno != EAGAIN) fail_errno("cannot put {} of a pseudo-terminal back", what);
      if (wrote <= 0) return false;
      done += static_cast<std::size_t>(wrote);
    }
    return true;
  };
  if (!wait_for(step))
    fail(EAGAIN, "cannot put {} of a pseudo-terminal back: {} bytes are left", what, bytes.size() - done);
}

bool stopped(int slave) {
  pollfd events{slave, POLLOUT, 0};
  return ::poll(&events, 1, 0) == 0;
}

void suspend(int fd, int action) {
  if (::ioctl(fd, TCXONC, action) != 0) fail_errno("cannot stop or start a pseudo-terminal");
}

// That end lines by the process's own choice.
std::set<unsigned char> own_line_ends(const Pty& pty) {
  std::set<unsigned char> ends;
  for (std::size_t i = 0; i < pty.input.size(); ++i) {
    const auto byte = std::to_integer<unsigned char>(pty.input[i]);
    if (pty.line_ends[i] != std::byte{0} && byte != '\n' && byte != 0) ends.insert(byte);
  }
  return ends;
}

}  // namespace

std::string pty_problem(const Pty& pty) {
  const bool too_many = edits_lines(pty.head) && own_line_ends(pty).size() > 2;
  return too_many ? "a pseudo-terminal has lines with more than two ends of their own" : "";
}

namespace {

// Writes lines as they were cooked: a line discipline that does nothing but note where lines end, with a
// character that takes its meaning from the next one.
class LineWriter {
 public:
  explicit LineWriter(const Pty& pty) : pty_(pty), others_(own_line_ends(pty)) {
    if (const std::string text = pty_problem(pty); !text.empty()) fail(EOPNOTSUPP, "{}", text);
    special_ = others_;
    end_of_file_ = choose();
    literal_ = choose();
    start_ = choose();
    stop_ = choose();
    special_.insert('\n');
  }

  [[nodiscard]] ktermios settings() const {
    ktermios settings = saved_settings(pty_.head);
    settings.c_iflag = IXON;
    settings.c_oflag = 0;
    settings.c_lflag = ICANON | IEXTEN;
    std::fill(std::begin(settings.c_cc), std::end(settings.c_cc), 0);
    settings.c_cc[VEOF] = end_of_file_;
    settings.c_cc[VLNEXT] = literal_;
    settings.c_cc[VSTART] = start_;
    settings.c_cc[VSTOP] = stop_;
    if (!others_.empty()) settings.c_cc[VEOL] = *others_.begin();
    if (others_.size() > 1) settings.c_cc[VEOL2] = *others_.rbegin();
    return settings;
  }

  // With the STOP character last, by whose effect one knows that all has been received.
  [[nodiscard]] Bytes encoded() const {
    Bytes bytes;
    for (std::size_t i = 0; i < pty_.input.size(); ++i) {
      if (ends_line(i)) {
        bytes.push_back(std::byte{byte(i) == 0 ? end_of_file_ : byte(i)});
        continue;
      }
      if (special_.contains(byte(i))) bytes.push_back(std::byte{literal_});
      bytes.push_back(pty_.input[i]);
    }
    bytes.push_back(std::byte{stop_});
    return bytes;
  }

 private:
  [[nodiscard]] bool ends_line(std::size_t i) const { return pty_.line_ends[i] != std::byte{0}; }
  [[nodiscard]] unsigned char byte(std::size_t i) const {
    return std::to_integer<unsigned char>(pty_.input[i]);
  }
  unsigned char choose() {
    unsigned char c = 1;
    while (c == '\n' || special_.contains(c)) ++c;
    special_.insert(c);
    return c;
  }

  const Pty& pty_;
  std::set<unsigned char> others_;   // own_line_ends()
  std::set<unsigned char> special_;  // that mean something in settings()
  unsigned char end_of_file_ = 0, literal_ = 0, start_ = 0, stop_ = 0;
};

void put_lines_back(const Pty& pty, int master, int slave) {
  const LineWriter writer(pty);
  set(master, writer.settings());
  write_all(master, writer.encoded(), "the input");
  if (slave < 0) {
    // Nobody has opened it: nothing can be asked of it, and nothing waits for it either.
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return;
  }
  if (!wait_for([slave] { return stopped(slave); }))
    fail(EIO, "a pseudo-terminal has not taken its input back");
  suspend(slave, TCOOFF);
  suspend(slave, TCOON);
}

void put_bytes_back(const Pty& pty, int master, int slave) {
  ktermios settings = saved_settings(pty.head);
  settings.c_iflag = 0;
  settings.c_oflag = 0;
  settings.c_lflag = pty.head.lflag & (ICANON | EXTPROC);
  set(master, settings);
  write_all(master, pty.input, "the input");
  const auto arrived = [&] {
    int waiting = 0;
    return slave < 0 || ::ioctl(slave, FIONREAD, &waiting) != 0 ||
           waiting >= static_cast<int>(pty.input.size());
  };
  if (!wait_for(arrived)) fail(EIO, "a pseudo-terminal has not taken its input back");
}

// The STOP character has stopped it: by that it is started again, too.
void stop_by_character(const Pty& pty, int master, int slave) {
  if (slave < 0 || !(pty.head.iflag & IXON) || pty.head.cc[VSTOP] == 0) return;
  write_all(master, Bytes{std::byte{pty.head.cc[VSTOP]}}, "the STOP character");
  (void)wait_for([slave] { return stopped(slave); });
}

void put_back(const Pty& pty, int master, int slave) {
  if (edits_lines(pty.head))
    put_lines_back(pty, master, slave);
  else
    put_bytes_back(pty, master, slave);
  if (slave >= 0) write_all(slave, pty.output, "the output");
  set(master, saved_settings(pty.head));
  if (pty.head.flags & CRYO_PTY_STOPPED) stop_by_character(pty, master, slave);
  write_all(master, pty.pending, "the input");
  if (slave >= 0 && (pty.head.flags & CRYO_PTY_SUSPENDED)) suspend(slave, TCOOFF);
}

void lock(int master, int locked) {
  if (::ioctl(master, TIOCSPTLCK, &locked) != 0) fail_errno("cannot lock or unlock a pseudo-terminal");
}

UniqueFd peer(int master, int flags) {
  UniqueFd fd(::ioctl(master, TIOCGPTPEER, flags | O_NOCTTY | O_CLOEXEC));
  if (!fd) fail_errno("cannot open the slave of a pseudo-terminal");
  return fd;
}

// /dev/tty means the terminal of whoever opens it: somebody with the right one does, and gives it up.
UniqueFd open_dev_tty(int slave, int flags) {
  return in_helper_process([&] {
    ::signal(SIGHUP, SIG_IGN);
    UniqueFd fd(::setsid() > 0 && ::ioctl(slave, TIOCSCTTY, 0) == 0 ? ::open("/dev/tty", flags | O_CLOEXEC)
                                                                    : -1);
    const int error = errno;
    ::ioctl(slave, TIOCNOTTY);
    if (!fd) fail(error, "cannot open /dev/tty for a pseudo-terminal");
    return fd;
  });
}

void restore_inode(const Inode& inode, int fd) {
  struct stat now;
  if (::fstat(fd, &now) != 0) fail_errno("fstat");
  if (now.st_uid != inode.head.uid || now.st_gid != inode.head.gid)
    (void)!::fchown(fd, inode.head.uid, inode.head.gid);
  if (((now.st_mode ^ inode.head.mode) & 07777) != 0 && ::fchmod(fd, inode.head.mode & 07777) != 0)
    fail_errno("cannot set the mode of a pseudo-terminal");
}

}  // namespace

// Numbers are handed out from the lowest that is free: those below are taken until ours comes.  In a mount
// namespace of the job's own by what is mounted there, where ttyname(3) finds it.
UniqueFd Terminals::open_numbered(const File& file) {
  const std::string path = input_.options.relocations.apply(file.path);
  const auto root = input_.roots.find(file.head.mnt);
  const bool inside = root != input_.roots.end() && path.starts_with('/');
  std::vector<UniqueFd> below;
  for (;;) {
    UniqueFd fd = inside ? names::open_below(root->second.get(), path.substr(1), O_RDWR | O_NOCTTY, 0)
                         : names::open(path, O_RDWR | O_NOCTTY);
    if (!fd) fail_errno("cannot open {}", path);
    unsigned int number = 0;
    if (::ioctl(fd.get(), TIOCGPTN, &number) != 0) fail_errno("{}: cannot ask for its number", path);
    if (number >= file.pty->head.number) return fd;
    below.push_back(std::move(fd));
  }
}

Terminals::Pair Terminals::make(const File& file) {
  const Pty& pty = *file.pty;
  Pair pair{input_.descriptors.park(open_numbered(file)), UniqueFd()};
  const int master = pair.master.get();
  lock(master, 0);
  const bool opened =
      (pty.head.flags & CRYO_PTY_SLAVE_CLOSED) ||
      std::any_of(input_.context.files.begin(), input_.context.files.end(), [&](const auto& entry) {
        return entry.second.pty_slave && entry.second.pty_slave->master == file.id;
      });
  if (opened) pair.slave = input_.descriptors.park(peer(master, O_RDWR | O_NONBLOCK));
  const int flags = ::fcntl(master, F_GETFL);
  if (::fcntl(master, F_SETFL, flags | O_NONBLOCK) != 0) fail_errno("cannot prepare a pseudo-terminal");
  put_back(pty, master, opened ? pair.slave.get() : -1);
  if (::fcntl(master, F_SETFL, flags) != 0) fail_errno("cannot prepare a pseudo-terminal");
  const winsize size{pty.head.rows, pty.head.columns, pty.head.xpixels, pty.head.ypixels};
  if (::ioctl(master, TIOCSWINSZ, &size) != 0) fail_errno("cannot set the size of a pseudo-terminal");
  return pair;
}

void Terminals::make_all() {
  if (made_) return;
  made_ = true;
  std::vector<const File*> masters;
  for (const auto& [id, file] : input_.context.files)
    if (file.pty) masters.push_back(&file);
  std::sort(masters.begin(), masters.end(),
            [](const File* a, const File* b) { return a->pty->head.number < b->pty->head.number; });
  const auto uses = file_uses(input_.context);
  for (const File* file : masters) {
    const auto use = uses.find(file->id);
    const NamesOf theirs(input_.context,
                         use == uses.end() ? everybody(input_.context) : use->second.processes);
    pairs_.emplace(file->id, make(*file));
  }
}

UniqueFd Terminals::open_master(const File& file) {
  make_all();
  return input_.descriptors.park_copy(pairs_.at(file.id).master.get());
}

UniqueFd Terminals::open_slave(const File& file, const FileUse& use) {
  make_all();
  const int flags = open_flags(file, use);
  if (file.pty_slave->flags & CRYO_PTY_HUNG_UP) {
    UniqueFd master(::open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC));
    if (!master) fail_errno("cannot open /dev/ptmx");
    lock(master.get(), 0);
    return peer(master.get(), flags);
  }
  const Pair& pair = pairs_.at(file.pty_slave->master);
  if (file.pty_slave->flags & CRYO_PTY_DEV_TTY) return open_dev_tty(pair.slave.get(), flags);
  UniqueFd fd = peer(pair.master.get(), flags);
  if (file.head.inode != 0) restore_inode(input_.context.inode(file.head.inode), fd.get());
  return fd;
}

void Terminals::finish(FileStore& store) {
  for (auto& [id, pair] : pairs_) {
    const cryo_pty& pty = input_.context.file(id).pty->head;
    const int on = 1;
    bool good = !(pty.flags & CRYO_PTY_PACKET) || ::ioctl(pair.master.get(), TIOCPKT, &on) == 0;
    good &= !(pty.flags & CRYO_PTY_EXCLUSIVE_MASTER) || ::ioctl(pair.master.get(), TIOCEXCL) == 0;
    good &= !(pty.flags & CRYO_PTY_EXCLUSIVE) || !pair.slave || ::ioctl(pair.slave.get(), TIOCEXCL) == 0;
    if (!good) fail_errno("cannot set a pseudo-terminal");
    if (pty.flags & CRYO_PTY_SUSPENDED_MASTER) suspend(pair.master.get(), TCOOFF);
    if (pty.flags & CRYO_PTY_LOCKED) lock(pair.master.get(), 1);
    if (pty.sid == 0 || !pair.slave) continue;
    store.terminals.push_back({pty.sid, pty.pgid, std::move(pair.slave)});
  }
  pairs_.clear();
}

namespace {

constexpr unsigned int kMoment = 10;  // seconds

// A group that nobody is in any more stays there: somebody is in it for a moment.
void bring_to_foreground(int fd, pid_t group, ForkRequest fork) {
  if (::ioctl(fd, TIOCSPGRP, &group) == 0) return;
  fork.pid = group;
  try {
    const pid_t member = fork_with_pid(fork);
    if (member == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::sleep(kMoment);
      ::_exit(0);
    }
    const bool good = ::setpgid(member, member) == 0 && ::ioctl(fd, TIOCSPGRP, &group) == 0;
    const int error = errno;
    ::kill(member, SIGKILL);
    ::waitpid(member, nullptr, __WALL);
    errno = error;
    if (!good) fail_errno("cannot bring process group {} to the foreground of a terminal", group);
  } catch (const Error& error) {
    // Its number is that of another process by now, and the group no more than a number.
    if (error.code() != EBUSY) throw;
  }
}

}  // namespace

void take_terminals(const Context& context, const Process& process,
                    const std::vector<RestoredTerminal>& terminals) {
  if (!has_own_terminal(context, process) || ::getsid(0) != ::getpid()) return;
  for (const RestoredTerminal& terminal : terminals)
    if (terminal.sid == process.head.pid && ::ioctl(terminal.slave.get(), TIOCSCTTY, 0) != 0)
      fail_errno("cannot take the controlling terminal");
}

void settle_terminals(const Context& context, const Process& process,
                      const std::vector<RestoredTerminal>& terminals, const ForkRequest& fork) {
  for (const RestoredTerminal& terminal : terminals) {
    const int fd = terminal.slave.get();
    // Forked before its session had one, or given up.
    if (terminal.sid == process.head.sid && !(process.head.flags & CRYO_PROC_CTTY) &&
        ::ioctl(fd, TIOCNOTTY) != 0 && errno != ENOTTY)
      fail_errno("cannot give up the controlling terminal");
    if (terminal.sid != process.head.pid || ::getsid(0) != ::getpid()) continue;
    const pid_t group = terminal.pgid == process.head.pgid
                            ? ::getpgrp()
                            : number_in(context, process.namespaces.pid, terminal.pgid);
    if (group != 0) bring_to_foreground(fd, group, fork);
  }
}

namespace {

void check_pty(FileCheck& at, const File& file, const FileUse&) {
  if (names::access(at.path, R_OK | W_OK) != 0)
    at.problem(errno, "cannot be opened for reading and writing: {}", errno_text(errno));
  if (const std::string text = file.pty ? pty_problem(*file.pty) : ""; !text.empty())
    at.problem(EOPNOTSUPP, "{}", text);
}

}  // namespace

const FileKind kPtyMasterKind = {
    .kind = CRYO_FILE_PTY_MASTER,
    .check = check_pty,
    .open = [](FileMaking& making, const File& file,
               const FileUse&) { return making.state<Terminals>().open_master(file); },
    .finish = [](FileMaking& making) { making.state<Terminals>().finish(making.store); }};
const FileKind kPtySlaveKind = {.kind = CRYO_FILE_PTY_SLAVE,
                                .open = [](FileMaking& making, const File& file, const FileUse& use) {
                                  return making.state<Terminals>().open_slave(file, use);
                                }};

}  // namespace cryo
