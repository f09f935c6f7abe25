// SPDX-License-Identifier: GPL-2.0-only
// Contexts that must be refused: what processes share, and where it is; asynchronous I/O.
#include <sys/stat.h>

#include <algorithm>

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

// An area of two huge pages of a memfd, and one that is private and anonymous.
void add_hugetlb(ContextBuilder& b) {
  constexpr std::uint64_t kHuge = 2 << 20;
  Context& context = b.context;
  Inode& inode = context.inodes[300];
  inode.id = 300;
  inode.head.mode = S_IFREG | 0777;
  inode.head.size = 2 * kHuge;
  inode.head.flags = CRYO_INODE_MEMFD | CRYO_INODE_CONTENTS | CRYO_INODE_DELETED;
  inode.huge_size = kHuge;
  File& file = context.files[300];
  file.id = 300;
  file.head.kind = CRYO_FILE_HUGETLB;
  file.head.inode = 300;
  file.path = "huge";
  Mm& mm = context.mms.at(1);
  constexpr std::uint64_t kFlags = CRYO_VMA_READ | CRYO_VMA_WRITE | CRYO_VMA_HUGETLB;
  const cryo_vma vmas[] = {
      {0x7000'0000, 0x7000'0000 + 2 * kHuge, 0, kFlags | CRYO_VMA_SHARED, CRYO_VMA_FILE, 300, 0, 21},
      {0x7100'0000, 0x7100'0000 + kHuge, 0, kFlags, CRYO_VMA_ANON, 0, 0, 21},
  };
  for (const cryo_vma& vma : vmas) {
    const auto at =
        std::find_if(mm.vmas.begin(), mm.vmas.end(), [&](const cryo_vma& v) { return v.start > vma.start; });
    mm.vmas.insert(at, vma);
    ++mm.head.nr_vmas;
  }
}

TEST("memory in huge pages") {
  const auto shared = [](const char* text, const std::function<void(cryo_vma&)>& damage) {
    refused(text, [&](ContextBuilder& b) {
      add_hugetlb(b);
      for (cryo_vma& vma : b.context.mms.at(1).vmas)
        if (vma.start == 0x7000'0000) damage(vma);
    });
  };
  const auto anonymous = [](const char* text, const std::function<void(cryo_vma&)>& damage) {
    refused(text, [&](ContextBuilder& b) {
      add_hugetlb(b);
      for (cryo_vma& vma : b.context.mms.at(1).vmas)
        if (vma.start == 0x7100'0000) damage(vma);
    });
  };
  anonymous("cannot have pages of 1 << 41 bytes", [](cryo_vma& v) { v.huge_shift = 41; });
  anonymous("cannot have pages of 1 << 12 bytes", [](cryo_vma& v) { v.huge_shift = 12; });
  anonymous("cannot have pages of 1 << 0 bytes", [](cryo_vma& v) { v.huge_shift = 0; });
  anonymous("cannot have pages of 1 << 21 bytes", [](cryo_vma& v) { v.flags &= ~CRYO_VMA_HUGETLB; });
  anonymous("is no range of pages of 2097152 bytes", [](cryo_vma& v) { v.start += 0x1000; });
  anonymous("is no range of pages of 2097152 bytes", [](cryo_vma& v) { v.end += 0x1000; });
  shared("is no range of pages of 2097152 bytes", [](cryo_vma& v) { v.offset = 0x1000; });
  anonymous("such memory cannot be of hugetlbfs", [](cryo_vma& v) { v.flags |= CRYO_VMA_SHARED; });
  anonymous("such memory cannot be of hugetlbfs", [](cryo_vma& v) { v.flags |= CRYO_VMA_GROWSDOWN; });
  anonymous("such memory cannot be of hugetlbfs", [](cryo_vma& v) { v.kind = CRYO_VMA_VVAR; });
  shared("has pages of 65536 bytes, those of file 300 are of 2097152",
         [](cryo_vma& v) { v.huge_shift = 16; });
  shared("has pages of 0 bytes, those of file 300 are of 2097152", [](cryo_vma& v) {
    v.huge_shift = 0;
    v.flags &= ~CRYO_VMA_HUGETLB;
  });
  const auto inode = [](const char* text, const std::function<void(Inode&)>& damage) {
    refused(text, [&](ContextBuilder& b) {
      add_hugetlb(b);
      damage(b.context.inodes.at(300));
    });
  };
  inode("cannot have pages of 1 << 12 bytes", [](Inode& i) { i.huge_size = 4096; });
  inode("are no whole pages of 2097152", [](Inode& i) { i.head.size += 4096; });
  inode("file 300 has no contents", [](Inode& i) { i.head.flags &= ~CRYO_INODE_CONTENTS; });
  refused("file 300 has no HUGETLB", [](ContextBuilder& b) {
    add_hugetlb(b);
    b.context.inodes.at(300).huge_size = 0;
    std::erase_if(b.context.mms.at(1).vmas, [](const cryo_vma& v) { return v.start == 0x7000'0000; });
    --b.context.mms.at(1).head.nr_vmas;
  });
}

TEST("asynchronous I/O contexts") {
  // A ring of one page, with one event.
  const auto change = [](const char* text, const std::function<void(AioContext&)>& damage) {
    refused(text, [&](ContextBuilder& b) {
      Mm& mm = b.context.mms.at(1);
      AioContext aio{{0x7000'0000, 0x1000, 4, 127, 126, 0}, Bytes(CRYO_AIO_EVENT_SIZE)};
      cryo_vma vma{};
      vma.start = aio.head.start;
      vma.end = vma.start + aio.head.size;
      vma.kind = CRYO_VMA_AIO;
      const auto at = std::find_if(mm.vmas.begin(), mm.vmas.end(),
                                   [&](const cryo_vma& v) { return v.start > vma.start; });
      mm.vmas.insert(at, vma);
      ++mm.head.nr_vmas;
      damage(aio);
      mm.aio.push_back(aio);
    });
  };
  change("a ring of 4096 bytes with room for 128 events", [](AioContext& a) { a.head.nr = 128; });
  change("a ring of 32 bytes", [](AioContext& a) { a.head.size = 32; });
  change("room for 127 events, for 127 requests", [](AioContext& a) { a.head.max_reqs = 127; });
  change("for 0 requests", [](AioContext& a) { a.head.max_reqs = 0; });
  change("with events from 127 to 0", [](AioContext& a) { a.head.head = 127; });
  change("with events from 126 to 127", [](AioContext& a) { a.head.tail = 127; });
  change("2 events in 32 bytes", [](AioContext& a) { a.head.tail = 1; });
  change("has no AIO section", [](AioContext& a) { a.head.start += 0x1000; });
  refused("has no ring", [](ContextBuilder& b) {
    b.context.mms.at(1).aio.push_back({{0x7000'0000, 0x1000, 4, 127, 126, 0}, Bytes(CRYO_AIO_EVENT_SIZE)});
  });
}

}  // namespace
