// SPDX-License-Identifier: GPL-2.0-only
#include "cr_checkpoint/line.h"

#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <future>
#include <sstream>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/parse.h"
#include "base/unique_fd.h"
#include "context/chain.h"

namespace cryo {
namespace {

constexpr std::uint64_t kSecond = 1000000000;

std::optional<std::uint64_t> address_of_mark(const std::vector<std::uint64_t>& auxv) {
  for (std::size_t i = 0; i + 1 < auxv.size() && auxv[i] != AT_NULL; i += 2)
    if (auxv[i] == AT_RANDOM) return auxv[i + 1];
  return std::nullopt;
}

// ---- of a context

// Where the bytes of an address are.
struct Place {
  std::uint32_t ancestor = 0;
  std::uint64_t offset = 0;
  std::uint64_t left = 0;  // in its page
};

std::optional<Place> place_of(const Context& context, std::uint32_t mm, std::uint64_t address) {
  const std::uint64_t page = context.header.page_size, start = address & ~(page - 1);
  for (const PageChunk& chunk : context.pages) {
    if (chunk.kind != CRYO_PAGES_MM || chunk.object != mm) continue;
    std::uint64_t before = 0;
    for (const cryo_page_run& run : chunk.runs) {
      if (start >= run.start && (start - run.start) / page < run.nr_pages)
        return Place{chunk.ancestor, chunk.data_offset + before + (address - run.start),
                     start + page - address};
      before += run.nr_pages * page;
    }
  }
  return std::nullopt;
}

// ---- of what runs

// Of /proc/PID/stat, counted as in proc(5); or nothing.
std::vector<std::string> stat_of(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  const std::string line(std::istreambuf_iterator<char>(file), {});
  const std::size_t name = line.rfind(')');
  if (name == std::string::npos) return {};
  std::vector<std::string> fields(3);
  std::istringstream rest(line.substr(name + 1));
  for (std::string field; rest >> field;) fields.push_back(field);
  return fields;
}

constexpr std::size_t kState = 3, kGroup = 5, kSession = 6, kStart = 22;  // proc(5)

bool is_running(const std::vector<std::string>& stat) {
  return stat.size() > kStart && stat[kState] != "Z" && stat[kState] != "X";
}

// Who has the id; else those of the group or session.
std::vector<pid_t> members_of(pid_t id) {
  if (is_running(stat_of(id))) return {id};
  std::vector<pid_t> members;
  const std::string text = std::to_string(id);
  std::error_code error;
  for (std::filesystem::directory_iterator entry("/proc", error), end; !error && entry != end;
       entry.increment(error)) {
    const auto pid = parse_number<pid_t>(entry->path().filename().string(), 1);
    if (!pid) continue;
    const std::vector<std::string> stat = stat_of(*pid);
    if (is_running(stat) && (stat[kGroup] == text || stat[kSession] == text)) members.push_back(*pid);
  }
  return members;
}

std::vector<std::uint64_t> auxv_of(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/auxv", pid), std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  std::vector<std::uint64_t> auxv(bytes.size() / sizeof(std::uint64_t));
  std::memcpy(auxv.data(), bytes.data(), auxv.size() * sizeof(std::uint64_t));
  return auxv;
}

// Whoever looks has all signals blocked, and the process decides how long it takes until its page is there
// (userfaultfd(2), FUSE): another thread waits for that, and ends with this program.
constexpr std::chrono::seconds kLongestLook(2);

// Yama may keep one from the memory of what may be checkpointed.
std::optional<Mark> live_mark(pid_t pid, const std::vector<std::uint64_t>& auxv) {
  const std::optional<std::uint64_t> address = address_of_mark(auxv);
  if (!address) return std::nullopt;
  std::promise<std::optional<Mark>> looked;
  std::future<std::optional<Mark>> mark = looked.get_future();
  std::thread([looked = std::move(looked), pid, address = *address]() mutable {
    const UniqueFd memory(::open(fmt::format("/proc/{}/mem", pid).c_str(), O_RDONLY | O_CLOEXEC));
    Mark found{};
    const bool got = memory && ::pread(memory.get(), found.data(), found.size(),
                                       static_cast<off_t>(address)) == std::ssize(found);
    looked.set_value(got ? std::optional(found) : std::nullopt);
  }).detach();
  return mark.wait_for(kLongestLook) == std::future_status::ready ? mark.get() : std::nullopt;
}

std::uint64_t now_of(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * kSecond + static_cast<std::uint64_t>(now.tv_nsec);
}

// Up to AT_NULL.
bool is_same_vector(const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b) {
  for (std::size_t i = 0; i + 1 < a.size() && i + 1 < b.size(); i += 2) {
    if (a[i] != b[i] || a[i + 1] != b[i + 1]) return false;
    if (a[i] == AT_NULL) return true;
  }
  return false;
}

}  // namespace

bool Line::meets(const Line& other) const {
  return std::any_of(marks.begin(), marks.end(),
                     [&](const Mark& mark) { return other.marks.contains(mark); });
}

const Bytes& LineReader::of_ancestor(const Ancestor& ancestor, std::uint64_t offset, std::size_t size,
                                     const std::string& path) {
  Hash id;
  std::memcpy(id.data(), std::begin(ancestor.head.id), id.size());
  Bytes& bytes = of_ancestors_[{id, offset}];
  if (bytes.size() == size) return bytes;
  Bytes read(size);
  open_ancestor(ancestor, {path, {}}, path).read(offset, read);
  return bytes = std::move(read);
}

// A mark may be on two pages.
std::optional<Mark> LineReader::mark_at(const Context& context, const Source& source, const std::string& path,
                                        std::uint32_t mm, std::uint64_t address) {
  Mark mark{};
  for (std::size_t at = 0; at < mark.size();) {
    const std::optional<Place> place = place_of(context, mm, address + at);
    if (!place) return std::nullopt;
    const std::size_t size = std::min<std::uint64_t>(mark.size() - at, place->left);
    const auto part = std::span(mark).subspan(at, size);
    if (place->ancestor == 0)
      source.read(place->offset, part);
    else
      std::ranges::copy(of_ancestor(context.ancestors[place->ancestor - 1], place->offset, size, path),
                        part.begin());
    at += size;
  }
  return mark;
}

std::optional<Mark> LineReader::mark_of(const Context& context, const Source& source, const std::string& path,
                                        const Process& process) {
  const auto mm = context.mms.find(process.head.mm);
  if (mm == context.mms.end()) return std::nullopt;  // of one that has exited
  const std::optional<std::uint64_t> address = address_of_mark(mm->second.auxv);
  if (!address || *address > UINT64_MAX - sizeof(Mark)) return std::nullopt;
  try {
    return mark_at(context, source, path, mm->first, *address);
  } catch (const Error&) {
    return std::nullopt;
  }
}

Line LineReader::line_of(const Context& context, const Source& source, const std::string& path) {
  Line line;
  const auto add = [&](const Process& process) {
    if (const auto mark = mark_of(context, source, path, process)) line.marks.insert(*mark);
  };
  const auto first =
      std::find_if(context.processes.begin(), context.processes.end(), [&](const Process& process) {
        return process.head.pid == id_ && (process.head.flags & CRYO_PROC_ZOMBIE) == 0;
      });
  if (first != context.processes.end())
    add(*first);
  else
    std::for_each(context.processes.begin(), context.processes.end(), add);
  return line;
}

LiveJob live_job(pid_t id) {
  LiveJob job;
  utsname name{};
  if (::uname(&name) == 0) job.node = std::string(name.nodename).substr(0, sizeof(cryo_system::nodename) - 1);
  const std::uint64_t booted = now_of(CLOCK_REALTIME) - now_of(CLOCK_BOOTTIME);
  const auto ticks = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  for (const pid_t pid : members_of(id)) {
    const std::vector<std::uint64_t> auxv = auxv_of(pid);
    if (const auto mark = live_mark(pid, auxv)) job.line.marks.insert(*mark);
    if (pid == id) job.auxv = auxv;
    const std::vector<std::string> stat = stat_of(pid);
    const auto start = stat.size() > kStart ? parse_number<std::uint64_t>(stat[kStart]) : std::nullopt;
    if (!start) continue;
    const std::uint64_t started = booted + *start * (kSecond / ticks);
    job.started_ns = job.started_ns == 0 ? started : std::min(job.started_ns, started);
  }
  return job;
}

bool is_of_a_copy(const LiveJob& job, const Context& context) {
  constexpr std::uint64_t kMost = 5 * kSecond;  // that the clocks of two nodes differ
  const cryo_system& system = context.system;
  const auto* name = reinterpret_cast<const char*>(system.nodename);
  if (std::string_view(name, ::strnlen(name, sizeof(system.nodename))) == job.node) return false;
  return job.started_ns != 0 && system.realtime_ns > job.started_ns &&
         system.realtime_ns - job.started_ns > kMost;
}

bool is_of(const LiveJob& job, const Line& line, const Context& context, pid_t id) {
  if (is_of_a_copy(job, context)) return false;
  if (!job.line.marks.empty()) return job.line.meets(line);
  return std::any_of(context.processes.begin(), context.processes.end(), [&](const Process& process) {
    const auto mm = context.mms.find(process.head.mm);
    return process.head.pid == id && mm != context.mms.end() && is_same_vector(job.auxv, mm->second.auxv);
  });
}

}  // namespace cryo
