// SPDX-License-Identifier: GPL-2.0-only
// Whose contexts the generations in a directory are.  Their names have an id, which others get, too: after a
// reboot, on another node, in each container.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "context/model.h"
#include "context/source.h"

namespace cryo {

// The kernel gives each program that is run sixteen random bytes (AT_RANDOM of getauxval(3)), which stay in
// its memory for as long as it lives: they are in each of its contexts, and in what is restarted from these.
using Mark = std::array<std::byte, 16>;

// The job that an id stands for, by the marks of the process that has the id; or, where there is none (a
// group whose leader has ended), of all of them.
struct Line {
  std::set<Mark> marks;  // none: it cannot be told

  [[nodiscard]] bool meets(const Line& other) const;
};

class LineReader {
 public:
  explicit LineReader(pid_t id) : id_(id) {}

  // Of a context at `path`.  It cannot be told when an ancestor has the bytes and is not there.
  [[nodiscard]] Line line_of(const Context& context, const Source& source, const std::string& path);

 private:
  [[nodiscard]] std::optional<Mark> mark_of(const Context& context, const Source& source,
                                            const std::string& path, const Process& process);
  [[nodiscard]] std::optional<Mark> mark_at(const Context& context, const Source& source,
                                            const std::string& path, std::uint32_t mm, std::uint64_t address);
  [[nodiscard]] const Bytes& of_ancestor(const Ancestor& ancestor, std::uint64_t offset, std::size_t size,
                                         const std::string& path);

  pid_t id_;
  std::map<std::pair<Hash, std::uint64_t>, Bytes> of_ancestors_;  // a compressed one is unpacked once
};

// A job that runs.
struct LiveJob {
  Line line;  // what may be read of it
  std::vector<std::uint64_t>
      auxv;  // where `line` cannot be told: the vector tells where programs are in memory, at random as well
  std::uint64_t started_ns = 0;  // CLOCK_REALTIME; 0: not known
  std::string node;              // as of cryo_system
};

[[nodiscard]] LiveJob live_job(pid_t id);

// Was the context made while the job was running, but on another node?  Then it is of another process that
// has been restarted from the same context.
[[nodiscard]] bool is_of_a_copy(const LiveJob& job, const Context& context);

// Can the context be an earlier state of the job?
[[nodiscard]] bool is_of(const LiveJob& job, const Line& line, const Context& context, pid_t id);

}  // namespace cryo
