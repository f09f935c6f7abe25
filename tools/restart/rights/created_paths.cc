// SPDX-License-Identifier: GPL-2.0-only
#include "restart/rights/created_paths.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <optional>

#include "base/data_range.h"
#include "base/error.h"
#include "context/model.h"
#include "restart/rights/names.h"
#include "restart/stub/shared_report.h"

namespace cryo {

// Either this sees that all is being ended, or end() sees this.
DeathDeferred::DeathDeferred(CreatedPaths& created) : ledger_(created.ledger_), parent_(::getppid()) {
  if (::prctl(PR_SET_PDEATHSIG, 0) != 0) fail_errno("PR_SET_PDEATHSIG");
  __atomic_add_fetch(&ledger_.deferring, 1, __ATOMIC_SEQ_CST);
  if (__atomic_load_n(&ledger_.ending, __ATOMIC_SEQ_CST) == 0) return;
  __atomic_sub_fetch(&ledger_.deferring, 1, __ATOMIC_SEQ_CST);
  ::_exit(stub::kFailureStatus);
}

DeathDeferred::~DeathDeferred() {
  __atomic_sub_fetch(&ledger_.deferring, 1, __ATOMIC_SEQ_CST);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent_) ::_exit(stub::kFailureStatus);
}

namespace {

constexpr timespec kPause{0, 1000000};
constexpr int kPauses = 5000;      // then whoever it was has been killed by others, or has been stopped
constexpr char kRemoved = '\x01';  // in place of an entry's first byte; no path or tag begins with it

// What is noted of a name, in front of it: whose it is, the directory it was made in, and what was made.
struct Made {
  std::size_t process = NamesOf::kOwn;
  std::uint64_t directory_dev = 0, directory_ino = 0;
  std::uint64_t dev = 0, ino = 0;
  std::string name;
  std::string of;  // of a tail: the file that it is of, `end` bytes long before it is cut; empty: it is none
  std::uint64_t end = 0;
  std::uint64_t of_dev = 0, of_ino = 0;
};

constexpr const char* kFormat = "%zx %lx %lx %lx %lx %lx %lx %lx %zx%n";

std::string text_of(const Made& made) {
  return fmt::format("{:x} {:x} {:x} {:x} {:x} {:x} {:x} {:x} {:x} {}{}", made.process, made.directory_dev,
                     made.directory_ino, made.dev, made.ino, made.end, made.of_dev, made.of_ino,
                     made.of.size(), made.of, made.name);
}

Made made_of(const std::string& text) {
  Made made;
  int end = 0;
  unsigned long numbers[7] = {};
  std::size_t of = 0;
  if (std::sscanf(text.c_str(), kFormat, &made.process, &numbers[0], &numbers[1], &numbers[2], &numbers[3],
                  &numbers[4], &numbers[5], &numbers[6], &of, &end) == 9 &&
      static_cast<std::size_t>(end) + of < text.size()) {
    made.of = text.substr(static_cast<std::size_t>(end) + 1, of);
    made.name = text.substr(static_cast<std::size_t>(end) + 1 + of);
  }
  made.directory_dev = numbers[0], made.directory_ino = numbers[1];
  made.dev = numbers[2], made.ino = numbers[3];
  made.end = numbers[4], made.of_dev = numbers[5], made.of_ino = numbers[6];
  return made;
}

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

bool is(const struct stat& now, std::uint64_t dev, std::uint64_t ino) {
  return now.st_dev == dev && now.st_ino == ino;
}

// The name, if it is in the directory that it was made in, and what was made has it.
bool remove_path(const Made& made) {
  const UniqueFd directory = names::open(directory_of(made.name), O_PATH | O_DIRECTORY);
  struct stat now;
  if (!directory || ::fstat(directory.get(), &now) != 0 || !is(now, made.directory_dev, made.directory_ino))
    return false;
  const std::string last = made.name.substr(made.name.rfind('/') + 1);
  if (::fstatat(directory.get(), last.c_str(), &now, AT_SYMLINK_NOFOLLOW) != 0 ||
      !is(now, made.dev, made.ino))
    return false;
  return names::unlinkat(directory.get(), last, S_ISDIR(now.st_mode) ? AT_REMOVEDIR : 0) == 0;
}

// Has `file`, from `offset` on, what is in `part`?
bool holds(int file, std::uint64_t offset, int part) {
  std::array<char, 65536> theirs, here;
  const off_t size = ::lseek(part, 0, SEEK_END);
  for (auto data = next_data(part, 0, static_cast<std::uint64_t>(size)); data;
       data = next_data(part, data->end, static_cast<std::uint64_t>(size)))
    for (std::uint64_t at = data->start; at < data->end;) {
      const std::size_t step = std::min<std::uint64_t>(data->end - at, here.size());
      const ssize_t got = ::pread(part, here.data(), step, static_cast<off_t>(at));
      if (got <= 0 ||
          ::pread(file, theirs.data(), static_cast<std::size_t>(got), static_cast<off_t>(offset + at)) !=
              got ||
          std::memcmp(here.data(), theirs.data(), static_cast<std::size_t>(got)) != 0)
        return false;
      at += static_cast<std::uint64_t>(got);
    }
  return size >= 0;
}

// Who has been cut may have grown again: it is asked for what was cut off, which is nowhere else then, or so
// it may be.
bool has_been_cut(const Made& made) {
  struct stat now;
  const UniqueFd of = names::open_regular(made.of), tail = names::open_regular(made.name);
  if (!of || !tail || ::fstat(of.get(), &now) != 0 || !is(now, made.of_dev, made.of_ino)) return true;
  const off_t length = ::lseek(tail.get(), 0, SEEK_END);
  return length < 0 || static_cast<std::uint64_t>(length) > made.end ||
         !holds(of.get(), made.end - static_cast<std::uint64_t>(length), tail.get());
}

// What a server has been told to cut it may cut when who told it has been killed.
bool is_served(const std::string& file) {
  constexpr long kHere[] = {EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC, F2FS_SUPER_MAGIC,
                            TMPFS_MAGIC};
  struct statfs system;
  const UniqueFd place = names::open(file, O_PATH);
  return !place || ::fstatfs(place.get(), &system) != 0 ||
         std::find(std::begin(kHere), std::end(kHere), system.f_type) == std::end(kHere);
}

enum class Taken { kAway, kLeft, kKept };

bool remove_object(const Made& made, bool with_rights_of_process) {
  return std::any_of(std::begin(kCreatedObjects), std::end(kCreatedObjects), [&](const CreatedObject* kind) {
    return kind->with_rights_of_process == with_rights_of_process &&
           kind->remove(made.name, made.dev, made.ino);
  });
}

Taken take_away(const Made& made, const Context* context, Cutting cutting) {
  if (remove_object(made, false)) return Taken::kAway;
  std::optional<NamesOf> theirs;
  std::optional<OwnNames> own;
  if (made.process != NamesOf::kOwn && context != nullptr && made.process < context->processes.size())
    theirs.emplace(*context, made.process);
  else if (made.process == NamesOf::kOwn)
    own.emplace();
  else
    return Taken::kLeft;
  if (!made.of.empty() && cutting != Cutting::kNo &&
      (cutting == Cutting::kByAll || is_served(made.of) || has_been_cut(made)))
    return Taken::kKept;
  return remove_object(made, true) || remove_path(made) ? Taken::kAway : Taken::kLeft;
}

// The last one: from the end, as most are looked for that have just been made.
char* find(Ledger& ledger, const std::string& path) {
  char* const paths = paths_of(ledger).data();
  for (char* end = paths + ledger.paths_len; end > paths;) {
    char* start = end - 1;
    while (start > paths && start[-1] != '\0') --start;
    if (*start != kRemoved && made_of(start).name == path) return start;
    end = start;
  }
  return nullptr;
}

}  // namespace

