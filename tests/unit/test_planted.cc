// SPDX-License-Identifier: GPL-2.0-only
// Objects that somebody else has put in the place of the job's, with all that he can choose; and numbers of a
// user namespace, which are no users of this machine.
#include <fcntl.h>
#include <linux/magic.h>
#include <mqueue.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>

#include "base/error.h"
#include "restart/files/files.h"
#include "restart/files/output_files.h"
#include "restart/ipc/mqueue.h"
#include "restart/ipc/posix_shm.h"
#include "restart/ipc/sysv.h"
#include "restart/rights/created_paths.h"
#include "restart/rights/identity.h"
#include "restart/rights/names.h"
#include "restart/stub/shared_report.h"
#include "unit/obstacles.h"

namespace cryo::test {
namespace {

constexpr uid_t kOther = 54321;

Inode inode_of(int fd) {
  struct stat now;
  struct statfs system;
  Inode inode;
  CHECK(::fstat(fd, &now) == 0 && ::fstatfs(fd, &system) == 0);
  inode.id = 1;
  inode.head.dev = now.st_dev;
  inode.head.ino = now.st_ino;
  inode.head.mode = now.st_mode;
  inode.head.uid = now.st_uid;
  inode.head.gid = now.st_gid;
  inode.head.fs_magic = static_cast<std::uint32_t>(system.f_type);
  return inode;
}

TEST("planted: shared memory of another user with the right number") {
  if (::geteuid() != 0) return;
  const std::string path = fmt::format("/dev/shm/cryo-planted-{}", ::getpid());
  const UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  Inode inode = inode_of(fd.get());
  inode.head.uid = 1;
  ContextBuilder builder = sample();
  const NamesOf theirs(builder.context, 0);
  CHECK(::fchown(fd.get(), kOther, kOther) == 0 && ::fchmod(fd.get(), 0666) == 0);
  CHECK_EQ(posix_shm_problem(inode, path), "another object than at the checkpoint has its name");
  inode.head.uid = kOther;
  CHECK(posix_shm_problem(inode, path) != "another object than at the checkpoint has its name");
  ::unlink(path.c_str());
}

TEST("planted: a message queue of another user with the right number") {
  if (::geteuid() != 0) return;
  const std::string name = fmt::format("/cryo-planted-{}", ::getpid());
  const mqd_t queue = ::mq_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL, 0666, nullptr);
  if (queue < 0) return;  // a kernel without them
  ContextBuilder builder = sample();
  const NamesOf theirs(builder.context, 0);
  Inode inode = inode_of(queue);
  inode.mqueue.emplace();
  inode.head.uid = 1;
  CHECK(::fchown(queue, kOther, kOther) == 0 && ::fchmod(queue, 0666) == 0);
  int code = 0;
  CHECK_EQ(queue_problem(inode, name, code), "another message queue has its name");
  inode.head.uid = kOther;
  CHECK_EQ(queue_problem(inode, name, code), "");
  ::mq_close(queue);
  ::mq_unlink(name.c_str());
}

TEST("planted: a message queue in the place of one that the restart has made") {
  const std::string name = fmt::format("/cryo-planted-{}", ::getpid());
  const mqd_t made = ::mq_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600, nullptr);
  if (made < 0) return;
  const OwnNames own;
  const auto ledger = std::make_unique<Ledger>();
  CreatedPaths created(*ledger);
  created.add_open("mqueue:" + name, made);
  ::mq_unlink(name.c_str());
  const mqd_t other = ::mq_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600, nullptr);
  (void)created.remove_all(Cutting::kNo);
  CHECK_EQ(::mq_unlink(name.c_str()), 0);
  ::mq_close(other);
  const mqd_t again = ::mq_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600, nullptr);
  CreatedPaths next(*ledger);
  next.remove("mqueue:" + name);
  next.add_open("mqueue:" + name, again);
  (void)next.remove_all(Cutting::kNo);
  CHECK(::mq_unlink(name.c_str()) != 0 && errno == ENOENT);
  ::mq_close(again);
  ::mq_close(made);
}

