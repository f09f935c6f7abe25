// SPDX-License-Identifier: GPL-2.0-only
// Contexts that must be refused: namespaces, mounts, and what is in their temporary file systems.
#include <sys/stat.h>

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "context/mountinfo.h"
#include "context/reader.h"
#include "unit/context_builder.h"
#include "unit/tap.h"

namespace {

using namespace cryo;
using test::ContextBuilder;

// Builds after a change of the model, and expects the refusal.
template <typename Change>
void refused(std::string_view part, Change&& change) {
  ContextBuilder builder;
  change(builder);
  CHECK_ERROR(EBADMSG, part, read_context(Source::from_memory(builder.build(), "test"), {}));
}

TEST("a line of mountinfo") {
  const auto mounts = parse_mountinfo(
      "36 25 0:31 / /a\r\\040b rw shared:7 - tmpfs  rw,size=1k\n37 25 0:31 / /c rw - tmpfs none \n");
  CHECK(mounts && mounts->size() == 2);
  CHECK(mounts->at(0).point == "/a\r b" && mounts->at(0).source.empty() &&
        mounts->at(0).super_options == "rw,size=1k");
  CHECK_EQ(mounts->at(0).shared, 7U);
  CHECK(mounts->at(1).source == "none" && mounts->at(1).super_options.empty());
  CHECK(!parse_mountinfo("36 25 0:31 / /a rw shared:7 - tmpfs none\n"));
  CHECK(!parse_mountinfo("36 25 0:31 / /a rw shared:7 tmpfs none rw\n"));
}

TEST("namespaces") {
  const auto changed = [](const char* text, const std::function<void(ContextBuilder&)>& change) {
    refused(text, [&](ContextBuilder& b) {
      test::add_namespaces(b);
      change(b);
    });
  };
  changed("namespace 5 is not there", [](ContextBuilder& b) { b.process().namespaces.mnt = 5; });
  changed("namespace 5 is not there", [](ContextBuilder& b) { b.process().namespaces.pid = 5; });
  changed("its parent is not there", [](ContextBuilder& b) { b.context.namespaces.at(77).head.parent = 70; });
  changed("the next id of an object cannot be 2147483648",
          [](ContextBuilder& b) { b.context.namespaces.at(72).ipc->next_id[1] = (1U << 31) + 1; });
  changed("its own parent", [](ContextBuilder& b) { b.context.namespaces.at(76).head.parent = 77; });
  changed("with flags 0x1", [](ContextBuilder& b) { b.context.namespaces.at(71).head.flags = 1; });
  changed("with flags 0x3", [](ContextBuilder& b) { b.context.namespaces.at(76).head.flags = 3; });
  changed("in namespace 76, which has no processes",
          [](ContextBuilder& b) { b.context.namespaces.at(76).head.flags = CRYO_PIDNS_ENDED; });
  for (const cryo_ns& head :
       {cryo_ns{CLONE_NEWPID, 70, 76, CRYO_PIDNS_UNUSED}, cryo_ns{CLONE_NEWPID, 0, 77, CRYO_PIDNS_UNUSED}})
    changed("cannot have made namespace 90", [&head](ContextBuilder& b) {
      b.context.namespaces[90].head = head;
      b.process().namespaces.pid_for_children = 90;
    });
  changed("has no number in namespace 76", [](ContextBuilder& b) { b.process().nested_ids[0].id = 3; });
  changed("is called 0 in", [](ContextBuilder& b) { b.process().nested_ids[0].number = 0; });
  changed("namespace 5 is not there",
          [](ContextBuilder& b) { b.process().namespaces.time_for_children = 5; });
  changed("and none for children", [](ContextBuilder& b) { b.process().namespaces.time_for_children = 0; });
  changed("type 0x1", [](ContextBuilder& b) { b.context.namespaces.at(71).head.type = 1; });
  changed("without an end", [](ContextBuilder& b) { b.context.namespaces.at(71).uts->nodename[64] = 1; });
  changed("341 and 2 ranges", [](ContextBuilder& b) {
    b.context.namespaces.at(70).uids.resize(341, {0, 0, 1, 0});
  });
  changed("a range of 0", [](ContextBuilder& b) { b.context.namespaces.at(70).gids[1].count = 0; });
  changed("a range of", [](ContextBuilder& b) { b.context.namespaces.at(70).gids[1].lower_first = ~0U; });
  changed("clocks of -1", [](ContextBuilder& b) { b.context.namespaces.at(74).time->monotonic_ns = -1; });
  changed("no path of", [](ContextBuilder& b) { b.context.namespaces.at(75).cgroup = "box"; });
  for (const auto& [name, value] :
       std::vector<std::pair<std::string, std::string>>{{"/ipv4", "1"},
                                                        {"ipv4/../../kernel/core_pattern", "1"},
                                                        {"ipv4/ip_forward", "a"},
                                                        {"ipv4/ip_forward", ""}})
    changed("is no setting of a network namespace", [&](ContextBuilder& b) {
      b.context.namespaces.at(73).settings[0] = {name, value};
    });
  changed("flags 0x3", [](ContextBuilder& b) { b.context.namespaces.at(73).net->flags = 3; });
  changed("what it holds is not there", [](ContextBuilder& b) { b.context.namespaces.at(72).ipc.reset(); });
  changed("its owner 71 is not there",
          [](ContextBuilder& b) { b.context.namespaces.at(72).head.owner = 71; });
  changed("its owner 99 is not there",
          [](ContextBuilder& b) { b.context.namespaces.at(72).head.owner = 99; });
  changed("is its own owner", [](ContextBuilder& b) { b.context.namespaces.at(70).head.owner = 70; });
  changed("namespace 72 is not there", [](ContextBuilder& b) { b.process().namespaces.uts = 72; });
  changed("which the context does not have", [](ContextBuilder& b) {
    b.extra.push_back({CRYO_SEC_NS_NET, 99, 0, test::bytes_of(cryo_ns_net{}), {}});
  });
}

TEST("mounts") {
  const auto changed = [](const char* text, const std::function<void(MountTree&)>& change) {
    refused(text, [&](ContextBuilder& b) {
      test::add_namespaces(b);
      change(*b.context.namespaces.at(78).mnt);
    });
  };
  changed("3 mounts, and 4 lines", [](MountTree& t) { t.kinds.pop_back(); });
  changed("not that of mountinfo", [](MountTree& t) { t.mounts[1].point = "proc"; });
  changed("not that of mountinfo", [](MountTree& t) { t.outer[0].root = ""; });
  changed("mount 5 appears twice", [](MountTree& t) { t.mounts[1].id = t.kinds[1].id = 5; });
  changed("mount 5 is below itself", [](MountTree& t) { t.mounts[0].parent = 6; });
  changed("2 mounts are the root", [](MountTree& t) { t.mounts[1].parent = 2; });
  changed("0 mounts are the root", [](MountTree& t) { t = {}; });
  changed("mount 7 is 6 in the text", [](MountTree& t) { t.kinds[1].id = 7; });
  changed("mount of kind 4", [](MountTree& t) { t.kinds[1].kind = 4; });
  changed("mount of kind 0", [](MountTree& t) { t.kinds[1].kind = 0; });
  changed("mount 6 of namespace 78 shows a file system that is not made",
          [](MountTree& t) { t.kinds[1].kind = CRYO_MOUNT_AGAIN; });
  changed("new mount of type ext4", [](MountTree& t) {
    t.kinds[0].kind = CRYO_MOUNT_AGAIN;
    t.mounts[0].device = t.mounts[1].device;
  });
  changed("new mount of type ext4", [](MountTree& t) { t.kinds[0].kind = CRYO_MOUNT_NEW; });
  changed("namespace 78: it cannot have a root directory of its own",
          [](MountTree& t) { t.mounts[0].point = "/srv"; });
  changed("pid namespace 70 is not there", [](MountTree& t) { t.kinds[1].pid_ns = 70; });
  changed("a NUL byte", [](MountTree& t) { t.mounts[0].source += '\0'; });
  changed("its mount is no new tmpfs", [](MountTree& t) { t.mounts[2].type = "devpts"; });
  refused("a root directory of mode 0100755", [](ContextBuilder& b) {
    test::add_namespaces(b);
    b.context.namespaces.at(78).root->mode = S_IFREG | 0755;
  });
  refused("namespace 71: it cannot have a root directory of its own", [](ContextBuilder& b) {
    test::add_namespaces(b);
    b.context.namespaces.at(71).root = b.context.namespaces.at(78).root;
  });
  refused("its mount namespace 70 is not there", [](ContextBuilder& b) {
    test::add_namespaces(b);
    b.context.files.begin()->second.head.mnt = 70;
  });
}

TEST("files of mounts") {
  const auto changed = [](const char* text,
                          const std::function<void(std::map<std::uint32_t, MountEntry>&)>& change) {
    refused(text, [&](ContextBuilder& b) {
      test::add_namespaces(b);
      change(b.context.mount_entries);
    });
  };
  changed("its mount is no new tmpfs", [](auto& all) { all.at(1).head.ns = 77; });
  changed("its mount is no new tmpfs", [](auto& all) { all.at(1).head.ns = 99; });
  changed("its mount is no new tmpfs", [](auto& all) { all.at(1).head.mount = 6; });
  changed("its mount is no new tmpfs", [](auto& all) { all.at(1).head.mount = 9; });
  changed("file 1 of a mount: what is mounted is no directory",
          [](auto& all) { all.at(1).head.mode = S_IFIFO; });
  changed("its directory is not before it", [](auto& all) { all.erase(2); });
  changed("its directory is not before it", [](auto& all) { all.at(3).path = "link/file"; });
  changed("its name is none", [](auto& all) { all.at(3).path = "/file"; });
  changed("its directory is not before it", [](auto& all) { all.at(3).path = "../file"; });
  changed("its name is none", [](auto& all) { all.at(3).path = "dir/.."; });
  changed("its name is none", [](auto& all) { all.at(3).path = "dir/"; });
  changed("its path appears twice", [](auto& all) { all.at(4).path = "dir"; });
  changed("file of mode", [](auto& all) { all.at(4).head.mode = S_IFBLK; });
  changed("file of mode", [](auto& all) { all.at(4).head.mode |= 0200000; });
  changed("a path of 4096 bytes", [](auto& all) { all.at(4).path = std::string(4096, 'x'); });
  changed("a target of 4096", [](auto& all) { all.at(4).target = std::string(4096, 'x'); });
  changed("it has no owner", [](auto& all) { all.at(4).head.uid = 0xffffffff; });
  changed("it has no owner", [](auto& all) { all.at(4).head.gid = 0xffffffff; });
  changed("100001 is too large a number", [](auto& all) { (all[100001] = all.at(4)).id = 100001; });
  changed("with the target 'dir'", [](auto& all) { all.at(4).head.link = 3; });
  changed("and size 7", [](auto& all) { all.at(5).head.size = 7; });
  changed("is not before it", [](auto& all) { all.at(5).head.link = 6; });
  changed("is not before it", [](auto& all) { all.at(5).head.link = 5; });
  changed("cannot be a name of that", [](auto& all) { all.at(5).head.mode = S_IFREG | 0644; });
  changed("cannot be a name of that", [](auto& all) { all.at(5).head.link = 4; });
  changed("cannot be a name of that", [](auto& all) {
    all.at(5).head.link = 2;
    all.at(5).head.mode = all.at(2).head.mode;
  });
  refused("what it is a name of is elsewhere", [](ContextBuilder& b) {
    test::add_namespaces(b);
    MountTree& tree = *b.context.namespaces.at(78).mnt;
    tree.mounts[1].type = "tmpfs";
    tree.kinds[1].pid_ns = 0;
    auto& all = b.context.mount_entries;
    (all[6] = all.at(1)).id = 6;
    (all[7] = all.at(5)).id = 7;
    all.at(6).head.mount = all.at(7).head.mount = tree.kinds[1].id;
    all.at(7).path = "name";
  });
  refused("a path of 4 bytes in 0 bytes", [](ContextBuilder& b) {
    test::add_namespaces(b);
    b.edit = [](test::RawSection& s) {
      if (s.type == CRYO_SEC_MOUNT_ENTRY && s.object == 4) s.tail.clear();
    };
  });
  changed("and size 9223372036854775808", [](auto& all) { all.at(3).head.size = 1ULL << 63; });
  changed("with the target ''", [](auto& all) { all.at(4).target = ""; });
  changed("with the target 'x'", [](auto& all) { all.at(3).target = "x"; });
  changed("and size 7", [](auto& all) { all.at(2).head.size = 7; });
  changed("a NUL byte", [](auto& all) { all.at(4).target = std::string(1, '\0'); });
  changed("are outside of file 3", [](auto& all) { all.at(3).head.size = 0; });
  changed("which the context does not have", [](auto& all) { all.erase(3); });
}

}  // namespace
