/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * refuse.h - what a process can hold that a checkpoint has to refuse by name
 *
 * Each obstacle is one entry: make() brings it about, calls crt_expect() with what the message
 * has to say, and returns whether this machine can do it at all; works() tells, when the
 * checkpoint has been refused, whether the object still does what it is for.
 */
#ifndef REFUSE_H
#define REFUSE_H

#include "crtest.h"
#include <unistd.h>

struct obstacle {
	const char *name;
	bool (*make)(void);
	bool (*works)(void);		/* NULL: nothing to look at */
	bool alone;			/* hides others, or forbids them: not with the rest */
	bool made;
};

extern struct obstacle obstacles[];
extern const unsigned int nr_obstacles;

void refuse_setup(void);
void refuse_verify(void);

/* "pid P ... fd F ... WORD" */
static inline bool expect_fd(int fd, const char *word)
{
	if (fd < 0)
		return false;
	crt_expect("pid %d|fd %d|%s", getpid(), fd, word);
	return true;
}

#endif /* REFUSE_H */
