// SPDX-License-Identifier: GPL-2.0-only
/* The main stack: frames as they were, still labelled, still growing; and threads' stacks. */
#define _GNU_SOURCE
#include "crtest.h"
#include <alloca.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#define DEPTH 64
#define FRAME 4096
#define GROWTH (5UL << 20)

static pthread_t thread;
static pthread_barrier_t filled;
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static long thread_bad = -2;

static void *thread_main(void *arg)
{
	unsigned char local[FRAME * 16];

	(void)arg;
	crt_fill(local, sizeof(local), 50);
	__asm__ volatile("" : : "r"(local) : "memory");
	pthread_barrier_wait(&filled);
	pthread_mutex_lock(&gate);
	pthread_mutex_unlock(&gate);
	__asm__ volatile("" : : "r"(local) : "memory");
	thread_bad = crt_bad(local, sizeof(local), 50);
	return NULL;
}

static void setup(void)
{
	pthread_barrier_init(&filled, NULL, 2);
	pthread_mutex_lock(&gate);
	CRT_SYS(-pthread_create(&thread, NULL, thread_main, NULL));
	pthread_barrier_wait(&filled);
}

/* Frames of a recursion that waits at its bottom; returns how many frames were wrong. */
static int __attribute__((noinline)) descend(int depth)
{
	unsigned char frame[FRAME];
	int bad;

	crt_fill(frame, sizeof(frame), (uint64_t)depth);
	__asm__ volatile("" : : "r"(frame) : "memory");
	if (depth == DEPTH) {
		crt_wait_go();
		bad = 0;
	} else {
		bad = descend(depth + 1);
	}
	__asm__ volatile("" : : "r"(frame) : "memory");
	return bad + (crt_bad(frame, sizeof(frame), (uint64_t)depth) != -1);
}

static int wrong_frames = -1;

static void wait(void)
{
	wrong_frames = descend(0);
}

static void __attribute__((noinline)) grow(void)
{
	volatile unsigned char *deep = alloca(GROWTH);

	for (size_t at = GROWTH; at > 0; at -= FRAME)
		deep[at - 1] = 1;			/* downwards, a page at a time */
}

static bool labelled(void)
{
	static char maps[1 << 16];
	unsigned long here = (unsigned long)__builtin_frame_address(0), start, end;

	crt_slurp("/proc/self/maps", maps, sizeof(maps));
	for (char *line = strtok(maps, "\n"); line; line = strtok(NULL, "\n"))
		if (sscanf(line, "%lx-%lx", &start, &end) == 2 && here >= start && here < end)
			return strstr(line, "[stack]") != NULL;
	return false;
}

static void verify(void)
{
	unsigned long kib_before, kib_after;
	char text[64] = "";

	crt_same(wrong_frames, 0, "no frame of the main stack is wrong");
	crt_ok(labelled(), "it is [stack] in /proc/self/maps");
	crt_status("VmStk", text, sizeof(text));
	sscanf(text, "%lu", &kib_before);
	grow();
	crt_status("VmStk", text, sizeof(text));
	sscanf(text, "%lu", &kib_after);
	crt_ok(kib_after >= kib_before + (GROWTH >> 10) - 1024, "it grew by itself from %lu to %lu KiB",
	       kib_before, kib_after);
	pthread_mutex_unlock(&gate);
	pthread_join(thread, NULL);
	crt_same(thread_bad, -1, "no byte of the thread's stack is wrong");
}

const struct crt_test crt_test = {
	.text = "stacks keep their frames, and the main one still grows",
	.setup = setup,
	.wait = wait,
	.verify = verify,
};
