// SPDX-License-Identifier: GPL-2.0-only
#include "restart/net/bound_sockets.h"

#include <linux/magic.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/vfs.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <set>
#include <sstream>

#include "base/error.h"
#include "base/unique_fd.h"
#include "restart/common/proc_files.h"
#include "restart/rights/names.h"

namespace cryo {
namespace {

// What one message of the answer says.
struct SocketAnswer {
  unsigned long inode = 0;
  std::string name;
  std::optional<unix_diag_vfs> file;
};

SocketAnswer answer_of(const nlmsghdr* header) {
  SocketAnswer answer;
  const auto* message = static_cast<const unix_diag_msg*>(NLMSG_DATA(header));
  answer.inode = message->udiag_ino;
  auto left = static_cast<int>(header->nlmsg_len - NLMSG_LENGTH(sizeof(*message)));
  for (auto* at = reinterpret_cast<const rtattr*>(message + 1); RTA_OK(at, left); at = RTA_NEXT(at, left)) {
    const auto size = static_cast<std::size_t>(RTA_PAYLOAD(at));
    if (at->rta_type == UNIX_DIAG_NAME) {
      const char* text = static_cast<const char*>(RTA_DATA(at));
      answer.name.assign(text, ::strnlen(text, size));
    } else if (at->rta_type == UNIX_DIAG_VFS && size >= sizeof(unix_diag_vfs)) {
      unix_diag_vfs vfs;
      std::memcpy(&vfs, RTA_DATA(at), sizeof(vfs));
      answer.file = vfs;
    }
  }
  return answer;
}

// As the kernel has them.
std::uint32_t kernel_device(dev_t device) {
  return ::major(device) << 20 | ::minor(device);
}

// Numbers in a layered file system are not those of its inodes; in some others (btrfs) that of the device is
// not the kernel's.
bool is_answer_for(const SocketAnswer& answer, const std::string& name, const struct stat& now,
                   bool layered) {
  if (!answer.file || layered) return answer.file && answer.name == name;
  return answer.file->udiag_vfs_ino == static_cast<std::uint32_t>(now.st_ino) &&
         (answer.file->udiag_vfs_dev == kernel_device(now.st_dev) || answer.name == name);
}

bool ask_for_sockets(int fd) {
  struct {
    nlmsghdr header;
    unix_diag_req request;
  } question{};
  question.header.nlmsg_len = sizeof(question);
  question.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  question.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  question.request.sdiag_family = AF_UNIX;
  question.request.udiag_states = ~0U;
  question.request.udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_VFS;
  return ::send(fd, &question, sizeof(question), 0) == static_cast<ssize_t>(sizeof(question));
}

// False: this kernel does not tell.
template <typename Take>
bool each_answer(int fd, const Take& take) {
  alignas(nlmsghdr) char buffer[32768];
  for (;;) {
    const ssize_t got = ::recv(fd, buffer, sizeof(buffer), 0);
    if (got <= 0) return false;
    auto left = static_cast<unsigned>(got);
    for (auto* at = reinterpret_cast<const nlmsghdr*>(buffer); NLMSG_OK(at, left);
         at = NLMSG_NEXT(at, left)) {
      if (at->nlmsg_type == NLMSG_DONE) return true;
      if (at->nlmsg_type == NLMSG_ERROR) return false;
      if (at->nlmsg_len >= NLMSG_LENGTH(sizeof(unix_diag_msg))) take(answer_of(at));
    }
  }
}

// By the name alone, which is the last word of a line.
bool is_listed(const std::string& name) {
  std::istringstream lines(read_proc("net/unix"));
  for (std::string line; std::getline(lines, line);)
    if (line.ends_with(' ' + name)) return true;
  return false;
}

// By a call from a socket of another type: the kernel finds the one that is called, and does not connect the
// two.  Nothing: it was not allowed to look.
std::optional<bool> is_found_by_call(int place, int type) {
  sockaddr_un way{};
  way.sun_family = AF_UNIX;
  const std::string path = fmt::format("/proc/self/fd/{}", place);
  std::memcpy(way.sun_path, path.c_str(), path.size() + 1);
  const UniqueFd probe(::socket(
      AF_UNIX, ((type & 0xf) == SOCK_DGRAM ? SOCK_STREAM : SOCK_DGRAM) | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!probe) fail_errno("cannot create a socket");
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + 1);
  if (names::connect(probe.get(), reinterpret_cast<const sockaddr*>(&way), size) == 0)
    return true;  // of that type by now
  if (errno == ECONNREFUSED) return false;
  if (errno == EACCES || errno == EPERM) return {};
  return true;
}

// Their inodes. Nothing: this kernel does not tell.
std::optional<std::set<unsigned long>> told_sockets(int place, const std::string& name) {
  struct stat now;
  struct statfs system;
  if (::fstat(place, &now) != 0 || ::fstatfs(place, &system) != 0)
    fail_errno("cannot inspect the socket {}", name);
  const bool layered = static_cast<std::uint32_t>(system.f_type) == OVERLAYFS_SUPER_MAGIC;
  const UniqueFd fd(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  if (!fd || !ask_for_sockets(fd.get())) return {};
  std::set<unsigned long> inodes;
  const bool told = each_answer(fd.get(), [&](const SocketAnswer& answer) {
    if (is_answer_for(answer, name, now, layered)) inodes.insert(answer.inode);
  });
  return told ? std::optional(inodes) : std::nullopt;
}

}  // namespace

bool is_bound(int place, int type, const std::string& name) {
  if (const std::optional<bool> found = is_found_by_call(place, type)) return *found;
  const auto told = told_sockets(place, name);
  return told ? !told->empty() : is_listed(name);
}

std::set<unsigned long> sockets_bound_to(int place, const std::string& name) {
  return told_sockets(place, name).value_or(std::set<unsigned long>());
}

}  // namespace cryo
