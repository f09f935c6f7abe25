// SPDX-License-Identifier: GPL-2.0-only
#include "context/reader.h"

#include <algorithm>
#include <iterator>

#include "base/parallel.h"
#include "context/section.h"
#include "context/staging.h"

namespace cryo {
namespace {

using ParseFunction = void (*)(Staging&, const Payload&);

struct Parser {
  std::uint16_t type;
  ParseFunction parse;
};

// What is not here is handled by Reader itself, or unknown.
constexpr Parser kParsers[] = {
    {CRYO_SEC_SYSTEM, parse_system},
    {CRYO_SEC_CPU, parse_cpu},
    {CRYO_SEC_PROCESS, parse_process},
    {CRYO_SEC_CWD, parse_cwd},
    {CRYO_SEC_RLIMITS, parse_rlimits},
    {CRYO_SEC_SIGACTIONS, parse_sigactions},
    {CRYO_SEC_SIGPENDING, parse_sigpending},
    {CRYO_SEC_ITIMERS, parse_itimers},
    {CRYO_SEC_CREDS, parse_creds},
    {CRYO_SEC_OUTER_GROUPS, parse_outer_groups},
    {CRYO_SEC_MM, parse_mm},
    {CRYO_SEC_VDSO, parse_vdso},
    {CRYO_SEC_VMA, parse_vma},
    {CRYO_SEC_INODE, parse_inode},
    {CRYO_SEC_FILE, parse_file},
    {CRYO_SEC_FDS, parse_fds},
    {CRYO_SEC_THREAD, parse_thread},
    {CRYO_SEC_REGSET, parse_regset},
    {CRYO_SEC_PIPE, parse_pipe},
    {CRYO_SEC_EPOLL, parse_epoll},
    {CRYO_SEC_SOCKET, parse_socket},
    {CRYO_SEC_EVENTFD, parse_eventfd},
    {CRYO_SEC_LOCKS, parse_locks},
    {CRYO_SEC_BUILD_ID, parse_build_id},
    {CRYO_SEC_FILE_END, parse_file_end},
    {CRYO_SEC_TIMERFD, parse_timerfd},
    {CRYO_SEC_SIGNALFD, parse_signalfd},
    {CRYO_SEC_POSIX_TIMERS, parse_posix_timers},
    {CRYO_SEC_INOTIFY, parse_inotify},
    {CRYO_SEC_INOTIFY_EVENTS, parse_inotify_events},
    {CRYO_SEC_FANOTIFY, parse_fanotify},
    {CRYO_SEC_PIDFD, parse_pidfd},
    {CRYO_SEC_URING, parse_uring},
    {CRYO_SEC_SECCOMP, parse_seccomp},
    {CRYO_SEC_UCLAMP, parse_uclamp},
    {CRYO_SEC_MEMPOLICY, parse_mempolicy},
    {CRYO_SEC_VMA_NAME, parse_vma_name},
    {CRYO_SEC_CGROUP, parse_cgroup},
    {CRYO_SEC_CGROUP_DIR, parse_cgroup_dir},
    {CRYO_SEC_CGROUP_SETTING, parse_cgroup_setting},
    {CRYO_SEC_PAGE_COPIES, parse_page_copies},
    {CRYO_SEC_EXCLUDED, parse_excluded},
    {CRYO_SEC_PAGES_USED, parse_pages_used},
    {CRYO_SEC_GUARDS, parse_guards},
    {CRYO_SEC_AIO, parse_aio},
    {CRYO_SEC_HUGETLB, parse_hugetlb},
    {CRYO_SEC_PAGE_TAGS, parse_page_tags},
    {CRYO_SEC_ANCESTORS, parse_ancestors},
    {CRYO_SEC_PAGES_ELSEWHERE, parse_pages_elsewhere},
    {CRYO_SEC_THREAD_FS, parse_thread_fs},
    {CRYO_SEC_ROOT, parse_root},
    {CRYO_SEC_SHARED_TABLES, parse_shared_tables},
    {CRYO_SEC_SHARED_MEMORY, parse_shared_memory},
    {CRYO_SEC_SOCKOPTS, parse_sockopts},
    {CRYO_SEC_SOCK_FILTER, parse_sock_filter},
    {CRYO_SEC_SOCK_DEVICES, parse_sock_devices},
    {CRYO_SEC_SOCK_GROUPS, parse_sock_groups},
    {CRYO_SEC_THREAD_CREDS, parse_thread_creds},
    {CRYO_SEC_FILE_OPENER, parse_file_opener},
    {CRYO_SEC_SOCKET_NET, parse_socket_net},
    {CRYO_SEC_SOCKET_FILE, parse_socket_file},
    {CRYO_SEC_SOCKSTATE, parse_sockstate},
    {CRYO_SEC_SOCKQUEUE, parse_sockqueue},
    {CRYO_SEC_PTY, parse_pty},
    {CRYO_SEC_PTY_SLAVE, parse_pty_slave},
    {CRYO_SEC_TERMINAL, parse_terminal},
    {CRYO_SEC_SHM, parse_shm},
    {CRYO_SEC_SEM, parse_sem},
    {CRYO_SEC_SEM_UNDO, parse_sem_undo},
    {CRYO_SEC_MSG, parse_msg},
    {CRYO_SEC_MQUEUE, parse_mqueue},
    {CRYO_SEC_NAMESPACES, parse_namespaces},
    {CRYO_SEC_PIDS, parse_pids},
    {CRYO_SEC_NS, parse_ns},
    {CRYO_SEC_NS_UTS, parse_ns_uts},
    {CRYO_SEC_NS_USER, parse_ns_user},
    {CRYO_SEC_NS_TIME, parse_ns_time},
    {CRYO_SEC_NS_IPC, parse_ns_ipc},
    {CRYO_SEC_NS_CGROUP, parse_ns_cgroup},
    {CRYO_SEC_NS_NET, parse_ns_net},
    {CRYO_SEC_NS_MNT, parse_ns_mnt},
    {CRYO_SEC_MOUNT_ENTRY, parse_mount_entry},
};

ParseFunction parser_for(std::uint16_t type) {
  const auto it = std::find_if(std::begin(kParsers), std::end(kParsers),
                               [type](const Parser& parser) { return parser.type == type; });
  return it == std::end(kParsers) ? nullptr : it->parse;
}

class Reader {
 public:
  Reader(const Source& source, const ReadOptions& options)
      : options_(options), scanner_(source, options_), staging_(scanner_, options_) {}

