// SPDX-License-Identifier: GPL-2.0-only
// Filters of sockets, and programs that choose among those that share a port.
#include <linux/filter.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "base/error.h"
#include "restart/net/sockets.h"

namespace cryo {
namespace {

static_assert(sizeof(sock_filter) == sizeof(std::uint64_t));

void attach(int fd, int option, const std::vector<std::uint64_t>& program, const char* what) {
  if (program.empty()) return;
  std::vector<sock_filter> copy(program.size());
  std::ranges::copy(std::as_bytes(std::span(program)), std::as_writable_bytes(std::span(copy)).begin());
  const sock_fprog request{static_cast<unsigned short>(copy.size()), copy.data()};
  if (::setsockopt(fd, SOL_SOCKET, option, &request, sizeof(request)) != 0)
    fail_errno("cannot give a socket {} of {} instructions", what, copy.size());
}

std::uint32_t place_of(const File& file) {
  return file.filter ? file.filter->head.place : 0;
}

}  // namespace

void attach_filter(int fd, const File& file) {
  if (!file.filter) return;
  constexpr int kOn = 1;
  attach(fd, SO_ATTACH_FILTER, file.filter->filter, "its filter");
  if ((file.filter->head.flags & CRYO_SOCK_FILTER_LOCKED) &&
      ::setsockopt(fd, SOL_SOCKET, SO_LOCK_FILTER, &kOn, sizeof(kOn)) != 0)
    fail_errno("cannot lock the filter of a socket");
}

void drop_all(int fd) {
  sock_filter nothing = BPF_STMT(BPF_RET | BPF_K, 0);
  const sock_fprog request{1, &nothing};
  if (::setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &request, sizeof(request)) != 0)
    fail_errno("cannot attach a filter that drops messages until the socket is connected");
}

void stop_dropping(int fd) {
  constexpr int kNone = 0;
  if (::setsockopt(fd, SOL_SOCKET, SO_DETACH_FILTER, &kNone, sizeof(kNone)) != 0)
    fail_errno("cannot take the filter from a socket");
}

void attach_choice(int fd, const File& file) {
  if (file.filter)
    attach(fd, SO_ATTACH_REUSEPORT_CBPF, file.filter->choice,
           "the program that chooses among those with its port,");
}

// Newer kernels want CAP_NET_ADMIN for those of TCP sockets.
std::string filter_problem(const File& file) {
  const bool tcp =
      file.head.kind == CRYO_FILE_TCP || (file.socket && file.socket->head.protocol == IPPROTO_TCP);
  if (!file.filter || file.filter->filter.empty() || !tcp || file.net != 0) return "";
  const UniqueFd probe(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sock_filter all = BPF_STMT(BPF_RET | BPF_K, 0x7fffffff);
  const sock_fprog request{1, &all};
  if (!probe || ::setsockopt(probe.get(), SOL_SOCKET, SO_ATTACH_FILTER, &request, sizeof(request)) == 0 ||
      errno != EPERM)
    return "";
  return "has a filter, which cr_restart may not give to TCP sockets (CAP_NET_ADMIN)";
}

std::vector<const File*> sockets_by_place(const Context& context) {
  std::vector<const File*> files;
  for (const auto& [id, file] : context.files)
    if (file.socket || file.connection) files.push_back(&file);
  std::ranges::stable_sort(files, {}, [](const File* file) { return place_of(*file); });
  return files;
}

}  // namespace cryo
