// SPDX-License-Identifier: LGPL-2.1-or-later
// What callbacks can learn about a restart: the environment of whoever asked for it, and which paths have
// been moved. The module keeps both for the library, as strings (client.h). Without the C library's memory:
// after a restart a held thread may have its lock.
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "internal.h"

namespace cryo::libcr {
namespace {

struct Facts {
  char* text;  // NULL: none
  std::size_t size;
  int error;  // that kept them from being read
};

// Behind them, so that all strings in them have an end.
constexpr std::size_t kZeros = 2;

constinit Facts g_facts{};

cryo_client_restart ask(void* room, std::size_t size) {
  char source[1];
  cryo_client_restart restart{};
  restart.size = sizeof(restart);
  restart.source = reinterpret_cast<std::uintptr_t>(source);
  restart.source_size = sizeof(source);
  restart.facts = reinterpret_cast<std::uintptr_t>(room);
  restart.facts_size = static_cast<std::uint32_t>(size);
  if (::ioctl(g_process.client_fd, CRYO_CLIENT_RESTART_INFO, &restart) != 0) restart.facts_size = 0;
  return restart;
}

const char* next_of(const char* fact) {
  return fact + ::strlen(fact) + 1;
}

const char* end() {
  return g_facts.text + g_facts.size;
}

// In a callback after a restart.
bool are_known() {
  return ::cr_get_restart_info() != nullptr;
}

// The rest of `path` behind `directory`, on whole components; NULL: it is not in there.
const char* behind(const char* path, const char* directory) {
  const std::size_t length = ::strlen(directory);
  if (::strncmp(path, directory, length) != 0) return nullptr;
  return path[length] == '\0' || path[length] == '/' ? path + length : nullptr;
}

struct Moved {
  const char* head;
  const char* tail;
};

// The first that fits holds, as in cr_restart.
Moved move(const char* path) {
  for (const char* fact = g_facts.text; fact != nullptr && fact < end(); fact = next_of(fact)) {
    if (*fact != CRYO_FACT_OLD_PATH) continue;
    const char* const tail = behind(path, fact + 1);
    if (tail == nullptr) continue;
    const char* const head = next_of(fact) + 1;
    return {*head == '\0' && *tail == '\0' ? "/" : head, tail};
  }
  return {"", path};
}

}  // namespace

void read_facts() {
  forget_facts();
  const std::size_t size = ask(nullptr, 0).facts_size;
  if (size == 0) return;
  void* const room =
      ::mmap(nullptr, size + kZeros, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED)
    g_facts.error = ENOMEM;
  else
    g_facts = {static_cast<char*>(room), ask(room, size).facts_size, 0};
}

void forget_facts() {
  if (g_facts.text != nullptr) ::munmap(g_facts.text, g_facts.size + kZeros);
  g_facts = {};
}

}  // namespace cryo::libcr

using namespace cryo::libcr;

LIBCR_PUBLIC const char* cr_get_restart_env(const char* name) {
  if (!are_known()) {
    errno = CR_ENOTCB;
    return nullptr;
  }
  const std::size_t length = ::strlen(name);
  for (const char* fact = g_facts.text; fact != nullptr && fact < end(); fact = next_of(fact)) {
    if (*fact != CRYO_FACT_VARIABLE || ::strncmp(fact + 1, name, length) != 0) continue;
    if (fact[1 + length] == '=') return fact + length + 2;
  }
  errno = g_facts.error != 0 ? g_facts.error : ENOENT;
  return nullptr;
}

LIBCR_PUBLIC int cr_get_restart_path(const char* path, char* buffer, size_t size) {
  if (!are_known()) return fail(CR_ENOTCB);
  if (g_facts.error != 0) return fail(g_facts.error);
  const Moved moved = move(path);
  const std::size_t head = ::strlen(moved.head);
  const std::size_t length = head + ::strlen(moved.tail);
  if (length >= size) return fail(ERANGE);
  ::memcpy(buffer, moved.head, head);
  ::strcpy(buffer + head, moved.tail);
  return static_cast<int>(length);
}
