// SPDX-License-Identifier: GPL-2.0-only
#include <linux/sched.h>
#include <sys/stat.h>

#include "unit/context_builder.h"
#include "unit/context_parts.h"

namespace cryo::test {

void add_namespaces(ContextBuilder& builder) {
  std::map<std::uint32_t, Namespace>& all = builder.context.namespaces;
  Namespace& user = all[70];
  user.head.type = CLONE_NEWUSER;
  user.user = cryo_ns_user{};
  user.uids = {{0, 1000, 1, 0}};
  user.gids = {{0, 1000, 1, 0}, {1, 100000, 65536, 0}};
  all[71] = {{CLONE_NEWUTS, 70, 0, 0}, cryo_ns_uts{}, {}, {}, {}, {}, {}, {}, {}};
  all[72] = {{CLONE_NEWIPC, 70, 0, 0}, {}, {}, cryo_ns_ipc{}, {}, {}, {}, {}, {}};
  all[73] = {{CLONE_NEWNET, 70, 0, 0}, {}, {}, {}, cryo_ns_net{CRYO_NET_LOOPBACK_UP, 0}, {}, {}, {}, {}};
  all[73].settings = {{"ipv4/ip_forward", "1"}, {"ipv4/tcp_rmem", "4096 131072 6291456"}};
  all[74] = {{CLONE_NEWTIME, 70, 0, 0}, {}, cryo_ns_time{1, 2}, {}, {}, {}, {}, {}, {}};
  all[75] = {{CLONE_NEWCGROUP, 70, 0, 0}, {}, {}, {}, {}, {}, {}, {}, "/box"};
  all[76] = {{CLONE_NEWPID, 70, 0, 0}, {}, {}, {}, {}, {}, {}, {}, {}};
  all[77] = {{CLONE_NEWPID, 70, 76, 0}, {}, {}, {}, {}, {}, {}, {}, {}};
  const Mount root{5, 1, "8:1", "/", "/", {"rw"}, false, true, "ext4", "/dev/sda1", "rw"};
  const Mount proc{6, 5, "0:9", "/", "/proc", {"rw", "nosuid"}, false, false, "proc", "proc", "rw"};
  all[78].head = {CLONE_NEWNS, 70, 0, 0};
  const Mount tmp{8, 5, "0:10", "/", "/tmp", {"rw"}, false, false, "tmpfs", "none", "rw"};
  const Mount part{9, 5, "0:10", "/dir", "/srv", {"rw"}, false, false, "tmpfs", "none", "rw"};
  all[78].mnt = MountTree{{{5, CRYO_MOUNT_BIND, 0, 0},
                           {6, CRYO_MOUNT_NEW, 77, 0},
                           {8, CRYO_MOUNT_NEW, 0, 0},
                           {9, CRYO_MOUNT_AGAIN, 0, 0}},
                          {root, proc, tmp, part},
                          {root}};
  all[78].root = cryo_inode{};
  all[78].root->mode = S_IFDIR | 0755;
  // A copy of that, with another part.
  const Mount other{11, 10, "0:10", "/", "/mnt", {"ro"}, false, false, "tmpfs", "none", "rw"};
  all[79].head = {CLONE_NEWNS, 70, 0, 0};
  all[79].mnt = MountTree{{{10, CRYO_MOUNT_BIND, 0, 0}, {11, CRYO_MOUNT_AGAIN, 0, 0}},
                          {{10, 1, "8:1", "/", "/", {"rw"}, false, true, "ext4", "/dev/sda1", "rw"}, other},
                          {root}};
  const std::uint64_t size = builder.context.header.page_size;
  builder.context.mount_entries = {
      {1, {1, {78, 8, S_IFDIR | 0755, 0, 0, 0, 0, 0, 0, 1, 2}, "", ""}},
      {2, {2, {78, 8, S_IFDIR | 0700, 0, 0, 0, 0, 0, 0, 1, 2}, "dir", ""}},
      {3, {3, {78, 8, S_IFREG | 0600, 0, 0, 0, 0, 0, size, 1, 2}, "dir/file", ""}},
      {4, {4, {78, 8, S_IFLNK | 0777, 0, 0, 0, 0, 0, 0, 1, 2}, "link", "dir"}},
      {5, {5, {78, 8, S_IFREG | 0600, 0, 0, 0, 3, 0, 0, 1, 2}, "again", ""}},
      {6, {6, {78, 8, S_IFCHR | 0666, 0, 0, 0, 0, 0x103, 0, 1, 2}, "null", ""}}};
  builder.add_page_chunk(CRYO_PAGES_TMPFS, 3, {{0, 1}});
  Process& process = builder.process();
  process.namespaces = {70, 78, 71, 72, 73, 75, 74, 74, 77, 77};
  process.outer_groups = {{4, 24}};
  process.nested_ids = {{process.head.pid, 76, 5, 0}, {process.head.pid, 77, 1, 0}};
}

void add_cgroups(ContextBuilder& builder) {
  ControlGroup job;
  job.head.flags = CRYO_CGROUP_OWN;
  job.head.mode = 0755;
  job.head.uid = job.head.files_uid = job.head.gid = job.head.files_gid = 1000;
  ControlGroup step = job;
  job.path = "/batch/job";
  job.settings = {{"cgroup.subtree_control", "cpu pids"}, {"cpu.max", "50000 100000"}};
  step.path = "/batch/job/step";
  step.threads = {builder.process().head.pid};
  step.settings = {
      {"cgroup.type", "threaded"}, {"pids.max", "32"}, {"io.max", "8:0 rbps=1048576\n8:16 wbps=4096"}};
  builder.context.cgroups = {std::move(job), std::move(step)};
}

void add_ipc(ContextBuilder& builder) {
  Context& context = builder.context;
  Pty pty{};
  pty.head.number = 5;
  pty.head.sid = 1000;
  pty.head.rows = 25;
  pty.output = bytes_of_text("drawn");
  pty.input = bytes_of_text("line\n");
  pty.line_ends = Bytes(5);
  pty.line_ends.back() = std::byte{1};
  pty.pending = bytes_of_text("more");
  pty.head.output = 5, pty.head.input = 5, pty.head.pending = 4;
  add_file(context, 140, 0, CRYO_FILE_PTY_MASTER, "/dev/ptmx").pty = std::move(pty);
  add_file(context, 141, 0, CRYO_FILE_PTY_SLAVE, "/dev/pts/5").pty_slave = cryo_pty_slave{140, 0};
  add_inode(context, 142, 0, 0010600);
  add_file(context, 142, 142, CRYO_FILE_FIFO, "/tmp/fifo").head.pos = CRYO_FIFO_QUIET;
  Inode& segment = add_inode(context, 143, 8192, 0100777);
  segment.head.flags = CRYO_INODE_SYSV | CRYO_INODE_CONTENTS | CRYO_INODE_DELETED;
  segment.shm = cryo_shm{};
  segment.shm->perm.id = 3;
  segment.shm->size = 8192;
  add_file(context, 143, 143, CRYO_FILE_SYSV, "/SYSV00000000");
  Inode& named = add_inode(context, 145, 4096, 0100600);
  named.head.flags = CRYO_INODE_POSIX_SHM | CRYO_INODE_CONTENTS;
  add_file(context, 145, 145, CRYO_FILE_POSIX_SHM, "/dev/shm/segment");
  MqueueState state{};
  state.head.max_messages = 10;
  state.head.message_size = 100;
  state.head.messages = 1;
  state.messages = {{3, bytes_of_text("posix")}};
  add_inode(context, 144, 80, 0100600).mqueue = std::move(state);
  add_file(context, 144, 144, CRYO_FILE_MQUEUE, "/queue");
  SemSet set{};
  set.head.perm.id = 4;
  set.head.count = 2;
  set.values = {1, 0};
  context.sem_sets.push_back(std::move(set));
  builder.process().sem_undo = {{4, 1, -1, 0}};
  MsgQueue queue{};
  queue.head.perm.id = 5;
  queue.head.messages = 2;
  queue.messages = {{1, bytes_of_text("text")}, {2, {}}};
  context.msg_queues.push_back(std::move(queue));
}

}  // namespace cryo::test
