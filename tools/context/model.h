// SPDX-License-Identifier: GPL-2.0-only
// A context in memory: what read_context() makes of the sections of a file.
//
// The structures of <cryo/format.h> are used as they are (member `head`), so that a field has one
// name and one description; what the format keeps in a section's tail is a typed member beside it.
// read_context() returns only consistent models: see reader.h for what it has checked.
#pragma once

#include <cryo/format.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace cryo {

using Bytes = std::vector<std::byte>;
using Hash = std::array<std::byte, CRYO_HASH_SIZE>;  // see format_memory.h

// ---- threads and processes --------------------------------------------------------------------

struct Regset {
  cryo_regset_head head{};  // note: NT_*
  Bytes data;               // the set as in a core dump
};

using SigInfo = std::array<std::byte, CRYO_SIGINFO_SIZE>;  // siginfo_t, as rt_sigqueueinfo(2) takes it

struct SignalQueue {
  std::uint64_t signals = 0;      // all pending signals, bit N-1 is signal N
  std::vector<SigInfo> siginfos;  // in queue order; a signal without one had no siginfo queued
};

struct SeccompFilter {
  std::uint32_t flags = 0;             // SECCOMP_FILTER_FLAG_LOG
  std::vector<std::uint64_t> program;  // struct sock_filter each
  bool operator==(const SeccompFilter&) const = default;
};

struct Seccomp {
  std::uint32_t mode = 0;              // SECCOMP_MODE_*, 0: off
  std::vector<SeccompFilter> filters;  // oldest first; mode SECCOMP_MODE_FILTER: at least one
  std::int32_t shared_with = 0;        // tid of a thread before it in the process, which has
  std::uint32_t shared = 0;            // so many of these, the oldest, too, equal ones; 0: no thread is named
};

struct ThreadFs {
  cryo_thread_fs head{};  // same_as: a thread of the process that has one of its own, too
  std::string path;
};

// Root directory other than that of the mount namespace (chroot).
struct Root {
  cryo_inode head{};  // a directory
  std::string path;   // absolute
};

struct Creds {
  cryo_creds head{};
  std::vector<std::uint32_t> groups;  // supplementary
};

struct Thread {
  cryo_thread head{};
  std::vector<std::uint64_t> cpus;  // affinity mask, bit 0 of word 0 is CPU 0; bits: head.nr_cpus
  std::vector<Regset> regsets;
  SignalQueue pending;  // of this thread alone
  Seccomp seccomp;
  std::optional<cryo_uclamp> uclamp;
  std::optional<cryo_mempolicy> mempolicy;
  std::optional<ThreadFs> fs;  // it does not share those of its process
  std::optional<Creds> creds;  // other ones than its process
  std::optional<Root> root;  // of the leader: its process's; of others: with `fs`, and the first that has it
};

// A process goes on when its main thread has exited.
[[nodiscard]] inline bool has_exited(const Thread& thread) {
  return thread.head.flags & CRYO_THREAD_EXITED;
}

struct Path {
  cryo_path head{};
  std::string path;
};

struct PosixTimers {
  std::uint32_t next_id = 0;             // of the next timer_create()
  std::vector<cryo_posix_timer> timers;  // different ids
};

struct Process {
  cryo_process head{};
  cryo_namespaces namespaces{};            // all 0: the requester's
  std::vector<cryo_nested_id> nested_ids;  // in pid namespaces below the requester's
  std::string command;                     // name of the command line's file
  std::optional<Creds> creds;              // always present in a context that cr_restart accepts
  std::optional<Creds> ended_as;           // of one that has exited, as its parent's user namespace has them
  // Supplementary ones in the requester's user namespace, when it is in another one.
  std::optional<std::vector<std::uint32_t>> outer_groups;
  std::optional<Path> cwd;             // (same)
  cryo_shared_tables shared{};         // pids of processes of the context
  cryo_shared_memory shared_memory{};  // (same): they have one head.mm
  std::int32_t outer_pid = 0;          // head.pid, which may be seen from elsewhere, as those above are
  std::optional<cryo_terminal>
      terminal;                      // its controlling one, unless the context has the master; of one process
  std::string cgroup;                // path in the unified hierarchy; empty: not known
  std::vector<cryo_rlimit> rlimits;  // index: RLIMIT_*
  std::vector<cryo_sigaction> sigactions;  // index: signal - 1
  std::vector<cryo_itimer> itimers;        // index: ITIMER_*
  PosixTimers posix_timers;
  SignalQueue pending;                  // shared by all threads
  std::vector<cryo_fd> fds;             // ascending by fd
  std::vector<cryo_lock> locks;         // held on its files
  std::vector<cryo_sem_undo> sem_undo;  // of sets of the context
  std::vector<Thread> threads;          // the leader first, then in the order of the file
};

