// SPDX-License-Identifier: GPL-2.0-only
/*
 * use-all - 16 MiB in one area
 *
 * Makes the file "ready"; when there is a file "use", looks at each page and puts how many are right into "used"; ends when there is
 * a file "end".
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGES	4096UL
#define PAGE	4096UL

static void wait_for(const char *name)
{
	while (access(name, F_OK))
		usleep(20000);
}

static void make(const char *name, unsigned long number)
{
	FILE *file = fopen("new", "w");

	if (!file || fprintf(file, "%lu\n", number) < 0 || fclose(file) || rename("new", name))
		exit(1);
}

int main(void)
{
	char *area = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned long i, right = 0;

	if (area == MAP_FAILED)
		return 1;
	for (i = 0; i < PAGES; i++)
		*(unsigned long *)(area + i * PAGE) = i + 1;
	make("ready", 0);
	wait_for("use");
	for (i = 0; i < PAGES; i++)
		right += *(volatile unsigned long *)(area + i * PAGE) == i + 1;
	make("used", right);
	wait_for("end");
	return 0;
}
