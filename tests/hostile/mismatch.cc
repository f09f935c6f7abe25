// SPDX-License-Identifier: GPL-2.0-only
// Contexts that are whole but cannot be restarted here and now: another architecture or format,
// a pid in use, a file gone or changed. Each is refused by name, and nothing is left.
#include <cryo/format.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <fstream>
#include <functional>
#include <span>

#include "base/crc32c.h"
#include "hostile.h"

using namespace hostile;
namespace fs = std::filesystem;

namespace {

void refused(crt::Tap& tap, Victim& victim, const std::string& what, const fs::path& context,
             const std::string& word) {
  Outcome outcome = victim.restart(context);
  if (!tap.ok(!victim.restarted() && outcome.clean_failure(),
              what + ": refused with " + crt::say_status(outcome.status)))
    tap.diag(outcome.summary());
  if (!tap.ok(outcome.says(word), what + ": names \"" + word + "\"")) tap.diag(outcome.text);
  tap.ok(victim.gone(), what + ": no process is left");
}

void comes_up(crt::Tap& tap, Victim& victim, const std::string& what, const fs::path& context) {
  Outcome outcome = victim.restart(context);
  if (!tap.ok(victim.restarted(), what)) tap.diag(outcome.summary());
}

// What else tells the architecture: the CPU section, and the index entry for it.
void set_cpu_arch(std::vector<char>& bytes, size_t at, __u32 arch) {
  while (at + sizeof(cryo_section) <= bytes.size()) {
    auto* head = reinterpret_cast<cryo_section*>(&bytes[at]);
    char* payload = &bytes[at] + sizeof(*head) + head->pad;
    if (head->type == CRYO_SEC_CPU) head->object = arch;
    if (head->type == CRYO_SEC_INDEX) {
      auto* entry = reinterpret_cast<cryo_index_entry*>(payload + head->fixed_len);
      auto* end = reinterpret_cast<cryo_index_entry*>(payload + head->length);
      for (; entry < end; entry++)
        if (entry->type == CRYO_SEC_CPU) entry->object = arch;
    }
    if (head->type == CRYO_SEC_CPU || head->type == CRYO_SEC_INDEX) {
      head->crc = cryo::crc32c(std::as_bytes(std::span(payload, head->length)));
      head->header_crc =
          cryo::crc32c(std::as_bytes(std::span(head, 1)).first(offsetof(cryo_section, header_crc)));
    }
    at += sizeof(*head) + head->pad + head->length;
  }
}

// A copy of the context with another header, whose checksum is right.
fs::path with_header(Victim& victim, const std::function<void(cryo_file_header&)>& change) {
  std::vector<char> bytes = read_bytes(victim.context());
  cryo_file_header header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  change(header);
  header.crc = cryo::crc32c(std::as_bytes(std::span(&header, 1)).first(offsetof(cryo_file_header, crc)));
  std::memcpy(bytes.data(), &header, sizeof(header));
  set_cpu_arch(bytes, header.header_len, header.arch);
  fs::path path = victim.dir() / "changed";
  write_bytes(path, bytes, victim.user());
  return path;
}

void headers(crt::Tap& tap, Victim& victim) {
  std::string other;
  fs::path context = with_header(victim, [&](auto& h) {
    other = h.arch == CRYO_ARCH_AARCH64 ? "x86_64" : "aarch64";
    h.arch = other == "aarch64" ? CRYO_ARCH_AARCH64 : CRYO_ARCH_X86_64;
  });
  refused(tap, victim, "another architecture", context, other);
  refused(tap, victim, "an unknown architecture", with_header(victim, [](auto& h) { h.arch = 4242; }),
          "architecture");
  refused(tap, victim, "a newer format", with_header(victim, [](auto& h) { h.format_major = 2; }), "format");
  refused(tap, victim, "an older format", with_header(victim, [](auto& h) { h.format_major = 0; }), "format");
  refused(tap, victim, "an unknown incompatible feature",
          with_header(victim, [](auto& h) { h.incompat = 1ULL << 63; }), "feature");
  refused(tap, victim, "a feature one may only read",
          with_header(victim, [](auto& h) { h.ro_compat = 1ULL << 63; }), "feature");
  refused(tap, victim, "another page size",
          with_header(victim, [](auto& h) { h.page_size = h.page_size == 65536 ? 4096 : 65536; }), "changed");
  comes_up(tap, victim, "a newer minor version is no obstacle",
           with_header(victim, [](auto& h) { h.format_minor = 77; }));
  comes_up(tap, victim, "nor an unknown compatible feature",
           with_header(victim, [](auto& h) { h.compat = 1ULL << 63; }));
}

void set_last_pid(pid_t pid) {
  std::ofstream("/proc/sys/kernel/ns_last_pid") << pid;
}

// A process with this pid that does nothing; 0 if it cannot be had.
pid_t occupy(pid_t pid) {
  for (int i = 0; i < 20; i++) {
    set_last_pid(pid - 1);
    pid_t got = fork();
    if (got == 0) {
      for (;;) pause();
    }
    if (got == pid) return got;
    kill(got, SIGKILL);
    waitpid(got, nullptr, 0);
  }
  return 0;
}

void pid_in_use(crt::Tap& tap, Victim& victim) {
  pid_t last = static_cast<pid_t>(std::atoi(crt::read_file("/proc/sys/kernel/ns_last_pid").c_str()));
  pid_t squatter = occupy(victim.pid());
  set_last_pid(last);  // the ids of its threads stay free
  if (!squatter) {
    tap.skip("pid in use", "the pid cannot be had");
    return;
  }
  Outcome outcome = victim.restart(victim.context());
  if (!tap.ok(crt::exited_with(outcome.status, 16) && !victim.restarted(),
              "pid in use: " + crt::say_status(outcome.status) + ", expected 16"))
    tap.diag(outcome.text);
  if (!tap.ok(outcome.says(std::to_string(victim.pid())), "pid in use: names it")) tap.diag(outcome.text);
  tap.ok(crt::process_state(squatter) == 'S', "pid in use: its owner is not touched");
  kill(squatter, SIGKILL);
  waitpid(squatter, nullptr, 0);
  comes_up(tap, victim, "pid in use: works when it is free", victim.context());
}

class Aside {
 public:
  Aside(fs::path path) : path_(std::move(path)), away_(path_.string() + ".away") { fs::rename(path_, away_); }
  ~Aside() { fs::rename(away_, path_); }
  Aside(const Aside&) = delete;
  Aside& operator=(const Aside&) = delete;

