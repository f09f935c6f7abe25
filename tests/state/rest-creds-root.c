// SPDX-License-Identifier: GPL-2.0-only
/* Credentials of a process that root started: ids, groups, capabilities, securebits. */
#define _GNU_SOURCE
#include "crtest.h"
#include <grp.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *const lines[] = { "Uid", "Gid", "Groups", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb" };

#define LINES (sizeof(lines) / sizeof(lines[0]))

static char before[LINES][256];
static int securebits;

static void setup(void)
{
	gid_t groups[] = { 7, 4711, 123456, 20 };
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	CRT_SYS(setgroups(4, groups));
	CRT_SYS(prctl(PR_CAPBSET_DROP, CAP_SYS_TIME, 0, 0, 0));
	CRT_SYS(prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP | SECBIT_NOROOT, 0, 0, 0));
	CRT_SYS(setresgid(100, 200, 300));
	CRT_SYS(setresuid(0, 2000, 0));
	setfsuid(3000);
	setfsgid(400);
	CRT_SYS(syscall(SYS_capget, &head, data));
	data[0].inheritable = (1u << CAP_NET_BIND_SERVICE) | (1u << CAP_KILL);
	data[0].effective &= ~(1u << CAP_NET_ADMIN);
	data[0].permitted &= ~(1u << CAP_SYS_BOOT);
	data[0].effective &= ~(1u << CAP_SYS_BOOT);
	CRT_SYS(syscall(SYS_capset, &head, data));
	CRT_SYS(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_KILL, 0, 0));
	CRT_SYS(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0));
	securebits = (int)CRT_SYS(prctl(PR_GET_SECUREBITS, 0, 0, 0, 0));
	for (size_t i = 0; i < LINES; i++)
		if (!crt_status(lines[i], before[i], sizeof(before[i])))
			crt_die("no %s in /proc/self/status", lines[i]);
}

static void verify(void)
{
	for (size_t i = 0; i < LINES; i++) {
		char now[256] = "";

		crt_status(lines[i], now, sizeof(now));
		crt_same_str(now, before[i], "%s", lines[i]);
	}
	crt_same(prctl(PR_GET_SECUREBITS, 0, 0, 0, 0), securebits, "securebits");
}

const struct crt_test crt_test = {
	.text = "credentials",
	.setup = setup,
	.verify = verify,
	.flags = CRT_ROOT,
};
