// SPDX-License-Identifier: GPL-2.0-only
// Credentials of the calling thread alone: the raw system calls, as the C library's change those of all
// threads (nptl(7)). Where they return bool, false is a failure with errno set. Whatever changes them is here
// (tests/lint/sources), so that they need not be asked for before each use of a file.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <cstdlib>
#include <new>
#include <span>
#include <vector>

namespace cryo {

inline constexpr auto kAsk = static_cast<std::uint32_t>(-1);  // as an id: no change

// They return the id that was in effect before, whether or not it was changed.
std::uint32_t set_fsuid(std::uint32_t uid);
std::uint32_t set_fsgid(std::uint32_t gid);
bool set_uids(std::uint32_t real, std::uint32_t effective, std::uint32_t saved);
bool set_gids(std::uint32_t real, std::uint32_t effective, std::uint32_t saved);
bool set_groups(std::span<const std::uint32_t> groups);
bool set_capabilities(std::uint64_t effective, std::uint64_t permitted, std::uint64_t inheritable);

// unshare(2) and setns(2): with a user namespace come all capabilities in it, and other numbers.
bool make_namespaces(int types);
bool enter_namespace(int fd, int type);

// Of malloc(3) itself: what is known is kept for longer than the areas of engine/allocation.h.
template <typename T>
struct HeapAllocator {
  using value_type = T;
  HeapAllocator() = default;
  template <typename U>
  constexpr explicit HeapAllocator(const HeapAllocator<U>&) noexcept {}
  [[nodiscard]] T* allocate(std::size_t count) {
    if (void* memory = std::malloc(count * sizeof(T))) return static_cast<T*>(memory);
    throw std::bad_alloc();
  }
  void deallocate(T* memory, std::size_t) noexcept { std::free(memory); }
  bool operator==(const HeapAllocator&) const = default;
};
using GroupList = std::vector<std::uint32_t, HeapAllocator<std::uint32_t>>;

GroupList own_groups();

struct ThreadCredentials {
  std::uint64_t effective = 0, permitted = 0, inheritable = 0;  // sets of capabilities
  std::uint32_t fsuid = 0, fsgid = 0;
  uid_t uid = 0, euid = 0, suid = 0;
  gid_t gid = 0, egid = 0, sgid = 0;
  GroupList groups;
};

// As they are: asked for once after each of the calls above.  Valid until the next of them. Throws Error.
const ThreadCredentials& thread_credentials();
// The same, known from before a change that has been undone.
void remember_thread_credentials(ThreadCredentials known);

}  // namespace cryo
