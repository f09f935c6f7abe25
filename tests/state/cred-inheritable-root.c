// SPDX-License-Identifier: GPL-2.0-only
/* An inheritable capability that has left the bounding set since; and a deleted setuid file, where nobody can gain by it. */
#define _GNU_SOURCE
#include "crtest.h"
#include <fcntl.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

static int file;

static struct __user_cap_data_struct *get(struct __user_cap_data_struct data[2])
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };

	CRT_SYS(syscall(SYS_capget, &head, data));
	return data;
}

static void setup(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	get(data)[0].inheritable |= 1U << CAP_NET_RAW;
	CRT_SYS(syscall(SYS_capset, &head, data));
	CRT_SYS(prctl(PR_CAPBSET_DROP, CAP_NET_RAW));
	file = (int)CRT_SYS(open(crt_path("deleted"), O_RDWR | O_CREAT, 0600));
	CRT_SYS(fchmod(file, 06604));
	CRT_SYS(unlink(crt_path("deleted")));
}

static void verify(void)
{
	struct __user_cap_data_struct data[2];
	struct stat now;

	crt_ok(get(data)[0].inheritable & 1U << CAP_NET_RAW, "the capability is inheritable");
	crt_same(prctl(PR_CAPBSET_READ, CAP_NET_RAW), 0, "and not in the bounding set");
	CRT_SYS(fstat(file, &now));
	crt_same(now.st_mode & 07777, 06604, "mode of a deleted file");
}

const struct crt_test crt_test = {
	.text = "an inheritable capability outside of the bounding set, and a deleted setuid file",
	.setup = setup,
	.verify = verify,
	.flags = CRT_ROOT,
};
