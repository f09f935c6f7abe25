// SPDX-License-Identifier: GPL-2.0-only
// The contexts of a directory, one line for each: which of them can be restarted.
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "base/error.h"
#include "context/reader.h"
#include "context/spool.h"
#include "cr_info/report.h"
#include "cr_info/text.h"

namespace cryo {
namespace {

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

// Regular files that begin as a context does, or with what zstd(1) writes. Nothing that is no file is opened for reading.
bool may_be_context(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!fd) return false;
  std::array<std::byte, CRYO_MAGIC_LEN> start{};
  const ssize_t got = ::pread(fd.get(), start.data(), start.size(), 0);
  if (got <= 0) return false;
  const std::span<const std::byte> read = std::span(start).first(static_cast<std::size_t>(got));
  return (read.size() == start.size() && std::memcmp(start.data(), CRYO_MAGIC, start.size()) == 0) ||
         (is_zstd(read) && path.ends_with(".zst"));
}

std::vector<std::string> names_in(const std::string& directory) {
  const std::unique_ptr<DIR, CloseDirectory> entries(::opendir(directory.c_str()));
  if (!entries) fail_errno("{}", directory);
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(entries.get()))
    if (entry->d_name[0] != '.' && may_be_context(directory + "/" + entry->d_name)) names.emplace_back(entry->d_name);
  std::sort(names.begin(), names.end(),
            [](const std::string& a, const std::string& b) { return ::strverscmp(a.c_str(), b.c_str()) < 0; });
  return names;
}

ListedContext look_at(const std::string& directory, const std::string& name, bool verify) {
  ListedContext listed{name, 0, 0, {}, "good", {}};
  struct stat status {};
  const std::string path = directory + "/" + name;
  if (::stat(path.c_str(), &status) == 0) listed.bytes = static_cast<std::uint64_t>(status.st_size);
  try {
    const Source source = Source::open(path);
    const Context context = read_context(source, {.verify_pages = verify, .show_only = true});
    listed.made_ns = context.system.realtime_ns;
    for (const Process& process : context.processes) listed.pids.push_back(process.head.pid);
    for (const Link& link : links_of(context, {path, {}}, false))
      if (link.state != "good" && listed.problem.empty()) {
        listed.state = "incomplete";
        listed.problem = fmt::format("needs {}, which is {}", link.name, link.state);
      }
    if (!context.obstacles.empty()) {
      listed.state = "newer";
      listed.problem = context.obstacles.front();
    }
  } catch (const Error& error) {
    listed.state = error.code() == EBADMSG ? "damaged" : error.code() == EOPNOTSUPP ? "newer" : "unreadable";
    listed.problem = error.what();
  }
  return listed;
}

std::string verdict(const ListedContext& listed) {
  if (listed.state == "good") return "can be restarted";
  return fmt::format("cannot be restarted: {}", listed.problem);
}

}  // namespace

std::vector<ListedContext> contexts_in(const std::string& directory, bool verify) {
  std::vector<ListedContext> all;
  for (const std::string& name : names_in(directory)) all.push_back(look_at(directory, name, verify));
  return all;
}

void print_directory(const std::string& directory, const std::vector<ListedContext>& all) {
  if (all.empty()) return fmt::print("{}: no contexts\n", printable(directory));
  std::size_t width = 0;
  for (const ListedContext& listed : all) width = std::max(width, printable(listed.name).size());
  for (const ListedContext& listed : all)
    fmt::print("{:<{}}  {:<23}  {:>9}  {}\n", printable(listed.name), width,
               listed.made_ns == 0 ? "-" : time_text(listed.made_ns), bytes_text(listed.bytes),
               printable(verdict(listed)));
}

nlohmann::ordered_json directory_json(const std::vector<ListedContext>& all) {
  auto json = nlohmann::ordered_json::array();
  for (const ListedContext& listed : all)
    json.push_back({{"name", listed.name},
                    {"made", listed.made_ns == 0 ? "" : time_text(listed.made_ns)},
                    {"bytes", listed.bytes},
                    {"pids", listed.pids},
                    {"state", listed.state},
                    {"problem", listed.problem}});
  return json;
}

}  // namespace cryo
