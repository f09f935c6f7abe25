// SPDX-License-Identifier: GPL-2.0-only
// POSIX message queues.
#pragma once

#include <map>

#include "restart/files/files.h"

namespace cryo {

class MessageQueues {
 public:
  explicit MessageQueues(FileRestoreInput& input) : input_(input) {}

  [[nodiscard]] UniqueFd open(const File& file, const FileUse& use);
  // Of an ipc namespace of the job, and open nowhere.
  void make_unused(const File& file);

 private:
  // errno on failure.
  [[nodiscard]] UniqueFd create(const Inode& inode, const std::string& name);
  [[nodiscard]] UniqueFd make(const Inode& inode, const std::string& name);
  [[nodiscard]] UniqueFd refill(const Inode& inode, const std::string& name);
  [[nodiscard]] UniqueFd make_anywhere(const Inode& inode, const std::string& name);

  FileRestoreInput& input_;
  std::map<std::uint32_t, UniqueFd> queues_;  // by inode, open until all files are
};

// Queues of ipc namespaces of the job that nobody has open.
void make_unused_queues(FileRestoreInput& input);

// Why the queue cannot be had, with an errno value; empty when it can.
[[nodiscard]] std::string queue_problem(const Inode& inode, const std::string& path, int& code);

// Whether it need not be made.
[[nodiscard]] bool is_queue_there(const Inode& inode, const std::string& path);

// By each process for itself: to be told when a message comes.  Any close of the queue ends that, so it comes
// after the last.
void plan_queue_notifications(const Context& context, const Process& process, CallList& calls,
                              StubArea& area);

}  // namespace cryo
