// SPDX-License-Identifier: GPL-2.0-only
// each_level.h - what rights.cc looks at on each level of Yama: groups of processes, who of them is stopped
// and told, who hears of it, and an ordinary user's restart.
#ifndef EACH_LEVEL_H
#define EACH_LEVEL_H

#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <thread>

#include "hear.h"
#include "tap.h"

namespace others {

// A process of the user that votes when a checkpoint tells it; told: how often.
[[noreturn]] inline void take_part(Board* board) {
  cryo_client args{};
  args.size = sizeof(args);
  const int handle = static_cast<int>(must(ioctl(device(), CRYO_IOC_CLIENT, &args), "CRYO_IOC_CLIENT"));
  board->ready++;
  for (;;) {
    cryo_client_request request{};
    request.size = sizeof(request);
    if (ioctl(handle, CRYO_CLIENT_WAIT, &request) < 0) continue;
    board->told++;
    cryo_client_vote vote{};
    vote.size = sizeof(vote);
    ioctl(handle, CRYO_CLIENT_VOTE, &vote);
  }
}

class EachLevel {
 public:
  EachLevel(crt::Tap& tap, Board* board) : tap_(tap), board_(board), group_("/sys/fs/cgroup/cryo-rights") {
    std::filesystem::create_directory(group_);
    make_contexts();
  }
  ~EachLevel() {
    std::error_code error;
    std::filesystem::remove(group_, error);
    for (const char* suffix : {".plain", ".peers", ".plain.count", ".peers.count", ".said"})
      std::filesystem::remove(base_ + suffix, error);
  }
  EachLevel(const EachLevel&) = delete;
  EachLevel& operator=(const EachLevel&) = delete;

  void at(int yama) {
    level_ = yama;
    const int any = yama == 0 ? 0 : EPERM, consented = yama < 2 ? 0 : EPERM, root = yama < 3 ? 0 : EPERM;
    for (const uint32_t scope : {CRYO_SCOPE_PGRP, CRYO_SCOPE_SESSION, CRYO_SCOPE_TREE, CRYO_SCOPE_CGROUP}) {
      look(scope, Consent::kNone, kUser, any);
      look(scope, Consent::kLeader, kUser, any);
      look(scope, Consent::kAll, kUser, consented);
      look(scope, Consent::kAll, kOther, EPERM);
      look(scope, Consent::kNone, 0, root);
    }
    Child user([&] {
      become(kUser);
      board_->error = join(listen_socket());
    });
    user.wait();
    say(board_->error == EPERM, "a user does not listen to events");
    restart(0, kUser, "an ordinary user restarts his job");
    restart(1, kUser, "... one whose processes know each other by their pids");
    restart(1, 0, "... that one by root");
  }

 private:
  enum class Consent { kNone, kLeader, kAll };

  static const char* name(uint32_t scope) {
    static const char* const names[] = {"a process", "a process group", "a session", "a tree",
                                        "a control group"};
    return names[scope];
  }

  void say(bool good, const std::string& text) {
    if (!tap_.ok(good, "Yama " + std::to_string(level_) + ": " + text)) tap_.diag(board_->log);
  }

  static void consent() {
    cryo_consent args{sizeof(cryo_consent), CRYO_CONSENT_GIVE};
    ioctl(device(), CRYO_IOC_CONSENT, &args);
  }

  // A leader, and a child, both of which take part.
  [[noreturn]] void be_group(Consent consents) {
    setsid();
    std::ofstream(group_ + "/cgroup.procs") << getpid() << std::endl;
    become(kUser);
    if (consents == Consent::kAll) consent();
    if (fork() == 0) take_part(board_);
    if (consents == Consent::kLeader) consent();
    take_part(board_);
  }

  static bool heard(int listener) {
    char text[4096];
    bool any = false;
    while (recv(listener, text, sizeof(text), MSG_DONTWAIT) > 0) any = true;
    return any;
  }

