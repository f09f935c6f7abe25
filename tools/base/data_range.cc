// SPDX-License-Identifier: GPL-2.0-only
#include "base/data_range.h"

#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace cryo {

std::optional<DataRange> next_data(int fd, std::uint64_t offset, std::uint64_t size) {
  if (offset >= size) return std::nullopt;
  const off_t start = ::lseek(fd, static_cast<off_t>(offset), SEEK_DATA);
  if (start < 0 && errno == ENXIO) return std::nullopt;
  if (start < 0) return DataRange{offset, size};  // the file system does not tell
  const off_t end = ::lseek(fd, start, SEEK_HOLE);
  if (static_cast<std::uint64_t>(start) >= size) return std::nullopt;
  return DataRange{static_cast<std::uint64_t>(start),
                   end < 0 ? size : std::min(static_cast<std::uint64_t>(end), size)};
}

std::uint64_t data_behind(int fd, std::uint64_t offset, std::uint64_t size) {
  std::uint64_t bytes = 0;
  for (auto data = next_data(fd, offset, size); data; data = next_data(fd, data->end, size))
    bytes += data->end - data->start;
  return bytes;
}

}  // namespace cryo
