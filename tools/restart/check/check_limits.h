// SPDX-License-Identifier: GPL-2.0-only
// Whether the machine, and its administrator, allow as many of everything as the job has.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "restart/check/check.h"

namespace cryo {

inline constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};

// How many there may be, and how many there are.
struct Amount {
  std::uint64_t most = kNoLimit, used = 0;

  [[nodiscard]] bool has_room_for(std::uint64_t wanted) const {
    return used <= most && wanted <= most - used;
  }
};

// Of a control group, and those above it.
struct CgroupRoom {
  Amount threads;
  std::uint64_t wanted = 0;   // by those of the job that are going to be in it
  std::uint64_t passing = 0;  // by those that may be until they go to their own
};

struct MachineLimits {
  std::uint64_t pid_max = kNoLimit;  // ids are below
  std::uint64_t map_count = kNoLimit;
  Amount threads;
  Amount own_threads;                         // of the user of cr_restart
  std::map<std::string, CgroupRoom> cgroups;  // by path
  Amount files;
  std::uint64_t inotify_instances = kNoLimit, inotify_watches = kNoLimit;  // of each user
  std::uint64_t queue_messages = kNoLimit, queue_message_size = kNoLimit;  // of POSIX message queues
  std::uint64_t epoll_watches = kNoLimit;                                  // of each user
  std::uint64_t fanotify_groups = kNoLimit, fanotify_marks = kNoLimit;     // of each user
  std::uint64_t queue_bytes = kNoLimit;  // of each user, in all POSIX message queues
  Amount queues;
  Amount terminals;                      // pseudo-terminals
  std::uint64_t reserved_terminals = 0;  // for the first mount namespace
  std::uint64_t shm_size = kNoLimit, sem_set_size = kNoLimit, msg_size = kNoLimit;  // of System V objects
  Amount shm_segments, shm_pages, sem_sets, semaphores, msg_queues;
  std::map<std::string, std::uint64_t> namespaces;  // by kind
};

// As they are now, for `context`.
[[nodiscard]] MachineLimits machine_limits(const Context& context, const RestartOptions& options,
                                           const Creds& own);

void check_limits(const Context& context, const RestartOptions& options, const Creds& own,
                  const MachineLimits& limits, Findings& findings);

// Of these, what is behind descriptors: epoll, fanotify, message queues, terminals.
void add_file_limits(const Context& context, MachineLimits& limits);
void check_file_limits(const Context& context, const Creds& own, const MachineLimits& limits,
                       Findings& findings);

}  // namespace cryo
