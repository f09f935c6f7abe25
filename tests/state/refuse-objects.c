// SPDX-License-Identifier: GPL-2.0-only
/* The same as refuse.c, for objects of kinds that are restored, in states that are not. */
#define _GNU_SOURCE
#include "refuse-run.h"
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <mqueue.h>
#include <pthread.h>
#include <sys/personality.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>

/* ---- files ---- */

static bool make_o_path_deleted(void)
{
	const char *path = crt_path("gone");
	int fd;

	CRT_SYS(symlink("somewhere", path));
	fd = (int)CRT_SYS(open(path, O_PATH | O_NOFOLLOW));
	CRT_SYS(unlink(path));
	return expect_fd(fd, "O_PATH descriptor of a deleted file that is no regular one");
}

/* Of one that is gone, and of the memory of one that has not been waited for. */
static bool make_proc_of_ended(void)
{
	pid_t child = (pid_t)CRT_SYS(fork());
	char path[64];
	int status, maps;

	if (!child)
		for (;;)
			pause();
	snprintf(path, sizeof(path), "/proc/%d/status", child);
	status = (int)CRT_SYS(open(path, O_RDONLY));
	CRT_SYS(kill(child, SIGKILL));
	CRT_SYS(waitpid(child, NULL, 0));
	child = (pid_t)CRT_SYS(fork());
	if (!child)
		for (;;)
			pause();
	snprintf(path, sizeof(path), "/proc/%d/maps", child);
	maps = (int)CRT_SYS(open(path, O_RDONLY));
	CRT_SYS(kill(child, SIGKILL));
	CRT_SYS(waitid(P_PID, (id_t)child, &(siginfo_t){ 0 }, WEXITED | WNOWAIT));
	return expect_fd(status, "file of /proc about a process that has ended") &&
	       expect_fd(maps, "file of /proc about a process that has ended");
}

static bool make_o_path_of_pipe(void)
{
	char path[64];
	int fds[2];

	CRT_SYS(pipe(fds));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fds[0]);
	return expect_fd((int)CRT_SYS(open(path, O_PATH)), "O_PATH descriptor of what has no path");
}

/* Its path is longer than a page. */
static bool make_deep_file(void)
{
	char name[251] = "";
	int fd = (int)CRT_SYS(open(crt_dir(), O_PATH)), below;

	memset(name, 'd', sizeof(name) - 1);
	for (int i = 0; i < 17; i++) {
		CRT_SYS(mkdirat(fd, name, 0700));
		below = (int)CRT_SYS(openat(fd, name, O_PATH));
		CRT_SYS(close(fd));
		fd = below;
	}
	below = (int)CRT_SYS(openat(fd, "file", O_RDWR | O_CREAT, 0600));
	CRT_SYS(close(fd));
	crt_expect("pid %d|fd %d: its path cannot be resolved: -ENAMETOOLONG", getpid(), below);
	return true;
}

/* In a message that nobody has taken. It is open nowhere else then. */
static void send_descriptor(int socket, int fd)
{
	union { struct cmsghdr head; char space[CMSG_SPACE(sizeof(int))]; } control = { 0 };
	struct iovec data = { .iov_base = "m", .iov_len = 1 };
	struct msghdr msg = { .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control) };

	control.head = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS };
	memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
	CRT_SYS(sendmsg(socket, &msg, 0));
	CRT_SYS(close(fd));
}

/* Of this process. */
static bool make_pidfd_in_message(void)
{
	int fds[2], pidfd = (int)CRT_SYS(syscall(SYS_pidfd_open, getpid(), 0));

	CRT_SYS(socketpair(AF_UNIX, SOCK_DGRAM, 0, fds));
	send_descriptor(fds[0], pidfd);
	crt_expect("pid %d|file passed through fd %d|pidfd that is under way in a message", getpid(), fds[1]);
	return true;
}

/* A directory, too; what is about the machine may be in one. */
static bool make_proc_in_message(void)
{
	int fds[2];

	CRT_SYS(socketpair(AF_UNIX, SOCK_DGRAM, 0, fds));
	send_descriptor(fds[0], (int)CRT_SYS(open("/proc/meminfo", O_RDONLY)));
	send_descriptor(fds[0], (int)CRT_SYS(open("/proc/self/stat", O_RDONLY)));
	crt_expect("pid %d|file passed through fd %d (/proc/%d/stat)|file of /proc about a process that is under way in a message",
		   getpid(), fds[1], getpid());
	CRT_SYS(socketpair(AF_UNIX, SOCK_DGRAM, 0, fds));
	send_descriptor(fds[0], (int)CRT_SYS(open("/proc/self/fd", O_RDONLY | O_DIRECTORY)));
	crt_expect("pid %d|file passed through fd %d (/proc/%d/fd)|file of /proc about a process that is under way in a message",
		   getpid(), fds[1], getpid());
	return true;
}

