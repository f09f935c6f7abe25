// SPDX-License-Identifier: GPL-2.0-only
/* Tagged addresses: the switch and the modes of checking tags, of each thread. */
#define _GNU_SOURCE
#include "crtest.h"
#include <pthread.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <unistd.h>

#define MTE_BIT (1UL << 18)		/* of AT_HWCAP2 */
#define TCF_SYNC (1UL << 1)		/* PR_MTE_* */
#define TCF_ASYNC (1UL << 2)
#define TAGS(mask) ((unsigned long)(mask) << 3)

static unsigned long controls[2];
static pthread_t thread;
static volatile int go, other, other_after;

static int control(void)
{
	return prctl(PR_GET_TAGGED_ADDR_CTRL, 0, 0, 0, 0);
}

static void *run(void *arg)
{
	(void)arg;
	CRT_SYS(prctl(PR_SET_TAGGED_ADDR_CTRL, controls[1], 0, 0, 0));
	other = control();
	while (!go)
		;
	other_after = control();
	return NULL;
}

static void setup(void)
{
	controls[0] = PR_TAGGED_ADDR_ENABLE;
	if (getauxval(AT_HWCAP2) & MTE_BIT) {
		controls[0] |= TCF_SYNC | TAGS(0xfff0);
		controls[1] = PR_TAGGED_ADDR_ENABLE | TCF_ASYNC | TAGS(0x0ffe);
	}
	CRT_SYS(prctl(PR_SET_TAGGED_ADDR_CTRL, controls[0], 0, 0, 0));
	other = -1;
	CRT_SYS(-pthread_create(&thread, NULL, run, NULL));
	while (other == -1)
		crt_sleep_ms(1);
	crt_same(control(), (long long)controls[0], "control of the main thread as asked");
	crt_same(other, (long long)controls[1], "control of the other thread as asked");
}

static void verify(void)
{
	/* The kernel takes an address with a tag, or does not. */
	char byte = 'x', *tagged = (char *)((uintptr_t)&byte | 5UL << 56);
	int fd[2];

	go = 1;
	pthread_join(thread, NULL);
	crt_same(control(), (long long)controls[0], "control of the main thread");
	crt_same(other_after, (long long)controls[1], "control of the other thread");
	CRT_SYS(pipe(fd));
	crt_same(write(fd[1], tagged, 1), 1, "a tagged address as argument of a system call");
}

const struct crt_test crt_test = {
	.text = "control of tagged addresses",
	.setup = setup,
	.verify = verify,
};
