// SPDX-License-Identifier: GPL-2.0-only
/* counter PID - counts what a process of somebody else's does (perf_event_open(2)), as perf top does, until it is killed. */
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE, .size = sizeof(attr), .config = PERF_COUNT_SW_CONTEXT_SWITCHES };

	if (argc != 2 || syscall(SYS_perf_event_open, &attr, atoi(argv[1]), -1, -1, 0) < 0) {
		perror("counter");
		return 1;
	}
	puts("counts");
	fflush(stdout);
	for (;;)
		pause();
}
