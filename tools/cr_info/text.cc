// SPDX-License-Identifier: GPL-2.0-only
#include "cr_info/text.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/chrono.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <ctime>

#include "base/message.h"
#include "context/describe.h"
#include "context/file_kinds.h"

namespace cryo {
namespace {

struct Bit {
  std::uint64_t mask;
  const char* name;
};

std::vector<std::string> bit_names(std::uint64_t flags, std::span<const Bit> bits) {
  std::vector<std::string> names;
  for (const Bit& bit : bits) {
    if ((flags & bit.mask) != bit.mask) continue;
    names.emplace_back(bit.name);
    flags &= ~bit.mask;
  }
  if (flags != 0) names.push_back(fmt::format("{:#x}", flags));
  return names;
}

template <std::size_t N>
std::string name_of(const std::array<const char*, N>& names, std::uint32_t value, const char* what) {
  if (value < N && names[value] != nullptr) return names[value];
  return fmt::format("{} {}", what, value);
}

std::string unix_address(std::span<const std::byte> address) {
  std::string_view path(reinterpret_cast<const char*>(address.data()), address.size());
  path.remove_prefix(std::min(path.size(), offsetof(sockaddr_un, sun_path)));
  if (path.empty()) return "unnamed";
  if (path.front() == '\0') return "@" + printable(path.substr(1));
  return printable(path.substr(0, path.find('\0')));
}

std::string ip_address(int family, const void* address, std::uint16_t port) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  ::inet_ntop(family, address, text.data(), text.size());

  const std::string host = family == AF_INET6 ? fmt::format("[{}]", text.data()) : std::string(text.data());
  return fmt::format("{}:{}", host, ntohs(port));
}

}  // namespace

std::string printable(std::string_view text) {
  std::string result;
  for (const char byte : text) {
    if (byte == '\\')
      result += "\\x5c";
    else
      result += byte;
  }
  return without_controls(result);
}

std::string printable_json(std::string_view json) {
  std::string result;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const auto byte = static_cast<unsigned char>(json[i]);
    const auto next = static_cast<unsigned char>(i + 1 < json.size() ? json[i + 1] : 0);
    if (byte == 0xc2 && next >= 0x80 && next < 0xa0)
      result += fmt::format("\\u{:04x}", static_cast<unsigned char>(json[++i]));
    else if (byte == 0x7f)
      result += "\\u007f";
    else
      result += json[i];
  }
  return result;
}

std::vector<std::string> process_flag_names(std::uint32_t flags) {
  static constexpr Bit kBits[] = {{CRYO_PROC_STOPPED, "stopped"},
                                  {CRYO_PROC_NO_NEW_PRIVS, "no-new-privileges"},
                                  {CRYO_PROC_SESSION_LEADER, "session-leader"},
                                  {CRYO_PROC_CTTY, "controlling-terminal"},
                                  {CRYO_PROC_CHILD_SUBREAPER, "child-subreaper"},
                                  {CRYO_PROC_KEEPCAPS, "keep-capabilities"},
                                  {CRYO_PROC_ZOMBIE, "zombie"},
                                  {CRYO_PROC_CONSENTED, "consented"},
                                  {CRYO_PROC_STOP_WAITED, "stop-waited-for"},
                                  {CRYO_PROC_STOP_BEGUN, "stop-under-way"},
                                  {CRYO_PROC_CONTINUED, "continued"}};
  return bit_names(flags, kBits);
}

std::vector<std::string> thread_flag_names(std::uint32_t flags) {
  static constexpr Bit kBits[] = {{CRYO_THREAD_LEADER, "leader"},
                                  {CRYO_THREAD_RESTORE_SIGMASK, "restore-sigmask"},
                                  {CRYO_THREAD_RSEQ, "rseq"},
                                  {CRYO_THREAD_EXITED, "exited"},
                                  {CRYO_THREAD_NO_NEW_PRIVS, "no-new-privileges"}};
  return bit_names(flags, kBits);
}

