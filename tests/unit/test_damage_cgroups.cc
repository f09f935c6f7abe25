// SPDX-License-Identifier: GPL-2.0-only
// Control groups: names that would lead out of them, or to commands, are refused; so is what is too much.
#include <functional>
#include <string>

#include "restart/cgroups/control_groups.h"
#include "unit/damage.h"

namespace cryo::test {
namespace {

void changed(std::string_view text, const std::function<void(ContextBuilder&)>& change) {
  refused(text, [&](ContextBuilder& b) {
    add_cgroups(b);
    change(b);
  });
}

ControlGroup& group(ContextBuilder& b) {
  return b.context.cgroups.front();
}

TEST("control groups") {
  ContextBuilder builder;
  add_cgroups(builder);
  const Context context = read(builder.build());
  CHECK_EQ(context.cgroups.size(), 2U);
  const ControlGroup& job = context.cgroups[0];
  const ControlGroup& step = context.cgroups[1];
  CHECK(job.path == "/batch/job" && step.path == "/batch/job/step");
  CHECK(job.head.mode == 0755 && job.head.flags == CRYO_CGROUP_OWN && job.threads.empty());
  CHECK_EQ(setting_of(job, "cgroup.subtree_control"), "cpu pids");
  CHECK_EQ(setting_of(job, "pids.max"), "");
  CHECK_EQ(setting_of(step, "pids.max"), "32");
  CHECK_EQ(setting_of(step, "io.max"), "8:0 rbps=1048576\n8:16 wbps=4096");
  CHECK(step.threads == std::vector<std::int32_t>{context.processes.front().head.pid});
  CHECK(controllers_in("cpu  pids\n") == (std::vector<std::string>{"cpu", "pids"}));
  CHECK(controllers_in("").empty());
}

TEST("control groups: paths") {
  for (const char* path : {"", "/", "batch", "/batch/", "//batch", "/batch//job", "/..", "/../etc",
                           "/batch/../..", "/batch/..", "/./batch", "/batch/."})
    changed("is no path of a control group below the root",
            [path](ContextBuilder& b) { group(b).path = path; });
  changed("is no path", [](ContextBuilder& b) { group(b).path = "/" + std::string(4095, 'a'); });
  changed("a NUL byte is in the path", [](ContextBuilder& b) { group(b).path = std::string("/a\0b", 4); });
  changed("/batch/job/step appears twice", [](ContextBuilder& b) { group(b).path = "/batch/job/step"; });
  changed("the mode 10755", [](ContextBuilder& b) { group(b).head.mode = 010755; });
}

TEST("control groups: names of settings") {
  for (const char* name : {"../cgroup.procs", "/etc/passwd", "cpu/max", ".", "..", "..max", "cpu", "Cpu.max",
                           "cpu max.x", "cpu.max\n", "-cpu.max"})
    changed("is no name of a setting", [name](ContextBuilder& b) { group(b).settings[0].name = name; });
  changed("is no name of a setting",
          [](ContextBuilder& b) { group(b).settings[0].name = "cpu." + std::string(124, 'a'); });
  for (const char* name :
       {"cgroup.procs", "cgroup.threads", "cgroup.kill", "memory.reclaim", "cpu.weight.nice", "cpu.pressure",
        "memory.pressure", "memory.peak", "memory.swap.peak"})
    changed("is no setting of a control group",
            [name](ContextBuilder& b) { group(b).settings[0].name = name; });
  changed("a name of 0 bytes", [](ContextBuilder& b) { group(b).settings[0] = {"", ""}; });
  changed("a name of 7 bytes and a text in 7", [](ContextBuilder& b) {
    group(b).settings[0] = {"cpu.max", ""};
  });
  changed("cpu.max has 16385 bytes", [](ContextBuilder& b) {
    group(b).settings[0] = {"cpu.max", std::string(16385, '1')};
  });
  changed("a NUL byte is in cpu.max", [](ContextBuilder& b) {
    group(b).settings[0] = {"cpu.max", std::string("1\0", 2)};
  });
  changed("cgroup.subtree_control appears twice",
          [](ContextBuilder& b) { group(b).settings.push_back(group(b).settings[0]); });
  changed("more than 256 settings of /batch/job", [](ContextBuilder& b) {
    for (int i = 0; i < 257; ++i) group(b).settings.push_back({fmt::format("cpu.a{}", i), "1"});
  });
}

TEST("control groups: sections") {
  changed("belongs to control group 9", [](ContextBuilder& b) {
    b.extra.push_back(
        {CRYO_SEC_CGROUP_SETTING, 9, 0, bytes_of(cryo_cgroup_setting{1, 0}), Bytes(8, std::byte{'a'})});
  });
  changed("1 is defined twice", [](ContextBuilder& b) {
    b.edit = [](RawSection& s) {
      if (s.type == CRYO_SEC_CGROUP_DIR) s.object = 1;
    };
  });
  changed("thread 12345 of the control group /batch/job is not there",
          [](ContextBuilder& b) { group(b).threads = {12345}; });
  changed("or in two of them", [](ContextBuilder& b) { group(b).threads = {b.process().head.pid}; });
  changed("a path of 10 bytes and 1073741824 threads", [](ContextBuilder& b) {
    b.edit = [](RawSection& s) {
      const cryo_cgroup head{0, 0, 0, 0, 0, 0, 10, 1U << 30};
      if (s.type == CRYO_SEC_CGROUP_DIR) s.fixed = bytes_of(head);
    };
  });
}

TEST("control groups: whose rights make one") {
  ContextBuilder builder;
  Context& context = builder.context;
  context.processes.push_back(context.processes.front());
  context.processes[0].cgroup = "/batch/jobs";
  context.processes[1].cgroup = "/batch/job/step";
  context.processes[0].creds->head.fsuid = 1000;
  context.processes[1].creds->head.fsuid = 1001;
  ControlGroup one;
  one.path = "/batch/job";
  for (const auto& [uid, process] : {std::pair(1000U, 0U), std::pair(1001U, 1U), std::pair(0U, 1U)}) {
    one.head.uid = uid;
    CHECK_EQ(cgroup_maker(context, one), process);
  }
  one.path = "/elsewhere";
  CHECK_EQ(cgroup_maker(context, one), 0U);
  add_cgroups(builder);
  leave_cgroups(context);
  CHECK(context.cgroups.empty() && context.processes[0].cgroup.empty() &&
        context.processes[1].cgroup.empty());
}

}  // namespace
}  // namespace cryo::test
