// SPDX-License-Identifier: GPL-2.0-only
// Pseudo-terminals whose masters are in the context.
#pragma once

#include <map>

#include "restart/files/files.h"
#include "restart/process/fork.h"

namespace cryo {

// All pairs are made when the first file of one is opened, so that each can get its old number.
class Terminals {
 public:
  explicit Terminals(FileRestoreInput& input) : input_(input) {}

  [[nodiscard]] UniqueFd open_master(const File& file);
  [[nodiscard]] UniqueFd open_slave(const File& file, const FileUse& use);
  // When all files are open: what would have been in the way.
  void finish(FileStore& store);

 private:
  struct Pair {
    UniqueFd master;
    UniqueFd slave;  // none when nobody has ever opened it
  };

  void make_all();
  [[nodiscard]] Pair make(const File& file);
  [[nodiscard]] UniqueFd open_numbered(const File& file);

  FileRestoreInput& input_;
  std::map<std::uint32_t, Pair> pairs_;  // by file id of the master
  bool made_ = false;
};

// Why one cannot be as it was; empty when it can.
[[nodiscard]] std::string pty_problem(const Pty& pty);

// What a session leader does for the terminals that its session had, before it forks: children have it from
// their parents.
void take_terminals(const Context& context, const Process& process,
                    const std::vector<RestoredTerminal>& terminals);
// When all process groups exist: the one in the foreground; and who had no terminal gives up what it has from
// its parent.
void settle_terminals(const Context& context, const Process& process,
                      const std::vector<RestoredTerminal>& terminals, const ForkRequest& fork);

}  // namespace cryo
