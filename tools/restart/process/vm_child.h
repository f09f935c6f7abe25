// SPDX-License-Identifier: GPL-2.0-only
// C++ in a CLONE_VM child: like a thread, it runs on its own stack and thread-local storage.
//
// The library has both for threads only. So a thread is made, which ends at once without telling the library:
// what it had is left for the process.
#pragma once

#include <linux/sched.h>
#include <sys/types.h>

#include <cstdint>

namespace cryo {

class VmChild {
 public:
  using Entry = void (*)(void* argument);

  // Throws Error.
  VmChild(Entry entry, void* argument, bool shares_handlers);
  VmChild(const VmChild&) = delete;
  VmChild& operator=(const VmChild&) = delete;

  // clone3() with these arguments, besides which the memory is shared. The child calls entry(argument), which
  // does not return, when it has been let go, and ends if its pid is another one than `wanted` (0: any).
  // Returns the pid, or a negative errno value.
  [[nodiscard]] long clone(clone_args args, pid_t wanted);
  void let_go();
  // One that is ending, before the next one is made.
  void wait_until_gone();

 private:
  static void begin(void* life);

  Entry entry_;
  void* argument_;
  bool shares_handlers_;
  std::uint64_t stack_ = 0;
  std::uint64_t stack_size_ = 0;
  std::uint64_t thread_pointer_ = 0;
  pid_t wanted_ = 0;
  std::uint32_t alive_ = 0;  // zeroed by the kernel
  std::uint32_t may_go_ = 0;
};

}  // namespace cryo
