// SPDX-License-Identifier: GPL-2.0-only
/*
 * A tree of processes as system calls make it at random: forks for itself and for the parent (CLONE_PARENT), sessions, process
 * groups, subreapers, programs that are executed, ends with and without a wait().  Who is whose child, in which session and group,
 * and told of by which signal, has to be what it was, and who gets SIGHUP at the end of a session with a terminal.
 *
 * The case is the seed, and may be any number; with "-namespace" behind it the tree is in a pid namespace of its own.
 */
#define _GNU_SOURCE
#include "crtest.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#define MAX_NODES	25
#define MAX_SEEN	64

enum op { FORK, SIBLING, SESSION, GROUP, REAPER, REAP, EXEC, TELL, WAITS, TERMINAL, FOREGROUND, END };

/* Who does as it is told. Numbers are those that it sees itself. */
struct node {
	atomic_uint command, done, born;
	atomic_int op, a, b, result, hups;
	pid_t outer;			/* as /proc has it */
	pid_t pid, ppid, pgid, sid;
	int reaper;
};

static struct {
	struct node node[MAX_NODES];
} *shared;

static int shared_fd, master = -1, slave = -1;

/* ---- in the processes of the tree ---- */

static int self;

static void futex_wait(atomic_uint *word, unsigned int value)
{
	const struct timespec timeout = { .tv_sec = 1 };

	syscall(SYS_futex, word, FUTEX_WAIT, value, &timeout, NULL, 0);
}

static void futex_wake(atomic_uint *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, 100, NULL, NULL, 0);
}

static void on_hup(int signal)
{
	(void)signal;
	shared->node[self].hups++;
}

static void ignore(int signal)
{
	(void)signal;
}

static int outer_pid(void)
{
	char text[32] = "";

	return readlink("/proc/self", text, sizeof(text) - 1) < 0 ? 0 : atoi(text);
}

static _Noreturn void live(int index, unsigned int seen);

static void begin(int index)
{
	self = index;
	signal(SIGHUP, on_hup);
	signal(SIGUSR1, ignore);
	shared->node[index].outer = outer_pid();
	shared->node[index].pid = getpid();
}

static int start(int index, unsigned long flags)
{
	int pid = (int)syscall(SYS_clone, flags, NULL, NULL, NULL, 0L);

	if (pid)
		return pid < 0 ? -errno : pid;
	begin(index);
	shared->node[index].born = 1;
	live(index, 0);
}

static int execute(const struct node *own)
{
	char index[16], seen[16], fd[16], *const argv[] = { "tree-random", NULL };
	char *const env[] = { index, seen, fd, NULL };

	snprintf(index, sizeof(index), "NODE=%d", self);
	snprintf(seen, sizeof(seen), "SEEN=%u", own->command);
	snprintf(fd, sizeof(fd), "FD=%d", shared_fd);
	execve("/proc/self/exe", argv, env);
	return -errno;
}

static int waits_for(pid_t pid)
{
	siginfo_t info = { 0 };

	if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT | __WALL))
		return -errno;
	return info.si_pid ? info.si_status : -1000;
}

static int take_terminal(void)
{
	slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY);
	return slave < 0 || ioctl(slave, TIOCSCTTY, 0) ? -errno : 0;
}

static int tell(struct node *own)
{
	own->ppid = getppid();
	own->pgid = getpgrp();
	own->sid = getsid(0);
	return prctl(PR_GET_CHILD_SUBREAPER, &own->reaper) ? -errno : 0;
}

/* Returns 0 or more, or a negative errno value. */
static int perform(struct node *own)
{
	int pid;

	switch (own->op) {
	case FORK:
		return start(own->a, (unsigned long)own->b);
	case SIBLING:
		return start(own->a, CLONE_PARENT | (unsigned long)own->b);
	case SESSION:
		return setsid() < 0 ? -errno : 0;
	case GROUP:
		return setpgid(own->a, own->b) ? -errno : 0;
	case REAPER:
		return prctl(PR_SET_CHILD_SUBREAPER, own->a) ? -errno : 0;
	case REAP:
		pid = waitpid(-1, NULL, WNOHANG | __WALL);
		return pid < 0 ? -errno : pid;
	case EXEC:
		return execute(own);
	case TELL:
		return tell(own);
	case WAITS:
		return waits_for(own->a);
	case TERMINAL:
		return take_terminal();
	case FOREGROUND:
		return tcsetpgrp(slave, own->a) ? -errno : 0;
	}
	return -ENOSYS;
}

