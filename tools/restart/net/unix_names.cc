// SPDX-License-Identifier: GPL-2.0-only
#include "restart/net/unix_names.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "base/error.h"
#include "base/place.h"
#include "restart/common/helper_process.h"
#include "restart/net/bound_sockets.h"
#include "restart/net/socket_holder.h"
#include "restart/ns/mounts.h"
#include "restart/ns/namespaces.h"
#include "restart/process/root_directory.h"
#include "restart/process/working_directory.h"
#include "restart/rights/identity.h"

namespace cryo {
namespace {

// Where anybody may make what is removed at once.
constexpr const char* kForTheMoment = "/tmp";

// Nobody else has any right to what is made meanwhile.
class PrivateUmask {
 public:
  PrivateUmask() : before_(::umask(077)) {}
  ~PrivateUmask() { ::umask(before_); }
  PrivateUmask(const PrivateUmask&) = delete;
  PrivateUmask& operator=(const PrivateUmask&) = delete;

 private:
  const mode_t before_;
};

std::string place_directory(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

std::string without_dots(std::string path) {
  while (path.starts_with("./")) path.erase(0, 2);
  return path;
}

bool is_absolute(const std::string& path) {
  return path.starts_with('/');
}

Bytes saved_address(const File& file) {
  return file.socket ? file.socket->address : file.connection ? file.connection->name : Bytes();
}

// Who has another root directory has bound it to a name that leads elsewhere from here, which is not moved
// either.
void find_root(UnixName& name, const Context& context, const File& file, const Relocations& relocations) {
  Socket socket;
  socket.head.family = AF_UNIX;
  socket.address = saved_address(file);
  const SocketAddress inside = socket_address(socket, {});
  if (name.unlinked || !is_absolute(inside.path) || inside.path == name.place) return;
  name.root = root_of_name(context, relocations, name.place, inside.path);
  if (!name.root.empty()) name.address = inside;
}

// Where the working directory was when it was bound, if what it was bound to still leads to its place from
// there. In a mount namespace of the job's own it may do so by links, which the checkpoint has seen.
std::optional<std::string> directory_for(const UnixName& name) {
  if (!name.root.empty()) return "/";
  if (is_absolute(name.address.path)) {
    if (name.address.path != name.place && name.mnt == 0) return {};
    return "/";
  }
  const std::string tail = '/' + without_dots(name.address.path);
  if (!name.place.ends_with(tail)) return {};
  const std::string directory = name.place.substr(0, name.place.size() - tail.size());
  return directory.empty() ? "/" : directory;
}

enum class NamePlace { kFree, kStale, kInUse, kOther };

// The one of the checkpoint, or one that an earlier restart has made, which has its time: nobody changes that
// by calling it.
bool is_socket_of_the_job(const cryo_inode& file, int place, const struct stat& now) {
  if (identity_of(file, place) == Identity::kSame) return true;
  return now.st_mtim.tv_sec == file.mtime_sec && now.st_mtim.tv_nsec == static_cast<long>(file.mtime_nsec);
}

// A process that was killed may have its sockets a moment longer than its pid.
bool stays_in_use(const UnixName& name, int place) {
  constexpr int kTries = 40;
  for (int i = 0; i < kTries; ++i) {
    if (!is_bound(place, name.type, name.address.path)) return false;
    ::usleep(50000);
  }
  return true;
}

NamePlace state_at(const UnixName& name, const UniqueFd& place) {
  struct stat now;
  if (!place || ::fstat(place.get(), &now) != 0)
    return errno == ENOENT || errno == ENOTDIR ? NamePlace::kFree : NamePlace::kOther;
  if (!S_ISSOCK(now.st_mode)) return NamePlace::kOther;
  // An early context does not say which one it was: as long as nobody has it, it may be anybody's.
  if (name.file != nullptr && !is_socket_of_the_job(*name.file, place.get(), now)) return NamePlace::kOther;
  return stays_in_use(name, place.get()) ? NamePlace::kInUse : NamePlace::kStale;
}

// In a mount namespace of the job's own the name leads elsewhere.
std::string used_name_problem(const UnixName& name) {
  const UniqueFd place = name.mnt == 0 ? names::open(name.place, O_PATH | O_NOFOLLOW) : UniqueFd();
  const std::string holder = place ? holder_of(sockets_bound_to(place.get(), name.address.path)) : "";
  return fmt::format(
      "{} is in use by {} (end that, or --relocate=OLD=NEW gives the socket of the job another name)",
      name.place, holder.empty() ? "another process" : holder);
}

std::string other_name_problem(const UnixName& name) {
  return fmt::format(
      "the name {} now refers to a different socket or file (remove or rename that, or --relocate=OLD=NEW "
      "gives the socket of the job another name)",
      name.place);
}

NamePlace state_of(const UnixName& name) {
  return state_at(name, names::open(name.place, O_PATH | O_NOFOLLOW));
}

// Is what has the path the leftover of a socket of the job that is going to have it again?
bool will_be_replaced(const Context& context, const Relocations& relocations, const std::string& path) {
  for (const auto& [id, file] : context.files) {
    const UnixName name = unix_name_of(context, file, relocations);
    if (!name.unlinked && name.mnt == 0 && name.place == path) return state_of(name) == NamePlace::kStale;
  }
  return false;
}

// What becomes of a directory that is missing.
enum class Missing { kIsMade, kCanBeMade, kStays };

std::string directory_problem(const std::string& path, Missing missing, int& code) {
  const std::string directory = missing == Missing::kIsMade ? nearest_directory(path) : place_directory(path);
  if (names::access(directory, W_OK | X_OK) == 0) return {};
  code = errno;
  return fmt::format(
      "the socket {} cannot be made: {}: {}{}", path, directory, way_error(errno),
      code == ENOENT && missing == Missing::kCanBeMade ? " (--restore-files makes the directory)" : "");
}

// Nothing is made in a mount namespace of the job's own.
Missing missing_directory_of(const UnixName& name, const RestartOptions& options) {
  if (name.mnt != 0) return Missing::kStays;
  return options.restore_files ? Missing::kIsMade : Missing::kCanBeMade;
}

std::string owner_problem(const UnixName& name, int& code) {
  if (name.file == nullptr || names::owner() == name.file->uid || names::may_give_away()) return {};
  code = EPERM;
  return fmt::format("the socket {} cannot be given to user {}", name.place, name.file->uid);
}

// For one that loses or changes its name at once, an absolute one.
std::string passing_problem(const Context& context, const UnixName& name, const Relocations& relocations,
                            int& code) {
  const std::string& path = name.address.path;
  struct stat now;
  if (names::lstat(path, now) == 0 && !will_be_replaced(context, relocations, path)) {
    if (may_enter_root()) return {};
    return fmt::format(
        "it was bound to {}, which is in use: that requires CAP_SYS_CHROOT or unprivileged user namespaces",
        path);
  }
  // Its directory may have gone as well.
  if (names::access(place_directory(path), F_OK) != 0) return {};
  return directory_problem(path, Missing::kStays, code);
}

}  // namespace

UnixName unix_name_of(const Context& context, const File& file, const Relocations& relocations) {
  UnixName name;
  Socket socket;
  std::string path;
  if (file.socket) {
    socket.head = file.socket->head;
    socket.address = file.socket->address;
    path = file.socket->path;
    name.unlinked = (file.socket->head.flags & CRYO_SOCK_UNLINKED) != 0;
  } else if (file.connection) {
    socket.head.family = file.connection->head.family;
    socket.head.type = file.connection->head.type;
    socket.address = file.connection->name;
    path = file.connection->path;
    name.unlinked = (file.connection->head.flags & CRYO_SOCK_STATE_UNLINKED) != 0;
  }
  if (socket.head.family != AF_UNIX) return name;
  name.type = static_cast<int>(socket.head.type);
  name.address = socket_address(socket, relocations);
  if (name.address.path.empty()) return name;
  name.place = path.empty() ? name.address.path : relocations.apply(path);
  if (file.socket_file && !name.unlinked) name.file = &*file.socket_file;
  if (!name.unlinked) name.mnt = file.name_mnt;
  if (name.mnt == 0) find_root(name, context, file, relocations);
  return name;
}

std::string abstract_name(const Bytes& address) {
  constexpr std::size_t kPath = offsetof(sockaddr_un, sun_path);
  if (address.size() <= kPath || address[kPath] != std::byte{0}) return {};
  std::string text = "@";
  for (std::size_t i = kPath + 1; i < address.size(); ++i) {
    const auto byte = std::to_integer<unsigned char>(address[i]);
    if (byte > ' ' && byte < 0x7f && byte != '\\')
      text += static_cast<char>(byte);
    else
      text += fmt::format("\\x{:02x}", byte);
  }
  return text;
}

std::string gone_name_problem(const SocketAddress& address) {
  if (address.path.empty()) return {};
  std::string reason;
  if (is_absolute(address.path) && !may_enter_root())
    reason = "it requires CAP_SYS_CHROOT or unprivileged user namespaces";
  else if (names::access(kForTheMoment, W_OK | X_OK) != 0)
    reason = fmt::format("{}: {}", kForTheMoment, way_error(errno));
  if (reason.empty()) return {};
  return fmt::format("a datagram that waits will have lost its sender's name {}: {}", address.path, reason);
}

std::string unix_name_problem(const Context& context, const File& file, const RestartOptions& options,
                              int& code) {
  const Relocations& relocations = options.relocations;
  UnixName name = unix_name_of(context, file, relocations);
  code = EADDRINUSE;
  if (name.address.path.empty()) return {};
  if (name.mnt != 0) {
    // Who has it binds it there, whatever else has that name here.  In a file system that is made anew there
    // is nothing to look at.
    const auto outside = outer_path(context, name.mnt, name.place);
    if (!outside) return {};
    name.place = *outside;
  }
  if (name.unlinked)
    return is_absolute(name.address.path) ? passing_problem(context, name, relocations, code) : std::string();
  if (std::string text = directory_problem(name.place, missing_directory_of(name, options), code);
      !text.empty())
    return text;
  switch (state_of(name)) {
    case NamePlace::kInUse:
      return used_name_problem(name);
    case NamePlace::kOther:
      return other_name_problem(name);
    case NamePlace::kFree:
    case NamePlace::kStale:
      break;
  }
  if (std::string text = owner_problem(name, code); !text.empty() || name.mnt != 0) return text;
  if (is_absolute(name.address.path) && !directory_for(name))
    return passing_problem(context, name, relocations, code);
  return {};
}

namespace {

int bind_as_called(int fd, const UnixName& name) {
  const auto* address = reinterpret_cast<const sockaddr*>(name.address.bytes.data());
  const auto size = static_cast<socklen_t>(name.address.bytes.size());
  if (name.root.empty()) return names::bind(fd, address, size);
  const bool own_user_namespace = is_capable_of_nothing();
  (void)in_helper_process([&] {
    enter_root(name.root);
    // In a user namespace of his own, he has no other user's rights anyway.
    std::optional<OwnNames> own;
    if (own_user_namespace) own.emplace();
    if (names::bind(fd, address, size) != 0)
      fail_errno("cannot bind a socket to {} in the root directory {}", name.address.path, name.root);
    return UniqueFd();
  });
  return 0;
}

}  // namespace

// The name is made with no rights for others, who are to find what the socket's file says at the end.
UniqueFd UnixNames::bind_at(int fd, const UnixName& name, const std::string& path) {
  const DeathDeferred deferred(input_.created);
  const PrivateUmask only_ours;
  if (bind_as_called(fd, name) != 0)
    fail(errno, "cannot bind a socket to {}: {}", name.address.path, way_error(errno));
  input_.created.add(path);
  UniqueFd file = names::open(path, O_PATH | O_NOFOLLOW);
  struct stat now;
  if (!file || ::fstat(file.get(), &now) != 0 || !S_ISSOCK(now.st_mode))
    fail(ESTALE, "{}: the socket that has just been made is not there", path);
  // By which the next restart knows it, whatever becomes of this one.
  if (name.file != nullptr && names::set_time(file.get(), *name.file) != 0)
    fail_errno("cannot set the time of the socket {}", path);
  return file;
}

// What an earlier life of the job has left there.
void UnixNames::make_room(const std::string& path) {
  if (names::unlinkat(AT_FDCWD, path, 0) != 0) fail_errno("cannot remove the old socket {}", path);
}

// One below `directory`, or where anybody may make one. It goes with missing_.
std::string UnixNames::make_directory(const std::string& directory) {
  const PrivateUmask only_ours;
  std::string path = (directory == "/" ? "" : directory) + "/.cryo-XXXXXX";
  bool made = names::make_temporary_directory(path);
  if (!made) {
    path = "/tmp/cryo-XXXXXX";
    made = names::make_temporary_directory(path);
  }
  if (!made) fail_errno("cannot create a directory for a socket");
  missing_.note(path);
  return path;
}

// In a directory of its own below `directory`, in which the relative name leads to where nothing else is.
// `path`: where that is.
UniqueFd UnixNames::bind_below(int fd, const UnixName& name, const std::string& directory,
                               std::string& path) {
  const std::string base = make_directory(directory);
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= name.address.path.size();) {
    const std::size_t end = std::min(name.address.path.find('/', at), name.address.path.size());
    if (const std::string part = name.address.path.substr(at, end - at); !part.empty() && part != ".")
      parts.push_back(part);
    at = end + 1;
  }
  // From as far down as the name goes up.
  std::string here = base;
  for (const std::string& part : parts)
    if (part == "..") here += "/d";
  const std::string start = here;
  bool made = missing_.make_above(start + "/x");
  for (std::size_t i = 0; made && i + 1 < parts.size(); ++i) {
    here = parts[i] == ".." ? place_directory(here) : here + "/" + parts[i];
    made = missing_.make_above(here + "/x");
  }
  if (!made) fail_errno("cannot create a directory for the socket {}", name.place);
  path = here + "/" + (parts.empty() ? "." : parts.back());
  const WorkingDirectory there(start);
  return bind_at(fd, name, path);
}

namespace {

// Of a path from a root directory, which nothing is above.
std::string without_way_out(const std::string& path) {
  std::string inside;
  std::size_t depth = 0;
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    const std::string part = path.substr(at, end - at);
    at = end + 1;
    if (part.empty() || part == "." || (part == ".." && depth == 0)) continue;
    depth += part == ".." ? -1 : 1;
    inside += "/" + part;
  }
  return inside;
}

}  // namespace

