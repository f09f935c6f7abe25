// SPDX-License-Identifier: GPL-2.0-only
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "cr_info/report.h"
#include "cr_info/text.h"

namespace cryo {
namespace {

std::string perm_text(const cryo_ipc_perm& perm) {
  return fmt::format("{}{}, key {:#x}, user {}, group {}, mode {:04o}", perm.id,
                     perm.ns == 0 ? std::string() : fmt::format(" of ipc namespace {}", perm.ns),
                     static_cast<std::uint32_t>(perm.key), perm.uid, perm.gid, perm.mode);
}

std::uint64_t text_size(const MsgQueue& queue) {
  std::uint64_t bytes = 0;
  for (const Message& message : queue.messages) bytes += message.text.size();
  return bytes;
}

}  // namespace

void print_ipc(const Context& context) {
  for (const auto& [id, inode] : context.inodes)
    if (inode.shm)
      fmt::print("\nSystem V shared memory {}: {}{}\n", perm_text(inode.shm->perm),
                 bytes_text(inode.shm->size), (inode.shm->flags & CRYO_SHM_DESTROYED) ? ", destroyed" : "");
  for (const SemSet& set : context.sem_sets) {
    fmt::print("\nSystem V semaphores {}: values", perm_text(set.head.perm));
    for (const std::uint32_t value : set.values) fmt::print(" {}", value);
    fmt::print("\n");
  }
  for (const MsgQueue& queue : context.msg_queues)
    fmt::print("\nSystem V message queue {}: {} messages with {}\n", perm_text(queue.head.perm),
               queue.messages.size(), bytes_text(text_size(queue)));
}

nlohmann::ordered_json ipc_json(const Context& context) {
  using Json = nlohmann::ordered_json;
  Json json;
  for (const auto& [id, inode] : context.inodes)
    if (inode.shm)
      json["shared_memory"].push_back({{"id", inode.shm->perm.id},
                                       {"key", inode.shm->perm.key},
                                       {"ns", inode.shm->perm.ns},
                                       {"inode", id},
                                       {"size", inode.shm->size},
                                       {"flags", inode.shm->flags}});
  for (const SemSet& set : context.sem_sets)
    json["semaphores"].push_back({{"id", set.head.perm.id},
                                  {"ns", set.head.perm.ns},
                                  {"key", set.head.perm.key},
                                  {"values", set.values}});
  for (const MsgQueue& queue : context.msg_queues)
    json["message_queues"].push_back({{"id", queue.head.perm.id},
                                      {"ns", queue.head.perm.ns},
                                      {"key", queue.head.perm.key},
                                      {"messages", queue.messages.size()},
                                      {"bytes", text_size(queue)}});
  return json;
}

}  // namespace cryo