// ---- memory -----------------------------------------------------------------------------------

// Anonymous memory that the process has named (PR_SET_VMA_ANON_NAME).
struct VmaName {
  cryo_vma_name head{};  // all of an area
  std::string text;      // CRYO_VMA_NAME_MAX bytes at most, none of which the kernel refuses
};

// Of io_setup(2), with no request under way.
struct AioContext {
  cryo_aio head{};  // start, size: all of a VMA
  Bytes events;     // those that wait, CRYO_AIO_EVENT_SIZE each
};

// Bytes of its pages, if these are of hugetlbfs; else 0.
[[nodiscard]] inline std::uint64_t huge_size_of(const cryo_vma& vma) {
  return (vma.flags & CRYO_VMA_HUGETLB) != 0 ? std::uint64_t{1} << vma.huge_shift : 0;
}

struct Mm {
  std::uint32_t id = 0;
  cryo_mm head{};
  std::vector<std::uint64_t> auxv;          // pairs, AT_NULL included
  std::vector<cryo_vma> vmas;               // ascending, not overlapping
  std::vector<VmaName> names;               // ascending
  std::vector<cryo_mempolicy> mempolicies;  // of areas inside VMAs
  std::vector<cryo_excluded> excluded;      // ascending; inside private anonymous VMAs; no pages are saved
  std::vector<AioContext> aio;              // ascending; as many as there are VMAs of kind CRYO_VMA_AIO
  std::vector<cryo_page_run> guards;        // ascending; each inside a VMA
  std::vector<cryo_page_run> used;  // since the checkpoint before: ascending, CRYO_USED_MAX_RUNS at most
};

// The code that a kernel maps into every process.
struct Vdso {
  Bytes image;
  Bytes data;  // the start of its first [vvar] area, zeros follow
};

// One PAGES section and the PAGE_DATA that follows it, or one record of a PAGE_COPIES or PAGES_ELSEWHERE
// section.
struct PageChunk {
  std::uint32_t kind = CRYO_PAGES_MM;  // CRYO_PAGES_*
  std::uint32_t object = 0;            // mm or inode id
  std::vector<cryo_page_run> runs;     // ascending; inside VMAs of the mm, or inside the inode
  std::uint64_t nr_pages = 0;
  std::uint64_t data_offset = 0;  // of the first page's bytes from the start of the context that has them
  std::uint64_t bytes = 0;        // nr_pages * page size
  std::uint32_t padding = 0;      // bytes right before them, which are zero
  std::uint32_t checksum = 0;     // of these bytes, of the kind that section_flags say
  std::uint16_t section_flags = 0;
  bool copy = false;           // of pages of a chunk before it, which has the bytes: one run, no checksum
  std::uint32_t ancestor = 0;  // the context that has the bytes: 0 this one, N the Nth of Context::ancestors
  // Of each page, when they are an ancestor's: one run, no checksum. Or none: that one's checksums tell.
  std::vector<Hash> hashes;
};

// One PAGE_TAGS section.
struct TagChunk {
  std::uint32_t kind = CRYO_PAGES_MM;  // CRYO_PAGES_*
  std::uint32_t object = 0;            // (as of PageChunk)
  std::vector<cryo_page_run> runs;     // (same)
  std::uint64_t nr_pages = 0;
  Bytes tags;  // of each page page_size / CRYO_TAG_GRANULE / 2 bytes
};

struct Ancestor {
  cryo_ancestor head{};
  std::string name;  // relative to the directory of the context, or absolute
};

// ---- files ------------------------------------------------------------------------------------

struct PipePacket {
  std::uint32_t flags = 0;  // as struct cryo_pipe_packet
  Bytes data;
};

struct Pipe {
  cryo_pipe head{};
  std::vector<PipePacket> packets;  // in reading order
};

struct Message {
  std::int64_t type = 0;
  Bytes text;
};

struct MqueueState {
  cryo_mqueue head{};
  std::vector<Message> messages;  // as they would be received
};

// What a restart finds by the name of a file whose contents the context has, too (CRYO_INODE_FALLBACK); the
// worst of several names is the last one.
enum class FileFound { kSame, kSameContents, kGone, kUnreadable, kChanged };

struct Inode {
  std::uint32_t id = 0;
  cryo_inode head{};
  FileFound found = FileFound::kSame;  // see restart/fallback.h
  bool made_by_name = false;           // it is gone, and made again by its name
  std::optional<MqueueState> mqueue;   // always there when a file of kind CRYO_FILE_MQUEUE names the inode
  std::optional<cryo_shm> shm;         // always there when a file of kind CRYO_FILE_SYSV names the inode
  std::optional<Pipe> pipe;            // always there when a file of kind CRYO_FILE_PIPE names the inode
  std::optional<cryo_file_end> end;    // of its last bytes, no more than it has; where they were at hand
  std::uint64_t huge_size =
      0;  // bytes of its pages, if it is of hugetlbfs: its size and areas are whole ones; else 0
};