static _Noreturn void live(int index, unsigned int seen)
{
	struct node *own = &shared->node[index];

	for (;;) {
		if (own->command == seen) {
			futex_wait(&own->command, seen);
			continue;
		}
		if (own->op == END)
			_exit(own->a);
		own->result = perform(own);
		seen = own->command;
		own->done = seen;
		futex_wake(&own->done);
	}
}

/* A process of the tree that has executed this program goes on here. */
__attribute__((constructor)) static void go_on(void)
{
	const char *index = getenv("NODE"), *seen = getenv("SEEN"), *fd = getenv("FD");
	struct node *own;

	if (!index || !seen || !fd)
		return;
	shared_fd = atoi(fd);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, shared_fd, 0);
	if (shared == MAP_FAILED)
		_exit(1);
	begin(atoi(index));
	master = 100;			/* where setup() has put it */
	own = &shared->node[self];
	own->result = 0;
	own->done = (unsigned int)atoi(seen);
	futex_wake(&own->done);
	live(self, own->done);
}

/* ---- in the first process ---- */

struct seen {
	pid_t pid, ppid, pgid, sid;
	char state;
	int exit_signal;
};

static unsigned int random_state;
static int nodes;
static bool ended[MAX_NODES], apart;
static struct seen before[MAX_SEEN];
static struct node told[MAX_NODES];
static int nr_before, leader = -1;
static pid_t front, front_session, own_group, own_session, box;

static unsigned int below(unsigned int n)
{
	random_state = random_state * 1103515245 + 12345;
	return (random_state >> 16) % n;
}

/* The process of the test is the first of the tree itself, but for a tree in a namespace. */
static int order(int index, enum op op, int a, int b)
{
	struct node *to = &shared->node[index];
	unsigned int turn = to->command + 1;

	to->op = op;
	to->a = a;
	to->b = b;
	if (index == 0 && !apart)
		return perform(to);
	to->command = turn;
	futex_wake(&to->command);
	for (int i = 0; i < 60 && to->done != turn && op != END; i++)
		futex_wait(&to->done, turn - 1);
	if (op != END && to->done != turn)
		crt_die("process %d of the tree (%d) does not answer", index, (int)to->outer);
	return to->result;
}

static bool read_stat(pid_t pid, struct seen *seen)
{
	char path[64], text[1024], *at;

	*seen = (struct seen){ .pid = pid };
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (access(path, F_OK) || !crt_slurp(path, text, sizeof(text)))
		return false;
	at = strrchr(text, ')');
	return at && sscanf(at + 1,
			    " %c %d %d %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
			    "%*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %d",
			    &seen->state, &seen->ppid, &seen->pgid, &seen->sid, &seen->exit_signal) == 5;
}

/* Waits until it has left its children to others. */
static void end(int index, int status)
{
	struct seen seen;

	order(index, END, status, 0);
	for (int i = 0; read_stat(shared->node[index].outer, &seen) && seen.state != 'Z' && seen.state != 'X'; i++) {
		if (i == 5000)
			crt_die("process %d of the tree does not end", index);
		crt_sleep_ms(2);
	}
	ended[index] = true;
}

static int someone(void)
{
	int index;

	do {
		index = (int)below((unsigned int)nodes);
	} while (ended[index]);
	return index;
}

static void make_child(int by)
{
	static const int signals[] = { SIGCHLD, SIGCHLD, SIGCHLD, SIGUSR1, 0 };
	bool sibling = by > 0 && below(3) == 0;

	if (nodes == MAX_NODES)
		return;
	if (order(by, sibling ? SIBLING : FORK, nodes, sibling ? 0 : signals[below(5)]) < 0)
		crt_die("process %d cannot fork", by);
	for (int i = 0; !shared->node[nodes].born && i < 10000; i++)
		crt_sleep_ms(1);
	nodes++;
}

/*
 * Tries a few that may not be possible. Not the first process of a namespace: Linux 6.1 waits at its end for all numbers there to be
 * free, which that of its own group never is.
 */