std::vector<std::string> vma_flag_names(std::uint64_t flags) {
  static constexpr Bit kBits[] = {{CRYO_VMA_READ, "read"},           {CRYO_VMA_WRITE, "write"},
                                  {CRYO_VMA_EXEC, "exec"},           {CRYO_VMA_SHARED, "shared"},
                                  {CRYO_VMA_MAYREAD, "may-read"},    {CRYO_VMA_MAYWRITE, "may-write"},
                                  {CRYO_VMA_MAYEXEC, "may-exec"},    {CRYO_VMA_GROWSDOWN, "grows-down"},
                                  {CRYO_VMA_LOCKED, "locked"},       {CRYO_VMA_LOCKONFAULT, "lock-on-fault"},
                                  {CRYO_VMA_NORESERVE, "noreserve"}, {CRYO_VMA_DONTFORK, "dont-fork"},
                                  {CRYO_VMA_DONTDUMP, "dont-dump"},  {CRYO_VMA_WIPEONFORK, "wipe-on-fork"},
                                  {CRYO_VMA_HUGEPAGE, "hugepage"},   {CRYO_VMA_NOHUGEPAGE, "no-hugepage"},
                                  {CRYO_VMA_MERGEABLE, "mergeable"}, {CRYO_VMA_SEQ_READ, "sequential"},
                                  {CRYO_VMA_RAND_READ, "random"},    {CRYO_VMA_SYNC, "sync"},
                                  {CRYO_VMA_DROPPABLE, "droppable"}, {CRYO_VMA_SHADOW_STACK, "shadow-stack"},
                                  {CRYO_VMA_HUGETLB, "hugetlb"}};
  return bit_names(flags, kBits);
}

std::vector<std::string> inode_flag_names(std::uint32_t flags) {
  static constexpr Bit kBits[] = {
      {CRYO_INODE_DELETED, "deleted"},  {CRYO_INODE_CONTENTS, "contents"},
      {CRYO_INODE_MEMFD, "memfd"},      {CRYO_INODE_SHMEM, "shared-memory"},
      {CRYO_INODE_SYSV, "system-v"},    {CRYO_INODE_POSIX_SHM, "posix-shared-memory"},
      {CRYO_INODE_FALLBACK, "fallback"}};
  return bit_names(flags, kBits);
}

std::vector<std::string> open_flag_names(std::uint32_t arch, std::uint32_t flags) {
  static constexpr std::array kAccess = {"read", "write", "read-write", "access-3"};
  // O_SYNC contains O_DSYNC, O_TMPFILE contains O_DIRECTORY: the longer first.
  static constexpr Bit kBits[] = {
      {O_PATH, "path"},   {O_TMPFILE, "tmpfile"},   {O_DIRECTORY, "directory"}, {O_APPEND, "append"},
      {O_SYNC, "sync"},   {O_DSYNC, "dsync"},       {O_NONBLOCK, "nonblock"},   {O_DIRECT, "direct"},
      {O_ASYNC, "async"}, {O_NOFOLLOW, "nofollow"}, {O_NOATIME, "noatime"},     {O_CREAT, "creat"},
      {O_EXCL, "excl"},   {O_NOCTTY, "noctty"},     {O_TRUNC, "trunc"},         {O_CLOEXEC, "cloexec"}};
  std::vector<std::string> names = bit_names(open_flags_here(arch, flags) & ~O_ACCMODE, kBits);
  names.insert(names.begin(), kAccess[flags & O_ACCMODE]);
  return names;
}

std::vector<std::string> capability_names(std::uint64_t mask) {
  static constexpr std::array kNames = {"chown",
                                        "dac_override",
                                        "dac_read_search",
                                        "fowner",
                                        "fsetid",
                                        "kill",
                                        "setgid",
                                        "setuid",
                                        "setpcap",
                                        "linux_immutable",
                                        "net_bind_service",
                                        "net_broadcast",
                                        "net_admin",
                                        "net_raw",
                                        "ipc_lock",
                                        "ipc_owner",
                                        "sys_module",
                                        "sys_rawio",
                                        "sys_chroot",
                                        "sys_ptrace",
                                        "sys_pacct",
                                        "sys_admin",
                                        "sys_boot",
                                        "sys_nice",
                                        "sys_resource",
                                        "sys_time",
                                        "sys_tty_config",
                                        "mknod",
                                        "lease",
                                        "audit_write",
                                        "audit_control",
                                        "setfcap",
                                        "mac_override",
                                        "mac_admin",
                                        "syslog",
                                        "wake_alarm",
                                        "block_suspend",
                                        "audit_read",
                                        "perfmon",
                                        "bpf",
                                        "checkpoint_restore"};
  std::vector<std::string> names;
  for (std::uint32_t bit = 0; bit < 64; ++bit)
    if (mask >> bit & 1) names.push_back(bit < kNames.size() ? kNames[bit] : fmt::format("cap_{}", bit));
  if (names.size() == kNames.size()) return {"all"};
  return names;
}

