// SPDX-License-Identifier: GPL-2.0-only
/* Tiles (AMX): of threads that compute and wait with them, and of one that uses them only afterwards. */
#define _GNU_SOURCE
#include "crtest.h"
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>

#define GET_PERMISSION 0x1022		/* of arch_prctl(2): ARCH_GET_XCOMP_PERM */
#define REQUEST_PERMISSION 0x1023
#define TILE_DATA 18			/* state component */

#define THREADS 4
#define TILES 8
#define TILE 1024			/* bytes */
#define ROW 64UL

enum kind { SPINS, SPINS_TOO, IS_BLOCKED, BEGINS_LATER };

/* What LDTILECFG loads. */
struct config {
	uint8_t palette, start_row, reserved[14];
	uint16_t bytes_per_row[16];
	uint8_t rows[16];
} __attribute__((packed, aligned(64)));

struct user {
	enum kind kind;
	pthread_t thread;
	struct config config, config_after;
	uint8_t in[TILES][TILE], out[TILES][TILE];
	volatile bool is_set_up;
} __attribute__((aligned(64)));

static struct user users[THREADS];
static volatile bool go;
static int pipe_fd[2];

#define LOAD(n) __asm__ volatile("tileloadd (%0,%1,1), %%tmm" #n : : "r"(u->in[n]), "r"(ROW) : "memory")
#define STORE(n) __asm__ volatile("tilestored %%tmm" #n ", (%0,%1,1)" : : "r"(u->out[n]), "r"(ROW) : "memory")

static void load(struct user *u)
{
	__asm__ volatile("ldtilecfg %0" : : "m"(u->config));
	LOAD(0);
	LOAD(1);
	LOAD(2);
	LOAD(3);
	LOAD(4);
	LOAD(5);
	LOAD(6);
	LOAD(7);
}

static void store(struct user *u)
{
	__asm__ volatile("sttilecfg %0" : "=m"(u->config_after));
	STORE(0);
	STORE(1);
	STORE(2);
	STORE(3);
	STORE(4);
	STORE(5);
	STORE(6);
	STORE(7);
	__asm__ volatile("tilerelease");
}

static void *run(void *arg)
{
	struct user *u = arg;
	char byte;

	if (u->kind != BEGINS_LATER)
		load(u);
	u->is_set_up = true;
	if (u->kind == IS_BLOCKED)
		while (read(pipe_fd[0], &byte, 1) < 0 && errno == EINTR)
			;
	else
		while (!go)
			;
	if (u->kind == BEGINS_LATER)
		load(u);
	store(u);
	return NULL;
}

/* Tiles of different shapes; the largest is 16 rows of 64 bytes. */
static void prepare(struct user *u, unsigned int seed)
{
	crt_fill(u->in, sizeof(u->in), seed);
	u->config.palette = 1;
	for (unsigned int i = 0; i < TILES; i++) {
		u->config.bytes_per_row[i] = (uint16_t)(ROW - 4 * ((seed + i) % 3));
		u->config.rows[i] = (uint8_t)(16 - i % 4);
	}
}

static unsigned long permission(void)
{
	unsigned long mask = 0;

	CRT_SYS(syscall(SYS_arch_prctl, GET_PERMISSION, &mask));
	return mask;
}

static void setup(void)
{
	if (syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA))
		crt_skip("no tiles (AMX)");
	CRT_SYS(pipe(pipe_fd));
	for (int i = 0; i < THREADS; i++) {
		users[i].kind = i;
		prepare(&users[i], 91 + i);
		CRT_SYS(-pthread_create(&users[i].thread, NULL, run, &users[i]));
		while (!users[i].is_set_up)
			crt_sleep_ms(1);
	}
}

static bool tiles_are_same(const struct user *u)
{
	for (unsigned int tile = 0; tile < TILES; tile++)
		for (unsigned int row = 0; row < u->config.rows[tile]; row++)
			if (memcmp(u->in[tile] + row * ROW, u->out[tile] + row * ROW, u->config.bytes_per_row[tile]))
				return false;
	return true;
}

static void verify(void)
{
	static const char *const names[THREADS] = { "computing", "computing, too", "blocked", "that begins later" };

	go = true;
	CRT_SYS(write(pipe_fd[1], "x", 1));
	for (int i = 0; i < THREADS; i++) {
		struct user *u = &users[i];

		pthread_join(u->thread, NULL);
		crt_ok(!memcmp(&u->config, &u->config_after, sizeof(u->config)), "thread %s: the shapes of its tiles", names[i]);
		crt_ok(tiles_are_same(u), "thread %s: its tiles", names[i]);
	}
	crt_ok(permission() & 1UL << TILE_DATA, "the process may use tiles");
}

const struct crt_test crt_test = {
	.text = "tiles (AMX) in four threads",
	.setup = setup,
	.verify = verify,
};