struct Socket {
  cryo_socket head{};
  Bytes address;     // struct sockaddr of the family
  std::string path;  // of a Unix socket: where its name is; empty: the address says so
};

struct Watch {
  cryo_watch head{};
  std::string path;  // absolute
};

// Its wd is that of a watch, which may have gone, unless its mask is IN_Q_OVERFLOW.
struct InotifyEvent {
  cryo_inotify_event head{};
  std::string name;  // empty: none
};

struct Inotify {
  cryo_inotify head{};
  std::vector<Watch> watches;
  std::vector<InotifyEvent> events;  // that have not been read, in order
};

struct FanotifyMark {
  cryo_mark head{};
  std::string path;  // absolute
};

struct Fanotify {
  cryo_fanotify head{};
  std::vector<FanotifyMark> marks;
};

// A ring of io_uring, with no request under way.
struct Uring {
  cryo_uring head{};
  Bytes completions;                 // as in the ring
  std::vector<std::uint32_t> array;  // numbers of submissions; empty with NO_SQARRAY
  Bytes submissions;
};

// One message in the queue of a socket; of a stream a part of it.
struct SocketMessage {
  cryo_sock_message head{};
  std::vector<std::uint32_t> files;  // passed with it
  Bytes name;                        // the sender's address
  Bytes data;
};

// Programs of classic BPF.
struct SocketFilter {
  cryo_sock_filter head{};
  std::vector<std::uint64_t> filter, choice;  // instructions; empty: none
};

// A multicast group that a socket is in.
struct SocketGroup {
  cryo_sock_group head{};
  std::string device;
  std::vector<std::array<std::uint8_t, 16>> sources;  // of IPv4: the first 4 bytes
};

// A network interface that an option of a socket names.
struct SocketDevice {
  cryo_sock_device head{};
  std::string device;  // empty: it had gone
};

// A socket that does not listen.
struct SocketState {
  cryo_sock_state head{};
  Bytes name, peer_name;  // struct sockaddr of the family; empty: none
  std::string path;       // as of Socket
};

// A pseudo-terminal of the context's own.
struct Pty {
  cryo_pty head{};
  Bytes output;     // written by the slave, not read yet
  Bytes input;      // what the line discipline has for the slave's readers
  Bytes line_ends;  // of each byte of `input`: 1 when a line ends there
  Bytes pending;    // written by the master, waits for the line discipline
};

struct File {
  std::uint32_t id = 0;
  cryo_file head{};
  std::string path;
  std::string
      redirected;  // not of the context: a file that cr_restart's caller has named instead, see redirect.h
  std::optional<Creds> opener;              // the opener, where that is not the holder
  std::vector<cryo_epoll_target> epoll;     // kind CRYO_FILE_EPOLL
  std::optional<Socket> socket;             // always there when kind is CRYO_FILE_SOCKET
  std::optional<cryo_eventfd> eventfd;      // always there when kind is CRYO_FILE_EVENTFD
  std::optional<cryo_timerfd> timerfd;      // always there when kind is CRYO_FILE_TIMERFD
  std::optional<cryo_signalfd> signalfd;    // always there when kind is CRYO_FILE_SIGNALFD
  std::optional<Inotify> inotify;           // always there when kind is CRYO_FILE_INOTIFY
  std::optional<Fanotify> fanotify;         // always there when kind is CRYO_FILE_FANOTIFY
  std::optional<cryo_pidfd> pidfd;          // always there when kind is CRYO_FILE_PIDFD
  std::optional<Uring> uring;               // always there when kind is CRYO_FILE_URING
  Bytes build_id;                           // of a mapped ELF file, where it was at hand
  std::optional<SocketState> connection;    // always there when kind is CRYO_FILE_UNIX ... WAITING
  std::vector<cryo_sockopt> options;        // of any socket
  std::optional<SocketFilter> filter;       // (same) when it has any
  std::vector<SocketGroup> groups;          // (same)
  std::vector<SocketDevice> devices;        // (same)
  std::uint32_t net = 0;                    // (same) its network namespace, 0: the requester's
  std::uint32_t name_mnt = 0;               // (same) mount namespace that its name is in, 0: the requester's
  std::optional<cryo_inode> socket_file;    // of a Unix socket: what its name in the file system stands for
  std::vector<SocketMessage> queue;         // what waits to be received, in order
  std::optional<Pty> pty;                   // always there when kind is CRYO_FILE_PTY_MASTER
  std::optional<cryo_pty_slave> pty_slave;  // always there when kind is CRYO_FILE_PTY_SLAVE
};

