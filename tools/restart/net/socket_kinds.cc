// SPDX-License-Identifier: GPL-2.0-only
// Sockets as open files: they are made together, and handed out one by one.
#include "base/error.h"
#include "restart/files/file_kinds.h"
#include "restart/net/sockets.h"
#include "restart/net/unix_names.h"

namespace cryo {
namespace {

void check_socket(FileCheck& at, const File& file, const FileUse&) {
  if (const std::string text = filter_problem(file); !text.empty()) at.problem(EPERM, "{}", text);
  if (const std::string text = multicast_problem(file); !text.empty()) at.problem(ENODEV, "{}", text);
  if (const std::string text = device_problem(file); !text.empty()) at.problem(ENODEV, "{}", text);
  int raw_code = EPERM;
  if (const std::string text = raw_problem(at.context, file, raw_code); !text.empty())
    at.problem(raw_code, "{}", text);
  int code = EADDRINUSE;
  std::string text;
  try {
    if (const std::string lost = sender_problem(file, at.options); !lost.empty())
      at.findings.warning("pid {}: {}: {}", at.pid, at.what, lost);
    if (file.connection)
      text = connection_problem(at.context, file, at.options, code);
    else if (file.socket->head.family == AF_UNIX)
      text = unix_name_problem(at.context, file, at.options, code);
    // Nobody else has an address in a network namespace that is going to be made.
    if (text.empty() && file.net == 0) text = socket_problem(at.context, file, code);
  } catch (const Error& error) {
    return at.problem(error.code(), "{}", error.what());
  }
  if (text.empty()) return;
  if (code != 0) return at.problem(code, "{}", text);
  at.findings.warning("pid {}: {}: {}", at.pid, at.what, text);
}

UniqueFd take_socket(FileMaking& making, const File& file, const FileUse&) {
  return making.state<Sockets>().take(file.id);
}

void finish_sockets(FileMaking& making) {
  making.state<Sockets>().finish([&making](std::uint32_t id) {
    const auto open = making.store.fds.find(id);
    if (open == making.store.fds.end())
      fail(EBADF, "{}: in flight in a message (SCM_RIGHTS), but not reopened by cr_restart",
           making.input.context.file(id).path);
    return open->second.get();
  });
}

}  // namespace

const FileKind kSocketKind = {.kind = CRYO_FILE_SOCKET,
                              .check = check_socket,
                              .open = take_socket,
                              .begin = [](FileMaking& making) { making.state<Sockets>().make(); },
                              .finish = finish_sockets,
                              .is_nameless = true};
const FileKind kUnixKind = {
    .kind = CRYO_FILE_UNIX, .check = check_socket, .open = take_socket, .is_nameless = true};
const FileKind kTcpKind = {
    .kind = CRYO_FILE_TCP, .check = check_socket, .open = take_socket, .is_nameless = true};
const FileKind kUdpKind = {
    .kind = CRYO_FILE_UDP, .check = check_socket, .open = take_socket, .is_nameless = true};
const FileKind kRawKind = {
    .kind = CRYO_FILE_RAW, .check = check_socket, .open = take_socket, .is_nameless = true};
const FileKind kNetlinkKind = {
    .kind = CRYO_FILE_NETLINK, .check = check_socket, .open = take_socket, .is_nameless = true};

}  // namespace cryo
