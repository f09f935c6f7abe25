// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/socket.h>

#include <cstdint>

namespace cryo {

// Does somebody listen at it, whatever the address?
bool has_listener(std::uint16_t port);
// Is there a connection from it that nobody has open any more, which goes away by itself?
bool has_lingering(std::uint16_t port);

// bind(2) of a TCP socket that has SO_REUSEADDR to `port` of the address: connections of an earlier life that
// linger there are no obstacle, whether they had it or not, or are waited for, with a message, where `wait`.
// `handle` is that of the restart. Returns what bind(2) does.
int bind_to_lingering(int handle, int fd, const sockaddr* address, socklen_t size, std::uint16_t port,
                      bool wait = true);

// listen(2) of a bound TCP socket. Where two begin at one port at the same moment, the kernel refuses both:
// asked again, while nobody listens.
int listen_alone(int fd, int backlog, std::uint16_t port);

}  // namespace cryo
