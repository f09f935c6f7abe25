// SPDX-License-Identifier: GPL-2.0-only
// Whether the module is there, and lets the caller do all that this restart takes: what an administrator has
// switched off, only who has the capability may do (cryo(4), EXCEPTIONS).
#include <cryo/ioctl.h>
#include <linux/capability.h>

#include <algorithm>

#include "base/error.h"
#include "restart/check/check.h"
#include "restart/common/device.h"
#include "restart/ipc/sysv.h"
#include "restart/net/sockets.h"

namespace cryo {
namespace {

struct Exception {
  std::uint64_t feature;
  int capability, other_capability;
  const char* parameter;
  const char* what;
  bool needed;
};

template <typename Predicate>
bool any_file(const Context& context, Predicate predicate) {
  return std::any_of(context.files.begin(), context.files.end(),
                     [&](const auto& entry) { return predicate(entry.second); });
}

bool has_program(const Context& context) {
  return std::any_of(context.processes.begin(), context.processes.end(), [&](const Process& process) {
    return !process.threads.empty() && context.mm(process.head.mm).head.exe_file != 0;
  });
}

bool has_waiting_datagram(const File& file) {
  return file.head.kind == CRYO_FILE_UDP && file.net == 0 &&
         (!file.queue.empty() || (file.connection && file.connection->head.error != 0));
}

}  // namespace

void check_module(const Context& context, const RestartOptions& options, Findings& findings) {
  std::uint64_t features = 0;
  try {
    features = open_device().features;
  } catch (const Error& error) {
    return findings.problem(error.code(), "{}", error.what());
  }
  const Creds own = own_credentials();
  constexpr int kRestore = CAP_CHECKPOINT_RESTORE, kAdmin = CAP_SYS_ADMIN, kRaw = CAP_NET_RAW;
  const Exception exceptions[] = {
      {CRYO_FEATURE_PID_CHOICE, kRestore, kAdmin, "pid_choice",
       "its ids (--no-restore-pid does without, for a job of one process)", options.restore_pid},
      {CRYO_FEATURE_IPC_ID_CHOICE, kRestore, kAdmin, "ipc_id_choice", "the ids of its System V objects",
       needs_sysv_ids(context)},
      {CRYO_FEATURE_EXE_LINK, kRestore, kAdmin, "exe_link", "its /proc/PID/exe", has_program(context)},
      {CRYO_FEATURE_PEER_PID, kAdmin, kAdmin, "peer_pid", "the peer pids of its Unix sockets",
       any_file(context, has_peer)},
      {CRYO_FEATURE_DATAGRAMS, kRaw, kRaw, "datagrams", "the datagrams queued in its UDP sockets",
       any_file(context, has_waiting_datagram)},
  };
  for (const Exception& exception : exceptions)
    if (exception.needed && (features & exception.feature) == 0 && !capable(own, exception.capability) &&
        !capable(own, exception.other_capability))
      findings.problem(
          EPERM,
          "pid {}: restoring {} requires {} or the module parameter {}, which is off (see cr_info --check)",
          context.processes.front().head.pid, exception.what,
          exception.capability == kRestore ? "CAP_CHECKPOINT_RESTORE"
          : exception.capability == kAdmin ? "CAP_SYS_ADMIN"
                                           : "CAP_NET_RAW",
          exception.parameter);
}

}  // namespace cryo
