// SPDX-License-Identifier: GPL-2.0-only
#include "surroundings.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <stdexcept>

namespace fs = std::filesystem;

namespace crt {

namespace {

void need(bool done, const fs::path& path) {
  if (!done) throw std::runtime_error(path.string() + ": " + strerror(errno));
}

struct stat look(const fs::path& path) {
  struct stat st;
  need(lstat(path.c_str(), &st) == 0, path);
  return st;
}

std::string describe(const fs::path& path) {
  struct stat st;
  if (lstat(path.c_str(), &st)) return "gone";
  std::string text = std::to_string(st.st_dev) + ":" + std::to_string(st.st_ino) + " mode " +
                     std::to_string(st.st_mode) + " owner " + std::to_string(st.st_uid) + ":" +
                     std::to_string(st.st_gid);
  if (!S_ISREG(st.st_mode)) return text;
  return text + " size " + std::to_string(st.st_size) + " time " + std::to_string(st.st_mtim.tv_sec) + "." +
         std::to_string(st.st_mtim.tv_nsec) + " contents " +
         std::to_string(std::hash<std::string>{}(read_file(path)));
}

constexpr unsigned kLargest = 1 << 20;  // bytes of a file that is changed: they are read into memory

}  // namespace

const Surroundings::Kind Surroundings::kOfFiles[] = {
    {"moved", &Surroundings::move},
    {"removed", &Surroundings::remove},
    {"replaced by another file", &Surroundings::replace},
    {"replaced by a copy", &Surroundings::copy},
    {"replaced by a longer file", &Surroundings::replace_longer},
    {"appended to", &Surroundings::append},
    {"shortened", &Surroundings::shorten},
    {"written over", &Surroundings::write_over},
    {"without permissions", &Surroundings::forbid},
    {"given to root", &Surroundings::give_away},
    {"replaced by a directory", &Surroundings::put_directory},
    {"replaced by a FIFO", &Surroundings::put_fifo},
    {"replaced by a socket", &Surroundings::put_socket},
    {"replaced by a dangling link", &Surroundings::put_dangling_link},
    {"replaced by a link to another file", &Surroundings::put_link_to_other},
    {"replaced by a link to itself, moved", &Surroundings::put_link_to_itself},
    {"mounted over", &Surroundings::mount_file},
};

const Surroundings::Kind Surroundings::kOfDirectories[] = {
    {"moved", &Surroundings::move},
    {"removed", &Surroundings::remove},
    {"without permissions", &Surroundings::forbid},
    {"given to root", &Surroundings::give_away},
    {"replaced by an empty directory", &Surroundings::put_directory},
    {"replaced by a file", &Surroundings::replace},
    {"replaced by a link to itself, moved", &Surroundings::put_link_to_itself},
    {"mounted over", &Surroundings::mount_directory},
};

const Surroundings::Kind Surroundings::kOfOthers[] = {
    {"moved", &Surroundings::move},
    {"removed", &Surroundings::remove},
    {"replaced by a file", &Surroundings::replace},
    {"replaced by a directory", &Surroundings::put_directory},
    {"replaced by a FIFO", &Surroundings::put_fifo},
    {"replaced by a socket", &Surroundings::put_socket},
    {"replaced by a dangling link", &Surroundings::put_dangling_link},
    {"replaced by a link to itself, moved", &Surroundings::put_link_to_itself},
    {"without permissions", &Surroundings::forbid},
    {"given to root", &Surroundings::give_away},
    {"mounted over", &Surroundings::mount_file},
};

namespace {

std::string link_of(const fs::path& path) {
  std::error_code gone;
  return fs::read_symlink(path, gone).string();
}

// "1: 0100007F:1F90 ... inode" of those that @inodes has: "socket:[4711]".
void add_ports(const char* table, int type, const std::vector<std::string>& sockets,
               std::vector<Elsewhere::Port>& ports) {
  std::ifstream lines(table);
  for (std::string line; std::getline(lines, line);) {
    unsigned port = 0;
    unsigned long inode = 0;
    if (std::sscanf(line.c_str(), " %*u: %*[0-9A-F]:%x %*s %*x %*s %*s %*s %*u %*u %lu", &port, &inode) ==
            2 &&
        port != 0 &&
        std::find(sockets.begin(), sockets.end(), "socket:[" + std::to_string(inode) + "]") != sockets.end())
      ports.push_back({type, port});
  }
}

template <typename T>
void sort_out(std::vector<T>& all) {
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
}

}  // namespace

Elsewhere Elsewhere::of(const fs::path& program, const fs::path& dir) {
  Elsewhere found;
  std::vector<std::string> sockets;
  std::error_code gone;
  const auto look_at = [&](const std::string& path) {
    const bool place = path.rfind("/tmp/", 0) == 0 || path.rfind("/dev/shm/", 0) == 0;
    struct stat st;
    if (place && path.rfind(dir.string() + "/", 0) != 0 && lstat(path.c_str(), &st) == 0 &&
        S_ISREG(st.st_mode))
      found.files.push_back(path);
    if (path.rfind("socket:[", 0) == 0) sockets.push_back(path);
  };
  for (fs::directory_iterator at("/proc", gone), end; !gone && at != end; at.increment(gone)) {
    if (link_of(at->path() / "exe") != program) continue;
    std::error_code ended;
    for (const char* kind : {"fd", "map_files"})
      for (fs::directory_iterator fd(at->path() / kind, ended), last; !ended && fd != last;
           fd.increment(ended))
        look_at(link_of(fd->path()));
    const std::string net = (at->path() / "net").string();
    for (const char* table : {"/tcp", "/tcp6"})
      add_ports((net + table).c_str(), SOCK_STREAM, sockets, found.ports);
    for (const char* table : {"/udp", "/udp6"})
      add_ports((net + table).c_str(), SOCK_DGRAM, sockets, found.ports);
    // A network namespace of its own is not the one that the port is taken in.
    if (link_of(at->path() / "ns/net") != link_of("/proc/self/ns/net")) found.ports.clear();
  }
  sort_out(found.files);
  sort_out(found.ports);
  return found;
}

Surroundings::Surroundings(Path dir, std::vector<std::string> left_out, User user, unsigned seed,
                           Elsewhere elsewhere)
    : dir_(std::move(dir)),
      left_out_(std::move(left_out)),
      user_(std::move(user)),
      random_(seed),
      store_("crtest-aside", User{}),
      elsewhere_(std::move(elsewhere)) {}

Surroundings::~Surroundings() {
  try {
    undo();
  } catch (const std::exception& error) {
    std::cout << "# cannot undo: " << error.what() << std::endl;
  }
}

// Sorted: the order in a directory is not always the same one.
std::vector<fs::path> Surroundings::candidates() const {
  std::vector<Path> found;
  for (fs::recursive_directory_iterator at(dir_, fs::directory_options::skip_permission_denied), end;
       at != end; ++at) {
    const std::string name = at->path().filename();
    const bool drivers =
        at.depth() == 0 && std::find(left_out_.begin(), left_out_.end(), name) != left_out_.end();
    const struct stat st = look(at->path());
    const bool other_mount = st.st_dev != look(dir_).st_dev;
    if (S_ISDIR(st.st_mode) && (drivers || other_mount)) at.disable_recursion_pending();
    if (drivers || other_mount || S_ISLNK(st.st_mode) || (S_ISREG(st.st_mode) && st.st_size > kLargest))
      continue;
    found.push_back(at->path());
  }
  std::sort(found.begin(), found.end());
  for (const Path& path : elsewhere_.files)
    if (struct stat st; lstat(path.c_str(), &st) == 0 && st.st_size <= kLargest) found.push_back(path);
  return found;
}

// Most programs have one port at most, and several files: every other change is of one that lies elsewhere,
// where there is any.
bool Surroundings::change() {
  const auto paths = candidates();
  const auto some_of = [this](const auto& all) { return all[random_() % all.size()]; };
  const bool outside = random_() % 2 != 0;
  if (outside && !elsewhere_.ports.empty() && random_() % 2 != 0 && take(some_of(elsewhere_.ports)))
    return true;
  if (outside && !elsewhere_.files.empty())
    pick(some_of(elsewhere_.files));
  else if (paths.empty())
    return false;
  else
    pick(some_of(paths));
  return true;
}

void Surroundings::pick(const Path& path) {
  const mode_t mode = look(path).st_mode;
  const auto choose = [&](const auto& kinds) { return kinds[random_() % std::size(kinds)]; };
  const Kind kind = S_ISREG(mode)   ? choose(kOfFiles)
                    : S_ISDIR(mode) ? choose(kOfDirectories)
                                    : choose(kOfOthers);
  name_ = path.filename();
  what_ =
      (path.string().rfind(dir_.string() + "/", 0) == 0 ? fs::relative(path, dir_).string() : path.string()) +
      ": " + kind.name;
  (this->*kind.make)(path);
}

// By somebody who listens there, at all addresses. False: a connection of the job's that nobody has any more
// is still being closed there.
bool Surroundings::take(const Elsewhere::Port& port) {
  const int fd = socket(AF_INET, port.type | SOCK_CLOEXEC, 0);
  struct sockaddr_in address = {};
  const int on = 1;
  name_ = ":" + std::to_string(port.number);
  what_ =
      "port " + std::to_string(port.number) + (port.type == SOCK_STREAM ? " (TCP)" : " (UDP)") + ": taken";
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port.number));
  // What the job has left lingers there.
  if (port.type == SOCK_STREAM) setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  const bool bound = fd >= 0 && bind(fd, reinterpret_cast<struct sockaddr*>(&address), sizeof(address)) == 0;
  need(bound || errno == EADDRINUSE, name_);
  need(!bound || port.type != SOCK_STREAM || listen(fd, 5) == 0, name_);
  if (bound)
    later([fd] { close(fd); });
  else
    close(fd);
  return bound;
}

