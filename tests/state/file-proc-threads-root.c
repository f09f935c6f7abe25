// SPDX-License-Identifier: GPL-2.0-only
/* The same with a child that has become a user's: a cr_restart of root opens for it what that user could. */
#define _GNU_SOURCE
#include "crtest.h"
#include <grp.h>
#include <sys/prctl.h>
#include <unistd.h>

#define FLAGS		CRT_ROOT

static void become(void)
{
	static const gid_t groups[] = { 7, 4711 };

	CRT_SYS(setgroups(2, groups));
	CRT_SYS(setresgid(1234, 1234, 1234));
	CRT_SYS(setresuid(1234, 1234, 1234));
	CRT_SYS(prctl(PR_SET_DUMPABLE, 1));
}

#include "file-proc-threads.c"