static bool make_killing_pidfd(void)
{
	struct { uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls; } args = { 0 };
	int fd = -1;
	pid_t child;

	args.flags = CLONE_PIDFD | (7ULL << 34);	/* ..._AUTOREAP, _NNP, _PIDFD_AUTOKILL: since Linux 7.1 */
	args.pidfd = (uintptr_t)&fd;
	child = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	if (child < 0)
		return false;
	if (!child)
		for (;;)
			pause();
	return expect_fd(fd, "pidfd that kills its process when it is closed");
}

static bool make_watch_of_deleted(void)
{
	const char *path = crt_make_file("watched", 1, 1);
	int fd = inotify_init1(IN_NONBLOCK), holder[2];
	pid_t self = getpid(), middle;
	char c;

	CRT_SYS(pipe2(holder, O_CLOEXEC));
	middle = (pid_t)CRT_SYS(fork());
	if (!middle && fork())
		_exit(0);
	if (!middle) {					/* keeps the watch, and is not saved */
		CRT_SYS(open(path, O_RDONLY));
		CRT_SYS(write(holder[1], "x", 1));
		close(holder[0]);
		close(holder[1]);
		while (!kill(self, 0))
			crt_sleep_ms(100);
		_exit(0);
	}
	CRT_SYS(waitpid(middle, NULL, 0));
	CRT_SYS(read(holder[0], &c, 1));
	close(holder[0]);
	close(holder[1]);
	CRT_SYS(inotify_add_watch(fd, path, IN_MODIFY));
	CRT_SYS(unlink(path));
	return expect_fd(fd, "is of a file that has no path any more");
}

static bool make_many_watches(void)
{
	const char *path = crt_make_file("watched", 1, 1);
	int fd = inotify_init1(IN_NONBLOCK), wd;

	do {
		wd = (int)CRT_SYS(inotify_add_watch(fd, path, IN_MODIFY));
		CRT_SYS(inotify_rm_watch(fd, wd));
	} while (wd < 1 << 20);
	return expect_fd(fd, "inotify): its next watch descriptor is 1048577, and a restart reaches 1048576 at most");
}

static int outside_pipe[2];

static bool make_pipe_outside(void)
{
	int fds[2];

	CRT_SYS(pipe(outside_pipe));
	refuse_leave_orphan(NULL, NULL);
	CRT_SYS(close(outside_pipe[1]));
	CRT_SYS(socketpair(AF_UNIX, SOCK_DGRAM, 0, fds));
	send_descriptor(fds[0], outside_pipe[0]);
	crt_expect("pid %d|file passed through fd %d|pipe whose other end belongs to a process outside the checkpoint", getpid(),
		   fds[1]);
	return true;
}

static bool make_deleted_fifo(void)
{
	const char *path = crt_path("fifo");
	int fd, other;

	CRT_SYS(mkfifo(path, 0600));
	fd = (int)CRT_SYS(open(path, O_RDONLY | O_NONBLOCK));
	other = (int)CRT_SYS(open(path, O_WRONLY));
	CRT_SYS(unlink(path));
	refuse_leave_orphan(NULL, NULL);
	CRT_SYS(close(other));
	return expect_fd(fd, "deleted FIFO that another process has open");
}

static bool make_epoll_of_others(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	int fds[2], ep = (int)CRT_SYS(epoll_create1(0));

	CRT_SYS(pipe(fds));
	CRT_SYS(epoll_ctl(ep, EPOLL_CTL_ADD, fds[0], &event));
	refuse_leave_orphan(NULL, NULL);
	CRT_SYS(close(fds[0]));
	CRT_SYS(close(fds[1]));
	crt_expect("pid %d|fd %d|(epoll): watches a file that was fd %d and that only others have open", getpid(), ep,
		   fds[0]);
	return true;
}

/* Somebody wants to write, and waits until the lease is given up. */
static void break_lease(void *arg)
{
	(void)arg;
	(void)!open(crt_path("leased"), O_WRONLY | O_NONBLOCK);
}

