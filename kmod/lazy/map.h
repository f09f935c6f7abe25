/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * map.h - memory of a restarted process that is loaded from the context on first access
 *
 * Until its last page is loaded, an anonymous area has vm_operations of ours; its VMAs belong to a
 * struct cryo_map_mm, one per address space. Loaded pages are ordinary anonymous memory.
 */
#ifndef CRYO_MAP_H
#define CRYO_MAP_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mm_types.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include <cryo/map.h>

#include "compat/mmu_notifier.h"
#include "lib/per_user.h"

/* ---- map_table.c: where the pages of an area are in the file ---- */

/* The context, or an ancestor of it. It cannot be written to as long as this exists. */
struct cryo_map_source {
	struct kref ref;
	struct file *file;		/* counted */
};

/**
 * cryo_map_source_get() - the file that a descriptor of the caller is, for mapping
 * @fd: the descriptor
 *
 * It cannot be written to as long as that exists.
 *
 * Context: May sleep.
 *
 * Return: for cryo_map_source_put(), or an ERR_PTR.
 */
struct cryo_map_source *cryo_map_source_get(int fd);

/**
 * cryo_map_source_put() - drop a reference
 * @source: the file; NULL is fine
 */
void cryo_map_source_put(struct cryo_map_source *source);

/* Those of a restart handle, by number. Each is set once, and stays as long as the handle. */
struct cryo_map_files {
	struct cryo_map_source *sources[CRYO_MAP_MAX_FILES];	/* counted, or NULL */
};

/**
 * cryo_map_files_put() - give all files of a restart handle back
 * @files: the files
 */
void cryo_map_files_put(struct cryo_map_files *files);

struct cryo_map_table_run {
	unsigned long page;		/* the first one, from the start of the area */
	unsigned long nr_pages;
	u64 offset;
	unsigned long bit;		/* of the first page in @settled */
	u32 chunk;
};

/* Of a table, from @start up to @end. */
struct cryo_map_bits {
	unsigned long start;
	unsigned long end;
};

/* What identifies an area of a context. */
struct cryo_map_key {
	dev_t dev;
	u64 ino;
	kuid_t uid;			/* the user that restarted it */
	u64 offset;			/* of its first page in the file */
	unsigned long start;		/* its address */
	unsigned long base;		/* vm_pgoff of its first page */
	unsigned long bits;		/* pages in the file */
};

struct cryo_map_table {
	struct kref ref;
	struct cryo_map_key key;
	/* by number: counted those that chunks are of, others NULL */
	struct cryo_map_source **sources;
	u32 nr_sources;
	unsigned long base;		/* vm_pgoff of the area's first page */
	pid_t pid;			/* of the process, for messages */
	unsigned long bits;		/* pages in runs */
	/*
	 * A bit per page in the file: it has come, or has been dropped, so that what is missing is
	 * zero. A page that is not missing may have no bit yet. Set by atomic operations, never
	 * cleared.
	 */
	unsigned long *settled;
	atomic_long_t unsettled;	/* bits that are not set */
	atomic_long_t given;		/* pages that have come without a bit */
	size_t bytes;			/* of memory that all of this takes */
	/* counted: is charged for what is read into the page cache, whichever task reads it */
	struct mem_cgroup *memcg;
	unsigned int nr_vmas;		/* that have it; under the lock of struct cryo_map_mm */
	bool complete;			/* likewise: counted in its @incomplete no more */
	struct cryo_map_chunk *chunks;
	u8 *states;			/* of each chunk: enum cryo_map_state */
	struct cryo_map_table_run *runs;
	/* come before others in the background; ascending, not empty */
	struct cryo_map_bits *first;
	u32 nr_runs;
	u32 nr_chunks;
	u32 nr_first;
	/* of these bits, what others have has come; under mmap_lock */
	struct cryo_map_bits tried;
	struct work_struct look_ahead;	/* has a reference while it is queued */
	/* the chunk behind which that looks; U32_MAX: it never has */
	u32 behind;
	/* a bit of @first that is in it; @bits: it goes by number */
	unsigned long behind_bit;
};

enum cryo_map_state {
	CRYO_MAP_UNKNOWN,
	CRYO_MAP_BUSY,			/* it is being compared */
	CRYO_MAP_GOOD,
	CRYO_MAP_BAD,
};

/* Is it known without waiting whether it is good? */
static inline bool cryo_map_is_known(struct cryo_map_table *t, u32 chunk)
{
	return READ_ONCE(t->states[chunk]) >= CRYO_MAP_GOOD;
}

