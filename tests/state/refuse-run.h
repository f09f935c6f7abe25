/* SPDX-License-Identifier: GPL-2.0-only */
/* refuse-run.h - the hooks of refuse.c and refuse-root.c */
#ifndef REFUSE_RUN_H
#define REFUSE_RUN_H

#include "refuse.h"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

/*
 * A process that is no child, has what this one had when it was called, runs @make (NULL: nothing),
 * and lives until the test ends.
 */
static inline void refuse_leave_orphan(void (*make)(void *), void *arg)
{
	int done[2];
	char byte;

	CRT_SYS(pipe(done));
	if (!fork()) {
		pid_t me = getppid();

		if (fork())
			_exit(0);
		if (make)
			make(arg);
		(void)!write(done[1], "d", 1);
		close(done[0]);
		close(done[1]);
		while (!kill(me, 0) && access(crt_path("go"), F_OK))
			crt_sleep_ms(20);
		_exit(0);
	}
	CRT_SYS(wait(NULL));
	CRT_SYS(close(done[1]));
	if (read(done[0], &byte, 1) != 1)
		crt_die("the other process failed");
	CRT_SYS(close(done[0]));
}

/* A case is an obstacle, and one that needs to be alone is a case. */
static inline void refuse_check_cases(void)
{
	char name[64];

	for (unsigned int i = 0; i < nr_obstacles; i++) {
		const char *at = strstr(crt_test.cases, obstacles[i].name);
		size_t len = strlen(obstacles[i].name);

		while (at && (at[len] > ' ' || (at > crt_test.cases && at[-1] != ' ')))
			at = strstr(at + 1, obstacles[i].name);
		if (obstacles[i].alone && !at)
			crt_die("%s has to be a case", obstacles[i].name);
	}
	for (const char *at = crt_test.cases; *at; at += strcspn(at, " "), at += strspn(at, " ")) {
		unsigned int i = 0;

		snprintf(name, sizeof(name), "%.*s", (int)strcspn(at, " "), at);
		while (i < nr_obstacles && strcmp(obstacles[i].name, name))
			i++;
		if (i == nr_obstacles)
			crt_die("there is no obstacle %s", name);
	}
}

void refuse_setup(void)
{
	unsigned int made = 0;

	refuse_check_cases();

	for (unsigned int i = 0; i < nr_obstacles; i++) {
		struct obstacle *o = &obstacles[i];

		if (crt_case ? strcmp(crt_case, o->name) : o->alone)
			continue;
		o->made = o->make();
		made += o->made;
		if (!o->made && !crt_case)
			crt_diag("not on this machine: %s", o->name);
	}
	if (!made)
		crt_skip("not on this machine: %s", crt_case ? crt_case : "any");
}

void refuse_verify(void)
{
	for (unsigned int i = 0; i < nr_obstacles; i++)
		if (obstacles[i].made)
			crt_ok(!obstacles[i].works || obstacles[i].works(), "%s: works as before", obstacles[i].name);
}

#endif /* REFUSE_RUN_H */
