// SPDX-License-Identifier: GPL-2.0-only
/* Namespaces for users, host names, System V objects, networks and control groups, made as any user may. */
#define _GNU_SOURCE
#include "crtest.h"
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <unistd.h>

static const char *const kinds[] = { "user", "uts", "ipc", "net", "cgroup" };

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static char outer[KINDS][64];
static char maps[3][128];
static const char *const map_files[] = { "/proc/self/uid_map", "/proc/self/gid_map", "/proc/self/setgroups" };
static char creds[4][256];
static const char *const lines[] = { "Uid", "Gid", "CapEff", "CapBnd" };

static void name_of(const char *kind, char *buf, size_t size)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/ns/%s", kind);
	memset(buf, 0, size);
	CRT_SYS(readlink(path, buf, size - 1));
}

static bool loopback(bool up)
{
	struct ifreq request = { .ifr_name = "lo" };
	int fd = (int)CRT_SYS(socket(AF_INET, SOCK_DGRAM, 0));

	CRT_SYS(ioctl(fd, SIOCGIFFLAGS, &request));
	if (up) {
		request.ifr_flags |= IFF_UP;
		CRT_SYS(ioctl(fd, SIOCSIFFLAGS, &request));
	}
	close(fd);
	return request.ifr_flags & IFF_UP;
}

static void setup(void)
{
	for (size_t i = 0; i < KINDS; i++)
		name_of(kinds[i], outer[i], sizeof(outer[i]));
	crt_unshare_users(0);
	CRT_SYS(unshare(CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWNET | CLONE_NEWCGROUP));
	CRT_SYS(sethostname("inside", 6));
	CRT_SYS(setdomainname("example", 7));
	loopback(true);
	for (size_t i = 0; i < 3; i++)
		crt_slurp(map_files[i], maps[i], sizeof(maps[i]));
	for (size_t i = 0; i < 4; i++)
		crt_status(lines[i], creds[i], sizeof(creds[i]));
}

static void verify(void)
{
	char text[256];
	int id;

	for (size_t i = 0; i < KINDS; i++) {
		name_of(kinds[i], text, sizeof(text));
		crt_ok(strcmp(text, outer[i]), "a %s namespace of its own", kinds[i]);
	}
	for (size_t i = 0; i < 3; i++) {
		crt_slurp(map_files[i], text, sizeof(text));
		crt_same_str(text, maps[i], "%s", map_files[i]);
	}
	for (size_t i = 0; i < 4; i++) {
		crt_status(lines[i], text, sizeof(text));
		crt_same_str(text, creds[i], "%s", lines[i]);
	}
	gethostname(text, sizeof(text));
	crt_same_str(text, "inside", "host name");
	CRT_SYS(getdomainname(text, sizeof(text)));
	crt_same_str(text, "example", "domain name");
	crt_ok(loopback(false), "the loopback device is up");
	CRT_SYS(sethostname("inside", 6));
	crt_ok(true, "it may set the host name");
	id = shmget(IPC_PRIVATE, 4096, 0600);
	crt_ok(id >= 0 && !shmctl(id, IPC_RMID, NULL), "it may make System V objects");
}

const struct crt_test crt_test = {
	.text = "user, uts, ipc, network and cgroup namespaces",
	.setup = setup,
	.verify = verify,
};
