// SPDX-License-Identifier: GPL-2.0-only
#include "restart/net/socket_holder.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <sstream>

#include "base/unique_fd.h"
#include "restart/common/proc_files.h"
#include "restart/rights/names.h"

namespace cryo {
namespace {

using Inodes = std::set<unsigned long>;
using Directory = std::unique_ptr<DIR, int (*)(DIR*)>;

// So many descriptors are looked at, for all messages together: a machine may have millions, and a job
// thousands of sockets.
int g_looks = 100000;

Directory open_proc_directory(const std::string& name) {
  UniqueFd fd = open_proc(name, O_RDONLY | O_DIRECTORY);
  DIR* const directory = fd ? ::fdopendir(fd.get()) : nullptr;
  if (directory != nullptr) (void)fd.release();
  return {directory, ::closedir};
}

bool has_one_of(const std::string& pid, const Inodes& inodes) {
  const Directory fds = open_proc_directory(pid + "/fd");
  for (const dirent* entry; fds && g_looks > 0 && (entry = ::readdir(fds.get())) != nullptr; --g_looks) {
    std::array<char, 64> link{};
    unsigned long inode = 0;
    if (::readlinkat(::dirfd(fds.get()), entry->d_name, link.data(), link.size() - 1) > 0 &&
        std::sscanf(link.data(), "socket:[%lu]", &inode) == 1 && inodes.contains(inode))
      return true;
  }
  return false;
}

// Those of the table on whose lines `read` finds one; 0: none, or nobody has it open.
template <typename Read>
Inodes inodes_in(const char* table, Read read) {
  Inodes inodes;
  std::istringstream lines(read_proc(table));
  for (std::string line; std::getline(lines, line);)
    if (const unsigned long inode = read(line); inode != 0) inodes.insert(inode);
  return inodes;
}

// Of both families in one form.
struct Endpoint {
  in6_addr address{};
  unsigned port = 0;
};

in6_addr mapped(in_addr_t address) {
  in6_addr all{};
  all.s6_addr[10] = all.s6_addr[11] = 0xff;
  std::memcpy(&all.s6_addr[12], &address, sizeof(address));
  return all;
}

Endpoint endpoint_of(const Bytes& name) {
  sockaddr_in6 six{};
  sockaddr_in four{};
  std::memcpy(&six, name.data(), std::min(name.size(), sizeof(six)));
  std::memcpy(&four, name.data(), std::min(name.size(), sizeof(four)));
  return {six.sin6_family == AF_INET6 ? six.sin6_addr : mapped(four.sin_addr.s_addr), ntohs(four.sin_port)};
}

// "0100007F" or four such words: each as a number of the machine's, of bytes in the order of the network.
in6_addr address_in(const std::string& text) {
  in6_addr address{};
  for (std::size_t i = 0; i < sizeof(address) && i * 2 < text.size(); i += 4) {
    const auto word = static_cast<in_addr_t>(std::strtoul(text.substr(i * 2, 8).c_str(), nullptr, 16));
    if (text.size() == 8) return mapped(word);
    std::memcpy(&address.s6_addr[i], &word, sizeof(word));
  }
  return address;
}

bool is_any(const in6_addr& address) {
  const in6_addr any = mapped(INADDR_ANY);
  return IN6_IS_ADDR_UNSPECIFIED(&address) || IN6_ARE_ADDR_EQUAL(&address, &any);
}

bool are_in_the_way(const Endpoint& a, const Endpoint& b) {
  return a.port == b.port &&
         (is_any(a.address) || is_any(b.address) || IN6_ARE_ADDR_EQUAL(&a.address, &b.address));
}

unsigned long inode_at(const std::string& line, const Endpoint& wanted) {
  std::array<char, 33> address{};
  unsigned port = 0;
  unsigned long inode = 0;
  if (std::sscanf(line.c_str(), " %*u: %32[0-9A-F]:%x %*s %*s %*s %*s %*s %*u %*u %lu", address.data(), &port,
                  &inode) != 3)
    return 0;
  return are_in_the_way({address_in(address.data()), port}, wanted) ? inode : 0;
}

}  // namespace

std::string holder_of(const std::set<unsigned long>& sockets) {
  if (sockets.empty()) return {};
  const OwnNames own;
  const Directory processes = open_proc_directory(".");
  for (const dirent* entry; processes && g_looks > 0 && (entry = ::readdir(processes.get())) != nullptr;) {
    const std::string pid = entry->d_name;
    if (std::strtol(pid.c_str(), nullptr, 10) <= 0 || !has_one_of(pid, sockets)) continue;
    if (read_proc("self/stat").starts_with(pid + ' ')) return "cr_restart itself";
    const std::string command = read_proc(pid + "/comm");
    return fmt::format("process {} ({})", pid, command.substr(0, command.find('\n')));
  }
  return {};
}

std::string inet_holder(int type, const Bytes& name) {
  const Endpoint wanted = endpoint_of(name);
  const auto at = [&](const std::string& line) { return inode_at(line, wanted); };
  Inodes inodes = inodes_in(type == SOCK_STREAM ? "net/tcp" : "net/udp", at);
  inodes.merge(inodes_in(type == SOCK_STREAM ? "net/tcp6" : "net/udp6", at));
  return holder_of(inodes);
}

// There with @ for each zero byte.
std::string abstract_holder(const Bytes& name) {
  std::string text;
  for (std::size_t i = offsetof(sockaddr_un, sun_path); i < name.size(); ++i)
    text += name[i] == std::byte{0} ? '@' : static_cast<char>(name[i]);
  return holder_of(inodes_in("net/unix", [&](const std::string& line) {
    unsigned long inode = 0;
    int end = 0;
    const bool read = std::sscanf(line.c_str(), "%*s %*s %*s %*s %*s %*s %lu %n", &inode, &end) == 1;
    return read && end > 0 && line.substr(static_cast<std::size_t>(end)) == text ? inode : 0;
  }));
}

std::string netlink_holder(std::uint32_t protocol, std::uint32_t port) {
  return holder_of(inodes_in("net/netlink", [&](const std::string& line) {
    unsigned its_protocol = 0, its_port = 0;
    unsigned long inode = 0;
    const bool read = std::sscanf(line.c_str(), "%*s %u %u %*s %*s %*s %*s %*s %*s %lu", &its_protocol,
                                  &its_port, &inode) == 3;
    return read && its_protocol == protocol && its_port == port ? inode : 0;
  }));
}

}  // namespace cryo
