// SPDX-License-Identifier: GPL-2.0-only
// Sections about terminals and System V and POSIX IPC.
#include "context/file_kinds.h"
#include "context/staging.h"

namespace cryo {
namespace {

constexpr std::uint32_t kPtyFlags = CRYO_PTY_LOCKED | CRYO_PTY_PACKET | CRYO_PTY_EXCLUSIVE |
                                    CRYO_PTY_EXCLUSIVE_MASTER | CRYO_PTY_STOPPED | CRYO_PTY_SUSPENDED |
                                    CRYO_PTY_SUSPENDED_MASTER | CRYO_PTY_SLAVE_CLOSED;
constexpr std::uint32_t kPtySlaveFlags = CRYO_PTY_HUNG_UP | CRYO_PTY_DEV_TTY;

constexpr std::uint32_t kMaxSemaphore = 32767;  // SEMVMX
constexpr std::int32_t kMaxAdjustment = 32767;  // SEMAEM
constexpr std::uint32_t kMaxPid = 0x7fffffff;
constexpr std::uint64_t kMaxQueue = 1U << 24;  // HARD_MSGSIZEMAX
constexpr std::uint32_t kMaxNotify = 1;        // SIGEV_NONE
constexpr std::int64_t kMaxPriority = 32768;   // MQ_PRIO_MAX

// The next `size` bytes of the tail.
Bytes take(const Payload& payload, std::span<const std::byte>& rest, std::uint32_t size) {
  if (rest.size() < size) payload.damaged("{} bytes are outside of it", size);
  Bytes bytes(rest.begin(), rest.begin() + size);
  rest = rest.subspan(size);
  return bytes;
}

std::vector<Message> take_messages(const Payload& payload, std::span<const std::byte> rest,
                                   std::uint32_t count) {
  std::vector<Message> messages;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (rest.size() < sizeof(cryo_message)) payload.damaged("message {} is outside of it", i);
    const auto head = grown<cryo_message>(rest.first(sizeof(cryo_message)));
    rest = rest.subspan(sizeof(cryo_message));
    messages.push_back({head.type, take(payload, rest, head.length)});
  }
  if (!rest.empty()) payload.damaged("{} bytes after the last message", rest.size());
  return messages;
}

// Ids are not negative, keys may be.
void check_perm(const Payload& payload, const cryo_ipc_perm& perm) {
  if (perm.id < 0) payload.damaged("{} cannot be an id", perm.id);
}

}  // namespace

void parse_pty(Staging& staging, const Payload& payload) {
  staging.once(payload);
  Pty pty;
  pty.head = payload.fixed<cryo_pty>();
  auto rest = payload.tail();
  pty.output = take(payload, rest, pty.head.output);
  pty.input = take(payload, rest, pty.head.input);
  pty.line_ends = take(payload, rest, pty.head.input);
  pty.pending = take(payload, rest, pty.head.pending);
  if (!rest.empty()) payload.damaged("{} bytes after the last", rest.size());
  if (pty.head.flags & ~kPtyFlags)
    staging.unknown(payload.section(), "file {}: unknown flags {:#x}", payload.object(),
                    pty.head.flags & ~kPtyFlags);
  if (pty.head.sid < 0 || pty.head.pgid < 0) payload.damaged("a negative session or group");
  file_of(staging, payload).pty = std::move(pty);
}

void parse_pty_slave(Staging& staging, const Payload& payload) {
  staging.once(payload);
  const auto slave = payload.fixed<cryo_pty_slave>();
  if (slave.flags & ~kPtySlaveFlags)
    staging.unknown(payload.section(), "file {}: unknown flags {:#x}", payload.object(),
                    slave.flags & ~kPtySlaveFlags);
  if ((slave.master == 0) != ((slave.flags & CRYO_PTY_HUNG_UP) != 0))
    payload.damaged("file {}: a terminal without a master", payload.object());
  file_of(staging, payload).pty_slave = slave;
}

void parse_terminal(Staging& staging, const Payload& payload) {
  staging.once(payload);
  const auto terminal = payload.fixed<cryo_terminal>();
  if (terminal.pgid < 0) payload.damaged("{} cannot be a process group", terminal.pgid);
  staging.processes.mention(pid_of(payload), payload.section()).terminal = terminal;
}

void parse_shm(Staging& staging, const Payload& payload) {
  staging.once(payload);
  if (payload.object() == 0) payload.damaged("0 cannot be an id");
  const auto shm = payload.fixed<cryo_shm>();
  check_perm(payload, shm.perm);
  if (shm.flags & ~(CRYO_SHM_DESTROYED | CRYO_SHM_MLOCKED))
    staging.unknown(payload.section(), "inode {}: unknown flags {:#x}", payload.object(), shm.flags);
  staging.inodes.mention(payload.object(), payload.section()).shm = shm;
}

