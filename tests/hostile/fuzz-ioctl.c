// SPDX-License-Identifier: GPL-2.0-only
/*
 * Random ioctls, reads, polls and closes on /dev/cryo and on the handles it gives, from several
 * processes at once, for HOSTILE_SECONDS (20): as whoever runs it and as an ordinary user. The
 * kernel must not complain (the runner reads its log), and a proper request has to work afterwards.
 */
#define _GNU_SOURCE
#include <cryo/client.h>
#include <cryo/ioctl.h>
#include <cryo/map.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WORKERS 4

static uint64_t state;

static uint64_t rnd(void)
{
	uint64_t z = state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

static bool one_in(unsigned int n)
{
	return rnd() % n == 0;
}

static const unsigned long commands[] = {
	CRYO_IOC_VERSION, CRYO_IOC_CHECKPOINT, CRYO_IOC_RESTART, CRYO_IOC_PID_CURSOR, CRYO_CKPT_RUN,
	CRYO_CKPT_THAW,	  CRYO_CKPT_CANCEL,    CRYO_CKPT_STATUS, CRYO_RST_RESUME,     CRYO_RST_COMMIT,
	CRYO_IOC_CLIENT,  CRYO_IOC_RESTARTED,  CRYO_CLIENT_NOTE, CRYO_CLIENT_VOTE,    CRYO_CLIENT_RESTART_INFO,
	CRYO_CKPT_VERDICT, CRYO_CLIENT_WAIT,   CRYO_CLIENT_FORWARD, CRYO_IOC_IPC_ID,  CRYO_CKPT_DEVICE,
	CRYO_CKPT_PARENT, CRYO_CKPT_COMPLETE,
	CRYO_RST_EPOLL_DISARM, CRYO_RST_TIMER, CRYO_RST_PEER_PID, CRYO_RST_DATAGRAM,  CRYO_RST_PID_CURSOR,
	CRYO_RST_OUTER_PID,    CRYO_RST_URING, CRYO_CLIENT_EXCLUDE, CRYO_CLIENT_CLAIM, CRYO_CLIENT_GO,
	CRYO_IOC_CONSENT, CRYO_RST_STATUS,  CRYO_RST_MAP_FILE,   CRYO_RST_MAP,    CRYO_RST_SHADOW_STACK, CRYO_RST_PORT,
	CRYO_RST_EXIT_SIGNAL, CRYO_RST_INOTIFY_EVENT,
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

/* Sizes that mean something, and values that are off by little. */
static uint32_t odd_number(void)
{
	static const uint32_t some[] = { 0, 1, 2, 3, 4, 8, 16, 24, 32, 40, 100, 4095, 4096, 4097, 1U << 20,
					 0x7fffffff, 0x80000000, 0xffffffff };

	return one_in(4) ? (uint32_t)rnd() : some[rnd() % (sizeof(some) / sizeof(some[0]))];
}

/* What the calls of a restart are about. */
static int an_epoll, a_socket, a_udp_socket, a_tcp_socket, a_ring = -1, a_file = -1;

static size_t page;			/* of memory, in bytes */

#define AREA (256 * page)
#define SUM_OF_ZEROS_4K 0x332c45ec	/* lower half of the XXH64 of 4 pages */
#define SUM_OF_ZEROS_64K 0xa60f2740	/* with pages of 64 KiB */
#define SUM_OF_ZEROS (page == 4096 ? SUM_OF_ZEROS_4K : SUM_OF_ZEROS_64K)

/* Any number instead of the right one, now and then. */
static uint32_t about(uint64_t right)
{
	return one_in(16) ? odd_number() : (uint32_t)right;
}

/* A new area in place of the last one, to which anything may be done that needs no page of it. */
static size_t map_argument(struct cryo_map *map)
{
	static struct cryo_map_run runs[4];
	static struct cryo_map_chunk chunks[4];
	static struct cryo_map_range first[4];
	static void *area = MAP_FAILED;

	if (area != MAP_FAILED) {
		madvise((char *)area + rnd() % 16 * page, rnd() % 16 * page, one_in(2) ? MADV_DONTNEED : MADV_DONTDUMP);
		mprotect((char *)area + rnd() % 16 * page, rnd() % 16 * page, one_in(2) ? PROT_READ : PROT_NONE);
		munmap(area, AREA);
	}
	area = mmap(NULL, AREA, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (uint32_t i = 0; i < 4; i++) {
		chunks[i] = (struct cryo_map_chunk){
			.offset = i * 4 * page, .nr_pages = (uint16_t)about(4),
			.file = (uint16_t)(one_in(8) ? odd_number() : rnd() % 3), .checksum = about(SUM_OF_ZEROS) };
		runs[i] = (struct cryo_map_run){ .start = (uintptr_t)area + (i * 8 + rnd() % 4) * page,
						 .offset = i * 4 * page, .nr_pages = about(4), .chunk = about(i) };
		/* Some of them where no run is, and some that touch. */
		first[i] = (struct cryo_map_range){ .start = (uintptr_t)area + (i * 8 + rnd() % 8) * page,
						    .nr_pages = one_in(16) ? rnd() : about(1 + rnd() % 4) };
	}
	*map = (struct cryo_map){ .flags = about(rnd() % 2), .start = (uintptr_t)area, .end = (uintptr_t)area + AREA,
				  .runs = one_in(16) ? rnd() : (uintptr_t)runs, .chunks = (uintptr_t)chunks,
				  .nr_runs = about(4), .nr_chunks = about(4),
				  .first = one_in(16) ? rnd() : (uintptr_t)first, .nr_first = about(rnd() % 5),
				  .reserved = about(0) };
	/* As callers know it that were built before @first came. */
	return one_in(8) ? offsetof(struct cryo_map, first) : sizeof(*map);
}

/* Into a shadow stack where there are such, into memory that is only read, or beyond it. */
static size_t shadow_stack_argument(struct cryo_shadow_stack *fill)
{
	static unsigned char bytes[4 * 65536];
	static long stack;
	static void *other;

	if (!stack) {
		stack = syscall(453, 0, 4 * page, 0);	/* map_shadow_stack */
		other = mmap(NULL, 4 * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	}
	*fill = (struct cryo_shadow_stack){ .address = one_in(2) ? (uint64_t)stack : (uintptr_t)other,
					    .data = one_in(8) ? rnd() : (uintptr_t)bytes,
					    .length = one_in(2) ? 4 * page : odd_number() };
	fill->address += rnd() % 6 * page;
	return sizeof(*fill);
}

/* Of an instance that nobody reads from. */
static size_t inotify_argument(struct cryo_inotify_put *event)
{
	static int instance = -1;

	if (instance < 0)
		instance = inotify_init1(IN_CLOEXEC);
	*event = (struct cryo_inotify_put){
		.fd = one_in(8) ? a_socket : instance, .wd = one_in(4) ? -1 : (int32_t)odd_number(),
		.mask = one_in(2) ? 1U << rnd() % 32 : odd_number(), .cookie = odd_number(),
		.name_len = (uint32_t)(rnd() % (one_in(8) ? 5000 : 20)), .name = (uintptr_t)event };
	return sizeof(*event);
}

/* Arguments of a restart's calls that are right, but for what is put into them afterwards. */
static size_t restart_argument(unsigned long cmd, void *block)
{
	switch (cmd) {
	case CRYO_RST_EPOLL_DISARM:
		*(struct cryo_epoll_disarm *)block = (struct cryo_epoll_disarm){
			.epoll_fd = an_epoll, .target_fd = a_socket, .fd = a_socket, .events = odd_number() };
		return sizeof(struct cryo_epoll_disarm);
	case CRYO_RST_TIMER:
		*(struct cryo_timer_state *)block = (struct cryo_timer_state){
			.what = (uint32_t)rnd() % 4, .id = (int32_t)odd_number(), .overrun = (int32_t)odd_number() };
		return sizeof(struct cryo_timer_state);
	case CRYO_RST_PEER_PID:
		*(struct cryo_peer_pid *)block = (struct cryo_peer_pid){
			.fd = one_in(2) ? a_udp_socket : a_socket, .pid = one_in(2) ? getpid() : (int32_t)odd_number(),
			.flags = (uint32_t)rnd() % 3 };
		return sizeof(struct cryo_peer_pid);
	case CRYO_RST_DATAGRAM:
		*(struct cryo_datagram *)block = (struct cryo_datagram){
			.fd = one_in(2) ? a_udp_socket : a_socket, .data = (uintptr_t)block, .length = odd_number() % 70000,
			.error = one_in(3) ? odd_number() : 0, .family = (uint16_t)(one_in(2) ? 2 : odd_number()),
			.from_port = (uint16_t)rnd(), .to_port = (uint16_t)rnd(), .ifindex = odd_number() };
		return sizeof(struct cryo_datagram);
	case CRYO_RST_INOTIFY_EVENT:
		return inotify_argument(block);
	case CRYO_RST_PORT:
		*(struct cryo_port *)block = (struct cryo_port){
			.fd = one_in(2) ? a_tcp_socket : a_socket, .port = one_in(2) ? 1024 + (uint32_t)rnd() % 60000 : odd_number() };
		return sizeof(struct cryo_port);
	case CRYO_RST_PID_CURSOR:
		*(struct cryo_nested_cursor *)block = (struct cryo_nested_cursor){
			.pid = 30000 + (int32_t)(rnd() % 1000), .up = one_in(2) ? 0 : odd_number() };
		return sizeof(struct cryo_nested_cursor);
	case CRYO_RST_URING:
		*(struct cryo_uring_counters *)block = (struct cryo_uring_counters){
			.fd = one_in(8) ? (int32_t)odd_number() : a_ring, .sq_head = odd_number(), .cq_tail = odd_number() };
		return sizeof(struct cryo_uring_counters);
	case CRYO_RST_MAP_FILE:
		*(struct cryo_map_file *)block = (struct cryo_map_file){
			.fd = one_in(4) ? (int32_t)odd_number() : a_file,
			.file = one_in(4) ? odd_number() : (uint32_t)(rnd() % 3) };
		return sizeof(struct cryo_map_file);
	case CRYO_RST_MAP:
		return map_argument(block);
	case CRYO_RST_SHADOW_STACK:
		return shadow_stack_argument(block);
	case CRYO_RST_EXIT_SIGNAL:
		*(struct cryo_exit_signal *)block = (struct cryo_exit_signal){
			.signal = one_in(2) ? SIGCHLD : (int32_t)odd_number() };
		return sizeof(struct cryo_exit_signal);
	case CRYO_RST_OUTER_PID:
		*(struct cryo_outer_pid *)block = (struct cryo_outer_pid){
			.pid = one_in(2) ? getpid() : (int32_t)odd_number() };
		return sizeof(struct cryo_outer_pid);
	}
	return 0;
}

static unsigned char *page_end;		/* the next byte is not mapped */
static pid_t victim;
static int null_fd;

/* Of the device and of checkpoints; likewise. */
static size_t request_argument(unsigned long cmd, void *block)
{
	const bool proper = !one_in(3);

	switch (cmd) {
	case CRYO_IOC_VERSION:
		return sizeof(struct cryo_version);
	case CRYO_IOC_CHECKPOINT:
		if (!one_in(4))
			*(struct cryo_checkpoint *)block = (struct cryo_checkpoint){
				.flags = (uint32_t)rnd() & CRYO_CKPT_FLAGS, .target = victim, .out_fd = null_fd,
				.freeze_ms = (uint32_t)rnd() % 500, .timeout_ms = 2000, .scope = one_in(2) ? 0 : 3 };
		return sizeof(struct cryo_checkpoint);
	case CRYO_IOC_RESTART:
		if (proper)
			*(struct cryo_restart *)block = (struct cryo_restart){ .threads = 1 + (uint32_t)rnd() % 3 };
		return sizeof(struct cryo_restart);
	case CRYO_IOC_CONSENT:
		((struct cryo_consent *)block)->consent = (uint32_t)rnd() % 4;
		return sizeof(struct cryo_consent);
	case CRYO_IOC_IPC_ID:
		if (proper)
			*(struct cryo_ipc_id *)block = (struct cryo_ipc_id){
				.kind = (uint32_t)rnd() % 5, .id = (int32_t)odd_number() };
		return sizeof(struct cryo_ipc_id);
	case CRYO_CKPT_DEVICE:
		if (proper)
			*(struct cryo_ckpt_device *)block = (struct cryo_ckpt_device){
				.policy = (uint32_t)rnd() % 4, .rdev = odd_number() };
		return sizeof(struct cryo_ckpt_device);
	case CRYO_IOC_PID_CURSOR:
		((struct cryo_pid_cursor *)block)->pid =
			one_in(2) ? (int32_t)odd_number() : 30000 + (int32_t)(rnd() % 1000);
		return sizeof(struct cryo_pid_cursor);
	case CRYO_CKPT_VERDICT:
		return sizeof(struct cryo_ckpt_verdict);
	case CRYO_CKPT_PARENT:
	case CRYO_CKPT_COMPLETE:
		if (proper)
			((struct cryo_ckpt_context *)block)->tracked = one_in(4);
		return sizeof(struct cryo_ckpt_context);
	case CRYO_CKPT_STATUS:
		return sizeof(struct cryo_ckpt_status);
	}
	return 0;
}

static size_t client_argument(unsigned long cmd, void *block)
{
	const bool proper = !one_in(3);

	switch (cmd) {
	case CRYO_IOC_CLIENT:
		if (proper)
			*(struct cryo_client *)block = (struct cryo_client){
				.flags = (uint32_t)rnd() & CRYO_CLIENT_FLAGS,
				.facts_len = one_in(3) ? odd_number() : (uint32_t)rnd() % 128,
				.facts = one_in(4) ? rnd() : (uintptr_t)block + 64 };
		return sizeof(struct cryo_client);
	case CRYO_CLIENT_VOTE:
		if (proper)
			*(struct cryo_client_vote *)block = (struct cryo_client_vote){
				.vote = (uint32_t)rnd() % 4, .code = (uint32_t)rnd() % 100 };
		return sizeof(struct cryo_client_vote);
	case CRYO_CLIENT_FORWARD:
		*(struct cryo_client_forward *)block = (struct cryo_client_forward){
			.scope = (uint32_t)rnd() % 5, .target = victim };
		return sizeof(struct cryo_client_forward);
	case CRYO_CLIENT_EXCLUDE: {
		struct cryo_client_range *ranges = (void *)((char *)block + 64);

		for (unsigned int i = 0; i < 8; i++)
			ranges[i] = (struct cryo_client_range){ (8 + 2 * i) * page, (9 + 2 * i) * page };
		if (!proper)
			ranges[rnd() % 8].end = rnd();
		*(struct cryo_client_exclude *)block = (struct cryo_client_exclude){
			.nr_ranges = one_in(2) ? (uint32_t)rnd() % 8 : odd_number(),
			.ranges = one_in(6) ? rnd() : (uintptr_t)ranges };
		return sizeof(struct cryo_client_exclude);
	}
	case CRYO_CLIENT_GO:
		*(struct cryo_client_go *)block = (struct cryo_client_go){ .tid = one_in(2) ? 0 : getpid() };
		return sizeof(struct cryo_client_go);
	case CRYO_CLIENT_WAIT:
		return sizeof(struct cryo_client_request);
	case CRYO_CLIENT_RESTART_INFO:
		*(struct cryo_client_restart *)block = (struct cryo_client_restart){
			.facts_size = odd_number(), .facts = one_in(2) ? rnd() : (uintptr_t)block + 64 };
		return sizeof(struct cryo_client_restart);
	}
	return 0;
}

/* What threads of a restart end with. */
static size_t resume_argument(unsigned long cmd, void *block)
{
	static struct cryo_regset sets[CRYO_MAX_REGSETS];
	struct cryo_resume *a = block;

	if (cmd == CRYO_RST_COMMIT) {
		((struct cryo_commit *)block)->timeout_ms = 1 + (uint32_t)rnd() % 200;
		return sizeof(struct cryo_commit);
	}
	if (cmd != CRYO_RST_RESUME)
		return 0;
	for (int i = 0; i < CRYO_MAX_REGSETS; i++)
		sets[i] = (struct cryo_regset){ .note = one_in(2) ? 1 : odd_number(),
						.length = one_in(2) ? 216 : odd_number(),
						.data = one_in(2) ? (uintptr_t)block : rnd() };
	a->regsets = (uintptr_t)sets;
	a->nr_regsets = (uint32_t)rnd() % 4;
	a->flags &= one_in(3) ? ~0U : 0U;
	a->unmap_len = 0;
	a->close_fd = a->exe_fd = -1;
	return sizeof(*a);
}

/* An argument block of @cmd that is nearly right, or anything. */
static void *argument(unsigned long cmd)
{
	static unsigned char block[4096] __attribute__((aligned(8)));
	size_t size;

	for (size_t i = 0; i < sizeof(block) / 4; i++)
		((uint32_t *)block)[i] = one_in(3) ? odd_number() : 0;
	size = request_argument(cmd, block);
	if (!size)
		size = client_argument(cmd, block);
	if (!size)
		size = resume_argument(cmd, block);
	if (!size && !one_in(3))
		size = restart_argument(cmd, block);
	*(uint32_t *)block = one_in(5) ? odd_number() : (uint32_t)size;
	if (one_in(6)) {			/* runs off the end of what is mapped */
		size_t part = rnd() % (size + 8);

		memcpy(page_end - part, block, part);
		return page_end - part;
	}
	if (one_in(12))
		return (void *)(uintptr_t)rnd();
	return block;
}

/* A ring whose counters can be set again. */
static void new_ring(void)
{
	struct io_uring_params params = { 0 };

	close(a_ring);
	a_ring = (int)syscall(SYS_io_uring_setup, 4, &params);
}

/* Of a handle, which may be one of a restart, and then maps a ring. */
static void map(int fd)
{
	uint64_t offset = (uint64_t)(one_in(8) ? odd_number() : (uint32_t)a_ring) << CRYO_URING_FD_SHIFT;
	size_t size = (rnd() % 4 + 1) * page;
	void *at;

	offset |= one_in(3) ? rnd() & 0xffffffff000ULL : (rnd() % 3) << 27;
	at = mmap(NULL, size, PROT_READ | (one_in(2) ? PROT_WRITE : 0),
		  one_in(4) ? MAP_PRIVATE : MAP_SHARED, fd, (off_t)offset);
	if (at == MAP_FAILED)
		return;
	(void)*(volatile char *)at;
	munmap(at, size);
}

static void one_call(int *fds, int n)
{
	unsigned long cmd = one_in(10) ? (unsigned long)(uint32_t)rnd() : commands[rnd() % COMMANDS];
	int slot = (int)(rnd() % (unsigned int)n), rc;
	static char buf[1 << 16];

	switch (rnd() % 12) {
	case 0:
		(void)!read(fds[slot], one_in(5) ? (void *)(uintptr_t)rnd() : buf, (one_in(3) ? odd_number() : 300) % sizeof(buf));
		return;
	case 1: {
		struct pollfd p = { .fd = fds[slot], .events = POLLIN };

		poll(&p, 1, 0);
		return;
	}
	case 2:
		if (slot) {
			close(fds[slot]);
			fds[slot] = open(CRYO_DEVICE_PATH, O_RDWR | O_CLOEXEC);
		}
		return;
	case 3:
		(void)!write(fds[slot], buf, odd_number() % sizeof(buf));
		lseek(fds[slot], (off_t)rnd(), SEEK_SET);
		return;
	}
	if (one_in(50))
		map(fds[slot]);
	if (one_in(200))
		new_ring();
	/* It waits until somebody's alarm ends it. */
	if (cmd == CRYO_CLIENT_WAIT && !one_in(100))
		return;
	rc = cmd == CRYO_CKPT_THAW ? ioctl(fds[slot], cmd, rnd() % 3 ? 0 : rnd() % 80) : ioctl(fds[slot], cmd, argument(cmd));
	if (rc > 2 && (cmd == CRYO_IOC_CHECKPOINT || cmd == CRYO_IOC_RESTART || cmd == CRYO_IOC_CLIENT ||
		       cmd == CRYO_IOC_RESTARTED)) {
		slot = 1 + (int)(rnd() % (unsigned int)(n - 1));
		close(fds[slot]);
		fds[slot] = rc;
	}
}

static pid_t new_victim(void)
{
	pid_t pid = fork();

	if (!pid) {
		close_range(3, ~0U, 0);			/* the device would be an obstacle */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	return pid;
}

/* 16 pages of zeros, which nobody can write to any more. */
static void make_file(void)
{
	char path[] = "/var/tmp/fuzz-ioctl.XXXXXX";
	int fd = mkostemp(path, O_CLOEXEC);

	if (fd < 0 || ftruncate(fd, (off_t)(16 * page)))
		_exit(7);
	a_file = open(path, O_RDONLY | O_CLOEXEC);
	unlink(path);
	close(fd);
}

static void make_objects(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	int pair[2];

	an_epoll = epoll_create1(EPOLL_CLOEXEC);
	a_udp_socket = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	a_tcp_socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (an_epoll < 0 || a_udp_socket < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		_exit(7);
	a_socket = pair[0];
	make_file();
	new_ring();
	if (epoll_ctl(an_epoll, EPOLL_CTL_ADD, a_socket, &event))
		_exit(7);
}

/* A worker dies when a RESUME that it makes is given up: its parent makes another one. */
static void work(time_t end)
{
	int fds[6];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int i = 0; i < 6; i++)
		fds[i] = open(CRYO_DEVICE_PATH, O_RDWR | O_CLOEXEC);
	if (fds[0] < 0)
		_exit(9);
	victim = new_victim();
	null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	make_objects();
	page_end = (unsigned char *)mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) + page;
	mprotect(page_end, page, PROT_NONE);
	while (time(NULL) < end) {
		alarm(5);		/* out of whatever waits for ever */
		one_call(fds, 6);
		if (one_in(100) && waitpid(victim, NULL, WNOHANG) == victim)
			victim = new_victim();
	}
	kill(victim, SIGKILL);
	_exit(0);
}

static void drop_privileges(void)
{
	if (geteuid() == 0 && (setresgid(1000, 1000, 1000) || setresuid(1000, 1000, 1000)))
		_exit(8);
	prctl(PR_SET_DUMPABLE, 1);
}

static int fuzz(bool as_user, int seconds, uint64_t seed)
{
	time_t end = time(NULL) + seconds;
	int workers = 0, starts = 0, status, none = 0;

	while (workers || time(NULL) < end) {
		if (workers < WORKERS && time(NULL) < end) {
			if (!fork()) {
				state = seed + (uint64_t)starts * 1000003;
				if (as_user)
					drop_privileges();
				work(end);
			}
			starts++;
			workers++;
			continue;
		}
		if (wait(&status) > 0)
			workers--;
		if (WIFEXITED(status) && WEXITSTATUS(status) && ++none > 20)
			return -WEXITSTATUS(status);
	}
	return starts;
}

/* An honest checkpoint of a child to /dev/null. */
static bool works(void)
{
	struct cryo_checkpoint args = { .size = sizeof(args), .out_fd = open("/dev/null", O_WRONLY | O_CLOEXEC) };
	int dev = open(CRYO_DEVICE_PATH, O_RDWR | O_CLOEXEC), handle, rc;

	args.target = new_victim();
	usleep(100000);
	handle = ioctl(dev, CRYO_IOC_CHECKPOINT, &args);
	rc = handle < 0 ? handle : ioctl(handle, CRYO_CKPT_RUN, 0);
	if (rc)
		printf("# %s\n", strerror(errno));
	kill(args.target, SIGKILL);
	waitpid(args.target, NULL, 0);
	close(handle);
	close(dev);
	return rc == 0;
}

/* A structure of many pages, all zero: nothing in it is wrong but its size. */
static bool is_too_large(int fd, unsigned long cmd)
{
	static uint32_t pages[16 * 65536 / sizeof(uint32_t)] __attribute__((aligned(8)));

	pages[0] = sizeof(pages);
	if (ioctl(fd, cmd, pages) == -1 && errno == E2BIG)
		return true;
	printf("# %#lx: %s\n", cmd, strerror(errno));
	return false;
}

static bool bounded(void)
{
	static const unsigned long of_device[] = { CRYO_IOC_CHECKPOINT, CRYO_IOC_RESTART, CRYO_IOC_PID_CURSOR,
						   CRYO_IOC_IPC_ID, CRYO_IOC_CLIENT };
	static const unsigned long of_restart[] = { CRYO_RST_RESUME, CRYO_RST_COMMIT, CRYO_RST_EPOLL_DISARM,
						    CRYO_RST_TIMER, CRYO_RST_PEER_PID, CRYO_RST_DATAGRAM,
						    CRYO_RST_PID_CURSOR, CRYO_RST_OUTER_PID, CRYO_RST_URING,
						    CRYO_RST_MAP_FILE, CRYO_RST_MAP, CRYO_RST_SHADOW_STACK,
						    CRYO_RST_PORT, CRYO_RST_EXIT_SIGNAL, CRYO_RST_INOTIFY_EVENT };
	static const unsigned long of_client[] = { CRYO_CLIENT_WAIT, CRYO_CLIENT_VOTE, CRYO_CLIENT_RESTART_INFO,
						   CRYO_CLIENT_FORWARD, CRYO_CLIENT_EXCLUDE, CRYO_CLIENT_GO };
	struct cryo_checkpoint request = { .size = sizeof(request), .target = getppid(), .out_fd = -1 };
	struct cryo_restart restart = { .size = sizeof(restart), .threads = 1 };
	struct cryo_client client = { .size = sizeof(client) };
	int dev = open(CRYO_DEVICE_PATH, O_RDWR | O_CLOEXEC), null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	int handle = ioctl(dev, CRYO_IOC_RESTART, &restart), part = ioctl(dev, CRYO_IOC_CLIENT, &client), checkpoint;
	bool good;

	request.out_fd = null;
	checkpoint = ioctl(dev, CRYO_IOC_CHECKPOINT, &request);
	good = dev >= 0 && handle >= 0 && part >= 0 && checkpoint >= 0;
	for (size_t i = 0; i < sizeof(of_device) / sizeof(of_device[0]); i++)
		good &= is_too_large(dev, of_device[i]);
	for (size_t i = 0; i < sizeof(of_restart) / sizeof(of_restart[0]); i++)
		good &= is_too_large(handle, of_restart[i]);
	for (size_t i = 0; i < sizeof(of_client) / sizeof(of_client[0]); i++)
		good &= is_too_large(part, of_client[i]);
	good &= is_too_large(checkpoint, CRYO_CKPT_DEVICE);
	close(checkpoint);
	close(part);
	close(handle);
	close(null);
	close(dev);
	return good;
}

static bool refuses(int handle, void *address, uint64_t length, int error)
{
	static const unsigned char bytes[65536] = { 1 };
	struct cryo_shadow_stack fill = { .size = sizeof(fill), .address = (uintptr_t)address,
					  .data = (uintptr_t)bytes, .length = length };

	errno = 0;
	if (ioctl(handle, CRYO_RST_SHADOW_STACK, &fill) == -1 && errno == error)
		return true;
	printf("# %p, %#llx: %s\n", address, (unsigned long long)length, strerror(errno));
	return false;
}

/* In a process that is being rebuilt: @handle is another one's. */
static bool child_fills_no_other(int handle)
{
	unsigned char *memory = mmap(NULL, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool good = memory != MAP_FAILED;

	good = good && refuses(handle, memory, page, EACCES) && !*memory;
	good = good && refuses(handle, NULL, page, EACCES);
	good = good && refuses(handle, memory + 8, page, EINVAL);
	good = good && refuses(handle, memory, 8, EINVAL);
	good = good && refuses(handle, memory, 0, EINVAL);
	good = good && refuses(handle, memory, -page, EINVAL);
	good = good && refuses(handle, (void *)-page, page, EINVAL);
	return good;
}

/*
 * What fills shadow stacks writes to nothing else, least of all to what the program itself may not write to; nor to those
 * of the process that has made the handle.
 */
static bool fills_no_other(void)
{
	struct cryo_restart restart = { .size = sizeof(restart), .threads = 1 };
	int dev = open(CRYO_DEVICE_PATH, O_RDWR | O_CLOEXEC), handle = ioctl(dev, CRYO_IOC_RESTART, &restart);
	unsigned char *memory = mmap(NULL, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool good = handle >= 0 && memory != MAP_FAILED && refuses(handle, memory, page, EPERM);
	int status = 0;
	pid_t pid = good ? fork() : -1;

	if (!pid)
		_exit(!child_fills_no_other(handle));
	good = good && waitpid(pid, &status, 0) == pid && !status;
	munmap(memory, page);
	close(handle);
	close(dev);
	return good;
}

static char state_of(pid_t pid)
{
	char path[32], text[512], *name_end;
	ssize_t len;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	len = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (len <= 0)
		return 'X';
	text[len] = 0;
	name_end = strrchr(text, ')');
	return name_end ? name_end[2] : 'X';
}

/* The one thread of two that a restart would need. */
static void wait_for_restart(void)
{
	static unsigned char registers[216];
	struct cryo_restart restart = { .size = sizeof(restart), .threads = 2 };
	struct cryo_regset set = { .note = 1, .length = sizeof(registers), .data = (uintptr_t)registers };
	struct cryo_resume args = { .size = sizeof(args), .regsets = (uintptr_t)&set, .nr_regsets = 1,
				    .close_fd = -1, .exe_fd = -1 };
	int dev = open(CRYO_DEVICE_PATH, O_RDWR | O_CLOEXEC);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	ioctl(ioctl(dev, CRYO_IOC_RESTART, &restart), CRYO_RST_RESUME, &args);
	printf("# did not wait: %s\n", strerror(errno));
	_exit(1);
}

/* Nobody but a signal can end that, and any that ends a process has to. */
static bool dies_waiting(void)
{
	char state = 'R';
	int status = 0;
	pid_t pid = fork();

	if (!pid)
		wait_for_restart();
	while (state != 'D' && state != 'Z' && state != 'X') {
		usleep(1000);
		state = state_of(pid);
	}
	kill(pid, SIGTERM);
	waitpid(pid, &status, 0);
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGTERM)
		printf("# ended with %#x\n", (unsigned int)status);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM;
}

/* Processes that resume with random registers fault; the kernel need not write that down. */
static void quiet_traps(void)
{
	int fd = open("/proc/sys/debug/exception-trace", O_WRONLY | O_CLOEXEC);

	if (fd >= 0) {
		(void)!write(fd, "0", 1);
		close(fd);
	}
}

static unsigned long environment(const char *name, unsigned long fallback)
{
	const char *value = getenv(name);

	return value && *value ? strtoul(value, NULL, 10) : fallback;
}

int main(void)
{
	int seconds = (int)environment("HOSTILE_SECONDS", 20), n = 0, bad = 0;
	uint64_t seed = environment("CRTEST_SEED", (unsigned long)time(NULL) % 100000);

	bool sized, dies, fills;

	setvbuf(stdout, NULL, _IONBF, 0);
	printf("# CRTEST_SEED=%llu\n", (unsigned long long)seed);
	quiet_traps();
	if (access(CRYO_DEVICE_PATH, F_OK)) {
		printf("1..0 # SKIP no %s\n", CRYO_DEVICE_PATH);
		return 0;
	}
	page = (size_t)sysconf(_SC_PAGESIZE);
	alarm(30);			/* a call that takes it may wait for ever */
	sized = bounded();
	printf("%sok %d - a structure of many pages is refused for its size\n", sized ? "" : "not ", ++n);
	dies = dies_waiting();
	printf("%sok %d - who waits for a restart dies by any signal\n", dies ? "" : "not ", ++n);
	fills = fills_no_other();
	printf("%sok %d - what is for shadow stacks fills no other memory\n", fills ? "" : "not ", ++n);
	alarm(0);
	bad += !sized + !dies + !fills;
	for (int as_user = 0; as_user < 2; as_user++) {
		int starts = fuzz(as_user, seconds / 2, seed + (uint64_t)as_user);
		bool good = works();

		printf("%sok %d - random calls %s (%d workers)\n", starts > 0 ? "" : "not ", ++n,
		       as_user ? "as an ordinary user" : "as the tester", starts);
		printf("%sok %d - a proper checkpoint works afterwards\n", good ? "" : "not ", ++n);
		bad += starts <= 0 || !good;
	}
	printf("1..%d\n", n);
	return bad != 0;
}
