// SPDX-License-Identifier: GPL-2.0-only
/*
 * section - work that is not to be torn apart by a checkpoint
 *
 *   gcc -o section section.c -lcr
 *
 * The file and the number in memory always agree in a context.
 */
#include <fcntl.h>
#include <libcr.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int fd = open(argc > 1 ? argv[1] : "section.count", O_RDWR | O_CREAT, 0600);
	cr_client_id_t id = cr_init();
	char text[32];
	int count, length;

	if (fd < 0 || id < 0) {
		fprintf(stderr, "section: %s\n", cr_strerror(errno));
		return 1;
	}
	for (count = 0;; count++) {
		cr_enter_cs(id);
		length = snprintf(text, sizeof(text), "%d\n", count);
		if (pwrite(fd, text, (size_t)length, 0) != length)
			return 1;
		sleep(1);	/* a long time for a checkpoint to come */
		cr_leave_cs(id);
	}
}
