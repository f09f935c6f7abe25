// SPDX-License-Identifier: GPL-2.0-only
// Contexts that must be refused: what processes share, and where it is.
#include "unit/damage.h"

namespace {

using namespace cryo;
using test::ContextBuilder;
using test::read;
using test::refused;

TEST("tables that processes share") {
  const auto with = [](std::int32_t files, std::int32_t fs) {
    return [=](ContextBuilder& b) { b.process().shared = {files, fs}; };
  };
  ContextBuilder good;
  with(1000, 1000)(good);
  CHECK_EQ(read(good.build()).processes[0].shared.fs, 1000);
  refused("process 1000: shares the descriptors of process 7, which has none to share", with(7, 0));
  refused("process 1000: shares the working directory of process 7, which has none", with(0, 7));
  refused("process 1000 shares tables with process -1 or 0", with(-1, 0));
}

TEST("seccomp filters that threads share") {
  refused("3 of 2 filters are those of thread 7", [](ContextBuilder& b) {
    b.thread().seccomp.shared = 3;
    b.thread().seccomp.shared_with = 7;
  });
  refused("1 of 2 filters are those of thread 0", [](ContextBuilder& b) { b.thread().seccomp.shared = 1; });
  refused("1 of its seccomp filters are not those of thread 7", [](ContextBuilder& b) {
    b.thread().seccomp.shared = 1;
    b.thread().seccomp.shared_with = 7;
  });
  refused("1 of its seccomp filters are not those of thread", [](ContextBuilder& b) {
    cryo::Thread other = b.thread();
    other.head.tid += 1;
    other.head.flags = 0;
    other.seccomp.shared = 1;
    other.seccomp.shared_with = b.thread().head.tid;
    other.seccomp.filters[0].program[0] ^= 1;
    b.process().threads.push_back(other);
  });
}

TEST("memory that processes share") {
  const auto with = [](cryo_shared_memory first, cryo_shared_memory second, std::uint32_t mm) {
    return [=](ContextBuilder& b) { b.add_sharer(first, second, mm); };
  };
  ContextBuilder good;
  with({1000, 1000}, {1000, 1000}, 1)(good);
  CHECK_EQ(read(good.build()).processes[1].shared_memory.sighand, 1000);
  ContextBuilder older;  // than the section
  with({0, 0}, {0, 0}, 1)(older);
  CHECK_EQ(read(older.build()).processes[1].shared_memory.mm, 1000);
  refused("process 1000: shares the memory of process 1002, memory 1 is", with({1002, 0}, {1000, 0}, 1));
  refused("process 1002: its memory 7 is not there", with({1000, 0}, {1000, 0}, 7));
  refused("process 1000: shares the signal handlers of process 1002", with({1000, 1002}, {1000, 0}, 1));
  refused("process 1000 shares memory with process -1", with({-1, 0}, {1000, 0}, 1));
  refused("shares the memory of process 1000, memory 1 is that of process 0", with({1000, 0}, {1000, 0}, 2));
}

TEST("network namespaces of sockets") {
  const auto in = [](std::uint32_t net, bool socket = true) {
    return [=](ContextBuilder& b) {
      test::add_namespaces(b);
      for (auto& [id, file] : b.context.files)
        if ((file.socket || file.connection) == socket) file.net = net;
    };
  };
  ContextBuilder good;
  in(73)(good);
  for (const auto& [id, file] : read(good.build()).files)
    if (file.socket) CHECK_EQ(file.net, 73U);
  refused(": 5 is no network namespace of it", in(5));
  refused(": 74 is no network namespace of it", in(74));
  refused(": 73 is no network namespace of it", in(73, false));
}

}  // namespace
