/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fs/aio.c: contexts of io_setup(2). No call tells which ones a process has, nor whether requests
 * are under way.
 */
#ifndef CRYO_COMPAT_AIO_H
#define CRYO_COMPAT_AIO_H

#include <linux/fs.h>
#include <linux/mm_types.h>
#include <linux/percpu-refcount.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>

/* of a ring, and of the file system that its file is in */
#define CRYO_AIO_RING_MAGIC	0xa10a10a1

/* The beginning of struct aio_ring, which libraries know, too. */
struct cryo_aio_ring {
	u32 id;
	u32 nr;
	u32 head;
	u32 tail;
	u32 magic;
};

/* The beginning of struct kioctx, the same since v3.18. */
struct cryo_kioctx {
	struct percpu_ref users;
	atomic_t dead;
	struct percpu_ref reqs;
	unsigned long user_id;
	void __percpu *cpu;
	unsigned int req_batch;
	unsigned int max_reqs;
	unsigned int nr_events;
	unsigned long mmap_base;
	unsigned long mmap_size;
};

struct cryo_kioctx_table {
	struct rcu_head rcu;
	unsigned int nr;
	struct cryo_kioctx __rcu *table[];
};

/* In an RCU section; NULL: there never was one. */
static inline struct cryo_kioctx_table *cryo_kioctx_table(struct mm_struct *mm)
{
#ifdef CONFIG_AIO
	return (struct cryo_kioctx_table *)rcu_dereference_raw(mm->ioctx_table);
#else
	return NULL;
#endif
}

/*
 * Requests of @ctx that have not been completed: each has a reference, counted on the processor
 * that took or gave it back, and so has the context itself. No more come while all who could submit
 * them are parked.
 */
static inline bool cryo_aio_under_way(struct cryo_kioctx *ctx)
{
	unsigned long counts = READ_ONCE(ctx->reqs.percpu_count_ptr);
	unsigned long sum = 0;
	int cpu;

	if (counts & __PERCPU_REF_ATOMIC_DEAD)	/* it is being destroyed, and waits for them */
		return true;
	for_each_possible_cpu(cpu)
		sum += *per_cpu_ptr((unsigned long __percpu *)counts, cpu);
	return sum != 1;
}

static inline bool cryo_is_aio_ring(struct file *file)
{
	return file_inode(file)->i_sb->s_magic == CRYO_AIO_RING_MAGIC;
}

#endif
