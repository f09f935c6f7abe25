// SPDX-License-Identifier: GPL-2.0-only
// The file that a context goes to: what is under its name at every moment.
#include <cryo/format.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "cr_checkpoint/stale_files.h"
#include "cr_checkpoint/target_file.h"
#include "unit/tap.h"

namespace {

using namespace cryo;
namespace fs = std::filesystem;

// An empty directory that goes away with its contents.
class Scratch {
 public:
  Scratch() {
    std::string pattern = fs::temp_directory_path() / "cryo-test-XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) fail_errno("{}", pattern);
    path_ = pattern;
  }
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  [[nodiscard]] std::string file(const std::string& name) const { return path_ / name; }
  // Names in the directory, sorted, with a space after each.
  [[nodiscard]] std::string names() const {
    std::vector<std::string> found;
    for (const fs::directory_entry& entry : fs::directory_iterator(path_))
      found.push_back(entry.path().filename());
    std::sort(found.begin(), found.end());
    std::string all;
    for (const std::string& name : found) all += name + " ";
    return all;
  }

 private:
  fs::path path_;
};

Options options_for(const std::string& path, Placement placement = Placement::kAtomic) {
  Options options;
  options.destination = DestinationFile{path, true};
  options.placement = placement;
  return options;
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
}

std::string contents(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

void put(const TargetFile& file, const std::string& text) {
  CHECK_EQ(::write(file.fd(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
}

// Everything that cr_checkpoint does with a file when all goes well.
void write_context(const Options& options, const std::string& text) {
  TargetFile file(options);
  file.begin();
  put(file, text);
  file.sync();
  file.publish();
}

mode_t mode_of(const std::string& path) {
  struct stat status {};
  CHECK_EQ(::stat(path.c_str(), &status), 0);
  return status.st_mode & 07777;
}

TEST("a new file has its name only when it is complete, and mode 0400") {
  Scratch scratch;
  {
    TargetFile file(options_for(scratch.file("ctx")));
    file.begin();
    put(file, "new");
    file.sync();
    CHECK_EQ(scratch.names(), ".ctx.tmp ");
    file.publish();
  }
  CHECK_EQ(scratch.names(), "ctx ");
  CHECK_EQ(contents(scratch.file("ctx")), "new");
  CHECK_EQ(mode_of(scratch.file("ctx")), 0400U);
}

TEST("while it is written, a file is for its owner alone") {
  Scratch scratch;
  const mode_t before = ::umask(0);
  TargetFile file(options_for(scratch.file("ctx")));
  ::umask(before);
  CHECK_EQ(mode_of(scratch.file(".ctx.tmp")), 0600U);
}

TEST("atomic: the old file stays when the new one fails, and is replaced when it does not") {
  Scratch scratch;
  write_file(scratch.file("ctx"), "old");
  {
    TargetFile file(options_for(scratch.file("ctx")));
    file.begin();
    put(file, "half");
  }
  CHECK_EQ(scratch.names(), "ctx ");
  CHECK_EQ(contents(scratch.file("ctx")), "old");
  write_context(options_for(scratch.file("ctx")), "new");
  CHECK_EQ(contents(scratch.file("ctx")), "new");
}

TEST("a temporary file that somebody left is not touched") {
  Scratch scratch;
  write_file(scratch.file(".ctx.tmp"), "other's");
  write_context(options_for(scratch.file("ctx")), "new");
  CHECK_EQ(scratch.names(), ".ctx.tmp ctx ");
  CHECK_EQ(contents(scratch.file(".ctx.tmp")), "other's");
}

TEST("backup: old files are numbered") {
  Scratch scratch;
  const Options options = options_for(scratch.file("ctx"), Placement::kBackup);
  for (const char* text : {"first", "second", "third"}) write_context(options, text);
  CHECK_EQ(scratch.names(), "ctx ctx.~1~ ctx.~2~ ");
  CHECK_EQ(contents(scratch.file("ctx")), "third");
  CHECK_EQ(contents(scratch.file("ctx.~1~")), "first");
  CHECK_EQ(contents(scratch.file("ctx.~2~")), "second");
}

TEST("backup: the old file gets the name that was asked for, or all stays as it was") {
  Scratch scratch;
  Options options = options_for(scratch.file("ctx"), Placement::kBackup);
  options.backup_name = scratch.file("before");
  write_context(options, "first");
  write_context(options, "second");
  CHECK_EQ(contents(scratch.file("ctx")), "second");
  CHECK_EQ(contents(scratch.file("before")), "first");
  options.backup_name = scratch.file("no/such/directory");
  CHECK_ERROR(ENOENT, "no/such/directory", write_context(options, "third"));
  CHECK_EQ(contents(scratch.file("ctx")), "second");
  CHECK_EQ(scratch.names(), "before ctx ");
}

TEST("backup: there is a file under the name at every moment, old or new") {
  Scratch scratch;
  Options options = options_for(scratch.file("ctx"), Placement::kBackup);
  options.backup_name = scratch.file("before");
  write_context(options, "0");
  std::atomic<bool> done = false;
  std::atomic<int> missing = 0;
  std::thread look([&] {
    while (!done) missing += ::access(scratch.file("ctx").c_str(), F_OK) != 0;
  });
  for (int i = 1; i < 500; ++i) {
    write_context(options, std::to_string(i));
    CHECK_EQ(contents(scratch.file("before")), std::to_string(i - 1));
  }
  done = true;
  look.join();
  CHECK_EQ(missing.load(), 0);
  CHECK_EQ(scratch.names(), "before ctx ");
}

TEST("backup: where the old file has that name already, it keeps it") {
  Scratch scratch;
  Options options = options_for(scratch.file("ctx"), Placement::kBackup);
  options.backup_name = scratch.file("before");
  write_context(options, "old");
  fs::create_hard_link(scratch.file("ctx"), scratch.file("before"));
  write_context(options, "new");
  CHECK_EQ(scratch.names(), "before ctx ");
  CHECK_EQ(contents(scratch.file("before")), "old");
  CHECK_EQ(contents(scratch.file("ctx")), "new");
}

TEST("noclobber: an old file is an error before anything is done, and one that appears meanwhile too") {
  Scratch scratch;
  const Options options = options_for(scratch.file("ctx"), Placement::kNoClobber);
  {
    TargetFile file(options);
    file.begin();
    put(file, "new");
    write_file(scratch.file("ctx"), "somebody's");
    CHECK_ERROR(EEXIST, "ctx exists already", file.publish());
  }
  CHECK_EQ(scratch.names(), "ctx ");
  CHECK_EQ(contents(scratch.file("ctx")), "somebody's");
  CHECK_ERROR(EEXIST, "ctx exists already", TargetFile{options});
  fs::remove(scratch.file("ctx"));
  write_context(options, "new");
  CHECK_EQ(scratch.names(), "ctx ");
}

TEST("clobber: the old file is written over in place, but not before the request is accepted") {
  Scratch scratch;
  write_file(scratch.file("ctx"), "old and longer than the new one");
  fs::permissions(scratch.file("ctx"), fs::perms::owner_read | fs::perms::owner_write);
  fs::create_hard_link(scratch.file("ctx"), scratch.file("link"));
  const Options options = options_for(scratch.file("ctx"), Placement::kClobber);
  { TargetFile refused(options); }
  CHECK_EQ(contents(scratch.file("ctx")), "old and longer than the new one");
  write_context(options, "new");
  CHECK_EQ(contents(scratch.file("link")), "new");
  CHECK_EQ(mode_of(scratch.file("ctx")), 0400U);
}

TEST("clobber: half a file does not stay") {
  Scratch scratch;
  {
    TargetFile file(options_for(scratch.file("ctx"), Placement::kClobber));
    file.begin();
    put(file, "half");
  }
  CHECK_EQ(scratch.names(), "");
}

TEST("clobber: what is another file by then is left alone") {
  Scratch scratch;
  const Options options = options_for(scratch.file("ctx"), Placement::kClobber);
  for (const char* others : {"", "others'"}) {
    write_file(scratch.file("ctx"), "old");
    fs::permissions(scratch.file("ctx"), fs::perms::owner_read | fs::perms::owner_write);
    {
      TargetFile file(options);
      file.begin();
      put(file, "new");
      fs::remove(scratch.file("ctx"));
      if (*others != '\0') write_file(scratch.file("ctx"), others);
      file.sync();
      CHECK_ERROR(ESTALE, "ctx was removed or replaced", file.publish());
    }
    CHECK_EQ(contents(scratch.file("ctx")), others);
  }
}

TEST("clobber: who comes while it is written goes, and has changed nothing") {
  Scratch scratch;
  const Options options = options_for(scratch.file("ctx"), Placement::kClobber);
  write_file(scratch.file("ctx"), "old");
  fs::permissions(scratch.file("ctx"), fs::perms::owner_read | fs::perms::owner_write);
  TargetFile file(options);
  file.begin();
  put(file, "new context");
  CHECK_ERROR(EBUSY, "ctx is being written by another checkpoint", TargetFile{options});
  file.sync();
  file.publish();
  CHECK_EQ(contents(scratch.file("ctx")), "new context");
}

TEST("of two contexts for one name the later one keeps it, whichever is complete first") {
  const std::string magic(CRYO_MAGIC, CRYO_MAGIC_LEN);
  for (const Placement placement : {Placement::kAtomic, Placement::kBackup}) {
    Scratch scratch;
    const Options options = options_for(scratch.file("ctx"), placement);
    TargetFile earlier(options), later(options);
    for (TargetFile* file : {&earlier, &later}) {
      file->begin();
      put(*file, magic + (file == &later ? "later" : "earlier"));
      file->captured();
    }
    for (TargetFile* file : {&later, &earlier}) file->sync();
    later.publish();
    CHECK_ERROR(EBUSY, "ctx is from a later checkpoint", earlier.publish());
    CHECK_EQ(contents(scratch.file("ctx")), magic + "later");
    write_context(options, magic + "last");
    CHECK_EQ(contents(scratch.file("ctx")), magic + "last");
  }
  // Also when the later one was written in place.
  Scratch in_place;
  write_file(in_place.file("ctx"), magic);
  fs::permissions(in_place.file("ctx"), fs::perms::owner_read | fs::perms::owner_write);
  TargetFile first(options_for(in_place.file("ctx")));
  put(first, magic + "earlier");
  first.captured();
  write_context(options_for(in_place.file("ctx"), Placement::kClobber), magic + "later");
  first.sync();
  CHECK_ERROR(EBUSY, "ctx is from a later checkpoint", first.publish());
  CHECK_EQ(contents(in_place.file("ctx")), magic + "later");
  Scratch scratch;
  TargetFile earlier(options_for(scratch.file("ctx"))), later(options_for(scratch.file("ctx")));
  for (TargetFile* file : {&earlier, &later}) {
    put(*file, magic);
    file->captured();
    file->sync();
    file->publish();
  }
  // Something else that has come to the name is replaced, as ever.
  TargetFile file(options_for(scratch.file("ctx")));
  put(file, magic + "new");
  fs::remove(scratch.file("ctx"));
  write_file(scratch.file("ctx"), "no context");
  file.sync();
  file.publish();
  CHECK_EQ(contents(scratch.file("ctx")), magic + "new");
}

TEST("a symbolic link is replaced, and what it points to stays") {
  Scratch scratch;
  write_file(scratch.file("precious"), "precious");
  for (const Placement placement : {Placement::kAtomic, Placement::kClobber}) {
    fs::remove(scratch.file("ctx"));
    fs::create_symlink("precious", scratch.file("ctx"));
    write_context(options_for(scratch.file("ctx"), placement), "new");
    CHECK(!fs::is_symlink(scratch.file("ctx")));
    CHECK_EQ(contents(scratch.file("precious")), "precious");
  }
}

TEST("devices and FIFOs are written to, not replaced, and only when they were named") {
  Scratch scratch;
  write_context(options_for("/dev/null"), "new");
  CHECK(fs::is_character_file("/dev/null"));
  CHECK_EQ(::mkfifo(scratch.file("ctx").c_str(), 0600), 0);
  UniqueFd reader(::open(scratch.file("ctx").c_str(), O_RDONLY | O_NONBLOCK));
  write_context(options_for(scratch.file("ctx")), "new");
  char text[8];
  CHECK_EQ(::read(reader.get(), text, sizeof(text)), 3);
  Options by_default = options_for(scratch.file("ctx"));
  by_default.destination = DestinationFile{scratch.file("ctx"), false};
  CHECK_ERROR(EEXIST, "not a regular file", TargetFile{by_default});
}

TEST("what has been looked at is what is written to, though the name leads elsewhere by then") {
  constexpr int kRounds = 2000;
  Scratch scratch;
  const std::string name = scratch.file("ctx"), fifo = scratch.file("fifo"), other = scratch.file("other"),
                    next = scratch.file("next");
  write_file(other, "stays");
  CHECK_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  CHECK_EQ(::link(fifo.c_str(), name.c_str()), 0);
  const UniqueFd reader(::open(fifo.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
  std::atomic<bool> done = false;
  std::atomic<int> exchanged = 0;
  std::thread exchanger([&] {
    for (bool link = true; !done; link = !link, ++exchanged)
      if ((link ? ::symlink(other.c_str(), next.c_str()) : ::link(fifo.c_str(), next.c_str())) != 0 ||
          ::rename(next.c_str(), name.c_str()) != 0)
        return;
  });
  int written = 0;
  char text[16];
  // The other thread may be slow to begin.
  for (int i = 0; i < kRounds || (exchanged <= 100 && i < 100 * kRounds); ++i) try {
      TargetFile file(options_for(name));
      written += ::write(file.fd(), "new", 3) == 3;
      while (::read(reader.get(), text, sizeof(text)) > 0) {
      }
    } catch (const Error&) {
    }
  done = true;
  exchanger.join();
  CHECK(written > 0);
  CHECK(exchanged > 100);
  CHECK_EQ(contents(other), std::string("stays"));
}

TEST("names that cannot be written") {
  Scratch scratch;
  CHECK_ERROR(EISDIR, "is a directory", TargetFile{options_for(scratch.file(""))});
  CHECK_ERROR(EISDIR, "is a directory", TargetFile{options_for(scratch.file(".."))});
  CHECK_ERROR(ENOENT, "no/ctx", TargetFile{options_for(scratch.file("no/ctx"))});
  write_file(scratch.file("plain"), "");
  CHECK_ERROR(ENOTDIR, "plain/ctx", TargetFile{options_for(scratch.file("plain/ctx"))});
  CHECK_ERROR(ENAMETOOLONG, "aaa", TargetFile{options_for(scratch.file(std::string(300, 'a')))});
}

TEST("descriptors must be open for writing") {
  UniqueFd reading(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  Options options;
  options.destination = DestinationFd{reading.get()};
  CHECK_ERROR(EBADF, "is not open for writing", TargetFile{options});
  UniqueFd writing(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  options.destination = DestinationFd{writing.get()};
  write_context(options, "new");
  CHECK(::fcntl(writing.get(), F_GETFD) >= 0);  // it belongs to the caller
}

TEST("what may be being written on another machine") {
  constexpr std::uint64_t kBeegfs = 0x19830326, kTmpfs = 0x01021994;
  struct stat status {};
  status.st_mtim.tv_sec = 1000000;
  CHECK(may_be_written_elsewhere(status, kBeegfs, 1000010));
  CHECK(may_be_written_elsewhere(status, kBeegfs, 999990));
  CHECK(!may_be_written_elsewhere(status, kBeegfs, 1003600));
  CHECK(!may_be_written_elsewhere(status, kTmpfs, 1000010));
  status.st_dev = makedev(8, 1);
  CHECK(!may_be_written_elsewhere(status, 0, 1000010));
}

}  // namespace
