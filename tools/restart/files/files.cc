// SPDX-License-Identifier: GPL-2.0-only
#include "restart/files/files.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/parse.h"
#include "restart/common/proc_files.h"
#include "restart/files/file_kinds.h"
#include "restart/files/output_files.h"
#include "restart/files/redirect.h"
#include "restart/ns/mounts.h"
#include "restart/rights/identity.h"
#include "restart/rights/own_proc.h"

namespace cryo {
namespace {

constexpr int kStatusFlags = O_APPEND | O_DIRECT | O_NOATIME | O_NONBLOCK;

class FileMaker {
 public:
  explicit FileMaker(FileRestoreInput& input) : input_(input), making_(input, store_) {
    store_.uses = file_uses(input.context);
    outputs_ = find_outputs(input.context, store_.uses);
    find_numbers();
    find_keepers();
    find_uncut();
  }

  FileStore make();

 private:
  void find_numbers();
  void find_keepers();
  [[nodiscard]] UniqueFd put_away(std::uint32_t file, UniqueFd fd);
  [[nodiscard]] UniqueFd open(const File& file, const FileUse& use);
  void find_uncut();
  [[nodiscard]] std::size_t first_writer(const File& file);
  [[nodiscard]] int own_number(const File& file, const FileUse& use) const;
  [[nodiscard]] UniqueFd taken_over(const File& file, const FileUse& use);
  void continue_output(const File& file, const FileUse& use, int fd);
  void write_on(const File& file, const FileUse& use, int fd, std::uint64_t size) const;
  [[nodiscard]] std::string name_outside(const File& file, int fd) const;
  [[nodiscard]] UniqueFd known_end(const File& file, const Inode& inode, int fd) const;
  void see_to_tail(const File& file, int fd, std::uint64_t size);
  void settle_owners_and_modes();