std::string_view vma_name(const Mm& mm, const cryo_vma& vma) {
  const auto name =
      std::lower_bound(mm.names.begin(), mm.names.end(), vma.start,
                       [](const VmaName& n, std::uint64_t start) { return n.head.start < start; });
  return name != mm.names.end() && name->head.start == vma.start ? std::string_view(name->text) : "";
}

std::string vma_kind_name(std::uint32_t kind) {
  static constexpr std::array kNames = {"anonymous", "file",     "shared-memory", "vdso",
                                        "vvar",      "vsyscall", "system-v",      "aio-ring"};
  return name_of(kNames, kind, "kind");
}

std::string file_kind_name(std::uint32_t kind) {
  const FileKindModel* model = file_kind_model(kind);
  return model != nullptr ? model->name : fmt::format("kind {}", kind);
}

std::string restart_kind_name(std::uint32_t kind) {
  static constexpr std::array kNames = {"none", "nanosleep", "futex", "poll", "timed"};
  return name_of(kNames, kind, "kind");
}

std::string lock_text(const cryo_lock& lock) {
  static constexpr std::array<const char*, 5> kNames = {nullptr, "POSIX", "flock", "OFD", "lease"};
  constexpr std::uint64_t kToTheEnd = ~0ULL >> 1;
  const std::string range = lock.end == kToTheEnd ? fmt::format("from byte {}", lock.start)
                                                  : fmt::format("bytes {} to {}", lock.start, lock.end);
  return fmt::format("{} {} lock, {}", name_of(kNames, lock.kind, "kind"),
                     lock.type == F_WRLCK ? "write" : "read",
                     lock.kind == CRYO_LOCK_FLOCK ? "whole file" : range);
}

std::string inode_type_name(std::uint32_t mode) {
  switch (mode & S_IFMT) {
    case S_IFREG:
      return "regular file";
    case S_IFDIR:
      return "directory";
    case S_IFCHR:
      return "character device";
    case S_IFBLK:
      return "block device";
    case S_IFIFO:
      return "FIFO";
    case S_IFSOCK:
      return "socket";
    case S_IFLNK:
      return "symbolic link";
    default:
      return fmt::format("mode {:#o}", mode);
  }
}

std::string policy_name(std::uint32_t policy) {
  static constexpr std::array<const char*, 7> kNames = {"other", "fifo", "rr",      "batch",
                                                        nullptr, "idle", "deadline"};
  return name_of(kNames, policy, "policy");
}

std::string clock_name(std::int32_t clockid) {
  static constexpr std::array<const char*, 12> kNames = {"realtime",
                                                         "monotonic",
                                                         "process CPU time",
                                                         "thread CPU time",
                                                         "monotonic raw",
                                                         "realtime coarse",
                                                         "monotonic coarse",
                                                         "boottime",
                                                         "realtime with alarm",
                                                         "boottime with alarm",
                                                         nullptr,
                                                         "TAI"};
  // Bit 2 of the others tells a thread's from a process's: see timer_create(2).
  if (clockid < 0) return clockid & 4 ? kNames[3] : kNames[2];
  return name_of(kNames, static_cast<std::uint32_t>(clockid), "clock");
}

std::string signal_name(int signal) {
  static constexpr int kFirstRealTime = 32;  // of the kernel; the C library keeps some to itself
  if (signal < kFirstRealTime)
    if (const char* name = ::sigabbrev_np(signal)) return fmt::format("SIG{}", name);
  return fmt::format("SIGRT{}", signal);
}

std::vector<std::string> signal_set_names(std::uint64_t set) {
  std::vector<std::string> names;
  for (int signal = 1; signal <= 64; ++signal)
    if (set >> (signal - 1) & 1) names.push_back(signal_name(signal));
  return names;
}

std::string permissions(std::uint64_t flags) {
  return {(flags & CRYO_VMA_READ) ? 'r' : '-', (flags & CRYO_VMA_WRITE) ? 'w' : '-',
          (flags & CRYO_VMA_EXEC) ? 'x' : '-', (flags & CRYO_VMA_SHARED) ? 's' : 'p'};
}

