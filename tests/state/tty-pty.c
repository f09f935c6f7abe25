// SPDX-License-Identifier: GPL-2.0-only
/* Pseudo-terminals with both ends in the process: settings, size, what is on its way, the session's terminal. */
#define _GNU_SOURCE
#include "crtest.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

static int master, slave, again;	/* edits lines */
static int raw_master, raw_slave;	/* does not; packet mode */
static int closed_master, hung_slave, stopped_master, stopped_slave;
static int dev_tty = -1;
static unsigned int number, raw_number;
static struct termios settings;

static int open_master(unsigned int *pts)
{
	int fd = (int)CRT_SYS(posix_openpt(O_RDWR | O_NOCTTY));
	unsigned int n;

	CRT_SYS(grantpt(fd));
	CRT_SYS(unlockpt(fd));
	CRT_SYS(ioctl(fd, TIOCGPTN, &n));
	if (pts)
		*pts = n;
	return fd;
}

static int open_slave(int fd, int flags)
{
	char name[64];

	CRT_SYS(ptsname_r(fd, name, sizeof(name)));
	return (int)CRT_SYS(open(name, O_RDWR | O_NOCTTY | flags));
}

static void put(int fd, const char *text)
{
	CRT_SYS(write(fd, text, strlen(text)));
}

/* What the slave's side has to say in @ms at most, without blocking. */
static void get(int fd, char *buf, size_t size)
{
	struct pollfd event = { .fd = fd, .events = POLLIN };
	ssize_t n = 0;

	memset(buf, 0, size);
	if (poll(&event, 1, 1000) == 1)
		n = read(fd, buf, size - 1);
	if (n < 0)
		snprintf(buf, size, "error %s", strerror(errno));
}

/* What is written now comes in parts: the end of a line is made by another call than what is before it. */
static void get_line(int fd, char *buf, size_t size)
{
	size_t had = 0, more;

	do {
		get(fd, buf + had, size - had);
		more = strlen(buf + had);
		had += more;
	} while (more && buf[had - 1] != '\n' && had + 1 < size);
}

static void make_edited(void)
{
	struct winsize size = { .ws_row = 33, .ws_col = 111, .ws_xpixel = 5, .ws_ypixel = 6 };
	char buf[64];

	master = open_master(&number);
	slave = open_slave(master, O_CLOEXEC);
	again = (int)CRT_SYS(dup(slave));
	CRT_SYS(tcgetattr(slave, &settings));
	settings.c_cc[VINTR] = 7;
	settings.c_cc[VEOL] = ';';
	settings.c_lflag &= ~(tcflag_t)ECHO;
	CRT_SYS(cfsetospeed(&settings, B9600));
	CRT_SYS(cfsetispeed(&settings, B9600));
	CRT_SYS(tcsetattr(slave, TCSANOW, &settings));
	CRT_SYS(ioctl(master, TIOCSWINSZ, &size));
	CRT_SYS(fchmod(slave, 0600));
	put(slave, "drawn\n");
	put(master, "one\nsecond;third\x16\x04 line\n\x04" "halx\177f");	/* lines, an end of file, half a line */
	get(slave, buf, sizeof(buf));			/* also waits for them */
}

static void make_raw(void)
{
	struct termios t;
	int on = 1;

	raw_master = open_master(&raw_number);
	raw_slave = open_slave(raw_master, O_NONBLOCK);
	CRT_SYS(tcgetattr(raw_slave, &t));
	cfmakeraw(&t);
	CRT_SYS(tcsetattr(raw_slave, TCSANOW, &t));
	CRT_SYS(ioctl(raw_master, TIOCPKT, &on));
	put(raw_slave, "out\n");
	put(raw_master, "in\3\n\4");
}

static void make_others(void)
{
	int fd;

	closed_master = open_master(NULL);
	fd = open_slave(closed_master, 0);
	put(fd, "last words");
	CRT_SYS(close(fd));
	fd = open_master(NULL);
	hung_slave = open_slave(fd, 0);
	CRT_SYS(close(fd));
	stopped_master = open_master(NULL);
	stopped_slave = open_slave(stopped_master, 0);
	put(stopped_slave, "before");
	CRT_SYS(tcflow(stopped_slave, TCOOFF));
	CRT_SYS(ioctl(stopped_slave, TIOCEXCL));
}

static void setup(void)
{
	signal(SIGHUP, SIG_IGN);
	make_edited();
	make_raw();
	make_others();
	/* The leader of a group cannot begin a session. */
	CRT_SYS(setpgid(0, getpgid(getppid())));
	CRT_SYS(setsid());
	CRT_SYS(ioctl(slave, TIOCSCTTY, 0));
	dev_tty = (int)CRT_SYS(open("/dev/tty", O_RDWR));
	crt_sleep_ms(100);
}

