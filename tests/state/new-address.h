/* SPDX-License-Identifier: GPL-2.0-only */
/* new-address.h - an IPv6 address that a device has just been given can be used a moment later only (it is tentative) */
#ifndef NEW_ADDRESS_H
#define NEW_ADDRESS_H

#include "crtest.h"
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* @fd: a socket for that alone, which is bound to it. */
static inline void wait_for_address(int fd, const struct in6_addr *address)
{
	struct sockaddr_in6 at = { .sin6_family = AF_INET6, .sin6_addr = *address };

	for (int i = 0; bind(fd, (struct sockaddr *)&at, sizeof(at)) != 0; i++) {
		if (errno != EADDRNOTAVAIL || i == 100)
			crt_die("bind: %s", strerror(errno));
		usleep(50000);
	}
}

#endif
