// SPDX-License-Identifier: GPL-2.0-only
// A checkpoint request at the kernel module.
#pragma once

#include <cryo/client.h>
#include <cryo/ioctl.h>

#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "context/model.h"

namespace cryo {

// There is none of that number.
[[noreturn]] void fail_unknown(pid_t target, std::uint32_t scope);

// /dev/cryo, with a module behind it that speaks this tool's language.
class Device {
 public:
  // Throws Error: ENOSYS when the module is not loaded, kErrVersion when it is another version.
  Device();
  [[nodiscard]] int fd() const { return fd_.get(); }

 private:
  UniqueFd fd_;
};

class Request {
 public:
  // Nothing happens to the target yet. Throws Error that names the process.
  Request(const Device& device, const cryo_checkpoint& parameters);

  // What becomes of descriptors of the device at `path`: CRYO_DEVICE_*. Before run().
  void set_device(const std::string& path, std::uint32_t policy);

  // Before run(): what is as in that context need not be written. Is there an account of what the target has
  // written to since?
  bool set_parent(const Hash& id);
  // After it, when all is written down: the context's identity.
  void set_complete(const Hash& id);

  // Freezes, captures, writes; blocks. 0 or an errno value.
  [[nodiscard]] int run() noexcept;

  // From another thread: makes run() end with ECANCELED. Without effect when it has ended.
  void cancel() noexcept;

  // Ends the hold; the signal is pending before the process moves, or comes when its callbacks have ended.
  // Throws Error.
  void thaw(int signal);

  [[nodiscard]] cryo_ckpt_status status() const;

  // How the processes voted that take part.
  [[nodiscard]] cryo_ckpt_verdict verdict() const;

  // The lines that the module has to say, those not read before.
  [[nodiscard]] std::vector<std::string> read_log();

 private:
  pid_t target_;
  UniqueFd handle_;
};

}  // namespace cryo
