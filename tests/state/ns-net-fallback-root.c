// SPDX-License-Identifier: GPL-2.0-only
/*
 * Devices that drivers of tunnels make in each network namespace: nobody has asked for them, and they are no obstacle as long as
 * they are idle. refuse-root has one that is not.
 */
#define _GNU_SOURCE
#include "crtest.h"
#include <net/if.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const drivers[] = { "ipip", "ip_gre", "ip_vti", "sit", "ip6_tunnel", "ip6_vti", "ip6_gre" };
static const char *const devices[] = { "tunl0", "gre0", "gretap0", "erspan0", "ip_vti0", "sit0", "ip6tnl0", "ip6_vti0", "ip6gre0" };

#define DRIVERS (sizeof(drivers) / sizeof(drivers[0]))
#define DEVICES (sizeof(devices) / sizeof(devices[0]))

static bool load(const char *driver)
{
	int status = -1;
	pid_t pid = (pid_t)CRT_SYS(fork());

	if (!pid) {
		execlp("modprobe", "modprobe", "-q", driver, NULL);
		_exit(127);
	}
	CRT_SYS(waitpid(pid, &status, 0));
	return status == 0;
}

static unsigned int there(void)
{
	unsigned int bits = 0;

	for (unsigned int i = 0; i < DEVICES; i++)
		bits |= if_nametoindex(devices[i]) ? 1U << i : 0;
	return bits;
}

static unsigned int before;

static void setup(void)
{
	unsigned int loaded = 0;

	for (unsigned int i = 0; i < DRIVERS; i++)
		loaded += load(drivers[i]);
	CRT_SYS(unshare(CLONE_NEWNET));
	before = there();
	crt_diag("%u drivers, devices %#x", loaded, before);
	if (!before)
		crt_skip("no driver of tunnels can be loaded here");
}

static void verify(void)
{
	crt_same(there(), before, "the namespace has the devices");
}

const struct crt_test crt_test = {
	.text = "network devices of drivers of tunnels",
	.setup = setup,
	.verify = verify,
	.flags = CRT_ROOT,
};
