// SPDX-License-Identifier: LGPL-2.1-or-later
// The context that a file has had is the only one that the program has until there is a new one. So the new
// one gets a name of its own, beside it, and takes its place when it is whole.
//
// No descriptor of the directory is open meanwhile: it would be in the context, and a restart would need the
// directory. Afterwards it is found by its name, or by that of the open file, where the program has changed
// its working directory, or somebody has moved the file's; and it is the right one if the file is in it.
//
// The program may close the descriptor of the file meanwhile, as some close all that they do not know, and
// open another file that gets its number. So that is only used if it still is what was opened.
#include "destination.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>

#include "high_fd.h"
#include "internal.h"

namespace cryo::libcr {
namespace {

constexpr mode_t kMode = 0600;
constexpr int kAttempts = 100;
constexpr time_t kLeft =
    3600;  // seconds after which a temporary file that nobody has written to is thought to be left
constexpr int kLongestBase = 200;         // of the name, in that of the temporary file
constexpr std::size_t kLink = 48;         // "/proc/self/fd/N"
constexpr unsigned int kMemoryMajor = 1;  // of /dev/null
constexpr unsigned int kNullMinor = 3;

bool is_same(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

bool is_of(const Destination& of, const struct stat& found) {
  return found.st_dev == of.dev && found.st_ino == of.ino;
}

// Is the descriptor still what was opened, and nothing of the program's?
bool is_open(const Destination& of) {
  struct stat now {};
  return ::fstat(of.fd, &now) == 0 && is_of(of, now);
}

// Likewise in a restarted process, which has that in the place of what its context was written to.
bool is_null(int fd) {
  struct stat now {};
  return ::fstat(fd, &now) == 0 && S_ISCHR(now.st_mode) && now.st_rdev == makedev(kMemoryMajor, kNullMinor);
}

const char* base_of(const char* path) {
  const char* const slash = ::strrchr(path, '/');
  return slash == nullptr ? path : slash + 1;
}

// That `path` is in, or -1 with errno.
int open_directory(const char* path) {
  char directory[PATH_MAX];
  const auto length = static_cast<std::size_t>(base_of(path) - path);
  if (length + 2 > sizeof(directory)) return fail(ENAMETOOLONG);
  ::memcpy(directory, path, length);
  ::memcpy(directory + length, ".", 2);
  return ::open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

// The name of what is open, as the kernel knows it now. Whether it has one.
bool name_of(int fd, char (&path)[PATH_MAX]) {
  char link[kLink];
  ::snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
  const ssize_t length = ::readlink(link, path, sizeof(path) - 1);
  if (length <= 0) return false;
  path[length] = '\0';
  return path[0] == '/';
}

// ---- before

// Left by a program that was killed? Then it is not there any more.
void remove_if_left(int directory, const char* name) {
  struct stat found {};
  if (::fstatat(directory, name, &found, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(found.st_mode) &&
      found.st_uid == ::geteuid() && found.st_nlink == 1 && ::time(nullptr) - found.st_mtime > kLeft)
    ::unlinkat(directory, name, 0);
}

// The descriptor, or -1 with errno.
int open_temporary(int directory, const char* base, char (&name)[NAME_MAX + 1]) {
  for (int attempt = 0; attempt < 2 * kAttempts; ++attempt) {
    ::snprintf(name, sizeof(name), ".%.*s.new.%d", kLongestBase, base, attempt / 2);
    const int fd = ::openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kMode);
    if (fd >= 0 || errno != EEXIST) return fd;
    remove_if_left(directory, name);
  }
  return fail(EEXIST);
}

// Is a file mounted there? No other one can have its name then.
bool is_mounted(int place) {
  struct statx status {};
  return ::statx(place, "", AT_EMPTY_PATH, STATX_TYPE, &status) != 0 ||
         ((status.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0);
}

// May another file take its place? rmdir(2) of what is no directory asks for the same right as rename(2), and
// does nothing.
bool is_replaceable(int directory, const char* base) {
  return ::unlinkat(directory, base, AT_REMOVEDIR) != 0 && (errno == ENOTDIR || errno == ENOENT);
}

// Whoever has that open wants it to be written to, whatever its name is.
bool is_descriptor(const char* path) {
  constexpr const char* kDescriptors[] = {"/dev/fd/", "/dev/stdout", "/dev/stderr", "/proc/self/fd/",
                                          "/proc/thread-self/fd/"};
  return std::any_of(std::begin(kDescriptors), std::end(kDescriptors),
                     [path](const char* start) { return ::strncmp(path, start, ::strlen(start)) == 0; });
}

// What is there already, to which links may lead: as the kernel follows them, which keeps one from those of
// others in /tmp. Its own name in `path`; or nothing. False: it has to be written in place.
bool find_old(const char* filename, char (&path)[PATH_MAX]) {
  struct stat named {};
  struct stat found {};
  path[0] = '\0';
  if (is_descriptor(filename)) return false;
  if (::lstat(filename, &named) != 0) return errno == ENOENT;
  const int place = ::open(filename, O_PATH | O_CLOEXEC);
  bool good = place >= 0 && ::fstat(place, &found) == 0 && S_ISREG(found.st_mode) && found.st_nlink > 0 &&
              !is_mounted(place);
  if (good && S_ISLNK(named.st_mode)) {
    struct stat again {};
    good = name_of(place, path) && ::lstat(path, &again) == 0 && is_same(found, again);
  }
  if (place >= 0) ::close(place);
  return good;
}

Destination* make(const char* path) {
  const std::size_t length = ::strlen(path) + 1;
  auto* const made = static_cast<Destination*>(std::calloc(1, sizeof(Destination) + length));
  if (made != nullptr) ::memcpy(made->path, path, length);
  return made;
}

// `fd`, which may be -1, is the one to write to. Out of the way of what the program opens. Whether it is one.
bool take(Destination& made, int fd) {
  struct stat opened {};
  made.fd = move_high(fd);
  if (made.fd < 0) return false;
  if (::fstat(made.fd, &opened) != 0) opened = {};
  made.dev = opened.st_dev;
  made.ino = opened.st_ino;
  return true;
}

// Where the file is, for when the program has closed the descriptor and has changed its working directory.
void note_place(Destination& made) {
  char path[PATH_MAX];
  if (made.path[0] != '/' && name_of(made.fd, path)) made.place = ::strdup(path);
}

void discard(Destination* destination) {
  const ErrnoSaver saver;
  std::free(destination->place);
  std::free(destination);
}

// With errno EACCES where no other file can have the name.
bool open_beside(Destination& made, bool is_new) {
  const char* const base = base_of(made.path);
  const int directory = open_directory(made.path);
  if (directory < 0) return false;
  const bool may = *base != '\0' && (is_new || is_replaceable(directory, base));
  const bool good = take(made, may ? open_temporary(directory, base, made.name) : fail(EACCES));
  const ErrnoSaver saver;
  ::close(directory);
  return good;
}

bool open_in_place(Destination& made) {
  made.name[0] = '\0';
  return take(made, ::open(made.path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kMode));
}

// ---- after

// The directory of `path`, if it has the file by `name`, or -1.
int find_directory(const char* path, const Destination& of, const char* name) {
  struct stat named {};
  const int directory = open_directory(path);
  if (directory < 0) return -1;
  if (::fstatat(directory, name, &named, AT_SYMLINK_NOFOLLOW) == 0 && is_of(of, named)) return directory;
  ::close(directory);
  return -1;
}

int find_directory(const Destination& of, const char* name) {
  int directory = find_directory(of.path, of, name);
  char now[PATH_MAX];
  if (directory < 0 && is_open(of) && name_of(of.fd, now)) directory = find_directory(now, of, name);
  if (directory < 0 && of.place != nullptr) directory = find_directory(of.place, of, name);
  return directory;
}

// At once, and not when it is on the disk: whoever else takes a checkpoint in between has the temporary file
// open in it, which is gone when that is restarted.
void end_temporary(const Destination& ended, bool written) {
  const int directory = find_directory(ended, ended.name);
  if (directory < 0) return;  // somebody has removed it
  if (!written || ::renameat(directory, ended.name, directory, base_of(ended.path)) != 0)
    ::unlinkat(directory, ended.name, 0);
  ::close(directory);
}

// What is no context is removed: a file of one's own, and by the name that it was opened by.
void end_in_place(const Destination& ended) {
  struct stat open {};
  const char* const base = base_of(ended.path);
  const int directory = find_directory(ended, base);
  // Otherwise it is opened again.
  const bool is_there = is_open(ended);
  const int fd = is_there ? ended.fd
                 : directory < 0
                     ? -1
                     : ::openat(directory, base, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (::fstat(fd, &open) == 0 && is_of(ended, open) && S_ISREG(open.st_mode) && ::ftruncate(fd, 0) == 0 &&
      directory >= 0 && open.st_uid == ::geteuid())
    ::unlinkat(directory, base, 0);
  if (!is_there && fd >= 0) ::close(fd);
  if (directory >= 0) ::close(directory);
}

}  // namespace

Destination* open_destination(const char* filename) {
  char path[PATH_MAX];
  const bool beside = find_old(filename, path);
  Destination* const made = make(path[0] != '\0' ? path : filename);
  if (made == nullptr) return nullptr;
  struct stat old {};
  if (beside && open_beside(*made, ::lstat(made->path, &old) != 0)) {
    made->kind = Destination::kTemporary;
    note_place(*made);
    return made;
  }
  made->kind = Destination::kInPlace;
  const bool may_be_in_place = !beside || errno == EACCES || errno == EPERM || errno == EROFS;
  if (may_be_in_place && open_in_place(*made)) {
    note_place(*made);
    return made;
  }
  discard(made);
  return nullptr;
}

Destination* destination_of(int fd) {
  Destination* const made = make("");
  if (made == nullptr) return nullptr;
  made->kind = Destination::kGiven;
  if (take(*made, ::fcntl(fd, F_DUPFD_CLOEXEC, 0))) return made;
  discard(made);
  return nullptr;
}

void end_destination(Destination* destination, Outcome outcome) {
  const ErrnoSaver saver;
  if (outcome != Outcome::kRestarted && destination->kind == Destination::kTemporary)
    end_temporary(*destination, outcome == Outcome::kWritten);
  if (outcome == Outcome::kFailed && destination->kind == Destination::kInPlace) end_in_place(*destination);
  if (outcome == Outcome::kRestarted ? is_null(destination->fd) : is_open(*destination))
    ::close(destination->fd);
  discard(destination);
}

}  // namespace cryo::libcr
