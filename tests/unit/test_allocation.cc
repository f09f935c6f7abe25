// SPDX-License-Identifier: GPL-2.0-only
// Where cr_restart takes memory from. Here operator new is the library's, so that what it would do is called
// by name.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>

#include "restart/engine/allocation.h"
#include "unit/tap.h"

namespace cryo::test {
namespace {

constexpr std::size_t kSmall = 100;

char* taken(std::size_t size) {
  return static_cast<char*>(allocation::take(size));
}

// How a child that does this ends: an exit status, or minus a signal.
int child(const std::function<int()>& what) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::signal(SIGSEGV, SIG_DFL);
    ::_exit(what());
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

TEST("allocation: what is inherited is one memory for all forks, which a seal keeps as it is") {
  const allocation::Inherited memory;
  char* text = memory.fill([] { return taken(kSmall); });
  std::strcpy(text, "before");
  CHECK_EQ(child([&] {
             std::strcpy(text, "common");
             return 7;
           }),
           7);
  CHECK_EQ(std::string(text), "common");
  {
    const allocation::Inherited::Seal seal;
    CHECK_EQ(child([&] { return std::strcmp(text, "common") == 0 ? 1 : 2; }), 1);
    CHECK_EQ(child([&] {
               *text = 'x';
               return 0;
             }),
             -SIGSEGV);
  }
  *text = 'x';
  allocation::give_back(text);  // with all the rest
  CHECK_EQ(*text, 'x');
}

TEST("allocation: long parts and what comes later are of the heap") {
  const allocation::Inherited memory;
  char* longer = memory.fill([] { return taken(1 << 20); });
  char* later = taken(kSmall);
  for (char* part : {longer, later}) {
    *part = 'a';
    CHECK_EQ(child([&] {
               *part = 'b';
               return 0;
             }),
             0);
    CHECK_EQ(*part, 'a');
    allocation::give_back(part);
  }
}

TEST("allocation: many chunks, each part at its alignment, and none twice") {
  const allocation::Inherited memory;
  CHECK_EQ(memory.fill([] {
    char* last = nullptr;
    for (int i = 0; i < 100000; ++i) {
      char* part = taken(static_cast<std::size_t>(i % 301));
      if (part == nullptr || reinterpret_cast<std::uintptr_t>(part) % 16 != 0) return -1;
      if (last != nullptr && *last != 'L') return i;
      std::memset(part, 'n', static_cast<std::size_t>(i % 301));
      *part = 'L';
      last = part;
    }
    return 0;
  }),
           0);
}

TEST("allocation: a process of the job gives nothing back, and has an area of its own") {
  char* before = taken(kSmall);
  std::memset(before, 'h', kSmall);
  CHECK_EQ(child([&] {
             allocation::keep_to_own_area();
             allocation::give_back(before);
             for (std::size_t i = 0; i < kSmall; ++i)
               if (before[i] != 'h') return 1;
             char* first = taken(kSmall);
             allocation::give_back(first);
             char* second = taken(kSmall);
             return second - first == 112 ? 0 : 2;
           }),
           0);
  allocation::give_back(before);
}

TEST("allocation: an exception keeps its text") {
  std::string text;
  try {
    const allocation::Inherited memory;
    char* part = memory.fill([] { return taken(kSmall); });
    std::strcpy(part, "why");
    throw const_cast<const char*>(part);
  } catch (const char* part) {
    text = part;
  }
  CHECK_EQ(text, "why");
}

}  // namespace
}  // namespace cryo::test
