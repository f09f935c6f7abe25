// SPDX-License-Identifier: GPL-2.0-only
#include "unit/context_builder.h"

#include <fmt/format.h>
#include <linux/sched.h>
#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "base/crc32c.h"
#include "context/checksum.h"
#include "unit/context_parts.h"

namespace cryo::test {
namespace {

void append(Bytes& to, std::span<const std::byte> from) {
  to.insert(to.end(), from.begin(), from.end());
}

template <typename T>
void append_object(Bytes& to, const T& value) {
  append(to, std::as_bytes(std::span(&value, 1)));
}

template <typename T>
Bytes bytes_of_vector(const std::vector<T>& values) {
  const auto view = std::as_bytes(std::span(values));
  return {view.begin(), view.end()};
}

template <std::size_t N>
void copy_text(__u8 (&to)[N], std::string_view text) {
  std::memcpy(to, text.data(), std::min(text.size(), N - 1));
}

std::uint32_t crc_before(std::span<const std::byte> object, std::size_t offset) {
  return crc32c(object.first(offset));
}

// Puts sections one behind the other.
class Writer {
 public:
  explicit Writer(const ContextBuilder& builder) : builder_(builder) {
    cryo_file_header header = builder.context.header;
    header.crc = crc_before(std::as_bytes(std::span(&header, 1)), offsetof(cryo_file_header, crc));
    append_object(out_, header);
  }

  void put(RawSection section) {
    if (builder_.edit) builder_.edit(section);
    cryo_section head{};
    head.magic = CRYO_SECTION_MAGIC;
    head.type = section.type;
    head.flags = section.flags;
    head.length = section.fixed.size() + section.tail.size();
    const std::uint64_t unaligned = out_.size() + sizeof(head);
    head.pad = static_cast<std::uint32_t>((section.align - unaligned % section.align) % section.align);
    head.fixed_len = static_cast<std::uint32_t>(section.fixed.size());
    head.object = section.object;
    Checksum sum(section.flags);
    sum.add(section.fixed);
    sum.add(section.tail);
    head.crc = sum.value();
    head.header_crc = crc_before(std::as_bytes(std::span(&head, 1)), offsetof(cryo_section, header_crc));
    index_.push_back({out_.size(), section.type, section.object});
    append_object(out_, head);
    out_.resize(out_.size() + head.pad);
    append(out_, section.fixed);
    append(out_, section.tail);
  }

  // A section with a structure, which grows when the test wants that.
  template <typename T>
  void put(std::uint16_t type, std::uint32_t object, const T& fixed, Bytes tail = {},
           std::uint16_t flags = CRYO_SECF_REQUIRED) {
    Bytes head = bytes_of(fixed);
    head.resize(head.size() + builder_.growth, std::byte{0xee});
    put({type, object, flags, std::move(head), std::move(tail)});
  }

  template <typename T>
  Bytes grown_records(const std::vector<T>& values) const {
    Bytes bytes;
    for (const T& value : values) {
      append_object(bytes, value);
      bytes.resize(bytes.size() + builder_.growth, std::byte{0xee});
    }
    return bytes;
  }

  template <typename T>
  [[nodiscard]] std::uint32_t record_size() const {
    return static_cast<std::uint32_t>(sizeof(T)) + builder_.growth;
  }

  template <typename T>
  void put_array(std::uint16_t type, std::uint32_t object, const std::vector<T>& values,
                 std::uint16_t flags = CRYO_SECF_REQUIRED) {
    const cryo_array head{static_cast<std::uint32_t>(values.size()), record_size<T>()};
    put(type, object, head, grown_records(values), flags);
  }

  Bytes finish(std::uint64_t page_bytes) {
    const std::uint64_t index_offset = out_.size();
    std::vector<cryo_index_entry> entries;
    if (builder_.index_everything) {
      entries = index_;
      entries.push_back({index_offset, CRYO_SEC_INDEX, 0});
    }
    put_array(CRYO_SEC_INDEX, 0, entries);
    const std::uint64_t before_payload = out_.size() + sizeof(cryo_section);
    const std::uint64_t total = (before_payload + 7) / 8 * 8 + sizeof(cryo_end);
    cryo_end end{total, index_offset, index_.size() + 1, page_bytes};
    if (builder_.edit_end) builder_.edit_end(end);
    put({CRYO_SEC_END, 0, CRYO_SECF_REQUIRED, bytes_of(end), {}});
    return std::move(out_);
  }