// An absolute name that is something else's by now: in a directory that is the root directory for the moment
// of the call.
UniqueFd UnixNames::bind_in_root(int fd, const UnixName& name, const std::string& directory,
                                 std::string& path) {
  UnixName inside = name;
  inside.root = make_directory(directory);
  path = inside.root + without_way_out(name.address.path);
  if (!missing_.make_above(path)) fail_errno("cannot create a directory for the socket {}", name.place);
  return bind_at(fd, inside, path);
}

UniqueFd UnixNames::bind_unlinked(int fd, const UnixName& name) {
  std::string path = name.address.path;
  UniqueFd file;
  if (is_absolute(path)) {
    struct stat now;
    (void)missing_.make_above(path);
    bool taken = names::lstat(path, now) == 0;
    if (taken && will_be_replaced(input_.context, input_.options.relocations, path)) {
      make_room(path);
      taken = false;
    }
    file = taken ? bind_in_root(fd, name, kForTheMoment, path) : bind_at(fd, name, path);
  } else {
    const std::string directory = place_directory(name.place);
    file = bind_below(fd, name, is_absolute(directory) ? directory : kForTheMoment, path);
  }
  unlink_again(path);
  return file;
}

void UnixNames::unlink_again(const std::string& path) {
  // Who has exchanged it has it.
  if (!input_.created.discard(path)) input_.created.remove(path);
  missing_.remove();
}

