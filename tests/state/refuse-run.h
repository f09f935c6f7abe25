/* SPDX-License-Identifier: GPL-2.0-only */
/* refuse-run.h - the hooks of refuse.c and refuse-root.c */
#ifndef REFUSE_RUN_H
#define REFUSE_RUN_H

#include "refuse.h"
#include <string.h>

void refuse_setup(void)
{
	unsigned int made = 0;

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
