// SPDX-License-Identifier: GPL-2.0-only
/* Two threads with a pipe between them that is full most of the time: no byte is lost or doubled. */
#define _GNU_SOURCE
#include "crtest.h"
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

static int fds[2];
static pthread_t writer, reader;
static atomic_long interrupted;
static long written, consumed, wrong;

static void *write_main(void *arg)
{
	uint32_t block[3000], next = 0;

	(void)arg;
	while (!crt_go()) {
		char *p = (char *)block;
		size_t left = sizeof(block);

		for (size_t i = 0; i < 3000; i++)
			block[i] = next++;
		while (left) {
			ssize_t n = write(fds[1], p, left);

			if (n < 0) {
				interrupted += errno == EINTR;
				continue;
			}
			p += n;
			left -= (size_t)n;
		}
		written += 3000;
	}
	close(fds[1]);
	return NULL;
}

static void *read_main(void *arg)
{
	uint32_t value, expected = 0;
	size_t have = 0;

	(void)arg;
	for (;;) {
		ssize_t n = read(fds[0], (char *)&value + have, 4 - have);

		if (n < 0) {
			interrupted += errno == EINTR;
			continue;
		}
		if (!n)
			break;
		have += (size_t)n;
		if (have < 4)
			continue;
		have = 0;
		wrong += value != expected++;
		consumed++;
	}
	return NULL;
}

static void setup(void)
{
	CRT_SYS(pipe(fds));
	CRT_SYS(-pthread_create(&writer, NULL, write_main, NULL));
	CRT_SYS(-pthread_create(&reader, NULL, read_main, NULL));
}

static void verify(void)
{
	pthread_join(writer, NULL);
	pthread_join(reader, NULL);
	crt_same(wrong, 0, "every number is the one after the last");
	crt_same(consumed, written, "all that was written was read");
	crt_same(interrupted, 0, "no call returned EINTR");
}

const struct crt_test crt_test = {
	.text = "the bytes in a busy pipe",
	.setup = setup,
	.verify = verify,
};