std::vector<std::string> CreatedPaths::entries() const {
  std::vector<std::string> entries;
  const std::size_t used =
      std::min<std::size_t>(__atomic_load_n(&ledger_.paths_len, __ATOMIC_ACQUIRE), paths_of(ledger_).size());
  const char* const paths = paths_of(ledger_).data();
  const char* const end = paths + used;
  for (const char* next = paths; next < end;) {
    const std::size_t length = ::strnlen(next, static_cast<std::size_t>(end - next));
    if (*next != kRemoved) entries.emplace_back(next, length);
    next += length + 1;
  }
  return entries;
}

std::vector<std::string> CreatedPaths::list() const {
  std::vector<std::string> paths;
  for (const std::string& entry : entries()) paths.push_back(made_of(entry).name);
  return paths;
}

std::size_t CreatedPaths::room_for(const Context& context) {
  constexpr std::size_t kObject = 256;  // of System V, twice as it is noted anew before the first note goes
  constexpr std::size_t kNumbers = 192;
  constexpr std::size_t kMost = std::size_t{1} << 30;
  std::size_t room = (context.sem_sets.size() + context.msg_queues.size() + context.inodes.size()) * kObject;
  // The name, and each directory above it; a tail is noted with the file that it is of.
  for (const auto& [id, file] : context.files) {
    const auto names = static_cast<std::size_t>(std::count(file.path.begin(), file.path.end(), '/')) + 2;
    room += names * (file.path.size() + kNumbers);
  }
  // Below where they are mounted.
  for (const ControlGroup& group : context.cgroups) room += kObject + group.path.size() + kNumbers;
  return std::min(room, kMost);
}

