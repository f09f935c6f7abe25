// SPDX-License-Identifier: GPL-2.0-only
/* Contexts of io_setup(2): their ids, events that have not been taken, one whose ring goes round, and further requests. */
#define _GNU_SOURCE
#include "crtest.h"
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BLOCK	512
#define TAKEN	120	/* of the small ring's 127 events on x86-64 */
#define WAITING	20

static aio_context_t big, small, untouched;
static int file;
static struct iocb waiting[WAITING];
static char blocks[WAITING][BLOCK];
static long from_thread;

static void submit(aio_context_t context, struct iocb *request, int command, void *data, int block, unsigned long tag)
{
	memset(request, 0, sizeof(*request));
	request->aio_fildes = (unsigned int)file;
	request->aio_lio_opcode = (unsigned short)command;
	request->aio_buf = (unsigned long)data;
	request->aio_nbytes = BLOCK;
	request->aio_offset = (long long)block * BLOCK;
	request->aio_data = tag;
	if (CRT_SYS(syscall(SYS_io_submit, context, 1L, &request)) != 1)
		crt_die("a request has not been submitted");
}

static long take(aio_context_t context, struct io_event *events, long n)
{
	struct timespec none = {};

	return syscall(SYS_io_getevents, context, 0L, n, events, &none);
}

static void write_and_take(aio_context_t context, int count)
{
	struct io_event event;
	struct iocb request;
	char data[BLOCK];

	for (int i = 0; i < count; i++) {
		memset(data, 'a' + i % 26, sizeof(data));
		submit(context, &request, IOCB_CMD_PWRITE, data, i % 26, 7);
		CRT_SYS(syscall(SYS_io_getevents, context, 1L, 1L, &event, NULL));
		if (event.res != BLOCK)
			crt_die("a block has not been written");
	}
}

static void setup(void)
{
	aio_context_t gone = 0;

	file = (int)CRT_SYS(open(".", O_TMPFILE | O_RDWR, 0600));
	if (syscall(SYS_io_setup, 300, &big))
		crt_skip("io_setup(2) is not there");
	CRT_SYS(syscall(SYS_io_setup, 4, &small));
	CRT_SYS(syscall(SYS_io_setup, 8, &untouched));
	CRT_SYS(syscall(SYS_io_setup, 1, &gone));
	CRT_SYS(syscall(SYS_io_destroy, gone));
	write_and_take(big, 26);
	write_and_take(small, TAKEN - 3);
	for (int i = 0; i < 3; i++)
		submit(big, &waiting[i], IOCB_CMD_PREAD, blocks[i], i, 100 + (unsigned long)i);
	for (int i = 3; i < WAITING; i++)
		submit(small, &waiting[i], IOCB_CMD_PREAD, blocks[i], i, 100 + (unsigned long)i);
	crt_sleep_ms(100);
}

static void *use_in_thread(void *arg)
{
	struct io_event event;

	(void)arg;
	from_thread = syscall(SYS_io_getevents, big, 1L, 1L, &event, NULL);
	return NULL;
}

static int wrong_events(const struct io_event *events, int first, int end)
{
	int wrong = 0;

	for (int i = first; i < end; i++) {
		const struct io_event *e = &events[i - first];

		wrong += e->data != 100 + (unsigned long)i || e->obj != (unsigned long)&waiting[i] || e->res != BLOCK || e->res2;
	}
	return wrong;
}

static void verify(void)
{
	struct io_event events[WAITING + 1];
	struct iocb request;
	char data[BLOCK] = "";
	pthread_t thread;

	memset(events, 0, sizeof(events));
	crt_same(take(big, events, WAITING), 3, "events that had not been taken are there");
	crt_same(wrong_events(events, 0, 3), 0, "they are what they were");
	crt_same(take(small, events, WAITING + 1), WAITING - 3, "those behind the end of a ring, too");
	crt_same(wrong_events(events, 3, WAITING), 0, "they are what they were, too");
	crt_same(take(big, events, 1), 0, "and no others");
	submit(big, &request, IOCB_CMD_PREAD, data, 2, 9);
	CRT_SYS(-pthread_create(&thread, NULL, use_in_thread, NULL));
	pthread_join(thread, NULL);
	crt_same(from_thread, 1, "a thread gets the event of a request");
	crt_ok(data[0] == 'c' && data[BLOCK - 1] == 'c', "which has read the block");
	write_and_take(small, 300);
	crt_ok(1, "a small ring goes round twice");
	write_and_take(untouched, 3);
	crt_ok(1, "one whose ring nobody had looked at");
	crt_same(syscall(SYS_io_destroy, small), 0, "a context is destroyed by its id");
	crt_same(syscall(SYS_io_destroy, small), -1, "once");
}

const struct crt_test crt_test = {
	.text = "asynchronous I/O contexts (io_setup) on which nothing is under way",
	.setup = setup,
	.verify = verify,
};
