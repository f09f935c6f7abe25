// SPDX-License-Identifier: GPL-2.0-only
/* A ring of messages and sums over all ranks, checked at every step. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LARGE	(64 * 1024)	/* above what any transport sends at once */

static int rank, size;

static void fail(const char *what, int step, long got, long wanted)
{
	fprintf(stderr, "rank %d step %d: %s: %ld, not %ld\n", rank, step, what, got, wanted);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Each hands on what it got, and adds its own. */
static void ring(int step, int *data, int *room, int n)
{
	int i;

	for (i = 0; i < n; i++)
		data[i] = rank * 1000 + step + i;
	MPI_Sendrecv(data, n, MPI_INT, (rank + 1) % size, step & 0xff, room, n, MPI_INT,
		     (rank + size - 1) % size, step & 0xff, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	for (i = 0; i < n; i++) {
		int wanted = (rank + size - 1) % size * 1000 + step + i;

		if (room[i] != wanted)
			fail("ring", step, room[i], wanted);
	}
}

static long sum(int step)
{
	long mine = (long)step * (rank + 1), all = 0;

	MPI_Allreduce(&mine, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
	if (all != (long)step * size * (size + 1) / 2)
		fail("allreduce", step, all, (long)step * size * (size + 1) / 2);
	return all;
}

int main(int argc, char **argv)
{
	int steps = argc > 1 ? atoi(argv[1]) : 100, step;
	int *data = malloc(LARGE * sizeof(int)), *room = malloc(LARGE * sizeof(int));
	long total = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (step = 1; step <= steps; step++) {
		ring(step, data, room, step % 10 ? 16 : LARGE);
		total += sum(step);
		if (rank == 0 && step % 10 == 0) {
			printf("step %d total %ld\n", step, total);
			fflush(stdout);
		}
	}
	MPI_Finalize();
	if (rank == 0)
		printf("ranks %d total %ld\n", size, total);
	free(data);
	free(room);
	return 0;
}
