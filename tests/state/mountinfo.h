/* SPDX-License-Identifier: GPL-2.0-only */
/* mountinfo.h - what is mounted in a mount namespace */
#ifndef MOUNTINFO_H
#define MOUNTINFO_H

#include "crtest.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where each mount is, and what can be told of it but for numbers of mounts and devices. */
static inline void mounts(char *buf, size_t size)
{
	FILE *file = fopen("/proc/self/mountinfo", "r");
	static char lines[256][512];
	char line[1024], root[256], point[256], options[256], *rest;
	int n = 0;

	if (!file)
		crt_die("no mountinfo");
	while (n < 256 && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%*s %*s %*s %255s %255s %255s", root, point, options) != 3)
			continue;
		rest = strstr(line, " - ");
		snprintf(lines[n++], sizeof(lines[0]), "%.120s %.120s %.80s %.120s", point, root, options,
			 rest ? rest : "?\n");
	}
	fclose(file);
	qsort(lines, (size_t)n, sizeof(lines[0]), (int (*)(const void *, const void *))strcmp);
	buf[0] = 0;
	for (int i = 0; i < n; i++)
		strncat(buf, lines[i], size - strlen(buf) - 1);
}

#endif
