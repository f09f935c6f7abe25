/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fuzz-objects.h - what a restart handle does to objects of its caller's: sockets, epoll instances, rings, memory
 *
 * Some objects are not for it: root's sockets, which an ordinary user's world has got from him, and descriptors of another kind.
 */
#ifndef FUZZ_OBJECTS_H
#define FUZZ_OBJECTS_H

#include "fuzz-threads.h"

#include <linux/io_uring.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>

enum object_call { OF_PEER_PID, OF_PORT, OF_DATAGRAM, OF_EPOLL, OF_EXIT_SIGNAL, OF_URING, OF_INOTIFY, OF_SHADOW_STACK,
		   OBJECT_CALLS };

static const char *const object_calls[OBJECT_CALLS] = { "PEER_PID", "PORT", "DATAGRAM", "EPOLL_DISARM", "EXIT_SIGNAL", "URING",
							"INOTIFY_EVENT", "SHADOW_STACK" };

static struct {
	int pair[2], udp, tcp, epoll, event, ends[2], named, inotify;
	int root_pair[2], root_udp, root_inotify;	/* -1 in a world of root's */
	struct ucred peer;			/* of @pair, when it was made */
	unsigned char *memory;			/* a page of an ordinary kind */
} objects = { .root_pair = { -1, -1 }, .root_udp = -1, .root_inotify = -1 };

/* By root, before the world is somebody else's. */
static void make_root_objects(void)
{
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, objects.root_pair))
		_exit(7);
	objects.root_udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	objects.root_inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
}

static void arm(int operation)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLONESHOT };

	epoll_ctl(objects.epoll, operation, objects.ends[0], &event);
}

static void make_objects(void)
{
	socklen_t length = sizeof(objects.peer);
	char path[64];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, objects.pair) || pipe2(objects.ends, O_CLOEXEC) ||
	    getsockopt(objects.pair[0], SOL_SOCKET, SO_PEERCRED, &objects.peer, &length))
		_exit(7);
	objects.udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	objects.tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	objects.epoll = epoll_create1(EPOLL_CLOEXEC);
	objects.event = eventfd(0, EFD_CLOEXEC);
	objects.inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	/* A file that has the name of another kind of object. */
	snprintf(path, sizeof(path), "/dev/shm/fuzz-threads.%d", getpid());
	mkdir(path, 0700);
	strcat(path, "/[eventpoll]");
	objects.named = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	unlink(path);
	*strrchr(path, '/') = 0;
	rmdir(path);
	objects.memory = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(objects.memory, 0x5a, page);
	arm(EPOLL_CTL_ADD);
}

static void succeeded(enum object_call call)
{
	shared->object_calls[call]++;
}

/* @allowed: pids that it may name are among those of the world. */
static void name_peer(int handle, pid_t allowed, bool root_world)
{
	const pid_t others[] = { 1, shared->outsiders[0].pid, shared->outsiders[1].pid };
	const bool forbidden = one_in(3), root_socket = one_in(4);
	struct cryo_peer_pid args = { .size = sizeof(args), .flags = below(2),
				      .fd = root_socket ? objects.root_pair[below(2)] : objects.pair[below(2)],
				      .pid = forbidden ? others[below(3)] : one_in(4) ? 0 : allowed };
	struct ucred now;
	socklen_t length = sizeof(now);

	if (ioctl(handle, CRYO_RST_PEER_PID, &args))
		return;
	succeeded(OF_PEER_PID);
	if (root_socket && !root_world)
		violated("a socket of root's says another pid");
	if (forbidden)
		violated("a socket says that pid %d is at its other end, which is no process of the restart", args.pid);
	if (getsockopt(objects.pair[0], SOL_SOCKET, SO_PEERCRED, &now, &length) || now.uid != objects.peer.uid ||
	    now.gid != objects.peer.gid)
		violated("a socket says another user or group");
}

