// SPDX-License-Identifier: GPL-2.0-only
// What stands in the way of a restart: root directories, mount points, raw sockets; each message, whole.
#include <fcntl.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/unique_fd.h"
#include "context/mountinfo.h"
#include "restart/common/proc_files.h"
#include "restart/net/sockets.h"
#include "restart/ns/namespaces.h"
#include "restart/process/root_directory.h"
#include "restart/rights/identity.h"
#include "restart/rights/thread_ids.h"
#include "unit/obstacles.h"

namespace cryo::test {
namespace {

class Tree {
 public:
  Tree() {
    char name[] = "/tmp/cryo-roots-XXXXXX";
    if (::mkdtemp(name) == nullptr) fail_errno("cannot make {}", name);
    path_ = std::filesystem::canonical(name);
    ::chmod(name, 0755);
  }
  ~Tree() { std::filesystem::remove_all(path_); }
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;
  [[nodiscard]] std::string directory(std::string_view name) const {
    std::string path = fmt::format("{}/{}", path_, name);
    ::mkdir(path.c_str(), 0755);
    return path;
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

Root root_at(const std::string& path) {
  Root root;
  root.path = path;
  struct stat now {};
  struct statfs system {};
  if (::stat(path.c_str(), &now) != 0 || ::statfs(path.c_str(), &system) != 0) fail_errno("{}", path);
  root.head.dev = now.st_dev;
  root.head.ino = now.st_ino;
  root.head.mode = now.st_mode;
  root.head.fs_magic = static_cast<std::uint32_t>(system.f_type);
  return root;
}

Creds with_chroot() {
  Creds own;
  own.head.cap_effective = own.head.cap_permitted = 1ULL << CAP_SYS_CHROOT;
  return own;
}

Findings roots_of(const ContextBuilder& builder, const Creds& own, const RestartOptions& options = {}) {
  Findings findings;
  check_roots({builder.context, builder.context.processes.front(), options, own}, findings);
  return findings;
}

// File systems give numbers of removed files to new ones.
TEST("obstacles: the number is the same, and the file another one") {
  const Tree tree;
  Root root = root_at(tree.path());
  const UniqueFd fd(::open(tree.path().c_str(), O_PATH | O_CLOEXEC));
  struct ::statx now {};
  if (::statx(fd.get(), "", AT_EMPTY_PATH, STATX_BTIME, &now) != 0 || (now.stx_mask & STATX_BTIME) == 0)
    return;
  root.head.btime_sec = now.stx_btime.tv_sec - 3600;
  root.head.btime_nsec = now.stx_btime.tv_nsec;
  CHECK(identity_of(root.head, fd.get()) == Identity::kOther);
  CHECK_EQ(difference_of(root.head, fd.get()),
           fmt::format("made {}, that one {}", time_text(now.stx_btime.tv_sec, false, 0),
                       time_text(now.stx_btime.tv_sec - 3600, false, 0)));
  root.head.btime_sec = now.stx_btime.tv_sec;
  root.head.btime_nsec = now.stx_btime.tv_nsec == 0 ? 1 : 0;
  CHECK(difference_of(root.head, fd.get()).find('.') != std::string::npos);
}

TEST("obstacles: root directories") {
  const Tree tree;
  ContextBuilder builder = sample();
  builder.context.header.created_ns = ~0ULL >> 1;
  builder.thread().root = root_at(tree.directory("jail"));
  const std::string path = builder.thread().root->path;
  CHECK_EQ(roots_of(builder, with_chroot()).problems.size(), 0U);
  SAYS(roots_of(builder, {}), EPERM,
       "thread 3999999: its root directory {} requires CAP_SYS_CHROOT (chroot); restart it as root", path);
  // Who owns its user namespace has the capability there.
  builder.process().namespaces.user = 7;
  CHECK_EQ(roots_of(builder, {}).problems.size(), 0U);
  builder.process().namespaces.user = 0;
  const std::string other = tree.directory("other");
  builder.thread().root->head.ino = root_at(other).head.ino;
  const int fd = ::open(path.c_str(), O_PATH);
  SAYS(roots_of(builder, with_chroot()), ESTALE,
       "thread 3999999: its root directory {} is another directory than at the checkpoint: {} "
       "(--changed-files=warn if it is the right "
       "one)",
       path, difference_of(builder.thread().root->head, fd));
  ::close(fd);
  RestartOptions options;
  options.changed_files = ChangedFiles::kWarn;
  CHECK_EQ(roots_of(builder, with_chroot(), options).problems.size(), 0U);
  options = {};
  options.relocations.add(path + "=" + other);
  CHECK_EQ(roots_of(builder, with_chroot(), options).problems.size(), 0U);
  ::rmdir(path.c_str());
  SAYS(roots_of(builder, with_chroot()), ENOENT,
       "thread 3999999: its root directory {} cannot be opened: No such file or directory (ENOENT) "
       "(--relocate=OLD=NEW if it is elsewhere now)",
       path);
}

TEST("names of sockets in root directories") {
  ContextBuilder builder = sample();
  builder.thread().root.emplace();
  builder.thread().root->path = "/jail";
  Relocations relocations;
  CHECK_EQ(root_of_name(builder.context, relocations, "/jail/tmp/s", "/tmp/s"), "/jail");
  CHECK_EQ(root_of_name(builder.context, relocations, "/tmp/s", "/tmp/s"), "");
  CHECK_EQ(root_of_name(builder.context, relocations, "/jail2/tmp/s", "/tmp/s"), "");
  relocations.add("/jail=/new");
  CHECK_EQ(root_of_name(builder.context, relocations, "/new/tmp/s", "/tmp/s"), "/new");
}

Findings mount_points_of(const ContextBuilder& builder) {
  Findings findings;
  check_mount_points(builder.context, findings);
  return findings;
}

TEST("obstacles: mount points") {
  const Tree tree;
  const std::string point = tree.directory("point"), source = tree.directory("source");
  const auto own = parse_mountinfo(read_proc("self/mountinfo"));
  Mount top;
  for (const Mount& mount : *own)
    if (mount.point == "/") top = mount;
  top.id = 5;
  top.parent = 1;
  ContextBuilder builder = sample();
  Namespace& ns = builder.context.namespaces[78];
  ns.head.type = CLONE_NEWNS;
  const Mount made{6, 5, "0:999", "/", point, {"rw"}, false, false, "tmpfs", "none", "rw"};
  Mount bound = top;
  bound.id = 7;
  bound.parent = 5;
  bound.root = top.root == "/" ? source : top.root + source;
  bound.point = tree.directory("bound");
  ns.mnt = MountTree{{{5, CRYO_MOUNT_BIND, 0, 0}, {6, CRYO_MOUNT_NEW, 0, 0}, {7, CRYO_MOUNT_BIND, 0, 0}},
                     {top, made, bound},
                     {top}};
  bool on_top = true;
  for (const Mount& mount : *own) on_top &= mount.point == "/" || !lies_below(point, mount.point);
  if (!on_top) return;  // /tmp is a mount of its own
  CHECK_EQ(mount_points_of(builder).problems.size(), 0U);
  ::rmdir(point.c_str());
  SAYS(mount_points_of(builder), ENOENT,
       "mount {}: its mount point {} cannot be found: No such file or directory (ENOENT) (recreate it)",
       point, point);
  CHECK_EQ(::close(::open(point.c_str(), O_CREAT | O_WRONLY, 0600)), 0);
  SAYS(mount_points_of(builder), ENOTDIR, "mount {}: its mount point {} is not a directory any more", point,
       point);
  ::unlink(point.c_str());
  CHECK_EQ(::symlink(source.c_str(), point.c_str()), 0);
  SAYS(mount_points_of(builder), ESTALE,
       "mount {}: {} is a symbolic link now, which is not followed (put the directory back)", point, point);
  ::unlink(point.c_str());
  ::mkdir(point.c_str(), 0755);
  ::rmdir(source.c_str());
  SAYS(mount_points_of(builder), ENOENT,
       "mount {}: {}, which was mounted there, cannot be found: No such file or directory (ENOENT)",
       bound.point, source);
  CHECK_EQ(::close(::open(source.c_str(), O_CREAT | O_WRONLY, 0600)), 0);
  SAYS(mount_points_of(builder), ENOTDIR,
       "mount {}: {}, which was mounted there, is {} now, and its mount point {} is {}", bound.point, source,
       "no directory", bound.point, "a directory");
}

TEST("obstacles: mounts that the job did not have") {
  const auto own = parse_mountinfo(read_proc("self/mountinfo"));
  ContextBuilder builder = sample();
  Namespace& ns = builder.context.namespaces[78];
  ns.head.type = CLONE_NEWNS;
  ns.head.owner = 7;
  ns.mnt.emplace();
  ns.mnt->mounts = ns.mnt->outer = *own;
  for (const Mount& mount : *own) ns.mnt->kinds.push_back({mount.id, CRYO_MOUNT_BIND, 0, 0});
  CHECK_EQ(mount_points_of(builder).problems.size(), 0U);
  const auto leaf = std::find_if(own->begin(), own->end(), [&](const Mount& mount) {
    return mount.point != "/" &&
           std::none_of(own->begin(), own->end(), [&](const Mount& m) { return m.parent == mount.id; });
  });
  if (leaf == own->end()) return;  // nothing is mounted here
  const Mount gone = *leaf;
  ns.mnt->kinds.erase(ns.mnt->kinds.begin() + (leaf - own->begin()));
  std::erase_if(ns.mnt->mounts, [&](const Mount& mount) { return mount.id == gone.id; });
  Path& cwd = *builder.process().cwd;
  builder.process().namespaces.mnt = 78;
  cwd.path = gone.point + "/below";
  SAYS(mount_points_of(builder), ESTALE,
       "mount {} ({}): not a mount of the job, and cr_restart cannot unmount it there (unmount it first)",
       gone.point, gone.type);
  cwd.path = "/";
  CHECK_EQ(mount_points_of(builder).problems.size(), 0U);
  WARNS(mount_points_of(builder),
        "mount {} ({}): not a mount of the job, and cr_restart cannot unmount it there: it stays", gone.point,
        gone.type);
  ns.head.owner = 0;  // root takes it away
  CHECK_EQ(mount_points_of(builder).problems.size(), 0U);
}

TEST("obstacles: raw sockets, interfaces of sockets") {
  ContextBuilder builder = sample();
  File file;
  file.head.kind = CRYO_FILE_RAW;
  file.connection.emplace();
  file.connection->head.family = AF_INET;
  file.connection->head.type = SOCK_RAW;
  file.connection->head.protocol = IPPROTO_ICMP;
  int code = 0, status = -1;
  const pid_t child = ::fork();
  if (child == 0) {
    set_uids(65534, 65534, 65534);  // and with it without capabilities, whoever runs the tests
    const std::string text = raw_problem(builder.context, file, code);
    ::_exit(code == EPERM && text ==
                                 "a raw socket cannot be made: Operation not permitted (EPERM): it requires "
                                 "CAP_NET_RAW: restart it as root"
                ? 0
                : 1);
  }
  CHECK_EQ(::waitpid(child, &status, 0), child);
  CHECK_EQ(status, 0);
  file.net = 73;
  CHECK_EQ(raw_problem(builder.context, file, code), "");
  file.net = 0;
  file.devices.push_back({{IPPROTO_IP, IP_UNICAST_IF, {}}, "none0"});
  CHECK_EQ(device_problem(file), "sends by the network interface none0, which is not there");
  file.devices[0].device = "lo";
  CHECK_EQ(device_problem(file), "");
  file.devices[0].device = "";
  CHECK_EQ(device_problem(file), "");
}

TEST("indexes of network interfaces in options") {
  const UniqueFd fd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  File file;
  file.options.push_back({IPPROTO_IP, IP_UNICAST_IF, 4, 0, {0, 0, 9, 9}});
  file.options.push_back({IPPROTO_IP, IP_MULTICAST_IF, 4, 0, {127, 0, 0, 1}});
  file.options.push_back(
      {IPPROTO_IP, IP_MULTICAST_IF, sizeof(ip_mreqn), 0, {0, 0, 0, 0, 127, 0, 0, 1, 9, 9}});
  file.devices.push_back({{IPPROTO_IP, IP_UNICAST_IF, {}}, "lo"});
  file.devices.push_back({{IPPROTO_IP, IP_MULTICAST_IF, {}}, "lo"});
  const std::vector<cryo_sockopt> options = options_here(fd.get(), file);  // lo is number 1 everywhere
  CHECK_EQ(options.size(), 3U);
  CHECK_EQ(options[0].value[3], 1);
  CHECK_EQ(options[0].value[2], 0);
  CHECK_EQ(options[1].value[0], 127);
  CHECK_EQ(options[2].value[4], 127);
  CHECK_EQ(options[2].value[8], 1);
  file.devices[0].device = "";
  CHECK_EQ(options_here(fd.get(), file).size(), 2U);
  file.options = {{IPPROTO_IPV6, IPV6_UNICAST_IF, 4, 0, {}}, {IPPROTO_IPV6, IPV6_MULTICAST_IF, 4, 0, {}}};
  file.devices = {{{IPPROTO_IPV6, IPV6_UNICAST_IF, {}}, "lo"}, {{IPPROTO_IPV6, IPV6_MULTICAST_IF, {}}, "lo"}};
  CHECK_EQ(options_here(fd.get(), file)[0].value[3], 1);  // one of them has the order of the network
  CHECK_EQ(saved_option(options_here(fd.get(), file), IPPROTO_IPV6, IPV6_MULTICAST_IF).value_or(0), 1);
}

}  // namespace
}  // namespace cryo::test
