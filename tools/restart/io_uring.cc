// SPDX-License-Identifier: GPL-2.0-only
// A ring is made anew and gets what was in the memory of the old one; the module lets it go on counting
// there.
#include <cryo/ioctl.h>
#include <linux/io_uring.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "restart/files.h"

namespace cryo {
namespace {

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

UniqueFd set_up(const cryo_uring& saved, io_uring_params& params) {
  params = {};
  params.flags = saved.flags | IORING_SETUP_CQSIZE;
  params.cq_entries = saved.cq_entries;
  return UniqueFd(static_cast<int>(::syscall(SYS_io_uring_setup, saved.sq_entries, &params)));
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

void fill_queues(const Uring& ring, const io_uring_params& params, int fd) {
  const cryo_uring& saved = ring.head;
  const std::size_t array = ring.array.size() * sizeof(std::uint32_t);
  const std::size_t size =
      std::max(params.sq_off.array + array, params.cq_off.cqes + ring.completions.size());
  const RingMemory memory(fd, IORING_OFF_SQ_RING, size);
  memory.put(params.sq_off.head, saved.sq_head);
  memory.put(params.sq_off.tail, saved.sq_tail);
  memory.put(params.sq_off.dropped, saved.sq_dropped);
  memory.put(params.cq_off.head, saved.cq_head);
  memory.put(params.cq_off.tail, saved.cq_tail);
  memory.put(params.cq_off.overflow, saved.cq_overflow);
  memory.put(params.cq_off.flags, saved.cq_flags);
  memory.put(params.cq_off.cqes, ring.completions.data(), ring.completions.size());
  memory.put(params.sq_off.array, ring.array.data(), array);
}

}  // namespace

std::string uring_problem(const cryo_uring& saved) {
  io_uring_params params;
  const UniqueFd ring = set_up(saved, params);
  if (!ring && errno == EPERM) return "io_uring is switched off here (sysctl kernel.io_uring_disabled)";
  if (!ring && errno == EINVAL)
    return fmt::format("this kernel has no io_uring with the flags {:#x}", saved.flags);
  if (!ring) return fmt::format("cannot make an io_uring: {}", std::strerror(errno));
  if (!same_layout(saved, params))
    return "this kernel arranges the memory of an io_uring in another way than the one of the checkpoint";
  return {};
}

UniqueFd make_uring(const File& file, int handle_fd) {
  const Uring& ring = *file.uring;
  io_uring_params params;
  UniqueFd fd = set_up(ring.head, params);
  if (!fd) fail_errno("cannot make an io_uring");
  if (!same_layout(ring.head, params)) fail(EINVAL, "an io_uring has another layout here");
  fill_queues(ring, params, fd.get());
  RingMemory(fd.get(), IORING_OFF_SQES, ring.submissions.size())
      .put(0, ring.submissions.data(), ring.submissions.size());
  cryo_uring_counters counters{sizeof(counters), fd.get(), ring.head.sq_head, ring.head.cq_tail};
  if (::ioctl(handle_fd, CRYO_RST_URING, &counters) != 0)
    fail_errno("cannot set the counters of an io_uring");
  return fd;
}

void register_eventfds(const Context& context, const std::map<std::uint32_t, UniqueFd>& fds) {
  for (const auto& [id, fd] : fds) {
    const File& file = context.file(id);
    if (file.head.kind != CRYO_FILE_URING || file.uring->head.eventfd == 0) continue;
    const cryo_uring& saved = file.uring->head;
    const int eventfd = fds.at(saved.eventfd).get();
    const unsigned how = saved.eventfd_async ? IORING_REGISTER_EVENTFD_ASYNC : IORING_REGISTER_EVENTFD;
    if (::syscall(SYS_io_uring_register, fd.get(), how, &eventfd, 1) != 0)
      fail_errno("cannot register an eventfd with an io_uring");
  }
}

}  // namespace cryo
