// SPDX-License-Identifier: GPL-2.0-only
/* The same as refuse.c, for what only x86-64 has. */
#define _GNU_SOURCE
#include "refuse-run.h"
#include <asm/ldt.h>
#include <sys/mman.h>
#include <sys/syscall.h>

static bool make_ldt(void)
{
	struct user_desc segment = { .limit = 0xfffff, .seg_32bit = 1, .limit_in_pages = 1 };

	if (syscall(SYS_modify_ldt, 1, &segment, sizeof(segment)))
		return false;
	crt_expect("pid %d|a local descriptor table (modify_ldt) is not supported", getpid());
	return true;
}

/* Only the 32-bit system call is there, which 64-bit code can make too. */
static bool make_tls_segment(void)
{
	struct user_desc *segment = CRT_MAP(mmap(NULL, 4096, PROT_READ | PROT_WRITE,
						 MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0));
	long result = 243;

	*segment = (struct user_desc){ .entry_number = -1U, .limit = 0xfffff, .seg_32bit = 1, .limit_in_pages = 1 };
	__asm__ volatile("int $0x80" : "+a"(result) : "b"(segment) : "memory", "r8", "r9", "r10", "r11");
	if (result)
		return false;
	crt_expect("pid %d|thread %d: segments of set_thread_area() are not supported", getpid(), getpid());
	return true;
}

struct obstacle obstacles[] = {
	{ .name = "ldt", .make = make_ldt },
	{ .name = "tls-segment", .make = make_tls_segment },
};

const unsigned int nr_obstacles = sizeof(obstacles) / sizeof(obstacles[0]);

const struct crt_test crt_test = {
	.text = "what only this architecture has, and cannot be restored, is refused by name",
	.setup = refuse_setup,
	.verify = refuse_verify,
	.flags = CRT_REFUSE,
	.cases = "ldt",
};
