// SPDX-License-Identifier: GPL-2.0-only
// The contexts of a directory, one line for each: which of them can be restarted.
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "base/error.h"
#include "context/chain.h"
#include "context/find_context.h"
#include "context/reader.h"
#include "context/spool.h"
#include "cr_info/report.h"
#include "cr_info/text.h"

namespace cryo {
namespace {

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

// Regular files that begin as a context does, compressed or not; and links of others that are not followed,
// as nobody knows what they lead to. Nothing that is no file is opened for reading.
bool may_be_context(const std::string& path) {
  const FoundContext found = open_regular_context(path);
  const UniqueFd& fd = found.place;
  if (!fd) return found.error == EPERM;
  std::array<std::byte, CRYO_MAGIC_LEN> start{};
  const ssize_t got = ::pread(fd.get(), start.data(), start.size(), 0);
  if (got <= 0) return false;
  const std::span<const std::byte> read = std::span(start).first(static_cast<std::size_t>(got));
  // By its name, where it is damaged, or root does not unpack it.
  if (is_zstd(read))
    return (Source::may_unpack(fd.get()) ? holds_context(fd.get()) : std::nullopt)
        .value_or(path.ends_with(".zst"));
  return read.size() == start.size() && std::memcmp(start.data(), CRYO_MAGIC, start.size()) == 0;
}

std::vector<std::string> names_in(const std::string& directory) {
  const FoundContext found = find_context(directory);
  if (!found.place) fail(found.error, "{}: {}", directory, found.why);
  UniqueFd fd = open_found(found.place, directory);
  const std::unique_ptr<DIR, CloseDirectory> entries(fd ? ::fdopendir(fd.get()) : nullptr);
  if (!entries) fail_errno("{}", directory);
  (void)fd.release();
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(entries.get()))
    if (entry->d_name[0] != '.' && may_be_context(directory + "/" + entry->d_name))
      names.emplace_back(entry->d_name);
  std::sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
    return ::strverscmp(a.c_str(), b.c_str()) < 0;
  });
  return names;
}

// A name of a file that a context needs.
struct Need {
  std::string name;
  std::string file;  // real path
};

struct Looked {
  ListedContext listed;
  std::string file;  // real path
  std::vector<Need> needs;
};

std::string real_path_of(const std::string& path) {
  std::error_code error;
  return std::filesystem::canonical(path, error).string();
}

void set_incomplete(ListedContext& listed, const std::string& name, std::string_view what) {
  listed.state = "incomplete";
  listed.problem = fmt::format("needs {}, which is {}", name, what);
}

// Those in the directory are looked at by themselves: as each is the one that it was, its own checksums tell.
void look_at_needs(Looked& looked, const Context& context, const std::string& path,
                   const std::string& directory, bool verify) {
  const AncestorPlace place{path, {}};
  for (std::uint32_t number = 1; number <= context.ancestors.size(); ++number) {
    const Ancestor& ancestor = context.ancestors[number - 1];
    const bool here = ancestor.name.find('/') == std::string::npos &&
                      std::filesystem::path(looked.file).parent_path() == directory;
    const Link link = link_of(context, number, place, verify && !here);
    if (link.state != "good" && looked.listed.problem.empty())
      set_incomplete(looked.listed, link.name, link.state);
    if (here) looked.needs.push_back({ancestor.name, real_path_of(ancestor_path(ancestor, place))});
  }
}

Looked look_at(const std::string& directory, const std::string& name, bool verify) {
  Looked looked{{name, 0, 0, {}, "good", {}}, {}, {}};
  ListedContext& listed = looked.listed;
  struct stat status {};
  const std::string path = directory + "/" + name;
  if (const FoundContext found = find_context(path); found.place && ::fstat(found.place.get(), &status) == 0)
    listed.bytes = static_cast<std::uint64_t>(status.st_size);
  try {
    const Source source = Source::open(path);
    const Context context = read_context(source, {.verify_pages = verify, .show_only = true});
    listed.made_ns = context.system.realtime_ns;
    for (const Process& process : context.processes) listed.pids.push_back(process.head.pid);
    looked.file = real_path_of(path);
    look_at_needs(looked, context, path, real_path_of(directory), verify);
    if (!context.obstacles.empty()) {
      listed.state = "newer";
      listed.problem = context.obstacles.front();
    }
  } catch (const Error& error) {
    listed.state = error.code() == EBADMSG ? "damaged" : error.code() == EOPNOTSUPP ? "newer" : "unreadable";
    listed.problem = error.what();
  }
  return looked;
}

std::string verdict(const ListedContext& listed) {
  if (listed.state == "good") return "can be restarted";
  return fmt::format("cannot be restarted: {}", listed.problem);
}

}  // namespace

std::vector<ListedContext> contexts_in(const std::string& directory, bool verify) {
  std::vector<Looked> looked;
  for (const std::string& name : names_in(directory)) looked.push_back(look_at(directory, name, verify));
  std::map<std::string, std::string> bad;  // state, by real path
  for (const Looked& one : looked)
    if (one.listed.state == "damaged" || one.listed.state == "unreadable")
      bad.emplace(real_path_of(directory + "/" + one.listed.name), one.listed.state);
  std::vector<ListedContext> all;
  for (Looked& one : looked) {
    for (const Need& need : one.needs)
      if (const auto found = bad.find(need.file); found != bad.end() && one.listed.problem.empty())
        set_incomplete(one.listed, need.name, found->second);
    all.push_back(std::move(one.listed));
  }
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
