// SPDX-License-Identifier: GPL-2.0-only
// The areas that processes of the job inherit, on their way there: where they are in this process and those
// that it is going to fork, and what is read into them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "context/model.h"
#include "restart/memory/inherited_pages.h"
#include "restart/stub/address_space.h"

namespace cryo {

// Of this process.  A fork gives the child its own.
class InheritedMemory {
 public:
  // `fds`: of files that are mapped, by id.
  InheritedMemory(const Context& context, const InheritedPages& pages, const std::vector<int>& context_fds,
                  std::map<std::uint32_t, int> fds);
  InheritedMemory(const InheritedMemory&) = delete;
  InheritedMemory& operator=(const InheritedMemory&) = delete;

  // What is due before `node`, which is this process, forks in that step.  An area for which there is no room
  // is left out: those that would have inherited it read all of it.  Throws Error.
  void read(std::size_t node, std::size_t step);

  // What has come to this process of what it was to inherit.
  [[nodiscard]] InheritedVmas vmas_of(const Mm& mm) const;
  // Of their areas.
  [[nodiscard]] std::vector<AddressRange> places_of(const InheritedVmas& vmas) const;

 private:
  struct Area {
    bool tried = false;
    AddressRange place{};  // empty: it is not there
  };

  void make_areas(const std::vector<std::size_t>& runs);
  [[nodiscard]] AddressRange make(const InheritedArea& area, AddressSpace& space) const;
  void read_run(const InheritedRun& run) const;

  const Context& context_;
  const InheritedPages& pages_;
  const std::vector<int>& context_fds_;
  std::map<std::uint32_t, int> fds_;
  std::optional<std::size_t>
      payer_;  // process in whose control group this is charged; none: that of cr_restart
  std::vector<Area> areas_;
};

}  // namespace cryo