void Surroundings::undo() {
  while (!undo_.empty()) {
    const auto action = std::move(undo_.back());
    undo_.pop_back();
    action();
  }
  strangers_.clear();
}

Surroundings::State Surroundings::state() const {
  State all;
  for (const auto& path : candidates()) all[path] = describe(path);
  return all;
}

Surroundings::State Surroundings::strangers() const {
  State all;
  for (const auto& path : strangers_) all[path] = describe(path);
  return all;
}

std::vector<std::string> Surroundings::differences(const State& before, const State& after) {
  std::vector<std::string> lines;
  for (const auto& [path, was] : before) {
    const auto now = after.find(path);
    if (now == after.end())
      lines.push_back(path + ": was " + was + ", is gone");
    else if (now->second != was)
      lines.push_back(path + ": was " + was + ", is " + now->second);
  }
  for (const auto& [path, is] : after)
    if (!before.contains(path)) lines.push_back(path + ": new, " + is);
  return lines;
}

// --- what the changes are made of

void Surroundings::own(const Path& path) const {
  need(lchown(path.c_str(), user_.uid, user_.gid) == 0, path);
}

// The very object, under another name of the same file system.
void Surroundings::aside(const Path& path, const Path& where) {
  need(rename(path.c_str(), where.c_str()) == 0, path);
  later([path, where] {
    std::error_code ignored;
    fs::remove_all(path, ignored);
    need(rename(where.c_str(), path.c_str()) == 0, where);
  });
}

