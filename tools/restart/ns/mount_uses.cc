// SPDX-License-Identifier: GPL-2.0-only
// What of a job needs a place in one of its mount namespaces: what is mounted there and cannot be taken away
// hides it.
#include <algorithm>

#include "context/mountinfo.h"
#include "restart/ns/mounts.h"

namespace cryo {
namespace {

class Uses {
 public:
  Uses(const Context& context, std::uint32_t ns, const std::string& place)
      : context_(context), ns_(ns), place_(place) {}

  [[nodiscard]] bool any() const;

 private:
  [[nodiscard]] bool is_below(const std::string& path) const { return lies_below(path, place_); }
  [[nodiscard]] bool of_mounts() const;
  [[nodiscard]] bool of_file(const File& file) const;
  [[nodiscard]] bool of_process(const Process& process) const;

  const Context& context_;
  std::uint32_t ns_;
  const std::string& place_;
};

bool Uses::of_mounts() const {
  const MountTree& tree = *context_.namespaces.at(ns_).mnt;
  return std::any_of(tree.mounts.begin(), tree.mounts.end(),
                     [this](const Mount& mount) { return is_below(mount.point); });
}

// A socket's name, and what is watched, are looked for from wherever the process is.
bool Uses::of_file(const File& file) const {
  if (file.head.mnt == ns_ && is_below(file.path)) return true;
  if ((file.socket && is_below(file.socket->path)) || (file.connection && is_below(file.connection->path)))
    return true;
  const auto covers = [this](const auto& watched) { return is_below(watched.path); };
  if (file.inotify && std::any_of(file.inotify->watches.begin(), file.inotify->watches.end(), covers))
    return true;
  return file.fanotify && std::any_of(file.fanotify->marks.begin(), file.fanotify->marks.end(), covers);
}

bool Uses::of_process(const Process& process) const {
  if (process.namespaces.mnt != ns_) return false;
  if (process.cwd && is_below(process.cwd->path)) return true;
  return std::any_of(process.threads.begin(), process.threads.end(), [this](const Thread& thread) {
    return (thread.fs && is_below(thread.fs->path)) || (thread.root && is_below(thread.root->path));
  });
}

bool Uses::any() const {
  return of_mounts() ||
         std::any_of(context_.files.begin(), context_.files.end(),
                     [this](const auto& entry) { return of_file(entry.second); }) ||
         std::any_of(context_.processes.begin(), context_.processes.end(),
                     [this](const Process& one) { return of_process(one); });
}

// What would be bound from below it is not there.
bool hides_source(const MountTree& tree, const std::vector<Mount>& sources, const std::string& point) {
  for (std::size_t i = 0; i < tree.mounts.size(); ++i) {
    if (tree.kinds[i].kind != CRYO_MOUNT_BIND) continue;
    const auto source = source_path(sources, tree.mounts[i]);
    if (source && lies_below(*source, point)) return true;
  }
  return false;
}

}  // namespace

bool uses_place(const Context& context, std::uint32_t ns, const std::string& place) {
  return Uses(context, ns, place).any();
}

std::vector<std::string> places_in(const MountsToBuild& wanted, const std::vector<Mount>& sources,
                                   const std::string& point) {
  const MountTree& tree = wanted.tree;
  std::vector<std::string> places;
  if (!wanted.changes_root) places.push_back(point);
  for (std::size_t i = 0; i < tree.mounts.size(); ++i) {
    if (tree.kinds[i].kind != CRYO_MOUNT_BIND) continue;
    const auto source = source_path(sources, tree.mounts[i]);
    if (!source || *source == point || !lies_below(point, *source)) continue;
    const std::string& top = tree.mounts[i].point;
    places.push_back((top == "/" ? "" : top) + (*source == "/" ? point : point.substr(source->size())));
  }
  return places;
}

bool may_stay(const Context& context, std::uint32_t ns, const std::string& point) {
  const MountTree& tree = *context.namespaces.at(ns).mnt;
  const std::uint32_t base = copied_from(context, ns);
  const std::vector<Mount>& sources = base == 0 ? tree.outer : context.namespaces.at(base).mnt->mounts;
  if (hides_source(tree, sources, point)) return false;
  const std::vector<std::string> places = places_in(mounts_to_build(context, ns), sources, point);
  return std::none_of(places.begin(), places.end(),
                      [&](const std::string& place) { return uses_place(context, ns, place); });
}

}  // namespace cryo
