// SPDX-License-Identifier: GPL-2.0-only
// Files of /proc about threads other than the first of a process, of which there is none while files are
// opened.
//
// A directory that is there already holds their numbers; the stub opens them below that when all processes
// have their threads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "context/model.h"
#include "restart/common/options.h"
#include "restart/rights/credentials.h"
#include "restart/rights/rights.h"
#include "restart/stub/calls.h"
#include "restart/stub/stub_area.h"

namespace cryo {

struct ProcPlace {
  std::string directory;  // "/proc/PID/task", or where the number of a thread is one of a process: "/proc"
  std::string name;       // below it, beginning with that of the thread
  std::int32_t id = 0;    // of the thread, as the context has it
};
// Where `file` lies, which has the name `path` now; nothing: not in the directory of such a thread.
[[nodiscard]] std::optional<ProcPlace> thread_place(const Context& context, const File& file,
                                                    const std::string& path);

struct ThreadFile {
  std::uint32_t file = 0;
  UniqueFd directory;  // parked, up to plan_thread_files()
  ProcPlace place;
  int flags = 0;                 // O_*
  std::optional<Rights> rights;  // with which it is opened; nothing: those that there are
  std::vector<cryo_fd> fds;
};

struct ThreadFilePlan {
  const Context& context;  // by whose numbers files have their names
  std::size_t process = 0;
  bool restore_ids = true;
  Creds own;
};
// Some are of threads of other processes?
[[nodiscard]] bool waits_for_others(const ThreadFilePlan& input, const std::vector<ThreadFile>& files);
// For `parameters`, whose threads are known.
void plan_thread_files(const ThreadFilePlan& input, const std::vector<ThreadFile>& files, StubArea& area,
                       stub::Parameters& parameters);
[[nodiscard]] std::size_t thread_files_size(const ThreadFilePlan& input,
                                            const std::vector<ThreadFile>& files);

}  // namespace cryo