void UnixNames::bind_gone(int fd, const SocketAddress& address) {
  UnixName name;
  name.address = address;
  name.place = address.path;
  std::string path;
  const UniqueFd file = is_absolute(address.path) ? bind_in_root(fd, name, kForTheMoment, path)
                                                  : bind_below(fd, name, kForTheMoment, path);
  unlink_again(path);
}

UniqueFd UnixNames::bind_in_place(int fd, const UnixName& name) {
  if (is_absolute(name.address.path)) return bind_at(fd, name, name.place);
  const WorkingDirectory there(directory_for(name).value());
  return bind_at(fd, name, name.place);
}

// Under the name to which it was bound first, which somebody has changed since.
UniqueFd UnixNames::bind_and_rename(int fd, const UnixName& name) {
  std::string path = name.address.path;
  UniqueFd file;
  struct stat now;
  if (is_absolute(path)) {
    (void)missing_.make_above(path);
    file = names::lstat(path, now) == 0 ? bind_in_root(fd, name, place_directory(name.place), path)
                                        : bind_at(fd, name, path);
  } else {
    file = bind_below(fd, name, place_directory(name.place), path);
  }
  const DeathDeferred deferred(input_.created);
  if (names::rename(path, name.place) != 0) fail_errno("cannot rename {} to {}", path, name.place);
  input_.created.add(name.place);
  input_.created.remove(path);
  missing_.remove();
  return file;
}