static void change_group(void)
{
	for (int i = 0; i < 6; i++) {
		int by = someone(), who = below(2) ? by : someone(), group = (int)below((unsigned int)nodes);

		if (apart && who == 0)
			continue;
		if (!order(by, GROUP, shared->node[who].pid, below(2) ? shared->node[who].pid : shared->node[group].pid))
			return;
	}
}

static void step(void)
{
	int by = someone();

	switch (below(13)) {
	case 0 ... 3:
		return make_child(by);
	case 4:
		if (by > 0 || apart)
			order(by, SESSION, 0, 0);
		return;
	case 5: case 6:
		return change_group();
	case 7: case 8:
		if (by > 0)
			end(by, (int)below(100));
		return;
	case 9:
		order(by, REAP, 0, 0);
		return;
	case 10:
		if (by > 0)
			order(by, EXEC, 0, 0);
		return;
	default:
		/* The first is always one: who goes elsewhere is not part of the checkpoint. */
		order(by, REAPER, by == 0 || below(3), 0);
	}
}

/* Some session gets a terminal, with some group in the foreground. */
static void add_terminal(void)
{
	for (int i = 1; i < nodes && leader < 0; i++)
		if (!ended[i] && shared->node[i].sid == shared->node[i].pid && !order(i, TERMINAL, 0, 0))
			leader = i;
	for (int i = 0; leader >= 0 && i < 8; i++)
		if (!order(leader, FOREGROUND, shared->node[below((unsigned int)nodes)].pgid, 0))
			break;
}

static int by_pid(const void *a, const void *b)
{
	return ((const struct seen *)a)->pid - ((const struct seen *)b)->pid;
}

/* All below this process. */
static int look(struct seen *seen)
{
	int n = 0;
	pid_t at = getpid();

	for (int done = -1; done < n; done++) {
		char path[64], text[1024], *next = text, *last;

		if (done >= 0)
			at = seen[done].pid;
		snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)at, (int)at);
		if (access(path, F_OK) || !crt_slurp(path, text, sizeof(text)))
			continue;
		for (long pid; n < MAX_SEEN && (pid = strtol(next, &last, 10)) > 0; next = last)
			if (read_stat((pid_t)pid, &seen[n]))
				n++;
	}
	qsort(seen, (size_t)n, sizeof(*seen), by_pid);
	return n;
}

static void ask_all(void)
{
	for (int i = 0; i < nodes; i++)
		if (!ended[i])
			order(i, TELL, 0, 0);
}

static void start_tree(void)
{
	shared_fd = (int)CRT_SYS(memfd_create("tree", 0));
	CRT_SYS(ftruncate(shared_fd, sizeof(*shared)));
	shared = CRT_MAP(mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, shared_fd, 0));
	master = (int)CRT_SYS(posix_openpt(O_RDWR | O_NOCTTY));
	CRT_SYS(ioctl(master, TIOCSPTLCK, &(int){ 0 }));
	CRT_SYS(dup2(master, 100));
	CRT_SYS(close(master));
	master = 100;
	nodes = 1;
	if (!apart) {
		CRT_SYS(prctl(PR_SET_CHILD_SUBREAPER, 1));
		return begin(0);
	}
	/* Its group is not seen from inside. */
	box = (pid_t)CRT_SYS(fork());
	if (!box) {
		CRT_SYS(setpgid(0, 0));
		crt_unshare_users(CLONE_NEWPID);
		CRT_SYS(start(0, SIGCHLD));
		for (;;)
			pause();
	}
	while (!shared->node[0].born)
		crt_sleep_ms(1);
}

static void setup(void)
{
	const char *seed = crt_case ?: "1";

	random_state = (unsigned int)atoi(seed);
	apart = strstr(seed, "namespace");
	signal(SIGUSR1, ignore);
	start_tree();
	for (unsigned int steps = 8 + below(60); steps; steps--)
		step();
	while (nodes < 4)
		make_child(someone());
	ask_all();
	add_terminal();
	memcpy(told, shared->node, sizeof(told));
	nr_before = look(before);
	own_group = getpgrp();
	own_session = getsid(0);
	if (leader >= 0) {
		CRT_SYS(ioctl(master, TIOCGPGRP, &front));
		CRT_SYS(ioctl(master, TIOCGSID, &front_session));
	}
}