/*
 * May a worker have memory charged to who pays for @t? May sleep; gives back what can be read
 * again.
 */
bool cryo_map_has_room(struct cryo_map_table *t);

/**
 * cryo_map_table_make() - where the pages of an area are, as CRYO_RST_MAP says
 * @args: its arguments, not checked
 * @files: the files of the handle
 *
 * Context: May sleep.
 *
 * Return: for cryo_map_table_put(), or an ERR_PTR.
 */
struct cryo_map_table *cryo_map_table_make(const struct cryo_map *args,
					   struct cryo_map_files *files);

void cryo_map_table_get(struct cryo_map_table *t);

/**
 * cryo_map_table_put() - a reference less
 * @t: the table; freed with the last one
 */
void cryo_map_table_put(struct cryo_map_table *t);

struct cryo_map_table_run *cryo_map_find_run(struct cryo_map_table *t, unsigned long page);
struct cryo_map_table_run *cryo_map_run_of_bit(struct cryo_map_table *t, unsigned long bit);
unsigned long cryo_map_bit(struct cryo_map_table *t, unsigned long page);
unsigned long cryo_map_first_from(struct cryo_map_table *t, unsigned long bit, unsigned long *end);
unsigned long cryo_map_settle(struct cryo_map_table *t, unsigned long start, unsigned long end,
			      bool sleeps);
int cryo_map_verify(struct cryo_map_table *t, u32 chunk);
void cryo_map_look_ahead(struct cryo_map_table *t, u32 chunk, unsigned long bit);
struct page *cryo_map_page(struct cryo_map_table *t, struct cryo_map_table_run *run,
			   unsigned long page);

/* ---- map_area.c: the areas ---- */

struct cryo_map_mm {
	struct kref ref;
	struct hlist_node node;		/* in a table of all */
	struct mm_struct *mm;		/* mmgrab() */
	struct pid *owner;		/* counted: the process */
	struct cryo_user *user;		/* counted */
	/* sequence number: the younger waits for the older (lock order) */
	u64 number;
	struct mmu_notifier notifier;
	spinlock_t lock;		/* protects @vmas, and what is said so of */
	/* of struct cryo_map_vma; changed with mmap_lock, too, while @mm has users */
	struct list_head vmas;
	unsigned int nr_tables;		/* that there ever were; under mmap_lock */
	size_t bytes;			/* of tables that VMAs have; under @lock */
	unsigned int incomplete;	/* of these: pages are missing; under @lock */
	/* for an area that is about to be cut in two; under mmap_lock */
	struct cryo_map_vma *spare;
	/* where the process has last waited for a page, or NULL; under mmap_lock */
	struct cryo_map_vma *used;
	bool first_over;		/* all pages that come first have come; under mmap_lock */
	bool populates;			/* in the background, from when the process goes on */
	struct delayed_work populate;
	struct work_struct end;
};

/* Of those from bit @from on, all before bit @next are settled. */
struct cryo_map_cursor {
	unsigned long from;
	unsigned long next;
};

/* One VMA: its vm_private_data. */
struct cryo_map_vma {
	struct list_head node;
	struct vm_area_struct *vma;
	struct cryo_map_mm *map;	/* counted */
	struct cryo_map_table *table;	/* counted */
	struct cryo_map_cursor all;
	struct cryo_map_cursor first;	/* only of those of table->first */
	unsigned long used;		/* the bit behind the pages that came then */
	unsigned long window;		/* ... and how many were to come */
	bool copied;			/* its page tables have been copied, for a child */
	/* the holder of mmap_lock sets bits for the pages that it loads */
	bool settles;
};

void cryo_map_get(struct cryo_map_mm *map);

/**
 * cryo_map_put() - a reference less
 * @map: the mapped memory; ended by a worker with the last one
 *
 * Context: Any context.
 */
void cryo_map_put(struct cryo_map_mm *map);

struct cryo_map_mm *cryo_map_of(struct mm_struct *mm);

/**
 * cryo_map_make() - the mapped memory of the caller, made if he has none
 *
 * Somebody may have his mmap_lock for as long as he likes: nothing that others need is held here
 * meanwhile.
 *
 * Context: May sleep, killable.
 *
 * Return: counted; or an ERR_PTR.
 */
struct cryo_map_mm *cryo_map_make(void);

void cryo_map_note_settled(struct cryo_map_mm *map, struct cryo_map_table *t, unsigned long n);