namespace {

// What the checkpoint has seen may lead elsewhere by now where it is a directory of the machine.
void expect_same_directory(const UnixName& name) {
  if (!is_absolute(name.address.path) || name.address.path == name.place) return;
  struct stat way, place;
  if (names::stat(place_directory(name.address.path), way) != 0 ||
      names::stat(place_directory(name.place), place) != 0 || way.st_dev != place.st_dev ||
      way.st_ino != place.st_ino)
    fail(ESTALE, "the socket {} cannot be made: {} does not lead there", name.place, name.address.path);
}

// By a process that is there.
void bind_there(int fd, const UnixName& name, const std::string& directory) {
  if (names::chdir(directory) != 0)
    fail_errno("{}: cannot change to this directory to bind a socket", directory);
  expect_same_directory(name);
  if (names::bind(fd, reinterpret_cast<const sockaddr*>(name.address.bytes.data()),
                  static_cast<socklen_t>(name.address.bytes.size())) != 0)
    fail_errno("cannot bind a socket to {}", name.address.path);
}

// `directory` (O_PATH) gets it back. What has been filled is not the process's to change: with the rights of
// who has filled it.
void set_time_back(const UniqueFd& directory, const timespec& time) {
  const OwnNames own;
  const UniqueFd fd = names::open_below(directory.get(), ".", O_RDONLY | O_DIRECTORY, 0);
  const timespec times[] = {{0, UTIME_OMIT}, time};
  if (!fd || ::futimens(fd.get(), times) != 0) fail_errno("cannot set the time of the directory of a socket");
}

}  // namespace

