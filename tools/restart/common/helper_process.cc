// SPDX-License-Identifier: GPL-2.0-only
#include "restart/common/helper_process.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <climits>
#include <cstring>

#include "base/error.h"
#include "restart/common/child_end.h"

namespace cryo {
namespace {

struct Answer {
  int fd = -1;
  int second = -1;
  int error = 0;
  char text[4000] = {};
};
static_assert(sizeof(Answer) <= PIPE_BUF, "written at once, and read at once");

struct AnswerPipe {
  UniqueFd in, out;
};

AnswerPipe make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) fail_errno("cannot create a pipe");
  return {UniqueFd(ends[1]), UniqueFd(ends[0])};
}

pid_t clone_quietly(std::uint64_t flags) {
  clone_args args{};
  args.flags = flags;
  const auto pid = static_cast<pid_t>(::syscall(SYS_clone3, &args, sizeof(args)));
  if (pid < 0) fail_errno("cannot create a process");
  return pid;
}

// With an answer to write.
[[noreturn]] void answer_from(const std::function<FdPair()>& make, int to) {
  Answer answer;
  // Nobody else knows of it.
  (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
  try {
    FdPair made = make();
    answer.fd = made.first.release();
    answer.second = made.second.release();
  } catch (const Error& error) {
    answer.error = error.code();
    std::strncpy(answer.text, error.what(), sizeof(answer.text) - 1);
  } catch (const std::exception& error) {
    answer.error = ENOMEM;
    std::strncpy(answer.text, error.what(), sizeof(answer.text) - 1);
  }
  const bool told = ::write(to, &answer, sizeof(answer)) == static_cast<ssize_t>(sizeof(answer));
  ::_exit(told ? 0 : 1);
}

}  // namespace

FdPair pair_from_elsewhere(const std::function<FdPair()>& make) {
  const AnswerPipe pipe = make_pipe();
  const pid_t pid = clone_quietly(CLONE_FILES);
  if (pid == 0) answer_from(make, pipe.in.get());
  const int status = wait_for_end(pid);
  if (status != 0) fail(EIO, "a helper process of the restart {}", how_it_ended(status));
  Answer answer;
  if (::read(pipe.out.get(), &answer, sizeof(answer)) != static_cast<ssize_t>(sizeof(answer)))
    fail_errno("cannot read the result of a helper process of the restart");
  if (answer.error != 0) throw Error(answer.error, answer.text);
  return {UniqueFd(answer.fd), UniqueFd(answer.second)};
}

UniqueFd in_helper_process(const std::function<UniqueFd()>& make) {
  return pair_from_elsewhere([&] { return FdPair(make(), UniqueFd()); }).first;
}

std::string text_from_helper(const std::function<std::string()>& ask) {
  std::string text;
  try {
    (void)in_helper_process([&]() -> UniqueFd { throw Error(EAGAIN, "T" + ask()); });
  } catch (const Error& error) {
    text = error.what();
    if (error.code() != EAGAIN || !text.starts_with('T')) throw;
  }
  return text.empty() ? text : text.substr(1);
}

Assistant::Assistant(const std::function<int()>& work) {
  AnswerPipe pipe = make_pipe();
  pid_ = clone_quietly(0);
  if (pid_ == 0) {
    pipe.in.reset();
    char go = 0;
    if (::read(pipe.out.get(), &go, 1) != 1) ::_exit(0);
    int result = EIO;
    try {
      result = work();
    } catch (const std::exception&) {
    }
    ::_exit(result);
  }
  start_ = std::move(pipe.in);
}

Assistant::~Assistant() {
  start_.reset();
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);  // it has not begun, or may have been stopped since
  ::waitpid(pid_, nullptr, __WALL);
}

int Assistant::run() {
  const char go = 1;
  if (::write(start_.get(), &go, 1) != 1) fail_errno("cannot write to a pipe");
  const int status = wait_for_end(std::exchange(pid_, -1));
  return WIFEXITED(status) ? WEXITSTATUS(status) : EIO;
}

}  // namespace cryo