  FileRestoreInput& input_;
  FileStore store_;
  FileMaking making_;
  std::map<std::uint32_t, int> numbers_;  // by file: a number that means it in all processes
  std::optional<std::map<std::uint32_t, std::size_t>> first_writers_;
  std::set<std::uint32_t> uncut_;                    // inodes of what is not the job's alone
  std::map<std::uint32_t, std::uint32_t> nameless_;  // files that have been made of such kinds, by inode
  Outputs outputs_;
};

// Of cr_restart's descriptors the one that the job's becomes; -1: its output goes elsewhere than
// cr_restart's.
int FileMaker::own_number(const File& file, const FileUse& use) const {
  const int fds[3] = {input_.stdio[0].get(), input_.stdio[1].get(), input_.stdio[2].get()};
  if (file.head.kind != CRYO_FILE_PATH || !file.redirected.empty()) return -1;
  return own_output(file, input_.context.inode(file.head.inode), use, fds);
}

void FileMaker::find_uncut() {
  for (const auto& [id, use] : store_.uses) {
    const File& file = input_.context.file(id);
    if (other_use(input_.other_uses, file) != nullptr || own_number(file, use) >= 0)
      uncut_.insert(file.head.inode);
  }
}

// Nothing: it is opened.
UniqueFd FileMaker::taken_over(const File& file, const FileUse& use) {
  if (const int own = own_number(file, use); own >= 0) return input_.descriptors.park_copy(own);
  const OtherUse* other = other_use(input_.other_uses, file);
  if (other == nullptr || !can_share(*other, file, input_.context.inode(file.head.inode), use)) return {};
  return input_.descriptors.park_copy(other->file->get());
}

// Behind what somebody else has written there meanwhile, and writes from now on: a log.  Who reads or seeks
// has places of his own.  What is going to be cut has its end where it was, but not yet.
void FileMaker::write_on(const File& file, const FileUse& use, int fd, std::uint64_t size) const {
  const OtherUse* other = other_use(input_.other_uses, file);
  if (other != nullptr && other->context) return;
  const OutputPlace place = output_place(input_.context, outputs_, file, use, other, size);
  if (place == OutputPlace::kSaved) return;
  if ((!store_.cut.contains(file.head.inode) && ::lseek(fd, 0, SEEK_END) < 0) ||
      (place == OutputPlace::kAppends && ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_APPEND) != 0))
    fail_errno("{}: cannot continue at its end, after the data of other writers", file.path);
}

// Of those that have a descriptor of it; there is one.
std::size_t FileMaker::first_writer(const File& file) {
  if (!first_writers_) {
    first_writers_.emplace();
    for (std::size_t process = 0; process < input_.context.processes.size(); ++process)
      for (const auto& [id, use] : file_uses(input_.context, process))
        if (is_output(input_.context.file(id), use)) first_writers_->emplace(id, process);
  }
  const auto found = first_writers_->find(file.id);
  return found == first_writers_->end() ? 0 : found->second;
}

// Where the rest of it is kept, and looked for when the restart has failed: the path inside of a mount
// namespace of the job's own is the name of something else here, or of nothing.
std::string FileMaker::name_outside(const File& file, int fd) const {
  if (file.head.mnt == 0) return input_.options.relocations.apply(file.path);
  const std::optional<std::string> outer = outer_path(input_.context, input_.options.relocations, file);
  const std::string path = outer.value_or(file.path);
  struct stat now, outside;
  if (outer && ::fstat(fd, &now) == 0 && names::stat(path, outside) == 0 && outside.st_dev == now.st_dev &&
      outside.st_ino == now.st_ino)
    return path;
  fail(ESTALE,
       "{}: data added since the checkpoint cannot be saved, as {} is another file outside of its mount "
       "namespace (--truncate removes it, --no-truncate keeps it)",
       file.path, path);
}

// A descriptor that reads it, where its last bytes are what they were, and have to be when it is cut; none:
// that is not known, or does not matter.  The check has looked, but not at what only the job's mount
// namespace has, and not at what has come meanwhile.
UniqueFd FileMaker::known_end(const File& file, const Inode& inode, int fd) const {
  if (input_.options.changed_files.value_or(ChangedFiles::kRefuse) != ChangedFiles::kRefuse || !inode.end)
    return {};
  UniqueFd from = names::open(fmt::format("/proc/self/fd/{}", fd), O_RDONLY);
  struct stat now;
  switch (old_end_of(inode, from.get())) {
    case OldEnd::kSame:
      return from;
    case OldEnd::kOther:
      if (::fstat(fd, &now) != 0) fail_errno("cannot stat {}", file.path);
      fail(ESTALE, "{}: {}", file.path, rewritten_text(inode, static_cast<std::uint64_t>(now.st_size)));
    case OldEnd::kUnknown:
      break;
  }
  return {};
}

// What has come since the checkpoint to a file that is the job's.
void FileMaker::see_to_tail(const File& file, int fd, std::uint64_t size) {
  const Inode& inode = input_.context.inode(file.head.inode);
  const Tail tail = tail_of(input_.context, outputs_, input_.options, file);
  if (tail == Tail::kStays || uncut_.contains(inode.id) || size <= inode.head.size ||
      is_other_file(input_.options.relocations, file, inode, fd) || store_.cut.contains(inode.id))
    return;
  UniqueFd from = known_end(file, inode, fd);
  CutFile& cut = store_.cut[inode.id];
  cut.is_known = static_cast<bool>(from);
  cut.from = std::move(from);
  if (tail == Tail::kAside) keep_tail_aside(input_.created, fd, inode.head.size, name_outside(file, fd), cut);
  cut.process = first_writer(file);
  cut.file = file.id;
  if (cut.from) cut.from = input_.descriptors.park(std::move(cut.from));
  if (cut.to) cut.to = input_.descriptors.park(std::move(cut.to));
}

void FileMaker::continue_output(const File& file, const FileUse& use, int fd) {
  struct stat now;
  if (!is_output(file, use) || !file.redirected.empty()) return;
  if (::fstat(fd, &now) != 0) fail_errno("cannot stat {}", file.path);
  see_to_tail(file, fd, static_cast<std::uint64_t>(now.st_size));
  write_on(file, use, fd, static_cast<std::uint64_t>(now.st_size));
}

UniqueFd FileMaker::open(const File& file, const FileUse& use) {
  if (!file.redirected.empty()) return open_redirected(input_.created, file);
  const FileKind* kind = file_kind(file.head.kind);
  if (kind == nullptr || kind->open == nullptr)
    fail(EOPNOTSUPP, "file {} is of an unknown kind ({})", file.path, file.head.kind);
  return kind->open(making_, file, use);
}

// Position and status flags belong to the open file, whatever its kind.  What is shared with cr_restart's
// own caller (a terminal, a log pipe) is not changed.
void set_state(const File& file, int fd) {
  const FileKind* kind = file_kind(file.head.kind);
  if (kind != nullptr && kind->is_shared_outside) return;
  const int flags = static_cast<int>(file.head.flags);
  if (flags & O_PATH) return;
  if (kind != nullptr && kind->has_position) {
    if (::lseek(fd, static_cast<off_t>(file.head.pos), SEEK_SET) < 0 && ::lseek(fd, 0, SEEK_CUR) >= 0)
      fail_errno("{}: cannot go to offset {}", file.path, file.head.pos);
  }
  const int now = ::fcntl(fd, F_GETFL);
  if ((now & kStatusFlags) != (flags & kStatusFlags) && ::fcntl(fd, F_SETFL, flags & kStatusFlags) != 0)
    fail_errno("{}: cannot set the status flags {:#o}", file.path, flags & kStatusFlags);
}

// Most files of most jobs can wait at a number that they are going to have: there may not be numbers for two
// descriptors of each.
void FileMaker::find_numbers() {
  std::map<std::uint32_t, std::uint32_t> file_at;  // by number; 0: not the same in all processes
  for (const Process& process : input_.context.processes)
    for (const cryo_fd& fd : process.fds) {
      const auto [at, added] = file_at.try_emplace(fd.fd, fd.file);
      if (!added && at->second != fd.file) at->second = 0;
    }
  for (const auto& [number, file] : file_at)
    if (file != 0 && !is_standard_kind(input_.context.file(file)))
      numbers_.try_emplace(file, static_cast<int>(number));
}

// Whoever can receive it would do; there is always one, as a process has the socket or the one that this is
// in.
void FileMaker::find_keepers() {
  for (const auto& [id, use] : store_.uses) {
    if (!use.passed || use.holders != 0) continue;
    const auto keeper = std::find_if(use.processes.begin(), use.processes.end(), [this](std::size_t process) {
      return !input_.context.processes[process].threads.empty();
    });
    if (keeper != use.processes.end()) store_.kept_by.emplace(id, *keeper);
  }
}

UniqueFd FileMaker::put_away(std::uint32_t file, UniqueFd fd) {
  const auto number = numbers_.find(file);
  if (number == numbers_.end()) return input_.descriptors.park(std::move(fd));
  if (fd.get() == number->second) return fd;
  if (::dup3(fd.get(), number->second, O_CLOEXEC) != number->second)
    fail_errno("{}: cannot place it at descriptor {}", input_.context.file(file).path, number->second);
  return UniqueFd(number->second);
}

bool is_late(const File& file) {
  const FileKind* kind = file_kind(file.head.kind);
  return kind != nullptr && kind->is_late != nullptr && kind->is_late(file);
}

bool is_nameless(const File& file) {
  const FileKind* kind = file_kind(file.head.kind);
  return kind != nullptr && kind->is_nameless && file.redirected.empty();
}

bool has_owner_and_mode(const cryo_inode& saved, const struct stat& now) {
  return now.st_uid == saved.uid && now.st_gid == saved.gid && now.st_mode == saved.mode;
}

// False: it takes other rights, or is another kind of file.  The mode comes last, as fchown(2) takes
// set-user-ID bits away; it is set where the owner stays another one, too.
bool settle_owner_and_mode(const cryo_inode& saved, int fd) {
  struct stat now;
  if (::fstat(fd, &now) != 0 || ((now.st_mode ^ saved.mode) & S_IFMT) != 0) return false;
  if (now.st_uid != saved.uid || now.st_gid != saved.gid) (void)names::fchown(fd, saved.uid, saved.gid);
  if (::fstat(fd, &now) != 0) return false;
  if (now.st_mode != saved.mode) (void)names::fchmod(fd, saved.mode & 07777);
  return ::fstat(fd, &now) == 0 && has_owner_and_mode(saved, now);
}

// When no pipe is going to be opened once more, which its mode may forbid.  By who has made it, who may
// change the mode, or else by those who have it: it stays with the maker where these could not have given it
// away.
void FileMaker::settle_owners_and_modes() {
  for (const auto& [inode, file] : nameless_) {
    const cryo_inode& saved = input_.context.inode(inode).head;
    const int fd = store_.fds.at(file).get();
    {
      const NamesOf maker = NamesOf::maker_of(input_.context, inode);
      if (settle_owner_and_mode(saved, fd)) continue;
    }
    const NamesOf theirs(input_.context, store_.uses.at(file).processes, input_.context.file(file));
    (void)settle_owner_and_mode(saved, fd);
  }
}

FileStore FileMaker::make() {
  for (const FileKind* kind : kFileKinds)
    if (kind->begin != nullptr) kind->begin(making_);
  for (const auto& [id, use] : store_.uses) {
    const File& file = input_.context.file(id);
    if (left_closed(file, input_.options) || is_late(file)) continue;
    if (file.redirected.empty() &&
        (lies_in_own_proc(input_.context, input_.options.relocations.apply(file.path)) ||
         lies_on_late_mount(input_.context, file) ||
         thread_place(input_.context, file, input_.options.relocations.apply(file.path))))
      continue;
    const NamesOf theirs(input_.context, use.processes, file);
    UniqueFd fd = taken_over(file, use);
    if (!fd) {
      fd = open(file, use);
      set_state(file, fd.get());
      continue_output(file, use, fd.get());
      if (is_nameless(file) && file.head.inode != 0) nameless_.emplace(file.head.inode, id);
    }
    store_.fds.emplace(id, put_away(id, std::move(fd)));
  }
  for (const FileKind* kind : kFileKinds)
    if (kind->finish != nullptr) kind->finish(making_);
  settle_owners_and_modes();
  return std::move(store_);
}

// What several descriptors or processes use is one open file again.
class FileTaker {
 public:
  FileTaker(const FileRestoreInput& input, const FileStore& store, std::size_t process,
            std::map<std::uint32_t, UniqueFd> made)
      : input_(input),
        store_(store),
        process_(process),
        uses_(file_uses(input.context, process)),
        made_(std::move(made)) {}

