// SPDX-License-Identifier: GPL-2.0-only
// Sections about timers and about what descriptors of events hold.
#include <signal.h>
#include <sys/inotify.h>
#include <sys/timerfd.h>

#include <algorithm>
#include <bit>
#include <set>

#include "context/file_kinds.h"
#include "context/staging.h"

namespace cryo {
namespace {

constexpr std::uint32_t kSettimeFlags = TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET;

File& only_file_of(Staging& staging, const Payload& payload) {
  staging.once(payload);
  return file_of(staging, payload);
}

// Such that what a restart makes of them cannot overflow.
bool is_remaining(std::int64_t ns) {
  return ns <= CRYO_MAX_REMAINING_NS && ns >= -CRYO_MAX_REMAINING_NS;
}

bool is_interval(std::uint64_t ns) {
  return ns <= ~0ULL >> 1;
}

constexpr std::uint32_t kTimerFlags = CRYO_TIMER_ARMED | CRYO_TIMER_ABSOLUTE | CRYO_TIMER_PENDING;
constexpr std::uint32_t kMarkFlags = 0x640;  // FAN_MARK_IGNORED_SURV_MODIFY, EVICTABLE, IGNORE
constexpr std::uint32_t kMaxWatch = ~0U >> 1;
constexpr std::uint32_t kNotifications[] = {SIGEV_SIGNAL, SIGEV_NONE, SIGEV_THREAD, SIGEV_THREAD_ID};

void check_timer(const Payload& payload, const cryo_posix_timer& timer) {
  if (timer.id < 0) payload.damaged("{} cannot be the id of a timer", timer.id);
  if (!is_remaining(timer.remaining_ns) || !is_interval(timer.interval_ns))
    payload.damaged("timer {}: its time left ({}) or interval ({}) is impossible", timer.id,
                    timer.remaining_ns, timer.interval_ns);
  if (timer.notify != SIGEV_NONE && (timer.signal < 1 || timer.signal > kMaxSignal))
    payload.damaged("timer {}: {} is not a signal", timer.id, timer.signal);
  if (timer.overrun < -1 || timer.overrun_last < -1)
    payload.damaged("timer {}: it has expired {} or {} times", timer.id, timer.overrun, timer.overrun_last);
}

}  // namespace

void parse_posix_timers(Staging& staging, const Payload& payload) {
  staging.once(payload);
  const auto pid = static_cast<std::int32_t>(payload.object());
  if (pid <= 0) payload.damaged("{} cannot be a pid", pid);
  const auto head = payload.fixed<cryo_posix_timers>();
  if (head.next_id > ~0U >> 1) payload.damaged("{} cannot be the id of a timer", head.next_id);
  PosixTimers timers{head.next_id, payload.records<cryo_posix_timer>(head.count, head.record_size)};
  std::set<std::int32_t> ids;
  for (const cryo_posix_timer& timer : timers.timers) {
    check_timer(payload, timer);
    if (!ids.insert(timer.id).second) payload.damaged("timer {} appears twice", timer.id);
    if (timer.flags & ~kTimerFlags)
      staging.unknown(payload.section(), "timer {}: unknown flags {:#x}", timer.id,
                      timer.flags & ~kTimerFlags);
    if (std::find(std::begin(kNotifications), std::end(kNotifications), timer.notify) ==
        std::end(kNotifications))
      staging.unknown(payload.section(), "timer {}: unknown notification {}", timer.id, timer.notify);
  }
  staging.processes.mention(pid, payload.section()).posix_timers = std::move(timers);
}

void parse_timerfd(Staging& staging, const Payload& payload) {
  File& file = only_file_of(staging, payload);
  const auto timer = payload.fixed<cryo_timerfd>();
  if (!is_remaining(timer.remaining_ns) || !is_interval(timer.interval_ns))
    payload.damaged("file {}: its time left ({}) or interval ({}) is impossible", payload.object(),
                    timer.remaining_ns, timer.interval_ns);
  if ((timer.settime_flags & ~kSettimeFlags) || (timer.flags & ~CRYO_TIMERFD_ARMED))
    staging.unknown(payload.section(), "file {}: unknown flags {:#x}, {:#x}", payload.object(),
                    timer.settime_flags, timer.flags);
  file.timerfd = timer;
}

void parse_signalfd(Staging& staging, const Payload& payload) {
  only_file_of(staging, payload).signalfd = payload.fixed<cryo_signalfd>();
}

void parse_pidfd(Staging& staging, const Payload& payload) {
  File& file = only_file_of(staging, payload);
  const auto pidfd = payload.fixed<cryo_pidfd>();
  if (pidfd.pid < 0) payload.damaged("{} cannot be a pid", pidfd.pid);
  if (pidfd.flags & ~CRYO_PIDFD_THREAD)
    staging.unknown(payload.section(), "pidfd {}: unknown flags {:#x}", file.id, pidfd.flags);
  file.pidfd = pidfd;
}

void parse_inotify(Staging& staging, const Payload& payload) {
  File& file = only_file_of(staging, payload);
  Inotify inotify{payload.fixed<cryo_inotify>(), {}, {}};
  std::set<std::uint32_t> numbers;
  auto rest = payload.tail();
  for (std::uint32_t i = 0; i < inotify.head.watches; ++i) {
    if (rest.size() < sizeof(cryo_watch)) payload.damaged("watch {} is outside of it", i);
    const auto head = grown<cryo_watch>(rest);
    rest = rest.subspan(sizeof(head));
    if (rest.size() < head.path_len) payload.damaged("the path of watch {} is outside of it", head.wd);
    const auto* text = reinterpret_cast<const char*>(rest.data());
    Watch watch{head, std::string(text, head.path_len)};
    rest = rest.subspan(head.path_len);
    if (head.wd == 0 || head.wd > kMaxWatch || !numbers.insert(head.wd).second)
      payload.damaged("a watch cannot have the number {}", head.wd);
    if (!watch.path.starts_with('/') || watch.path.find('\0') != std::string::npos)
      payload.damaged("the path of watch {} is not absolute", head.wd);
    inotify.watches.push_back(std::move(watch));
  }
  if (!rest.empty()) payload.damaged("{} bytes after the last watch", rest.size());
  if (inotify.head.next_wd > kMaxWatch) payload.damaged("watch {} cannot be the next", inotify.head.next_wd);
  file.inotify = std::move(inotify);
}

void parse_inotify_events(Staging& staging, const Payload& payload) {
  File& file = only_file_of(staging, payload);
  if (!file.inotify) payload.damaged("file {} is no inotify instance", payload.object());
  const auto array = payload.fixed<cryo_array>();
  if (array.record_size < sizeof(cryo_inotify_event))
    payload.damaged("events of {} bytes are too short", array.record_size);
  auto rest = payload.tail();
  for (std::uint32_t i = 0; i < array.count; ++i) {
    if (rest.size() < array.record_size) payload.damaged("event {} is outside of it", i);
    const auto head = grown<cryo_inotify_event>(rest.first(array.record_size));
    rest = rest.subspan(array.record_size);
    if (rest.size() < head.name_len || head.name_len > CRYO_MAX_EVENT_NAME)
      payload.damaged("the name of event {} is outside of it", i);
    InotifyEvent event{head, std::string(reinterpret_cast<const char*>(rest.data()), head.name_len)};
    rest = rest.subspan(head.name_len);
    if (event.name.find('\0') != std::string::npos || event.name.find('/') != std::string::npos)
      payload.damaged("event {} has an impossible name", i);
    const bool lost = (head.mask & IN_Q_OVERFLOW) != 0;
    if (head.mask == 0 || (lost ? head.wd != -1 || head.name_len != 0 : head.wd <= 0))
      payload.damaged("event {}: {:#x} of watch {} is impossible", i, head.mask, head.wd);
    if (head.mask & ~CRYO_INOTIFY_EVENTS)
      staging.unknown(payload.section(), "event {}: unknown bits {:#x}", i, head.mask & ~CRYO_INOTIFY_EVENTS);
    file.inotify->events.push_back(std::move(event));
  }
  if (!rest.empty()) payload.damaged("{} bytes after the last event", rest.size());
}

void parse_fanotify(Staging& staging, const Payload& payload) {
  File& file = only_file_of(staging, payload);
  Fanotify group{payload.fixed<cryo_fanotify>(), {}};
  auto rest = payload.tail();
  for (std::uint32_t i = 0; i < group.head.marks; ++i) {
    if (rest.size() < sizeof(cryo_mark)) payload.damaged("mark {} is outside of it", i);
    const auto head = grown<cryo_mark>(rest);
    rest = rest.subspan(sizeof(head));
    if (rest.size() < head.path_len) payload.damaged("the path of mark {} is outside of it", i);
    FanotifyMark mark{head, std::string(reinterpret_cast<const char*>(rest.data()), head.path_len)};
    rest = rest.subspan(head.path_len);
    if (!mark.path.starts_with('/') || mark.path.find('\0') != std::string::npos)
      payload.damaged("the path of mark {} is not absolute", i);
    if (head.kind < CRYO_MARK_INODE || head.kind > CRYO_MARK_FILESYSTEM)
      staging.unknown(payload.section(), "mark {}: unknown kind {}", i, head.kind);
    if (head.flags & ~kMarkFlags)
      staging.unknown(payload.section(), "mark {}: unknown flags {:#x}", i, head.flags & ~kMarkFlags);
    group.marks.push_back(std::move(mark));
  }
  if (!rest.empty()) payload.damaged("{} bytes after the last mark", rest.size());
  if (group.head.flags & ~CRYO_FANOTIFY_UNPRIVILEGED)
    staging.unknown(payload.section(), "file {}: unknown flags {:#x}", payload.object(), group.head.flags);
  file.fanotify = std::move(group);
}

void parse_uring(Staging& staging, const Payload& payload) {
  File& file = only_file_of(staging, payload);
  Uring ring{payload.fixed<cryo_uring>(), {}, {}, {}};
  const cryo_uring& head = ring.head;
  if (head.flags & ~CRYO_URING_FLAGS)
    staging.unknown(payload.section(), "ring {}: unknown flags {:#x}", payload.object(),
                    head.flags & ~CRYO_URING_FLAGS);
  if (!std::has_single_bit(head.sq_entries) || head.sq_entries > CRYO_URING_MAX_SQ ||
      !std::has_single_bit(head.cq_entries) || head.cq_entries > CRYO_URING_MAX_CQ ||
      head.cq_entries < head.sq_entries || head.eventfd_async > 1 || head.issuer < 0)
    payload.damaged("ring {}: {} submissions and {} completions are impossible", payload.object(),
                    head.sq_entries, head.cq_entries);
  const std::size_t completions = head.cq_entries * ((head.flags & CRYO_URING_CQE32) ? 32UL : 16UL);
  const std::size_t array = (head.flags & CRYO_URING_NO_SQARRAY) ? 0 : head.sq_entries;
  const std::size_t submissions = head.sq_entries * ((head.flags & CRYO_URING_SQE128) ? 128UL : 64UL);
  const auto tail = payload.tail();
  if (tail.size() != completions + array * sizeof(std::uint32_t) + submissions)
    payload.damaged("ring {}: {} bytes are not what is in it", payload.object(), tail.size());
  const auto numbers = tail.subspan(completions, array * sizeof(std::uint32_t));
  const auto rest = tail.last(submissions);
  ring.completions.assign(tail.begin(), tail.begin() + static_cast<std::ptrdiff_t>(completions));
  ring.array.resize(array);
  if (array != 0) std::memcpy(ring.array.data(), numbers.data(), numbers.size());
  ring.submissions.assign(rest.begin(), rest.end());
  file.uring = std::move(ring);
}

namespace {

void check_pidfd(const FileInContext& in) {
  in.require(in.file.pidfd.has_value(), "PIDFD");
  const std::int32_t pid = in.file.pidfd->pid;
  const auto& all = in.context.processes;
  const bool there =
      std::any_of(all.begin(), all.end(), [pid](const Process& process) { return process.head.pid == pid; });
  if (pid != 0 && !there)
    inconsistent(in.staging, "file {}: it is of pid {}, which is not there", in.file.id, pid);
}

void check_uring(const FileInContext& in) {
  in.require(in.file.uring.has_value(), "URING");
  const std::int32_t issuer = in.file.uring->head.issuer;
  const auto is_issuer = [issuer](const Thread& thread) { return thread.head.tid == issuer; };
  const auto& all = in.context.processes;
  const bool there = std::any_of(all.begin(), all.end(), [&](const Process& process) {
    return std::any_of(process.threads.begin(), process.threads.end(), is_issuer);
  });
  if (issuer != 0 && !there)
    inconsistent(in.staging, "file {}: thread {} submits to it, which is not there", in.file.id, issuer);
  const std::uint32_t id = in.file.uring->head.eventfd;
  if (id == 0) return;
  const auto eventfd = in.context.files.find(id);
  if (eventfd == in.context.files.end() || eventfd->second.head.kind != CRYO_FILE_EVENTFD)
    inconsistent(in.staging, "file {}: it notifies file {}, which is not an eventfd", in.file.id, id);
}

}  // namespace

const FileKindModel kTimerfdModel = {
    .kind = CRYO_FILE_TIMERFD, .name = "timerfd", .check = [](const FileInContext& in) {
      in.require(in.file.timerfd.has_value(), "TIMERFD");
    }};
const FileKindModel kSignalfdModel = {
    .kind = CRYO_FILE_SIGNALFD, .name = "signalfd", .check = [](const FileInContext& in) {
      in.require(in.file.signalfd.has_value(), "SIGNALFD");
    }};
const FileKindModel kInotifyModel = {
    .kind = CRYO_FILE_INOTIFY, .name = "inotify", .check = [](const FileInContext& in) {
      in.require(in.file.inotify.has_value(), "INOTIFY");
    }};
const FileKindModel kFanotifyModel = {
    .kind = CRYO_FILE_FANOTIFY, .name = "fanotify", .check = [](const FileInContext& in) {
      in.require(in.file.fanotify.has_value(), "FANOTIFY");
    }};
const FileKindModel kPidfdModel = {.kind = CRYO_FILE_PIDFD, .name = "pidfd", .check = check_pidfd};
const FileKindModel kUringModel = {.kind = CRYO_FILE_URING, .name = "io_uring", .check = check_uring};

}  // namespace cryo
