// SPDX-License-Identifier: GPL-2.0-only
// Puts the parts of a context together and checks what holds between them.
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <map>
#include <set>

#include "context/file_kinds.h"
#include "context/mm_checks.h"
#include "context/staging.h"

namespace cryo {
namespace {

template <typename T>
void move_all(StagedMap<std::uint32_t, T>& from, std::map<std::uint32_t, T>& to) {
  for (const std::uint32_t id : from.order()) to.emplace(id, std::move(*from.find(id)));
}

void attach_threads(Staging& staging) {
  for (const std::int32_t tid : staging.threads.order()) {
    Thread& thread = *staging.threads.find(tid);
    const std::int32_t pid = thread.head.pid;
    Process* process = staging.processes.find(pid);
    if (process == nullptr) inconsistent(staging, "thread {} is of process {}, which is not there", tid, pid);
    if (thread.regsets.empty() != has_exited(thread))
      inconsistent(staging, "thread {} {}", tid,
                   has_exited(thread) ? "has exited, but there are registers" : "has no registers");
    auto& threads = process->threads;
    threads.insert(tid == pid ? threads.begin() : threads.end(), std::move(thread));
  }
}

// As wait4(2) tells of a process that has ended: cr_restart sends itself the signal.
bool is_exit_status(std::int32_t status) {
  constexpr std::int32_t kHighestSignal = 64;
  if (WIFEXITED(status)) return (status & ~0xff00) == 0;
  const std::int32_t signal = WTERMSIG(status);
  const bool lethal = signal <= kHighestSignal && signal != SIGCHLD && signal != SIGCONT &&
                      signal != SIGURG && signal != SIGWINCH && signal != SIGSTOP && signal != SIGTSTP &&
                      signal != SIGTTIN && signal != SIGTTOU;
  return lethal && (status & ~(0x7f | WCOREFLAG)) == 0;
}

void check_zombie(const Staging& staging, const Process& process) {
  if (!is_exit_status(process.head.exit_code))
    inconsistent(staging, "process {} has exited with the status {:#x}", process.head.pid,
                 process.head.exit_code);
  if (!process.threads.empty() || !process.fds.empty() || process.creds || process.cwd)
    inconsistent(staging, "process {} has exited, but there is more of it", process.head.pid);
}

// Parents come first in this: no process is its own ancestor.
void check_tree(const Staging& staging, const Context& context) {
  std::map<std::int32_t, std::int32_t> parents;
  for (const Process& process : context.processes) parents.emplace(process.head.pid, process.head.ppid);
  for (const Process& process : context.processes) {
    std::size_t steps = 0;
    for (auto at = parents.find(process.head.pid); at != parents.end(); at = parents.find(at->second))
      if (++steps > parents.size()) inconsistent(staging, "process {} is its own ancestor", process.head.pid);
  }
}

void check_process(const Staging& staging, const Process& process, const Context& context) {
  const std::int32_t pid = process.head.pid;
  if (process.head.flags & CRYO_PROC_ZOMBIE) return check_zombie(staging, process);
  if (process.threads.empty()) inconsistent(staging, "process {} has no threads", pid);
  if (process.threads.size() != process.head.threads)
    inconsistent(staging, "process {} has {} threads, {} are there", pid, process.head.threads,
                 process.threads.size());
  if (process.threads.front().head.tid != pid) inconsistent(staging, "process {} has no leader", pid);
  if (has_exited(process.threads.front()) && process.threads.size() == 1)
    inconsistent(staging, "process {}: all of its threads have exited", pid);
  if (!context.mms.contains(process.head.mm))
    inconsistent(staging, "process {}: its memory {} is not there", pid, process.head.mm);
  if (!process.creds) inconsistent(staging, "process {} has no CREDS", pid);
  if (!process.cwd) inconsistent(staging, "process {} has no CWD", pid);
  if (process.rlimits.empty()) inconsistent(staging, "process {} has no RLIMITS", pid);
  if (process.sigactions.empty()) inconsistent(staging, "process {} has no SIGACTIONS", pid);
  for (const cryo_fd& fd : process.fds)
    if (!context.files.contains(fd.file) || context.file(fd.file).head.kind == CRYO_FILE_WAITING)
      inconsistent(staging, "process {}: descriptor {}: file {} is not there", pid, fd.fd, fd.file);
}

// The first that has one names itself; the others it.
// The one that is named comes before, so that nobody waits for one who waits for him.
void check_shared_filters(const Staging& staging, const Process& process) {
  std::map<std::int32_t, const Seccomp*> before;
  for (const Thread& thread : process.threads) {
    const Seccomp& own = thread.seccomp;
    if (own.shared != 0) {
      const auto other = before.find(own.shared_with);
      if (other == before.end() || other->second->filters.size() < own.shared ||
          !std::equal(own.filters.begin(), own.filters.begin() + own.shared, other->second->filters.begin()))
        inconsistent(staging, "thread {}: {} of its seccomp filters are not those of thread {}",
                     thread.head.tid, own.shared, own.shared_with);
    }
    before.emplace(thread.head.tid, &own);
  }
}

void check_thread_fs(const Staging& staging, const Process& process) {
  std::set<std::int32_t> owners;
  for (const Thread& thread : process.threads)
    if (thread.fs && thread.fs->head.same_as == thread.head.tid) owners.insert(thread.head.tid);
  for (const Thread& thread : process.threads)
    if (thread.fs && ((thread.head.flags & CRYO_THREAD_LEADER) || !owners.contains(thread.fs->head.same_as)))
      inconsistent(staging, "thread {}: its working directory is not its own", thread.head.tid);
  for (const Thread& thread : process.threads)
    if (thread.root && !(thread.head.flags & CRYO_THREAD_LEADER) && !owners.contains(thread.head.tid))
      inconsistent(staging, "thread {}: its root directory is not its own", thread.head.tid);
}

// The one that is named names itself.
void check_shared_tables(const Staging& staging, const Context& context) {
  const auto names_itself = [&](std::int32_t cryo_shared_tables::*table, std::int32_t pid) {
    return std::any_of(context.processes.begin(), context.processes.end(), [&](const Process& process) {
      return process.head.pid == pid && process.shared.*table == pid && !process.threads.empty();
    });
  };
  for (const Process& process : context.processes) {
    const cryo_shared_tables& shared = process.shared;
    if (shared.files != 0 && !names_itself(&cryo_shared_tables::files, shared.files))
      inconsistent(staging, "process {}: shares the descriptors of process {}, which has none to share",
                   process.head.pid, shared.files);
    if (shared.fs != 0 && !names_itself(&cryo_shared_tables::fs, shared.fs))
      inconsistent(staging, "process {}: shares the working directory of process {}, which has none to share",
                   process.head.pid, shared.fs);
  }
}

// The first that has an address space is named by all of those that have it; what came before SHARED_MEMORY
// does not say so.
void check_memory_users(const Staging& staging, Context& context) {
  std::map<std::uint32_t, std::vector<Process*>> users;
  for (Process& process : context.processes)
    if (!process.threads.empty()) users[process.head.mm].push_back(&process);
  for (const auto& [mm, processes] : users) {
    const std::int32_t first = processes.size() > 1 ? processes.front()->head.pid : 0;
    for (Process* process : processes) {
      std::int32_t& named = process->shared_memory.mm;
      if (named != 0 && named != first)
        inconsistent(staging, "process {}: shares the memory of process {}, memory {} is that of process {}",
                     process->head.pid, named, mm, first);
      named = first;
    }
  }
}

void check_shared_handlers(const Staging& staging, const Context& context) {
  std::map<std::int32_t, std::int32_t> memory;  // by the process that names itself
  for (const Process& process : context.processes) {
    const cryo_shared_memory& shared = process.shared_memory;
    if (process.threads.empty() && (shared.mm != 0 || shared.sighand != 0))
      inconsistent(staging, "process {}: has exited, and shares memory", process.head.pid);
    if (shared.sighand == process.head.pid) memory.emplace(shared.sighand, shared.mm);
  }
  for (const Process& process : context.processes) {
    const cryo_shared_memory& shared = process.shared_memory;
    const auto named = memory.find(shared.sighand);
    if (shared.sighand != 0 && (named == memory.end() || named->second != shared.mm))
      inconsistent(staging, "process {}: shares the signal handlers of process {}, which has none to share",
                   process.head.pid, shared.sighand);
  }
}

void check_posix_timers(const Staging& staging, const Process& process) {
  const auto has = [&](std::int32_t tid) {
    return std::any_of(process.threads.begin(), process.threads.end(),
                       [tid](const Thread& thread) { return thread.head.tid == tid; });
  };
  for (const cryo_posix_timer& timer : process.posix_timers.timers) {
    if (timer.clock_tid != 0 && !has(timer.clock_tid))
      inconsistent(staging, "process {}: timer {}: its thread {} is not there", process.head.pid, timer.id,
                   timer.clock_tid);
    if ((timer.notify & SIGEV_THREAD_ID) && !has(timer.notify_tid))
      inconsistent(staging, "process {}: timer {}: its thread {} is not there", process.head.pid, timer.id,
                   timer.notify_tid);
  }
}

void check_locks(const Staging& staging, const Process& process, const Context& context) {
  for (const cryo_lock& lock : process.locks)
    if (!context.files.contains(lock.file))
      inconsistent(staging, "process {}: its lock of file {}, which is not there", process.head.pid,
                   lock.file);
}

void check_sem_undo(const Staging& staging, const Process& process, const Context& context) {
  for (const cryo_sem_undo& undo : process.sem_undo) {
    const auto set = std::find_if(context.sem_sets.begin(), context.sem_sets.end(), [&](const SemSet& s) {
      return s.head.perm.id == undo.id && s.head.perm.ns == process.namespaces.ipc;
    });
    if (set == context.sem_sets.end() || undo.number >= set->values.size())
      inconsistent(staging, "process {}: would undo operations of semaphore {} of set {}, which is not there",
                   process.head.pid, undo.number, undo.id);
  }
}

void check_ipc_namespace(const Staging& staging, const Context& context, std::uint32_t ns) {
  const auto found = context.namespaces.find(ns);
  if (ns != 0 && (found == context.namespaces.end() || !found->second.ipc))
    inconsistent(staging, "an object of ipc namespace {}, which is not there", ns);
}

void check_ipc_namespaces(const Staging& staging, const Context& context) {
  for (const SemSet& set : context.sem_sets) check_ipc_namespace(staging, context, set.head.perm.ns);
  for (const MsgQueue& queue : context.msg_queues) check_ipc_namespace(staging, context, queue.head.perm.ns);
  for (const auto& [id, inode] : context.inodes) {
    if (inode.shm) check_ipc_namespace(staging, context, inode.shm->perm.ns);
    if (inode.mqueue) check_ipc_namespace(staging, context, inode.mqueue->head.ns);
  }
}

void check_file_end(const Staging& staging, const Inode& inode) {
  if (inode.end && inode.end->length > inode.head.size)
    inconsistent(staging, "inode {}: has {} bytes, and more before its end", inode.id, inode.head.size);
}

void check_shm(const Staging& staging, const Inode& inode) {
  // The file of a segment is whole pages of hugetlbfs, if it is of that.
  const std::uint64_t unit = std::max<std::uint64_t>(inode.huge_size, 1);
  if (inode.huge_size != 0 && inode.head.size % unit != 0)
    inconsistent(staging, "inode {}: {} bytes are no whole pages of {}", inode.id, inode.head.size, unit);
  if (inode.shm && (inode.shm->size > inode.head.size || inode.head.size - inode.shm->size >= unit))
    inconsistent(staging, "inode {}: System V shared memory of {} bytes in a file of {}", inode.id,
                 inode.shm->size, inode.head.size);
}

void check_mm(const Staging& staging, const Mm& mm, const Context& context) {
  for (const auto check : kMmChecks) check(staging, mm);
  if (mm.vmas.size() != mm.head.nr_vmas)
    inconsistent(staging, "memory {} has {} areas, {} are there", mm.id, mm.head.nr_vmas, mm.vmas.size());
  if (mm.head.exe_file != 0 && !context.files.contains(mm.head.exe_file))
    inconsistent(staging, "memory {}: its executable, file {}, is not there", mm.id, mm.head.exe_file);
  for (const cryo_vma& vma : mm.vmas) {
    if (vma.file == 0) continue;
    const auto file = context.files.find(vma.file);
    if (file == context.files.end())
      inconsistent(staging, "{:#x}-{:#x}: file {} is not there", vma.start, vma.end, vma.file);
    if (vma.kind == CRYO_VMA_SHMEM && file->second.head.inode == 0)
      inconsistent(staging, "{:#x}-{:#x}: shared memory without an inode", vma.start, vma.end);
    const auto inode = context.inodes.find(file->second.head.inode);
    const std::uint64_t huge_size = inode == context.inodes.end() ? 0 : inode->second.huge_size;
    if (huge_size != huge_size_of(vma))
      inconsistent(staging, "{:#x}-{:#x}: has pages of {} bytes, those of file {} are of {}", vma.start,
                   vma.end, huge_size_of(vma), vma.file, huge_size);
    if (vma.kind == CRYO_VMA_SYSV && file->second.head.kind != CRYO_FILE_SYSV)
      inconsistent(staging, "{:#x}-{:#x}: file {} is no System V shared memory", vma.start, vma.end,
                   vma.file);
  }
}

void check_file(const Staging& staging, const File& file, const Context& context) {
  if (file.net != 0 && (!(file.socket || file.connection) || !context.namespaces.contains(file.net) ||
                        !context.namespaces.at(file.net).net))
    inconsistent(staging, "file {}: {} is no network namespace of it", file.id, file.net);
  const auto inode = context.inodes.find(file.head.inode);
  const bool has_inode = inode != context.inodes.end();
  if (file.head.inode != 0 && !has_inode)
    inconsistent(staging, "file {}: inode {} is not there", file.id, file.head.inode);
  for (const cryo_epoll_target& target : file.epoll)
    if (target.file != 0 && !context.files.contains(target.file))
      inconsistent(staging, "file {}: it watches file {}, which is not there", file.id, target.file);
  const FileKindModel* model = file_kind_model(file.head.kind);
  if (model != nullptr && model->check != nullptr)
    model->check({staging, context, file, has_inode ? &inode->second : nullptr});
}

struct PageRange {
  std::uint32_t kind;
  std::uint32_t object;
  std::uint64_t start;
  std::uint64_t end;
  [[nodiscard]] bool same_object(const PageRange& other) const {
    return kind == other.kind && object == other.object;
  }
};

template <typename Chunk>
std::vector<PageRange> sorted_ranges(const std::vector<Chunk>& chunks, std::uint64_t page) {
  std::vector<PageRange> ranges;
  for (const Chunk& chunk : chunks)
    for (const cryo_page_run& run : chunk.runs)
      ranges.push_back({chunk.kind, chunk.object, run.start, run.start + run.nr_pages * page});
  const auto before = [](const PageRange& a, const PageRange& b) {
    return std::tie(a.kind, a.object, a.start) < std::tie(b.kind, b.object, b.start);
  };
  // With one process they are, mostly; and there can be millions.
  if (!std::is_sorted(ranges.begin(), ranges.end(), before)) std::sort(ranges.begin(), ranges.end(), before);
  return ranges;
}

// Whether VMAs, without a hole between them, hold the range. `last` has held another, and is likely to hold
// this.
bool mapped(const Mm& mm, const PageRange& range, const cryo_vma*& last) {
  if (last != nullptr && last->start <= range.start && range.end <= last->end) return true;
  auto vma = std::upper_bound(mm.vmas.begin(), mm.vmas.end(), range.start,
                              [](std::uint64_t start, const cryo_vma& v) { return start < v.end; });
  std::uint64_t reached = range.start;
  for (; vma != mm.vmas.end() && vma->start <= reached; ++vma) {
    reached = vma->end;
    last = &*vma;
    if (reached >= range.end) return true;
  }
  return false;
}

bool inside(const Context& context, const PageRange& range, const cryo_vma*& last) {
  if (range.kind == CRYO_PAGES_MM) return mapped(context.mm(range.object), range, last);
  if (range.kind > CRYO_PAGES_TMPFS) return true;  // a later version's: named as an obstacle already
  const std::uint64_t page = context.header.page_size;
  const std::uint64_t size = range.kind == CRYO_PAGES_INODE
                                 ? context.inode(range.object).head.size
                                 : context.mount_entries.at(range.object).head.size;
  return range.end <= (size + page - 1) / page * page;
}

// `of`: what the ranges have, other than their bytes.
void check_ranges(const Staging& staging, const Context& context, const std::vector<PageRange>& ranges,
                  const char* of) {
  const cryo_vma* vma = nullptr;  // of the object
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const PageRange& range = ranges[i];
    if (i > 0 && !range.same_object(ranges[i - 1])) vma = nullptr;
    const char* what = range.kind == CRYO_PAGES_MM      ? "memory"
                       : range.kind == CRYO_PAGES_INODE ? "inode"
                                                        : "file";
    if (i > 0 && range.same_object(ranges[i - 1]) && range.start < ranges[i - 1].end)
      inconsistent(staging, "{}page {:#x} of {} {} appears twice", of, range.start, what, range.object);
    if (!inside(context, range, vma))
      inconsistent(staging, "{}pages {:#x}-{:#x} are outside of {} {}", of, range.start, range.end, what,
                   range.object);
  }
}

void check_totals(const Staging& staging, const Context& context) {
  const cryo_system& system = context.system;
  if (context.processes.empty()) inconsistent(staging, "no process");
  if (context.processes.size() != system.processes || staging.threads.order().size() != system.threads)
    inconsistent(staging, "{} processes and {} threads are there, SYSTEM says {} and {}",
                 context.processes.size(), staging.threads.order().size(), system.processes, system.threads);
}

}  // namespace