  Context read() {
    check_features();
    const Section first = scanner_.next();
    if (first.head.type != CRYO_SEC_SYSTEM) scanner_.damaged(first, "is the first section instead of SYSTEM");
    take(first);
    Section section = scanner_.next();
    for (; section.head.type != CRYO_SEC_INDEX; section = scanner_.next()) take(section);
    take_index(section);
    take_end(scanner_.next());

    if (options_.verify_pages && options_.check_crcs) verify_pages(scanner_.source(), staging_.pages);
    Context context = assemble(staging_);
    context.index = std::move(index_);
    context.end = end_;
    context.pages_verified = options_.verify_pages && options_.check_crcs;
    return context;
  }

 private:
  void check_features() {
    const std::uint64_t unknown = scanner_.header().ro_compat & ~CRYO_RO_COMPAT_KNOWN;
    if (unknown != 0) staging_.obstacle(fmt::format("unknown features {:#x} (ro_compat)", unknown));
  }

  void take(const Section& section) {
    remember(section);
    const std::uint16_t type = section.head.type;
    if (type == CRYO_SEC_PAGES)  // most of them
      take_pages(section);
    else if (const ParseFunction parse = parser_for(type))
      parse(staging_, Payload(scanner_, section));
    else if (type == CRYO_SEC_PAGE_DATA)
      scanner_.damaged(section, "no PAGES section before it");
    else if (type == CRYO_SEC_END)
      scanner_.damaged(section, "no INDEX section before it");
    else
      take_unknown(section);
  }

