// SPDX-License-Identifier: GPL-2.0-only
/*
 * TCP connections that nothing more fits into: both ends in the job, filled by a program that may not set larger buffers than the
 * kernel chose; filled after their buffers have grown; and one whose end that sent has been closed (orphan).
 */
#define _GNU_SOURCE
#include "crtest.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define ROOM	(1 << 20)
#define PART	4096UL

static struct { int from, to; size_t sent; } plain, grown, orphan;
static char place[ROOM];

static void make(int ends[2])
{
	struct sockaddr_in name = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(name);
	int listener = (int)CRT_SYS(socket(AF_INET, SOCK_STREAM, 0));

	CRT_SYS(bind(listener, (struct sockaddr *)&name, size));
	CRT_SYS(listen(listener, 1));
	CRT_SYS(getsockname(listener, (struct sockaddr *)&name, &size));
	ends[0] = (int)CRT_SYS(socket(AF_INET, SOCK_STREAM, 0));
	CRT_SYS(connect(ends[0], (struct sockaddr *)&name, size));
	ends[1] = (int)CRT_SYS(accept(listener, NULL, NULL));
	close(listener);
}

/* Until nothing has fitted in for a while; in parts of PART the byte at offset N is N's, so that a wrong order shows. */
static size_t fill(int fd, size_t part)
{
	size_t sent = 0;
	int idle = 0;

	while (idle < 10) {
		for (size_t i = 0; part == PART && i < PART; i++)
			place[i] = (char)((sent + i) * 31 >> 3);
		ssize_t n = send(fd, place, part, MSG_DONTWAIT);

		if (n > 0) {
			sent += (size_t)n;
			idle = 0;
		} else {
			idle++;
			crt_sleep_ms(10);
		}
	}
	return sent;
}

/* All of @count bytes, or as many as come within a while. */
static size_t drain(int fd, size_t count, bool check)
{
	size_t got = 0;
	int idle = 0;

	while (got < count && idle < 200) {
		ssize_t n = recv(fd, place, sizeof(place), MSG_DONTWAIT);

		if (n <= 0) {
			idle++;
			crt_sleep_ms(10);
			continue;
		}
		for (ssize_t i = 0; check && i < n; i++)
			if (place[i] != (char)((got + (size_t)i) * 31 >> 3))
				return got + (size_t)i;
		got += (size_t)n;
		idle = 0;
	}
	return got;
}

static void setup(void)
{
	int ends[2];

	make(ends);
	plain.from = ends[0];
	plain.to = ends[1];
	plain.sent = fill(plain.from, PART);
	make(ends);
	grown.from = ends[1];
	grown.to = ends[0];
	for (int i = 0; i < 8; i++)
		if (drain(grown.to, fill(grown.from, ROOM), false) == 0)
			crt_die("nothing comes through");
	grown.sent = fill(grown.from, PART);
	make(ends);
	orphan.to = ends[0];
	orphan.sent = fill(ends[1], PART);
	close(ends[1]);
	crt_diag("%zu, %zu and %zu bytes", plain.sent, grown.sent, orphan.sent);
}

static void verify(void)
{
	crt_same((long long)drain(plain.to, plain.sent, true), (long long)plain.sent, "all bytes of a full connection");
	crt_same((long long)drain(grown.to, grown.sent, true), (long long)grown.sent, "of one whose buffers have grown");
	crt_same((long long)drain(orphan.to, orphan.sent, true), (long long)orphan.sent, "of one whose sender has been closed");
	crt_same(recv(orphan.to, place, 1, 0), 0, "and then its end");
	CRT_SYS(send(plain.from, "more", 4, 0));
	crt_same(recv(plain.to, place, 4, MSG_WAITALL), 4, "more comes through");
	crt_leave_no_time_wait();
}

const struct crt_test crt_test = {
	.text = "full TCP connections of an ordinary user",
	.setup = setup,
	.verify = verify,
	.timeout_s = 240,
};