static bool make_breaking_lease(void)
{
	int fd = (int)CRT_SYS(open(crt_make_file("leased", 1, 1), O_RDONLY));

	signal(SIGIO, SIG_IGN);
	if (fcntl(fd, F_SETLEASE, F_RDLCK))
		return false;
	refuse_leave_orphan(break_lease, NULL);
	crt_expect("pid %d|file leases that are being broken (1 of them)", getpid());
	return true;
}

/* ---- terminals ---- */

static int open_master(int flags)
{
	int fd = posix_openpt(flags | O_NOCTTY);
	int unlocked = 0;

	if (fd >= 0)
		CRT_SYS(ioctl(fd, TIOCSPTLCK, &unlocked));
	return fd;
}

static bool make_master_readonly(void)
{
	return expect_fd(open_master(O_RDONLY), "a pseudo-terminal master that is not open for reading and writing");
}

static bool make_echo(void)
{
	int fd = open_master(O_RDWR);

	CRT_SYS(write(fd, "typed\n", 6));
	crt_sleep_ms(50);
	return expect_fd(fd, "a terminal with echoed output whose slave was never opened");
}

static bool make_discipline(void)
{
	int fd = open_master(O_RDWR), slave = (int)CRT_SYS(open(ptsname(fd), O_RDWR | O_NOCTTY)), null = 27;

	if (ioctl(slave, TIOCSETD, &null))		/* N_NULL */
		return false;
	return expect_fd(fd, "a terminal with a line discipline other than N_TTY");
}

static bool make_terminal_outside(void)
{
	int fd = open_master(O_RDWR), slave = (int)CRT_SYS(open(ptsname(fd), O_RDWR | O_NOCTTY));

	refuse_leave_orphan(NULL, NULL);
	CRT_SYS(close(slave));
	return expect_fd(fd, "its other end is open in a process outside of the checkpoint");
}

/* ---- timers ---- */

static void add_timer(clockid_t clock, const char *reason)
{
	struct sigevent event = { .sigev_notify = SIGEV_NONE };
	struct itimerspec later = { .it_value.tv_sec = 1000 };
	int id;

	CRT_SYS(syscall(SYS_timer_create, clock, &event, &id));
	CRT_SYS(syscall(SYS_timer_settime, id, 0, &later, NULL));
	crt_expect("pid %d|POSIX timer %d: %s", getpid(), id, reason);
}

static bool make_timer_of_other(void)
{
	clockid_t clock;

	if (clock_getcpuclockid(getppid(), &clock))
		return false;
	add_timer(clock, "the CPU time of another process");
	return true;
}

static void *stay(void *arg)
{
	pthread_barrier_wait(arg);
	pthread_barrier_wait(arg);
	return NULL;
}

static bool make_timer_of_gone_thread(void)
{
	pthread_barrier_t barrier;
	pthread_t id;
	clockid_t clock;

	pthread_barrier_init(&barrier, NULL, 2);
	CRT_SYS(-pthread_create(&id, NULL, stay, &barrier));
	pthread_barrier_wait(&barrier);
	CRT_SYS(-pthread_getcpuclockid(id, &clock));
	add_timer(clock, "the CPU time of a thread that has exited");
	pthread_barrier_wait(&barrier);
	CRT_SYS(-pthread_join(id, NULL));
	return true;
}

/* ---- System V and POSIX IPC ---- */

static int segment;

static void attach_and_stay(void *arg)
{
	(void)arg;
	shmat(segment, NULL, 0);
}

static bool make_shm_outside(void)
{
	segment = (int)CRT_SYS(shmget(IPC_PRIVATE, 4096, 0600));
	CRT_MAP(shmat(segment, NULL, 0));
	CRT_SYS(shmctl(segment, IPC_RMID, NULL));
	refuse_leave_orphan(attach_and_stay, NULL);
	crt_expect("pid %d|System V shared memory %d (key 0|times outside of the checkpoint", getpid(), segment);
	return true;
}

static int unreadable_queue, unreadable_set;