  void look(uint32_t scope, Consent consents, uid_t by, int wanted) {
    static const char* const texts[] = {"that has not consented", "of which one has", "that has consented"};
    board_->ready = 0;
    board_->told = 0;
    Child group([&] { be_group(consents); });
    until([this] { return board_->ready == 2; });
    // Not before: one that has something to read would be an obstacle.
    const int listener = listen_socket();
    join(listener);
    const int error = request_as(board_, by, request_for(group.pid(), scope, 0));
    const std::string who = by == kUser ? "its user" : by == 0 ? "root" : "another user";
    const std::string what = std::string(name(scope)) + " " + texts[static_cast<int>(consents)] + ", " + who;
    const bool told = board_->told == (wanted == 0 ? 2 : 0);
    say(error == wanted && told, what + (wanted ? ": refused, nobody is told" : ": allowed, both are told"));
    if (error != wanted || !told)
      tap_.diag(std::string("it is ") + std::strerror(error) + ", " + std::to_string(board_->told) +
                " were told");
    const bool hears = heard(listener);
    close(listener);
    if (wanted == 0) say(hears, "... root hears of it");
    kill(-group.pid(), SIGKILL);
  }

  // ---- a job of the user's, whose two processes look at each other's pid at the ends of a connection ----

  std::string program() { return std::filesystem::read_symlink("/proc/self/exe").parent_path() / "counter"; }

  static void be_quiet() {
    setsid();
    must(chdir("/var/tmp"), "chdir");
    const int null = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3; fd++) dup2(null, fd);
    close_range(3, ~0U, 0);
  }

  int run(const std::function<void()>& execute) {
    Child child([&] {
      become(kUser);
      be_quiet();
      execute();
      _exit(127);
    });
    return child.wait();
  }

  std::string counted() {
    std::string text;
    std::ifstream(count_) >> text;
    return text;
  }

  bool counts() {
    const std::string before = counted();
    for (const int64_t end = now_ms() + 10000 * factor(); now_ms() < end; usleep(10000))
      if (!counted().empty() && counted() != before) return counted() != "wrong";
    return false;
  }

  // Of a job without, and one with such an end.
  void make_contexts() {
    base_ = "/var/tmp/cryo-rights." + std::to_string(getpid());
    for (int peers = 0; peers < 2; peers++) {
      count_ = context(peers) + ".count";
      std::ofstream(count_).close();
      must(chown(count_.c_str(), kUser, kUser), "chown");
      Child job([&] {
        become(kUser);
        be_quiet();
        execl(program().c_str(), "counter", count_.c_str(), peers ? "peers" : nullptr, nullptr);
        _exit(127);
      });
      jobs_[peers] = job.pid();
      counts();
      const int status = run([&] {
        execlp("cr_checkpoint", "cr_checkpoint", "--tree", "--kill", "-f", context(peers).c_str(),
               std::to_string(job.pid()).c_str(), nullptr);
      });
      tap_.ok(status == 0, "a context of a user's job");
    }
  }

  std::string context(int peers) const { return base_ + (peers ? ".peers" : ".plain"); }

  // A restart traces nobody: it works on each level.
  void restart(int peers, uid_t by, const std::string& what) {
    std::memset(board_->log, 0, sizeof(board_->log));
    count_ = context(peers) + ".count";
    Child tool([&] {
      become(by);
      be_quiet();
      dup2(open((base_ + ".said").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666), 2);
      execlp("cr_restart", "cr_restart", "--other-owner=warn", context(peers).c_str(), nullptr);
      _exit(127);
    });
    const bool good = counts();
    std::ifstream(base_ + ".said").read(board_->log, sizeof(board_->log) - 1);
    say(good, what + ": works");
    kill(jobs_[peers], SIGKILL);
    tool.wait();
    std::filesystem::remove(base_ + ".said");
  }

  crt::Tap& tap_;
  Board* board_;
  std::string group_, base_, count_;
  int level_ = 0;
  pid_t jobs_[2] = {0, 0};
};

}  // namespace others

#endif  // EACH_LEVEL_H
