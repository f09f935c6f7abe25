// SPDX-License-Identifier: GPL-2.0-only
// Names that others have chosen: regular files only, and nothing else is opened for a look.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>

#include "base/open_regular.h"
#include "unit/tap.h"

namespace cryo::test {
namespace {

TEST("names that others have chosen: only regular files are opened") {
  char directory[] = "/tmp/cryo-open-regular.XXXXXX";
  CHECK(::mkdtemp(directory) != nullptr);
  const std::string file = std::string(directory) + "/file", fifo = std::string(directory) + "/fifo";
  ::close(::open(file.c_str(), O_WRONLY | O_CREAT, 0600));
  CHECK(::mkfifo(fifo.c_str(), 0600) == 0);
  CHECK(static_cast<bool>(open_regular(file)));
  errno = 0;
  CHECK(!open_regular(fifo) && errno == ESTALE);
  // A reader for a moment would let the writer go on.
  CHECK(::open(fifo.c_str(), O_WRONLY | O_NONBLOCK) < 0 && errno == ENXIO);
  CHECK(!open_regular("/dev/null") && errno == ESTALE);
  CHECK(!open_regular("/proc/self/status") && errno == ESTALE);
  CHECK(!open_regular(std::string(directory) + "/none") && errno == ENOENT);
  ::unlink(file.c_str());
  ::unlink(fifo.c_str());
  ::rmdir(directory);
}

}  // namespace
}  // namespace cryo::test