// Where it is a file of the machine it is not to stay when the restart fails. With the namespace goes all
// that is only there.
void UnixNames::note_outside(const std::optional<std::string>& path, const struct stat& made) {
  struct stat now;
  if (path && names::lstat(*path, now) == 0 && now.st_dev == made.st_dev && now.st_ino == made.st_ino)
    input_.created.add(*path);
}

// By a process that goes there; all else is done through the root directory of the namespace. The directory
// of a file system that is made anew keeps the time that it has just been given.
UniqueFd UnixNames::bind_inside(int fd, const UnixName& name) {
  const int root = input_.roots.at(name.mnt).get();
  const std::string below = name.place.substr(1);
  const auto directory = directory_for(name);
  const auto outside = outer_path(input_.context, name.mnt, name.place);
  const NamePlace state = state_at(name, names::open_below(root, below, O_PATH | O_NOFOLLOW, 0));
  if (state == NamePlace::kInUse) fail(EADDRINUSE, "{}", used_name_problem(name));
  if (state == NamePlace::kOther || !directory) fail(EADDRINUSE, "{}", other_name_problem(name));
  const UniqueFd above =
      names::open_below(root, place_directory(below), O_PATH | O_DIRECTORY | O_NOFOLLOW, 0);
  struct stat before, now;
  if (!above || ::fstat(above.get(), &before) != 0)
    fail_errno("{}: cannot look at the directory of the socket", name.place);
  if (state == NamePlace::kStale && names::unlinkat(root, below, 0) != 0)
    fail_errno("cannot remove the old socket {}", name.place);
  const DeathDeferred deferred(input_.created);
  const PrivateUmask only_ours;
  (void)input_.namespaces.inside_mounts(name.mnt, [&] {
    bind_there(fd, name, *directory);
    if (!outside) set_time_back(above, before.st_mtim);
    return UniqueFd();
  });
  UniqueFd file = names::open_below(root, below, O_PATH | O_NOFOLLOW, 0);
  if (!file || ::fstat(file.get(), &now) != 0 || !S_ISSOCK(now.st_mode))
    fail(ESTALE, "{}: the socket that has just been made is not there", name.place);
  note_outside(outside, now);
  if (name.file != nullptr && names::set_time(file.get(), *name.file) != 0)
    fail_errno("cannot set the time of the socket {}", name.place);
  return file;
}

