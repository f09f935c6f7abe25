/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * restarting.h - restarts by hand: handles, members that go on in a function of the test, TAP
 *
 * A program that uses this runs as root and makes everything else by fork().
 */
#ifndef RESTARTING_H
#define RESTARTING_H

#define _GNU_SOURCE
#include <cryo/ioctl.h>
#include <cryo/map.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define ORDINARY 1000		/* the user "cryo" */
#define STACK (256 * 1024)

static int tap_count, tap_bad;

static inline void die(const char *what)
{
	printf("# pid %d: %s: %s\n", getpid(), what, strerror(errno));
	fflush(stdout);
	_exit(99);
}

static inline bool ok(bool good, const char *format, ...) __attribute__((format(printf, 2, 3)));
static inline bool ok(bool good, const char *format, ...)
{
	va_list args;

	tap_bad += !good;
	printf("%sok %d - ", good ? "" : "not ", ++tap_count);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	puts("");
	fflush(stdout);
	return good;
}

static inline int finish(void)
{
	printf("1..%d\n", tap_count);
	return tap_bad != 0;
}

/* @result of a call: 0, or an errno value. Both by name. */
static inline void is_error(int result, int wanted, const char *what)
{
	if (!ok(result == wanted, "%s: %s", what, wanted ? strerrorname_np(wanted) : "works"))
		printf("# it is %d (%s)\n", result, strerror(result));
}

/* For all that must not be another's. */
static inline void *shared_memory(size_t size)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		die("mmap");
	return at;
}

static inline void sleep_ms(unsigned int ms)
{
	struct timespec pause = { ms / 1000, ms % 1000 * 1000000L };

	nanosleep(&pause, NULL);
}

static inline unsigned int factor(void)
{
	const char *value = getenv("CRTEST_FACTOR");

	return value && atoi(value) > 0 ? (unsigned int)atoi(value) : 1;
}

static inline void put_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		die(path);
	close(fd);
}

/* As proc_pid_stat(5) has it; 0: there is no such process. */
static inline char process_state(pid_t pid)
{
	char path[64], text[512], *end;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = 0;
	end = strrchr(text, ')');
	return end ? end[2] : 0;
}

static inline void become_user(uid_t uid)
{
	if (setgroups(0, NULL) || setresgid(uid, uid, uid) || setresuid(uid, uid, uid))
		die("setresuid");
	prctl(PR_SET_DUMPABLE, 1);
}

static inline int make_handle(unsigned int threads, unsigned int processes)
{
	struct cryo_restart args = { .size = sizeof(args), .threads = threads, .processes = processes };
	int dev = open(CRYO_DEVICE_PATH, O_RDWR | O_CLOEXEC);
	int fd = ioctl(dev, CRYO_IOC_RESTART, &args);

	if (fd < 0)
		die("CRYO_IOC_RESTART");
	close(dev);
	return fd;
}

static inline int commit(int handle, unsigned int ms)
{
	struct cryo_commit args = { .size = sizeof(args), .timeout_ms = ms };

	return ioctl(handle, CRYO_RST_COMMIT, &args) ? errno : 0;
}

static inline void show_log(int handle)
{
	char text[4096];
	ssize_t n;

	while ((n = read(handle, text, sizeof(text) - 1)) > 0) {
		text[n] = 0;
		for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
			printf("# log: %s\n", line);
	}
}

static inline void send_fd(int to, int fd)
{
	char c = 0, room[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec iov = { &c, 1 };
	struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof(room) };
	struct cmsghdr *head = CMSG_FIRSTHDR(&message);

	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(head), &fd, sizeof(int));
	if (sendmsg(to, &message, 0) != 1)
		die("sendmsg");
}

static inline int receive_fd(int from)
{
	char c, room[CMSG_SPACE(sizeof(int))];
	struct iovec iov = { &c, 1 };
	struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof(room) };
	int fd;

	if (recvmsg(from, &message, 0) != 1 || !CMSG_FIRSTHDR(&message))
		die("recvmsg");
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(int));
	return fd;
}

/* The general registers of a thread that is about to call a function, on a stack of which each child has a copy. */
struct start {
	size_t length;
	unsigned char registers[1024];
};

static void (*start_function)(void);

static void start_here(void)
{
	void (*function)(void) = start_function;

	syscall(SYS_kill, getpid(), SIGSTOP);
	function();
	_exit(97);
}

/* A child stops on its way to @function: whoever is forked later goes on there, with these registers. */
static inline void take_start(struct start *start, void (*function)(void))
{
	struct iovec iov = { start->registers, sizeof(start->registers) };
	char *stack = shared_memory(STACK), *copy = malloc(STACK);
	ucontext_t context;
	int status;
	pid_t pid;

	start_function = function;
	pid = fork();
	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		getcontext(&context);
		context.uc_stack = (stack_t){ .ss_sp = stack, .ss_size = STACK };
		context.uc_link = NULL;
		makecontext(&context, start_here, 0);
		setcontext(&context);
		_exit(97);
	}
	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		die("a child that stops");
	if (ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &iov))
		die("PTRACE_GETREGSET");
	start->length = iov.iov_len;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	/* What is on it then is no longer for all. */
	if (!copy)
		die("malloc");
	memcpy(copy, stack, STACK);
	if (mmap(stack, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != stack)
		die("mmap");
	memcpy(stack, copy, STACK);
	free(copy);
}

/* Arguments of a leader that goes on at @start; @set has room for one. */
static inline struct cryo_resume resume_args(const struct start *start, struct cryo_regset *set)
{
	*set = (struct cryo_regset){ .note = NT_PRSTATUS, .length = (uint32_t)start->length,
				     .data = (uintptr_t)start->registers };
	return (struct cryo_resume){ .size = sizeof(struct cryo_resume), .flags = CRYO_RESUME_LEADER,
				     .regsets = (uintptr_t)set, .nr_regsets = 1, .close_fd = -1, .exe_fd = -1 };
}

static inline int resume(int handle, struct cryo_resume *args)
{
	return ioctl(handle, CRYO_RST_RESUME, args) ? errno : 0;
}

#endif /* RESTARTING_H */