// ---- System V IPC -----------------------------------------------------------------------------

struct SemSet {
  cryo_sem_set head{};
  std::vector<std::uint32_t> values;
};

struct MsgQueue {
  cryo_msg_queue head{};
  std::vector<Message> messages;  // in the order of the queue
};

// ---- namespaces -------------------------------------------------------------------------------

// A line of /proc/PID/mountinfo.
struct Mount {
  std::uint32_t id = 0;
  std::uint32_t parent = 0;
  std::string device;  // "MAJOR:MINOR"
  std::string root;    // inside its file system
  std::string point;
  std::set<std::string> options;
  std::uint32_t shared = 0;  // its peer group
  std::uint32_t slave = 0;   // of this peer group
  std::string type;
  std::string source;
  std::string super_options;
};

// A file in a temporary file system of a mount namespace, or the directory that is mounted.
struct MountEntry {
  std::uint32_t id = 0;
  cryo_mount_entry head{};
  std::string path;    // from what is mounted; empty: that itself
  std::string target;  // of a symbolic link
};

// Below one of `mounts`, of which the parent is not among them, are all others.
struct MountTree {
  std::vector<cryo_mount> kinds;  // of each of `mounts`
  std::vector<Mount> mounts;
  std::vector<Mount> outer;  // the requester's
  bool has_groups = false;   // mounts are peers, or slaves, of each other
};

// Exactly the member that its type calls for has a value.
struct Namespace {
  cryo_ns head{};
  std::optional<cryo_ns_uts> uts;
  std::optional<cryo_ns_time> time;
  std::optional<cryo_ns_ipc> ipc;
  std::optional<cryo_ns_net> net;
  std::optional<cryo_ns_user> user;
  std::vector<cryo_id_range> uids, gids;  // of a user namespace
  std::string cgroup;                     // root of a cgroup namespace
  std::optional<MountTree> mnt = {};
  std::optional<cryo_inode> root = {};  // directory of a mount namespace, where that is not the requester's
  std::vector<std::pair<std::string, std::string>> settings = {};  // of a network namespace: file, value
};

// A file of a control group, and what it said. No name leads out of the group, or is that of a command.
struct CgroupSetting {
  std::string name;  // CRYO_CGROUP_NAME_MAX bytes at most
  std::string text;  // lines, without a newline at the end; never empty
};

// One that the job had to itself (CRYO_CGROUP_OWN), or that has threads of it.
struct ControlGroup {
  cryo_cgroup head{};
  std::string path;  // as Process::cgroup; not the root, and without ".."
  std::vector<std::int32_t> threads;
  std::vector<CgroupSetting> settings;  // no name twice
};

// ---- the whole --------------------------------------------------------------------------------

// By place in Context::pages; empty: none of them.
using ChunkSet = std::vector<bool>;

struct Context {
  std::string name;  // of the file, for messages
  cryo_file_header header{};
  cryo_system system{};
  Bytes cpu;  // payload of CRYO_SEC_CPU, laid out by header.arch; empty: none
  std::vector<Process> processes;
  std::map<std::uint32_t, Mm> mms;
  std::map<std::uint32_t, Vdso> vdsos;  // by cryo_mm.vdso_crc
  std::map<std::uint32_t, Inode> inodes;
  std::map<std::uint32_t, File> files;
  std::vector<SemSet> sem_sets;
  std::vector<MsgQueue> msg_queues;
  std::map<std::uint32_t, Namespace> namespaces;
  std::map<std::uint32_t, MountEntry> mount_entries;  // directories before what is in them
  std::vector<ControlGroup> cgroups;                  // by path: those that others are in come first
  std::vector<PageChunk> pages;                       // in the order of the file
  std::vector<TagChunk> tags;                         // of memory; of no page twice
  std::vector<Ancestor> ancestors;                    // contexts that have bytes of this one's pages
  std::vector<cryo_index_entry> index;
  cryo_end end{};
  bool pages_verified = false;  // the CRCs of the page data were compared

  // Why this version must not restart the context (unknown required section types and ro_compat
  // bits), one text each; always empty unless ReadOptions::show_only was set.
  std::vector<std::string> obstacles;

  // Of ids that read_context() has found to exist; std::out_of_range otherwise.
  [[nodiscard]] const Mm& mm(std::uint32_t id) const { return mms.at(id); }
  [[nodiscard]] const Inode& inode(std::uint32_t id) const { return inodes.at(id); }
  [[nodiscard]] const File& file(std::uint32_t id) const { return files.at(id); }
};

}  // namespace cryo
