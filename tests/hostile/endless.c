// SPDX-License-Identifier: GPL-2.0-only
/*
 * What an ordinary user could make last for ever: a process that cannot be killed, a handle that only it itself holds, and a checkpoint
 * that waits for a lock of somebody who does not let go. And a listening socket whose connections others take meanwhile.
 */
#include "restarting.h"

#include <linux/io_uring.h>
#include <linux/userfaultfd.h>
#include <netinet/in.h>
#include <net/if.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/un.h>
#include <termios.h>

#define HANDLES	50
#define RACE_S	8

static struct start here;

static void wait_here(void)
{
	for (;;)
		pause();
}

static int make_request(pid_t pid, int out, unsigned int flags)
{
	struct cryo_checkpoint args = {
		.size = sizeof(args), .target = pid, .out_fd = out, .flags = flags, .timeout_ms = 20000 * factor(),
	};
	int dev = open(CRYO_DEVICE_PATH, O_RDWR | O_CLOEXEC), handle = ioctl(dev, CRYO_IOC_CHECKPOINT, &args);

	if (handle < 0)
		die("CRYO_IOC_CHECKPOINT");
	close(dev);
	return handle;
}

/* ---- signals ---- */

/* With all signals blocked, as far as they can be. */
static void blocked(unsigned int flags, const char *how)
{
	int pair[2], handle;
	pid_t maker, member = -1;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		die("socketpair");
	maker = fork();
	if (!maker) {
		become_user(ORDINARY);
		handle = make_handle(1, 1);
		member = fork();
		if (!member) {
			struct cryo_regset set;
			struct cryo_resume args = resume_args(&here, &set);

			args.flags |= flags;
			args.sigmask = args.saved_sigmask = ~0ULL;
			resume(handle, &args);
			_exit(1);
		}
		if (commit(handle, 10000 * factor()) || write(pair[1], &member, sizeof(member)) != sizeof(member))
			_exit(1);
		waitpid(member, NULL, 0);
		_exit(0);
	}
	close(pair[1]);
	ok(read(pair[0], &member, sizeof(member)) == sizeof(member), "a process that blocks all signals (%s)", how);
	close(pair[0]);
	if (member > 0)
		kill(member, SIGKILL);
	for (unsigned int i = 0; i < 200 * factor() && member > 0 && !kill(member, 0); i++)
		sleep_ms(50);
	ok(member > 0 && kill(member, 0) && errno == ESRCH, "... can be killed");
	kill(maker, SIGKILL);
	waitpid(maker, NULL, 0);
}

/* ---- handles that hold themselves ---- */

static long users(void)
{
	FILE *file = fopen("/sys/module/cryo/refcnt", "r");
	long n = -1;

	if (file && fscanf(file, "%ld", &n) != 1)
		n = -1;
	if (file)
		fclose(file);
	return n;
}

/* A ring that is registered with itself would be for ever. */
static void ring_is_no_output(void)
{
	struct io_uring_params params = { 0 };
	int ring = syscall(SYS_io_uring_setup, 8, &params), dev = open(CRYO_DEVICE_PATH, O_RDWR | O_CLOEXEC);
	struct cryo_checkpoint args = { .size = sizeof(args), .out_fd = ring };

	ok(ring < 0 || (ioctl(dev, CRYO_IOC_CHECKPOINT, &args) < 0 && errno == EBADF),
	   "a ring of io_uring cannot be written to, and is no output");
	close(ring);
	close(dev);
}

static void in_sockets(void)
{
	for (int i = 0; i < HANDLES; i++) {
		int pair[2], handle;

		if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
			_exit(2);
		handle = make_request(0, pair[0], 0);
		send_fd(pair[1], handle);
		close(handle);
		close(pair[0]);
		close(pair[1]);
	}
	_exit(0);
}

