// SPDX-License-Identifier: GPL-2.0-only
#include "restart/engine/allocation.h"

#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <exception>

namespace cryo::allocation {
namespace {

constexpr std::size_t kAlignment = __STDCPP_DEFAULT_NEW_ALIGNMENT__;
constexpr std::size_t kPage = 65536;  // of any machine
constexpr std::size_t kFirstChunk = 1 << 18;
constexpr std::size_t kLastChunk = 16 << 20;
// Longer parts are read and written as a whole, and malloc() gives them back to the system.
constexpr std::size_t kLongPart = 32768;

enum class Source { kHeap, kInherited, kOwnArea };

struct Chunk {
  std::byte* start = nullptr;
  std::byte* next = nullptr;
  std::byte* end = nullptr;
};

// Chunks that double, up to kLastChunk, and then the heap.
class Area {
 public:
  explicit constexpr Area(int flags) : flags_(flags) {}

  [[nodiscard]] void* take(std::size_t size) noexcept {
    size = (size + kAlignment - 1) & ~(kAlignment - 1);
    Chunk* chunk = count_ == 0 ? nullptr : &chunks_[count_ - 1];
    if (chunk == nullptr || size > static_cast<std::size_t>(chunk->end - chunk->next)) chunk = add(size);
    if (chunk == nullptr) return nullptr;
    void* taken = chunk->next;
    chunk->next += size;
    return taken;
  }
  [[nodiscard]] bool has(const void* pointer) const noexcept {
    return std::any_of(chunks_.begin(), chunks_.begin() + count_, [pointer](const Chunk& chunk) {
      return pointer >= chunk.start && pointer < chunk.end;
    });
  }
  void protect(int protection) const noexcept {
    for (std::size_t i = 0; i < count_; ++i)
      (void)::mprotect(chunks_[i].start, static_cast<std::size_t>(chunks_[i].end - chunks_[i].start),
                       protection);
  }
  void clear() noexcept {
    while (count_ > 0) {
      const Chunk& chunk = chunks_[--count_];
      ::munmap(chunk.start, static_cast<std::size_t>(chunk.end - chunk.start));
    }
    size_ = kFirstChunk;
  }

 private:
  [[nodiscard]] Chunk* add(std::size_t least) noexcept {
    if (count_ == chunks_.size() || least > SIZE_MAX - kPage) return nullptr;
    const std::size_t size = std::max(size_, (least + kPage - 1) / kPage * kPage);
    void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, flags_ | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    size_ = std::min(size_ * 2, kLastChunk);
    auto* start = static_cast<std::byte*>(memory);
    chunks_[count_] = {start, start, start + size};
    return &chunks_[count_++];
  }

  int flags_;
  std::size_t size_ = kFirstChunk;
  std::size_t count_ = 0;
  std::array<Chunk, 512> chunks_{};
};

// Processes that share memory use them as threads would: see vm_child.h.
class Lock {
 public:
  Lock() noexcept {
    while (held_.test_and_set(std::memory_order_acquire)) ::sched_yield();
  }
  ~Lock() { held_.clear(std::memory_order_release); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  static inline std::atomic_flag held_;
};

constinit Source g_source = Source::kHeap;
constinit Area g_inherited{MAP_SHARED | MAP_POPULATE};  // at once is cheaper
constinit Area g_own{MAP_PRIVATE};

void* take_from(Area& area, std::size_t size) noexcept {
  const Lock lock;
  void* taken = area.take(size);
  return taken != nullptr ? taken : std::malloc(size);
}

}  // namespace

void* take(std::size_t size) noexcept {
  size = std::max<std::size_t>(size, 1);
  if (g_source == Source::kOwnArea) return take_from(g_own, size);
  if (g_source == Source::kInherited && size < kLongPart) return take_from(g_inherited, size);
  return std::malloc(size);
}

void give_back(void* pointer) noexcept {
  if (pointer == nullptr || g_source == Source::kOwnArea || g_inherited.has(pointer)) return;
  std::free(pointer);
}

void keep_to_own_area() noexcept {
  g_source = Source::kOwnArea;
}

Inherited::Filling::Filling() noexcept {
  g_source = Source::kInherited;
}

Inherited::Filling::~Filling() {
  g_source = Source::kHeap;
}

Inherited::Seal::Seal() noexcept {
  g_inherited.protect(PROT_READ);
}

Inherited::Seal::~Seal() {
  g_inherited.protect(PROT_READ | PROT_WRITE);
}

int Inherited::exceptions() noexcept {
  return std::uncaught_exceptions();
}

// An exception on its way may have its text there; and the program is about to end.
Inherited::~Inherited() {
  if (exceptions() == thrown_) g_inherited.clear();
}

}  // namespace cryo::allocation
