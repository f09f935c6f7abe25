// SPDX-License-Identifier: GPL-2.0-only
/*
 * ring - an MPI program whose every step is checked
 *
 *	mpiexec -n RANKS ring STEPS [MILLISECONDS]
 *
 * In each step every rank hands a block of numbers to the next one, and all of them add up what they have
 * got. Both are known beforehand: a message lost, doubled or mixed up by a checkpoint ends the job with
 * status 1. Rank 0 prints a line for every ten steps, and the last rank one at the end. Between steps each
 * rank sleeps for the given time, so that the others are found waiting for it.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define BLOCK	32768	/* numbers; more than fits into what MPICH sends at once */

static int rank, ranks;
static int out[BLOCK], in[BLOCK];

static void check(const char *what, int step, long got, long wanted)
{
	if (got == wanted)
		return;
	fprintf(stderr, "rank %d step %d: %s is %ld, not %ld\n", rank, step, what, got, wanted);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Small blocks, and a large one each tenth time. */
static long around(int step)
{
	int i, n = step % 10 ? 8 : BLOCK, from = (rank + ranks - 1) % ranks;

	for (i = 0; i < n; i++)
		out[i] = step * 16 + rank + i;
	MPI_Sendrecv(out, n, MPI_INT, (rank + 1) % ranks, 7, in, n, MPI_INT, from, 7, MPI_COMM_WORLD,
		     MPI_STATUS_IGNORE);
	for (i = 0; i < n; i++)
		check("the block", step, in[i], step * 16 + from + i);
	return in[0];
}

static long together(int step, long mine)
{
	long sum;

	MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
	check("the sum", step, sum, (long)ranks * step * 16 + ranks * (ranks - 1) / 2);
	return sum;
}

int main(int argc, char **argv)
{
	int step, steps = argc > 1 ? atoi(argv[1]) : 100, pause = argc > 2 ? atoi(argv[2]) : 20;
	struct timespec nap = { pause / 1000, pause % 1000 * 1000000L };
	long total = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	for (step = 1; step <= steps; step++) {
		total += together(step, around(step));
		if (rank == 0 && step % 10 == 0) {
			printf("step %d: %ld\n", step, total);
			fflush(stdout);
		}
		nanosleep(&nap, NULL);
	}
	if (rank == ranks - 1)
		printf("%d ranks, %d steps: %ld\n", ranks, steps, total);
	MPI_Finalize();
	return 0;
}