static void held_by_itself(void (*hold)(void), const char *by)
{
	long before = users();
	int status;
	pid_t pid = fork();

	if (!pid) {
		become_user(ORDINARY);
		hold();
	}
	waitpid(pid, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 2) {
		ok(true, "handles that only %s hold # SKIP there is no such thing here", by);
		return;
	}
	ok(WIFEXITED(status) && !WEXITSTATUS(status), "handles that only %s hold", by);
	/* What is in flight is looked for when something else is. */
	for (unsigned int i = 0; i < 100 * factor() && users() > before; i++) {
		int pair[2];

		if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
			die("socketpair");
		send_fd(pair[1], pair[0]);
		close(pair[0]);
		close(pair[1]);
		sleep_ms(50);
	}
	ok(users() <= before, "... are gone with their process (%ld, %ld before)", users(), before);
}

static void other_output(void)
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC), zero = open("/dev/zero", O_WRONLY | O_CLOEXEC);
	pid_t pid = fork();
	int handle;

	if (!pid)
		wait_here();
	handle = make_request(pid, null, CRYO_CKPT_NO_CALLBACKS);
	dup2(zero, null);
	is_error(ioctl(handle, CRYO_CKPT_RUN, 0) ? errno : 0, EBADF, "another file at the number of the output is not written to");
	close(null);
	is_error(ioctl(handle, CRYO_CKPT_RUN, 0) ? errno : 0, EBADF, "... nor is none");
	close(handle);
	null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	handle = make_request(pid, null, CRYO_CKPT_NO_CALLBACKS);
	is_error(ioctl(handle, CRYO_CKPT_RUN, 0) ? errno : 0, 0, "... the one that was given is");
	close(handle);
	close(null);
	close(zero);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* ---- locks ---- */

static void loopback_up(void)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };

	ioctl(fd, SIOCSIFFLAGS, &request);
	close(fd);
}

static void connect_tcp(int ends[2])
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	if (bind(listener, (struct sockaddr *)&address, sizeof(address)) || listen(listener, 5) ||
	    getsockname(listener, (struct sockaddr *)&address, &length))
		die("listen");
	ends[1] = socket(AF_INET, SOCK_STREAM, 0);
	if (connect(ends[1], (struct sockaddr *)&address, sizeof(address)))
		die("connect");
	ends[0] = accept(listener, NULL, NULL);
	close(listener);
}

/* Bytes that never come: whoever reads them waits, with what he holds. */
static char *stalling(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register registration = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC);
	char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	registration.range = (struct uffdio_range){ (uintptr_t)page, 4096 };
	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &registration))
		die("userfaultfd");
	return page;
}

static void read_proc(pid_t pid, const char *file, char *text, size_t size)
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
	fd = open(path, O_RDONLY);
	n = fd < 0 ? 0 : read(fd, text, size - 1);
	text[n > 0 ? n : 0] = 0;
	if (fd >= 0)
		close(fd);
}

static bool is_waiting_in(pid_t pid, const char *call)
{
	char text[64];

	read_proc(pid, "syscall", text, sizeof(text));
	return !strncmp(text, call, strlen(call));
}

/* Sleeps again, as it did before. */
static bool runs(pid_t pid)
{
	char text[512];

	for (unsigned int i = 0; i < 100 * factor(); i++) {
		read_proc(pid, "stat", text, sizeof(text));
		if (strstr(text, ") S "))
			return true;
		sleep_ms(50);
	}
	return false;
}

/* PTY_INPUT: with a byte that the line discipline has not taken yet. */
enum kind { PIPE, TCP, UNIX, EPOLL, PTY, PTY_INPUT, KINDS };

static const struct {
	const char *name;
	long call;	/* that the other one is in */
} kinds[KINDS] = {
	[PIPE] = { "pipe", SYS_write }, [TCP] = { "socket", SYS_write }, [UNIX] = { "socket", SYS_read },
	[EPOLL] = { "epoll", SYS_epoll_pwait }, [PTY] = { "pseudo-terminal", SYS_read },
	[PTY_INPUT] = { "pseudo-terminal", SYS_read },
};

static bool is_pty(enum kind kind)
{
	return kind == PTY || kind == PTY_INPUT;
}