static void free_port(int handle, bool root_world)
{
	struct cryo_port args = { .size = sizeof(args), .fd = one_in(4) ? objects.udp : objects.tcp,
				  .port = one_in(3) ? 80 : 40000 + below(100) };

	if (ioctl(handle, CRYO_RST_PORT, &args))
		return;
	succeeded(OF_PORT);
	if (args.fd != objects.tcp)
		violated("a port was let go through what is no TCP socket");
	if (args.port == 80 && !root_world)
		violated("port 80 was let go by an ordinary user");
}

struct datagram {
	uint32_t length, seed;
	unsigned char bytes[1400];
};

/* They come as they were put in, whoever does so at the same time. */
static void take_datagram(void)
{
	struct datagram got;
	ssize_t length = recv(objects.udp, &got, sizeof(got), MSG_DONTWAIT);

	if (length <= 0)
		return;
	if (length < 8 || got.length != (uint32_t)length - 8)
		violated("a datagram of another length was received");
	for (ssize_t i = 0; i < length - 8; i++)
		if (got.bytes[i] != (unsigned char)(got.seed + (uint32_t)i * 7))
			violated("a datagram with other bytes was received");
}

static void put_datagram(int handle)
{
	struct datagram put = { .length = below(1400), .seed = below(256) };
	struct cryo_datagram args = { .size = sizeof(args), .fd = one_in(4) ? objects.root_udp : objects.udp, .data = (uintptr_t)&put,
				      .length = put.length + 8, .family = AF_INET, .from = { 127, 0, 0, 1 }, .from_port = 9,
				      .to = { 127, 0, 0, 1 }, .to_port = 9, .ttl = 64 };

	for (uint32_t i = 0; i < put.length; i++)
		put.bytes[i] = (unsigned char)(put.seed + i * 7);
	if (one_in(8)) {
		args.length = 0;
		args.error = 1 + below(130);
	}
	if (!ioctl(handle, CRYO_RST_DATAGRAM, &args)) {
		succeeded(OF_DATAGRAM);
		if (args.fd == objects.root_udp)
			violated("root's socket got a datagram");
	}
	take_datagram();
}

static void disarm(int handle)
{
	const int instances[] = { objects.epoll, objects.epoll, objects.event, objects.named, objects.pair[0], handle };
	struct cryo_epoll_disarm args = { .size = sizeof(args), .epoll_fd = instances[below(6)],
					  .target_fd = one_in(4) ? objects.event : objects.ends[0],
					  .fd = one_in(4) ? 1234 : objects.ends[0],
					  .events = one_in(4) ? 0 : EPOLLIN | EPOLLONESHOT | EPOLLERR | EPOLLHUP };

	if (ioctl(handle, CRYO_RST_EPOLL_DISARM, &args))
		return;
	succeeded(OF_EPOLL);
	if (args.epoll_fd != objects.epoll || args.target_fd != objects.ends[0] || args.fd != objects.ends[0])
		violated("what is no registration was disarmed");
	arm(EPOLL_CTL_MOD);
}

/* By a thread that is not the main one, or whose parent has no part in it: @refused. */
static void choose_exit_signal(int handle, bool refused)
{
	static const int signals[] = { -1, 0, SIGCHLD, SIGURG, SIGCONT, 65 };
	struct cryo_exit_signal args = { .size = sizeof(args), .signal = signals[below(6)] };

	if (ioctl(handle, CRYO_RST_EXIT_SIGNAL, &args))
		return;
	succeeded(OF_EXIT_SIGNAL);
	if (refused || args.signal < 0 || args.signal > 64)
		violated("an exit signal (%d) was chosen", args.signal);
}

static void map_ring(int handle, int ring, const struct io_uring_params *params)
{
	const off_t offset = ((off_t)ring << CRYO_URING_FD_SHIFT) | IORING_OFF_SQ_RING;
	unsigned char *at = mmap(NULL, page, PROT_READ, MAP_SHARED, handle, offset);

	if (at == MAP_FAILED)
		return;
	if (*(uint32_t *)(at + params->sq_off.ring_entries) != params->sq_entries)
		violated("what was mapped is not the ring");
	munmap(at, page);
}