 private:
  const ContextBuilder& builder_;
  Bytes out_;
  std::vector<cryo_index_entry> index_;
};

void put_queue(Writer& writer, std::int32_t id, const SignalQueue& queue, bool shared) {
  if (queue.signals == 0) return;
  const cryo_sigpending head{static_cast<std::uint32_t>(queue.siginfos.size()), writer.record_size<SigInfo>(),
                             shared ? CRYO_SIGPENDING_SHARED : 0U, 0, queue.signals};
  writer.put(CRYO_SEC_SIGPENDING, static_cast<std::uint32_t>(id), head, writer.grown_records(queue.siginfos));
}

void put_process(Writer& writer, const Process& process) {
  const auto pid = static_cast<std::uint32_t>(process.head.pid);
  writer.put(CRYO_SEC_PROCESS, pid, process.head, bytes_of_text(process.command));
  if (process.namespaces.user != 0) writer.put(CRYO_SEC_NAMESPACES, pid, process.namespaces);
  if (!process.nested_ids.empty()) writer.put_array(CRYO_SEC_PIDS, pid, process.nested_ids);
  if (process.creds)
    writer.put(CRYO_SEC_CREDS, pid, process.creds->head, bytes_of_vector(process.creds->groups));
  if (process.outer_groups) writer.put_array(CRYO_SEC_OUTER_GROUPS, pid, *process.outer_groups);
  if (process.cwd) writer.put(CRYO_SEC_CWD, pid, process.cwd->head, bytes_of_text(process.cwd->path));
  if (process.shared.files != 0 || process.shared.fs != 0)
    writer.put(CRYO_SEC_SHARED_TABLES, pid, process.shared);
  if (process.shared_memory.mm != 0 || process.shared_memory.sighand != 0)
    writer.put(CRYO_SEC_SHARED_MEMORY, pid, process.shared_memory);
  if (process.terminal) writer.put(CRYO_SEC_TERMINAL, pid, *process.terminal);
  if (!process.cgroup.empty()) writer.put({CRYO_SEC_CGROUP, pid, 0, {}, bytes_of_text(process.cgroup), 8});
  if (!process.rlimits.empty()) writer.put_array(CRYO_SEC_RLIMITS, pid, process.rlimits);
  if (!process.sigactions.empty()) writer.put_array(CRYO_SEC_SIGACTIONS, pid, process.sigactions);
  put_queue(writer, process.head.pid, process.pending, true);
  const PosixTimers& timers = process.posix_timers;
  if (!timers.timers.empty())
    writer.put(CRYO_SEC_POSIX_TIMERS, pid,
               cryo_posix_timers{static_cast<std::uint32_t>(timers.timers.size()),
                                 writer.record_size<cryo_posix_timer>(), timers.next_id, 0},
               writer.grown_records(timers.timers));
  if (!process.itimers.empty()) writer.put_array(CRYO_SEC_ITIMERS, pid, process.itimers);
}

std::string mountinfo_of(const std::vector<Mount>& mounts) {
  std::string text;
  for (const Mount& mount : mounts)
    text += fmt::format("{} {} {} {} {} {}{}{} - {} {} {}\n", mount.id, mount.parent, mount.device,
                        mount.root, mount.point, fmt::join(mount.options, ","),
                        mount.shared != 0 ? fmt::format(" shared:{}", mount.shared) : "",
                        mount.slave != 0 ? fmt::format(" master:{}", mount.slave) : "", mount.type,
                        mount.source, mount.super_options);
  return text;
}

void put_mounts(Writer& writer, std::uint32_t id, const MountTree& tree) {
  const std::string own = mountinfo_of(tree.mounts);
  Bytes tail = writer.grown_records(tree.kinds);
  for (const std::string& text : {own, mountinfo_of(tree.outer)}) {
    const Bytes bytes = bytes_of_text(text);
    tail.insert(tail.end(), bytes.begin(), bytes.end());
  }
  writer.put(CRYO_SEC_NS_MNT, id,
             cryo_ns_mnt{static_cast<std::uint32_t>(tree.kinds.size()), writer.record_size<cryo_mount>(),
                         static_cast<std::uint32_t>(own.size()), tree.has_groups ? CRYO_NS_MNT_GROUPS : 0U},
             std::move(tail));
}

void put_namespace(Writer& writer, std::uint32_t id, const Namespace& ns) {
  writer.put(CRYO_SEC_NS, id, ns.head);
  if (ns.uts) writer.put(CRYO_SEC_NS_UTS, id, *ns.uts);
  if (ns.time) writer.put(CRYO_SEC_NS_TIME, id, *ns.time);
  if (ns.ipc) writer.put(CRYO_SEC_NS_IPC, id, *ns.ipc);
  std::string settings;
  for (const auto& [name, value] : ns.settings) settings += name + " " + value + "\n";
  if (ns.net) writer.put(CRYO_SEC_NS_NET, id, *ns.net, bytes_of_text(settings));
  if (ns.mnt) put_mounts(writer, id, *ns.mnt);
  if (ns.root) writer.put(CRYO_SEC_NS_ROOT, id, *ns.root, {});
  if (!ns.cgroup.empty()) writer.put({CRYO_SEC_NS_CGROUP, id, 0, {}, bytes_of_text(ns.cgroup), 8});
  if (!ns.user) return;
  cryo_ns_user head = *ns.user;
  head.nr_uids = static_cast<std::uint32_t>(ns.uids.size());
  head.nr_gids = static_cast<std::uint32_t>(ns.gids.size());
  head.record_size = writer.record_size<cryo_id_range>();
  std::vector<cryo_id_range> ranges = ns.uids;
  ranges.insert(ranges.end(), ns.gids.begin(), ns.gids.end());
  writer.put(CRYO_SEC_NS_USER, id, head, writer.grown_records(ranges));
}

void put_cgroup(Writer& writer, std::uint32_t number, const ControlGroup& group) {
  cryo_cgroup head = group.head;
  head.path_len = static_cast<std::uint32_t>(group.path.size());
  head.threads = static_cast<std::uint32_t>(group.threads.size());
  Bytes tail = bytes_of_text(group.path);
  const Bytes tids = bytes_of_vector(group.threads);
  tail.insert(tail.end(), tids.begin(), tids.end());
  writer.put(CRYO_SEC_CGROUP_DIR, number, head, std::move(tail));
  for (const CgroupSetting& setting : group.settings)
    writer.put(CRYO_SEC_CGROUP_SETTING, number,
               cryo_cgroup_setting{static_cast<std::uint32_t>(setting.name.size()), 0},
               bytes_of_text(setting.name + setting.text));
}

void put_mount_entry(Writer& writer, const MountEntry& entry) {
  cryo_mount_entry head = entry.head;
  head.path_len = static_cast<std::uint32_t>(entry.path.size());
  writer.put(CRYO_SEC_MOUNT_ENTRY, entry.id, head, bytes_of_text(entry.path + entry.target));
}

void put_seccomp(Writer& writer, std::uint32_t tid, const Seccomp& seccomp) {
  Bytes tail;
  for (const SeccompFilter& filter : seccomp.filters) {
    append_object(tail, cryo_seccomp_filter{filter.flags, static_cast<std::uint32_t>(filter.program.size())});
    append(tail, bytes_of_vector(filter.program));
  }
  const cryo_seccomp head{seccomp.mode, static_cast<std::uint32_t>(seccomp.filters.size()),
                          seccomp.shared_with, seccomp.shared};
  writer.put(CRYO_SEC_SECCOMP, tid, head, std::move(tail));
}

void put_threads(Writer& writer, const Process& process) {
  for (const Thread& thread : process.threads) {
    const auto tid = static_cast<std::uint32_t>(thread.head.tid);
    writer.put(CRYO_SEC_THREAD, tid, thread.head, bytes_of_vector(thread.cpus));
    for (const Regset& regset : thread.regsets) writer.put(CRYO_SEC_REGSET, tid, regset.head, regset.data);
    if (thread.seccomp.mode != 0) put_seccomp(writer, tid, thread.seccomp);
    if (thread.uclamp) writer.put(CRYO_SEC_UCLAMP, tid, *thread.uclamp);
    if (thread.fs) writer.put(CRYO_SEC_THREAD_FS, tid, thread.fs->head, bytes_of_text(thread.fs->path));
    if (thread.root) writer.put(CRYO_SEC_ROOT, tid, thread.root->head, bytes_of_text(thread.root->path));
    if (thread.creds)
      writer.put(CRYO_SEC_THREAD_CREDS, tid, thread.creds->head, bytes_of_vector(thread.creds->groups));
    if (thread.mempolicy) writer.put_array(CRYO_SEC_MEMPOLICY, tid, std::vector{*thread.mempolicy});
    put_queue(writer, thread.head.tid, thread.pending, false);
  }
}

void put_pipe(Writer& writer, const Inode& inode) {
  Bytes tail;
  for (const PipePacket& packet : inode.pipe->packets) {
    append_object(tail, cryo_pipe_packet{static_cast<std::uint32_t>(packet.data.size()), packet.flags});
    append(tail, packet.data);
  }
  writer.put(CRYO_SEC_PIPE, inode.id, inode.pipe->head, std::move(tail));
}

void put_inotify(Writer& writer, const File& file) {
  Bytes tail;
  for (const Watch& watch : file.inotify->watches) {
    append_object(tail, watch.head);
    append(tail, bytes_of_text(watch.path));
  }
  writer.put(CRYO_SEC_INOTIFY, file.id, file.inotify->head, std::move(tail));
  cryo_array array{0, sizeof(cryo_inotify_event)};
  Bytes events;
  for (const InotifyEvent& event : file.inotify->events)
    append_object(events, event.head), append(events, bytes_of_text(event.name)), ++array.count;
  if (array.count != 0) writer.put(CRYO_SEC_INOTIFY_EVENTS, file.id, array, std::move(events));
}

void put_fanotify(Writer& writer, const File& file) {
  Bytes tail;
  for (const FanotifyMark& mark : file.fanotify->marks) {
    append_object(tail, mark.head);
    append(tail, bytes_of_text(mark.path));
  }
  writer.put(CRYO_SEC_FANOTIFY, file.id, file.fanotify->head, std::move(tail));
}

void put_uring(Writer& writer, const File& file) {
  Bytes tail = file.uring->completions;
  append(tail, bytes_of_vector(file.uring->array));
  append(tail, file.uring->submissions);
  writer.put(CRYO_SEC_URING, file.id, file.uring->head, std::move(tail));
}

Bytes bytes_of_queue(const Writer& writer, const std::vector<SocketMessage>& queue) {
  Bytes tail;
  for (const SocketMessage& message : queue) {
    append(tail, writer.grown_records(std::vector{message.head}));
    append(tail, bytes_of_vector(message.files));
    append(tail, message.name);
    append(tail, message.data);
  }
  return tail;
}

void put_sock_filter(Writer& writer, const File& file) {
  Bytes tail = bytes_of_vector(file.filter->filter);
  append(tail, bytes_of_vector(file.filter->choice));
  writer.put(CRYO_SEC_SOCK_FILTER, file.id, file.filter->head, std::move(tail));
}

void put_sock_groups(Writer& writer, const File& file) {
  Bytes tail;
  for (const SocketGroup& group : file.groups) {
    append(tail, writer.grown_records(std::vector{group.head}));
    append(tail, bytes_of_vector(group.sources));
  }
  const cryo_array head{static_cast<std::uint32_t>(file.groups.size()),
                        writer.record_size<cryo_sock_group>()};
  writer.put(CRYO_SEC_SOCK_GROUPS, file.id, head, std::move(tail));
}

void put_connection(Writer& writer, const File& file) {
  const SocketState& state = *file.connection;
  Bytes names = state.name;
  append(names, state.peer_name);
  append(names, bytes_of_text(state.path));
  writer.put(CRYO_SEC_SOCKSTATE, file.id, state.head, std::move(names));
  if (!file.options.empty()) writer.put_array(CRYO_SEC_SOCKOPTS, file.id, file.options);
  if (file.queue.empty()) return;
  const cryo_sock_queue head{static_cast<std::uint32_t>(file.queue.size()),
                             writer.record_size<cryo_sock_message>(), 0};
  writer.put(CRYO_SEC_SOCKQUEUE, file.id, head, bytes_of_queue(writer, file.queue));
}

void put_pty(Writer& writer, const File& file) {
  Bytes tail;
  for (const Bytes* part : {&file.pty->output, &file.pty->input, &file.pty->line_ends, &file.pty->pending})
    append(tail, *part);
  writer.put(CRYO_SEC_PTY, file.id, file.pty->head, std::move(tail));
}

Bytes message_bytes(const std::vector<Message>& messages) {
  Bytes bytes;
  for (const Message& message : messages) {
    append_object(bytes, cryo_message{message.type, static_cast<std::uint32_t>(message.text.size()), 0});
    append(bytes, message.text);
  }
  return bytes;
}

void put_ipc(Writer& writer, const Context& context) {
  for (const SemSet& set : context.sem_sets) {
    Bytes tail;
    for (const std::uint32_t value : set.values) append_object(tail, value);
    writer.put(CRYO_SEC_SEM, static_cast<std::uint32_t>(set.head.perm.id), set.head, std::move(tail));
  }
  for (const MsgQueue& queue : context.msg_queues)
    writer.put(CRYO_SEC_MSG, static_cast<std::uint32_t>(queue.head.perm.id), queue.head,
               message_bytes(queue.messages));
  for (const Process& process : context.processes)
    if (!process.sem_undo.empty())
      writer.put_array(CRYO_SEC_SEM_UNDO, static_cast<std::uint32_t>(process.head.pid), process.sem_undo);
}

void put_listening(Writer& writer, std::uint32_t id, const Socket& socket) {
  Bytes tail = socket.address;
  const auto* path = reinterpret_cast<const std::byte*>(socket.path.data());
  tail.insert(tail.end(), path, path + socket.path.size());
  writer.put(CRYO_SEC_SOCKET, id, socket.head, tail);
}

void put_files(Writer& writer, const Context& context) {
  for (const auto& [id, inode] : context.inodes) {
    writer.put(CRYO_SEC_INODE, id, inode.head);
    if (inode.pipe) put_pipe(writer, inode);
    if (inode.shm) writer.put(CRYO_SEC_SHM, id, *inode.shm);
    if (inode.huge_size != 0)
      writer.put(CRYO_SEC_HUGETLB, id,
                 cryo_hugetlb{static_cast<std::uint32_t>(std::countr_zero(inode.huge_size)), 0});
    if (inode.end) writer.put(CRYO_SEC_FILE_END, id, *inode.end, {}, 0);
    if (inode.mqueue)
      writer.put(CRYO_SEC_MQUEUE, id, inode.mqueue->head, message_bytes(inode.mqueue->messages));
  }
  for (const auto& [id, file] : context.files) {
    writer.put(CRYO_SEC_FILE, id, file.head, bytes_of_text(file.path));
    if (file.opener)
      writer.put(CRYO_SEC_FILE_OPENER, id, file.opener->head, bytes_of_vector(file.opener->groups));
    if (file.filter) put_sock_filter(writer, file);
    if (!file.groups.empty()) put_sock_groups(writer, file);
    if (!file.devices.empty()) {
      std::vector<cryo_sock_device> devices;
      for (const SocketDevice& device : file.devices) devices.push_back(device.head);
      writer.put_array(CRYO_SEC_SOCK_DEVICES, id, devices);
    }
    if (!file.epoll.empty()) writer.put_array(CRYO_SEC_EPOLL, id, file.epoll);
    if (file.socket) put_listening(writer, id, *file.socket);
    if (file.net != 0 || file.name_mnt != 0)
      writer.put(CRYO_SEC_SOCKET_NET, file.id, cryo_socket_net{file.net, file.name_mnt});
    if (file.connection) put_connection(writer, file);
    if (file.eventfd) writer.put(CRYO_SEC_EVENTFD, id, *file.eventfd);
    if (!file.build_id.empty()) writer.put({CRYO_SEC_BUILD_ID, id, 0, {}, file.build_id, 8});
    if (file.timerfd) writer.put(CRYO_SEC_TIMERFD, id, *file.timerfd);
    if (file.inotify) put_inotify(writer, file);
    if (file.fanotify) put_fanotify(writer, file);
    if (file.uring) put_uring(writer, file);
    if (file.pidfd) writer.put(CRYO_SEC_PIDFD, id, *file.pidfd);
    if (file.signalfd) writer.put(CRYO_SEC_SIGNALFD, id, *file.signalfd);
    if (file.pty) put_pty(writer, file);
    if (file.pty_slave) writer.put(CRYO_SEC_PTY_SLAVE, id, *file.pty_slave);
  }
}

void put_chunk(Writer& writer, const PageChunk& chunk, const Bytes& data, std::uint32_t page_size) {
  const cryo_pages head{chunk.kind, static_cast<std::uint32_t>(chunk.runs.size()),
                        writer.record_size<cryo_page_run>(), static_cast<std::uint32_t>(chunk.nr_pages)};
  writer.put(CRYO_SEC_PAGES, chunk.object, head, writer.grown_records(chunk.runs));
  writer.put({CRYO_SEC_PAGE_DATA, chunk.object, chunk.section_flags, {}, data, page_size});
}

void put_tags(Writer& writer, const TagChunk& chunk, std::uint32_t page_size) {
  const cryo_page_tags head{chunk.kind,
                            static_cast<std::uint32_t>(chunk.runs.size()),
                            writer.record_size<cryo_page_run>(),
                            static_cast<std::uint32_t>(chunk.nr_pages),
                            page_size / CRYO_TAG_GRANULE / 2,
                            0};
  Bytes tail = writer.grown_records(chunk.runs);
  tail.insert(tail.end(), chunk.tags.begin(), chunk.tags.end());
  writer.put(CRYO_SEC_PAGE_TAGS, chunk.object, head, tail);
}

void set_totals(Context& context) {
  context.system.processes = static_cast<std::uint32_t>(context.processes.size());
  context.system.threads = 0;
  for (Process& process : context.processes) {
    process.head.threads = static_cast<std::uint32_t>(process.threads.size());
    context.system.threads += process.head.threads;
    if (process.creds)
      process.creds->head.nr_groups = static_cast<std::uint32_t>(process.creds->groups.size());
  }
  for (auto& [id, mm] : context.mms) mm.head.nr_vmas = static_cast<std::uint32_t>(mm.vmas.size());
}

Thread sample_thread(std::int32_t tid, std::int32_t pid) {
  Thread thread;
  thread.head.tid = tid;
  thread.head.pid = pid;
  thread.head.flags = tid == pid ? CRYO_THREAD_LEADER : 0;
  copy_text(thread.head.comm, "sleeper");
  thread.head.sigmask = 0x10000;
  thread.head.nr_cpus = 4;
  thread.cpus = {0xf};
  thread.regsets.push_back({{1, 8}, Bytes(27 * 8, std::byte{0x11})});
  return thread;
}

void fill_header(cryo_file_header& header, std::uint32_t arch, std::uint32_t page_size) {
  std::memcpy(header.magic, CRYO_MAGIC, CRYO_MAGIC_LEN);
  header.header_len = sizeof(header);
  header.format_major = CRYO_FORMAT_MAJOR;
  header.format_minor = CRYO_FORMAT_MINOR;
  header.arch = arch;
  header.page_size = page_size;
  header.created_ns = 1'700'000'000'000'000'000ULL;
}

// A process with one page, and no files.
void fill_minimum(ContextBuilder& builder) {
  Context& context = builder.context;
  copy_text(context.system.sysname, "Linux");
  copy_text(context.system.release, "6.1.0-test");
  copy_text(context.system.machine, "test");
  copy_text(context.system.nodename, "node");
  copy_text(context.system.writer, "0.1");
  context.system.realtime_ns = context.header.created_ns;

  Process process;
  process.head.pid = 1000;
  process.head.ppid = 1;
  process.head.pgid = process.head.sid = 1000;
  process.head.mm = 1;
  process.head.dumpable = 1;
  process.head.exit_signal = 17;
  process.command = "sleeper";
  process.creds = Creds{};
  process.cwd = Path{{1, 2, 0, 0}, "/home"};
  process.rlimits.assign(1, {100, 200});
  process.sigactions.assign(1, {});
  process.threads.push_back(sample_thread(1000, 1000));
  context.processes.push_back(std::move(process));

  const std::uint64_t page = context.header.page_size;
  Mm mm;
  mm.id = 1;
  mm.auxv = {6, page, 0, 0};
  mm.vmas.push_back({16 * page, 18 * page, 0, CRYO_VMA_READ | CRYO_VMA_WRITE, CRYO_VMA_ANON, 0, 0, 0});
  context.mms.emplace(1, std::move(mm));
  builder.add_page_chunk(CRYO_PAGES_MM, 1, {{17 * page, 1}});
}

void fill_files(Context& context) {
  add_inode(context, 1, 12345, 0100644).end = cryo_file_end{4096, 0xe0f};
  add_file(context, 1, 1, CRYO_FILE_PATH, "/usr/bin/sleeper").build_id = Bytes(20, std::byte{0xb1});
  Pipe pipe{{65536, 2}, {{0, bytes_of_text("hello")}, {1, bytes_of_text("packet")}}};
  add_inode(context, 2, 0, 0010600).pipe = std::move(pipe);
  add_file(context, 2, 2, CRYO_FILE_PIPE, "");
  add_file(context, 3, 2, CRYO_FILE_PIPE, "").head.flags = 1;
  add_file(context, 4, 0, CRYO_FILE_EPOLL, "").epoll = {{4, 1, 0xabcdef, 2, CRYO_EPOLL_QUEUED}};
  add_file(context, 5, 0, CRYO_FILE_SOCKET, "").socket =
      Socket{{1, 1, 0, 5, 0, 0, 0, 0}, bytes_of_text("\1"), ""};
  add_file(context, 6, 0, CRYO_FILE_EVENTFD, "").eventfd = cryo_eventfd{7, 1, 0};
  add_inode(context, 3, 8192, 0100600).head.flags = CRYO_INODE_SHMEM | CRYO_INODE_CONTENTS;
  add_file(context, 7, 3, CRYO_FILE_CONTENTS, "/dev/zero");
  add_file(context, 8, 0, CRYO_FILE_STDIO, "/dev/pts/1").head.stdio_fd = 1;
  add_file(context, 40, 0, CRYO_FILE_TIMERFD, "").timerfd =
      cryo_timerfd{1, 0, 2, 1'500'000'000, 3'000'000'000, CRYO_TIMERFD_ARMED, 0};
  add_file(context, 41, 0, CRYO_FILE_SIGNALFD, "").signalfd = cryo_signalfd{0x4200};
  add_file(context, 42, 0, CRYO_FILE_INOTIFY, "").inotify = Inotify{
      {1, 5}, {Watch{{3, 0x100, 1, 2, 4, 0}, "/tmp"}}, {{{3, 0x100, 7, 3}, "new"}, {{-1, 0x4000, 0, 0}, ""}}};
  add_file(context, 62, 0, CRYO_FILE_FANOTIFY, "").fanotify =
      Fanotify{{0x600, 2, 1, CRYO_FANOTIFY_UNPRIVILEGED},
               {FanotifyMark{{CRYO_MARK_INODE, 0x240, 0x102, 8, 1, 2, 4, 0}, "/tmp"}}};
  add_file(context, 60, 0, CRYO_FILE_PIDFD, "").pidfd = cryo_pidfd{0, CRYO_PIDFD_THREAD};
  Uring ring{{}, Bytes(64, std::byte{0xc9}), {1, 0}, Bytes(128, std::byte{0x59})};
  ring.head.sq_entries = 2;
  ring.head.cq_entries = 4;
  ring.head.sq_head = ring.head.sq_tail = 7;
  ring.head.cq_tail = ring.head.cq_head = 9;
  ring.head.eventfd = 6;
  add_file(context, 61, 0, CRYO_FILE_URING, "").uring = std::move(ring);
}

void fill_process_details(Process& process) {
  process.creds->groups = {4, 24, 27};
  process.rlimits.assign(16, {~0ULL, ~0ULL});
  process.sigactions.assign(64, {});
  process.sigactions[14] = {0x401000, 4, 0x402000, 1};
  process.itimers.assign(3, {5'000'000, 1'000'000});
  SigInfo info{};
  info[0] = std::byte{10};
  process.pending = {1ULL << 9, {info}};
  for (std::uint32_t i = 1; i <= 6; ++i) process.fds.push_back({i + 2, i, i == 1 ? CRYO_FD_CLOEXEC : 0U, 0});
  process.fds.insert(process.fds.begin(), {1, 8, 0, 0});
  process.locks = {{1, CRYO_LOCK_POSIX, 1, 0, 0, ~0ULL >> 1}};
  process.threads.front().pending = {1ULL << 11, {}};
  cryo_posix_timer timer{};
  timer.id = 3;
  timer.clockid = 1;
  timer.signal = 14;
  timer.flags = CRYO_TIMER_ARMED;
  timer.remaining_ns = 2'000'000'000;
  timer.overrun = -1;
  process.posix_timers = {5, {timer}};
  process.cgroup = "/batch/job";
  process.terminal = cryo_terminal{};
  process.terminal->pgid = process.head.pgid;
  process.threads.front().uclamp = cryo_uclamp{100, CRYO_UCLAMP_NONE};
  process.threads.front().mempolicy = cryo_mempolicy{0, 0, 2, 0, -1, 0, {1}};
  process.threads.front().seccomp = {2, {{0, {6}}, {2, {0x20, 6}}}};
}

}  // namespace

ContextBuilder::ContextBuilder(std::uint32_t arch, std::uint32_t page_size) {
  fill_header(context.header, arch, page_size);
  fill_minimum(*this);
  fill_files(context);
  fill_process_details(process());
  context.cpu = Bytes(40, std::byte{1});
  const std::uint64_t page = page_size;
  Mm& mm = context.mms.at(1);
  mm.head.exe_file = 1;
  mm.excluded.push_back({16 * page, 17 * page, 1});
  mm.used.push_back({17 * page, 1});
  mm.vmas.insert(mm.vmas.begin(),
                 {8 * page, 12 * page, 0, CRYO_VMA_READ | CRYO_VMA_EXEC, CRYO_VMA_FILE, 1, 0, 0});
  mm.vmas.push_back(
      {32 * page, 34 * page, 0, CRYO_VMA_READ | CRYO_VMA_WRITE | CRYO_VMA_SHARED, CRYO_VMA_SHMEM, 7, 0, 0});
  context.inodes.at(3).head.size = 2 * page;
  const cryo_vma& writable = mm.vmas.at(1);
  const cryo_vma& shared = mm.vmas.back();
  mm.names = {{{writable.start, writable.end}, "buffers"}, {{shared.start, shared.end}, "table (1)"}};
  add_page_chunk(CRYO_PAGES_INODE, 3, {{page, 1}});
  add_tags(CRYO_PAGES_MM, 1, {{16 * page, 1}});
  add_tags(CRYO_PAGES_INODE, 3, {{0, 2}});
}

ContextBuilder ContextBuilder::smallest(std::uint32_t arch) {
  ContextBuilder builder(arch);
  builder.context.processes.clear();
  builder.context.mms.clear();
  builder.context.inodes.clear();
  builder.context.files.clear();
  builder.context.pages.clear();
  builder.context.tags.clear();
  builder.context.cpu.clear();
  builder.page_data.clear();
  fill_minimum(builder);
  return builder;
}

void ContextBuilder::add_page_chunk(std::uint32_t kind, std::uint32_t object,
                                    std::vector<cryo_page_run> runs) {
  PageChunk chunk;
  chunk.kind = kind;
  chunk.object = object;
  chunk.runs = std::move(runs);
  for (const cryo_page_run& run : chunk.runs) chunk.nr_pages += run.nr_pages;
  chunk.bytes = chunk.nr_pages * context.header.page_size;
  Bytes data(chunk.bytes);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(i * 7 + page_data.size());
  chunk.section_flags = CRYO_SECF_REQUIRED | CRYO_SECF_XXH64;
  chunk.checksum = checksum(data, chunk.section_flags);
  context.pages.push_back(std::move(chunk));
  page_data.push_back(std::move(data));
}

void ContextBuilder::add_tags(std::uint32_t kind, std::uint32_t object, std::vector<cryo_page_run> runs) {
  TagChunk chunk;
  chunk.kind = kind;
  chunk.object = object;
  chunk.runs = std::move(runs);
  for (const cryo_page_run& run : chunk.runs) chunk.nr_pages += run.nr_pages;
  chunk.tags = Bytes(chunk.nr_pages * (context.header.page_size / CRYO_TAG_GRANULE / 2), std::byte{0x37});
  context.tags.push_back(std::move(chunk));
}

void ContextBuilder::add_page_copy(std::uint64_t start, std::uint64_t nr_pages, std::int64_t skip) {
  std::uint64_t first = 0;
  const Bytes without = build();
  for (const std::uint64_t at : section_offsets(without)) {
    cryo_section head;
    std::memcpy(&head, &without[at], sizeof(head));
    if (head.type == CRYO_SEC_PAGE_DATA && first == 0) first = at + sizeof(head) + head.pad;
  }
  const cryo_page_copy copy{start, nr_pages, first + static_cast<std::uint64_t>(skip)};
  const cryo_array head{1, sizeof(copy)};
  extra.push_back({CRYO_SEC_PAGE_COPIES, 1, CRYO_SECF_REQUIRED, bytes_of(head), bytes_of(copy)});
}

void ContextBuilder::add_sharer(cryo_shared_memory first, cryo_shared_memory second, std::uint32_t mm) {
  process().shared_memory = first;
  Process other = process();
  other.head.ppid = process().head.pid;
  other.head.pid = 1002;
  other.head.mm = mm;
  other.shared_memory = second;
  for (Thread& thread : other.threads) thread.head.tid = thread.head.pid = 1002;
  if (mm == 2) {
    context.mms[2] = context.mms.at(1);
    context.mms[2].id = 2;
  }
  context.processes.push_back(other);
}

Thread& ContextBuilder::add_thread(std::int32_t tid) {
  process().threads.push_back(sample_thread(tid, process().head.pid));
  return process().threads.back();
}

Bytes ContextBuilder::build() const {
  ContextBuilder copy(*this);
  Context& c = copy.context;
  if (fix_totals) set_totals(c);
  Writer writer(copy);
  writer.put(CRYO_SEC_SYSTEM, 0, c.system);
  if (!c.cpu.empty()) writer.put({CRYO_SEC_CPU, c.header.arch, 0, c.cpu, {}});
  for (const Process& process : c.processes) put_process(writer, process);
  for (const auto& [id, ns] : c.namespaces) put_namespace(writer, id, ns);
  for (const auto& [id, entry] : c.mount_entries) put_mount_entry(writer, entry);
  for (std::size_t i = 0; i < c.cgroups.size(); ++i)
    put_cgroup(writer, static_cast<std::uint32_t>(i + 1), c.cgroups[i]);
  for (const auto& [crc, vdso] : c.vdsos) {
    Bytes tail = vdso.image;
    tail.insert(tail.end(), vdso.data.begin(), vdso.data.end());
    writer.put(CRYO_SEC_VDSO, crc,
               cryo_vdso{static_cast<std::uint32_t>(vdso.image.size()),
                         static_cast<std::uint32_t>(vdso.data.size())},
               tail);
  }
  for (const auto& [id, mm] : c.mms) writer.put(CRYO_SEC_MM, id, mm.head, bytes_of_vector(mm.auxv));
  put_files(writer, c);
  put_ipc(writer, c);
  for (const auto& [id, mm] : c.mms)
    for (const cryo_vma& vma : mm.vmas) writer.put(CRYO_SEC_VMA, id, vma);
  for (const Process& process : c.processes) {
    const auto pid = static_cast<std::uint32_t>(process.head.pid);
    if (!process.fds.empty()) writer.put_array(CRYO_SEC_FDS, pid, process.fds);
    if (!process.locks.empty()) writer.put_array(CRYO_SEC_LOCKS, pid, process.locks);
    put_threads(writer, process);
  }
  for (const RawSection& section : early) writer.put(section);
  std::uint64_t page_bytes = 0;
  for (std::size_t i = 0; i < c.pages.size(); ++i) {
    put_chunk(writer, c.pages[i], page_data[i], c.header.page_size);
    page_bytes += page_data[i].size();
  }
  for (const auto& [id, mm] : c.mms)
    if (!mm.excluded.empty()) writer.put_array(CRYO_SEC_EXCLUDED, id, mm.excluded);
  for (const auto& [id, mm] : c.mms)
    for (const AioContext& aio : mm.aio) writer.put(CRYO_SEC_AIO, id, aio.head, aio.events);
  for (const auto& [id, mm] : c.mms)
    if (!mm.guards.empty()) writer.put_array(CRYO_SEC_GUARDS, id, mm.guards);
  for (const auto& [id, mm] : c.mms)
    if (!mm.used.empty()) writer.put_array(CRYO_SEC_PAGES_USED, id, mm.used, 0);
  for (const auto& [id, mm] : c.mms)
    for (const VmaName& name : mm.names)
      writer.put(CRYO_SEC_VMA_NAME, id, name.head, bytes_of_text(name.text), 0);
  for (const TagChunk& chunk : c.tags) put_tags(writer, chunk, c.header.page_size);
  for (const RawSection& section : extra) writer.put(section);
  return writer.finish(page_bytes);
}

std::vector<std::uint64_t> section_offsets(std::span<const std::byte> bytes) {
  std::vector<std::uint64_t> offsets;
  cryo_section head;
  std::uint64_t at = sizeof(cryo_file_header);
  while (at + sizeof(head) <= bytes.size()) {
    offsets.push_back(at);
    std::memcpy(&head, &bytes[at], sizeof(head));
    at += sizeof(head) + head.pad + head.length;
  }
  return offsets;
}

void reseal(Bytes& bytes) {
  cryo_file_header header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  header.crc = crc_before(bytes, offsetof(cryo_file_header, crc));
  std::memcpy(bytes.data(), &header, sizeof(header));
  for (const std::uint64_t at : section_offsets(bytes)) {
    cryo_section head;
    std::memcpy(&head, &bytes[at], sizeof(head));
    head.crc = checksum(std::span(bytes).subspan(at + sizeof(head) + head.pad, head.length), head.flags);
    head.header_crc = crc_before(std::as_bytes(std::span(&head, 1)), offsetof(cryo_section, header_crc));
    std::memcpy(&bytes[at], &head, sizeof(head));
  }
}

}  // namespace cryo::test