  RestoredFiles take();

 private:
  void take(const File& file, const FileUse& use);
  [[nodiscard]] std::optional<ProcPlace> of_thread(const File& file, const FileUse& use) const;
  void take_of_thread(const File& file, const FileUse& use, const ProcPlace& place);
  [[nodiscard]] bool is_of_own_proc(const File& file, const FileUse& use) const;
  [[nodiscard]] bool has_own_rights(const File& file) const;
  template <typename Open>
  [[nodiscard]] UniqueFd open_with_names(const File& file, bool of_proc, const Open& open) const;
  [[nodiscard]] UniqueFd open_late(const File& file, const FileUse& use);
  [[nodiscard]] Rights rights_to_look() const;
  void put_at(const File& file, const cryo_fd& wanted, int fd);
  [[nodiscard]] bool put_standard(const File& file, const cryo_fd& wanted);

  const FileRestoreInput& input_;
  const FileStore& store_;
  std::size_t process_;
  std::map<std::uint32_t, FileUse> uses_;
  std::map<std::uint32_t, UniqueFd> made_;
  RestoredFiles result_;
};

void FileTaker::put_at(const File& file, const cryo_fd& wanted, int fd) {
  const int number = static_cast<int>(wanted.fd);
  const bool cloexec = wanted.flags & CRYO_FD_CLOEXEC;
  const int result = fd == number ? ::fcntl(fd, F_SETFD, cloexec ? FD_CLOEXEC : 0)
                                  : ::dup3(fd, number, cloexec ? O_CLOEXEC : 0);
  if (result < 0) fail_errno("cannot put {} at descriptor {}", file.path, number);
}

// Closed when the process has its locks again: one of O_PATH, unlike others, does not take them from it.
UniqueFd place_of(int fd) {
  UniqueFd place = open_proc(fmt::format("self/fd/{}", fd), O_PATH);
  if (!place) fail_errno("cannot open the executable again (O_PATH)");
  return place;
}

// False: it becomes what the higher numbers of the file are.
bool FileTaker::put_standard(const File& file, const cryo_fd& wanted) {
  const auto source = store_.standard.find({file.id, wanted.fd});
  if (source == store_.standard.end() || source->second.number < 0) return false;
  const UniqueFd fd =
      input_.descriptors.park(copy_standard(input_.stdio[source->second.number].get(), source->second.mode));
  put_at(file, wanted, fd.get());
  return true;
}

// Nobody may look at a process of a restart yet: it takes more to open these.  The file remembers what
// (pagemap asks at each read).
Rights FileTaker::rights_to_look() const {
  Rights rights = rights_of(input_.context, input_.context.processes[process_]);
  for (const int capability : {CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH, CAP_DAC_OVERRIDE})
    rights.capabilities |= std::uint64_t{1} << capability;
  return rights;
}

bool FileTaker::is_of_own_proc(const File& file, const FileUse& use) const {
  const std::string path = input_.options.relocations.apply(file.path);
  if (!is_own_proc_file(input_.context, file, path)) return false;
  if (const std::string problem = own_proc_problem(input_.context, file, use.processes, path);
      !problem.empty())
    fail(EACCES, "{}: {}", path, problem);
  return true;
}

// In a user namespace, cr_restart's rights are the user's by now.
bool FileTaker::has_own_rights(const File& file) const {
  return input_.context.processes[process_].namespaces.user != 0 &&
         lies_in_own_proc(input_.context, input_.options.relocations.apply(file.path));
}

template <typename Open>
UniqueFd FileTaker::open_with_names(const File& file, bool of_proc, const Open& open) const {
  std::optional<OwnNames> own;
  std::optional<NamesOf> theirs;
  const bool inside = input_.context.processes[process_].namespaces.user != 0;
  if (has_own_rights(file))
    own.emplace();
  else if (of_proc)
    theirs.emplace(process_, rights_to_look());
  else if (file.opener && !inside)
    theirs.emplace(input_.context, std::vector{process_}, file);
  return open();
}

UniqueFd FileTaker::open_late(const File& file, const FileUse& use) {
  const bool of_proc = is_of_own_proc(file, use);
  UniqueFd fd = open_with_names(file, of_proc, [&] { return open_by_path(input_, file, use); });
  struct statfs system {};
  if (of_proc && (::fstatfs(fd.get(), &system) != 0 || system.f_type != PROC_SUPER_MAGIC))
    fail(ESTALE, "{} is no file of /proc any more", input_.options.relocations.apply(file.path));
  return fd;
}

// The stub opens it with the same rights.  Up to then the directory has its numbers.
void FileTaker::take_of_thread(const File& file, const FileUse& use, const ProcPlace& place) {
  const bool of_proc = is_of_own_proc(file, use);
  ThreadFile& late = result_.of_threads.emplace_back();
  late.file = file.id;
  late.directory = input_.descriptors.park(
      open_with_names(file, of_proc, [&] { return open_proc_directory(input_, file, place.directory); }));
  late.place = place;
  late.flags = open_flags(file, use);
  if (!has_own_rights(file))
    late.rights =
        of_proc ? rights_to_look() : rights_inside(input_.context, input_.context.processes[process_]);
  late.fds = use.fds;
  // plan_owners() adds to these.
  if (::fcntl(late.directory.get(), F_SETFL, static_cast<int>(file.head.flags) & (O_APPEND | O_NONBLOCK)) !=
      0)
    fail_errno("{}: cannot set the status flags", file.path);
  for (const cryo_fd& wanted : use.fds) put_at(file, wanted, late.directory.get());
  result_.fds.emplace(file.id, static_cast<int>(use.fds.front().fd));
}

std::optional<ProcPlace> FileTaker::of_thread(const File& file, const FileUse& use) const {
  if (!file.redirected.empty() || use.fds.empty()) return {};
  return thread_place(input_.context, file, input_.options.relocations.apply(file.path));
}

void FileTaker::take(const File& file, const FileUse& use) {
  UniqueFd late;
  const auto stored = store_.fds.find(file.id);
  if (const auto place = of_thread(file, use); place && stored == store_.fds.end())
    return take_of_thread(file, use, *place);
  if (const auto made = made_.find(file.id); made != made_.end()) {
    late = std::move(made->second);
    made_.erase(made);
  } else if (stored == store_.fds.end()) {
    late = input_.descriptors.park(open_late(file, use));
    set_state(file, late.get());
  }
  const int fd = late ? late.get() : stored->second.get();
  for (const cryo_fd& wanted : use.fds)
    if (!put_standard(file, wanted)) put_at(file, wanted, fd);
  if (use.executable) result_.exe_fd = input_.descriptors.park(place_of(fd)).release();
  if (!use.fds.empty())
    result_.fds.emplace(file.id, static_cast<int>(use.fds.front().fd));
  else if (use.mapped)
    result_.fds.emplace(file.id, late ? late.release() : fd);
}

RestoredFiles FileTaker::take() {
  made_.merge(take_pidfds(input_.context, input_.descriptors, store_.pidfds, process_));
  for (const auto& [id, use] : uses_)
    if (!left_closed(input_.context.file(id), input_.options)) take(input_.context.file(id), use);
  // Pidfds that it needs for an epoll instance only.
  for (auto& [id, fd] : made_) result_.fds.emplace(id, fd.release());
  for (const auto& [id, keeper] : store_.kept_by) {
    const auto stored = store_.fds.find(id);
    if (keeper != process_ || stored == store_.fds.end()) continue;
    result_.fds.emplace(id, stored->second.get());
    result_.kept.insert(id);
  }
  return std::move(result_);
}

}  // namespace

FileStore make_files(FileRestoreInput& input) {
  return FileMaker(input).make();
}

RestoredFiles take_files(const FileRestoreInput& input, const FileStore& store, std::size_t process,
                         std::map<std::uint32_t, UniqueFd> made) {
  return FileTaker(input, store, process, std::move(made)).take();
}

}  // namespace cryo