/**
 * cryo_map_add() - make an area whose pages come from a context
 * @map: the mapped memory of the caller
 * @t: where they are; the area counts it
 * @args: what CRYO_RST_MAP says, checked by cryo_map_table_make()
 *
 * Context: May sleep, killable.
 *
 * Return: 0; -EOPNOTSUPP: the area is there, but has no anon_vma, which a child's copy of it begins
 * with; or another errno: there is no area.
 */
int cryo_map_add(struct cryo_map_mm *map, struct cryo_map_table *t, const struct cryo_map *args);

void cryo_map_convert(struct cryo_map_mm *map);
bool cryo_map_is_ours(struct vm_area_struct *vma);
unsigned long cryo_map_page_of(struct cryo_map_vma *v, unsigned long addr);
void cryo_map_poison(struct vm_area_struct *vma);

/**
 * cryo_map_is_poisoned() - could an area not be given to a child?
 * @vma: the area
 *
 * An access to it raises SIGBUS.
 *
 * Context: With mmap_lock.
 *
 * Return: true: it could not.
 */
bool cryo_map_is_poisoned(struct vm_area_struct *vma);

void cryo_map_end(struct work_struct *work);

/* ---- map_fork.c: children ---- */

void cryo_map_open_in_child(struct vm_area_struct *vma, struct cryo_map_vma *parent);

/* ---- map_populate.c: how pages come ---- */

extern struct workqueue_struct *cryo_map_queue;

int cryo_map_load(struct vm_area_struct *vma, unsigned long start, unsigned long end);
int cryo_map_give(struct vm_area_struct *child, struct cryo_map_vma *v);

/**
 * cryo_map_load_around() - bring a page and those around it, with what others have of them
 * @map: the mapped memory
 * @t: the table of the area
 * @chunk: the chunk of the page
 * @addr: its address
 * @waits: the process waits for this page
 *
 * Context: Without mmap_lock, with references to @map and @t. May sleep.
 *
 * Return: 0 or a negative errno.
 */
int cryo_map_load_around(struct cryo_map_mm *map, struct cryo_map_table *t, u32 chunk,
			 unsigned long addr, bool waits);

void cryo_map_populate(struct work_struct *work);
void cryo_map_convert_later(struct cryo_map_mm *map);

/**
 * cryo_map_start() - begin with what CRYO_MAP_POPULATE has asked for
 *
 * In the memory of the caller, which goes on now: before, others of the job would wait for the
 * processors.
 */
void cryo_map_start(void);

/* ---- map_places.c: which processes have the same areas ---- */

#define CRYO_MAP_PEERS	4U	/* processes that are searched for a page, the oldest first */

/* What is locked while an area is made. */
struct cryo_map_joining {
	struct mm_struct *peer;		/* another memory that has it, counted; or NULL */
	bool locked;			/* no other process of the user's makes one */
};

void cryo_map_places_exit(void);
void cryo_map_key_set(struct cryo_map_table *t, unsigned long start, unsigned long base);
void cryo_map_note_place(struct cryo_map_mm *map, struct cryo_map_table *t);
void cryo_map_note_coming(struct cryo_map_mm *map, bool coming);
bool cryo_map_comes_elsewhere(struct cryo_map_mm *map);
bool cryo_map_has_peers(struct cryo_map_mm *map, struct cryo_map_table *t);
int cryo_map_lock_to_join(struct cryo_map_mm *map, struct cryo_map_table *t,
			  struct cryo_map_joining *j);
void cryo_map_unlock_joined(struct cryo_map_mm *map, struct cryo_map_joining *j);
void cryo_map_join(struct cryo_map_vma *v, struct mm_struct *peer);
bool cryo_map_is_in_place(struct vm_area_struct *vma, unsigned long addr, unsigned long pgoff);
unsigned int cryo_map_find_peers(struct cryo_map_mm *map, const struct cryo_map_key *key,
				 struct pid **peers);
void cryo_map_put_peers(struct pid **peers, unsigned int n);
struct mm_struct *cryo_map_memory_of(struct pid *pid);

/* ---- map_share.c: pages that several restarts have in common ---- */

#define CRYO_MAP_BATCH	128U	/* pages for which locks are held at a time */

bool cryo_map_has_table(struct mm_struct *mm, unsigned long addr);
void cryo_map_share(struct cryo_map_mm *map, struct cryo_map_table *t, unsigned long bit,
		    unsigned long addr, unsigned int nr, bool patient);

/* ---- restart/map_calls.c ---- */

long cryo_restart_map_file(struct cryo_map_files *files, void __user *arg);
long cryo_restart_map(struct cryo_map_files *files, void __user *arg);

#endif
