/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * onlooker FILE - has it mapped for reading, and looks at its first byte all the time
 *
 * Says once that it does. A signal ends it: SIGBUS where the file has lost its page.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int fd = argc == 2 ? open(argv[1], O_RDONLY) : -1;
	const volatile char *text = mmap(NULL, 1, PROT_READ, MAP_SHARED, fd, 0);

	if (text == MAP_FAILED || close(fd) || puts("looks") < 0 || fflush(stdout))
		return 2;
	for (;;)
		(void)text[0];
}
