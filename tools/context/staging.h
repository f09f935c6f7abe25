// SPDX-License-Identifier: GPL-2.0-only
// What the sections read so far say, before the whole is put together.
//
// Sections may come in any order that the format allows, so that something can be mentioned (a
// thread by its REGSET) before it is defined (by its THREAD).
#pragma once

#include <fmt/format.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/error.h"
#include "context/model.h"
#include "context/payload.h"

namespace cryo {

template <typename T>
struct Staged {
  T value{};
  bool defined = false;
  Section first;  // mention
};

template <typename Key, typename T>
class StagedMap {
 public:
  // Of a section that adds to an object.
  T& mention(Key key, const Section& section) {
    auto [it, fresh] = map_.try_emplace(key);
    if (fresh) it->second.first = section;
    return it->second.value;
  }
  // Of the section that defines it.
  T& define(Key key, const Payload& payload) {
    T& value = mention(key, payload.section());
    Staged<T>& staged = map_.at(key);
    if (staged.defined) payload.damaged("{} is defined twice", key);
    staged.defined = true;
    order_.push_back(key);
    return value;
  }
  // Throws when something was mentioned and never defined.
  void require_all(const SectionScanner& scanner, const char* what) const {
    for (const auto& [key, staged] : map_)
      if (!staged.defined)
        scanner.damaged(staged.first, "belongs to {} {}, which the context does not have", what, key);
  }
  [[nodiscard]] const std::vector<Key>& order() const { return order_; }
  [[nodiscard]] T* find(Key key) {
    const auto it = map_.find(key);
    return it == map_.end() ? nullptr : &it->second.value;
  }

 private:
  std::map<Key, Staged<T>> map_;
  std::vector<Key> order_;  // of definition
};

struct Staging {
  explicit Staging(const SectionScanner& scanner, const ReadOptions& options)
      : scanner(scanner), options(options) {}

  const SectionScanner& scanner;
  const ReadOptions& options;
  StagedMap<std::int32_t, Process> processes;
  StagedMap<std::int32_t, Thread> threads;
  StagedMap<std::uint32_t, Mm> mms;
  std::map<std::uint32_t, Vdso> vdsos;
  StagedMap<std::uint32_t, Inode> inodes;
  StagedMap<std::uint32_t, File> files;
  StagedMap<std::uint32_t, Namespace> namespaces;
  StagedMap<std::uint32_t, MountEntry> mount_entries;
  StagedMap<std::uint32_t, ControlGroup> cgroups;
  std::vector<PageChunk> pages;
  std::vector<TagChunk> tags;
  std::vector<Ancestor> ancestors;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> own_chunks;  // offset and length of their bytes
  std::vector<SemSet> sem_sets;
  std::vector<MsgQueue> msg_queues;
  std::vector<std::string> obstacles;
  cryo_system system{};
  Bytes cpu;

  // A second section of a type that an object can have only one of; `part` tells apart what is not
  // told apart by type and object.
  void once(const Payload& payload, std::uint32_t part = 0) {
    if (!seen_.emplace(payload.section().head.type, payload.object(), part).second)
      payload.damaged("object {} has it twice", payload.object());
  }

  // A value without a meaning here: damage, unless a later version may have given it one.
  template <typename... Args>
  void unknown(const Section& section, fmt::format_string<Args...> format, Args&&... args) {
    const std::string text = fmt::format(format, std::forward<Args>(args)...);
    if (!scanner.newer_minor()) scanner.damaged(section, "{}", text);
    obstacle(section, text);
  }

  // What stands against a restart, but not against showing the context.
  void obstacle(const Section& section, const std::string& text) {
    obstacle(fmt::format("byte {}: {}: {}", section.offset, section_name(section.head.type), text));
  }
  void obstacle(const std::string& text) {
    if (!options.show_only) fail(EOPNOTSUPP, "{} needs a newer Cryo: {}", scanner.source().name(), text);
    obstacles.push_back(text);
  }

 private:
  std::set<std::tuple<std::uint16_t, std::uint32_t, std::uint32_t>> seen_;
};

// One function for each section type of the headers: parse_vma_name(staging, payload) for VMA_NAME.
#define CRYO_SECTION(type, name) void parse_##name(Staging& staging, const Payload& payload);
#include "schema/sections.inc"
#undef CRYO_SECTION

void assemble_cgroups(Staging& staging, Context& context);
// Of PAGES; returns the chunk, which lacks what the PAGE_DATA after it has.
[[nodiscard]] PageChunk parse_page_chunk(Staging& staging, const Payload& payload);
// Each run a range of pages, ascending, and no more than `most` pages; returns their number.
[[nodiscard]] std::uint64_t check_runs(const Staging& staging, const Payload& payload,
                                       const std::vector<cryo_page_run>& runs, std::uint64_t most);
// What has the pages: memory, an inode or a file of a mount, by CRYO_PAGES_*.
void mention_owner(Staging& staging, const Payload& payload, std::uint32_t kind);
// What they say of one another.
void check_ancestors(const Staging& staging, const Context& context);
void check_mount_entries(const Staging& staging, const Context& context);
// What holds between namespaces, and between them and processes.
void check_namespaces(const Staging& staging, const Context& context);

// Puts the parts together and checks what holds between them.
[[nodiscard]] Context assemble(Staging& staging);

// Bounds of Linux.
inline constexpr std::uint32_t kMaxSignal = 64;
inline constexpr std::size_t kMaxSockaddr = 128;  // struct sockaddr_storage
inline constexpr std::size_t kMaxPath = 4096;

// Ids are chosen by the writer, 0 means none.
[[nodiscard]] inline std::uint32_t id_of(const Payload& payload) {
  if (payload.object() == 0) payload.damaged("0 cannot be an id");
  return payload.object();
}

// Pids are positive; an object field is unsigned.
[[nodiscard]] inline std::int32_t pid_of(const Payload& payload) {
  const std::uint32_t object = payload.object();
  if (object == 0 || object > static_cast<std::uint32_t>(std::numeric_limits<std::int32_t>::max()))
    payload.damaged("{} cannot be a pid", static_cast<std::int32_t>(object));
  return static_cast<std::int32_t>(object);
}

// The open file that the section is about.
[[nodiscard]] inline File& file_of(Staging& staging, const Payload& payload) {
  return staging.files.mention(id_of(payload), payload.section());
}

// Sections that are right one by one, and do not fit together.
template <typename... Args>
[[noreturn]] void inconsistent(const Staging& staging, fmt::format_string<Args...> format, Args&&... args) {
  fail(EBADMSG, "{}: inconsistent: {}", staging.scanner.source().name(),
       fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace cryo
