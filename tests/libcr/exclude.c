// SPDX-License-Identifier: GPL-2.0-only
/* Memory that is left out: what a restarted process finds there, and in the context. */
#include "check.h"
#include <sys/mman.h>
#include <sys/stat.h>

#define PAGE ((unsigned long)sysconf(_SC_PAGESIZE))
#define MIB (1024 * 1024UL)
#define SIZE (16 * MIB)

static char *memory;

static char *map(int flags, char fill)
{
	char *at = (char *)mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | flags, -1, 0);

	if (at != MAP_FAILED)
		memset(at, fill, SIZE);
	return at;
}

static bool all(const char *at, size_t size, char wanted)
{
	return at[0] == wanted && !memcmp(at, at + 1, size - 1);
}

static off_t size_of(const char *file)
{
	struct stat st;

	return stat(file, &st) ? -1 : st.st_size;
}

static void errors(void)
{
	char *at = map(MAP_PRIVATE, 1);
	long i;

	fails(cr_exclude_memory(at, PAGE), CR_ENOINIT);
	fails(cr_include_memory(at, PAGE), CR_ENOINIT);
	cr_init();
	fails(cr_exclude_memory(at + 1, PAGE), EINVAL);
	fails(cr_exclude_memory(at, PAGE - 1), EINVAL);
	fails(cr_exclude_memory(at, 0), EINVAL);
	fails(cr_exclude_memory((void *)-PAGE, 2 * PAGE), EINVAL);
	fails(cr_include_memory(at + 1, PAGE), EINVAL);
	is(cr_include_memory(at, PAGE), 0, "what was not excluded can be included");
	for (i = 0; i < 1024; i++)
		if (cr_exclude_memory(at + 2 * i * PAGE, PAGE))
			break;
	is(i, 1024, "1024 ranges");
	fails(cr_exclude_memory(at + 2048 * PAGE, PAGE), ENOMEM);
	is(cr_exclude_memory(at + PAGE, PAGE), 0, "one that joins two");
	is(cr_exclude_memory(at + 2048 * PAGE, PAGE), 0, "makes room for another one");
	fails(cr_include_memory(at + PAGE, PAGE), ENOMEM);
	is(cr_include_memory(at, 2049 * PAGE), 0, "cr_include_memory() of all");
	is(cr_exclude_memory(at, PAGE), 0, "and room again");
	is(cr_include_memory(at, 2049 * PAGE), 0, "none");
	munmap(at, SIZE);
}

/* The middle is left out, with a hole in it that is not. */
static void left_out(void)
{
	int error;

	memory = map(MAP_PRIVATE, 'm');
	cr_init();
	is(cr_exclude_memory(memory + MIB, 14 * MIB), 0, "cr_exclude_memory()");
	is(cr_include_memory(memory + 8 * MIB, MIB), 0, "cr_include_memory() of a part");
	error = checkpoint_self("context");
	ok(all(memory, MIB, 'm') && all(memory + 15 * MIB, MIB, 'm'), "what is before and behind is there");
	ok(all(memory + 8 * MIB, MIB, 'm'), "what was included again is there");
	if (error == CR_ERESTARTED) {
		ok(all(memory + MIB, 7 * MIB, 0) && all(memory + 9 * MIB, 6 * MIB, 0), "what was left out is zero");
		memset(memory + MIB, 'n', MIB);
		is(checkpoint_self("second"), 0, "another checkpoint");
		ok(size_of("second") < 8 * (off_t)MIB, "leaves it out as well");
	} else {
		is(error, 0, "a checkpoint without a part of memory");
		ok(all(memory + MIB, 14 * MIB, 'm'), "whoever goes on has all of it");
		ok(size_of("context") < 8 * (off_t)MIB, "the context is smaller by that");
	}
}

/* A range means addresses: in a mapping of another kind, nothing. Outside of all mappings, too. */
static void other_memory(void)
{
	char *shared = map(MAP_SHARED, 's');
	int error;

	cr_init();
	is(cr_exclude_memory(shared, SIZE), 0, "shared memory");
	/* Where mmap() puts nothing: a thread's stack, for example. */
	is(cr_exclude_memory((void *)0x10000000, SIZE), 0, "no memory");
	error = checkpoint_self("context");
	if (error != CR_ERESTARTED)
		is(error, 0, "a checkpoint with ranges that mean nothing");
	ok(all(shared, SIZE, 's'), "shared memory is saved all the same");
}

static int drop(void *arg)
{
	is(cr_exclude_memory(arg, SIZE), 0, "a callback leaves memory out");
	cr_checkpoint(CR_CHECKPOINT_READY);
	return 0;
}

static int drop_in_signal(void *arg)
{
	fails(cr_exclude_memory(arg, SIZE), EBUSY);
	return 0;
}

static void by_callback(void)
{
	int error;

	memory = map(MAP_PRIVATE, 'c');
	cr_init();
	cr_register_callback(drop_in_signal, memory, CR_SIGNAL_CONTEXT);
	cr_register_callback(drop, memory, CR_THREAD_CONTEXT);
	error = checkpoint_self("context");
	if (error == CR_ERESTARTED)
		ok(all(memory, SIZE, 0), "restarted without it");
	else
		is(error, 0, "a checkpoint");
	pause_ms(300);
}

/* A child has all of it, unless it says so itself. */
static void in_child(void)
{
	int status;
	pid_t pid;

	memory = map(MAP_PRIVATE, 'f');
	cr_init();
	cr_exclude_memory(memory, SIZE);
	pid = fork();
	if (pid == 0) {
		int error;

		cr_init();
		/* It is asked as well, and has nothing to say. */
		cr_enter_cs(0);
		cr_leave_cs(0);
		error = checkpoint_self("context");
		_exit(error != CR_ERESTARTED && error != 0 ? 2 : all(memory, SIZE, 'f') ? 0 : 3);
	}
	waitpid(pid, &status, 0);
	is(status, 0, "a child inherits no ranges");
}

int main(void)
{
	errors();
	is(job(left_out), 0, "memory that is left out");
	is(system("cr_info context | grep -q 'left out by the process: 13.* MiB in 2 ranges, 13.* in use'"), 0,
	   "cr_info says how much");
	is(job(other_memory), 0, "ranges of other memory");
	is(job(by_callback), 0, "callbacks that leave memory out");
	is(job(in_child), 0, "a child");
	return finish();
}