std::string time_text(std::uint64_t realtime_ns) {
  const auto seconds = static_cast<std::time_t>(realtime_ns / 1'000'000'000);
  return fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(seconds));
}

std::string duration_text(std::int64_t ns) {
  return fmt::format("{:.3f} s", static_cast<double>(ns) / 1e9);
}

std::string cpu_list(const std::vector<std::uint64_t>& words, std::uint32_t bits) {
  const auto set = [&](std::uint32_t cpu) { return cpu < bits && (words[cpu / 64] >> (cpu % 64) & 1) != 0; };
  std::string text;
  for (std::uint32_t cpu = 0; cpu < bits; ++cpu) {
    if (!set(cpu)) continue;
    std::uint32_t last = cpu;
    while (last + 1 < bits && set(last + 1)) ++last;
    if (!text.empty()) text += ',';
    text += last == cpu ? fmt::format("{}", cpu) : fmt::format("{}-{}", cpu, last);
    cpu = last;
  }
  return text.empty() ? "none" : text;
}

std::string address_text(std::span<const std::byte> address) {
  sockaddr_storage storage{};
  if (address.size() < sizeof(sa_family_t)) return "no address";
  std::memcpy(&storage, address.data(), std::min(address.size(), sizeof(storage)));
  if (storage.ss_family == AF_UNIX) return unix_address(address);
  if (storage.ss_family == AF_INET) {
    const auto& in = reinterpret_cast<const sockaddr_in&>(storage);
    return ip_address(AF_INET, &in.sin_addr, in.sin_port);
  }
  if (storage.ss_family == AF_INET6) {
    const auto& in = reinterpret_cast<const sockaddr_in6&>(storage);
    return ip_address(AF_INET6, &in.sin6_addr, in.sin6_port);
  }
  return fmt::format("address family {}", storage.ss_family);
}

std::string group_text(const SocketGroup& group) {
  char text[INET6_ADDRSTRLEN] = "";
  ::inet_ntop(static_cast<int>(group.head.family), group.head.group, text, sizeof(text));
  return text;
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  return fmt::format("{}", fmt::join(parts, separator));
}

std::string process_name(const Process& process) {
  if (process.threads.empty()) return process.command;
  return process.command.empty() ? field_text(process.threads.front().head.comm) : process.command;
}

std::vector<std::uint64_t> saved_bytes(const Context& context, const Mm& mm) {
  std::vector<std::uint64_t> saved(mm.vmas.size());
  for (const PageChunk& chunk : context.pages) {
    if (chunk.kind != CRYO_PAGES_MM || chunk.object != mm.id) continue;
    for (const cryo_page_run& run : chunk.runs) {
      const std::uint64_t end = run.start + run.nr_pages * context.header.page_size;
      auto vma = std::upper_bound(mm.vmas.begin(), mm.vmas.end(), run.start,
                                  [](std::uint64_t start, const cryo_vma& v) { return start < v.end; });
      for (; vma != mm.vmas.end() && vma->start < end; ++vma)
        saved[static_cast<std::size_t>(vma - mm.vmas.begin())] +=
            std::min(end, std::uint64_t{vma->end}) - std::max(run.start, vma->start);
    }
  }
  return saved;
}

std::uint64_t tagged_bytes(const Context& context, std::uint32_t kind, std::uint32_t object) {
  std::uint64_t pages = 0;
  for (const TagChunk& chunk : context.tags)
    if (chunk.kind == kind && chunk.object == object) pages += chunk.nr_pages;
  return pages * context.header.page_size;
}

MemoryTotals memory_totals(const Context& context, const Mm& mm) {
  MemoryTotals totals;
  for (const cryo_vma& vma : mm.vmas) totals.mapped += vma.end - vma.start;
  for (const PageChunk& chunk : context.pages)
    if (chunk.kind == CRYO_PAGES_MM && chunk.object == mm.id) {
      totals.saved += chunk.bytes;
      if (chunk.copy) totals.shared += chunk.bytes;
    }
  return totals;
}

std::uint64_t elsewhere_bytes(const Context& context) {
  std::uint64_t bytes = 0;
  for (const PageChunk& chunk : context.pages)
    if (chunk.ancestor != 0) bytes += chunk.bytes;
  return bytes;
}

}  // namespace cryo
