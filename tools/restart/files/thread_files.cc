// SPDX-License-Identifier: GPL-2.0-only
#include "restart/files/thread_files.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/parse.h"
#include "restart/ns/mounts.h"
#include "restart/ns/pid_namespaces.h"
#include "restart/rights/rights_calls.h"
#include "restart/stub/step_kind.h"

namespace cryo {
namespace {

const StepKind kThreadFileStep("open files of /proc about threads", [](const FailedCall& call) {
  return fmt::format("cannot open {} again", failed_file(call));
});

constexpr std::string_view kTask = "/task";
// openat2(2) takes no others: those that open(2) does not mind are none of a file of /proc.
constexpr int kOpenFlags = O_ACCMODE | O_APPEND | O_NONBLOCK | O_DSYNC | O_SYNC | O_DIRECT | O_LARGEFILE |
                           O_DIRECTORY | O_NOFOLLOW | O_NOATIME | O_NOCTTY;
constexpr int kPlaceFlags = O_PATH | O_DIRECTORY | O_NOFOLLOW;

// Where there is "/NUMBER" in it.
struct Number {
  std::int32_t value;
  std::size_t start, end;  // without the slash
};

std::optional<Number> number_at(const std::string& path, std::size_t slash) {
  if (slash >= path.size() || path[slash] != '/') return {};
  const std::size_t end = std::min(path.find('/', slash + 1), path.size());
  const auto value = parse_number<std::int32_t>(path.substr(slash + 1, end - slash - 1));
  if (!value) return {};
  return Number{*value, slash + 1, end};
}

// The thread that has this number in a pid namespace of the context; 0: none but maybe the first of a
// process.
std::int32_t later_thread(const Context& context, std::uint32_t ns, std::int32_t number) {
  for (const Process& process : context.processes)
    for (const Thread& thread : process.threads)
      if (thread.head.tid != process.head.pid && number_in(context, ns, thread.head.tid) == number)
        return thread.head.tid;
  return 0;
}

// What else of /proc has a number for its name: descriptors, interrupts, hardware.
bool has_other_numbers(const std::string& path, std::size_t slash) {
  constexpr std::string_view kOthers[] = {"fd", "fdinfo", "irq", "bus", "scsi"};
  for (int level = 0; level < 2 && slash != 0; ++level) {
    const std::size_t before = path.rfind('/', slash - 1);
    if (before == std::string::npos) break;
    const std::string_view part = std::string_view(path).substr(before + 1, slash - before - 1);
    if (std::find(std::begin(kOthers), std::end(kOthers), part) != std::end(kOthers)) return true;
    slash = before;
  }
  return false;
}

// By the context's number of one of its threads.
const Process* process_of(const Context& context, std::int32_t id) {
  for (const Process& process : context.processes)
    for (const Thread& thread : process.threads)
      if (thread.head.tid == id) return &process;
  return nullptr;
}

}  // namespace

std::optional<ProcPlace> thread_place(const Context& context, const File& file, const std::string& path) {
  const auto inode = context.inodes.find(file.head.inode);
  if (inode == context.inodes.end() || inode->second.head.fs_magic != PROC_SUPER_MAGIC) return {};
  const std::uint32_t ns = proc_namespace_of(context, file);
  for (std::size_t slash = 0; slash != std::string::npos; slash = path.find('/', slash + 1)) {
    const auto first = number_at(path, slash);
    if (!first || has_other_numbers(path, slash)) continue;
    if (const std::int32_t id = later_thread(context, ns, first->value); id != 0)
      return ProcPlace{path.substr(0, std::max<std::size_t>(slash, 1)), path.substr(first->start), id};
    if (path.compare(first->end, kTask.size(), kTask) != 0) continue;
    const std::size_t task = first->end + kTask.size();
    const auto second = number_at(path, task);
    if (!second || second->value == first->value) continue;
    if (const std::int32_t id = later_thread(context, ns, second->value); id != 0)
      return ProcPlace{path.substr(0, task), path.substr(second->start), id};
  }
  return {};
}

bool waits_for_others(const ThreadFilePlan& input, const std::vector<ThreadFile>& files) {
  const Process* const own = &input.context.processes[input.process];
  return std::any_of(files.begin(), files.end(),
                     [&](const ThreadFile& file) { return process_of(input.context, file.place.id) != own; });
}

namespace {

class Planner {
 public:
  Planner(const ThreadFilePlan& input, StubArea& area, stub::Parameters& parameters)
      : input_(input), area_(area), parameters_(parameters) {}

  void plan(const ThreadFile& file);
  void finish();

 private:
  [[nodiscard]] const char* name_of(const ProcPlace& place);
  [[nodiscard]] std::uint32_t index_of(std::int32_t id) const;
  void plan_open(const ThreadFile& file);

