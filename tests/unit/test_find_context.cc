// SPDX-License-Identifier: GPL-2.0-only
// Contexts by names that others may have chosen: what is there is looked at before it is opened, and for root
// nobody else's symbolic link is followed.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "context/reader.h"
#include "context/source.h"
#include "unit/context_builder.h"
#include "unit/tap.h"

namespace cryo::test {
namespace {

constexpr uid_t kOther = 54321;
constexpr useconds_t kWhile = 200000;

class Scratch {
 public:
  Scratch() {
    CHECK(::mkdtemp(directory_) != nullptr);
    const Bytes bytes = ContextBuilder::smallest().build();
    const UniqueFd fd(::open(file("good").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    CHECK_EQ(::write(fd.get(), bytes.data(), bytes.size()), std::ssize(bytes));
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    Source::refuse_untrusted_copies("");
    std::error_code error;
    std::filesystem::remove_all(directory_, error);
  }
  [[nodiscard]] std::string file(const std::string& name) const { return directory_ + ("/" + name); }
  // By `owner`.
  [[nodiscard]] std::string link(const std::string& name, const std::string& target, uid_t owner) const {
    CHECK(::symlink(target.c_str(), file(name).c_str()) == 0 &&
          ::lchown(file(name).c_str(), owner, owner) == 0);
    return file(name);
  }

 private:
  char directory_[32] = "/tmp/cryo-find-context.XXXXXX";
};

void check_good(const std::string& name) {
  CHECK_EQ(read_context(Source::open(name)).processes.size(), 1U);
}

TEST("a context by its name, by links of one's own, by descriptors") {
  const Scratch scratch;
  const uid_t own = ::geteuid();
  check_good(scratch.file("good"));
  check_good(scratch.link("link", "good", own));
  check_good(scratch.link("again", scratch.file("./link"), own));
  CHECK_ERROR(ENOTDIR, "good/: Not a directory", Source::open(scratch.file("good/")));
  CHECK_ERROR(ELOOP, "symbolic links", Source::open(scratch.link("loop", "loop", own)));
  const UniqueFd fd(::open(scratch.file("good").c_str(), O_RDONLY | O_CLOEXEC));
  check_good(fmt::format("/dev/fd/{}", fd.get()));
  check_good(scratch.link("descriptor", fmt::format("/proc/self/fd/{}", fd.get()), own));
  CHECK_EQ(::unlink(scratch.file("good").c_str()), 0);
  check_good(fmt::format("/proc/self/fd/{}", fd.get()));
  CHECK_ERROR(EBADMSG, "is empty", Source::open("/dev/null"));
  CHECK_ERROR(ENOENT, "No such file", Source::open(""));
}

TEST("devices and files of the kernel's are no contexts, and are not opened") {
  const Scratch scratch;
  CHECK_ERROR(EPERM, "is a device, which is not opened by its name", Source::open("/dev/full"));
  CHECK_ERROR(EPERM, "is a device", Source::open(scratch.link("full", "/dev/full", ::geteuid())));
  CHECK_ERROR(EPERM, "is a kernel pseudo-file, not a context", Source::open("/proc/self/status"));
}

TEST("no links of others for root") {
  if (::geteuid() != 0) return;
  const Scratch scratch;
  const std::string link = scratch.link("theirs", scratch.file("good"), kOther);
  const std::string text =
      fmt::format("the symbolic link {} belongs to user {}, who can point it anywhere: name the file itself",
                  link, kOther);
  CHECK_ERROR(EPERM, link + ": " + text, Source::open(link));
  CHECK_ERROR(EPERM, text, Source::open(scratch.link("to-theirs", "theirs", 0)));
  CHECK_EQ(::mkdir(scratch.file("d").c_str(), 0755), 0);
  CHECK_ERROR(EPERM, "belongs to user",
              Source::open(scratch.link("up", scratch.file("d/.."), kOther) + "/good"));
  check_good(scratch.file("d/../good"));
}

TEST("others' FIFOs are refused before they are opened, where what is in them would be") {
  if (::geteuid() != 0) return;
  const Scratch scratch;
  const std::string fifo = scratch.file("fifo");
  CHECK(::mkfifo(fifo.c_str(), 0600) == 0 && ::chown(fifo.c_str(), kOther, kOther) == 0);
  const pid_t writer = ::fork();
  if (writer == 0) {
    (void)::open(fifo.c_str(), O_WRONLY | O_CLOEXEC);  // until somebody opens it for reading
    ::_exit(0);
  }
  ::usleep(kWhile);
  Source::refuse_untrusted_copies("ask him");
  CHECK_ERROR(EPERM, fmt::format("fifo belongs to user {}, and would have to be unpacked: ask him", kOther),
              Source::open(fifo));
  ::usleep(kWhile);
  CHECK_EQ(::waitpid(writer, nullptr, WNOHANG), 0);
  CHECK(::kill(writer, SIGKILL) == 0 && ::waitpid(writer, nullptr, 0) == writer);
}

}  // namespace
}  // namespace cryo::test