static void verify_settings(void)
{
	struct winsize size = { 0 };
	struct termios now;
	struct stat st;
	unsigned int n = ~0U;
	int flag = -1;

	CRT_SYS(ioctl(master, TIOCGPTN, &n));
	crt_same(n, number, "number of the terminal");
	CRT_SYS(ioctl(raw_master, TIOCGPTN, &n));
	crt_same(n, raw_number, "and of the next one");
	CRT_SYS(tcgetattr(slave, &now));
	crt_same(now.c_iflag, settings.c_iflag, "input flags");
	crt_same(now.c_oflag, settings.c_oflag, "output flags");
	crt_same(now.c_cflag, settings.c_cflag, "control flags");
	crt_same(now.c_lflag, settings.c_lflag, "local flags");
	crt_ok(!memcmp(now.c_cc, settings.c_cc, 17), "control characters");
	crt_same(cfgetospeed(&now), B9600, "speed");
	CRT_SYS(ioctl(slave, TIOCGWINSZ, &size));
	crt_ok(size.ws_row == 33 && size.ws_col == 111 && size.ws_xpixel == 5 && size.ws_ypixel == 6, "size");
	CRT_SYS(fstat(slave, &st));
	crt_same(st.st_mode & 07777, 0600, "mode of the slave");
	crt_same(fcntl(slave, F_GETFD), FD_CLOEXEC, "close-on-exec");
	crt_same(fcntl(raw_slave, F_GETFL) & O_NONBLOCK, O_NONBLOCK, "O_NONBLOCK");
	CRT_SYS(ioctl(raw_master, TIOCGPKT, &flag));
	crt_same(flag, 1, "packet mode");
	CRT_SYS(ioctl(master, TIOCGPKT, &flag));
	crt_same(flag, 0, "no packet mode at the other one");
	CRT_SYS(ioctl(stopped_slave, TIOCGEXCL, &flag));
	crt_same(flag, 1, "exclusive mode");
}

static void verify_data(void)
{
	char buf[64];

	get(master, buf, sizeof(buf));
	crt_same_str(buf, "drawn\r\n", "output waits at the master");
	get(slave, buf, sizeof(buf));
	crt_same_str(buf, "second;", "a line with an end of its own");
	get(again, buf, sizeof(buf));
	crt_same_str(buf, "third\x04 line\n", "a line with a literal control character, at a duplicate");
	memset(buf, 'x', sizeof(buf));
	crt_same(read(slave, buf, sizeof(buf)), 0, "an end of file");
	put(master, "y\177z\n");
	get(slave, buf, sizeof(buf));
	crt_same_str(buf, "halfz\n", "half a line can be gone on with");
	get(raw_master, buf, sizeof(buf));
	crt_same(buf[0], TIOCPKT_DATA, "a packet");
	crt_same_str(buf + 1, "out\n", "with raw output");
	get(raw_slave, buf, sizeof(buf));
	crt_same_str(buf, "in\3\n\4", "raw input");
	get(closed_master, buf, sizeof(buf));
	crt_same_str(buf, "last words", "output of a slave that has been closed");
	crt_ok(read(closed_master, buf, 1) == -1 && errno == EIO, "then an error");
	crt_same(read(hung_slave, buf, 1), 0, "a terminal that was hung up reads as ended");
	crt_ok(write(hung_slave, "x", 1) == -1 && errno == EIO, "and cannot be written");
}

static void verify_stopped(void)
{
	struct pollfd event = { .fd = stopped_slave, .events = POLLOUT };
	char buf[64];

	get(stopped_master, buf, sizeof(buf));
	crt_same_str(buf, "before", "output from before it was stopped");
	crt_same(poll(&event, 1, 0), 0, "output is stopped");
	CRT_SYS(tcflow(stopped_slave, TCOON));
	crt_same(poll(&event, 1, 0), 1, "and can be started");
}

static void verify(void)
{
	char buf[64];

	verify_settings();
	verify_data();
	verify_stopped();
	crt_same(tcgetsid(slave), getpid(), "it controls the session");
	crt_same(tcgetpgrp(slave), getpgrp(), "the process is in the foreground");
	put(dev_tty, "by name\n");
	get_line(master, buf, sizeof(buf));
	crt_same_str(buf, "by name\r\n", "/dev/tty is the same terminal");
	signal(SIGINT, SIG_IGN);
	put(master, "gone\7kept\n");
	get(slave, buf, sizeof(buf));
	crt_same_str(buf, "kept\n", "its interrupt character works");
}

const struct crt_test crt_test = {
	.text = "pseudo-terminals of the process's own",
	.setup = setup,
	.verify = verify,
	.flags = CRT_ONCE,
};
