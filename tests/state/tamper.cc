// SPDX-License-Identifier: GPL-2.0-only
// tamper - changes one thing in a context file, checksums and all
//
//   tamper WHAT CONTEXT      (tamper --list names the changes)
//
// As CRTEST_TAMPER of crtest-run it makes the state tests fail, each by what it is about: the
// context says something else than what the program set up, so a restart that follows it gives
// another state. tests/state/prove does that for all tests.
#include <cryo/format.h>
#include <cryo/ioctl.h>
#include <elf.h>
#include <linux/magic.h>
#include <linux/sched.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <termios.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <set>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/crc32c.h"
#include "context/checksum.h"

namespace {

struct Section {
  cryo_section* head;
  std::span<char> payload;

  template <class T>
  T& fixed() const {
    if (payload.size() < sizeof(T)) throw std::runtime_error("section is short");
    return *reinterpret_cast<T*>(payload.data());
  }
  std::span<char> tail() const { return payload.subspan(head->fixed_len); }
  template <class T>
  std::span<T> records() const {
    return {reinterpret_cast<T*>(tail().data()), tail().size() / sizeof(T)};
  }
};

// The file as a list of sections.
class Context {
 public:
  explicit Context(const std::string& path) : path_(path) {
    std::ifstream in(path, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    bytes_ = text.str();
    auto* header = reinterpret_cast<cryo_file_header*>(bytes_.data());
    if (bytes_.size() < sizeof(*header) || std::memcmp(header->magic, CRYO_MAGIC, CRYO_MAGIC_LEN))
      throw std::runtime_error(path + " is no context");
    for (size_t at = header->header_len; at + sizeof(cryo_section) <= bytes_.size();) {
      auto* head = reinterpret_cast<cryo_section*>(&bytes_[at]);
      if (head->magic != CRYO_SECTION_MAGIC) throw std::runtime_error("no section at " + std::to_string(at));
      size_t start = at + sizeof(*head) + head->pad;
      sections_.push_back({head, {bytes_.data() + start, head->length}});
      at = start + head->length;
    }
  }
  const std::vector<Section>& sections() const { return sections_; }

  void each(cryo_section_type type, const std::function<void(Section&)>& change) {
    for (Section& s : sections_)
      if (s.head->type == type) change(s);
  }

  void write() {
    for (Section& s : sections_) {
      s.head->crc = cryo::checksum(std::as_bytes(s.payload), s.head->flags);
      auto head = std::as_bytes(std::span(s.head, 1));
      s.head->header_crc = cryo::crc32c(head.first(offsetof(cryo_section, header_crc)));
    }
    std::fstream out(path_, std::ios::binary | std::ios::in | std::ios::out);
    out.write(bytes_.data(), static_cast<std::streamsize>(bytes_.size()));
    if (!out.flush()) throw std::runtime_error("cannot write " + path_);
  }

 private:
  std::string path_;
  std::string bytes_;
  std::vector<Section> sections_;
};

using Change = std::function<void(Context&)>;

template <class T>
Change in(cryo_section_type type, std::function<void(T&)> change) {
  return [=](Context& context) { context.each(type, [&](Section& s) { change(s.fixed<T>()); }); };
}

template <class T>
Change in_records(cryo_section_type type, std::function<void(T&)> change) {
  return [=](Context& context) {
    context.each(type, [&](Section& s) {
      for (T& record : s.records<T>()) change(record);
    });
  };
}

// The address of who has sent each message that waits.
Change in_senders(std::function<void(std::span<char>)> change) {
  return [=](Context& context) {
    context.each(CRYO_SEC_SOCKQUEUE, [&](Section& s) {
      auto rest = s.tail();
      for (__u32 left = s.fixed<cryo_sock_queue>().messages; left > 0; left--) {
        auto& head = *reinterpret_cast<cryo_sock_message*>(rest.data());
        rest = rest.subspan(sizeof(head) + 4 * head.files);
        change(rest.first(head.name_len));
        rest = rest.subspan(head.name_len + head.length);
      }
    });
  };
}

// Of each datagram that waits in a UDP socket.
Change in_queue_of_udp(std::function<void(cryo_udp_origin&)> change) {
  return in_senders([=](std::span<char> name) {
    if (name.size() == sizeof(cryo_udp_origin)) change(*reinterpret_cast<cryo_udp_origin*>(name.data()));
  });
}

// ---- memory ----

// Every saved page for which @chosen is true of (page, bytes of it that are not zero).
Change in_pages(std::function<bool(std::span<char>, long)> chosen,
                std::function<void(std::span<char>)> change) {
  return [=](Context& context) {
    context.each(CRYO_SEC_PAGE_DATA, [&](Section& s) {
      for (size_t at = 0; at + 4096 <= s.payload.size(); at += 4096) {
        auto page = s.payload.subspan(at, 4096);
        long used = 4096 - std::count(page.begin(), page.end(), 0);
        if (chosen(page, used)) change(page);
      }
    });
  };
}

// A page of the tests' pseudo-random pattern holds nearly every byte value; no other page does.
bool is_pattern(std::span<char> page, long used) {
  return used > 3500 && std::set<char>(page.begin(), page.end()).size() > 240;
}

Change in_vmas(std::function<bool(const cryo_vma&)> chosen, std::function<void(cryo_vma&)> change) {
  return in<cryo_vma>(CRYO_SEC_VMA, [=](cryo_vma& vma) {
    if (chosen(vma)) change(vma);
  });
}

constexpr auto kRead = CRYO_VMA_READ, kWrite = CRYO_VMA_WRITE, kExec = CRYO_VMA_EXEC;
constexpr auto kAccess = kRead | kWrite | kExec;
constexpr auto kAdvice = CRYO_VMA_DONTFORK | CRYO_VMA_DONTDUMP | CRYO_VMA_WIPEONFORK | CRYO_VMA_HUGEPAGE |
                         CRYO_VMA_NOHUGEPAGE | CRYO_VMA_MERGEABLE | CRYO_VMA_SEQ_READ | CRYO_VMA_RAND_READ;

bool anonymous_with(const cryo_vma& vma, __u64 access) {
  return vma.kind == CRYO_VMA_ANON && (vma.flags & kAccess) == access;
}

// ---- registers ----

Change in_regset(__u32 note, std::function<void(std::span<char>)> change) {
  return [=](Context& context) {
    context.each(CRYO_SEC_REGSET, [&](Section& s) {
      if (s.fixed<cryo_regset_head>().note == note) change(s.tail());
    });
  };
}

// ---- the changes ----

using Changes = std::map<std::string, Change>;

// Changes of_registers(), for each architecture.
#include "tamper_arch.h"

Changes of_memory() {
  return {
      {"pattern-pages", in_pages(is_pattern, [](auto page) { page[1000] ^= 1; })},
      {"sparse-pages", in_pages([](auto, long used) { return used > 0 && used < 20; },
                                [](auto page) { std::fill(page.begin(), page.end(), 0); })},
      {"no-access-lost", in_vmas([](auto& v) { return v.kind == CRYO_VMA_ANON && !(v.flags & kAccess); },
                                 [](auto& v) { v.flags |= kRead | kWrite; })},
      {"read-only-lost", in_vmas(
                             [](auto& v) {
                               return (v.kind == CRYO_VMA_ANON || v.kind == CRYO_VMA_SHMEM) &&
                                      (v.flags & kAccess) == kRead;
                             },
                             [](auto& v) { v.flags |= kWrite; })},
      {"writable-lost",
       in_vmas([](auto& v) { return anonymous_with(v, kRead | kWrite) && v.end - v.start == 4096; },
               [](auto& v) { v.flags &= ~kWrite; })},
      {"exec-only-lost",
       in_vmas([](auto& v) { return anonymous_with(v, kExec); }, [](auto& v) { v.flags |= kRead | kWrite; })},
      {"file-shared-lost",
       in_vmas([](auto& v) { return v.kind == CRYO_VMA_FILE && (v.flags & CRYO_VMA_SHARED); },
               [](auto& v) { v.flags &= ~CRYO_VMA_SHARED; })},
      {"growth-lost", in_vmas([](auto& v) { return v.flags & CRYO_VMA_GROWSDOWN; },
                              [](auto& v) { v.flags &= ~CRYO_VMA_GROWSDOWN; })},
      {"lock-lost", in_vmas([](auto& v) { return v.flags & CRYO_VMA_LOCKED; },
                            [](auto& v) { v.flags &= ~(CRYO_VMA_LOCKED | CRYO_VMA_LOCKONFAULT); })},
      {"droppable-lost", in_vmas([](auto& v) { return v.flags & CRYO_VMA_DROPPABLE; },
                                 [](auto& v) { v.flags &= ~CRYO_VMA_DROPPABLE; })},
      {"guards-cut",
       [](Context& c) {
         c.each(CRYO_SEC_GUARDS, [](Section& s) {
           for (auto& run : s.records<cryo_page_run>()) run.nr_pages -= run.nr_pages > 1;
         });
       }},
      {"advice-lost",
       in_vmas([](auto& v) { return v.flags & kAdvice; }, [](auto& v) { v.flags &= ~kAdvice; })},
      {"perms-of-a-library",
       in_vmas([](auto& v) { return v.kind == CRYO_VMA_FILE && (v.flags & kAccess) == kRead; },
               [](auto& v) { v.flags |= kExec; })},
      {"vdso-moved", in_vmas([](auto& v) { return v.kind == CRYO_VMA_VDSO || v.kind == CRYO_VMA_VVAR; },
                             [](auto& v) { v.start -= 0x20000, v.end -= 0x20000; })},
      {"brk", in<cryo_mm>(CRYO_SEC_MM, [](auto& mm) { mm.brk -= 4096; })},
      {"arguments", in<cryo_mm>(CRYO_SEC_MM, [](auto& mm) { mm.arg_start += 1; })},
      {"future-locks", in<cryo_mm>(CRYO_SEC_MM, [](auto& mm) { mm.def_flags = 0; })},
      {"thp-disable", in<cryo_mm>(CRYO_SEC_MM, [](auto& mm) { mm.thp_disabled = 0; })},
      {"keys", in<cryo_mm>(CRYO_SEC_MM, [](auto& mm) { mm.pkeys &= ~2U; })},
      {"keys-of-memory", in_vmas([](auto& v) { return v.pkey != 0; }, [](auto& v) { v.pkey = 0; })},
      {"memory-tags",
       [](Context& c) { c.each(CRYO_SEC_PAGE_TAGS, [](Section& s) { s.payload.back() ^= 1; }); }},
      {"file-offset-of-mapping",
       in_vmas([](auto& v) { return v.kind == CRYO_VMA_FILE && (v.flags & kWrite) && v.offset == 8 * 4096; },
               [](auto& v) { v.offset = 0; })},
      {"terminal-modes", in<cryo_terminal>(CRYO_SEC_TERMINAL, [](auto& t) { t.lflag ^= ICANON; })},
      {"aio-events", [](Context& c) { c.each(CRYO_SEC_AIO, [](Section& s) { s.payload.back() ^= 1; }); }},
      {"name-of-memory",
       [](Context& c) { c.each(CRYO_SEC_VMA_NAME, [](Section& s) { s.payload.back() ^= 1; }); }},
      {"numa",
       [](Context& c) {
         c.each(CRYO_SEC_MEMPOLICY, [](Section& s) {
           for (auto& p : s.records<cryo_mempolicy>()) p.mode = 1;
         });
       }},
  };
}

Changes of_threads() {
  using Thread = cryo_thread;
  return {
      {"thread-name", in<Thread>(CRYO_SEC_THREAD, [](auto& t) { t.comm[0] ^= 1; })},
      {"robust-list", in<Thread>(CRYO_SEC_THREAD, [](auto& t) { t.robust_list = 0; })},
      {"clear-tid", in<Thread>(CRYO_SEC_THREAD,
                               [](auto& t) {
                                 if (t.tid != t.pid) t.clear_child_tid = 0;
                               })},
      {"rseq", in<Thread>(CRYO_SEC_THREAD,
                          [](auto& t) {
                            t.rseq = 0;
                            t.rseq_len = 0;
                            t.flags &= ~CRYO_THREAD_RSEQ;
                          })},
      {"sigmask", in<Thread>(CRYO_SEC_THREAD, [](auto& t) { t.sigmask ^= 1ULL << 21; })},
      {"saved-sigmask", in<Thread>(CRYO_SEC_THREAD, [](auto& t) { t.saved_sigmask = 0; })},
      {"altstack", in<Thread>(CRYO_SEC_THREAD,
                              [](auto& t) {
                                t.altstack_sp = t.altstack_size = 0;
                                t.altstack_flags = 2;
                              })},
      {"time-left", in<Thread>(CRYO_SEC_THREAD,
                               [](auto& t) {
                                 if (t.restart.time_flags & CRYO_TIME_REMAINING)
                                   t.restart.time_ns += 5000000000;
                               })},
      {"restart-block", in<Thread>(CRYO_SEC_THREAD, [](auto& t) { t.restart.kind = 0; })},
      {"nice", in<Thread>(CRYO_SEC_THREAD, [](auto& t) { t.nice += 1; })},
      {"policy", in<Thread>(CRYO_SEC_THREAD,
                            [](auto& t) {
                              t.sched_policy = 0;
                              t.sched_priority = 0;
                            })},
      {"affinity",
       [](Context& c) {
         c.each(CRYO_SEC_THREAD, [](Section& s) {
           for (auto& word : s.records<__u64>()) word = word == 1 ? 2 : 1;
         });
       }},
      {"ioprio", in<Thread>(CRYO_SEC_THREAD, [](auto& t) { t.ioprio = 0; })},
      {"timer-slack", in<Thread>(CRYO_SEC_THREAD, [](auto& t) { t.timer_slack_ns += 1; })},
      {"thread-umask", in<cryo_thread_fs>(CRYO_SEC_THREAD_FS, [](auto& fs) { fs.umask ^= 1; })},
      {"shared-files", in<cryo_shared_tables>(CRYO_SEC_SHARED_TABLES, [](auto& t) { t.files = 0; })},
      {"shared-handlers", in<cryo_shared_memory>(CRYO_SEC_SHARED_MEMORY, [](auto& t) { t.sighand = 0; })},
      {"shared-fs", in<cryo_shared_tables>(CRYO_SEC_SHARED_TABLES, [](auto& t) { t.fs = 0; })},
      {"death-signal", in<Thread>(CRYO_SEC_THREAD, [](auto& t) { t.pdeath_signal = 0; })},
  };
}

Changes of_signals() {
  using Process = cryo_process;
  return {
      {"sigaction-flags", in_records<cryo_sigaction>(CRYO_SEC_SIGACTIONS,
                                                     [](auto& a) {
                                                       if (a.handler > 1) a.mask ^= 1ULL << 40;
                                                     })},
      {"ignored-signals", in_records<cryo_sigaction>(CRYO_SEC_SIGACTIONS,
                                                     [](auto& a) {
                                                       if (a.handler == 1) a.handler = 0;
                                                     })},
      {"pending-value",
       [](Context& c) {
         c.each(CRYO_SEC_SIGPENDING, [](Section& s) {
           auto& head = s.fixed<cryo_sigpending>();
           for (__u32 i = 0; i < head.count; i++) s.tail()[i * head.record_size + 24] ^= 1;
         });
       }},
      {"stopped", in<Process>(CRYO_SEC_PROCESS,
                              [](auto& p) {
                                p.flags &= ~CRYO_PROC_STOPPED;
                                p.stop_signal = 0;
                              })},
  };
}

Changes of_process() {
  using Process = cryo_process;
  return {
      {"umask", in<Process>(CRYO_SEC_PROCESS, [](auto& p) { p.umask ^= 7; })},
      {"personality", in<Process>(CRYO_SEC_PROCESS, [](auto& p) { p.personality = 0; })},
      {"dumpable", in<Process>(CRYO_SEC_PROCESS, [](auto& p) { p.dumpable ^= 1; })},
      {"no-new-privs", in<Process>(CRYO_SEC_PROCESS, [](auto& p) { p.flags &= ~CRYO_PROC_NO_NEW_PRIVS; })},
      {"subreaper", in<Process>(CRYO_SEC_PROCESS, [](auto& p) { p.flags &= ~CRYO_PROC_CHILD_SUBREAPER; })},
      {"exit-signal", in<Process>(CRYO_SEC_PROCESS,
                                  [](auto& p) {
                                    if (p.exit_signal == SIGUSR1) p.exit_signal = SIGCHLD;
                                  })},
      {"oom-score", in<Process>(CRYO_SEC_PROCESS, [](auto& p) { p.oom_score_adj += 5; })},
      {"cwd",
       [](Context& c) {
         c.each(CRYO_SEC_CWD, [](Section& s) {
           for (char& ch : s.tail().subspan(1)) ch = '/';
         });
       }},
      {"limits", in_records<cryo_rlimit>(CRYO_SEC_RLIMITS,
                                         [](auto& l) {
                                           if (l.cur && l.cur != ~0ULL) l.cur -= 1;
                                         })},
      {"interval", in_records<cryo_itimer>(CRYO_SEC_ITIMERS,
                                           [](auto& t) {
                                             if (t.value_ns) t.interval_ns += 1000000;
                                           })},
      {"timer-value", in_records<cryo_itimer>(CRYO_SEC_ITIMERS,
                                              [](auto& t) {
                                                if (t.value_ns) t.value_ns += 3000000000;
                                              })},
      {"groups", in<cryo_creds>(CRYO_SEC_CREDS,
                                [](auto& k) {
                                  k.egid = k.gid;
                                  k.cap_bset = ~0ULL >> 24;
                                  k.securebits = 0;
                                })},
      {"capabilities", in<cryo_creds>(CRYO_SEC_CREDS, [](auto& k) { k.cap_effective &= ~2ULL; })},
      {"cgroup-mode", in<cryo_cgroup>(CRYO_SEC_CGROUP_DIR, [](auto& g) { g.mode ^= 1; })},
      {"cgroup-setting",
       [](Context& c) {
         c.each(CRYO_SEC_CGROUP_SETTING, [](Section& s) {
           const std::string_view text(s.tail().data(), s.tail().size());
           if (text == "pids.max77") s.tail().back() = '6';
         });
       }},
      {"root", [](Context& c) { c.each(CRYO_SEC_ROOT, [](Section& s) { s.head->type = 9999; }); }},
      {"raw-filter", in_records<cryo_sockopt>(CRYO_SEC_SOCKOPTS,
                                              [](auto& o) {
                                                if (o.level == 255 && o.name == 1) o.value[0] ^= 1;
                                              })},
      {"socket-device",
       in_records<cryo_sock_device>(CRYO_SEC_SOCK_DEVICES, [](auto& d) { d.device[0] ^= 1; })},
      {"cwd-mode", in<cryo_path>(CRYO_SEC_CWD, [](auto& p) { p.mode = 0700; })},
      {"seccomp",
       [](Context& c) {
         c.each(CRYO_SEC_SECCOMP, [](Section& s) {
           for (__u64& word : s.records<__u64>())  // BPF_RET of SECCOMP_RET_ERRNO: another error
             if ((word & 0xffff) == 6 && (word >> 48 & 0x7fff) == 5) word ^= 1ULL << 32;
         });
       }},
      {"seccomp-strict",
       [](Context& c) { c.each(CRYO_SEC_SECCOMP, [](Section& s) { s.head->type = 9999; }); }},
  };
}

// A pipe or a socket.
bool is_nameless(const cryo_inode& inode) {
  return inode.fs_magic == PIPEFS_MAGIC || inode.fs_magic == SOCKFS_MAGIC;
}

Changes of_files() {
  return {
      {"offsets", in<cryo_file>(CRYO_SEC_FILE,
                                [](auto& f) {
                                  if (f.pos) f.pos -= 1;
                                })},
      {"outside", in<cryo_file>(CRYO_SEC_FILE, [](auto& f) { f.outside ^= CRYO_OUTSIDE_SHARED; })},
      {"directory-position", in<cryo_file>(CRYO_SEC_FILE,
                                           [](auto& f) {
                                             if (f.flags & 0200000) f.pos = 0;
                                           })},
      {"file-flags", in<cryo_file>(CRYO_SEC_FILE, [](auto& f) { f.flags &= ~(02000 | 04000); })},
      {"close-on-exec", in_records<cryo_fd>(CRYO_SEC_FDS,
                                            [](auto& d) {
                                              if (d.fd > 2) d.flags ^= CRYO_FD_CLOEXEC;
                                            })},
      {"shared-open-file", in_records<cryo_fd>(CRYO_SEC_FDS,
                                               [last = __u32(0), before = __u32(0)](auto& d) mutable {
                                                 if (d.fd > 2 && d.file == last)
                                                   d.file = before;
                                                 else {
                                                   before = last;
                                                   last = d.file;
                                                 }
                                               })},
      {"device",
       [](Context& c) {
         c.each(CRYO_SEC_FILE, [](Section& s) {
           std::string path(s.tail().begin(), s.tail().end());
           if (path == "/dev/full") std::memcpy(s.tail().data(), "/dev/zero", 9);
         });
       }},
      {"file-contents", in_pages([](auto, long used) { return used > 0; },
                                 [](auto page) {
                                   if (is_pattern(page, 4096)) page[2000] ^= 1;
                                 })},
      {"seals", in<cryo_inode>(CRYO_SEC_INODE, [](auto& i) { i.seals = 0; })},
      {"pipe-bytes",
       [](Context& c) {
         c.each(CRYO_SEC_PIPE, [](Section& s) {
           if (!s.tail().empty()) s.tail()[s.tail().size() - 1] ^= 1;
         });
       }},
      {"terminal-size", in<cryo_pty>(CRYO_SEC_PTY, [](auto& p) { p.rows += 1; })},
      {"terminal-session", in<cryo_pty>(CRYO_SEC_PTY, [](auto& p) { p.sid = 0; })},
      {"locks", in_records<cryo_lock>(CRYO_SEC_LOCKS, [](auto& l) { l.type = l.type ? 0 : 1; })},
      {"lock-owner", in_records<cryo_lock>(CRYO_SEC_LOCKS, [](auto& l) { l.owner = 0; })},
      {"seccomp-apart", in<cryo_seccomp>(CRYO_SEC_SECCOMP, [](auto& s) { s.shared = 0, s.shared_with = 0; })},
      {"memfd-opened", in<cryo_file>(CRYO_SEC_FILE, [](auto& f) { f.how = 0; })},
      {"bound-plainly", in<cryo_sock_state>(CRYO_SEC_SOCKSTATE,
                                            [](auto& s) {
                                              s.flags &=
                                                  ~(CRYO_SOCK_STATE_FREEBIND | CRYO_SOCK_STATE_REUSEPORT);
                                            })},
      {"thread-user", in<cryo_creds>(CRYO_SEC_THREAD_CREDS, [](auto& c) { c.fsuid += 1; })},
      {"thread-privileges",
       in<cryo_thread>(CRYO_SEC_THREAD, [](auto& t) { t.flags &= ~CRYO_THREAD_NO_NEW_PRIVS; })},
      {"namespace-file", in<cryo_file>(CRYO_SEC_FILE,
                                       [](auto& f) {
                                         if (f.kind == CRYO_FILE_NAMESPACE) f.pos &= ~0xffffffffULL;
                                       })},
      {"zombie-user", in<cryo_creds>(CRYO_SEC_CREDS,
                                     [](auto& c) {
                                       if (c.uid != 0) c.uid += 1;
                                     })},
      {"leases", in_records<cryo_lock>(CRYO_SEC_LOCKS, [](auto& l) { l.kind = CRYO_LOCK_FLOCK; })},
      {"owner", in<cryo_file>(CRYO_SEC_FILE, [](auto& f) { f.owner_pid = 0, f.owner_thread = 0; })},
      {"owner-signal", in<cryo_file>(CRYO_SEC_FILE, [](auto& f) { f.owner_signal = 0; })},
      {"async", in<cryo_file>(CRYO_SEC_FILE, [](auto& f) { f.flags &= ~020000U; })},
      {"directory-mode", in<cryo_inode>(CRYO_SEC_INODE,
                                        [](auto& i) {
                                          if (i.flags & CRYO_INODE_DELETED) i.mode ^= 2;
                                        })},
      {"nameless-mode", in<cryo_inode>(CRYO_SEC_INODE,
                                       [](auto& i) {
                                         if (is_nameless(i)) i.mode ^= 010;
                                       })},
      {"nameless-owner", in<cryo_inode>(CRYO_SEC_INODE,
                                        [](auto& i) {
                                          if (is_nameless(i)) i.uid += 1;
                                        })},
      {"socket-mode", in<cryo_inode>(CRYO_SEC_SOCKET_FILE, [](auto& i) { i.mode ^= 0100; })},
      {"socket-unlinked", in<cryo_socket>(CRYO_SEC_SOCKET, [](auto& s) { s.flags &= ~CRYO_SOCK_UNLINKED; })},
  };
}

Changes of_events() {
  return {
      {"epoll-data", in_records<cryo_epoll_target>(CRYO_SEC_EPOLL, [](auto& t) { t.data ^= 1; })},
      {"watch-mask",
       in<cryo_inotify>(CRYO_SEC_INOTIFY, [](auto& i) { reinterpret_cast<cryo_watch*>(&i + 1)->mask ^= 4; })},
      {"next-ids",
       in<cryo_ns_ipc>(CRYO_SEC_NS_IPC,
                       [](auto& ns) { std::fill(std::begin(ns.next_id), std::end(ns.next_id), 0); })},
      {"inotify-event",
       in<cryo_array>(CRYO_SEC_INOTIFY_EVENTS,
                      [](auto& a) { reinterpret_cast<cryo_inotify_event*>(&a + 1)->mask ^= 1; })},
      {"watch-next", in<cryo_inotify>(CRYO_SEC_INOTIFY, [](auto& i) { i.next_wd += 1; })},
      {"fanotify-mask", in<cryo_fanotify>(CRYO_SEC_FANOTIFY,
                                          [](auto& g) { reinterpret_cast<cryo_mark*>(&g + 1)->mask ^= 2; })},
      {"fanotify-flags", in<cryo_fanotify>(CRYO_SEC_FANOTIFY,
                                           [](auto& g) {
                                             if (g.marks) g.event_flags ^= 02000;
                                           })},
      {"fanotify-privileged", in<cryo_fanotify>(CRYO_SEC_FANOTIFY, [](auto& g) { g.flags = 0; })},
      {"epoll-disarmed", in_records<cryo_epoll_target>(CRYO_SEC_EPOLL, [](auto& t) { t.events |= EPOLLIN; })},
      {"epoll-reported",
       in_records<cryo_epoll_target>(CRYO_SEC_EPOLL, [](auto& t) { t.flags |= CRYO_EPOLL_QUEUED; })},
      {"epoll-file", in_records<cryo_epoll_target>(CRYO_SEC_EPOLL, [](auto& t) { t.file = 0; })},
      {"eventfd-count", in<cryo_eventfd>(CRYO_SEC_EVENTFD, [](auto& e) { e.count += 1; })},
      {"uring-submitted", in<cryo_uring>(CRYO_SEC_URING,
                                         [](auto& r) {
                                           if (r.eventfd) r.sq_head += 1;
                                         })},
      {"uring-completed", in<cryo_uring>(CRYO_SEC_URING,
                                         [](auto& r) {
                                           if (r.eventfd) r.cq_tail -= 1;
                                         })},
      {"uring-eventfd", in<cryo_uring>(CRYO_SEC_URING, [](auto& r) { r.eventfd = 0; })},
      {"uring-issuer", in<cryo_uring>(CRYO_SEC_URING, [](auto& r) { r.issuer = 0; })},
      {"uring-enabled", in<cryo_uring>(CRYO_SEC_URING, [](auto& r) { r.flags &= ~CRYO_URING_R_DISABLED; })},
      {"uring-second-half",
       [](Context& c) { c.each(CRYO_SEC_URING, [](Section& s) { s.tail().back() ^= 1; }); }},
      {"uring-idle", in<cryo_uring>(CRYO_SEC_URING, [](auto& r) { r.sq_idle_ms = 1; })},
      {"uring-cpu", in<cryo_uring>(CRYO_SEC_URING, [](auto& r) { r.flags &= ~CRYO_URING_SQ_AFF; })},
      {"uring-polled",
       in<cryo_uring>(CRYO_SEC_URING, [](auto& r) { r.flags &= ~(CRYO_URING_SQPOLL | CRYO_URING_SQ_AFF); })},
      {"uring-entries", [](Context& c) { c.each(CRYO_SEC_URING, [](Section& s) { s.tail()[48] ^= 64; }); }},
      {"timerfd-ticks", in<cryo_timerfd>(CRYO_SEC_TIMERFD,
                                         [](auto& t) {
                                           if (t.ticks) t.ticks += 1;
                                         })},
      {"timerfd-left", in<cryo_timerfd>(CRYO_SEC_TIMERFD,
                                        [](auto& t) {
                                          if (t.remaining_ns > 0) t.remaining_ns /= 3;
                                        })},
      {"timerfd-flags", in<cryo_timerfd>(CRYO_SEC_TIMERFD, [](auto& t) { t.settime_flags = 0; })},
      {"timer-left", in_records<cryo_posix_timer>(CRYO_SEC_POSIX_TIMERS,
                                                  [](auto& t) {
                                                    if (t.remaining_ns > 0) t.remaining_ns /= 3;
                                                  })},
      {"timer-id", in_records<cryo_posix_timer>(CRYO_SEC_POSIX_TIMERS, [](auto& t) { t.id += 1; })},
      {"timer-pending",
       in_records<cryo_posix_timer>(CRYO_SEC_POSIX_TIMERS, [](auto& t) { t.flags &= ~CRYO_TIMER_PENDING; })},
      {"timer-overrun",
       in_records<cryo_posix_timer>(CRYO_SEC_POSIX_TIMERS, [](auto& t) { t.overrun_last = 0; })},
      {"timer-sigval", in_records<cryo_posix_timer>(CRYO_SEC_POSIX_TIMERS, [](auto& t) { t.value ^= 1; })},
      {"pidfd-process", in<cryo_pidfd>(CRYO_SEC_PIDFD, [](auto& p) { p.pid = 0; })},
      {"signalfd-mask", in<cryo_signalfd>(CRYO_SEC_SIGNALFD, [](auto& s) { s.mask ^= 1ULL << 63; })},
  };
}

Changes of_sockets() {
  return {
      {"socket-options", in_records<cryo_sockopt>(CRYO_SEC_SOCKOPTS,
                                                  [](auto& k) {
                                                    if (k.level == SOL_SOCKET &&
                                                        (k.name == SO_REUSEADDR || k.name == SO_RCVLOWAT))
                                                      k.value[0] ^= 1;
                                                  })},
      {"message-bytes",
       [](Context& c) {
         c.each(CRYO_SEC_SOCKQUEUE, [](Section& s) {
           if (!s.tail().empty()) s.tail()[s.tail().size() - 1] ^= 1;
         });
       }},
      {"sender-name", in_senders([](std::span<char> name) {
         if (name.size() > 4) name[name.size() - 2] ^= 1;
       })},
      {"udp-origin", in_queue_of_udp([](cryo_udp_origin& origin) { origin.from_port += 1; })},
      {"udp-time", in_queue_of_udp([](cryo_udp_origin& origin) {
         if (origin.time_ns) origin.time_ns -= 60'000'000'000;
       })},
      {"udp-address",
       in<cryo_sock_state>(CRYO_SEC_SOCKSTATE, [](auto& s) { s.flags &= ~CRYO_SOCK_STATE_ANY_ADDRESS; })},
      {"socket-error", in<cryo_sock_state>(CRYO_SEC_SOCKSTATE, [](auto& s) { s.error = 0; })},
      {"peer-process", in<cryo_sock_state>(CRYO_SEC_SOCKSTATE, [](auto& s) { s.peer_pid = 0; })},
      {"netlink-groups",
       [](Context& c) {
         c.each(CRYO_SEC_SOCKSTATE, [](Section& s) {
           if (s.fixed<cryo_sock_state>().family == 16) s.tail()[8] = 0;
         });
       }},
      {"filter",
       [](Context& c) {
         c.each(CRYO_SEC_SOCK_FILTER, [](Section& s) {
           if (!s.tail().empty()) s.tail()[s.tail().size() - 4] ^= 1;
         });
       }},
      {"socket-groups",
       [](Context& c) { c.each(CRYO_SEC_SOCK_GROUPS, [](Section& s) { s.tail()[3] ^= 1; }); }},
      {"udp-segment", in_records<cryo_sockopt>(CRYO_SEC_SOCKOPTS,
                                               [](auto& k) {
                                                 if (k.level == 17 && k.name == 103) k.value[0] ^= 1;
                                               })},
      {"filter-lock", in<cryo_sock_filter>(CRYO_SEC_SOCK_FILTER, [](auto& f) { f.flags = 0; })},
      {"netlink-options", in_records<cryo_sockopt>(CRYO_SEC_SOCKOPTS,
                                                   [](auto& k) {
                                                     if (k.level == 270) k.value[0] = 0;
                                                   })},
  };
}

Changes of_ipc() {
  return {
      {"queue-size", in<cryo_msg_queue>(CRYO_SEC_MSG, [](auto& q) { q.bytes -= 1000; })},
      {"queue-notification", in<cryo_mqueue>(CRYO_SEC_MQUEUE, [](auto& q) { q.notify_value += 1; })},
  };
}

// In the text about mounts; spaces fill what has become shorter.
Change in_mounts(const std::string& from, std::string to) {
  to.resize(from.size(), ' ');
  return [=](Context& context) {
    context.each(CRYO_SEC_NS_MNT, [&](Section& s) {
      auto text = s.tail();
      for (auto at = text.begin();
           (at = std::search(at, text.end(), from.begin(), from.end())) != text.end();)
        at = std::copy(to.begin(), to.end(), at);
    });
  };
}

Changes of_namespaces() {
  return {
      {"host-name", in<cryo_ns_uts>(CRYO_SEC_NS_UTS, [](auto& u) { u.nodename[0] ^= 1; })},
      {"net-settings",
       [](Context& c) { c.each(CRYO_SEC_NS_NET, [](Section& s) { s.tail()[s.tail().size() - 2] ^= 1; }); }},
      {"loopback", in<cryo_ns_net>(CRYO_SEC_NS_NET, [](auto& n) { n.flags = 0; })},
      {"namespaces", in<cryo_namespaces>(CRYO_SEC_NAMESPACES, [](auto& n) { n.uts = 0; })},
      {"setgroups", in<cryo_ns_user>(CRYO_SEC_NS_USER, [](auto& u) { u.flags ^= CRYO_USER_SETGROUPS; })},
      {"mount-namespace", in<cryo_namespaces>(CRYO_SEC_NAMESPACES, [](auto& n) { n.mnt = 0; })},
      {"mount-options", in_mounts(" ro,", " rw,")},
      {"mount-groups", in_mounts(" shared:", " sharex:")},
      {"mount-part", in_mounts(" /dir ", " / ")},
      {"mount-file", in<cryo_mount_entry>(CRYO_SEC_MOUNT_ENTRY, [](auto& e) { e.mode ^= 0020; })},
      {"namespace-clock",
       in<cryo_ns_time>(CRYO_SEC_NS_TIME, [](auto& t) { t.monotonic_ns += 3600'000'000'000; })},
      {"system-clock", in<cryo_system>(CRYO_SEC_SYSTEM, [](auto& s) { s.monotonic_ns += 3600'000'000'000; })},
      {"nested-pid", in_records<cryo_nested_id>(CRYO_SEC_PIDS,
                                                [](auto& i) {
                                                  if (i.number > 1) i.number += 100;
                                                })},
  };
}

const Changes& changes() {
  static const Changes all = [] {
    Changes sum{{"nothing", [](Context&) {}}};
    for (Changes part : {of_memory(), of_registers(), of_threads(), of_signals(), of_process(), of_files(),
                         of_events(), of_sockets(), of_ipc(), of_namespaces()})
      sum.merge(part);
    return sum;
  }();
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc == 2 && std::string(argv[1]) == "--list") {
      for (const auto& [name, change] : changes()) std::cout << name << '\n';
      return 0;
    }
    if (argc != 3) throw std::runtime_error("usage: tamper WHAT CONTEXT | tamper --list");
    auto change = changes().find(argv[1]);
    if (change == changes().end()) throw std::runtime_error(std::string("no change ") + argv[1]);
    Context context(argv[2]);
    change->second(context);
    context.write();
  } catch (const std::exception& error) {
    std::cerr << "tamper: " << error.what() << '\n';
    return 1;
  }
  return 0;
}
