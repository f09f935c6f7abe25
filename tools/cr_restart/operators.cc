// SPDX-License-Identifier: GPL-2.0-only
// All that the C++ library allocates in cr_restart.
#include <new>

#include "restart/engine/allocation.h"

void* operator new(std::size_t size) {
  for (;;) {
    if (void* taken = cryo::allocation::take(size)) return taken;
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
  }
}

void operator delete(void* pointer) noexcept {
  cryo::allocation::give_back(pointer);
}

void operator delete(void* pointer, std::size_t) noexcept {
  cryo::allocation::give_back(pointer);
}