static bool make_unreadable(void)
{
	struct sembuf up = { .sem_op = 1, .sem_flg = SEM_UNDO };
	union { int value; struct semid_ds *set; } arg;
	struct semid_ds set;
	struct msqid_ds queue;

	unreadable_queue = (int)CRT_SYS(msgget(IPC_PRIVATE, 0600));
	CRT_SYS(msgsnd(unreadable_queue, &(struct { long type; char text[4]; }){ 1, "sent" }, 4, 0));
	CRT_SYS(msgctl(unreadable_queue, IPC_STAT, &queue));
	queue.msg_perm.mode = 0200;
	CRT_SYS(msgctl(unreadable_queue, IPC_SET, &queue));
	crt_expect("pid %d|System V message queue %d: you may not read it", getpid(), unreadable_queue);

	unreadable_set = (int)CRT_SYS(semget(IPC_PRIVATE, 1, 0600));
	CRT_SYS(semop(unreadable_set, &up, 1));
	arg.set = &set;
	CRT_SYS(semctl(unreadable_set, 0, IPC_STAT, arg));
	set.sem_perm.mode = 0200;
	CRT_SYS(semctl(unreadable_set, 0, IPC_SET, arg));
	crt_expect("pid %d|System V semaphores %d: you may not read them", getpid(), unreadable_set);
	return true;
}

static bool works_unreadable(void)
{
	return !msgctl(unreadable_queue, IPC_RMID, NULL) && !semctl(unreadable_set, 0, IPC_RMID);
}

static void nothing(union sigval value)
{
	(void)value;
}

static bool make_mqueue_thread(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_THREAD, .sigev_notify_function = nothing };
	struct mq_attr attr = { .mq_maxmsg = 2, .mq_msgsize = 16 };
	char name[64];
	mqd_t queue;

	snprintf(name, sizeof(name), "/cryo-refuse-%d", getpid());
	queue = mq_open(name, O_RDWR | O_CREAT, 0600, &attr);
	if (queue == (mqd_t)-1)
		return false;
	mq_unlink(name);
	if (mq_notify(queue, &event))
		return false;
	crt_expect("pid %d|POSIX message queue|its notification by a thread (SIGEV_THREAD)", getpid());
	return true;
}

/* ---- memory ---- */

static void *page(int flags)
{
	return mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | flags, -1, 0);
}

static bool expect_area(void *where, const char *reason)
{
	if (where == MAP_FAILED)
		return false;
	crt_expect("pid %d|memory %lx|%s", getpid(), (unsigned long)where, reason);
	return true;
}

static bool make_registered(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
	void *where = CRT_MAP(page(MAP_PRIVATE));
	struct uffdio_register area = { .range = { (unsigned long)where, 4096 }, .mode = UFFDIO_REGISTER_MODE_MISSING };

	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &area))
		return false;
	return expect_area(where, "memory registered with userfaultfd");
}

static bool make_sealed(void)
{
	void *where = CRT_MAP(page(MAP_PRIVATE));

	if (syscall(462, where, 4096, 0))		/* mseal() */
		return false;
	return expect_area(where, "memory sealed by mseal()");
}

/* ---- of the process ---- */

static bool make_mdwe(void)
{
	if (prctl(65, 1, 0, 0, 0))			/* PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN */
		return false;
	crt_expect("pid %d|memory-deny-write-execute (PR_SET_MDWE)", getpid());
	return true;
}

static char dispatch_on;

static bool make_dispatch(void)
{
	if (prctl(59, 1, 0, 0, &dispatch_on))		/* PR_SET_SYSCALL_USER_DISPATCH, ..._ON */
		return false;
	crt_expect("pid %d|thread %d|syscall user dispatch", getpid(), gettid());
	return true;
}

/* A thread that is told of another kernel than the others. */
static pid_t other_tid;
static pthread_barrier_t other_ready;

static void *other_thread(void *arg)
{
	CRT_SYS(personality(UNAME26));
	other_tid = gettid();
	pthread_barrier_wait(&other_ready);
	while (!crt_go())
		crt_sleep_ms(20);
	return arg;
}

static bool make_personality(void)
{
	pthread_t thread;

	pthread_barrier_init(&other_ready, NULL, 2);
	CRT_SYS(-pthread_create(&thread, NULL, other_thread, NULL));
	pthread_barrier_wait(&other_ready);
	crt_expect("pid %d|thread %d: a personality(2) of its own", getpid(), other_tid);
	return true;
}

/* One thread that has undo values of its own. */
static pid_t undo_tid;
static pthread_barrier_t undo_ready;

