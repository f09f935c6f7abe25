// SPDX-License-Identifier: GPL-2.0-only
/* A child in root's mount namespace, whose parent has since made another one in its user namespace. */
#define _GNU_SOURCE
#include "ns-owner.h"
#include <sys/mount.h>

static void nothing(void)
{
}

static void setup(void)
{
	begin();
	CRT_SYS(unshare(CLONE_NEWNS));
	CRT_SYS(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
	crt_put(crt_path("ns-owner"), "of both", O_CREAT);
	CRT_SYS(mount(crt_dir(), "/mnt", NULL, MS_BIND, NULL));
	crt_unshare_users(0);
	begin_child(nothing);
	CRT_SYS(unshare(CLONE_NEWNS));
	settle();
}

static void verify(void)
{
	static const char *const host[MEMBERS] = { NULL, NULL };
	static const char *const file[MEMBERS] = { "of both", "of both" };

	verify_members(host, file);
}

const struct crt_test crt_test = {
	.text = "mount namespaces of a parent and its child, the latter owned by a user namespace above",
	.setup = setup,
	.verify = verify,
	.flags = CRT_ROOT,
};
