// SPDX-License-Identifier: GPL-2.0-only
/* /proc/self/maps is what it was: ranges, protections, offsets, files; vdso and vvar too. */
#define _GNU_SOURCE
#include "crtest.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAX_LINES 512

struct line {
	unsigned long start, end, offset;
	char perms[8], dev[16], path[256];
	unsigned long inode;
};

struct maps {
	struct line line[MAX_LINES];
	int n;
};

static struct maps before, now;
static char text[1 << 18];

static bool same_path(const char *a, const char *b)
{
	/* Where addresses are not random, the heap follows other memory of the program's, and is joined with that or not. */
	return !strcmp(a, b) || (!*a && !strcmp(b, "[heap]"));
}

/* The kernel may or may not join neighbours that are alike: join them all. */
static bool continues(const struct line *a, const struct line *b)
{
	if (a->end != b->start || strcmp(a->perms, b->perms) || !same_path(a->path, b->path) || a->inode != b->inode)
		return false;
	return !a->inode || a->offset + (a->end - a->start) == b->offset;
}

static void read_maps(struct maps *m)
{
	m->n = 0;
	crt_slurp("/proc/self/maps", text, sizeof(text));
	for (char *p = strtok(text, "\n"); p; p = strtok(NULL, "\n")) {
		struct line *l = &m->line[m->n];

		memset(l, 0, sizeof(*l));
		if (sscanf(p, "%lx-%lx %7s %lx %15s %lu %255[^\n]", &l->start, &l->end, l->perms,
			   &l->offset, l->dev, &l->inode, l->path) < 6)
			crt_die("maps: %s", p);
		if (m->n && continues(&m->line[m->n - 1], l)) {
			m->line[m->n - 1].end = l->end;
			strcpy(m->line[m->n - 1].path, l->path);
		} else if (++m->n == MAX_LINES)
			crt_die("more than %d mappings", MAX_LINES);
	}
}

static void setup(void)
{
	const size_t page = crt_page();
	const char *path = crt_make_file("data", 10 * page, 1);
	int fd = (int)CRT_SYS(open(path, O_RDWR));
	unsigned char *p;

	CRT_MAP(mmap(NULL, 2 * page, PROT_READ, MAP_PRIVATE, fd, 3 * page));
	CRT_MAP(mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 1 * page));
	p = CRT_MAP(mmap(NULL, 9 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	CRT_SYS(mprotect(p + (2 * page), 1 * page, PROT_READ | PROT_EXEC));
	CRT_SYS(mprotect(p + (5 * page), 1 * page, PROT_NONE));
	CRT_SYS(munmap(p + (7 * page), 1 * page));
	close(fd);
	read_maps(&before);
	read_maps(&before);		/* the second time stdio and the stack have all they need */
}

static void diag(const char *what, const struct line *l)
{
	crt_diag("%s %lx-%lx %s %lx %s %lu %s", what, l->start, l->end, l->perms, l->offset, l->dev,
		 l->inode, l->path);
}

static void verify(void)
{
	int bad = 0, special = 0;

	read_maps(&now);
	crt_same(now.n, before.n, "number of mappings");
	for (int i = 0; i < now.n || i < before.n; i++) {
		const struct line *a = &before.line[i], *b = &now.line[i];

		if (i < now.n && i < before.n && !memcmp(a, b, sizeof(*a)))
			continue;
		if (i < before.n)
			diag("was", a);
		if (i < now.n)
			diag("is ", b);
		bad++;
	}
	crt_same(bad, 0, "ranges, protections, offsets, devices, inodes and paths");
	for (int i = 0; i < now.n; i++)
		special += !strcmp(now.line[i].path, "[vdso]") || !strcmp(now.line[i].path, "[vvar]") ||
			   !strcmp(now.line[i].path, "[heap]") || !strcmp(now.line[i].path, "[stack]");
	crt_ok(special >= 4, "[heap], [stack], [vvar] and [vdso] are among them");
}

const struct crt_test crt_test = {
	.text = "every mapping is at its old address",
	.setup = setup,
	.verify = verify,
};
