// SPDX-License-Identifier: GPL-2.0-only
/*
 * What two processes share stays one: an open file and its offset, a pipe between them, shared
 * anonymous memory, a memfd, a deleted file, an eventfd, an epoll instance, and locks of an open file.
 */
#define _GNU_SOURCE
#include "crtest.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define SIZE (1 << 20)

static struct page {
	atomic_uint ask, answer;
	int value;
} *anon, *memory;

static unsigned char *large;
static int to_child[2], to_parent[2], file, gone, memfd, event, epoll;
static pid_t child;

/* What the child does for each byte that comes: the same file, the same memory. */
static void serve(char what)
{
	char text[8] = "";
	uint64_t one = 1;

	switch (what) {
	case 'f':
		anon->value = (int)write(file, "child", 5);
		break;
	case 'g':
		anon->value = (int)read(gone, text, 4);
		break;
	case 'm':
		memory->value++;
		anon->value = memory->value;
		break;
	case 'l':
		anon->value = (int)crt_bad(large, SIZE, 5);
		break;
	case 'e':
		anon->value = (int)write(event, &one, sizeof(one));
		break;
	}
}

static void child_main(void)
{
	char what;

	close(to_child[1]);
	close(to_parent[0]);
	while (read(to_child[0], &what, 1) == 1) {
		serve(what);
		CRT_SYS(write(to_parent[1], &what, 1));
	}
	_exit(7);
}

/* Asks the child, which answers by the other pipe. */
static bool ask(char what)
{
	char answer = 0;

	return write(to_child[1], &what, 1) == 1 && read(to_parent[0], &answer, 1) == 1 && answer == what;
}

static void setup(void)
{
	struct epoll_event interest = { .events = EPOLLIN, .data.u64 = 77 };

	CRT_SYS(pipe2(to_child, O_CLOEXEC));
	CRT_SYS(pipe(to_parent));
	anon = CRT_MAP(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
	large = CRT_MAP(mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
	crt_fill(large, SIZE, 5);
	file = (int)CRT_SYS(open(crt_path("log"), O_RDWR | O_CREAT | O_TRUNC, 0644));
	CRT_SYS(write(file, "parent", 6));
	CRT_SYS(flock(file, LOCK_EX));
	gone = (int)CRT_SYS(open(crt_path("gone"), O_RDWR | O_CREAT, 0644));
	CRT_SYS(write(gone, "0123456789", 10));
	CRT_SYS(lseek(gone, 2, SEEK_SET));
	CRT_SYS(unlink(crt_path("gone")));
	memfd = (int)CRT_SYS(memfd_create("both", MFD_ALLOW_SEALING));
	CRT_SYS(ftruncate(memfd, 4096));
	memory = CRT_MAP(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0));
	CRT_SYS(fcntl(memfd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_FUTURE_WRITE));
	memory->value = 10;
	event = (int)CRT_SYS(eventfd(3, EFD_NONBLOCK));
	epoll = (int)CRT_SYS(epoll_create1(0));
	CRT_SYS(epoll_ctl(epoll, EPOLL_CTL_ADD, to_parent[0], &interest));
	child = (pid_t)CRT_SYS(fork());
	if (!child)
		child_main();
	CRT_SYS(close(to_child[0]));
	CRT_SYS(close(to_parent[1]));
	/* On its way to a child that reads it after the restart, unless it is there before. */
	CRT_SYS(kill(child, SIGSTOP));
	CRT_SYS(write(to_child[1], "m", 1));
	CRT_SYS(kill(child, SIGCONT));
}

static void verify(void)
{
	struct epoll_event got = { 0 };
	uint64_t count = 0;
	char answer = 0;
	int other, status = 0;

	crt_same(read(to_parent[0], &answer, 1), 1, "the child answers by the pipe");
	crt_same(anon->value, 11, "it sees and changes the memfd, and tells so in shared anonymous memory");
	crt_same(memory->value, 11, "the parent sees the change");
	crt_same(fcntl(memfd, F_GET_SEALS), F_SEAL_SHRINK | F_SEAL_FUTURE_WRITE, "seals of the memfd");
	crt_ok(ask('m') && memory->value == 12, "and the next one");
	crt_ok(ask('l') && anon->value == -1, "a megabyte of shared memory is what it was, for the child");
	crt_same(crt_bad(large, SIZE, 5), -1, "and for the parent");
	crt_same(lseek(file, 0, SEEK_CUR), 6, "offset of the shared file");
	crt_ok(ask('f') && anon->value == 5, "the child writes to it");
	crt_same(lseek(file, 0, SEEK_CUR), 11, "which moves the parent's offset");
	crt_ok(ask('g') && anon->value == 4, "the child reads a deleted file");
	crt_same(lseek(gone, 0, SEEK_CUR), 6, "which moves the parent's offset");
	crt_ok(ask('e') && read(event, &count, sizeof(count)) == sizeof(count) && count == 4,
	       "an eventfd counts for both (%llu)", (unsigned long long)count);
	CRT_SYS(write(to_child[1], "x", 1));
	crt_ok(epoll_wait(epoll, &got, 1, 10000) == 1 && got.data.u64 == 77, "epoll sees the answer");
	CRT_SYS(read(to_parent[0], &answer, 1));
	other = (int)CRT_SYS(open(crt_path("log"), O_RDWR));
	crt_ok(flock(other, LOCK_EX | LOCK_NB) == -1 && errno == EWOULDBLOCK, "the file's lock is held");
	CRT_SYS(close(file));
	crt_ok(flock(other, LOCK_EX | LOCK_NB) == -1, "by the child too");
	CRT_SYS(close(to_child[1]));
	crt_same(waitpid(child, &status, 0), child, "the end of the pipe ends the child");
	crt_ok(WIFEXITED(status) && WEXITSTATUS(status) == 7, "as it should");
	crt_same(read(to_parent[0], &answer, 1), 0, "nobody else holds the pipe from it");
	crt_ok(!flock(other, LOCK_EX | LOCK_NB), "nor the lock");
}

const struct crt_test crt_test = {
	.text = "what two processes share stays one",
	.setup = setup,
	.verify = verify,
};
