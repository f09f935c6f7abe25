// SPDX-License-Identifier: GPL-2.0-only
// Single values of a context as text, shared by the report and JSON.
#pragma once

#include <cryo/format.h>
#include <fmt/format.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "context/model.h"

namespace cryo {

// A NUL-padded field.
template <std::size_t N>
[[nodiscard]] std::string field_text(const __u8 (&field)[N]) {
  const std::string_view text(reinterpret_cast<const char*>(field), N);
  return std::string(text.substr(0, text.find('\0')));
}

// Bytes that a terminal would act upon, as \xNN: a context can come from anybody.
[[nodiscard]] std::string printable(std::string_view text);

// Text of JSON, where those below 0x20 are never left: the others, which are in strings only, as \u00NN.
[[nodiscard]] std::string printable_json(std::string_view json);

// Names of the bits that are set; the rest as one hexadecimal number.
[[nodiscard]] std::vector<std::string> process_flag_names(std::uint32_t flags);
[[nodiscard]] std::vector<std::string> thread_flag_names(std::uint32_t flags);
[[nodiscard]] std::vector<std::string> vma_flag_names(std::uint64_t flags);
[[nodiscard]] std::vector<std::string> inode_flag_names(std::uint32_t flags);
[[nodiscard]] std::vector<std::string> open_flag_names(std::uint32_t arch, std::uint32_t flags);
[[nodiscard]] std::vector<std::string> capability_names(std::uint64_t mask);

// What its process has named it; empty: nothing.
[[nodiscard]] std::string_view vma_name(const Mm& mm, const cryo_vma& vma);
[[nodiscard]] std::string vma_kind_name(std::uint32_t kind);
[[nodiscard]] std::string file_kind_name(std::uint32_t kind);
[[nodiscard]] std::string restart_kind_name(std::uint32_t kind);
[[nodiscard]] std::string lock_text(const cryo_lock& lock);
[[nodiscard]] std::string inode_type_name(std::uint32_t mode);
// "monotonic"; of a CPU clock "process CPU time".
[[nodiscard]] std::string clock_name(std::int32_t clockid);
[[nodiscard]] std::string policy_name(std::uint32_t policy);

// "SIGTERM", "SIGRT34".
[[nodiscard]] std::string signal_name(int signal);
[[nodiscard]] std::vector<std::string> signal_set_names(std::uint64_t set);

// "rwxp" as in /proc/PID/maps.
[[nodiscard]] std::string permissions(std::uint64_t vma_flags);
// CLOCK_REALTIME, as UTC.
[[nodiscard]] std::string time_text(std::uint64_t realtime_ns);
// "3.2 s"
[[nodiscard]] std::string duration_text(std::int64_t ns);
// "0-3,6"
[[nodiscard]] std::string cpu_list(const std::vector<std::uint64_t>& words, std::uint32_t bits);
// A socket's address.
[[nodiscard]] std::string address_text(std::span<const std::byte> address);

[[nodiscard]] std::string join(const std::vector<std::string>& parts, std::string_view separator = " ");

// Of the command line, or of the leader, when the context has none.
[[nodiscard]] std::string process_name(const Process& process);

// What a context holds of one mm.
struct MemoryTotals {
  std::uint64_t mapped = 0;  // bytes of all areas
  std::uint64_t saved = 0;   // bytes with contents in the context
  std::uint64_t shared = 0;  // of these: with processes before it, whose pages they are in the context
};
[[nodiscard]] MemoryTotals memory_totals(const Context& context, const Mm& mm);

// Bytes of each VMA that have their contents in the context; index as in mm.vmas.
[[nodiscard]] std::vector<std::uint64_t> saved_bytes(const Context& context, const Mm& mm);
// Of the pages of an object that have tags other than 0; `kind` is CRYO_PAGES_*.
[[nodiscard]] std::uint64_t tagged_bytes(const Context& context, std::uint32_t kind, std::uint32_t object);

// Of pages whose bytes other contexts have.
[[nodiscard]] std::uint64_t elsewhere_bytes(const Context& context);

// The address of a multicast group.
[[nodiscard]] std::string group_text(const SocketGroup& group);

}  // namespace cryo
