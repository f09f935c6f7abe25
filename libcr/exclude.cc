// SPDX-License-Identifier: LGPL-2.1-or-later
// Memory whose contents need not be saved: a set of address ranges, which the module is told anew for each
// checkpoint.
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "internal.h"

namespace cryo::libcr {
namespace {

// Ascending, with room between them. Changed inside a critical section or by a callback, with
// g_process.mutex.
cryo_client_range g_ranges[CRYO_MAX_EXCLUDED];
std::uint32_t g_count = 0;

// Puts `count` ranges in the place of those from `first` to before `last`.
int replace(std::uint32_t first, std::uint32_t last, const cryo_client_range* ranges, std::uint32_t count) {
  if (g_count - (last - first) + count > CRYO_MAX_EXCLUDED) return fail(ENOMEM);
  ::memmove(&g_ranges[first + count], &g_ranges[last], (g_count - last) * sizeof(g_ranges[0]));
  for (std::uint32_t i = 0; i < count; ++i) g_ranges[first + i] = ranges[i];
  g_count = g_count - (last - first) + count;
  return 0;
}

// One range instead of all that it meets or touches.
int add(cryo_client_range range) {
  std::uint32_t first = 0;
  while (first < g_count && g_ranges[first].end < range.start) ++first;
  std::uint32_t last = first;
  for (; last < g_count && g_ranges[last].start <= range.end; ++last) {
    if (g_ranges[last].start < range.start) range.start = g_ranges[last].start;
    if (g_ranges[last].end > range.end) range.end = g_ranges[last].end;
  }
  return replace(first, last, &range, 1);
}

// Of those that it meets, what is before it and what is behind it.
int remove(const cryo_client_range& range) {
  std::uint32_t first = 0;
  while (first < g_count && g_ranges[first].end <= range.start) ++first;
  std::uint32_t last = first;
  while (last < g_count && g_ranges[last].start < range.end) ++last;
  if (first == last) return 0;
  cryo_client_range rest[2];
  std::uint32_t count = 0;
  if (g_ranges[first].start < range.start) rest[count++] = {g_ranges[first].start, range.start};
  if (g_ranges[last - 1].end > range.end) rest[count++] = {range.end, g_ranges[last - 1].end};
  return replace(first, last, rest, count);
}

int change(const void* address, std::size_t length, int (*how)(const cryo_client_range& range)) {
  const auto start = reinterpret_cast<std::uintptr_t>(address);
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  if (t_chain == nullptr && t_thread == nullptr) return fail(CR_ENOINIT);
  // A handler may have interrupted who has the mutex.
  if (t_chain != nullptr && t_chain->context() == CR_SIGNAL_CONTEXT) return fail(EBUSY);
  if (length == 0 || start % page != 0 || length % page != 0 || start + length < start) return fail(EINVAL);
  const Section section;
  const ProcessLock lock;
  return how({start, start + length});
}

}  // namespace

void tell_exclusions() {
  cryo_client_exclude args{};
  args.size = sizeof(args);
  args.nr_ranges = g_count;
  args.ranges = reinterpret_cast<std::uintptr_t>(g_ranges);
  // If it fails, all is saved.
  if (g_count != 0) ::ioctl(g_process.client_fd, CRYO_CLIENT_EXCLUDE, &args);
}

void reset_exclusions() {
  g_count = 0;
}

}  // namespace cryo::libcr

using namespace cryo::libcr;

LIBCR_PUBLIC int cr_exclude_memory(void* addr, size_t len) {
  return change(addr, len,
                [](const cryo_client_range& range) { return register_process() != 0 ? -1 : add(range); });
}

LIBCR_PUBLIC int cr_include_memory(void* addr, size_t len) {
  return change(addr, len, remove);
}