 private:
  fs::path path_, away_;
};

void files(crt::Tap& tap, Victim& victim) {
  for (const char* name : {"open", "data", "watch"}) {
    Aside aside(victim.dir() / name);
    refused(tap, victim, std::string(name) + " is missing", victim.context(), (victim.dir() / name).string());
  }
  struct stat before;
  fs::path data = victim.dir() / "data";
  stat(data.c_str(), &before);
  std::ofstream(data, std::ios::app) << "more";
  refused(tap, victim, "a mapped file has grown", victim.context(), data.string());
  fs::resize_file(data, 8192);
  std::fstream(data, std::ios::in | std::ios::out) << "other";
  refused(tap, victim, "a mapped file has changed", victim.context(), data.string());
  std::fstream(data, std::ios::in | std::ios::out) << "ddddd";
  timespec times[2] = {before.st_atim, before.st_mtim};
  utimensat(AT_FDCWD, data.c_str(), times, 0);
  comes_up(tap, victim, "works when it is as it was", victim.context());
}

}  // namespace

int main() {
  crt::Tap tap;
  try {
    Victim victim({"plain"});
    if (!tap.ok(victim.checkpoint_and_kill(), "a checkpoint")) return tap.finish();
    comes_up(tap, victim, "that restarts", victim.context());
    refused(tap, victim, "no such file", victim.dir() / "nowhere", "nowhere");
    refused(tap, victim, "a directory", victim.dir(), victim.dir().string());
    headers(tap, victim);
    pid_in_use(tap, victim);
    files(tap, victim);
  } catch (const std::exception& error) {
    tap.ok(false, error.what());
  }
  return tap.finish();
}
