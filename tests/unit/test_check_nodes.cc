// SPDX-License-Identifier: GPL-2.0-only
// NUMA nodes: which can be had in a control group, and what is said of policies with others.
#include <filesystem>
#include <fstream>

#include "restart/memory/mempolicy.h"
#include "restart/process/affinity.h"
#include "unit/obstacles.h"

namespace cryo::test {
namespace {

cryo_mempolicy policy_of(std::uint64_t nodes) {
  cryo_mempolicy policy{};
  policy.nodes[0] = nodes;
  policy.home_node = -1;
  return policy;
}

void set_nodes(const std::string& group, const char* text) {
  std::filesystem::create_directories(group);
  std::ofstream(group + "/cpuset.mems.effective") << text << '\n';
}

TEST("nodes: of a control group, or the next one above with a cpuset") {
  const Directory mount;
  set_nodes(mount.path(), "0-3,64");
  set_nodes(mount.path() + "/a", "1");
  std::filesystem::create_directories(mount.path() + "/a/b/c");
  std::filesystem::create_directories(mount.path() + "/d");
  CHECK_EQ(cpus_text(nodes_of_group(mount.path(), "/a")), "1");
  CHECK_EQ(cpus_text(nodes_of_group(mount.path(), "/a/b/c")), "1");
  CHECK_EQ(cpus_text(nodes_of_group(mount.path(), "/d")), "0-3,64");
  CHECK_EQ(cpus_text(nodes_of_group(mount.path(), "/")), "0-3,64");
  const Directory none;
  CHECK(nodes_of_group(none.path(), "/a/b").empty());
  set_nodes(none.path(), "x");
  CHECK(nodes_of_group(none.path(), "/").empty());
}

TEST("nodes: policies with some of their nodes, or none") {
  CHECK_EQ(policy_here_text(policy_of(6), {6}), "");
  CHECK_EQ(policy_here_text(policy_of(6), {2}), "of node 1-2, only 1 can be had");
  CHECK_EQ(policy_here_text(policy_of(6), {1}), "node 1-2 cannot be had: it is left out");
  CHECK_EQ(policy_here_text(policy_of(0), {1}), "");
  CHECK_EQ(policy_here_text(policy_of(6), {}), "");  // that cannot be told
}

}  // namespace
}  // namespace cryo::test
