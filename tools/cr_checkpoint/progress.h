// SPDX-License-Identifier: GPL-2.0-only
// The progress line of a long checkpoint, from the module's events.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>

struct nl_msg;
struct nl_sock;

namespace cryo {

class Progress {
 public:
  // Draws on standard error if that is a terminal and the module sends events; else does nothing.
  Progress(pid_t target, bool wanted);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() { clear(); }

  // Descriptor that becomes readable when there is an event, or -1.
  [[nodiscard]] int fd() const;
  // Milliseconds for poll() until update() has something to do without an event; -1: never.
  [[nodiscard]] int wait_ms() const;
  // Takes the events that came, and draws when it is time.
  void update();
  // Removes the line from the screen.
  void clear();

 private:
  struct FreeSocket {
    void operator()(nl_sock* socket) const;
  };

  static int on_message(nl_msg* message, void* self);
  void take(nl_msg* message);
  void draw();

  pid_t target_;
  std::unique_ptr<nl_sock, FreeSocket> socket_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::uint32_t state_ = 0;
  std::uint64_t done_ = 0;
  std::uint64_t total_ = 0;
  bool drawn_ = false;
};

}  // namespace cryo