  void take_pages(const Section& section) {
    PageChunk chunk = parse_pages(staging_, Payload(scanner_, section));
    chunk.bytes = chunk.nr_pages * scanner_.header().page_size;
    const Section data = scanner_.next();
    remember(data);
    if (data.head.type != CRYO_SEC_PAGE_DATA) scanner_.damaged(data, "instead of PAGE_DATA after PAGES");
    if (data.head.object != chunk.object)
      scanner_.damaged(data, "its object {} is not that of its PAGES, {}", data.head.object, chunk.object);
    if (data.head.length != chunk.bytes || data.head.fixed_len != 0)
      scanner_.damaged(data, "{} bytes instead of {}", data.head.length, chunk.bytes);
    chunk.data_offset = data.payload;
    chunk.padding = data.head.pad;
    chunk.checksum = data.head.crc;
    chunk.section_flags = data.head.flags;
    page_bytes_ += chunk.bytes;
    staging_.own_chunks.emplace_back(chunk.data_offset, chunk.bytes);
    staging_.pages.push_back(std::move(chunk));
  }

  void take_unknown(const Section& section) {
    scanner_.check_payload(section);
    if (section.head.flags & CRYO_SECF_REQUIRED)
      staging_.obstacle(section, "needed for a restart, and unknown to this version");
  }

  // Each entry is a section that was found, INDEX itself included; not each section needs an entry.
  void take_index(const Section& section) {
    remember(section);
    const Payload payload(scanner_, section);
    index_ = payload.array<cryo_index_entry>();
    index_offset_ = section.offset;
    auto at = found_.begin();
    for (const cryo_index_entry& entry : index_) {
      while (at != found_.end() && at->offset < entry.offset) ++at;
      if (at == found_.end() || at->offset != entry.offset || at->type != entry.type ||
          at->object != entry.object)
        payload.damaged("no {} with object {} is at byte {}", section_name(entry.type), entry.object,
                        entry.offset);
      ++at;
    }
  }

  void take_end(const Section& section) {
    if (section.head.type != CRYO_SEC_END) scanner_.damaged(section, "is after INDEX instead of END");
    const Payload payload(scanner_, section);
    end_ = payload.fixed<cryo_end>();
    if (!payload.tail().empty() && !scanner_.newer_minor()) payload.damaged("it has a tail");
    if (end_.total_len != section.end())
      payload.damaged("it says {} bytes, and ends at byte {}", end_.total_len, section.end());
    if (end_.index_offset != index_offset_)
      payload.damaged("it says that INDEX is at byte {}, which is at {}", end_.index_offset, index_offset_);
    if (end_.sections != scanner_.count())
      payload.damaged("it says {} sections, {} are there", end_.sections, scanner_.count());
    if (end_.page_bytes != page_bytes_)
      payload.damaged("it says {} bytes of pages, {} are there", end_.page_bytes, page_bytes_);
    const std::uint64_t size = scanner_.source().size();
    if (size != section.end()) payload.damaged("{} bytes follow the end mark", size - section.end());
  }

  void remember(const Section& section) {
    found_.push_back({section.offset, section.head.type, section.head.object});
  }

  ReadOptions options_;
  SectionScanner scanner_;
  Staging staging_;
  std::vector<cryo_index_entry> found_;
  std::vector<cryo_index_entry> index_;
  std::uint64_t index_offset_ = 0;
  std::uint64_t page_bytes_ = 0;
  cryo_end end_{};
};

}  // namespace

Context read_context(const Source& source, const ReadOptions& options) {
  return Reader(source, options).read();
}

void verify_pages(const Source& source, const PageChunk& chunk) {
  if (chunk.copy || chunk.ancestor != 0) return;  // another chunk's are its; see Chain
  if (!has_zeros(source, chunk.data_offset - chunk.padding, chunk.padding))
    fail(EBADMSG, "{}: byte {}: PAGE_DATA: the padding before its payload is not zero", source.name(),
         chunk.data_offset - chunk.padding);
  if (checksum_of(source, chunk.data_offset, chunk.bytes, chunk.section_flags) != chunk.checksum)
    fail(EBADMSG, "{}: byte {}: PAGE_DATA: wrong checksum", source.name(), chunk.data_offset);
}

void verify_pages(const Source& source, const std::vector<PageChunk>& chunks, const ChunkSet& left_out) {
  for_each_in_parallel(chunks.size(), [&](std::size_t i) {
    if (left_out.empty() || !left_out[i]) verify_pages(source, chunks[i]);
  });
}

}  // namespace cryo
