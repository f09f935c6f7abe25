// SPDX-License-Identifier: GPL-2.0-only
// A ring is made anew and gets what was in the memory of the old one; the module lets it go on counting
// there.
#include "restart/files/io_uring.h"

#include <cryo/ioctl.h>
#include <linux/capability.h>
#include <linux/io_uring.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "restart/common/helper_process.h"
#include "restart/files/file_kinds.h"
#include "restart/files/files.h"
#include "restart/stub/step_kind.h"

namespace cryo {
namespace {

const StepKind kRingStep("enable an io_uring", [](const FailedCall& call) {
  return fmt::format("cannot enable the io_uring at descriptor {}", call.index);
});

// A part of a ring's memory, for as long as it is filled.
class RingMemory {
 public:
  RingMemory(int fd, std::uint64_t what, std::size_t size)
      : memory_(::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, static_cast<off_t>(what))),
        size_(size) {
    if (memory_ == MAP_FAILED) fail_errno("cannot map an io_uring");
  }
  RingMemory(const RingMemory&) = delete;
  RingMemory& operator=(const RingMemory&) = delete;
  ~RingMemory() { ::munmap(memory_, size_); }

  void put(std::size_t offset, const void* data, std::size_t size) const {
    if (offset > size_ || size > size_ - offset) fail(EINVAL, "an io_uring is too small");
    if (size != 0) std::memcpy(static_cast<std::byte*>(memory_) + offset, data, size);
  }
  void put(std::size_t offset, std::uint32_t word) const { put(offset, &word, sizeof(word)); }

 private:
  void* memory_;
  std::size_t size_;
};

// What looks whether there are such rings is not to be charged: limits are the process's only when it is
// made.
constexpr std::uint64_t kUncharged = std::uint64_t{1} << CAP_IPC_LOCK;

UniqueFd set_up(const cryo_uring& saved, std::uint32_t flags, io_uring_params& params,
                std::uint64_t also = 0) {
  params = {};
  params.flags = saved.flags | flags | IORING_SETUP_CQSIZE;
  params.cq_entries = saved.cq_entries;
  if (saved.flags & CRYO_URING_SQPOLL) params.sq_thread_idle = saved.sq_idle_ms;
  if (saved.flags & CRYO_URING_SQ_AFF) params.sq_thread_cpu = saved.sq_cpu;
  return UniqueFd(static_cast<int>(
      as_maker([&] { return ::syscall(SYS_io_uring_setup, saved.sq_entries, &params); }, also)));
}

bool has_file(const Process& process, std::uint32_t id) {
  return std::any_of(process.fds.begin(), process.fds.end(),
                     [id](const cryo_fd& fd) { return fd.file == id; });
}

// Of those that live.
const Thread* first_thread(const Process& process) {
  const auto first = std::find_if_not(process.threads.begin(), process.threads.end(), has_exited);
  return first == process.threads.end() ? nullptr : &*first;
}

// The program has asked once where things are, and goes by that.
bool same_layout(const cryo_uring& saved, const io_uring_params& params) {
  const io_sqring_offsets& sq = params.sq_off;
  const io_cqring_offsets& cq = params.cq_off;
  const std::uint32_t sq_now[] = {sq.head,  sq.tail,    sq.ring_mask, sq.ring_entries,
                                  sq.flags, sq.dropped, sq.array};
  const std::uint32_t cq_now[] = {cq.head,     cq.tail, cq.ring_mask, cq.ring_entries,
                                  cq.overflow, cq.cqes, cq.flags};
  return params.sq_entries == saved.sq_entries && params.cq_entries == saved.cq_entries &&
         std::equal(std::begin(sq_now), std::end(sq_now), saved.sq_offsets) &&
         std::equal(std::begin(cq_now), std::end(cq_now), saved.cq_offsets);
}

// Offsets are those of the kernel here: see same_layout().
void fill_queues(const Uring& ring, int fd) {
  const cryo_uring& saved = ring.head;
  io_sqring_offsets sq{};
  io_cqring_offsets cq{};
  std::memcpy(&sq, saved.sq_offsets, sizeof(saved.sq_offsets));
  std::memcpy(&cq, saved.cq_offsets, sizeof(saved.cq_offsets));
  const std::size_t array = ring.array.size() * sizeof(std::uint32_t);
  const std::size_t size = std::max(sq.array + array, cq.cqes + ring.completions.size());
  const RingMemory memory(fd, IORING_OFF_SQ_RING, size);
  memory.put(sq.head, saved.sq_head);
  memory.put(sq.tail, saved.sq_tail);
  memory.put(sq.dropped, saved.sq_dropped);
  memory.put(cq.head, saved.cq_head);
  memory.put(cq.tail, saved.cq_tail);
  memory.put(cq.overflow, saved.cq_overflow);
  memory.put(cq.flags, saved.cq_flags);
  memory.put(cq.cqes, ring.completions.data(), ring.completions.size());
  memory.put(sq.array, ring.array.data(), array);
}

}  // namespace