/* A registration that is ready: telling of it takes the lock. */
static void make_epoll(int ends[2])
{
	struct epoll_event event = { .events = EPOLLOUT };

	ends[0] = epoll_create1(0);
	ends[1] = eventfd(0, 0);
	if (ends[0] < 0 || ends[1] < 0 || epoll_ctl(ends[0], EPOLL_CTL_ADD, ends[1], &event))
		die("epoll");
}

/* More than is read in one piece. */
static void make_pty(int ends[2])
{
	struct termios modes;
	char name[64], bytes[1000];
	int off = 0;

	memset(bytes, 'x', sizeof(bytes));
	ends[0] = open("/dev/ptmx", O_RDWR | O_NOCTTY);
	if (ends[0] < 0 || ioctl(ends[0], TIOCSPTLCK, &off) || ptsname_r(ends[0], name, sizeof(name)))
		die("/dev/ptmx");
	ends[1] = open(name, O_RDWR | O_NOCTTY);
	if (ends[1] < 0 || tcgetattr(ends[1], &modes))
		die(name);
	cfmakeraw(&modes);
	if (tcsetattr(ends[1], TCSANOW, &modes) || write(ends[0], bytes, sizeof(bytes)) != sizeof(bytes))
		die(name);
}

/* Whoever reads has its modes, for reading; who wants to change them waits, and with him all that come later. */
static void change_modes(int fd)
{
	struct termios modes;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sleep_ms(300 * factor());
	tcgetattr(fd, &modes);
	modes.c_cc[VEOF] = 5;
	tcsetattr(fd, TCSANOW, &modes);
	_exit(0);
}