static void *undo_thread(void *arg)
{
	struct sembuf up = { .sem_op = 1, .sem_flg = SEM_UNDO };
	int set = (int)CRT_SYS(semget(IPC_PRIVATE, 1, 0600));

	(void)arg;
	undo_tid = gettid();
	CRT_SYS(unshare(CLONE_SYSVSEM));
	CRT_SYS(semop(set, &up, 1));
	pthread_barrier_wait(&undo_ready);
	while (!crt_go())
		crt_sleep_ms(20);
	semctl(set, 0, IPC_RMID);
	return NULL;
}

static bool make_own_undo(void)
{
	pthread_t id;

	pthread_barrier_init(&undo_ready, NULL, 2);
	CRT_SYS(-pthread_create(&id, NULL, undo_thread, NULL));
	pthread_barrier_wait(&undo_ready);
	crt_expect("pid %d|thread %d|System V semaphore adjustments (SEM_UNDO) of its own", getpid(), undo_tid);
	return true;
}

/* A child that has something in common with this process, by flags of clone(2). */
static pid_t sharer;

static int nap_until_go(void *arg)
{
	(void)arg;
	while (access(crt_path("go"), F_OK))
		crt_sleep_ms(20);
	_exit(7);
}

static bool works_sharing(void)
{
	int status = 0;

	return waitpid(sharer, &status, 0) == sharer && WIFEXITED(status) && WEXITSTATUS(status) == 7;
}

static char *nap_stack(void)
{
	size_t size = 65536;

	return (char *)CRT_MAP(mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) +
	       size;
}

static int leave_sharer(void *stack)
{
	sharer = clone(nap_until_go, stack, CLONE_VM | SIGCHLD, NULL);
	_exit(0);
}

/* With a process that does not belong to the tree: its parent is gone. */
static bool make_shared_memory(void)
{
	pid_t between = (pid_t)CRT_SYS(clone(leave_sharer, nap_stack(), CLONE_VM | SIGCHLD, nap_stack()));

	crt_same(waitpid(between, NULL, 0), between, "a process in between is gone");
	crt_expect("pid %d|memory shared with pid %d (refuse-objects) outside the checkpoint (CLONE_VM, vfork)", getpid(),
		   sharer);
	return true;
}

/* The second of two with the same memory becomes a child of this process, and the first one is a grandchild. */
static bool make_strangers(void)
{
	pid_t pids[2];
	int told[2];

	CRT_SYS(prctl(PR_SET_CHILD_SUBREAPER, 1));
	CRT_SYS(pipe(told));
	if (!CRT_SYS(fork())) {
		if (!CRT_SYS(fork())) {
			pid_t between = clone(leave_sharer, nap_stack(), CLONE_VM | SIGCHLD, nap_stack());

			waitpid(between, NULL, 0);
			pids[0] = getpid();
			pids[1] = sharer;
			CRT_SYS(write(told[1], pids, sizeof(pids)));
		}
		nap_until_go(NULL);
	}
	CRT_SYS(read(told[0], pids, sizeof(pids)));
	crt_expect("pid %d|sharing memory with pid %d (refuse-objects) of another parent or pid namespace is not supported", pids[0],
		   pids[1]);
	return true;
}

/* The same by a copy of this process. */
static bool make_sharing_outside(int flags, const char *reason)
{
	pid_t between = (pid_t)CRT_SYS(syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0));

	if (!between) {
		if (!syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0))
			nap_until_go(NULL);
		_exit(0);
	}
	crt_same(waitpid(between, NULL, 0), between, "a process in between is gone");
	crt_expect("pid %d|%s", getpid(), reason);
	return true;
}

static bool make_shared_files(void)
{
	return make_sharing_outside(CLONE_FILES, "descriptors shared with a process outside the checkpoint (CLONE_FILES)");
}

static bool make_shared_fs(void)
{
	return make_sharing_outside(CLONE_FS, "a working directory shared with a process outside the checkpoint (CLONE_FS)");
}

static bool make_mqueue_sharer(void)
{
	struct mq_attr attr = { .mq_maxmsg = 2, .mq_msgsize = 16 };
	struct sigevent event = { .sigev_notify = SIGEV_NONE };
	char name[64];
	int told[2];
	mqd_t queue;

	snprintf(name, sizeof(name), "/crtest-sharer-%d", getpid());
	queue = mq_open(name, O_RDWR | O_CREAT, 0600, &attr);

	if (queue == (mqd_t)-1)
		return false;
	mq_unlink(name);
	CRT_SYS(pipe(told));
	sharer = (pid_t)CRT_SYS(syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0));
	if (!sharer) {
		CRT_SYS(mq_notify(queue, &event));
		CRT_SYS(write(told[1], "", 1));
		while (access(crt_path("go"), F_OK))
			crt_sleep_ms(20);
		/* Linux forgets its pid for ever with a queue that goes while it is to be told. */
		mq_notify(queue, NULL);
		_exit(7);
	}
	CRT_SYS(read(told[0], name, 1));
	crt_expect("pid %d|its notification of pid %d, which shares its descriptors (CLONE_FILES), is not supported", getpid(), sharer);
	return true;
}

