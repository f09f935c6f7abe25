// SPDX-License-Identifier: GPL-2.0-only
/* System V shared memory, semaphores and message queues: ids, keys, contents, what would be undone. */
#define _GNU_SOURCE
#include "crtest.h"
#ifdef IPC_NAMESPACE
#include "ns-ipc.h"
#endif
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <unistd.h>

#ifndef IPC_FLAGS
#define IPC_FLAGS CRT_ONCE
#endif

#define SIZE	(5 * crt_page() + 100)
/* More than a page, which would be mapped where one has been unmapped. */
#define GONE	(2 * crt_page())	/* all of it is used, of a segment of 100 bytes less */

union semun {
	int val;
	struct semid_ds *buf;
	unsigned short *array;
};

struct text {
	long type;
	char bytes[9000];
};

static key_t key;
static int shm, shm_gone, shm_detached, sem, msg;
static char *memory, *again, *readonly, *gone;

static void make_memory(void)
{
	char *p;

	shm = (int)CRT_SYS(shmget(key, SIZE, IPC_CREAT | IPC_EXCL | 0640));
	memory = CRT_MAP(shmat(shm, NULL, 0));
	again = CRT_MAP(shmat(shm, NULL, 0));
	readonly = CRT_MAP(shmat(shm, NULL, SHM_RDONLY));
	crt_fill(memory, SIZE, 5);
	CRT_SYS(mprotect(memory + crt_page(), crt_page(), PROT_READ));
	CRT_SYS(munmap(again + 2 * crt_page(), crt_page()));
	shm_gone = (int)CRT_SYS(shmget(IPC_PRIVATE, GONE - 100, 0600));
	gone = CRT_MAP(shmat(shm_gone, NULL, 0));
	CRT_SYS(shmctl(shm_gone, IPC_RMID, NULL));
	crt_fill(gone, GONE, 6);
	shm_detached = (int)CRT_SYS(shmget(IPC_PRIVATE, crt_page(), 0600));
	p = CRT_MAP(shmat(shm_detached, NULL, 0));
	strcpy(p, "left behind");
	CRT_SYS(shmdt(p));
}

static void make_semaphores(void)
{
	unsigned short values[3] = { 7, 1, 32767 };
	struct sembuf ops[3] = {
		{ .sem_num = 0, .sem_op = -3, .sem_flg = SEM_UNDO },
		{ .sem_num = 1, .sem_op = -1, .sem_flg = SEM_UNDO },
		{ .sem_num = 0, .sem_op = 1 },
	};

	sem = (int)CRT_SYS(semget(key, 3, IPC_CREAT | IPC_EXCL | 0600));
	CRT_SYS(semctl(sem, 0, SETALL, (union semun){ .array = values }));
	CRT_SYS(semop(sem, ops, 3));
}

static void make_messages(void)
{
	struct text text = { .type = 3 };
	struct msqid_ds status;

	msg = (int)CRT_SYS(msgget(key, IPC_CREAT | IPC_EXCL | 0620));
	CRT_SYS(msgctl(msg, IPC_STAT, &status));
	status.msg_qbytes = 12000;
	CRT_SYS(msgctl(msg, IPC_SET, &status));
	strcpy(text.bytes, "first");
	CRT_SYS(msgsnd(msg, &text, 5, 0));
	text.type = 1;
	CRT_SYS(msgsnd(msg, &text, 0, 0));
	text.type = 77;
	/* The machine's limit is 8192. */
	crt_fill(text.bytes, 8192, 9);
	CRT_SYS(msgsnd(msg, &text, 8192, 0));
}

static void setup(void)
{
#ifdef IPC_NAMESPACE
	ns_enter();
#endif
	key = 0x43520000 + getpid();
	make_memory();
	make_semaphores();
	make_messages();
}

