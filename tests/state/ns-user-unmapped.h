/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ns-user-unmapped.h - a user namespace in which no id has a number, as `unshare -U` makes it
 *
 * Everybody is the overflow user there, which nobody can be made. Who executes a program there loses all
 * capabilities, and cannot get them back; "dropped" does the same.
 */
#define _GNU_SOURCE
#include "crtest.h"
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *const map_files[] = { "/proc/self/uid_map", "/proc/self/gid_map", "/proc/self/setgroups" };
static const char *const lines[] = { "Uid", "Gid", "Groups", "CapPrm", "CapEff", "CapInh", "CapBnd" };

#define FILES (sizeof(map_files) / sizeof(map_files[0]))
#define LINES (sizeof(lines) / sizeof(lines[0]))

static char maps[FILES][128];
static char creds[LINES][256];
static char outer[64];

static void name_of(char *buf, size_t size)
{
	memset(buf, 0, size);
	CRT_SYS(readlink("/proc/self/ns/user", buf, size - 1));
}

static void drop_capabilities(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};

	CRT_SYS(syscall(SYS_capset, &head, none));
}

static void unshare_users(void)
{
	name_of(outer, sizeof(outer));
	crt_put(crt_path("own"), "its user's", O_CREAT | O_EXCL);
	if (unshare(CLONE_NEWUSER))
		crt_skip("no user namespaces");
	if (crt_case && !strcmp(crt_case, "dropped"))
		drop_capabilities();
	for (size_t i = 0; i < FILES; i++)
		crt_slurp(map_files[i], maps[i], sizeof(maps[i]));
	for (size_t i = 0; i < LINES; i++)
		crt_status(lines[i], creds[i], sizeof(creds[i]));
}

static void verify(void)
{
	char text[256];

	name_of(text, sizeof(text));
	crt_ok(strcmp(text, outer), "a user namespace of its own");
	for (size_t i = 0; i < FILES; i++) {
		crt_slurp(map_files[i], text, sizeof(text));
		crt_same_str(text, maps[i], "%s", map_files[i]);
	}
	for (size_t i = 0; i < LINES; i++) {
		crt_status(lines[i], text, sizeof(text));
		crt_same_str(text, creds[i], "%s", lines[i]);
	}
	crt_put(crt_path("own"), "its user's", O_TRUNC);
	crt_ok(true, "it is the user outside that it was");
}
