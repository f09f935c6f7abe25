// SPDX-License-Identifier: GPL-2.0-only
// hear.h - the events of the module
#ifndef HEAR_H
#define HEAR_H

#include <cryo/events.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <sys/socket.h>

#include <vector>

#include "others.h"

namespace others {

inline const nlattr* find(const char* at, size_t size, int type) {
  while (size >= sizeof(nlattr)) {
    const auto* a = reinterpret_cast<const nlattr*>(at);
    if (a->nla_len < sizeof(*a) || a->nla_len > size) return nullptr;
    if ((a->nla_type & NLA_TYPE_MASK) == type) return a;
    const size_t step = std::min<size_t>(NLA_ALIGN(a->nla_len), size);
    at += step;
    size -= step;
  }
  return nullptr;
}

inline const char* data(const nlattr* a) {
  return reinterpret_cast<const char*>(a) + NLA_HDRLEN;
}
inline size_t length(const nlattr* a) {
  return a->nla_len - NLA_HDRLEN;
}

// The number of the group, from the family's description; 0: none.
inline uint32_t group(int fd) {
  struct {
    nlmsghdr head;
    genlmsghdr generic;
    nlattr name;
    char text[8];
  } ask{};
  ask.head = {sizeof(ask), GENL_ID_CTRL, NLM_F_REQUEST, 1, 0};
  ask.generic = {CTRL_CMD_GETFAMILY, 1, 0};
  ask.name = {static_cast<uint16_t>(NLA_HDRLEN + sizeof(CRYO_GENL_NAME)), CTRL_ATTR_FAMILY_NAME};
  std::strcpy(ask.text, CRYO_GENL_NAME);
  must(send(fd, &ask, sizeof(ask), 0), "send");
  std::vector<char> reply(16384);
  const auto size = static_cast<size_t>(must(recv(fd, reply.data(), reply.size(), 0), "recv"));
  const size_t skip = NLMSG_HDRLEN + GENL_HDRLEN;
  if (size < skip) return 0;
  const nlattr* groups = find(reply.data() + skip, size - skip, CTRL_ATTR_MCAST_GROUPS);
  const nlattr* first = groups ? find(data(groups), length(groups), 1) : nullptr;
  const nlattr* id = first ? find(data(first), length(first), CTRL_ATTR_MCAST_GRP_ID) : nullptr;
  return id ? *reinterpret_cast<const uint32_t*>(data(id)) : 0;
}

inline int listen_socket() {
  return static_cast<int>(must(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC), "socket"));
}

// 0 or an errno value.
inline int join(int fd) {
  sockaddr_nl local{};
  local.nl_family = AF_NETLINK;
  must(bind(fd, reinterpret_cast<sockaddr*>(&local), sizeof(local)), "bind");
  const uint32_t number = group(fd);
  if (!number) return ENOENT;
  return setsockopt(fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &number, sizeof(number)) ? errno : 0;
}

}  // namespace others

#endif  // HEAR_H
