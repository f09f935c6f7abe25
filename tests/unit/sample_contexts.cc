// SPDX-License-Identifier: GPL-2.0-only
#include "unit/sample_contexts.h"

#include <cryo/arch/aarch64.h>
#include <cryo/arch/x86_64.h>
#include <netinet/in.h>
#include <sys/stat.h>

#include <algorithm>
#include <string_view>

#include "base/crc32c.h"

namespace cryo::test {
namespace {

// With what arch/x86_64/user/describe.cc takes apart.
ContextBuilder described() {
  ContextBuilder builder;
  cryo_x86_64_cpu cpu{};
  std::copy_n("GenuineIntel", 12, cpu.vendor);
  cpu.family = 6;
  cpu.model = 0x8f;
  cpu.xstate_size = 2696;
  cpu.xcr0 = 0x2e7;
  builder.context.cpu = bytes_of(cpu);
  cryo_x86_64_regs regs{};
  regs.rip = 0x401234;
  regs.rsp = 0x7ffc00001000;
  regs.orig_rax = 230;
  regs.rax = static_cast<std::uint64_t>(-516);
  builder.thread().regsets.assign(1, {{1, 8}, bytes_of(regs)});
  Bytes xstate(2696);
  xstate[CRYO_X86_64_XSTATE_MASK_OFFSET] = std::byte{0xe7};
  xstate[512] = std::byte{3};
  builder.thread().regsets.push_back({{0x202, 8}, xstate});
  builder.thread().head.restart.kind = 1;
  builder.thread().head.restart.time_flags = 1;
  builder.thread().head.restart.time_ns = 1'500'000'000;
  return builder;
}

// A thread with a shadow stack, and one that can get none.
ContextBuilder shadow_stacks() {
  ContextBuilder builder = ContextBuilder::smallest();
  const std::uint64_t page = builder.context.header.page_size;
  builder.context.mms.at(1).vmas.push_back(
      {0x7f0000000000, 0x7f0000000000 + 4 * page, 0, CRYO_VMA_SHADOW_STACK, CRYO_VMA_ANON, 0, 0, 0});
  const cryo_x86_64_shstk enabled = {0x7f0000000000 + 3 * page, 3, 1, 0x7f0000000000, 4 * page};
  const cryo_x86_64_shstk bound = {0, 0, 1, 0, 0};
  builder.thread().regsets.push_back({{CRYO_X86_64_SHSTK, 8}, bytes_of(enabled)});
  builder.add_thread(1001).regsets.push_back({{CRYO_X86_64_SHSTK, 8}, bytes_of(bound)});
  return builder;
}

// Threads in nanosleep(2), in read(2), and in none.
ContextBuilder interrupted_calls() {
  ContextBuilder builder(CRYO_ARCH_AARCH64);
  constexpr std::size_t kNumber = 8;
  cryo_aarch64_regs regs{};
  regs.pc = 0x400680;
  regs.sp = 0xfffff0001000;
  const auto put = [&](Thread& thread, std::uint64_t number, std::int32_t saved, std::uint32_t error) {
    regs.x[kNumber] = number;
    const cryo_aarch64_call call{saved, error};
    thread.regsets.assign(1, {{CRYO_AARCH64_PRSTATUS, 8}, bytes_of(regs)});
    thread.regsets.push_back({{CRYO_AARCH64_CALL, 4}, bytes_of(call)});
  };
  put(builder.thread(), 128, -1, 516);
  put(builder.add_thread(1001), 63, -1, 512);
  put(builder.add_thread(1002), 0, -1, 0);
  return builder;
}

ContextBuilder other_kernel() {
  ContextBuilder builder;
  const Bytes image(builder.context.header.page_size, std::byte{0x90});
  builder.context.mms.at(1).head.vdso_crc = crc32c(image);
  builder.context.vdsos[crc32c(image)] = {image, Bytes(100, std::byte{1})};
  return builder;
}

ContextBuilder thread_directories() {
  ContextBuilder builder;
  for (const std::int32_t tid : {1001, 1002})
    builder.add_thread(tid).fs = ThreadFs{{{1, 2, 0, 0}, 022, 1001}, "/a"};
  Thread& last = builder.process().threads.back();
  last.creds = Creds{};
  last.creds->groups = {100};
  last.root = Root{{}, "/srv"};
  last.root->head.mode = S_IFDIR | 0755;
  builder.process().shared = {builder.process().head.pid, builder.process().head.pid};
  return builder;
}

ContextBuilder shared_memory() {
  ContextBuilder builder = ContextBuilder::smallest();
  const std::int32_t pid = builder.process().head.pid;
  builder.add_sharer({pid, pid}, {pid, pid}, 1);
  return builder;
}

ContextBuilder copied_pages() {
  ContextBuilder builder = ContextBuilder::smallest();
  builder.add_page_copy(16 * std::uint64_t{builder.context.header.page_size}, 1);
  return builder;
}

ContextBuilder leader_gone() {
  ContextBuilder builder;
  builder.add_thread(1001);
  builder.thread().head.flags |= CRYO_THREAD_EXITED;
  builder.thread().regsets.clear();
  return builder;
}

ContextBuilder many_threads() {
  ContextBuilder builder;
  for (int tid = 1001; tid < 1008; ++tid) builder.add_thread(tid).regsets.push_back({{0x202, 1}, Bytes(832)});
  return builder;
}

ContextBuilder grown() {
  ContextBuilder builder;
  builder.growth = 8;
  builder.context.header.format_minor = 1;
  return builder;
}

ContextBuilder unknown_sections() {
  ContextBuilder builder;
  builder.extra.push_back({99, 5, 0, Bytes(12), Bytes(30)});
  builder.extra.push_back({98, 5, CRYO_SECF_REQUIRED, Bytes(12), Bytes(30)});
  return builder;
}

ContextBuilder two_processes() {
  ContextBuilder builder = ContextBuilder::smallest();
  Process child = builder.process();
  child.head.pid = child.threads[0].head.tid = child.threads[0].head.pid = 1010;
  builder.context.processes.push_back(child);
  return builder;
}

// Two ends of a connection, with a message that passes a file.
ContextBuilder connection() {
  ContextBuilder builder;
  for (const std::uint32_t id : {20U, 21U}) {
    File& file = builder.context.files[id];
    file.id = id;
    file.head.kind = CRYO_FILE_UNIX;
    file.connection = SocketState{};
    file.connection->head = {1, 1, 0, CRYO_SOCK_CONNECTED, 0, 0, 41 - id, 0, 5, 0, 2, 0, 1000, 0, 0, 0};
    file.connection->name = Bytes(5);
    file.connection->path = "/p";
    file.options.push_back({1, 2, 4, 0, {1}});
    file.opener.emplace();
    file.opener->head.fsuid = 1001;
    file.opener->head.nr_groups = 1;
    file.opener->groups = {100};
    SocketGroup group;
    group.head = {{239, 1, 2, 3}, {'e', 't', 'h', '0'}, 2, 1, 1, 0};
    group.sources.resize(1);
    file.groups.push_back(group);
    cryo_inode name{};
    name.mode = S_IFSOCK | 0755;
    builder.extra.push_back({CRYO_SEC_SOCKET_FILE, id, CRYO_SECF_REQUIRED, bytes_of(name), {}});
    file.devices.push_back({{IPPROTO_IP, IP_MULTICAST_IF, {'e', 't', 'h', '0'}}, ""});
    file.filter = SocketFilter{{CRYO_SOCK_FILTER_LOCKED, 2, 1, 1}, {6, 6}, {6}};
    SocketMessage message;
    message.head = {7, 1, 0, 0, CRYO_SOCK_MESSAGE_CREDS, 1000, 0, 0};
    message.files = {1};
    message.data = Bytes(7);
    file.queue.push_back(std::move(message));
  }
  return builder;
}

ContextBuilder with_ipc() {
  ContextBuilder builder;
  add_ipc(builder);
  return builder;
}

ContextBuilder with_namespaces() {
  ContextBuilder builder;
  add_namespaces(builder);
  for (auto& [id, file] : builder.context.files)
    if (file.socket) file.net = 73;
  return builder;
}

// Two pages of which another context has the bytes.
ContextBuilder with_ancestor() {
  ContextBuilder builder;
  constexpr std::uint64_t kPage = 4096;
  const std::string_view name = "parent";
  const cryo_ancestor ancestor{{1, 2, 3}, 10 * kPage, static_cast<std::uint32_t>(name.size()), 0, 2, 3};
  Bytes names = bytes_of(ancestor);
  for (const char letter : name) names.push_back(static_cast<std::byte>(letter));
  const cryo_elsewhere_run run{8 * kPage, kPage, 2, 1};
  Bytes runs = bytes_of(run);
  runs.resize(runs.size() + 2 * CRYO_HASH_SIZE, std::byte{0x5a});
  const cryo_array array{1, sizeof(ancestor)};
  const cryo_pages head{CRYO_PAGES_MM, 1, sizeof(run), 2};
  builder.extra.push_back({CRYO_SEC_PAGES_ELSEWHERE, 1, CRYO_SECF_REQUIRED, bytes_of(head), runs});
  builder.extra.push_back({CRYO_SEC_ANCESTORS, 0, CRYO_SECF_REQUIRED, bytes_of(array), names});
  return builder;
}

// Huge pages: of a memfd that is mapped, and private ones.
ContextBuilder huge_pages() {
  ContextBuilder builder = ContextBuilder::smallest();
  constexpr std::uint64_t kHuge = 2 << 20;
  Inode& inode = builder.context.inodes[90];
  inode.id = 90;
  inode.head.mode = 0100777;
  inode.head.size = kHuge;
  inode.head.flags = CRYO_INODE_MEMFD | CRYO_INODE_CONTENTS | CRYO_INODE_DELETED;
  inode.huge_size = kHuge;
  File& file = builder.context.files[90];
  file.id = 90;
  file.head.kind = CRYO_FILE_HUGETLB;
  file.head.inode = 90;
  file.path = "huge";
  constexpr std::uint64_t kFlags = CRYO_VMA_READ | CRYO_VMA_WRITE | CRYO_VMA_HUGETLB;
  std::vector<cryo_vma>& vmas = builder.context.mms.at(1).vmas;
  vmas.push_back({64 * kHuge, 65 * kHuge, 0, kFlags, CRYO_VMA_ANON, 0, 0, 21});
  vmas.push_back({66 * kHuge, 67 * kHuge, 0, kFlags | CRYO_VMA_SHARED, CRYO_VMA_FILE, 90, 0, 21});
  return builder;
}

// Pages that have been used, in two sections; guards; a ring of asynchronous I/O with one event.
ContextBuilder used_pages() {
  ContextBuilder builder = ContextBuilder::smallest();
  const std::uint64_t page = builder.context.header.page_size;
  builder.context.mms.at(1).used = {{16 * page, 1}, {18 * page, 2}};
  builder.context.mms.at(1).guards = {{16 * page, 1}};
  builder.context.mms.at(1).vmas.push_back(
      {64 * page, 65 * page, 0, CRYO_VMA_READ | CRYO_VMA_WRITE | CRYO_VMA_SHARED, CRYO_VMA_AIO, 0, 0, 0});
  const auto room = static_cast<std::uint32_t>((page - CRYO_AIO_EVENTS) / CRYO_AIO_EVENT_SIZE);
  builder.context.mms.at(1).aio = {{{64 * page, page, 4, room, room - 1, 0}, Bytes(CRYO_AIO_EVENT_SIZE)}};
  const cryo_array head{1, sizeof(cryo_page_run)};
  builder.extra.push_back(
      {CRYO_SEC_PAGES_USED, 1, 0, bytes_of(head), bytes_of(cryo_page_run{64 * page, 100})});
  return builder;
}

// Areas with names, of private and of shared memory.
ContextBuilder named_memory() {
  ContextBuilder builder(CRYO_ARCH_AARCH64);
  Mm& mm = builder.context.mms.at(1);
  mm.names.back().text = "a table: 80% (shared)";
  return builder;
}

ContextBuilder control_groups() {
  ContextBuilder builder = ContextBuilder::smallest();
  add_cgroups(builder);
  return builder;
}

}  // namespace

std::vector<SampleContext> sample_contexts() {
  std::vector<SampleContext> all;
  all.push_back({"x86_64", described()});
  all.push_back({"aarch64", ContextBuilder(CRYO_ARCH_AARCH64)});
  all.push_back({"aarch64-calls", interrupted_calls()});
  all.push_back({"ppc64le-64k", ContextBuilder(CRYO_ARCH_PPC64LE, 65536)});
  all.push_back({"smallest", ContextBuilder::smallest()});
  all.push_back({"threads", many_threads()});
  all.push_back({"leader-gone", leader_gone()});
  all.push_back({"shadow-stacks", shadow_stacks()});
  all.push_back({"other-kernel", other_kernel()});
  all.push_back({"thread-directories", thread_directories()});
  all.push_back({"page-copies", copied_pages()});
  all.push_back({"shared-memory", shared_memory()});
  all.push_back({"grown", grown()});
  all.push_back({"unknown", unknown_sections()});
  all.push_back({"processes", two_processes()});
  all.push_back({"connection", connection()});
  all.push_back({"ipc", with_ipc()});
  all.push_back({"ancestors", with_ancestor()});
  all.push_back({"namespaces", with_namespaces()});
  all.push_back({"names", named_memory()});
  all.push_back({"control-groups", control_groups()});
  all.push_back({"used", used_pages()});
  all.push_back({"huge-pages", huge_pages()});
  return all;
}

}  // namespace cryo::test
