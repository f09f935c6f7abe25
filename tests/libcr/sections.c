// SPDX-License-Identifier: GPL-2.0-only
/* Critical sections that cannot be announced, and those of handlers. */
#define _GNU_SOURCE
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include "check.h"

static void no_descriptors(void)
{
	struct rlimit limit, less;

	alarm(60);
	cr_init();
	getrlimit(RLIMIT_NOFILE, &limit);
	less = limit;
	less.rlim_cur = 3;
	setrlimit(RLIMIT_NOFILE, &less);
	fails(cr_enter_cs(0), EMFILE);
	fails(cr_tryenter_cs(0), EMFILE);
	less.rlim_cur = 8;
	setrlimit(RLIMIT_NOFILE, &less);
	is(cr_enter_cs(0), 0, "with a few descriptors");
	cr_leave_cs(0);
	setrlimit(RLIMIT_NOFILE, &limit);
	is(checkpoint_self("a"), 0, "a checkpoint");
}

static void no_device(void)
{
	alarm(60);
	cr_init();
	ok(!unshare(CLONE_NEWNS) && !mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
	   !mount("none", "/dev", "tmpfs", 0, NULL), "nothing is in /dev");
	is(cr_enter_cs(0), 0, "where the device is not there is no checkpoint");
	is(cr_leave_cs(0), 0, "likewise");
}

#ifdef HAS_TRAP_FLAG

#define TRAP_FLAG	"0x100"

static volatile int steps, inside, overlaps, stop;

static void set_steps(int on)
{
	if (on)
		__asm__ volatile("pushfq; orq $" TRAP_FLAG ", (%%rsp); popfq" ::: "memory", "cc");
	else
		__asm__ volatile("pushfq; andq $~" TRAP_FLAG ", (%%rsp); popfq" ::: "memory", "cc");
}

/* Between each two instructions of the program. */
static void enters(int signal)
{
	(void)signal;
	steps++;
	cr_enter_cs(0);
	cr_leave_cs(0);
}

static int looks(void *arg)
{
	(void)arg;
	if (inside)
		overlaps++;
	return 0;
}

static void *asks(void *arg)
{
	cr_checkpoint_args_t args;
	int *made = (int *)arg;

	cr_initialize_checkpoint_args_t(&args);
	args.cr_scope = CR_SCOPE_PROC;
	args.cr_timeout = 20;
	while (!stop && checkpoint_with("a", &args, NULL) == 0)
		++*made;
	return NULL;
}

/* A handler in the middle of cr_enter_cs() and cr_leave_cs(), while checkpoints are made. */
static void handlers(void)
{
	pthread_t thread;
	int made = 0, i;

	alarm(100);
	cr_init();
	cr_register_callback(looks, NULL, CR_THREAD_CONTEXT);
	signal(SIGTRAP, enters);
	pthread_create(&thread, NULL, asks, &made);
	for (i = 0; i < 60 || (made < 5 && i < 1000); i++) {
		set_steps(1);
		cr_enter_cs(0);
		set_steps(0);
		inside = 1;
		pause_ms(i % 3 * 20);
		inside = 0;
		set_steps(1);
		cr_leave_cs(0);
		set_steps(0);
	}
	stop = 1;
	pthread_join(thread, NULL);
	ok(made >= 5, "checkpoints while handlers enter sections (%d)", made);
	ok(steps > 1000, "in the middle of the functions (%d times)", steps);
	is(overlaps, 0, "none in a section");
}

#endif

int main(void)
{
	is(job(no_descriptors), 0, "sections that cannot be announced");
	if (geteuid() == 0)
		is(job(no_device), 0, "without a device");
#ifdef HAS_TRAP_FLAG
	is(job(handlers), 0, "sections of handlers");
#endif
	return finish();
}