namespace {

std::string ring_problem(const cryo_uring& saved) {
  io_uring_params params;
  const UniqueFd ring = set_up(saved, 0, params, kUncharged);
  if (!ring && errno == EPERM) return "io_uring is switched off here (sysctl kernel.io_uring_disabled)";
  if (!ring && errno == EINVAL && (saved.flags & CRYO_URING_SQ_AFF))
    return fmt::format("this kernel has no io_uring with the flags {:#x}, or no CPU {} for it", saved.flags,
                       saved.sq_cpu);
  if (!ring && errno == EINVAL)
    return fmt::format("this kernel has no io_uring with the flags {:#x}", saved.flags);
  if (!ring) return fmt::format("cannot create an io_uring: {}", errno_text(errno));
  if (!same_layout(saved, params))
    return "this kernel arranges the memory of an io_uring in another way than the one of the checkpoint";
  return {};
}

}  // namespace

// Whose user this process is for a moment may stop it.
std::string uring_problem(const cryo_uring& saved) {
  return text_from_helper([&] { return ring_problem(saved); });
}

std::int32_t enabler_of(const Context& context, const File& file) {
  const cryo_uring& saved = file.uring->head;
  if (saved.flags & CRYO_URING_R_DISABLED) return 0;
  for (const Process& process : context.processes) {
    if (!has_file(process, file.id)) continue;
    for (const Thread& thread : process.threads)
      if (saved.issuer != 0 && thread.head.tid == saved.issuer) return saved.issuer;
    const Thread* any = first_thread(process);
    if ((saved.flags & CRYO_URING_SQPOLL) && any != nullptr) return any->head.tid;
  }
  return 0;
}

UniqueFd set_up_uring(const Context& context, const File& file) {
  io_uring_params params;
  const bool later = enabler_of(context, file) != 0;
  UniqueFd fd = set_up(file.uring->head, later ? IORING_SETUP_R_DISABLED : 0, params);
  if (!fd) fail_errno("cannot create an io_uring");
  if (!same_layout(file.uring->head, params)) fail(EINVAL, "an io_uring has another layout here");
  return fd;
}

void fill_uring(const File& file, int fd, int handle_fd) {
  const Uring& ring = *file.uring;
  fill_queues(ring, fd);
  RingMemory(fd, IORING_OFF_SQES, ring.submissions.size())
      .put(0, ring.submissions.data(), ring.submissions.size());
  cryo_uring_counters counters{sizeof(counters), fd, ring.head.sq_head, ring.head.cq_tail};
  if (::ioctl(handle_fd, CRYO_RST_URING, &counters) != 0)
    fail_errno("cannot set the counters of an io_uring");
}

bool is_polled_ring(const File& file) {
  return file.head.kind == CRYO_FILE_URING && (file.uring->head.flags & CRYO_URING_SQPOLL);
}

UniqueFd make_uring(const Context& context, const File& file, int handle_fd) {
  UniqueFd fd = set_up_uring(context, file);
  fill_uring(file, fd.get(), handle_fd);
  return fd;
}

void register_eventfds(const Context& context, const std::map<std::uint32_t, UniqueFd>& rings,
                       const std::map<std::uint32_t, UniqueFd>& files) {
  for (const auto& [id, fd] : rings) {
    const File& file = context.file(id);
    if (file.head.kind != CRYO_FILE_URING || file.uring->head.eventfd == 0) continue;
    const cryo_uring& saved = file.uring->head;
    const int eventfd = files.at(saved.eventfd).get();
    const unsigned how = saved.eventfd_async ? IORING_REGISTER_EVENTFD_ASYNC : IORING_REGISTER_EVENTFD;
    if (::syscall(SYS_io_uring_register, fd.get(), how, &eventfd, 1) != 0)
      fail_errno("cannot register an eventfd with an io_uring");
  }
}

void plan_rings(const Context& context, std::int32_t tid, const std::map<std::uint32_t, int>& fds,
                CallList& calls) {
  for (const auto& [id, fd] : fds) {
    const File& file = context.file(id);
    if (file.head.kind == CRYO_FILE_URING && enabler_of(context, file) == tid)
      calls.add(kRingStep, static_cast<std::uint32_t>(fd), SYS_io_uring_register, fd,
                IORING_REGISTER_ENABLE_RINGS, 0, 0);
  }
}

namespace {

void check_uring(FileCheck& at, const File& file, const FileUse& use) {
  const NamesToCheck theirs(at.context, use.processes);
  const std::string text = uring_problem(file.uring->head);
  if (!text.empty()) at.problem(EOPNOTSUPP, "{}", text);
}

}  // namespace

const FileKind kUringKind = {
    .kind = CRYO_FILE_URING,
    .check = check_uring,
    .open = [](FileMaking& making, const File& file,
               const FileUse&) { return make_uring(making.input.context, file, making.input.handle_fd); },
    .finish =
        [](FileMaking& making) {
          register_eventfds(making.input.context, making.store.fds, making.store.fds);
        },
    .is_late = is_polled_ring};

}  // namespace cryo