static void verify_memory(void)
{
	struct shmid_ds status;
	char *p;

	CRT_SYS(shmctl(shm, IPC_STAT, &status));
	crt_same(status.shm_segsz, SIZE, "shared memory: size");
	crt_same(status.shm_perm.mode & 0777, 0640, "its mode");
	crt_same(status.shm_perm.__key, key, "its key");
	/* One is in three parts, one in two. */
	crt_same((long long)status.shm_nattch, 6, "how often it is attached");
	crt_same(shmget(key, 0, 0), shm, "its id by its key");
	crt_same(crt_bad(readonly, SIZE, 5), -1, "its bytes");
	memory[0] ^= 1;
	crt_ok(again[0] == memory[0] && readonly[0] == memory[0], "all attachments are of one segment");
	memory[0] ^= 1;
	crt_ok(crt_try_write(memory + crt_page(), NULL) != 0 && crt_try_write(again + crt_page(), NULL) == 0, "what may be written");
	crt_ok(crt_try_write(readonly, NULL) != 0 && mprotect(readonly, crt_page(), PROT_READ | PROT_WRITE) != 0,
	       "what was attached for reading cannot be written");
	crt_ok(crt_try_read(again + 2 * crt_page(), NULL) != 0, "what was unmapped");
	crt_same(shmdt(memory), 0, "it can be detached");
	CRT_SYS(shmctl(shm_gone, IPC_STAT, &status));
	crt_ok(status.shm_perm.mode & SHM_DEST, "a segment that goes with its last user");
	crt_same((long long)status.shm_nattch, 1, "which is this process");
	crt_same(crt_bad(gone, GONE, 6), -1, "its bytes");
	CRT_SYS(shmdt(gone));
	crt_ok(shmctl(shm_gone, IPC_STAT, &status) == -1, "then it is gone");
	p = shmat(shm_detached, NULL, SHM_RDONLY);
	crt_ok(p != MAP_FAILED && !strcmp(p, "left behind"), "a segment that nobody had attached");
}

static void verify_semaphores(void)
{
	struct sembuf up = { .sem_num = 1, .sem_op = 1, .sem_flg = SEM_UNDO };
	struct semid_ds status;

	CRT_SYS(semctl(sem, 0, IPC_STAT, (union semun){ .buf = &status }));
	crt_same((long long)status.sem_nsems, 3, "semaphores: how many");
	crt_same(semget(key, 0, 0), sem, "their id by their key");
	crt_same(semctl(sem, 0, GETVAL), 5, "value of the first");
	crt_same(semctl(sem, 1, GETVAL), 0, "of the second");
	crt_same(semctl(sem, 2, GETVAL), 32767, "of the third");
	crt_same(semop(sem, &up, 1), 0, "and they work");
	/* As if the process had ended. */
	CRT_SYS(unshare(CLONE_SYSVSEM));
	crt_same(semctl(sem, 0, GETVAL), 8, "what was taken from the first is undone at the end");
	crt_same(semctl(sem, 1, GETVAL), 1, "and nothing of the second, which has been given back");
}

static void verify_messages(void)
{
	struct msqid_ds status;
	struct text text;

	CRT_SYS(msgctl(msg, IPC_STAT, &status));
	crt_same((long long)status.msg_qnum, 3, "messages: how many");
	crt_same((long long)status.msg_qbytes, 12000, "what the queue may hold");
	crt_same(status.msg_perm.mode & 0777, 0620, "its mode");
	crt_same(msgget(key, 0), msg, "its id by its key");
	crt_same(msgrcv(msg, &text, 9000, 1, IPC_NOWAIT), 0, "an empty message, by its type");
	crt_same(msgrcv(msg, &text, 9000, 0, IPC_NOWAIT), 5, "the first one");
	crt_ok(!memcmp(text.bytes, "first", 5) && text.type == 3, "its bytes and type");
	crt_same(msgrcv(msg, &text, 9000, 0, IPC_NOWAIT), 8192, "a large one");
	crt_same(crt_bad(text.bytes, 8192, 9), -1, "its bytes");
	crt_same(text.type, 77, "its type");
	crt_ok(msgrcv(msg, &text, 9000, 0, IPC_NOWAIT) == -1 && errno == ENOMSG, "and no more");
}

static void verify(void)
{
#ifdef IPC_NAMESPACE
	ns_verify();
#endif
	verify_memory();
	verify_semaphores();
	verify_messages();
	shmctl(shm, IPC_RMID, NULL);
	shmctl(shm_detached, IPC_RMID, NULL);
	semctl(sem, 0, IPC_RMID);
	msgctl(msg, IPC_RMID, NULL);
}

const struct crt_test crt_test = {
	.text = "System V shared memory, semaphores and message queues",
	.setup = setup,
	.verify = verify,
	.flags = IPC_FLAGS,
};
