// SPDX-License-Identifier: GPL-2.0-only
// Where operator new of cr_restart takes memory from, so that hundreds of processes can be forked that have
// all of the context and need next to none of it.
//
// What malloc() manages is written to by whoever frees or takes a bit of it, so that each fork would soon
// have a copy of most of it; and private memory costs a copy of its page tables at each fork. Hence the
// context lies in memory that all forks have in common and none can write to; and the maker and all processes
// that come from it take what they need from one end of a fresh area, and give nothing back: they are about
// to lose it all.
#pragma once

#include <cstddef>
#include <utility>

namespace cryo::allocation {

// For operator new and operator delete. nullptr: there is none.
[[nodiscard]] void* take(std::size_t size) noexcept;
void give_back(void* pointer) noexcept;

// From now on, in this process and those that it forks.
void keep_to_own_area() noexcept;

// Memory that forks inherit without a copy. One at a time; outlives all that was allocated in fill().
class Inherited {
 public:
  Inherited() = default;
  ~Inherited();
  Inherited(const Inherited&) = delete;
  Inherited& operator=(const Inherited&) = delete;

  // What `make` allocates, small parts of it at least, is here.
  template <typename Make>
  auto fill(const Make& make) const {
    const Filling filling;
    return make();
  }

  // Can be read, and nothing else, as long as this lives.
  class Seal {
   public:
    Seal() noexcept;
    ~Seal();
    Seal(const Seal&) = delete;
    Seal& operator=(const Seal&) = delete;
  };

 private:
  struct Filling {
    Filling() noexcept;
    ~Filling();
    Filling(const Filling&) = delete;
    Filling& operator=(const Filling&) = delete;
  };
  const int thrown_ = exceptions();
  [[nodiscard]] static int exceptions() noexcept;
};

}  // namespace cryo::allocation
