// SPDX-License-Identifier: GPL-2.0-only
/* What prctl(2) and personality(2) set, as an ordinary user can. */
#define _GNU_SOURCE
#include "crtest.h"
#include <fcntl.h>
#include <linux/prctl.h>
#include <signal.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <unistd.h>

static char oom_before[16];

static int get_pdeathsig(void)
{
	int sig = -1;

	prctl(PR_GET_PDEATHSIG, &sig, 0, 0, 0);
	return sig;
}

static int get_subreaper(void)
{
	int value = -1;

	prctl(PR_GET_CHILD_SUBREAPER, &value, 0, 0, 0);
	return value;
}

static void setup(void)
{
	int fd;

	CRT_SYS(personality(PER_LINUX | ADDR_NO_RANDOMIZE | STICKY_TIMEOUTS));
	CRT_SYS(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	CRT_SYS(prctl(PR_SET_TIMERSLACK, 123456, 0, 0, 0));
	CRT_SYS(prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0));
	CRT_SYS(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0));
	CRT_SYS(prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0));
	CRT_SYS(prctl(PR_SET_PDEATHSIG, SIGUSR1, 0, 0, 0));
	signal(SIGUSR1, SIG_IGN);
	fd = (int)CRT_SYS(open("/proc/self/oom_score_adj", O_WRONLY));
	CRT_SYS(write(fd, "300", 3));
	close(fd);
	crt_slurp("/proc/self/oom_score_adj", oom_before, sizeof(oom_before));
}

static void verify(void)
{
	char oom[16];

	crt_same(personality(0xffffffff), PER_LINUX | ADDR_NO_RANDOMIZE | STICKY_TIMEOUTS, "personality");
	crt_same(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), 1, "no_new_privs");
	crt_same(prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0), 123456, "timer slack");
	crt_same(prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0), 1, "THP disabled");
	crt_same(get_subreaper(), 1, "child subreaper");
	crt_same(prctl(PR_GET_KEEPCAPS, 0, 0, 0, 0), 1, "keepcaps");
	crt_same(get_pdeathsig(), SIGUSR1, "parent death signal");
	crt_same(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0), 1, "dumpable");
	crt_slurp("/proc/self/oom_score_adj", oom, sizeof(oom));
	crt_same_str(oom, oom_before, "oom_score_adj");
	CRT_SYS(prctl(PR_SET_TIMERSLACK, 0, 0, 0, 0));
	crt_same(prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0), 50000, "the default timer slack is the one it started with");
}

const struct crt_test crt_test = {
	.text = "personality and what prctl() sets",
	.setup = setup,
	.verify = verify,
};