void UnixNames::bind(std::uint32_t id, int fd, const UnixName& name) {
  if (name.address.path.empty()) {
    if (!name.address.bytes.empty() &&
        names::bind(fd, reinterpret_cast<const sockaddr*>(name.address.bytes.data()),
                    static_cast<socklen_t>(name.address.bytes.size())) != 0)
      fail_errno("cannot bind a socket to the abstract name {}", abstract_name(name.address.bytes));
    return;
  }
  Bound bound;
  bound.name = name;
  if (name.file != nullptr) bound.attributes = *name.file;
  if (name.unlinked) {
    bound.file = bind_unlinked(fd, name);
  } else if (name.mnt != 0) {
    bound.file = bind_inside(fd, name);
  } else {
    const NamePlace state = state_of(name);
    if (state == NamePlace::kInUse) fail(EADDRINUSE, "{}", used_name_problem(name));
    if (state == NamePlace::kOther) fail(EADDRINUSE, "{}", other_name_problem(name));
    struct stat old;
    if (state == NamePlace::kStale && names::lstat(name.place, old) == 0) {
      // An early context does not tell.
      if (!bound.attributes) {
        bound.attributes.emplace();
        bound.attributes->mode = old.st_mode;
        bound.attributes->uid = old.st_uid;
        bound.attributes->gid = old.st_gid;
      }
      make_room(name.place);
    }
    // They stay, as there is something in them then.
    if (input_.options.restore_files) (void)missing_.make_above(name.place);
    bound.file = directory_for(name) ? bind_in_place(fd, name) : bind_and_rename(fd, name);
  }
  bound.file = input_.descriptors.park(std::move(bound.file));
  bound.owner = NamesOf::current();
  bound_.insert_or_assign(id, std::move(bound));
}

std::optional<Bytes> UnixNames::way_to(std::uint32_t id) const {
  const auto found = bound_.find(id);
  if (found == bound_.end()) return {};
  sockaddr_un way{};
  way.sun_family = AF_UNIX;
  const std::string path = fmt::format("/proc/self/fd/{}", found->second.file.get());
  std::memcpy(way.sun_path, path.c_str(), path.size() + 1);
  const auto* bytes = reinterpret_cast<const std::byte*>(&way);
  return Bytes(bytes, bytes + offsetof(sockaddr_un, sun_path) + path.size() + 1);
}

void UnixNames::finish() {
  for (const auto& [id, bound] : bound_) {
    if (bound.name.unlinked || !bound.attributes) continue;
    const std::vector<std::size_t> owner =
        bound.owner == NamesOf::kOwn ? everybody(input_.context) : std::vector<std::size_t>{bound.owner};
    const NamesOf theirs(input_.context, owner);
    if (names::set_attributes(bound.file.get(), *bound.attributes) != 0)
      fail_errno("cannot give the socket {} to user {}, group {}, with mode {:04o}", bound.name.place,
                 bound.attributes->uid, bound.attributes->gid, bound.attributes->mode & 07777);
  }
  bound_.clear();
}

}  // namespace cryo
