// SPDX-License-Identifier: GPL-2.0-only
#include "cr_checkpoint/progress.h"

#include <cryo/client.h>
#include <cryo/events.h>
#include <cryo/ioctl.h>
#include <fmt/format.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>

#include "base/bytes.h"

namespace cryo {
namespace {

constexpr std::chrono::milliseconds kQuietTime{1000};  // most checkpoints are over by then

const char* state_text(std::uint32_t state) {
  switch (state) {
    case CRYO_STATE_NEW:
    case CRYO_STATE_FREEZING:
      return "waiting for the threads to stop";
    case CRYO_STATE_NOTIFYING:
      return "waiting for callbacks";
    case CRYO_STATE_CAPTURING:
      return "capturing";
    case CRYO_STATE_WRITING:
      return "writing memory";
    default:
      return "bringing the context to the disk";
  }
}

}  // namespace

void Progress::FreeSocket::operator()(nl_sock* socket) const {
  ::nl_socket_free(socket);
}

Progress::Progress(pid_t target, bool wanted) : target_(target) {
  if (!wanted || ::isatty(STDERR_FILENO) != 1) return;
  std::unique_ptr<nl_sock, FreeSocket> socket(::nl_socket_alloc());
  if (!socket || ::genl_connect(socket.get()) < 0) return;
  const int group = ::genl_ctrl_resolve_grp(socket.get(), CRYO_GENL_NAME, CRYO_GENL_GROUP);
  if (group < 0 || ::nl_socket_add_membership(socket.get(), group) < 0) return;
  ::nl_socket_disable_seq_check(socket.get());
  ::nl_socket_modify_cb(socket.get(), NL_CB_VALID, NL_CB_CUSTOM, on_message, this);
  if (::nl_socket_set_nonblocking(socket.get()) == 0) socket_ = std::move(socket);
}

int Progress::fd() const {
  return socket_ ? ::nl_socket_get_fd(socket_.get()) : -1;
}

int Progress::wait_ms() const {
  if (!socket_ || drawn_) return -1;
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(start_ + kQuietTime - std::chrono::steady_clock::now());
  return static_cast<int>(std::max<std::int64_t>(left.count(), 0));
}

int Progress::on_message(nl_msg* message, void* self) {
  static_cast<Progress*>(self)->take(message);
  return NL_OK;
}

void Progress::take(nl_msg* message) {
  static nla_policy policy[CRYO_EA_MAX + 1] = {};
  policy[CRYO_EA_REQUESTER].type = NLA_U32;
  policy[CRYO_EA_STATE].type = NLA_U32;
  policy[CRYO_EA_BYTES_DONE].type = NLA_U64;
  policy[CRYO_EA_BYTES_TOTAL].type = NLA_U64;
  nlattr* attributes[CRYO_EA_MAX + 1];
  if (::genlmsg_parse(::nlmsg_hdr(message), 0, attributes, CRYO_EA_MAX, policy) < 0) return;
  const nlattr* requester = attributes[CRYO_EA_REQUESTER];
  if (requester == nullptr || ::nla_get_u32(requester) != static_cast<std::uint32_t>(::getpid())) return;
  if (const nlattr* state = attributes[CRYO_EA_STATE]) state_ = ::nla_get_u32(state);
  if (const nlattr* done = attributes[CRYO_EA_BYTES_DONE]) done_ = ::nla_get_u64(done);
  if (const nlattr* total = attributes[CRYO_EA_BYTES_TOTAL]) total_ = ::nla_get_u64(total);
}

void Progress::update() {
  if (!socket_) return;
  ::nl_recvmsgs_default(socket_.get());  // lost events (ENOBUFS) only make the line jump
  if (std::chrono::steady_clock::now() - start_ >= kQuietTime) draw();
}

void Progress::draw() {
  std::string line = fmt::format("\rcr_checkpoint: process {}: {}", target_, state_text(state_));
  if (state_ == CRYO_STATE_WRITING && total_ != 0)
    line +=
        fmt::format(": {:3}% of {}", std::min<std::uint64_t>(done_ * 100 / total_, 100), bytes_text(total_));
  std::fputs((line + "\x1b[K").c_str(), stderr);
  drawn_ = true;
}

void Progress::clear() {
  if (!drawn_) return;
  std::fputs("\r\x1b[K", stderr);
  drawn_ = false;
}

}  // namespace cryo
