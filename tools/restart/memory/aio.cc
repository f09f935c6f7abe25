// SPDX-License-Identifier: GPL-2.0-only
#include "restart/memory/aio.h"

#include <fmt/format.h>
#include <linux/aio_abi.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "base/parse.h"
#include "base/unique_fd.h"
#include "restart/memory/resources.h"

namespace cryo {
namespace {

static_assert(sizeof(io_event) == CRYO_AIO_EVENT_SIZE);

constexpr std::uint32_t kAioBatch = 64;

// The beginning of a ring, as libraries know it.
struct AioRing {
  std::uint32_t id, nr, head, tail;
};

const AioRing& aio_ring_of(aio_context_t id) {
  return *reinterpret_cast<const AioRing*>(id);
}

struct MadeAio {
  aio_context_t id = 0;
  int error = 0;  // errno value; 0: it is there
};

MadeAio set_up_aio(std::uint32_t requests) {
  MadeAio made;
  if (::syscall(SYS_io_setup, requests, &made.id) != 0) made.error = errno;
  return made;
}

// The kernel makes some room more than asked for, as the machine has processors.
MadeAio set_up_aio_like(const cryo_aio& saved) {
  MadeAio made = set_up_aio(saved.max_reqs);
  if (made.error != 0 || aio_ring_of(made.id).nr == saved.nr || saved.nr < 4) return made;
  const MadeAio other = set_up_aio((saved.nr - 2) / 2);
  if (other.error != 0) return made;
  ::syscall(SYS_io_destroy, made.id);
  return other;
}

std::string why_no_aio(const cryo_aio& saved, const MadeAio& made) {
  const std::string what = fmt::format("asynchronous I/O context (io_setup) {:#x}: ", saved.start);
  if (made.error == EAGAIN)
    return fmt::format("{}{} requests are more than are left of fs.aio-max-nr", what, saved.max_reqs);
  if (made.error != 0) return what + errno_text(made.error);
  if (aio_ring_of(made.id).nr != saved.nr)
    return fmt::format("{}its ring has room for {} events, this machine makes one for {}", what, saved.nr,
                       aio_ring_of(made.id).nr);
  return {};
}

// Reads nothing from a file that is empty: done at once.
class AioRequests {
 public:
  explicit AioRequests(aio_context_t context) : context_(context), file_(::memfd_create("aio", MFD_CLOEXEC)) {
    if (!file_) fail_errno("memfd_create");
    request_.aio_lio_opcode = IOCB_CMD_PREAD;
    request_.aio_fildes = static_cast<std::uint32_t>(file_.get());
    all_.fill(&request_);
  }

  // As many events as there are requests, each time: all that wait are taken first.
  void submit(std::uint32_t count) {
    while (count > 0) {
      const long done = ::syscall(SYS_io_submit, context_, std::min(count, kAioBatch), all_.data());
      if (done <= 0) fail_errno("cannot put events into a ring of asynchronous I/O: io_submit");
      count -= static_cast<std::uint32_t>(done);
    }
  }
  void take(std::uint32_t count) {
    std::array<io_event, kAioBatch> events;
    while (count > 0) {
      const long got = ::syscall(SYS_io_getevents, context_, 1L,
                                 static_cast<long>(std::min(count, kAioBatch)), events.data(), nullptr);
      if (got <= 0) fail_errno("cannot take events from a ring of asynchronous I/O: io_getevents");
      count -= static_cast<std::uint32_t>(got);
    }
  }

 private:
  aio_context_t context_;
  UniqueFd file_;
  iocb request_{};
  std::array<iocb*, kAioBatch> all_{};
};

// The kernel keeps its own account of where the next event goes: only events bring it there.
void fill_aio_ring(aio_context_t id, const AioContext& saved) {
  AioRequests requests(id);
  for (std::uint32_t left = saved.head.head; left > 0;) {
    const std::uint32_t some = std::min(left, kAioBatch);
    requests.submit(some);
    requests.take(some);
    left -= some;
  }
  requests.submit(static_cast<std::uint32_t>(saved.events.size() / CRYO_AIO_EVENT_SIZE));
  auto* const events = reinterpret_cast<std::byte*>(id) + CRYO_AIO_EVENTS;
  std::uint32_t at = saved.head.head;
  for (std::size_t from = 0; from < saved.events.size(); from += CRYO_AIO_EVENT_SIZE) {
    std::memcpy(events + std::size_t{at} * CRYO_AIO_EVENT_SIZE, saved.events.data() + from,
                CRYO_AIO_EVENT_SIZE);
    at = (at + 1) % saved.head.nr;
  }
  if (aio_ring_of(id).head != saved.head.head || aio_ring_of(id).tail != saved.head.tail)
    fail(EIO, "a ring of asynchronous I/O has its events from {} to {}, and not from {} to {}",
         aio_ring_of(id).head, aio_ring_of(id).tail, saved.head.head, saved.head.tail);
}

}  // namespace

std::string aio_obstacle(const Mm& mm) {
  std::vector<aio_context_t> all;
  std::string obstacle;
  for (const AioContext& saved : mm.aio) {
    const MadeAio made = set_up_aio_like(saved.head);
    obstacle = why_no_aio(saved.head, made);
    if (made.error == 0) all.push_back(made.id);
    if (!obstacle.empty()) break;
  }
  for (const aio_context_t id : all) ::syscall(SYS_io_destroy, id);
  return obstacle;
}

std::string aio_total_obstacle(const Context& context, const std::string& in_use, const std::string& most) {
  std::uint64_t wanted = 0;
  for (const auto& [id, mm] : context.mms)
    for (const AioContext& saved : mm.aio) wanted += saved.head.max_reqs;
  const auto used = parse_number<std::uint64_t>(in_use), limit = parse_number<std::uint64_t>(most);
  if (wanted == 0 || !used || !limit || (*used <= *limit && wanted <= *limit - *used)) return {};
  return fmt::format(
      "asynchronous I/O contexts (io_setup) for {} requests are more than fs.aio-max-nr allows: {}, of which "
      "{} are in use",
      wanted, *limit, *used);
}

AddressRange make_aio_context(const AioContext& saved, AddressSpace& space) {
  const MadeAio made = set_up_aio_like(saved.head);
  if (const std::string obstacle = why_no_aio(saved.head, made); !obstacle.empty())
    fail(made.error != 0 ? made.error : EINVAL, "{}", obstacle);
  const std::size_t size = saved.head.size;
  space.use({made.id, made.id + size});
  const AddressRange place = space.take_hole(size);
  if (::mremap(reinterpret_cast<void*>(made.id), size, size, MREMAP_MAYMOVE | MREMAP_FIXED,
               reinterpret_cast<void*>(place.start)) == MAP_FAILED)
    fail_errno("cannot move a ring of asynchronous I/O to {:#x}", place.start);
  fill_aio_ring(place.start, saved);
  return place;
}

namespace {

void check_contexts(const CheckInput& input, const Mm& mm, Findings& findings) {
  if (const std::string obstacle = aio_obstacle(mm); !obstacle.empty())
    findings.problem(EAGAIN, "pid {}: {}", input.process.head.pid, obstacle);
}

}  // namespace

const MemoryResource kAioResource = {.check = check_contexts};

}  // namespace cryo