void parse_sem(Staging& staging, const Payload& payload) {
  staging.once(payload);
  SemSet set{payload.fixed<cryo_sem_set>(), payload.words<std::uint32_t>()};
  check_perm(payload, set.head.perm);
  if (set.values.size() != set.head.count)
    payload.damaged("{} semaphores, values of {}", set.head.count, set.values.size());
  for (const std::uint32_t value : set.values)
    if (value > kMaxSemaphore) payload.damaged("a semaphore cannot be {}", value);
  staging.sem_sets.push_back(std::move(set));
}

void parse_sem_undo(Staging& staging, const Payload& payload) {
  staging.once(payload);
  auto undo = payload.array<cryo_sem_undo>();
  for (const cryo_sem_undo& one : undo)
    if (one.adjustment < -kMaxAdjustment || one.adjustment > kMaxAdjustment || one.number > kMaxSemaphore)
      payload.damaged("an adjustment of semaphore {} by {}", one.number, one.adjustment);
  if (payload.object() == 0 || payload.object() > kMaxPid)
    payload.damaged("{} cannot be a pid", static_cast<std::int32_t>(payload.object()));
  staging.processes.mention(static_cast<std::int32_t>(payload.object()), payload.section()).sem_undo =
      std::move(undo);
}

void parse_msg(Staging& staging, const Payload& payload) {
  staging.once(payload);
  MsgQueue queue{payload.fixed<cryo_msg_queue>(), {}};
  check_perm(payload, queue.head.perm);
  queue.messages = take_messages(payload, payload.tail(), queue.head.messages);
  for (const Message& message : queue.messages)
    if (message.type <= 0) payload.damaged("a message of type {}", message.type);
  staging.msg_queues.push_back(std::move(queue));
}

void parse_mqueue(Staging& staging, const Payload& payload) {
  staging.once(payload);
  if (payload.object() == 0) payload.damaged("0 cannot be an id");
  MqueueState queue{payload.fixed<cryo_mqueue>(), {}};
  const cryo_mqueue& head = queue.head;
  queue.messages = take_messages(payload, payload.tail(), head.messages);
  if (head.max_messages > kMaxQueue || head.message_size > kMaxQueue || head.messages > head.max_messages)
    payload.damaged("{} messages of {} bytes, {} of them there", head.max_messages, head.message_size,
                    head.messages);
  if (head.notify_pid < 0 || head.notify > kMaxNotify || head.notify_signal > kMaxSignal)
    payload.damaged("notification {} of process {} by signal {}", head.notify, head.notify_pid,
                    head.notify_signal);
  for (const Message& message : queue.messages)
    if (message.type < 0 || message.type >= kMaxPriority)
      payload.damaged("a message of priority {}", message.type);
  staging.inodes.mention(payload.object(), payload.section()).mqueue = std::move(queue);
}

namespace {

void check_pty_slave(const FileInContext& in) {
  in.require(in.file.pty_slave.has_value(), "PTY_SLAVE");
  const std::uint32_t id = in.file.pty_slave->master;
  if (id == 0) return;
  const auto master = in.context.files.find(id);
  if (master == in.context.files.end() || master->second.head.kind != CRYO_FILE_PTY_MASTER)
    inconsistent(in.staging, "file {}: its master {} is no pseudo-terminal", in.file.id, id);
}

}  // namespace

const FileKindModel kPtyMasterModel = {
    .kind = CRYO_FILE_PTY_MASTER, .name = "pty-master", .check = [](const FileInContext& in) {
      in.require(in.file.pty.has_value(), "PTY");
    }};
const FileKindModel kPtySlaveModel = {
    .kind = CRYO_FILE_PTY_SLAVE, .name = "pty-slave", .check = check_pty_slave};
const FileKindModel kSysvModel = {
    .kind = CRYO_FILE_SYSV, .name = "system-v", .check = [](const FileInContext& in) {
      in.require(in.inode && in.inode->shm, "SHM");
    }};
const FileKindModel kMqueueModel = {
    .kind = CRYO_FILE_MQUEUE, .name = "message-queue", .check = [](const FileInContext& in) {
      in.require(in.inode && in.inode->mqueue, "MQUEUE");
    }};
const FileKindModel kPosixShmModel = {
    .kind = CRYO_FILE_POSIX_SHM, .name = "posix-shared-memory", .check = require_contents};

}  // namespace cryo
