// SPDX-License-Identifier: GPL-2.0-only
/*
 * Settings in /proc/sys/net of a network namespace: those that programs in it have set, and what comes of them.
 * Some are not shown where a user namespace owns it.
 */
#define _GNU_SOURCE
#include "crtest.h"
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef FLAGS
#define FLAGS 0
#endif
#define SYS "/proc/sys/net/"

/* In an order in which they can be set: ports that are given out are not below those for everybody. */
static const struct {
	const char *name, *value;
} settings[] = {
	{ "ipv4/ip_local_port_range", "55000\t56000" },
	{ "ipv4/ip_unprivileged_port_start", "54321" },
	{ "ipv4/ip_forward", "1" },
	{ "ipv4/tcp_keepalive_time", "1234" },
	{ "ipv4/tcp_rmem", "8192\t65536\t131072" },
	{ "ipv4/tcp_notsent_lowat", "4294967290" },
	{ "ipv4/ping_group_range", "0\t0" },
	{ "ipv4/conf/all/rp_filter", "2" },
	{ "ipv4/conf/all/accept_source_route", "1" },
	{ "ipv4/conf/default/arp_ignore", "2" },
	{ "ipv4/conf/lo/accept_local", "1" },
	{ "ipv4/conf/lo/medium_id", "-1" },
	{ "ipv6/conf/default/hop_limit", "33" },
	{ "ipv6/conf/lo/accept_redirects", "0" },
	{ "ipv4/tcp_sack", "0" },
	{ "ipv4/tcp_timestamps", "0" },
	{ "ipv4/tcp_max_syn_backlog", "78" },
	{ "ipv4/tcp_synack_retries", "3" },
	{ "ipv4/ip_no_pmtu_disc", "1" },
	{ "ipv4/icmp_echo_ignore_broadcasts", "0" },
	{ "core/somaxconn", "77" },
	{ "unix/max_dgram_qlen", "33" },
	{ "ipv6/bindv6only", "1" },
	{ "ipv6/conf/all/forwarding", "1" },
};

#define SETTINGS (sizeof(settings) / sizeof(settings[0]))

static bool is_shown(size_t i, char *path, size_t size)
{
	snprintf(path, size, SYS "%s", settings[i].name);
	return !access(path, F_OK) || (FLAGS & CRT_ROOT);
}

static void setup(void)
{
	char path[128];

	if (FLAGS & CRT_ROOT) {
		CRT_SYS(unshare(CLONE_NEWNET));
	} else {
		crt_unshare_users(CLONE_NEWNET);
	}
	for (size_t i = 0; i < SETTINGS; i++)
		if (is_shown(i, path, sizeof(path)))
			crt_put(path, settings[i].value, 0);
}

static void verify(void)
{
	char path[128], text[128];
	struct sockaddr_in address = { .sin_family = AF_INET };
	socklen_t len = sizeof(address);
	int fd;

	for (size_t i = 0; i < SETTINGS; i++) {
		if (!is_shown(i, path, sizeof(path)))
			continue;
		crt_slurp(path, text, sizeof(text));
		text[strcspn(text, "\n")] = 0;
		crt_same_str(text, settings[i].value, "%s", settings[i].name);
	}
	fd = (int)CRT_SYS(socket(AF_INET, SOCK_STREAM, 0));
	CRT_SYS(bind(fd, (struct sockaddr *)&address, sizeof(address)));
	CRT_SYS(getsockname(fd, (struct sockaddr *)&address, &len));
	crt_ok(ntohs(address.sin_port) >= 55000 && ntohs(address.sin_port) <= 56000, "a port that is given out is one of these (%d)",
	       ntohs(address.sin_port));
	close(fd);
}

const struct crt_test crt_test = {
	.text = "settings of a network namespace",
	.flags = FLAGS,
	.setup = setup,
	.verify = verify,
};