static pid_t mapped(pid_t id, pid_t was, pid_t now)
{
	return id == was ? now : id;
}

static void verify_outside(void)
{
	struct seen now[MAX_SEEN];
	int n = look(now);

	if (!crt_same(n, nr_before, "number of processes"))
		return;
	for (int i = 0; i < n; i++) {
		const struct seen *was = &before[i], *is = &now[i];
		char old[128], new[128];

		/* Who computes or sleeps is alike. */
		snprintf(old, sizeof(old), "pid %d, parent %d, group %d, session %d, signal %d%s", was->pid, was->ppid,
			 mapped(was->pgid, own_group, getpgrp()), mapped(was->sid, own_session, getsid(0)),
			 was->exit_signal, was->state == 'Z' ? ", zombie" : "");
		snprintf(new, sizeof(new), "pid %d, parent %d, group %d, session %d, signal %d%s", is->pid, is->ppid, is->pgid,
			 is->sid, is->exit_signal, is->state == 'Z' ? ", zombie" : "");
		crt_same_str(new, old, "a process");
	}
}

/* In a namespace, neither is seen where it was cr_restart's. */
static void verify_inside(void)
{
	ask_all();
	for (int i = 0; i < nodes; i++) {
		const struct node *now = &shared->node[i], *was = &told[i];
		char old[128], new[128];

		if (ended[i])
			continue;
		snprintf(old, sizeof(old), "pid %d, parent %d, group %d, session %d, subreaper %d", was->pid,
			 i || apart ? was->ppid : getppid(), mapped(was->pgid, own_group, getpgrp()),
			 mapped(was->sid, own_session, getsid(0)), was->reaper);
		snprintf(new, sizeof(new), "pid %d, parent %d, group %d, session %d, subreaper %d", now->pid, now->ppid,
			 now->pgid, now->sid, now->reaper);
		crt_same_str(new, old, "as it says itself");
	}
}

static int node_of(pid_t outer)
{
	for (int i = 0; i < nodes; i++)
		if (shared->node[i].outer == outer)
			return i;
	return -1;
}

static void verify_waits(void)
{
	for (int i = 0; i < nr_before; i++) {
		int parent = node_of(before[i].ppid), child = node_of(before[i].pid);

		if (before[i].state != 'Z' || parent < 0 || child < 0)
			continue;
		crt_same(order(parent, WAITS, shared->node[child].pid, 0), shared->node[child].a, "%d: can be waited for, status",
			 before[i].pid);
	}
}

static pid_t group_before(pid_t outer)
{
	for (int i = 0; i < nr_before; i++)
		if (before[i].pid == outer)
			return before[i].pgid;
	return 0;
}

/* The end of the leader is told to the group in the foreground. */
static void verify_terminal(void)
{
	pid_t now = -1, session = -1;
	int expected[MAX_NODES];

	if (leader < 0)
		return;
	crt_same(ioctl(master, TIOCGSID, &session) ?: session, front_session, "session of the terminal");
	crt_same(ioctl(master, TIOCGPGRP, &now) ?: now, front, "group in its foreground");
	for (int i = 0; i < nodes; i++)
		expected[i] = shared->node[i].hups + (!ended[i] && i != leader && group_before(told[i].outer) == front);
	end(leader, 0);
	for (int i = 0; i < nodes; i++) {
		if (ended[i])
			continue;
		for (int j = 0; j < 200 && shared->node[i].hups < expected[i]; j++)
			crt_sleep_ms(10);
		crt_same(shared->node[i].hups, expected[i], "process %d: SIGHUP", i);
	}
}

/* A second restart wants their pids. */
static void end_all(void)
{
	for (int i = apart ? 0 : 1; i < nodes; i++)
		if (!ended[i])
			kill(shared->node[i].outer, SIGKILL);
	if (box)
		kill(box, SIGKILL);
	while (waitpid(-1, NULL, __WALL) > 0)
		;
}

static void verify(void)
{
	verify_outside();
	verify_inside();
	verify_waits();
	verify_terminal();
	end_all();
}

const struct crt_test crt_test = {
	.text = "a tree of processes that system calls have made at random",
	.setup = setup,
	.verify = verify,
	.timeout_s = 120,
	.dead_ms = 1000,		/* until all are gone */
	.cases = "2 3 4 5 6 7-namespace 8-namespace",
};
