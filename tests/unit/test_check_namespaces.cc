// SPDX-License-Identifier: GPL-2.0-only
// What stands in the way of a restart in namespaces of its own: each message, whole.
#include <linux/capability.h>
#include <sched.h>
#include <sys/stat.h>

#include <algorithm>

#include "restart/ns/namespaces.h"
#include "unit/obstacles.h"

namespace cryo::test {
namespace {

TEST("obstacles: ids from outside of a user namespace") {
  ContextBuilder builder = sample();
  Namespace user{};
  user.head.type = CLONE_NEWUSER;
  user.user = cryo_ns_user{};
  user.user->owner_uid = 1000;
  user.uids = user.gids = {{0, 1000, 1, 0}};
  builder.context.namespaces.emplace(7, user);
  user.head.owner = 7;  // with the owner of another one above it
  user.user->owner_uid = 1001;
  builder.context.namespaces.emplace(8, user);
  builder.process().namespaces.user = 8;
  builder.process().outer_groups = {{24, 1000}};
  builder.process().creds->head.uid = builder.process().creds->head.euid = 0;
  Creds own;
  own.groups = {24, 1000};
  const auto problems = [&] {
    Findings findings;
    check_process({builder.context, builder.process(), {}, own}, findings);
    return findings;
  };
  CHECK_EQ(problems().problems.size(), 0U);
  own.groups = {1000};
  SAYS(problems(), EPERM,
       "pid 3999999: its supplementary groups (24, 1000) are not those of cr_restart (1000); --groups=own "
       "continues with the latter");
  // It sets them itself.
  builder.context.namespaces.at(8).user->flags = CRYO_USER_SETGROUPS;
  builder.process().creds->groups = {0};
  CHECK_EQ(problems().problems.size(), 0U);
  builder.process().creds->groups = {0, 65534};
  SAYS(problems(), EPERM,
       "pid 3999999: its supplementary groups (24, 1000) are not those of cr_restart (1000); --groups=own "
       "continues with the latter");
  own.head.cap_effective = 1ULL << CAP_SETGID;
  CHECK_EQ(problems().problems.size(), 0U);
  for (std::uint32_t cryo_creds::*id : {&cryo_creds::uid, &cryo_creds::euid, &cryo_creds::suid,
                                        &cryo_creds::gid, &cryo_creds::egid, &cryo_creds::sgid}) {
    builder.process().creds->head.*id = 65534;
    own.head.euid = 1000;
    CHECK_EQ(problems().problems.size(), 0U);
    own.head.euid = 0;
    SAYS(problems(), EPERM,
         "pid 3999999: it ran as a user that is not mapped in its user namespace, created by user 1000; "
         "cr_restart runs as user 0");
    builder.process().creds->head.*id = 0;
  }
  CHECK_EQ(problems().problems.size(), 0U);
}

TEST("obstacles: namespaces") {
  ContextBuilder builder = sample();
  Creds own;
  own.head.euid = 1000;
  Namespace user{};
  user.head.type = CLONE_NEWUSER;
  user.user = cryo_ns_user{};
  user.user->owner_uid = 1001;
  user.uids = {{0, 100000, 65536, 0}};
  user.gids = user.uids;
  builder.context.namespaces.emplace(7, user);
  Namespace uts{};
  uts.head.type = CLONE_NEWUTS;
  uts.uts = cryo_ns_uts{};
  builder.context.namespaces.emplace(8, uts);
  builder.process().namespaces.uts = 8;
  Process second = builder.process();
  second.head.pid = 3999998;
  second.head.ppid = builder.process().head.pid;
  second.namespaces = {};
  builder.context.processes.push_back(second);
  RestartOptions options;
  options.time_namespace = true;
  Findings findings;
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", "/nowhere", 1);
  check_namespaces(builder.context, options, own, findings);
  ::setenv("PATH", path.c_str(), 1);
  SAYS(findings, EPERM, "a user namespace was made by user 1001, cr_restart runs as user 1000");
  SAYS(findings, EPERM,
       "a user namespace has ids other than those of cr_restart: that requires CAP_SETUID and CAP_SETGID, or "
       "newuidmap and newgidmap");
  SAYS(findings, EPERM, "a uts namespace that no user namespace of the job owns requires CAP_SYS_ADMIN");
  SAYS(findings, EPERM, "a time namespace (--time-ns) requires CAP_SYS_ADMIN");
}

TEST("obstacles: a namespace of a user namespace that its process is not in") {
  ContextBuilder builder = sample();
  Namespace user{};
  user.head.type = CLONE_NEWUSER;
  user.user = cryo_ns_user{};
  builder.context.namespaces.emplace(7, user);
  Namespace uts{};
  uts.head.type = CLONE_NEWUTS;
  uts.head.owner = 7;
  uts.uts = cryo_ns_uts{};
  builder.context.namespaces.emplace(8, uts);
  builder.process().namespaces.uts = 8;
  Findings findings;
  check_namespaces(builder.context, {}, {}, findings);
  SAYS(findings, EPERM,
       "pid 3999999: its uts namespace is owned by a user namespace that it is not in, which requires "
       "CAP_SYS_ADMIN");
  builder.process().namespaces.user = 7;
  Findings inside;
  check_namespaces(builder.context, {}, {}, inside);
  CHECK(std::none_of(inside.problems.begin(), inside.problems.end(), [](const auto& problem) {
    return problem.text.find("owned by a user namespace that") != std::string::npos;
  }));
}

TEST("obstacles: time namespaces for children") {
  ContextBuilder builder = sample();
  Namespace time{};
  time.head.type = CLONE_NEWTIME;
  time.time = cryo_ns_time{1, 2};
  builder.context.namespaces.emplace(7, time);
  builder.process().namespaces.time_for_children = 7;
  Process child = builder.process();
  child.namespaces = {};
  child.head.pid = 3999998;
  child.head.ppid = builder.process().head.pid;
  builder.context.processes.push_back(child);
  child.head.pid = 3999997;
  child.namespaces.time = child.namespaces.time_for_children = 7;
  builder.context.processes.push_back(child);
  child.head.pid = 3999996;
  child.head.ppid = 1;
  builder.context.processes.push_back(child);
  Creds own;
  own.head.cap_effective = ~0ULL;
  Findings findings;
  check_namespaces(builder.context, {}, own, findings);
  SAYS(findings, EOPNOTSUPP, "pid 3999996: its time namespace was made by a process that is not its parent");
  CHECK(findings.problems.size() == 1);
}

// Process 3999999 is in mount namespace 9, its child 3999998 in 10.
ContextBuilder two_mount_namespaces() {
  ContextBuilder builder = sample();
  const Mount root{5, 1, "8:1", "/", "/", {"rw"}, 0, 0, "ext4", "/dev/sda1", "rw"};
  const Mount data{6, 5, "8:9", "/", "/data", {"rw"}, 0, 0, "ext4", "/dev/sdb1", "rw"};
  const Mount proc{7, 5, "0:9", "/", "/proc", {"rw"}, 0, 0, "proc", "proc", "rw"};
  for (const std::uint32_t id : {9U, 10U, 11U, 12U}) {
    Namespace ns{};
    ns.head.type = id == 11 ? CLONE_NEWPID : id == 12 ? CLONE_NEWUSER : CLONE_NEWNS;
    if (id == 12) ns.user = cryo_ns_user{};
    if (id < 11) ns.mnt = MountTree{{{5, CRYO_MOUNT_BIND, 0, 0}}, {root}, {root, data}};
    builder.context.namespaces.emplace(id, ns);
  }
  MountTree& tree = *builder.context.namespaces.at(10).mnt;
  tree.kinds.push_back({6, CRYO_MOUNT_BIND, 0, 0});
  tree.mounts.push_back(data);
  tree.kinds.push_back({7, CRYO_MOUNT_NEW, 11, 0});
  tree.mounts.push_back(proc);
  builder.context.namespaces.at(9).head.owner = 12;
  builder.process().namespaces.mnt = 9;
  Process second = builder.process();
  second.head.pid = 3999998;
  second.head.ppid = builder.process().head.pid;
  second.namespaces.mnt = 10;
  builder.context.processes.push_back(second);
  return builder;
}

TEST("obstacles: mount namespaces") {
  ContextBuilder builder = two_mount_namespaces();
  builder.context.namespaces.at(10).head.owner = 12;
  Findings findings;
  check_namespaces(builder.context, {}, {}, findings);
  SAYS(findings, EOPNOTSUPP, "mount /data: comes from outside of the mount namespace that its process left");
  SAYS(findings, EOPNOTSUPP, "mount /proc: no process of its pid namespace may mount it there");
  builder.context.processes[0].head.ppid = 3999998;
  Findings circle;
  check_namespaces(builder.context, {}, {}, circle);
  SAYS(circle, EOPNOTSUPP, "mount namespace 10: no mount namespace to copy it from");
}

TEST("obstacles: root directories of mount namespaces") {
  ContextBuilder builder = two_mount_namespaces();
  Namespace& ns = builder.context.namespaces.at(10);
  builder.process().namespaces.mnt = 0;
  ns.root = cryo_inode{};
  ns.root->mode = S_IFDIR | 0755;
  ns.root->ino = 1;
  ns.root->fs_magic = 1;
  ns.root->mtime_sec = 1;
  // Below a proc of the job, which is mounted when the machine's files are out of reach.
  ns.mnt->mounts[1].point = "/proc/data";
  ns.mnt->mounts[1].parent = 7;
  ns.mnt->outer[0].point = "/tmp";
  builder.context.mount_entries[1] = {1, {10, 7, S_IFCHR | 0666, 0, 0, 0, 0, 0x103, 0, 1, 2}, "null", ""};
  Findings findings;
  check_namespaces(builder.context, {}, {}, findings);
  SAYS(findings, EOPNOTSUPP,
       "mount /proc/data: what it shows is not in the root directory of its mount namespace, and it is below "
       "a proc of the job");
  SAYS(findings, EPERM,
       "mount namespace 10: null is a device in a temporary file system, which requires CAP_MKNOD");
  CHECK(std::any_of(findings.problems.begin(), findings.problems.end(), [](const auto& problem) {
    return problem.text.starts_with(
        "mount namespace 10: its root directory /tmp is another directory than at the checkpoint");
  }));
}

TEST("obstacles: devices in a temporary file system of a user namespace") {
  ContextBuilder builder = two_mount_namespaces();
  builder.context.namespaces.at(10).head.owner = 12;
  builder.context.mount_entries[1] = {1, {10, 7, S_IFCHR | 0666, 0, 0, 0, 0, 0x103, 0, 1, 2}, "null", ""};
  Findings findings;
  check_namespaces(builder.context, {}, {}, findings);
  SAYS(findings, EPERM,
       "mount namespace 10: null is a device in a temporary file system of a user namespace, in which none "
       "can be made");
}

TEST("obstacles: pid namespaces") {
  ContextBuilder builder = sample();
  Namespace pid{};
  pid.head.type = CLONE_NEWPID;
  builder.context.namespaces.emplace(9, pid);
  builder.process().namespaces.pid = 9;
  builder.process().nested_ids = {{3999999, 9, 5, 0}};
  RestartOptions options;
  options.restore_pid = false;
  Findings findings;
  check_namespaces(builder.context, options, {}, findings);
  SAYS(findings, EINVAL, "pid 3999999: is in a pid namespace of its own, where ids have to be restored");
  SAYS(findings, EOPNOTSUPP, "pid 3999999: has been forked into a pid namespace that its parent is not in");
}

}  // namespace
}  // namespace cryo::test