Context assemble(Staging& staging) {
  staging.processes.require_all(staging.scanner, "process");
  staging.threads.require_all(staging.scanner, "thread");
  staging.mms.require_all(staging.scanner, "memory");
  staging.inodes.require_all(staging.scanner, "inode");
  staging.files.require_all(staging.scanner, "file");
  staging.namespaces.require_all(staging.scanner, "namespace");
  staging.mount_entries.require_all(staging.scanner, "file of a mount");
  attach_threads(staging);

  Context context;
  context.name = staging.scanner.source().name();
  context.header = staging.scanner.header();
  context.system = staging.system;
  context.cpu = std::move(staging.cpu);
  context.vdsos = std::move(staging.vdsos);
  context.pages = std::move(staging.pages);
  context.tags = std::move(staging.tags);
  context.ancestors = std::move(staging.ancestors);
  context.sem_sets = std::move(staging.sem_sets);
  context.msg_queues = std::move(staging.msg_queues);
  context.obstacles = staging.obstacles;
  move_all(staging.mms, context.mms);
  move_all(staging.inodes, context.inodes);
  move_all(staging.files, context.files);
  move_all(staging.namespaces, context.namespaces);
  move_all(staging.mount_entries, context.mount_entries);
  for (const std::int32_t pid : staging.processes.order())
    context.processes.push_back(std::move(*staging.processes.find(pid)));
  for (Process& process : context.processes) {
    process.outer_pid = process.head.pid;
    if (process.head.flags & CRYO_PROC_ZOMBIE) std::swap(process.creds, process.ended_as);
  }

  check_totals(staging, context);
  check_ipc_namespaces(staging, context);
  for (const Process& process : context.processes) {
    check_process(staging, process, context);
    check_locks(staging, process, context);
    check_thread_fs(staging, process);
    check_shared_filters(staging, process);
    check_posix_timers(staging, process);
    check_sem_undo(staging, process, context);
  }
  check_tree(staging, context);
  check_shared_tables(staging, context);
  check_memory_users(staging, context);
  check_shared_handlers(staging, context);
  check_namespaces(staging, context);
  check_mount_entries(staging, context);
  for (const auto& [id, mm] : context.mms) check_mm(staging, mm, context);
  for (const auto& [id, inode] : context.inodes) {
    check_shm(staging, inode);
    check_file_end(staging, inode);
  }
  for (const auto& [id, file] : context.files) check_file(staging, file, context);
  check_ranges(staging, context, sorted_ranges(context.pages, context.header.page_size), "");
  check_ranges(staging, context, sorted_ranges(context.tags, context.header.page_size), "tags: ");
  check_ancestors(staging, context);
  assemble_cgroups(staging, context);
  return context;
}

}  // namespace cryo