void CreatedPaths::add(const std::string& path) {
  add_tail(path, {}, {});
}

void CreatedPaths::add_open(const std::string& name, int fd) {
  struct stat now {};
  if (::fstat(fd, &now) != 0) fail_errno("{}", name);
  note(text_of({NamesOf::current(), 0, 0, now.st_dev, now.st_ino, name, {}, 0, 0, 0}));
}

void CreatedPaths::add_tail(const std::string& path, const std::string& of, const struct stat& before) {
  Made made{
      NamesOf::current(), 0, 0, 0, 0, path, of, static_cast<std::uint64_t>(before.st_size), before.st_dev,
      before.st_ino};
  struct stat now;
  if (path.starts_with('/')) {
    if (names::stat(directory_of(path), now) == 0)
      made.directory_dev = now.st_dev, made.directory_ino = now.st_ino;
    if (names::lstat(path, now) == 0) made.dev = now.st_dev, made.ino = now.st_ino;
  }
  note(text_of(made));
}

void CreatedPaths::note(const std::string& entry) {
  const LedgerLock lock(ledger_);
  const std::span<char> paths = paths_of(ledger_);
  if (entry.size() >= paths.size() - ledger_.paths_len) {
    (void)take_away(made_of(entry), context_, Cutting::kNo);
    fail(ENOSPC, "too many files to recreate");
  }
  std::memcpy(paths.data() + ledger_.paths_len, entry.c_str(), entry.size() + 1);
  const auto used = static_cast<std::uint32_t>(ledger_.paths_len + entry.size() + 1);
  __atomic_store_n(&ledger_.paths_len, used, __ATOMIC_RELEASE);
}

void CreatedPaths::remove(const std::string& path) {
  const LedgerLock lock(ledger_);
  char* const entry = find(ledger_, path);
  if (entry == nullptr) return;
  // Most are there for a moment only, and the last.
  const auto start = static_cast<std::uint32_t>(entry - paths_of(ledger_).data());
  if (start + std::strlen(entry) + 1 == ledger_.paths_len)
    __atomic_store_n(&ledger_.paths_len, start, __ATOMIC_RELEASE);
  else
    *entry = kRemoved;
}

bool CreatedPaths::discard(const std::string& path) {
  const char* const entry = find(ledger_, path);
  if (entry == nullptr || take_away(made_of(entry), context_, Cutting::kNo) != Taken::kAway) return false;
  remove(path);
  return true;
}

std::vector<std::string> CreatedPaths::remove_all(Cutting cutting) const {
  std::vector<std::string> kept;
  const std::vector<std::string> created = entries();
  for (auto entry = created.rbegin(); entry != created.rend(); ++entry) {
    try {
      const Made made = made_of(*entry);
      if (take_away(made, context_, cutting) == Taken::kKept) kept.push_back(made.name);
    } catch (const std::exception&) {  // the others are to go all the same
    }
  }
  return kept;
}

void CreatedPaths::end() const {
  __atomic_store_n(&ledger_.ending, 1, __ATOMIC_SEQ_CST);
  for (int i = 0; i < kPauses && __atomic_load_n(&ledger_.deferring, __ATOMIC_SEQ_CST) != 0; ++i)
    ::nanosleep(&kPause, nullptr);
}

}  // namespace cryo