  const ThreadFilePlan& input_;
  StubArea& area_;
  stub::Parameters& parameters_;
  CallList calls_;
  std::vector<stub::IdText> ids_;
};

std::uint32_t Planner::index_of(std::int32_t id) const {
  const std::vector<Thread>& threads = input_.context.processes[input_.process].threads;
  for (std::uint32_t i = 0; i < parameters_.nr_threads; ++i)
    if (threads[parameters_.threads[i].index].head.tid == id) return i;
  fail(EINVAL, "thread {} is none of process {}", id, input_.context.processes[input_.process].head.pid);
}

// Where numbers are going to be others: one comes first, another may come behind "task", and the stub puts
// those of threads there.
const char* Planner::name_of(const ProcPlace& place) {
  std::string name = place.name;
  std::vector<std::pair<std::size_t, std::int32_t>> rooms;  // where they are, and whose
  const auto make_room = [&](std::size_t start, std::size_t end, std::int32_t id) {
    name.replace(start, end - start, stub::kIdRoom, '/');
    rooms.emplace_back(start, id);
    return start + stub::kIdRoom;
  };
  if (!input_.restore_ids) {
    const std::size_t task = make_room(0, std::min(name.find('/'), name.size()), place.id) + kTask.size();
    const auto second =
        name.compare(task - kTask.size(), kTask.size(), kTask) == 0 ? number_at(name, task) : std::nullopt;
    if (second && later_thread(input_.context, 0, second->value) != 0)
      make_room(second->start, second->end, second->value);
    else if (second)
      name.replace(second->start, second->end - second->start, std::to_string(::getpid()));
  }
  char* text = area_.array<char>(name.size() + 1);
  std::memcpy(text, name.data(), name.size());
  for (const auto& [at, id] : rooms) ids_.push_back({index_of(id), text + at});
  return text;
}

// No link leads out of the directory, which cr_restart has seen to be one of /proc.
void Planner::plan_open(const ThreadFile& file) {
  auto* how = area_.array<open_how>(1);
  how->flags =
      static_cast<std::uint64_t>(file.flags & O_PATH ? file.flags & kPlaceFlags : file.flags & kOpenFlags);
  how->resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV;
  const cryo_fd& first = file.fds.front();
  const auto cloexec = [](const cryo_fd& fd) { return fd.flags & CRYO_FD_CLOEXEC ? O_CLOEXEC : 0; };
  calls_.expect(stub::Expect::kMoved, kThreadFileStep, file.file, SYS_openat2, file.directory.get(),
                name_of(file.place), how, sizeof(*how), cloexec(first), first.fd);
  if (const auto& head = input_.context.file(file.file).head; head.pos != 0 && (file.flags & O_PATH) == 0)
    calls_.add(kThreadFileStep, file.file, SYS_lseek, first.fd, head.pos, SEEK_SET);
  for (std::size_t i = 1; i < file.fds.size(); ++i)
    calls_.add(kThreadFileStep, file.file, SYS_dup3, first.fd, file.fds[i].fd, cloexec(file.fds[i]));
}

void Planner::plan(const ThreadFile& file) {
  if (file.rights) plan_rights_taken(*file.rights, input_.own, calls_, area_);
  plan_open(file);
  if (file.rights) plan_rights_back(*file.rights, input_.own, calls_, area_);
  calls_.add(kCloseStep, 0, SYS_close, file.directory.get());
}

void Planner::finish() {
  parameters_.proc_calls = area_.copy(calls_);
  parameters_.nr_proc_calls = static_cast<std::uint32_t>(calls_.calls().size());
  parameters_.ids = area_.copy(ids_);
  parameters_.nr_ids = static_cast<std::uint32_t>(ids_.size());
}

}  // namespace

void plan_thread_files(const ThreadFilePlan& input, const std::vector<ThreadFile>& files, StubArea& area,
                       stub::Parameters& parameters) {
  Planner planner(input, area, parameters);
  for (const ThreadFile& file : files) planner.plan(file);
  planner.finish();
  parameters.wait_peopled = waits_for_others(input, files) ? 1 : 0;
}

std::size_t thread_files_size(const ThreadFilePlan& input, const std::vector<ThreadFile>& files) {
  constexpr std::size_t kFixed = 8 * sizeof(stub::Call);
  std::size_t size = 0;
  for (const ThreadFile& file : files) {
    size += kFixed + file.place.name.size() + 2 * (stub::kIdRoom + sizeof(stub::IdText)) +
            file.fds.size() * sizeof(stub::Call);
    if (file.rights) size += rights_plan_size(*file.rights, input.own);
  }
  return size;
}

}  // namespace cryo