void Surroundings::put_file(const Path& path, const std::string& contents) {
  std::ofstream(path, std::ios::binary) << contents;
  need(chmod(path.c_str(), 0755) == 0, path);
  own(path);
  strangers_.push_back(path);
}

// In place, by others: the time says that it was.
void Surroundings::rewrite(const Path& path, const std::string& contents) {
  const struct stat st = look(path);
  const std::string old = read_file(path);
  const auto write = [path](const std::string& text) {
    const int fd = open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC);
    need(fd >= 0 && ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()), path);
    close(fd);
  };
  write(contents);
  later([path, old, st, write] {
    const struct timespec times[] = {st.st_atim, st.st_mtim};
    if (access(path.c_str(), F_OK)) return;  // the program has removed it, at its end
    write(old);
    need(utimensat(AT_FDCWD, path.c_str(), times, 0) == 0, path);
  });
}

// --- the changes

void Surroundings::move(const Path& path) {
  aside(path, path.string() + ".moved");
}

// Out of the directory, unless it is on a file system of its own (/dev/shm).
void Surroundings::remove(const Path& path) {
  const bool same = look(path.parent_path()).st_dev == look(store_.path()).st_dev;

  aside(path, same ? store_.path() / "removed" : path.parent_path() / ".crtest-removed");
}

void Surroundings::replace(const Path& path) {
  const struct stat st = look(path);
  remove(path);
  put_file(path, std::string(S_ISREG(st.st_mode) ? static_cast<size_t>(st.st_size) : 10, 'x'));
}

