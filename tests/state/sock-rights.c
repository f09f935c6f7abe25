// SPDX-License-Identifier: GPL-2.0-only
/* Descriptors under way in messages (SCM_RIGHTS), and credentials that go with messages. */
#define _GNU_SOURCE
#include "crtest.h"
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int pair[2], creds[2], udp[1], shared, carried[2];

static void send_files(int to, const char *text, const int *fds, int count)
{
	char control[CMSG_SPACE(sizeof(int) * 4)] = "";
	struct iovec vector = { (void *)text, strlen(text) };
	struct msghdr header = { .msg_iov = &vector, .msg_iovlen = 1, .msg_control = control,
				 .msg_controllen = CMSG_SPACE(sizeof(int) * (size_t)count) };
	struct cmsghdr *head = CMSG_FIRSTHDR(&header);

	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof(int) * (size_t)count);
	memcpy(CMSG_DATA(head), fds, sizeof(int) * (size_t)count);
	CRT_SYS(sendmsg(to, &header, 0));
}

/* A UDP socket in which a datagram waits: under way, and open as well. */
static void send_udp(void)
{
	struct sockaddr_in name = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t size = sizeof(name);
	int sender = (int)CRT_SYS(socket(AF_INET, SOCK_DGRAM, 0));

	udp[0] = (int)CRT_SYS(socket(AF_INET, SOCK_DGRAM, 0));
	CRT_SYS(bind(udp[0], (struct sockaddr *)&name, size));
	CRT_SYS(getsockname(udp[0], (struct sockaddr *)&name, &size));
	CRT_SYS(sendto(sender, "waits", 5, 0, (struct sockaddr *)&name, size));
	CRT_SYS(close(sender));
	send_files(creds[0], "udp", udp, 1);
}

static void setup(void)
{
	int one = 1, fds[2], only[2];

	CRT_SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	shared = (int)CRT_SYS(open(crt_make_file("shared", 5000, 21), O_RDWR));
	CRT_SYS(lseek(shared, 1000, SEEK_SET));
	/* A file that has a descriptor too, and a pipe and a socket that have none. */
	CRT_SYS(pipe(only));
	CRT_SYS(write(only[1], "in the pipe", 11));
	fds[0] = shared;
	fds[1] = only[0];
	CRT_SYS(write(pair[0], "before ", 7));
	send_files(pair[0], "two", fds, 2);
	CRT_SYS(close(only[0]));
	CRT_SYS(close(only[1]));
	CRT_SYS(write(pair[0], " after", 6));
	CRT_SYS(socketpair(AF_UNIX, SOCK_DGRAM, 0, carried));
	CRT_SYS(send(carried[0], "deep", 4, 0));
	send_files(pair[0], "sock", &carried[1], 1);
	CRT_SYS(close(carried[1]));

	CRT_SYS(socketpair(AF_UNIX, SOCK_DGRAM, 0, creds));
	CRT_SYS(send(creds[0], "anonymous", 9, 0));
	CRT_SYS(setsockopt(creds[1], SOL_SOCKET, SO_PASSCRED, &one, sizeof(one)));
	CRT_SYS(send(creds[0], "signed", 6, 0));
	send_udp();
}

struct received {
	char text[32];
	int fds[4], count;
	struct ucred creds;
	bool has_creds;
};

static struct received receive(int fd)
{
	struct received r = { .count = 0 };
	char control[256];
	struct iovec vector = { r.text, sizeof(r.text) - 1 };
	struct msghdr header = { .msg_iov = &vector, .msg_iovlen = 1, .msg_control = control,
				 .msg_controllen = sizeof(control) };
	struct cmsghdr *head;

	if (recvmsg(fd, &header, MSG_DONTWAIT) < 0)
		return r;
	for (head = CMSG_FIRSTHDR(&header); head; head = CMSG_NXTHDR(&header, head)) {
		if (head->cmsg_type == SCM_RIGHTS) {
			r.count = (int)((head->cmsg_len - CMSG_LEN(0)) / sizeof(int));
			memcpy(r.fds, CMSG_DATA(head), sizeof(int) * (size_t)r.count);
		} else if (head->cmsg_type == SCM_CREDENTIALS) {
			memcpy(&r.creds, CMSG_DATA(head), sizeof(r.creds));
			r.has_creds = true;
		}
	}
	return r;
}

static void verify_files(void)
{
	struct received r = receive(pair[1]);
	char buf[64] = "";

	crt_same_str(r.text, "before two", "bytes up to the descriptors");
	if (!crt_same(r.count, 2, "two descriptors are with them"))
		return;
	crt_same(lseek(r.fds[0], 0, SEEK_CUR), 1000, "a file at its position");
	CRT_SYS(lseek(shared, 2000, SEEK_SET));
	crt_same(lseek(r.fds[0], 0, SEEK_CUR), 2000, "is the one that is open");
	CRT_SYS(lseek(shared, 1000, SEEK_SET));
	crt_same(read(r.fds[1], buf, sizeof(buf)), 11, "a pipe without descriptors, its bytes");
	crt_same(read(r.fds[1], buf, sizeof(buf)), 0, "and its end");
	close(r.fds[0]);
	close(r.fds[1]);
	r = receive(pair[1]);
	crt_same_str(r.text, " aftersock", "bytes after them");
	if (!crt_same(r.count, 1, "with a socket"))
		return;
	crt_same(recv(r.fds[0], buf, sizeof(buf), MSG_DONTWAIT), 4, "its bytes");
	CRT_SYS(send(carried[0], "still", 5, 0));
	crt_same(recv(r.fds[0], buf, sizeof(buf), MSG_DONTWAIT), 5, "it is connected");
	close(r.fds[0]);
}

static void verify_creds(void)
{
	struct received r = receive(creds[1]);
	struct ucred peer = { 0 };
	socklen_t len = sizeof(peer);

	crt_same_str(r.text, "anonymous", "a message from before SO_PASSCRED");
	crt_ok(r.has_creds && r.creds.pid == 0, "nobody's");
	r = receive(creds[1]);
	crt_same_str(r.text, "signed", "a message with credentials");
	/* Not its pid: there is no such process yet when the message is made. */
	crt_same(r.creds.uid, getuid(), "its uid");
	crt_same(r.creds.gid, getgid(), "its gid");
	getsockopt(creds[0], SOL_SOCKET, SO_PEERCRED, &peer, &len);
	crt_same(peer.uid, getuid(), "SO_PEERCRED: uid");
}

static void verify_udp(void)
{
	struct received r = receive(creds[1]);
	char buf[16] = "";

	crt_same_str(r.text, "udp", "a message with a UDP socket");
	if (!crt_same(r.count, 1, "which is there"))
		return;
	crt_same(recv(r.fds[0], buf, sizeof(buf), MSG_DONTWAIT), 5, "a datagram waits in it");
	crt_same(recv(udp[0], buf, sizeof(buf), MSG_DONTWAIT), -1, "once");
	close(r.fds[0]);
}

static void verify(void)
{
	verify_files();
	verify_creds();
	verify_udp();
}

const struct crt_test crt_test = {
	.text = "descriptors and credentials in messages",
	.setup = setup,
	.verify = verify,
};