// In a process of its own, as what has been attached stays.
int attach(const ContextBuilder& builder, const cryo_shm& saved) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    constexpr std::size_t kRoom = 1 << 20;
    void* const hole = ::mmap(nullptr, kRoom, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ::munmap(hole, kRoom);
    const auto start = reinterpret_cast<std::uint64_t>(hole);
    try {
      attach_segment(builder.context, builder.context.processes.front(), saved, {start, start + kRoom},
                     false);
      ::_exit(0);
    } catch (const Error& error) {
      ::_exit(error.code());
    }
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WEXITSTATUS(status);
}

TEST("planted: another System V segment under the id") {
  ContextBuilder builder = sample();
  const int id = ::shmget(IPC_PRIVATE, 8192, IPC_CREAT | 0600);
  if (id < 0) return;
  shmid_ds now;
  CHECK(::shmctl(id, IPC_STAT, &now) == 0);
  cryo_shm saved{};
  saved.perm.id = id;
  saved.perm.uid = saved.perm.cuid = now.shm_perm.uid;
  saved.perm.gid = saved.perm.cgid = now.shm_perm.gid;
  saved.size = 8192;
  CHECK_EQ(attach(builder, saved), 0);
  saved.size = 4096;
  CHECK_EQ(attach(builder, saved), EEXIST);
  saved.size = 8192;
  saved.perm.key = 77;
  CHECK_EQ(attach(builder, saved), EEXIST);
  saved.perm.key = IPC_PRIVATE;
  saved.perm.uid = kOther;
  CHECK_EQ(attach(builder, saved), EEXIST);
  ::shmctl(id, IPC_RMID, nullptr);
}

TEST("planted: descriptors of cr_restart are the job's output for sure, or they are not") {
  const UniqueFd made_up(::open("/proc/self/comm", O_WRONLY | O_CLOEXEC));
  char name[] = "/tmp/cryo-own-XXXXXX";
  const UniqueFd real(::mkostemp(name, O_CLOEXEC)), other(::memfd_create("x", MFD_CLOEXEC));
  ::unlink(name);
  File file;
  file.head.kind = CRYO_FILE_PATH;
  file.head.flags = O_WRONLY;
  FileUse use;
  use.fds.push_back({1, 1, 0, 0});
  CHECK_EQ(own_output(file, inode_of(made_up.get()), use, {-1, made_up.get(), -1}), -1);
  CHECK_EQ(own_output(file, inode_of(made_up.get()), use, {-1, other.get(), -1}), -1);
  CHECK(is_known_same(inode_of(real.get()).head, real.get()));
  CHECK(!is_known_same(inode_of(real.get()).head, other.get()));
  Inode early = inode_of(real.get());
  early.head.fs_magic = 0;
  CHECK(!is_known_same(early.head, real.get()));
}

TEST("planted: root of a user namespace is not root") {
  ContextBuilder builder = sample();
  Process& process = builder.process();
  cryo_creds& head = process.creds->head;
  head.uid = head.euid = head.suid = head.fsuid = 0;
  CHECK(is_of_user(builder.context, process, 0));
  head.suid = 7;
  CHECK(!is_of_user(builder.context, process, 0));
  head.suid = 0;
  Namespace space;
  space.uids.push_back({0, kOther, 1, 0});
  builder.context.namespaces[3] = space;
  process.namespaces.user = 3;
  CHECK(!is_of_user(builder.context, process, 0));
  CHECK(is_of_user(builder.context, process, kOther));
  CHECK(number_inside(builder.context, 3, kOther) == 0U);
  CHECK(!number_inside(builder.context, 3, 0));
}

TEST("planted: what nobody of the job could read") {
  cryo_inode inode{};
  inode.mode = S_IFREG | 0640;
  inode.uid = 0;
  inode.gid = 4;
  Rights user;
  user.uid = kOther;
  user.gid = 100;
  CHECK(!may_read(user, inode));
  user.groups = {{3, 4}};
  CHECK(may_read(user, inode));
  inode.mode = S_IFREG | 0604;
  CHECK(!may_read(user, inode));
  inode.uid = kOther;
  inode.mode = S_IFREG;  // which he may change
  CHECK(may_read(user, inode));
  inode.uid = 0;
  CHECK(!may_read(user, inode));
  user.capabilities = std::uint64_t{1} << 1;  // CAP_DAC_OVERRIDE
  CHECK(may_read(user, inode));
}

}  // namespace
}  // namespace cryo::test
