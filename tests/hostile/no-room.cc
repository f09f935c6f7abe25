// SPDX-License-Identifier: GPL-2.0-only
// Places where no context can be written: full, read-only, missing, too small a limit, a reader
// that goes away. The error names the place, the process runs on, nothing is left behind.
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "hostile.h"

using namespace hostile;
namespace fs = std::filesystem;

namespace {

int files_in(const fs::path& dir) {
  int n = 0;
  for (const auto& entry : fs::directory_iterator(dir)) {
    (void)entry;
    n++;
  }
  return n;
}

void fails(crt::Tap& tap, Victim& victim, const std::string& what, const Outcome& outcome,
           const std::string& word) {
  tap.ok(outcome.clean_failure(), what + ": fails with " + crt::say_status(outcome.status));
  if (!tap.ok(outcome.says(word), what + ": names \"" + word + "\"")) tap.diag(outcome.text);
  tap.ok(victim.ticking() && victim.errors() == 0, what + ": the process runs on");
}

void full_disk(crt::Tap& tap, Victim& victim) {
  fs::path dir = victim.dir() / "small";
  fs::create_directory(dir);
  if (mount("tmpfs", dir.c_str(), "tmpfs", 0, "size=2m,mode=777")) {
    tap.skip("full disk", std::string("no tmpfs: ") + strerror(errno));
    return;
  }
  fails(tap, victim, "full disk", victim.checkpoint({}, dir / "ctx"), dir.string());
  tap.ok(files_in(dir) == 0, "full disk: nothing is left there");
  std::ofstream(dir / "ctx") << "an older one";
  (void)!chown((dir / "ctx").c_str(), victim.user().uid, victim.user().gid);
  fails(tap, victim, "full disk, replacing", victim.checkpoint({}, dir / "ctx"), dir.string());
  tap.ok(crt::read_file(dir / "ctx") == "an older one",
         "full disk, replacing: the old context is there still");
  umount2(dir.c_str(), MNT_DETACH);
}

void limits(crt::Tap& tap, Victim& victim) {
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  rlimit small = {1 << 20, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);  // the tool inherits it; cr_checkpoint must not die of SIGXFSZ
  Outcome outcome = victim.checkpoint({});
  setrlimit(RLIMIT_FSIZE, &before);
  fails(tap, victim, "file size limit", outcome, "ctx");
  tap.ok(!fs::exists(victim.context()), "file size limit: no context is left");
}

void places(crt::Tap& tap, Victim& victim) {
  fails(tap, victim, "no such directory", victim.checkpoint({}, victim.dir() / "none" / "ctx"), "none");
  fs::path locked = victim.dir() / "locked";
  fs::create_directory(locked);
  chmod(locked.c_str(), 0555);  // the test's own, not the user's
  if (victim.user().uid != 0)
    fails(tap, victim, "unwritable directory", victim.checkpoint({}, locked / "ctx"), "locked");
  fails(tap, victim, "a directory", victim.checkpoint({"--clobber"}, victim.dir()), victim.dir());
  fails(tap, victim, "/dev/full", victim.checkpoint({"--clobber"}, "/dev/full"), "/dev/full");
  std::ofstream(victim.dir() / "taken") << "mine";
  fails(tap, victim, "--noclobber", victim.checkpoint({"--noclobber"}, victim.dir() / "taken"), "taken");
  tap.ok(crt::read_file(victim.dir() / "taken") == "mine", "--noclobber: the file is left alone");
}

// The tool writes to a pipe whose reader goes after the first bytes.
void broken_pipe(crt::Tap& tap, Victim& victim) {
  std::string tool = crt::env_or("CR_CHECKPOINT", "cr_checkpoint");
  std::string line = "exec 2>'" + victim.dir().string() + "/pipe.log'; { " + tool + " -F 1 " +
                     std::to_string(victim.pid()) + "; echo status=$? >&2; } | head -c 5000 >/dev/null";
  pid_t pid = crt::start_logged({"/bin/sh", "-c", line}, victim.user(), victim.dir() / "tool.log");
  victim.finish_tool(pid);
  std::string text = crt::read_file(victim.dir() / "pipe.log");
  tap.ok(text.find("status=0") == std::string::npos && text.find("status=") != std::string::npos,
         "broken pipe: fails");
  if (text.find("status=") == std::string::npos) tap.diag(text);
  tap.ok(victim.ticking() && victim.errors() == 0, "broken pipe: the process runs on");
}

}  // namespace

int main() {
  crt::Tap tap;
  try {
    Victim victim({"plain"});
    places(tap, victim);
    limits(tap, victim);
    broken_pipe(tap, victim);
    full_disk(tap, victim);
    tap.ok(victim.checkpoint_and_kill(), "a checkpoint where there is room works");
    victim.restart(victim.context());
    tap.ok(victim.restarted(), "and its restart");
  } catch (const std::exception& error) {
    tap.ok(false, error.what());
  }
  return tap.finish();
}
