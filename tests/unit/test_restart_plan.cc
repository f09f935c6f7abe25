// SPDX-License-Identifier: GPL-2.0-only
// The restart engine's decisions that need no process: paths, addresses, credentials.
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <future>
#include <memory>

#include "base/message.h"
#include "base/unique_fd.h"
#include "restart/common/relocate.h"
#include "restart/engine/failure.h"
#include "restart/files/files.h"
#include "restart/files/other_uses.h"
#include "restart/files/output_files.h"
#include "restart/ipc/sysv.h"
#include "restart/process/timers.h"
#include "restart/rights/created_paths.h"
#include "restart/rights/credentials.h"
#include "restart/rights/names.h"
#include "restart/stub/address_space.h"
#include "restart/stub/shared_report.h"
#include "restart/threads/thread_plan.h"
#include "unit/context_builder.h"
#include "unit/tap.h"

namespace cryo::test {
namespace {

Relocations relocations(std::initializer_list<std::string_view> arguments) {
  Relocations result;
  for (const std::string_view argument : arguments) result.add(argument);
  return result;
}

TEST("relocation: whole components, first match, once") {
  const Relocations moved = relocations({"/a=/b", "/b=/c", "/home/x/=/home/y//"});
  CHECK_EQ(moved.apply("/a/file"), "/b/file");
  CHECK_EQ(moved.apply("/a"), "/b");
  CHECK_EQ(moved.apply("/ab/file"), "/ab/file");
  CHECK_EQ(moved.apply("/b/file"), "/c/file");
  CHECK_EQ(moved.apply("/home/x/1"), "/home/y/1");
  CHECK_EQ(moved.apply("/other/a"), "/other/a");
}

TEST("relocation: from and to the root") {
  CHECK_EQ(relocations({"/=/jail"}).apply("/etc/x"), "/jail/etc/x");
  CHECK_EQ(relocations({"/jail=/"}).apply("/jail/etc/x"), "/etc/x");
  CHECK_EQ(relocations({"/jail=/"}).apply("/jail"), "/");
}

TEST("relocation: to the same path: it is known to be the right one") {
  const Relocations same = relocations({"/a/b=/a/b/"});
  CHECK_EQ(same.apply("/a/b"), "/a/b");
  CHECK(same.covers("/a/b"));
  CHECK(same.covers("/a/b/c"));
  CHECK(!same.covers("/a"));
  CHECK(!same.covers("/a/bc"));
}

TEST("relocation: escapes") {
  CHECK_EQ(relocations({"/a\\=b=/c\\\\d"}).apply("/a=b/x"), "/c\\d/x");
  CHECK_EQ(relocations({"/a\\n=/c"}).apply("/a\\n/x"), "/c/x");
}

TEST("relocation: what is refused") {
  Relocations list;
  CHECK_ERROR(EINVAL, "not of the form", list.add("/a"));
  CHECK_ERROR(EINVAL, "more than one", list.add("/a=/b=/c"));
  CHECK_ERROR(EINVAL, "old path is not absolute", list.add("a=/b"));
  CHECK_ERROR(EINVAL, "new path is not absolute", list.add("/a=b"));
  CHECK_ERROR(EINVAL, "new path is not absolute", list.add("/a="));
  for (int i = 0; i < 16; ++i) list.add(fmt::format("/{}=/x", i));
  CHECK_ERROR(EINVAL, "more than 16", list.add("/17=/x"));
}

TEST("strays: there is room for as many as have not been waited for") {
  const SharedReport report(1);
  Ledger& ledger = report.ledger();
  for (pid_t pid = 1; pid <= 1000; ++pid) {
    CHECK(note_stray(ledger, {pid, kOfCrRestart, SIGCHLD}));
    CHECK(forget_stray(ledger, pid) && !forget_stray(ledger, pid));
  }
  for (pid_t pid = 1; pid <= static_cast<pid_t>(kMaxStrays); ++pid)
    CHECK(note_stray(ledger, {pid, pid == 7 ? 3 : kOfCrRestart, SIGCHLD}));
  CHECK(!note_stray(ledger, {5000, kOfCrRestart, SIGCHLD}));
  CHECK_EQ(strays_of(ledger).size(), kMaxStrays - 1);
  CHECK(!forget_stray(ledger, 7));  // somebody else's child
  CHECK(strays_of(ledger, 3).size() == 1 && strays_of(ledger, 3).front().pid == 7);
  CHECK(forget_stray(ledger, 7, 3) && note_stray(ledger, {5000, kOfCrRestart, SIGCHLD}));
  CHECK_EQ(strays_of(ledger).size(), kMaxStrays);
}

TEST("timers: what has become of one") {
  const Expiry due = expiry_of(5, 3);
  CHECK(due.armed);
  CHECK_EQ(due.next_ns, 5);
  CHECK_EQ(due.expired, 0U);
  const Expiry over = expiry_of(0, 0);
  CHECK(!over.armed);
  CHECK_EQ(over.expired, 1U);
  const Expiry late = expiry_of(-25, 10);
  CHECK(late.armed);
  CHECK_EQ(late.next_ns, 5);
  CHECK_EQ(late.expired, 3U);
  const Expiry just = expiry_of(-20, 10);
  CHECK_EQ(just.next_ns, 10);
  CHECK_EQ(just.expired, 3U);
  const Expiry far = expiry_of(-CRYO_MAX_REMAINING_NS, ~0ULL >> 1);
  CHECK_EQ(far.expired, 1U);
  CHECK(far.next_ns > 0);
}

TEST("address space: lowest hole that is large enough") {
  AddressSpace space(4096);
  space.use({0x1000000, 0x1002000});
  space.use({0x1003000, 0x1004000});
  const AddressRange one = space.take_hole(1);
  CHECK_EQ(one.start, 0x1002000U);
  CHECK_EQ(one.size(), 4096U);
  CHECK_EQ(space.take_hole(8192).start, 0x1004000U);
  space.use({0x1000000, 0x7f0000000000});  // swallows the others
  CHECK_EQ(space.take_hole(4096).start, 0x7f0000000000U);
  CHECK_ERROR(ENOMEM, "no hole", space.take_hole(1ULL << 46));
}

TEST("address space: this process's own mappings are read") {
  const std::vector<OwnMapping> own = own_mappings();
  const auto here = reinterpret_cast<std::uint64_t>(&own);
  bool stack = false;
  for (const OwnMapping& mapping : own) stack |= mapping.range.overlaps({here, here + 1});
  CHECK(stack);
}

Creds user(std::uint32_t uid, std::uint64_t caps = 0) {
  Creds creds;
  creds.head = {uid, uid, uid, uid, uid, uid, uid, uid, 0, caps, caps, ~0ULL >> 23, 0, 0, 0};
  return creds;
}

TEST("credentials: the same user has nothing to change") {
  CHECK(!credential_change(user(1000), user(1000)).to);
  CHECK(credential_problems(credential_change(user(1000), user(1000))).empty());
}

TEST("credentials: another user's process takes privilege") {
  CHECK_EQ(credential_problems(credential_change(user(0), user(1000))).size(), 2U);
  CHECK(credential_problems(credential_change(user(1000), user(0, ~0ULL >> 23))).empty());
}

TEST("credentials: capabilities, bounding set and groups that cannot be given") {
  CHECK_EQ(credential_problems(credential_change(user(5, 1), user(5))).size(), 1U);
  Creds bounded = user(5);
  bounded.head.cap_bset = 0;
  CHECK_EQ(credential_problems(credential_change(bounded, user(5))).size(), 1U);
  // Nobody can be given a larger one, and nobody needs it.
  CHECK(!credential_change(user(5), bounded).to);
  Creds member = user(5);
  member.groups = {7};
  CHECK_EQ(credential_problems(credential_change(member, user(5))).size(), 1U);
  CHECK(credential_problems(credential_change(member, user(5, 1ULL << CAP_SETGID))).empty());
}

TEST("credentials: ids without a number are kept, if they are the same") {
  const IdMaps one{{{0, 1000, 1, 0}}, {{0, 1000, 1, 0}}};
  CredentialChange overflow = credential_change(user(65534), user(65534, 1));
  keep_unmapped(overflow, one);
  CHECK_EQ(overflow.to->head.uid, kKeepId);
  CHECK_EQ(overflow.to->head.sgid, kKeepId);
  CHECK_EQ(overflow.to->head.fsuid, 65534U);
  CredentialChange other = credential_change(user(7), user(0));
  keep_unmapped(other, one);
  CHECK_EQ(other.to->head.uid, 7U);  // which cannot be set
  CredentialChange known = credential_change(user(0), user(0, 1));
  keep_unmapped(known, one);
  CHECK_EQ(known.to->head.gid, 0U);
}

TEST("open flags: nothing that would change the file") {
  File file;
  FileUse use;
  use.fds.push_back({});
  file.head.flags = O_WRONLY | O_CREAT | O_EXCL | O_TRUNC | O_APPEND;
  CHECK_EQ(open_flags(file, use), O_WRONLY | O_APPEND | O_NOCTTY);
  file.head.flags = O_RDWR | O_TMPFILE;
  CHECK_EQ(open_flags(file, use), O_RDWR | O_NOCTTY);
  use = {};
  use.mapped = true;
  CHECK_EQ(open_flags(file, use), O_RDONLY);
  use.mapped_shared_writable = true;
  CHECK_EQ(open_flags(file, use), O_RDWR);
}

TEST("paths that were created are remembered until removed") {
  const auto ledger = std::make_unique<Ledger>();
  const OwnNames own;
  CreatedPaths paths(*ledger);
  CHECK(paths.list().empty());
  paths.add("/a");
  paths.add("/b/c");
  paths.remove("/a");
  CHECK_EQ(paths.list().size(), 1U);
  CHECK_EQ(paths.list().front(), "/b/c");
  CHECK_ERROR(ENOSPC, "too many files to recreate", paths.add(std::string(1 << 18, 'x')));
  CHECK_EQ(paths.list().size(), 1U);
  for (int i = 0; i < 20000; ++i) {
    paths.add("/for/a/moment/only/and/so/none/of/them/takes/room/for/long");
    paths.remove("/for/a/moment/only/and/so/none/of/them/takes/room/for/long");
  }
  CHECK_EQ(paths.list().size(), 1U);
}

TEST("a System V object is removed only if it is the one that was made") {
  const auto exists = [](const std::string& tag, int id) { return !sysv_note(tag, id).empty(); };
  const int ids[] = {::shmget(IPC_PRIVATE, 4096, 0600), ::semget(IPC_PRIVATE, 1, 0600),
                     ::msgget(IPC_PRIVATE, 0600)};
  const std::string tags[] = {"shm", "sem", "msg"};
  for (int i = 0; i < 3; ++i) {
    CHECK(ids[i] >= 0);
    const std::string note = sysv_note(tags[i], ids[i]);
    CHECK(note.starts_with(fmt::format("{}:{}:", tags[i], ids[i])));
    CHECK(remove_sysv(note + "1"));  // made at another time
    CHECK(exists(tags[i], ids[i]));
    CHECK(remove_sysv(note));
    CHECK(!exists(tags[i], ids[i]));
    CHECK(remove_sysv(note));
  }
  CHECK(!remove_sysv("/shm:1:"));
  CHECK(!remove_sysv("shm"));
}

TEST("what there is no room to remember is taken away") {
  char path[] = "/tmp/cryo-unit-XXXXXX";
  const UniqueFd fd(::mkstemp(path));
  const auto ledger = std::make_unique<Ledger>();
  const OwnNames own;
  CreatedPaths paths(*ledger);
  paths.add("/a");
  // The name below is longer.
  for (const auto entry = ledger->paths_len; sizeof(ledger->paths) - ledger->paths_len > entry;)
    paths.add("/a");
  CHECK_EQ(::access(path, F_OK), 0);
  CHECK_ERROR(ENOSPC, "too many files to recreate", paths.add(path));
  CHECK(::access(path, F_OK) != 0);
}

TEST("there is room for what a job of thousands of objects makes") {
  Context context;
  context.sem_sets.resize(5000);
  const SharedReport report(3, CreatedPaths::room_for(context));
  const OwnNames own;
  CreatedPaths paths(report.ledger());
  for (int i = 0; i < 5000; ++i) {
    const std::string note = fmt::format("sem:{}:{}:4294967295:4294967295:0:17", 2147483647 - i, i);
    paths.add(note + "00000000");
    paths.add(note + "00000001");
    paths.remove(note + "00000000");
  }
  CHECK_EQ(paths.list().size(), 5000U);
  CHECK_EQ(report.places().size(), 3U);
  CHECK_EQ(report.places()[2].pid, 0);
}

// On a file system of which cuts can be seen.
TEST("a tail stays when its file has not its bytes any more") {
  struct statfs system;
  const char* const place =
      ::statfs("/dev/shm", &system) == 0 && system.f_type == TMPFS_MAGIC ? "/dev/shm" : "/tmp";
  CHECK(::statfs(place, &system) == 0);
  if (system.f_type != TMPFS_MAGIC && system.f_type != EXT4_SUPER_MAGIC) return;
  std::string top = std::string(place) + "/cryo-unit-XXXXXX";
  CHECK(::mkdtemp(top.data()) != nullptr);
  const std::string of = top + "/log", odd = top + "/a file: 7 f/log.cut.1", tail = top + "/log.cut.2";
  CHECK(::mkdir((top + "/a file: 7 f").c_str(), 0700) == 0);
  const OwnNames own;
  const auto ledger = std::make_unique<Ledger>();
  CreatedPaths paths(*ledger);
  const auto write = [](const std::string& name, int flags, std::string_view text) {
    const UniqueFd fd(::open(name.c_str(), O_CREAT | O_WRONLY | flags, 0600));
    CHECK_EQ(::write(fd.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  };
  const auto note = [&] {
    struct stat before;
    for (const std::string& name : {odd, tail}) write(name, O_TRUNC, "tail");
    CHECK_EQ(::stat(of.c_str(), &before), 0);
    for (const std::string& name : {odd, tail}) paths.add_tail(name, of, before);
  };
  const auto are_removed = [&](Cutting cutting) {
    const bool removed = paths.remove_all(cutting).empty();
    CHECK_EQ(removed, ::access(odd.c_str(), F_OK) != 0 && ::access(tail.c_str(), F_OK) != 0);
    for (const std::string& name : {odd, tail}) paths.remove(name);
    return removed;
  };
  const auto begin = [&] {
    write(of, O_TRUNC, "log, tail");
    note();
  };
  begin();
  CHECK_EQ(paths.list().front(), odd);
  // What is being cut may be shorter at any moment.
  CHECK((paths.remove_all(Cutting::kByAll) == std::vector<std::string>{tail, odd}));
  CHECK(are_removed(Cutting::kByServers));
  begin();
  write(of, O_APPEND, " of others");
  CHECK(are_removed(Cutting::kByServers));
  for (const std::string_view others : {"", "of others", "of others, who have written much"}) {
    begin();
    CHECK_EQ(::truncate(of.c_str(), 5), 0);
    write(of, O_APPEND, others);
    CHECK(!are_removed(Cutting::kByServers));
    begin();
    CHECK_EQ(::truncate(of.c_str(), 5), 0);
    write(of, O_APPEND, others);
    CHECK(are_removed(Cutting::kNo));
  }
  // Another file that has the name, and where nobody has it.
  begin();
  CHECK_EQ(::rename(of.c_str(), (of + ".1").c_str()), 0);
  write(of, O_TRUNC, "log, tail");
  CHECK(!are_removed(Cutting::kByServers));
  begin();
  CHECK_EQ(::unlink(of.c_str()), 0);
  CHECK(!are_removed(Cutting::kByServers));
  std::filesystem::remove_all(top);
}

// A file of the job, of 100 bytes, at descriptor `fd`.
struct OutputCase {
  Context context;
  FileUses uses;

  OutputCase(int fd, int flags, std::uint64_t pos, std::uint32_t outside) {
    Inode& inode = context.inodes[1];
    inode.id = 1;
    inode.head.mode = S_IFREG | 0600;
    inode.head.size = 100;
    add(1, fd, flags, pos, outside);
  }
  void add(std::uint32_t id, int fd, int flags, std::uint64_t pos, std::uint32_t outside) {
    File& file = context.files[id];
    file.id = id;
    file.head.inode = 1;
    file.head.kind = CRYO_FILE_PATH;
    file.head.flags = static_cast<std::uint32_t>(flags);
    file.head.pos = pos;
    file.head.outside = outside;
    uses[id].fds.push_back({static_cast<std::uint32_t>(fd), id, 0, 0});
  }
  Tail tail(Tails tails) const {
    RestartOptions options;
    options.tails = tails;
    return tail_of(context, find_outputs(context, uses), options, context.file(1));
  }
  OutputPlace place(const OtherUse* other = nullptr, std::uint64_t size = 101) const {
    return output_place(context, find_outputs(context, uses), context.file(1), uses.at(1), other, size);
  }
};

TEST("output: what has come stays where others had the file, too") {
  constexpr std::uint32_t kShared = CRYO_OUTSIDE_SHARED, kWriter = CRYO_OUTSIDE_WRITER;
  CHECK(OutputCase(1, O_WRONLY, 100, 0).tail(Tails::kDefault) == Tail::kAside);
  CHECK(OutputCase(1, O_WRONLY | O_APPEND, 100, 0).tail(Tails::kDefault) == Tail::kStays);
  for (const std::uint32_t outside : {kShared, kWriter, kShared | kWriter})
    for (const int flags : {O_WRONLY, O_RDWR, O_WRONLY | O_APPEND}) {
      const OutputCase output(5, flags, 7, outside);
      CHECK(output.tail(Tails::kDefault) == Tail::kStays);
      CHECK(output.tail(Tails::kStay) == Tail::kStays);
      CHECK(output.tail(Tails::kAside) == Tail::kAside);
      CHECK(output.tail(Tails::kGo) == Tail::kGoes);
    }
  CHECK(OutputCase(1, O_WRONLY | O_APPEND, 100, 0).tail(Tails::kAside) == Tail::kAside);
  CHECK(OutputCase(5, O_RDONLY, 100, kShared).tail(Tails::kAside) == Tail::kStays);
  // By one of two open files of the job.
  OutputCase two(1, O_WRONLY, 100, 0);
  two.add(2, 5, O_WRONLY, 3, kShared);
  CHECK(two.tail(Tails::kDefault) == Tail::kStays);
  CHECK(two.place() == OutputPlace::kAppends);
}

TEST("output: who was at the end goes on at the end") {
  constexpr std::uint32_t kShared = CRYO_OUTSIDE_SHARED, kWriter = CRYO_OUTSIDE_WRITER;
  CHECK(OutputCase(1, O_WRONLY, 100, 0).place() == OutputPlace::kSaved);
  CHECK(OutputCase(1, O_WRONLY, 100, kShared).place() == OutputPlace::kAppends);
  CHECK(OutputCase(1, O_RDWR, 100, kShared).place() == OutputPlace::kAppends);
  CHECK(OutputCase(5, O_WRONLY, 100, kShared).place() == OutputPlace::kAppends);
  CHECK(OutputCase(5, O_RDWR, 100, kShared).place() == OutputPlace::kEnd);
  CHECK(OutputCase(1, O_WRONLY, 100, kWriter).place() == OutputPlace::kAppends);
  CHECK(OutputCase(5, O_WRONLY, 100, kWriter).place() == OutputPlace::kAppends);
  CHECK(OutputCase(5, O_RDWR, 100, kWriter).place() == OutputPlace::kSaved);
  // Nobody has written.
  CHECK(OutputCase(5, O_WRONLY, 100, kWriter).place(nullptr, 100) == OutputPlace::kSaved);
  CHECK(OutputCase(5, O_WRONLY, 100, kShared).place(nullptr, 100) == OutputPlace::kAppends);
  CHECK(OutputCase(1, O_WRONLY, 100, kWriter).place(nullptr, 100) == OutputPlace::kAppends);
  for (const int fd : {1, 5})
    for (const std::uint32_t outside : {0U, kShared, kWriter}) {
      CHECK(OutputCase(fd, O_WRONLY, 99, outside).place() == OutputPlace::kSaved);
      CHECK(OutputCase(fd, O_RDONLY, 100, outside).place() == OutputPlace::kSaved);
    }
  OtherUse writes, is_context;
  is_context.context = true;
  CHECK(OutputCase(5, O_WRONLY, 100, 0).place(&writes) == OutputPlace::kAppends);
  CHECK(OutputCase(1, O_RDWR, 100, 0).place(&writes) == OutputPlace::kEnd);
  CHECK(OutputCase(1, O_WRONLY, 100, 0).place(&is_context) == OutputPlace::kSaved);
}

TEST("what has been made is removed, and only where and as it was made") {
  char directory[] = "/tmp/cryo-unit-XXXXXX";
  CHECK(::mkdtemp(directory) != nullptr);
  const std::string top = directory, there = top + "/there", other = top + "/other";
  CHECK(::mkdir(there.c_str(), 0700) == 0 && ::mkdir(other.c_str(), 0700) == 0);
  const auto make = [](const std::string& path) { UniqueFd(::open(path.c_str(), O_CREAT | O_RDWR, 0600)); };
  const auto is_there = [](const std::string& path) { return ::access(path.c_str(), F_OK) == 0; };
  const OwnNames own;
  const auto ledger = std::make_unique<Ledger>();
  CreatedPaths paths(*ledger);
  make(there + "/a");
  make(there + "/b");
  make(there + "/c");
  for (const char* name : {"/a", "/b", "/c"}) paths.add(there + name);
  CHECK(paths.discard(there + "/a"));
  CHECK(!is_there(there + "/a"));
  // Another file in its place.
  CHECK(::rename((there + "/b").c_str(), (top + "/b").c_str()) == 0);
  make(there + "/b");
  CHECK(!paths.discard(there + "/b"));
  CHECK(paths.remove_all(Cutting::kNo).empty());
  CHECK(is_there(there + "/b"));
  CHECK(!is_there(there + "/c"));
  // The same file, in another directory in the place of its own.
  make(there + "/d");
  paths.add(there + "/d");
  CHECK(::link((there + "/d").c_str(), (other + "/d").c_str()) == 0);
  CHECK(::rename(there.c_str(), (top + "/moved").c_str()) == 0 &&
        ::rename(other.c_str(), there.c_str()) == 0);
  CHECK(paths.remove_all(Cutting::kNo).empty());
  CHECK(is_there(there + "/d"));
  std::filesystem::remove_all(top);
}

TEST("names belong to somebody") {
  CHECK_ERROR(EPERM, "no owner is set", (void)names::open("/dev/null", O_RDONLY));
  ContextBuilder builder;
  Context& context = builder.context;
  Creds& creds = *context.processes.front().creds;
  creds.head.fsuid = 1000;
  creds.head.cap_effective = 0;
  CHECK_EQ(NamesOf::current(), NamesOf::kOwn);
  {
    const NamesOf theirs(context, 0);
    CHECK_EQ(NamesOf::current(), 0U);
    const OwnNames own;
    CHECK_EQ(NamesOf::current(), NamesOf::kOwn);
  }
  CHECK_EQ(rights_of(context, context.processes.front()).uid, 1000U);
}

TEST("a file of the checkpoint is known by its number and its age") {
  char path[] = "/tmp/cryo-unit-XXXXXX";
  const UniqueFd fd(::mkstemp(path));
  struct stat now;
  CHECK_EQ(::fstat(fd.get(), &now), 0);
  const std::string name = path;
  Again again{name, O_RDWR, now.st_dev, now.st_ino, now.st_mode, now.st_uid, ~std::uint64_t{0}};
  // Here, /tmp may be without a device, where nothing proves it.
  if (!is_same_file(fd.get(), again)) CHECK_EQ(major(now.st_dev), 0U);
  again.ino += 1;
  CHECK(!is_same_file(fd.get(), again));
  again.ino -= 1;
  again.uid = now.st_uid + 1;
  CHECK(!is_same_file(fd.get(), again));
  again.uid = now.st_uid;
  again.mode = S_IFIFO;
  CHECK(!is_same_file(fd.get(), again));
  again.mode = now.st_mode;
  // Younger than the checkpoint.
  again.created_ns = 1;
  CHECK(!is_same_file(fd.get(), again));
  ::unlink(path);
}

TEST("a file without a device is never known to be the same") {
  const std::string name = "/proc/self/status";
  const UniqueFd fd(::open(name.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat now;
  CHECK_EQ(::fstat(fd.get(), &now), 0);
  CHECK(!is_same_file(fd.get(),
                      {name, O_RDWR, now.st_dev, now.st_ino, now.st_mode, now.st_uid, ~std::uint64_t{0}}));
}

TEST("bytes that a terminal acts upon are told by their numbers") {
  CHECK_EQ(without_controls("a\x1b[2Jb\n\x7f"), "a\\x1b[2Jb\\x0a\\x7f");
  CHECK_EQ(without_controls("\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80"),
           "\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80");
  CHECK_EQ(without_controls("\x9b"
                            "2J"),
           "\\x9b2J");
  CHECK_EQ(without_controls("\xc2\x9b"
                            "2J"),
           "\\xc2\\x9b2J");
}

TEST("who begins to tell of an error and dies is not waited for without end") {
  stub::Report report{};
  CHECK(claim_failure(report));
  auto waits =
      std::async(std::launch::async, [&] { return await_failure(report, std::chrono::milliseconds(20)); });
  const bool ends = waits.wait_for(std::chrono::seconds(10)) == std::future_status::ready;
  publish_failure(report);
  CHECK(ends);
  CHECK(!waits.get());
  CHECK(await_failure(report, std::chrono::milliseconds(20)));
}

TEST("a failure names process, thread and object") {
  const ContextBuilder builder;
  stub::Report report{};
  const auto ledger = std::make_unique<Ledger>();
  report.failed = 2;
  report.step = kLimitStep;
  report.index = 7;
  report.error = EPERM;
  const Process& process = builder.context.processes.front();
  CHECK_EQ(describe_failure(read_failure(report, *ledger), builder.context),
           fmt::format(
               "pid {}: cannot set the limit of open files (RLIMIT_NOFILE): Operation not permitted (EPERM)",
               process.head.pid));
}

TEST("a file that could not be read before it was to be cut is none that has been written anew") {
  ContextBuilder builder;
  builder.context.files[7].path = "/log";
  stub::Report report{};
  const auto ledger = std::make_unique<Ledger>();
  report.failed = 2;
  report.step = kOldEndStep;
  report.index = 7;
  const auto said = [&](int error) {
    report.error = error;
    return describe_failure(read_failure(report, *ledger), builder.context);
  };
  CHECK(said(ESTALE).ends_with(
      ": /log is not truncated: it was rewritten during the restart: Stale file handle (ESTALE)"));
  CHECK(said(EIO).ends_with(
      ": /log is not truncated: cannot read it to check whether it was rewritten: Input/output error (EIO)"));
}

TEST("a thread's id that somebody has: it is said who") {
  ContextBuilder builder;
  builder.add_thread(::getpid());
  stub::Report report{};
  const auto ledger = std::make_unique<Ledger>();
  report.failed = 2;
  report.step = stub::Step::kThreadId;
  report.thread = 1;
  report.error = EEXIST;
  const pid_t pid = builder.context.processes.front().head.pid;
  const auto said = [&] { return describe_failure(read_failure(report, *ledger), builder.context); };
  CHECK_EQ(said(),
           fmt::format("pid {}, thread {}: its id is in use by cr_restart itself: File exists (EEXIST)", pid,
                       ::getpid()));
  builder.context.processes.front().threads.back().head.tid = 3999998;
  CHECK_EQ(said(), fmt::format("pid {}, thread 3999998: cannot get its id: lost to other processes in {} "
                               "attempts: File exists (EEXIST)",
                               pid, stub::kMaxTidTries));
}

TEST("whatever a report says can be told") {
  const ContextBuilder builder;
  const auto ledger = std::make_unique<Ledger>();
  stub::Report report{};
  report.process = ~0U;
  CHECK(!describe_failure(read_failure(report, *ledger), builder.context).empty());
  std::memset(ledger->text, 'x', sizeof(ledger->text));
  for (std::uint32_t step = 0; step < 100; ++step)
    for (const std::uint32_t number : {0U, 1U, 64U, 0x7fffffffU, ~0U}) {
      report.step = static_cast<stub::Step>(step);
      report.process = number == 1 ? ~0U : 0;
      report.thread = report.index = number;
      report.address = number;
      report.error = static_cast<std::int32_t>(number);
      const FailureReport failure = read_failure(report, *ledger);
      CHECK(failure.error > 0 && failure.error < 4096);
      CHECK(!describe_failure(failure, builder.context).empty());
    }
  CHECK_EQ(read_failure(report, *ledger).text.size(), sizeof(ledger->text));
}

}  // namespace
}  // namespace cryo::test