static pid_t sharing_tid;

static void *own_directory(void *ready)
{

	CRT_SYS(unshare(CLONE_FS));
	if (!CRT_SYS(syscall(SYS_clone, CLONE_FS | SIGCHLD, 0, 0, 0, 0)))
		nap_until_go(NULL);
	sharing_tid = gettid();
	CRT_SYS(write(*(int *)ready, "r", 1));
	while (!crt_go())
		crt_sleep_ms(20);
	return NULL;
}

static bool make_sharing_thread(void)
{
	int ready[2];
	pthread_t id;
	char byte;

	CRT_SYS(pipe(ready));
	CRT_SYS(-pthread_create(&id, NULL, own_directory, &ready[1]));
	CRT_SYS(read(ready[0], &byte, 1));
	crt_expect("pid %d|thread %d: a working directory shared with another process (CLONE_FS) is not supported", getpid(),
		   sharing_tid);
	return true;
}

struct obstacle obstacles[] = {
	{ .name = "o-path-of-pipe", .make = make_o_path_of_pipe },
	{ .name = "proc-of-ended", .make = make_proc_of_ended },
	{ .name = "deep-file", .make = make_deep_file },
	{ .name = "pidfd-in-message", .make = make_pidfd_in_message },
	{ .name = "proc-in-message", .make = make_proc_in_message },
	{ .name = "unreadable", .make = make_unreadable, .works = works_unreadable },
	{ .name = "o-path-deleted", .make = make_o_path_deleted },
	{ .name = "many-watches", .make = make_many_watches },
	{ .name = "watch-of-deleted", .make = make_watch_of_deleted },
	{ .name = "pipe-outside", .make = make_pipe_outside },
	{ .name = "deleted-fifo", .make = make_deleted_fifo },
	{ .name = "epoll-of-others", .make = make_epoll_of_others },
	{ .name = "breaking-lease", .make = make_breaking_lease },
	{ .name = "master-readonly", .make = make_master_readonly },
	{ .name = "echo", .make = make_echo },
	{ .name = "discipline", .make = make_discipline },
	{ .name = "terminal-outside", .make = make_terminal_outside },
	{ .name = "timer-of-other", .make = make_timer_of_other },
	{ .name = "timer-of-gone-thread", .make = make_timer_of_gone_thread },
	{ .name = "shm-outside", .make = make_shm_outside },
	{ .name = "mqueue-thread", .make = make_mqueue_thread, .alone = true },
	{ .name = "userfault-area", .make = make_registered },
	{ .name = "sealed", .make = make_sealed },
	{ .name = "mdwe", .make = make_mdwe, .alone = true },
	{ .name = "dispatch", .make = make_dispatch, .alone = true },
	{ .name = "personality", .make = make_personality, .alone = true },
	{ .name = "own-undo", .make = make_own_undo, .alone = true },
	{ .name = "shared-memory", .make = make_shared_memory, .alone = true },
	{ .name = "strangers", .make = make_strangers, .alone = true },
	{ .name = "shared-files", .make = make_shared_files, .alone = true },
	{ .name = "shared-fs", .make = make_shared_fs, .alone = true },
	{ .name = "mqueue-sharer", .make = make_mqueue_sharer, .works = works_sharing, .alone = true },
	{ .name = "sharing-thread", .make = make_sharing_thread, .alone = true },
	{ .name = "killing-pidfd", .make = make_killing_pidfd, .alone = true },
};

const unsigned int nr_obstacles = sizeof(obstacles) / sizeof(obstacles[0]);

const struct crt_test crt_test = {
	.text = "objects in states that cannot be restored are refused by name",
	.setup = refuse_setup,
	.verify = refuse_verify,
	.flags = CRT_REFUSE,
	.timeout_s = 240,	/* a million watches, one after the other */
	.cases = "mqueue-thread mdwe dispatch personality own-undo shared-memory strangers shared-files shared-fs mqueue-sharer "
		 "sharing-thread killing-pidfd",
};
