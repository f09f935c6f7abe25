// SPDX-License-Identifier: GPL-2.0-only
#include "context/section.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include "base/crc32c.h"

namespace cryo {
namespace {

constexpr std::size_t kBlock = 1 << 20;
constexpr std::uint32_t kMaxHeader = 4096;
constexpr std::uint32_t kMinPage = 4096;
constexpr std::uint32_t kMaxPage = 1 << 20;
// Sections other than page data are read whole.  The longest that writers make are the index of a
// context of some terabytes and the contents of a pipe at the largest capacity that root can give it.
constexpr std::uint64_t kMaxPayload = 1ULL << 30;
constexpr std::uint64_t kMaxSmallPayload = 64ULL << 20;

std::uint64_t max_payload(std::uint16_t type) {
  return type == CRYO_SEC_INDEX || type == CRYO_SEC_PIPE ? kMaxPayload : kMaxSmallPayload;
}

template <typename T>
std::span<const std::byte> bytes_before(const T& object, std::size_t offset) {
  return std::as_bytes(std::span(&object, 1)).first(offset);
}

// Why the first bytes are not CRYO_MAGIC, as far as that can be told.
std::string wrong_magic(std::span<const std::byte> start) {
  const std::string_view text(reinterpret_cast<const char*>(start.data()), start.size());
  if (text.starts_with("\x89"
                       "CRYO"))
    return "was damaged by a transfer in text mode: line ends were changed";
  if (text.substr(1).starts_with("CRYO")) return "was damaged by a transfer that is not 8-bit clean";
  return "is not a context";
}

}  // namespace

SectionScanner::SectionScanner(const Source& source, const ReadOptions& options)
    : source_(source), options_(options) {
  if (source.size() == 0) fail(EBADMSG, "{} is empty", source.name());
  std::array<std::byte, CRYO_MAGIC_LEN> magic{};
  const auto known = std::span(magic).first(std::min<std::size_t>(magic.size(), source.size()));
  source.read(0, known);
  if (std::memcmp(known.data(), CRYO_MAGIC, known.size()) != 0)
    fail(EBADMSG, "{} {}", source.name(), wrong_magic(magic));
  source.read(0, std::as_writable_bytes(std::span(&header_, 1)));
  if (header_.header_len < sizeof(header_) || header_.header_len > kMaxHeader)
    fail(EBADMSG, "{}: byte 0: file header: damaged (its length is {})", source.name(), header_.header_len);

  // The checksum is the last word, so that fields added before it are covered as well.
  Bytes whole(header_.header_len);
  source.read(0, whole);
  std::uint32_t crc;
  std::memcpy(&crc, &whole[whole.size() - sizeof(crc)], sizeof(crc));
  if (options_.check_crcs && crc32c(std::span(whole).first(whole.size() - sizeof(crc))) != crc)
    fail(EBADMSG, "{}: byte 0: file header: damaged (checksum)", source.name());
  check_header(header_.header_len);
  position_ = header_.header_len;
}

void SectionScanner::check_header(std::uint32_t length) const {
  const std::string& name = source_.name();
  if (header_.format_major != CRYO_FORMAT_MAJOR)
    fail(EOPNOTSUPP, "{} has format {}.{}; this Cryo reads format {}", name, header_.format_major,
         header_.format_minor, CRYO_FORMAT_MAJOR);
  if (header_.incompat & ~CRYO_INCOMPAT_KNOWN)
    fail(EOPNOTSUPP, "{} needs a newer Cryo: unknown features {:#x} (incompat)", name,
         header_.incompat & ~CRYO_INCOMPAT_KNOWN);
  if (header_.page_size < kMinPage || header_.page_size > kMaxPage || !std::has_single_bit(header_.page_size))
    fail(EBADMSG, "{}: byte 0: file header: page size {} is impossible", name, header_.page_size);
  if (!newer_minor() && (header_.reserved != 0 || length != sizeof(header_)))
    fail(EBADMSG, "{}: byte 0: file header: reserved field is not zero, or wrong length", name);
}

Section SectionScanner::next() {
  Section section;
  section.offset = position_;
  const std::uint64_t left = source_.size() - position_;
  if (left < sizeof(section.head))
    fail(EBADMSG, "{} is cut: ends at byte {} without an end mark", source_.name(), source_.size());
  source_.read(position_, std::as_writable_bytes(std::span(&section.head, 1)));
  check_section(section);
  section.payload = position_ + sizeof(section.head) + section.head.pad;
  if (section.head.pad > left - sizeof(section.head) ||
      section.head.length > left - sizeof(section.head) - section.head.pad)
    fail(EBADMSG, "{} is cut: ends at byte {} without an end mark, inside the {} that starts at byte {}",
         source_.name(), source_.size(), section_name(section.head.type), section.offset);
  check_padding(section);
  position_ = section.end();
  ++count_;
  return section;
}

void SectionScanner::check_section(const Section& section) const {
  const cryo_section& head = section.head;
  if (head.magic != CRYO_SECTION_MAGIC)
    fail(EBADMSG, "{}: byte {}: damaged: no section starts here", source_.name(), section.offset);
  if (options_.check_crcs &&
      crc32c(bytes_before(head, offsetof(cryo_section, header_crc))) != head.header_crc)
    fail(EBADMSG, "{}: byte {}: damaged section header (checksum)", source_.name(), section.offset);
  if (head.fixed_len > head.length)
    damaged(section, "its structure ({} bytes) is longer than the section ({} bytes)", head.fixed_len,
            head.length);
  if (head.pad >= header_.page_size) damaged(section, "{} bytes of padding are more than a page", head.pad);
  if (!newer_minor() && (head.reserved != 0 || (head.flags & ~CRYO_SECF_REQUIRED) != 0))
    damaged(section, "reserved fields of its header are not zero");
}

void SectionScanner::check_padding(const Section& section) const {
  if (section.head.pad == 0) return;
  Bytes padding(section.head.pad);
  source_.read(section.payload - padding.size(), padding);
  if (std::any_of(padding.begin(), padding.end(), [](std::byte b) { return b != std::byte{0}; }))
    damaged(section, "the padding before its payload is not zero");
}

Bytes SectionScanner::payload(const Section& section) const {
  if (section.head.length > max_payload(section.head.type))
    damaged(section, "{} bytes are too long for a section of this type", section.head.length);
  Bytes data(section.head.length);
  source_.read(section.payload, data);
  if (options_.check_crcs && crc32c(data) != section.head.crc) damaged(section, "wrong checksum");
  return data;
}

void SectionScanner::check_payload(const Section& section) const {
  if (options_.check_crcs && crc_of(source_, section.payload, section.head.length) != section.head.crc)
    damaged(section, "wrong checksum");
}

std::uint32_t crc_of(const Source& source, std::uint64_t offset, std::uint64_t length) {
  Bytes block(std::min<std::uint64_t>(length, kBlock));
  std::uint32_t crc = 0;
  while (length != 0) {
    const auto part = std::span(block).first(std::min<std::uint64_t>(length, block.size()));
    source.read(offset, part);
    crc = crc32c(part, crc);
    offset += part.size();
    length -= part.size();
  }
  return crc;
}

std::string section_name(std::uint32_t type) {
  static constexpr const char* kNames[] = {
      nullptr,   "SYSTEM", "CPU",       "PROCESS", "CWD",   "RLIMITS", "SIGACTIONS", "SIGPENDING",
      "ITIMERS", "CREDS",  "MM",        "VMA",     "INODE", "FILE",    "FDS",        "THREAD",
      "REGSET",  "PAGES",  "PAGE_DATA", "PIPE",    "EPOLL", "SOCKET",  "EVENTFD",    "LOCKS"};
  if (type < std::size(kNames) && kNames[type] != nullptr) return kNames[type];
  if (type == CRYO_SEC_SHARED_TABLES) return "SHARED_TABLES";
  if (type == CRYO_SEC_THREAD_FS) return "THREAD_FS";
  if (type == CRYO_SEC_SHARED_MEMORY) return "SHARED_MEMORY";
  if (type == CRYO_SEC_SOCKET_NET) return "SOCKET_NET";
  if (type == CRYO_SEC_PAGE_COPIES) return "PAGE_COPIES";
  if (type == CRYO_SEC_EXCLUDED) return "EXCLUDED";
  if (type == CRYO_SEC_BUILD_ID) return "BUILD_ID";
  if (type == CRYO_SEC_TIMERFD) return "TIMERFD";
  if (type == CRYO_SEC_SIGNALFD) return "SIGNALFD";
  if (type == CRYO_SEC_INOTIFY) return "INOTIFY";
  if (type == CRYO_SEC_FANOTIFY) return "FANOTIFY";
  if (type == CRYO_SEC_POSIX_TIMERS) return "POSIX_TIMERS";
  if (type == CRYO_SEC_SECCOMP) return "SECCOMP";
  if (type == CRYO_SEC_UCLAMP) return "UCLAMP";
  if (type == CRYO_SEC_MEMPOLICY) return "MEMPOLICY";
  if (type == CRYO_SEC_CGROUP) return "CGROUP";
  if (type == CRYO_SEC_SOCKOPTS) return "SOCKOPTS";
  if (type == CRYO_SEC_SOCKSTATE) return "SOCKSTATE";
  if (type == CRYO_SEC_SOCKQUEUE) return "SOCKQUEUE";
  if (type == CRYO_SEC_PTY) return "PTY";
  if (type == CRYO_SEC_PTY_SLAVE) return "PTY_SLAVE";
  if (type == CRYO_SEC_SHM) return "SHM";
  if (type == CRYO_SEC_SEM) return "SEM";
  if (type == CRYO_SEC_SEM_UNDO) return "SEM_UNDO";
  if (type == CRYO_SEC_MSG) return "MSG";
  if (type == CRYO_SEC_MQUEUE) return "MQUEUE";
  if (type == CRYO_SEC_NAMESPACES) return "NAMESPACES";
  if (type == CRYO_SEC_PIDS) return "PIDS";
  if (type == CRYO_SEC_NS) return "NS";
  if (type == CRYO_SEC_NS_UTS) return "NS_UTS";
  if (type == CRYO_SEC_NS_USER) return "NS_USER";
  if (type == CRYO_SEC_NS_TIME) return "NS_TIME";
  if (type == CRYO_SEC_NS_IPC) return "NS_IPC";
  if (type == CRYO_SEC_NS_CGROUP) return "NS_CGROUP";
  if (type == CRYO_SEC_NS_NET) return "NS_NET";
  if (type == CRYO_SEC_NS_MNT) return "NS_MNT";
  if (type == CRYO_SEC_MOUNT_ENTRY) return "MOUNT_ENTRY";
  if (type == CRYO_SEC_PIDFD) return "PIDFD";
  if (type == CRYO_SEC_URING) return "URING";
  if (type == CRYO_SEC_INDEX) return "INDEX";
  if (type == CRYO_SEC_END) return "END";
  return fmt::format("section type {}", type);
}

}  // namespace cryo