static void set_ring(int handle)
{
	const int others[] = { objects.event, objects.epoll, objects.pair[0], handle };
	struct io_uring_params params = { 0 };
	struct cryo_uring_counters args = { .size = sizeof(args), .sq_head = 1 + below(1000), .cq_tail = 1 + below(1000) };
	const int other = others[below(4)];
	void *at = mmap(NULL, page, PROT_READ, MAP_SHARED, handle, (off_t)other << CRYO_URING_FD_SHIFT);
	int ring;

	if (at != MAP_FAILED)
		violated("what is no ring was mapped");
	args.fd = other;
	if (!ioctl(handle, CRYO_RST_URING, &args))
		violated("what is no ring has counters");
	ring = (int)syscall(SYS_io_uring_setup, 4, &params);
	args.fd = ring;
	if (ring >= 0 && !ioctl(handle, CRYO_RST_URING, &args)) {
		succeeded(OF_URING);
		map_ring(handle, ring, &params);
		if (!ioctl(handle, CRYO_RST_URING, &args))
			violated("the counters of a ring were set twice");
	}
	if (ring >= 0)
		close(ring);
}

/* What is read is what was put in, by whichever thread, and nothing comes to root's. */
static void put_event(int handle, bool root_world)
{
	static const char name[300] = "a name";
	const int instances[] = { objects.inotify, objects.inotify, objects.root_inotify, objects.event, objects.epoll, handle };
	struct cryo_inotify_put args = { .size = sizeof(args), .fd = instances[below(6)], .wd = (int)below(4) - 1,
					 .mask = one_in(4) ? 1U << below(32) : IN_CREATE, .cookie = below(3),
					 .name_len = one_in(4) ? below(300) : 6, .name = (uintptr_t)name };
	char buffer[4096] __attribute__((aligned(8)));
	ssize_t length;

	if (!ioctl(handle, CRYO_RST_INOTIFY_EVENT, &args)) {
		succeeded(OF_INOTIFY);
		if (args.fd != objects.inotify && (args.fd != objects.root_inotify || !root_world))
			violated("what is no inotify instance of the caller's got an event");
	}
	length = read(objects.inotify, buffer, sizeof(buffer));
	for (ssize_t at = 0; length > 0 && at < length;) {
		const struct inotify_event *event = (const void *)(buffer + at);

		if (event->len > 512 || at + (ssize_t)(sizeof(*event) + event->len) > length) {
			violated("an event of inotify has a length of %u", event->len);
			break;
		}
		at += sizeof(*event) + event->len;
	}
	if (!root_world && objects.root_inotify >= 0 && read(objects.root_inotify, buffer, sizeof(buffer)) > 0)
		violated("root's inotify instance got an event");
}

static void fill_memory(int handle)
{
	static unsigned char bytes[65536];
	struct cryo_shadow_stack args = { .size = sizeof(args), .address = (uintptr_t)objects.memory,
					  .data = (uintptr_t)bytes, .length = page };

	if (one_in(2))
		args.address = (uintptr_t)&objects & ~(page - 1);
	if (!ioctl(handle, CRYO_RST_SHADOW_STACK, &args))
		violated("memory that is no shadow stack was filled");
	if (objects.memory[0] != 0x5a || objects.memory[page - 1] != 0x5a)
		violated("memory that is no shadow stack has other bytes");
}

/* One of these calls, of a handle that the caller may use or not. */
static void call_object(int handle, pid_t allowed, bool root_world)
{
	switch (below(OBJECT_CALLS)) {
	case OF_PEER_PID: name_peer(handle, allowed, root_world); break;
	case OF_PORT: free_port(handle, root_world); break;
	case OF_DATAGRAM: put_datagram(handle); break;
	case OF_EPOLL: disarm(handle); break;
	case OF_EXIT_SIGNAL: choose_exit_signal(handle, true); break;
	case OF_URING: set_ring(handle); break;
	case OF_INOTIFY: put_event(handle, root_world); break;
	default: fill_memory(handle);
	}
}

#endif /* FUZZ_OBJECTS_H */