static void make_ends(enum kind kind, int ends[2])
{
	if (kind == EPOLL)
		make_epoll(ends);
	else if (is_pty(kind))
		make_pty(ends);
	else if (kind == TCP)
		connect_tcp(ends);
	else if (kind == PIPE ? pipe(ends) : socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		die("pipe or socketpair");
	/* A Unix socket is locked while somebody reads from it. */
	if (kind == UNIX && write(ends[1], "12345678", 8) != 8)
		die("write");
}

static void hold(enum kind kind, int fd)
{
	char *page = stalling();

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (is_pty(kind) && !fork())
		change_modes(fd);
	if (kind == EPOLL)
		syscall(SYS_epoll_pwait, fd, page, 1, -1, NULL, 0);
	else if (kinds[kind].call == SYS_read)
		read(fd, page, kind == UNIX ? 8 : 1000);
	else
		write(fd, page, 4096);
	_exit(0);
}

/* Its error, and what it has told. */
static int run_told(int handle, char *log, size_t size)
{
	int err = ioctl(handle, CRYO_CKPT_RUN, 0) ? errno : 0;
	ssize_t n = read(handle, log, size - 1);

	log[n > 0 ? n : 0] = 0;
	return err;
}

static void held_lock(enum kind kind, bool end)
{
	const char *what = kinds[kind].name;
	char call[16], log[1024] = "";
	int ends[2], handle, err, out = open("/dev/null", O_WRONLY | O_CLOEXEC);
	pid_t target, outsider;

	make_ends(kind, ends);
	target = fork();
	if (!target)
		wait_here();
	outsider = fork();
	if (!outsider)
		hold(kind, ends[end]);
	snprintf(call, sizeof(call), "%ld ", kinds[kind].call);
	for (unsigned int i = 0; i < 100 * factor() && !is_waiting_in(outsider, call); i++)
		sleep_ms(50);
	sleep_ms((is_pty(kind) ? 1000 : 200) * factor());
	if (kind == PTY_INPUT && write(ends[0], "y", 1) != 1)
		die("/dev/ptmx");
	handle = make_request(target, out, CRYO_CKPT_NO_CALLBACKS);
	err = run_told(handle, log, sizeof(log));
	if (!ok(err == EBUSY, "a %s whose lock is held by somebody else: error %d", what, err) ||
	    !ok(strstr(log, what) && strstr(log, "fd "), "... named"))
		printf("# %s\n", log);
	ok(runs(target), "... the process goes on");
	close(handle);
	kill(outsider, SIGKILL);
	kill(target, SIGKILL);
	waitpid(outsider, NULL, 0);
	waitpid(target, NULL, 0);
	close(ends[0]);
	close(ends[1]);
	close(out);
}

/* The controlling terminal, which is not the job's: its modes are left out. */
static void busy_terminal(void)
{
	int ends[2], handle, err, out = open("/dev/null", O_WRONLY | O_CLOEXEC);
	pid_t target, outsider;
	char log[1024] = "";

	make_pty(ends);
	target = fork();
	if (!target) {
		if (setsid() < 0 || ioctl(ends[1], TIOCSCTTY, 0))
			_exit(1);
		close(ends[0]);
		close(ends[1]);
		wait_here();
	}
	sleep_ms(200 * factor());
	outsider = fork();
	if (!outsider)
		hold(PTY, ends[1]);
	sleep_ms(1500 * factor());
	handle = make_request(target, out, CRYO_CKPT_NO_CALLBACKS);
	err = run_told(handle, log, sizeof(log));
	if (!ok(!err && strstr(log, "modes of its terminal are not saved"),
		"a terminal whose lock is held by somebody else: error %d, told", err))
		printf("# %s\n", log);
	ok(runs(target), "... the process goes on");
	close(handle);
	kill(outsider, SIGKILL);
	kill(target, SIGKILL);
	waitpid(outsider, NULL, 0);
	waitpid(target, NULL, 0);
	close(ends[0]);
	close(ends[1]);
	close(out);
}

/* ---- connections that others accept ---- */

static void take_connections(int listener, const struct sockaddr_un *address)
{
	int clients[60], one;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	fcntl(listener, F_SETFL, O_NONBLOCK);
	for (;;) {
		for (int i = 0; i < 60; i++) {
			clients[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
			connect(clients[i], (const struct sockaddr *)address, sizeof(*address));
		}
		while ((one = accept(listener, NULL, NULL)) >= 0)
			close(one);
		for (int i = 0; i < 60; i++)
			close(clients[i]);
	}
}

static void accepted_meanwhile(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int listener = socket(AF_UNIX, SOCK_STREAM, 0), handle, runs_ended = 0, status;
	pid_t all = fork(), target;
	time_t end;

	if (all) {
		waitpid(all, &status, 0);
		close(listener);
		ok(WIFEXITED(status) && !WEXITSTATUS(status), "connections that others accept while they are looked at");
		return;
	}
	setpgid(0, 0);
	become_user(ORDINARY);
	snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "endless%d", getpid());
	if (bind(listener, (struct sockaddr *)&address, sizeof(address)) || listen(listener, 200))
		die("listen");
	target = fork();
	if (!target) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		wait_here();
	}
	for (int i = 0; i < 2; i++)
		if (!fork())
			take_connections(listener, &address);
	end = time(NULL) + RACE_S * factor();
	do {
		handle = make_request(target, -1, CRYO_CKPT_DRY_RUN | CRYO_CKPT_NO_CALLBACKS);
		ioctl(handle, CRYO_CKPT_RUN, 0);
		close(handle);
		runs_ended++;
	} while (time(NULL) < end);
	_exit(runs_ended ? 0 : 1);
}

int main(void)
{
	setvbuf(stdout, NULL, _IONBF, 0);
	loopback_up();
	take_start(&here, wait_here);
	blocked(0, "its mask");
	blocked(CRYO_RESUME_RESTORE_SIGMASK, "its mask and the one after a call");
	ring_is_no_output();
	held_by_itself(in_sockets, "sockets");
	other_output();
	held_lock(PIPE, 1);
	held_lock(TCP, 0);
	held_lock(TCP, 1);
	held_lock(UNIX, 0);
	held_lock(EPOLL, 0);
	held_lock(PTY, 1);
	held_lock(PTY_INPUT, 1);
	busy_terminal();
	accepted_meanwhile();
	return finish();
}