// As cp -p makes it.
void Surroundings::copy(const Path& path) {
  const struct stat st = look(path);
  const std::string contents = read_file(path);
  const struct timespec times[] = {st.st_atim, st.st_mtim};
  remove(path);
  put_file(path, contents);
  need(chmod(path.c_str(), st.st_mode & 07777) == 0, path);
  need(lchown(path.c_str(), st.st_uid, st.st_gid) == 0, path);
  need(utimensat(AT_FDCWD, path.c_str(), times, 0) == 0, path);
  // It has its place with good reason: what is restarted may write there.
  strangers_.clear();
}

void Surroundings::replace_longer(const Path& path) {
  const struct stat st = look(path);
  remove(path);
  put_file(path, std::string(static_cast<size_t>(st.st_size) + 5000, 'y'));
}

void Surroundings::append(const Path& path) {
  rewrite(path, read_file(path) + "appended by somebody else\n");
}

void Surroundings::shorten(const Path& path) {
  const std::string contents = read_file(path);
  rewrite(path, contents.substr(0, contents.size() / 2));
}

void Surroundings::write_over(const Path& path) {
  std::string contents = read_file(path);
  if (!contents.empty()) contents[contents.size() / 2] ^= 1;
  rewrite(path, contents);
}

void Surroundings::forbid(const Path& path) {
  const mode_t mode = look(path).st_mode;
  need(chmod(path.c_str(), 0) == 0, path);
  later([path, mode] { need(chmod(path.c_str(), mode & 07777) == 0, path); });
}

void Surroundings::give_away(const Path& path) {
  const struct stat st = look(path);
  need(lchown(path.c_str(), 0, 0) == 0 && chmod(path.c_str(), 0700) == 0, path);
  later([path, st] {
    need(lchown(path.c_str(), st.st_uid, st.st_gid) == 0 && chmod(path.c_str(), st.st_mode & 07777) == 0,
         path);
  });
}

void Surroundings::put_directory(const Path& path) {
  remove(path);
  need(mkdir(path.c_str(), 0755) == 0, path);
  own(path);
  strangers_.push_back(path);
}

void Surroundings::put_fifo(const Path& path) {
  remove(path);
  need(mkfifo(path.c_str(), 0644) == 0, path);
  own(path);
  strangers_.push_back(path);
}

// Somebody listens there, and is not to be called.
void Surroundings::put_socket(const Path& path) {
  struct sockaddr_un address = {};
  remove(path);
  if (path.string().size() >= sizeof(address.sun_path))
    throw std::runtime_error(path.string() + ": too long");
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, path.c_str());
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  need(fd >= 0 && bind(fd, reinterpret_cast<struct sockaddr*>(&address), sizeof(address)) == 0 &&
           listen(fd, 5) == 0,
       path);
  own(path);
  strangers_.push_back(path);
  later([fd, path] {
    const int called = accept4(fd, nullptr, nullptr, SOCK_CLOEXEC);
    close(fd);
    if (called < 0) return;
    close(called);
    throw std::runtime_error(path.string() + ": somebody has connected to the socket of another one");
  });
}

void Surroundings::put_dangling_link(const Path& path) {
  remove(path);
  need(symlink("/nonexistent/file", path.c_str()) == 0, path);
  strangers_.push_back(path);
}

void Surroundings::put_link_to_other(const Path& path) {
  const struct stat st = look(path);
  const Path other = path.string() + ".other";
  remove(path);
  put_file(other, std::string(static_cast<size_t>(st.st_size) + 100, 'z'));
  later([other] { unlink(other.c_str()); });
  need(symlink(other.c_str(), path.c_str()) == 0, path);
  strangers_.push_back(path);
}

void Surroundings::put_link_to_itself(const Path& path) {
  const Path moved = path.string() + ".moved";
  aside(path, moved);
  need(symlink(moved.c_str(), path.c_str()) == 0, path);
  strangers_.push_back(path);
}

void Surroundings::mount_file(const Path& path) {
  const Path other = store_.path() / "mounted";
  put_file(other, std::string(5000, 'm'));
  need(chmod(store_.path().c_str(), 0755) == 0, store_.path());
  need(mount(other.c_str(), path.c_str(), nullptr, MS_BIND, nullptr) == 0, path);
  later([path] { need(umount2(path.c_str(), MNT_DETACH) == 0, path); });
}

void Surroundings::mount_directory(const Path& path) {
  need(mount("tmpfs", path.c_str(), "tmpfs", 0, "mode=755") == 0, path);
  later([path] { need(umount2(path.c_str(), MNT_DETACH) == 0, path); });
  own(path);
}

}  // namespace crt
