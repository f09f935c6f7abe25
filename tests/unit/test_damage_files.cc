// SPDX-License-Identifier: GPL-2.0-only
// Contexts that must be refused for what they say of descriptors, sockets, timers and terminals.
#include <linux/sched.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>

#include "unit/damage.h"

namespace {

using namespace cryo;
using test::ContextBuilder;
using test::read;
using test::refused;

TEST("files and descriptors") {
  const auto file = [](ContextBuilder& b, std::uint32_t id) -> File& { return b.context.files.at(id); };
  refused("inode 66 is not there", [&](ContextBuilder& b) { file(b, 1).head.inode = 66; });
  refused("file 2 has no PIPE", [](ContextBuilder& b) { b.context.inodes.at(2).pipe.reset(); });
  refused("file 5 has no SOCKET", [&](ContextBuilder& b) { file(b, 5).socket.reset(); });
  refused("file 6 has no EVENTFD", [&](ContextBuilder& b) { file(b, 6).eventfd.reset(); });
  refused("file 7 has no contents", [](ContextBuilder& b) { b.context.inodes.at(3).head.flags = 0; });
  refused("unknown kind 99", [&](ContextBuilder& b) { file(b, 6).head.kind = 99; });
  refused("empty path", [&](ContextBuilder& b) { file(b, 1).path.clear(); });
  refused("4294967295 cannot be a descriptor", [&](ContextBuilder& b) { file(b, 8).head.stdio_fd = ~0U; });
  refused("descriptor 3: file 44", [](ContextBuilder& b) { b.process().fds[1].file = 44; });
  refused("descriptor 3 appears twice", [](ContextBuilder& b) { b.process().fds[2].fd = 3; });
  refused("cannot be a descriptor", [](ContextBuilder& b) { b.process().fds[2].fd = ~0U; });
  refused("lock of file 44", [](ContextBuilder& b) { b.process().locks[0].file = 44; });
  refused("unknown kind of lock", [](ContextBuilder& b) { b.process().locks[0].kind = 0; });
  refused("a lock of bytes 5 to 4",
          [](ContextBuilder& b) { b.process().locks[0].start = 5, b.process().locks[0].end = 4; });
  refused("a path of 5000 bytes", [&](ContextBuilder& b) { file(b, 5).socket->head.path_len = 5000; });
  refused("is not absolute", [&](ContextBuilder& b) { file(b, 5).socket->head.path_len = 1; });
  refused("address of 129 bytes", [&](ContextBuilder& b) { file(b, 5).socket->address.resize(129); });
  refused("build-id of 65 bytes", [&](ContextBuilder& b) { file(b, 1).build_id.resize(65); });
  refused("the last 4097 bytes", [](ContextBuilder& b) { b.context.inodes.at(1).end->length = 4097; });
  refused("the last 0 bytes", [](ContextBuilder& b) { b.context.inodes.at(1).end->length = 0; });
  refused("has 12 bytes, and more before its end",
          [](ContextBuilder& b) { b.context.inodes.at(1).head.size = 12; });
  refused("too large", [](ContextBuilder& b) { b.context.inodes.at(1).head.size = ~0ULL; });
  refused("to fall back to contents that are not there",
          [](ContextBuilder& b) { b.context.inodes.at(1).head.flags = CRYO_INODE_FALLBACK; });
  refused("to fall back to contents that are not there", [](ContextBuilder& b) {
    b.context.inodes.at(2).head.flags = CRYO_INODE_FALLBACK | CRYO_INODE_CONTENTS;
  });
  refused("0 cannot be an id", [](ContextBuilder& b) {
    b.extra.push_back({CRYO_SEC_INODE, 0, 0, test::bytes_of(cryo_inode{}), {}});
  });
  refused("a socket's name stands for something else", [](ContextBuilder& b) {
    b.extra.push_back({CRYO_SEC_SOCKET_FILE, 5, 0, test::bytes_of(cryo_inode{}), {}});
  });
  refused("file 90, which", [](ContextBuilder& b) {
    b.extra.push_back({CRYO_SEC_EVENTFD, 90, 0, test::bytes_of(cryo_eventfd{}), {}});
  });
}

TEST("event descriptors") {
  const auto target = [](ContextBuilder& b) -> cryo_epoll_target& { return b.context.files.at(4).epoll[0]; };
  refused("it watches file 77", [&](ContextBuilder& b) { target(b).file = 77; });
  refused("cannot be a descriptor", [&](ContextBuilder& b) { target(b).fd = 1U << 31; });
  refused("of a target", [&](ContextBuilder& b) { target(b).flags = 2; });
  const auto timer = [](ContextBuilder& b) -> cryo_timerfd& { return *b.context.files.at(40).timerfd; };
  refused("file 40 has no TIMERFD", [](ContextBuilder& b) { b.context.files.at(40).timerfd.reset(); });
  refused("file 41 has no SIGNALFD", [](ContextBuilder& b) { b.context.files.at(41).signalfd.reset(); });
  refused("its time left", [&](ContextBuilder& b) { timer(b).remaining_ns = CRYO_MAX_REMAINING_NS + 1; });
  refused("its time left", [&](ContextBuilder& b) { timer(b).remaining_ns = -CRYO_MAX_REMAINING_NS - 1; });
  refused("is impossible", [&](ContextBuilder& b) { timer(b).interval_ns = 1ULL << 63; });
  refused("unknown flags", [&](ContextBuilder& b) { timer(b).settime_flags = 4; });
  refused("unknown flags", [&](ContextBuilder& b) { timer(b).flags = 2; });
}

TEST("inotify") {
  const auto inotify = [](ContextBuilder& b) -> Inotify& { return *b.context.files.at(42).inotify; };
  refused("file 42 has no INOTIFY", [](ContextBuilder& b) { b.context.files.at(42).inotify.reset(); });
  refused("watch 1 is outside", [&](ContextBuilder& b) { inotify(b).head.watches = 2; });
  refused("after the last watch", [&](ContextBuilder& b) { inotify(b).head.watches = 0; });
  refused("path of watch 3 is outside", [&](ContextBuilder& b) { inotify(b).watches[0].head.path_len = 5; });
  refused("is not absolute", [&](ContextBuilder& b) { inotify(b).watches[0].path = "tmp/"; });
  refused("cannot have the number 0", [&](ContextBuilder& b) { inotify(b).watches[0].head.wd = 0; });
  refused("cannot be the next", [&](ContextBuilder& b) { inotify(b).head.next_wd = ~0U; });
  const auto event = [&](ContextBuilder& b) -> InotifyEvent& { return inotify(b).events[0]; };
  refused("name of event 1 is outside", [&](ContextBuilder& b) { inotify(b).events[1].head.name_len = 1; });
  refused("event 1 is outside", [&](ContextBuilder& b) { event(b).head.name_len = 4; });
  refused("after the last event", [&](ContextBuilder& b) { inotify(b).events[1].name = "x"; });
  refused("event 0 has an impossible name", [&](ContextBuilder& b) { event(b).name[1] = '\0'; });
  refused("event 0 has an impossible name", [&](ContextBuilder& b) { event(b).name[0] = '/'; });
  refused("of watch 0 is impossible", [&](ContextBuilder& b) { event(b).head.wd = 0; });
  refused("event 0: 0x0 of watch 3 is impossible", [&](ContextBuilder& b) { event(b).head.mask = 0; });
  refused("of watch 3 is impossible", [&](ContextBuilder& b) { event(b).head.mask = 0x4000; });
  refused("of watch 2 is impossible", [&](ContextBuilder& b) { inotify(b).events[1].head.wd = 2; });
  refused("event 0: unknown bits 0x1000", [&](ContextBuilder& b) { event(b).head.mask = 0x1100; });
}

TEST("fanotify") {
  const auto group = [](ContextBuilder& b) -> Fanotify& { return *b.context.files.at(62).fanotify; };
  refused("file 62 has no FANOTIFY", [](ContextBuilder& b) { b.context.files.at(62).fanotify.reset(); });
  refused("mark 1 is outside", [&](ContextBuilder& b) { group(b).head.marks = 2; });
  refused("after the last mark", [&](ContextBuilder& b) { group(b).head.marks = 0; });
  refused("path of mark 0 is outside", [&](ContextBuilder& b) { group(b).marks[0].head.path_len = 5; });
  refused("is not absolute", [&](ContextBuilder& b) { group(b).marks[0].path = "tmp/"; });
  refused("unknown kind 4", [&](ContextBuilder& b) { group(b).marks[0].head.kind = 4; });
  refused("unknown flags", [&](ContextBuilder& b) { group(b).marks[0].head.flags = 1; });
  refused("unknown flags", [&](ContextBuilder& b) { group(b).head.flags = 2; });
}

TEST("io_uring") {
  const auto ring = [](ContextBuilder& b) -> Uring& { return *b.context.files.at(61).uring; };
  refused("file 61 has no URING", [](ContextBuilder& b) { b.context.files.at(61).uring.reset(); });
  refused("unknown flags", [&](ContextBuilder& b) { ring(b).head.flags = 32; });
  refused("are impossible", [&](ContextBuilder& b) { ring(b).head.issuer = -1; });
  refused("which is not there", [&](ContextBuilder& b) { ring(b).head.issuer = 4711; });
  refused("are impossible", [&](ContextBuilder& b) { ring(b).head.sq_entries = 3; });
  refused("are impossible", [&](ContextBuilder& b) { ring(b).head.sq_entries = 0; });
  refused("are impossible", [&](ContextBuilder& b) { ring(b).head.sq_entries = 1U << 31; });
  refused("are impossible", [&](ContextBuilder& b) { ring(b).head.cq_entries = 1; });
  refused("are impossible", [&](ContextBuilder& b) { ring(b).head.eventfd_async = 2; });
  refused("are not what is in it", [&](ContextBuilder& b) { ring(b).submissions.pop_back(); });
  refused("are not what is in it", [&](ContextBuilder& b) { ring(b).array.clear(); });
  refused("are not what is in it", [&](ContextBuilder& b) { ring(b).head.cq_entries = 65536; });
  refused("which is not an eventfd", [&](ContextBuilder& b) { ring(b).head.eventfd = 5; });
  refused("which is not an eventfd", [&](ContextBuilder& b) { ring(b).head.eventfd = 99; });
}

TEST("pidfds") {
  const auto pidfd = [](ContextBuilder& b) -> cryo_pidfd& { return *b.context.files.at(60).pidfd; };
  refused("file 60 has no PIDFD", [](ContextBuilder& b) { b.context.files.at(60).pidfd.reset(); });
  refused("-1 cannot be a pid", [&](ContextBuilder& b) { pidfd(b).pid = -1; });
  refused("of pid 77, which is not there", [&](ContextBuilder& b) { pidfd(b).pid = 77; });
  refused("unknown flags", [&](ContextBuilder& b) { pidfd(b).flags = 2; });
}

TEST("POSIX timers") {
  const auto timers = [](ContextBuilder& b) -> PosixTimers& { return b.process().posix_timers; };
  const auto timer = [](ContextBuilder& b) -> cryo_posix_timer& {
    return b.process().posix_timers.timers[0];
  };
  refused("-1 cannot be the id", [&](ContextBuilder& b) { timer(b).id = -1; });
  refused("2147483648 cannot be the id", [&](ContextBuilder& b) { timers(b).next_id = 1U << 31; });
  refused("timer 3 appears twice",
          [&](ContextBuilder& b) { timers(b).timers.push_back(cryo_posix_timer(timer(b))); });
  refused("is impossible", [&](ContextBuilder& b) { timer(b).remaining_ns = 1LL << 62; });
  refused("is impossible", [&](ContextBuilder& b) { timer(b).interval_ns = 1ULL << 63; });
  refused("65 is not a signal", [&](ContextBuilder& b) { timer(b).signal = 65; });
  refused("0 is not a signal", [&](ContextBuilder& b) { timer(b).signal = 0; });
  refused("it has expired -2", [&](ContextBuilder& b) { timer(b).overrun = -2; });
  refused("unknown flags", [&](ContextBuilder& b) { timer(b).flags = 8; });
  refused("unknown notification 3", [&](ContextBuilder& b) { timer(b).notify = 3; });
  refused("its thread 77", [&](ContextBuilder& b) { timer(b).clock_tid = 77; });
  refused("its thread 77", [&](ContextBuilder& b) { timer(b).notify = 4, timer(b).notify_tid = 77; });
}

// Two ends of a connection, files 20 and 21, the second with a message in its queue.
void add_connection(ContextBuilder& b) {
  for (const std::uint32_t id : {20U, 21U}) {
    File file;
    file.id = id;
    file.head.kind = CRYO_FILE_UNIX;
    file.connection = SocketState{};
    file.connection->head.family = 1;
    file.connection->head.type = 1;
    file.connection->head.state = CRYO_SOCK_CONNECTED;
    file.connection->head.peer = 41 - id;
    file.connection->name = Bytes(5);
    file.connection->head.name_len = 5;
    file.options.push_back({1, 2, 4, 0, {}});
    b.context.files.emplace(id, std::move(file));
  }
  SocketMessage message;
  message.files = {1, 6};
  message.data = Bytes(7, std::byte{'x'});
  message.head.files = 2;
  message.head.length = 7;
  b.context.files.at(21).queue.push_back(std::move(message));
}

template <typename Change>
void refused_connection(std::string_view part, Change&& change) {
  refused(part, [&](ContextBuilder& b) {
    add_connection(b);
    change(b.context.files.at(20), b.context.files.at(21));
  });
}

TEST("connections") {
  ContextBuilder whole;
  add_connection(whole);
  CHECK_EQ(read(whole.build()).file(21).queue.at(0).data.size(), 7U);
  whole.growth = 8;
  CHECK_EQ(read(whole.build()).file(21).queue.at(0).files.at(1), 6U);
  refused_connection("file 20 has no SOCKSTATE", [](File& a, File&) { a.connection.reset(); });
  refused_connection("other end, file 99, is not there",
                     [](File& a, File&) { a.connection->head.peer = 99; });
  refused_connection("has another one", [](File& a, File&) { a.connection->head.state = 0; });
  refused_connection("is of another kind", [](File& a, File&) { a.connection->head.type = 5; });
  refused_connection("cannot be in the middle of connect()",
                     [](File& a, File&) { a.connection->head.state = CRYO_SOCK_CONNECTING; });
  refused_connection("unknown state 9", [](File& a, File&) { a.connection->head.state = 9; });
  refused_connection("unknown flags", [](File& a, File&) { a.connection->head.flags = 64; });
  refused_connection("no state of being shut down", [](File& a, File&) { a.connection->head.shutdown = 4; });
  refused_connection("is outside of it", [](File& a, File&) { a.connection->head.name_len = 100; });
  refused_connection("address of 129 bytes", [](File& a, File&) { a.connection->head.name_len = 129; });
  refused_connection("1 bytes after its names", [](File& a, File&) { a.connection->head.name_len = 4; });
  refused_connection("a path of 4096 bytes", [](File& a, File&) { a.connection->head.path_len = 4096; });
  refused_connection("value of 33 bytes", [](File& a, File&) { a.options[0].length = 33; });
  refused_connection("is outside of it", [](File&, File& b) { b.queue[0].head.length = 8; });
  refused_connection("after the last message", [](File&, File& b) { b.queue[0].head.length = 6; });
  refused_connection("254 files", [](File&, File& b) { b.queue[0].head.files = 254; });
  refused_connection("file 77 is passed to it", [](File&, File& b) { b.queue[0].files[0] = 77; });
  refused_connection("from file 1, which is no socket", [](File&, File& b) { b.queue[0].head.sender = 1; });
  refused_connection("which does not listen", [](File& a, File&) { a.head.kind = CRYO_FILE_WAITING; });
}

// File 22, connected, with a datagram in its queue.
File& add_udp(ContextBuilder& b) {
  File file;
  file.id = 22;
  file.head.kind = CRYO_FILE_UDP;
  file.connection = SocketState{};
  file.connection->head.family = 2;
  file.connection->head.type = 2;
  file.connection->head.protocol = 17;
  file.connection->head.state = CRYO_SOCK_CONNECTED;
  file.connection->head.flags = CRYO_SOCK_STATE_ANY_ADDRESS;
  file.connection->name = file.connection->peer_name = Bytes(16);
  file.connection->head.name_len = file.connection->head.peer_name_len = 16;
  cryo_udp_origin origin{};
  origin.family = 2;
  SocketMessage message;
  message.name = test::bytes_of(origin);
  message.data = Bytes(7, std::byte{'x'});
  message.head.name_len = sizeof(origin);
  message.head.length = 7;
  file.queue.push_back(std::move(message));
  return b.context.files.emplace(22, std::move(file)).first->second;
}

TEST("UDP sockets") {
  ContextBuilder whole;
  add_udp(whole);
  CHECK_EQ(read(whole.build()).file(22).queue.at(0).name.size(), sizeof(cryo_udp_origin));
  const auto refused_udp = [](std::string_view part, const std::function<void(File&)>& change) {
    refused(part, [&](ContextBuilder& b) { change(add_udp(b)); });
  };
  refused_udp("file 22 has no SOCKSTATE", [](File& f) { f.connection.reset(); });
  refused_udp("UDP of the family 1", [](File& f) { f.connection->head.family = 1; });
  refused_udp("cannot have such names", [](File& f) { f.connection->head.family = 10; });
  refused_udp("cannot have such names", [](File& f) { f.connection->head.state = 0; });
  refused_udp("cannot have such names", [](File& f) { f.connection->head.state = CRYO_SOCK_RESET; });
  refused_udp("such a datagram", [](File& f) { f.queue[0].name[32] = std::byte{10}; });
  refused_udp("such a datagram", [](File& f) {
    f.queue[0].data.resize(65536);
    f.queue[0].head.length = 65536;
  });
  refused_udp("such a datagram", [](File& f) {
    f.queue[0].name.resize(16);
    f.queue[0].head.name_len = 16;
  });
}

TEST("filters of sockets") {
  const auto add = [](ContextBuilder& b) -> SocketFilter& {
    return add_udp(b).filter.emplace(SocketFilter{{CRYO_SOCK_FILTER_LOCKED, 2, 1, 3}, {6, 7}, {8}});
  };
  ContextBuilder whole;
  add(whole);
  const Context context = read(whole.build());
  const SocketFilter& filter = context.file(22).filter.value();
  CHECK(filter.filter == std::vector<std::uint64_t>({6, 7}));
  CHECK(filter.choice == std::vector<std::uint64_t>({8}));
  CHECK_EQ(filter.head.place, 3U);
  refused("is outside of it", [&](ContextBuilder& b) { add(b).head.filter = 4; });
  refused("a program of 4097 instructions", [&](ContextBuilder& b) { add(b).head.choice = 4097; });
  refused("8 bytes after the last instruction", [&](ContextBuilder& b) { add(b).head.choice = 0; });
  refused("unknown flags 0x2 of a filter", [&](ContextBuilder& b) { add(b).head.flags = 2; });
}

TEST("multicast groups of sockets") {
  const auto add = [](ContextBuilder& b) -> SocketGroup& {
    SocketGroup group;
    group.head = {{239, 1, 2, 3}, {'e', 't', 'h', '0'}, 2, 1, 2, 0};
    group.sources.resize(2);
    group.sources[1][3] = 7;
    return add_udp(b).groups.emplace_back(std::move(group));
  };
  ContextBuilder whole;
  add(whole);
  whole.growth = 8;
  const Context context = read(whole.build());
  const SocketGroup& group = context.file(22).groups.at(0);
  CHECK(group.device == "eth0");
  CHECK_EQ(group.sources.at(1)[3], 7);
  refused("a list of sources of 48 bytes is outside of it",
          [&](ContextBuilder& b) { add(b).head.sources = 3; });
  refused("16 bytes after the last group", [&](ContextBuilder& b) { add(b).head.sources = 1; });
  refused("a group of family 1", [&](ContextBuilder& b) { add(b).head.family = 1; });
  refused("a group with mode 2", [&](ContextBuilder& b) { add(b).head.mode = 2; });
  refused("a group without a network interface", [&](ContextBuilder& b) { add(b).head.device[0] = 0; });
}

TEST("raw sockets") {
  const auto add = [](ContextBuilder& b) -> File& {
    File& file = b.context.files[22];
    file.id = 22;
    file.head.kind = CRYO_FILE_RAW;
    file.connection.emplace();
    file.connection->head.family = AF_INET;
    file.connection->head.type = SOCK_RAW;
    file.connection->name = Bytes(sizeof(sockaddr_in));
    file.connection->head.name_len = sizeof(sockaddr_in);
    file.devices.push_back({{IPPROTO_IP, IP_UNICAST_IF, {'l', 'o'}}, "lo"});
    return file;
  };
  ContextBuilder whole;
  add(whole);
  whole.growth = 8;
  CHECK_EQ(read(whole.build()).file(22).devices.at(0).device, "lo");
  refused("file 22 has no SOCKSTATE", [&](ContextBuilder& b) { add(b).connection.reset(); });
  refused("a raw or ping socket of family 1, type 3",
          [&](ContextBuilder& b) { add(b).connection->head.family = AF_UNIX; });
  refused("a raw or ping socket of family 2, type 1",
          [&](ContextBuilder& b) { add(b).connection->head.type = SOCK_STREAM; });
  refused("a raw or ping socket cannot have such names", [&](ContextBuilder& b) {
    SocketState& state = *add(b).connection;
    state.name.resize(state.head.name_len = 20);
  });
  refused("a raw or ping socket cannot have such names",
          [&](ContextBuilder& b) { add(b).connection->head.state = CRYO_SOCK_CONNECTED; });
  refused("a raw or ping socket with a queue", [&](ContextBuilder& b) { add(b).queue.emplace_back(); });
  refused("a network interface name without a terminator",
          [&](ContextBuilder& b) { std::ranges::fill(add(b).devices[0].head.device, 'x'); });
  refused("option 0, 99 has no network interface",
          [&](ContextBuilder& b) { add(b).devices[0].head.name = 99; });
}

TEST("root directories") {
  const auto add = [](Thread& thread) -> Root& {
    thread.root.emplace();
    thread.root->head.mode = 0040755;
    thread.root->path = "/jail";
    return *thread.root;
  };
  ContextBuilder whole;
  add(whole.thread()).head.ino = 7;
  whole.growth = 8;
  const Context context = read(whole.build());
  CHECK_EQ(context.processes.at(0).threads.at(0).root->path, "/jail");
  CHECK_EQ(context.processes.at(0).threads.at(0).root->head.ino, 7U);
  refused("a root directory without an absolute path",
          [&](ContextBuilder& b) { add(b.thread()).path = "jail"; });
  refused("a root directory without an absolute path", [&](ContextBuilder& b) { add(b.thread()).path = ""; });
  refused("a root directory of mode 0100755",
          [&](ContextBuilder& b) { add(b.thread()).head.mode = 0100755; });
  refused("thread 1001: its root directory is not its own",
          [&](ContextBuilder& b) { add(b.add_thread(1001)); });
}

TEST("credentials of a thread") {
  ContextBuilder whole;
  whole.thread().creds = Creds{{1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0, 0, 0, 2}, {20, 30}};
  const Context context = read(whole.build());
  CHECK_EQ(context.processes.at(0).threads.at(0).creds->groups.at(1), 30U);
  refused("5 records of 4 bytes do not fill its 0 bytes", [](ContextBuilder& b) {
    b.thread().creds = Creds{};
    b.thread().creds->head.nr_groups = 5;
  });
}

TEST("an unknown use of a file by others") {
  refused("file 1: in an unknown use outside 0x4",
          [](ContextBuilder& b) { b.context.files.at(1).head.outside = 4; });
}

TEST("descriptors of namespaces") {
  const auto of = [](std::uint64_t type, std::uint64_t number) {
    return [=](ContextBuilder& b) {
      test::add_namespaces(b);
      File file;
      file.id = 22;
      file.head.kind = CRYO_FILE_NAMESPACE;
      file.head.pos = type << 32 | number;
      b.context.files.emplace(22, std::move(file));
    };
  };
  for (const std::uint64_t number : {0, 73}) {
    ContextBuilder whole;
    of(CLONE_NEWNET, number)(whole);
    CHECK_EQ(static_cast<std::uint32_t>(read(whole.build()).file(22).head.pos), number);
  }
  refused("namespace 73 of type 0x8000000 is not there", of(CLONE_NEWIPC, 73));
  refused("namespace 99 of type 0x40000000 is not there", of(CLONE_NEWNET, 99));
  refused("namespace 77 of type 0x20000000 is not there", of(CLONE_NEWPID, 77));
  refused("namespace 0 of type 0x1 is not there", of(1, 0));
}

TEST("netlink sockets") {
  const auto add = [](ContextBuilder& b) -> File& {
    File& file = add_udp(b);
    file.head.kind = CRYO_FILE_NETLINK;
    file.queue.clear();
    file.connection->name = file.connection->peer_name = Bytes(12);
    file.connection->head.name_len = file.connection->head.peer_name_len = 12;
    return file;
  };
  ContextBuilder whole;
  add(whole);
  CHECK_EQ(read(whole.build()).file(22).connection->name.size(), 12U);
  refused("file 22 has no SOCKSTATE", [&](ContextBuilder& b) { add(b).connection.reset(); });
  refused("file 22 has no netlink address", [&](ContextBuilder& b) {
    File& file = add(b);
    file.connection->name.resize(2);
    file.connection->head.name_len = 2;
  });
}

TEST("terminals and System V objects") {
  const auto refused_of = [](const char* text, const std::function<void(Context&)>& change) {
    refused(text, [&](ContextBuilder& b) {
      test::add_ipc(b);
      change(b.context);
    });
  };
  refused_of("file 140 has no PTY", [](Context& c) { c.files.at(140).pty.reset(); });
  refused_of("bytes are outside of it", [](Context& c) { c.files.at(140).pty->head.input = 500; });
  refused_of("bytes after the last", [](Context& c) { c.files.at(140).pty->head.pending = 1; });
  refused_of("unknown flags", [](Context& c) { c.files.at(140).pty->head.flags = 1U << 31; });
  refused_of("negative session", [](Context& c) { c.files.at(140).pty->head.sid = -1; });
  refused_of("file 141 has no PTY_SLAVE", [](Context& c) { c.files.at(141).pty_slave.reset(); });
  refused_of("without a master", [](Context& c) { c.files.at(141).pty_slave->master = 0; });
  refused_of("is no pseudo-terminal", [](Context& c) { c.files.at(141).pty_slave->master = 142; });
  refused_of("file 142 has no INODE", [](Context& c) { c.files.at(142).head.inode = 0; });
  refused_of("file 143 has no SHM", [](Context& c) { c.inodes.at(143).shm.reset(); });
  refused_of("of 4096 bytes in a file of 8192", [](Context& c) { c.inodes.at(143).shm->size = 4096; });
  refused_of("-1 cannot be an id", [](Context& c) { c.inodes.at(143).shm->perm.id = -1; });
  refused_of("3 semaphores, values of 2", [](Context& c) { c.sem_sets[0].head.count = 3; });
  refused_of("cannot be 32768", [](Context& c) { c.sem_sets[0].values[0] = 32768; });
  refused_of("semaphore 2 of set 4", [](Context& c) { c.processes[0].sem_undo[0].number = 2; });
  refused_of("of set 9, which is not there", [](Context& c) { c.processes[0].sem_undo[0].id = 9; });
  refused_of("by 40000", [](Context& c) { c.processes[0].sem_undo[0].adjustment = 40000; });
  refused_of("ipc namespace 5, which is not there", [](Context& c) { c.sem_sets[0].head.perm.ns = 5; });
  refused_of("ipc namespace 5, which is not there", [](Context& c) { c.msg_queues[0].head.perm.ns = 5; });
  refused_of("ipc namespace 5, which is not there", [](Context& c) { c.inodes.at(144).mqueue->head.ns = 5; });
  refused_of("message 2 is outside", [](Context& c) { c.msg_queues[0].head.messages = 3; });
  refused_of("after the last message", [](Context& c) { c.msg_queues[0].head.messages = 1; });
  refused_of("file 144 has no MQUEUE", [](Context& c) { c.inodes.at(144).mqueue.reset(); });
  refused_of("priority 32768", [](Context& c) { c.inodes.at(144).mqueue->messages[0].type = 32768; });
  refused_of("notification 2 of process", [](Context& c) { c.inodes.at(144).mqueue->head.notify = 2; });
  refused_of("0 messages of 100 bytes", [](Context& c) { c.inodes.at(144).mqueue->head.max_messages = 0; });
  refused_of("of type 0", [](Context& c) { c.msg_queues[0].messages[0].type = 0; });
}

}  // namespace
