// SPDX-License-Identifier: GPL-2.0-only
#include "base/memory_room.h"

#include <algorithm>
#include <fstream>

#include "base/parse.h"

namespace cryo {
namespace {

constexpr const char* kMount = "/sys/fs/cgroup";

// Nothing: the file is not there, or says "max".
std::optional<std::uint64_t> number_in_file(const std::string& path) {
  std::ifstream file(path);
  std::string word;
  if (!(file >> word)) return {};
  return parse_number<std::uint64_t>(word);
}

// Of what is in use, that which goes when it is needed: files that are not in memory alone.
std::uint64_t reclaimable(const std::string& directory) {
  std::ifstream file(directory + "/memory.stat");
  std::uint64_t sum = 0, value = 0;
  for (std::string name; file >> name >> value;)
    if (name == "inactive_file" || name == "active_file") sum += value;
  return sum;
}

// In one group; nothing: no limit there.
std::optional<std::uint64_t> room_in(const std::string& directory) {
  std::optional<std::uint64_t> limit = number_in_file(directory + "/memory.max");
  if (const auto high = number_in_file(directory + "/memory.high"))
    limit = std::min(limit.value_or(*high), *high);
  const auto current = number_in_file(directory + "/memory.current");
  if (!limit || !current) return {};
  const std::uint64_t used = *current - std::min(*current, reclaimable(directory));
  return *limit - std::min(*limit, used);
}

}  // namespace

std::optional<std::uint64_t> memory_room(const std::string& mount, const std::string& path) {
  std::optional<std::uint64_t> least;
  for (std::string group = path; !group.empty(); group.resize(group.rfind('/'))) {
    if (group.front() != '/') break;
    if (const auto room = room_in(mount + (group == "/" ? "" : group)))
      least = std::min(least.value_or(*room), *room);
  }
  return least;
}

std::optional<std::uint64_t> memory_room() {
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    if (!line.starts_with("0::")) continue;
    const std::string path = line.substr(3);
    const bool hybrid = !std::ifstream(std::string(kMount) + "/cgroup.controllers");
    return memory_room(hybrid ? std::string(kMount) + "/unified" : kMount, path);
  }
  return {};
}

void prefer_as_oom_victim() {
  // Making it easier to be chosen takes no right; where it cannot be done, all goes on as ever.
  std::ofstream("/proc/self/oom_score_adj") << 1000 << std::flush;
}

}  // namespace cryo
