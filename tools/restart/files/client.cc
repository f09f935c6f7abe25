// SPDX-License-Identifier: GPL-2.0-only
// Descriptors of Cryo itself, in processes that take part in their checkpoints.
#include <cryo/client.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include "base/error.h"
#include "restart/files/file_kinds.h"
#include "restart/files/files.h"

namespace cryo {
namespace {

UniqueFd open_device_for_client() {
  UniqueFd device(::open(CRYO_DEVICE_PATH, O_RDWR | O_CLOEXEC));
  if (!device) fail_errno("cannot open {}", CRYO_DEVICE_PATH);
  return device;
}

std::int32_t owner_of(const File& file) {
  return static_cast<std::int32_t>(file.head.pos);
}

std::int32_t holder_in(const File& file) {
  return static_cast<std::int32_t>(file.head.pos >> 32);
}

void add_fact(std::string& facts, char kind, std::string_view text) {
  facts += kind;
  facts += text;
  facts += '\0';
}

bool may_see_environment(const FileRestoreInput& input, std::int32_t pid) {
  const auto is_it = [pid](const Process& process) { return process.head.pid == pid; };
  const auto process = std::find_if(input.context.processes.begin(), input.context.processes.end(), is_it);
  return process != input.context.processes.end() && process->creds &&
         is_of_user(input.context, *process, ::getuid());
}

std::string facts_for(const FileRestoreInput& input, const File& file) {
  std::string facts;
  for (const Relocations::Pair& pair : input.options.relocations.pairs()) {
    add_fact(facts, CRYO_FACT_OLD_PATH, pair.from);
    add_fact(facts, CRYO_FACT_NEW_PATH, pair.to);
  }
  if (!may_see_environment(input, owner_of(file))) return facts;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable)
    add_fact(facts, CRYO_FACT_VARIABLE, *variable);
  return facts;
}

}  // namespace

UniqueFd make_client(const FileRestoreInput& input, const File& file) {
  const std::string& source = input.options.source;
  cryo_client client{};
  client.size = sizeof(client);
  client.flags = CRYO_CLIENT_RESTARTED;
  if (holder_in(file) != 0) client.flags |= CRYO_CLIENT_HOLDS;
  // The maker's parent is cr_restart.
  client.requester = input.options.requester != 0 ? input.options.requester : ::getppid();
  if (source.size() <= CRYO_CLIENT_SOURCE_MAX) {
    client.source = reinterpret_cast<std::uintptr_t>(source.data());
    client.source_len = static_cast<std::uint32_t>(source.size());
  }
  const std::string facts = facts_for(input, file);
  client.facts = reinterpret_cast<std::uintptr_t>(facts.data());
  client.facts_len = static_cast<std::uint32_t>(facts.size());
  const UniqueFd device = open_device_for_client();
  UniqueFd fd(as_maker([&] { return ::ioctl(device.get(), CRYO_IOC_CLIENT, &client); }));
  if (!fd) fail_errno("cannot register for checkpoints again");
  return fd;
}

// Before the process goes on: a checkpoint that comes before its library has run finds it registered.
void claim_clients(const Context& context, const Process& process, const std::map<std::uint32_t, int>& fds) {
  for (const auto& [id, fd] : fds) {
    const File& file = context.file(id);
    if (file.head.kind != CRYO_FILE_CLIENT || owner_of(file) != process.head.pid) continue;
    if (::ioctl(fd, CRYO_CLIENT_CLAIM, 0) != 0) fail_errno("cannot register for checkpoints again");
  }
}

std::set<std::int32_t> holders_of(const Context& context, const Process& process) {
  std::set<std::int32_t> holders;
  for (const cryo_fd& fd : process.fds) {
    const File& file = context.file(fd.file);
    if (file.head.kind == CRYO_FILE_CLIENT && owner_of(file) == process.head.pid && holder_in(file) != 0)
      holders.insert(holder_in(file));
  }
  return holders;
}

UniqueFd make_request() {
  const UniqueFd device = open_device_for_client();
  UniqueFd fd(as_maker([&] { return ::ioctl(device.get(), CRYO_IOC_RESTARTED, 0); }));
  if (!fd) fail_errno("cannot create a checkpoint handle");
  return fd;
}

// The process has the context open that it comes from. What it may still write there is of no use.
UniqueFd make_output(const File& file) {
  UniqueFd fd(::open("/dev/null", (static_cast<int>(file.head.flags) & O_ACCMODE) | O_CLOEXEC));
  if (!fd) fail_errno("/dev/null");
  return fd;
}

const FileKind kClientKind = {.kind = CRYO_FILE_CLIENT,
                              .open = [](FileMaking& making, const File& file, const FileUse&) {
                                return make_client(making.input, file);
                              }};
const FileKind kRequestKind = {
    .kind = CRYO_FILE_REQUEST,
    .open = [](FileMaking&, const File&, const FileUse&) { return make_request(); }};
const FileKind kOutputKind = {
    .kind = CRYO_FILE_OUTPUT,
    .open = [](FileMaking&, const File& file, const FileUse&) { return make_output(file); },
    .is_shared_outside = true};

}  // namespace cryo
