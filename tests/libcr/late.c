// SPDX-License-Identifier: GPL-2.0-only
/* Processes that have something to protect only since the checkpoint has been wanted, while others take their time. */
#include "check.h"

#include <sys/mman.h>
#include <sys/prctl.h>

/* Long enough for a shell to be started meanwhile, which a kernel with debugging makes ten times slower. */
static long prepares_ms(void)
{
	return access("/sys/kernel/debug/kmemleak", F_OK) ? 3000 : 20000;
}

static int takes_time(void *arg)
{
	(void)arg;
	close(open("wanted", O_WRONLY | O_CREAT, 0600));
	pause_ms(prepares_ms());
	return 0;
}

static int leaves_a_file(void *arg)
{
	(void)arg;
	close(open("called", O_WRONLY | O_CREAT, 0600));
	return 0;
}

static void registers(void)
{
	cr_init();
	cr_register_callback(leaves_a_file, NULL, CR_THREAD_CONTEXT);
}

static void enters(void)
{
	cr_init();
	cr_enter_cs(0);
	pause_ms(prepares_ms() + 2000);
	close(open("left", O_WRONLY | O_CREAT, 0600));
	cr_leave_cs(0);
}

static void omits(void)
{
	execlp("cr_run", "cr_run", "--omit", "sleep", "1000", (char *)NULL);
}

/* A tree of two, of which one does @what when a checkpoint is wanted. */
static void with_another(void (*what)(void))
{
	cr_checkpoint_args_t args;
	pid_t parent, other;
	int fds[2];

	alarm(100);
	unlink("wanted");
	if (pipe(fds))
		return;
	fflush(stdout);
	parent = fork();
	if (parent == 0) {
		other = fork();
		if (other == 0) {
			while (access("wanted", F_OK))
				pause_ms(10);
			pause_ms(500);
			what();
			for (;;)
				pause();
		}
		cr_init();
		cr_register_prepare(takes_time, NULL, 0);
		write(fds[1], &other, sizeof(other));
		close(fds[0]);
		close(fds[1]);
		for (;;)
			pause();
	}
	if (read(fds[0], &other, sizeof(other)) != sizeof(other))
		return;
	cr_initialize_checkpoint_args_t(&args);
	args.cr_scope = CR_SCOPE_TREE;
	args.cr_target = parent;
	is(checkpoint_with("tree", &args, NULL), 0, "a checkpoint");
	kill(other, SIGKILL);
	kill(parent, SIGKILL);
	end_of(parent);
}

#pragma GCC diagnostic ignored "-Wunused-result"

static void callback(void)
{
	unlink("called");
	with_another(registers);
	ok(access("called", F_OK) == 0, "a callback that was registered meanwhile is called");
}

static void section(void)
{
	unlink("left");
	with_another(enters);
	ok(access("left", F_OK) == 0, "a section that was entered meanwhile is waited for");
}

static void omitted(void)
{
	with_another(omits);
	is(system("test \"$(cr_info tree | grep -c '^process ')\" = 1"), 0, "cr_run --omit meanwhile leaves itself out");
}

enum { MIB = 512 };	/* takes a while to be given back */

/* Its helper thread ends in the middle of a callback, long before the descriptor of libcr is closed by the same execve(2). */
static void executed(void)
{
	cr_checkpoint_args_t args;
	pid_t pid;
	int fds[2];
	char c;

	alarm(100);
	unlink("wanted");
	if (pipe(fds))
		return;
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		char *at = (char *)mmap(NULL, (size_t)MIB << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (at == MAP_FAILED || madvise(at, (size_t)MIB << 20, MADV_NOHUGEPAGE) ||
		    madvise(at, (size_t)MIB << 20, MADV_POPULATE_WRITE) || prctl(PR_SET_PDEATHSIG, SIGKILL))
			_exit(1);
		cr_init();
		cr_register_callback(takes_time, NULL, CR_THREAD_CONTEXT);
		write(fds[1], "", 1);
		close(fds[0]);
		close(fds[1]);
		while (access("wanted", F_OK))
			pause_ms(10);
		execlp("sleep", "sleep", "1000", (char *)NULL);
		_exit(1);
	}
	if (read(fds[0], &c, 1) != 1)
		return;
	cr_initialize_checkpoint_args_t(&args);
	args.cr_scope = CR_SCOPE_PROC;
	args.cr_target = pid;
	is(checkpoint_with("executed", &args, NULL), 0, "a program that executes another one in the middle of a callback refuses nothing");
	kill(pid, SIGKILL);
	end_of(pid);
}

int main(void)
{
	is(job(callback), 0, "a callback");
	is(job(section), 0, "a section");
	is(job(omitted), 0, "an omission");
	is(job(executed), 0, "an execve(2)");
	return finish();
}
