// SPDX-License-Identifier: GPL-2.0-only
/*
 * map_table.c - which page of an area is where in the context, and whether it is what it was
 *
 * Pages are taken from the page cache of the file, as a page fault in a mapping of it would do: so
 * nothing is asked of the file itself under mmap_lock.
 */
#include <linux/bitmap.h>
#include <linux/blkdev.h>
#include <linux/err.h>
#include <linux/fadvise.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/highmem.h>
#include <linux/magic.h>
#include <linux/major.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/nospec.h>
#include <linux/pagemap.h>
#include <linux/printk.h>
#include <linux/ratelimit.h>
#include <linux/sched/mm.h>
#include <linux/shmem_fs.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/wait_bit.h>
#include <linux/workqueue.h>
#include <linux/xxhash.h>

#include <cryo/format.h>

#include "compat/fs.h"
#include "lazy/map.h"
#include "lib/memcg.h"

/* From the file system's own header, which is not for others. */
#define GFS2_MAGIC	0x01161970
/* Not in the headers of all kernels. */
#ifndef FUSE_SUPER_MAGIC
#define FUSE_SUPER_MAGIC	0x65735546
#endif

/* ---- the file ---- */

/*
 * Who sits at the machine may mount a file of his as a disk (loop), which lies wherever he likes,
 * and what he has plugged in.
 */
static bool is_disk_of_machine(const struct super_block *sb)
{
	const struct block_device *bdev = sb->s_bdev;

	if (!(sb->s_type->fs_flags & FS_REQUIRES_DEV))
		return false;
	/* Btrfs may have several, and names none. */
	return !bdev || (MAJOR(bdev->bd_dev) != LOOP_MAJOR && MAJOR(bdev->bd_dev) != NBD_MAJOR &&
			 !(bdev->bd_disk->flags & GENHD_FL_REMOVABLE));
}

/*
 * Can nobody but this kernel change its bytes, so that what has been compared stays what it was? On
 * a server, or in a program that makes up a file system (fuseblk, too), others do; as other
 * machines on a cluster's disk. Nor is there anybody who can keep a page fault waiting.
 */
static bool is_kept_here(struct file *file)
{
	struct super_block *sb = file_inode(file)->i_sb;

	if (shmem_mapping(file->f_mapping))
		return true;
	return is_disk_of_machine(sb) && sb->s_magic != FUSE_SUPER_MAGIC &&
	       sb->s_magic != GFS2_MAGIC && sb->s_magic != OCFS2_SUPER_MAGIC;
}

/*
 * Can pages of it be had from its page cache? Those of an overlay, or on memory of a device,
 * cannot.
 */
static bool is_readable(struct file *file)
{
	struct address_space *mapping = file->f_mapping;

	if (!S_ISREG(file_inode(file)->i_mode) || IS_DAX(mapping->host) || !is_kept_here(file))
		return false;
	return mapping->a_ops->read_folio || shmem_mapping(mapping);
}

static int check_file(struct file *file)
{
	if (!(file->f_mode & FMODE_READ) || file->f_mode & FMODE_WRITE)
		return -EBADF;
	if (!is_readable(file))
		return -EOPNOTSUPP;
	/* Or any user could keep others from writing to a file that he may read. */
	return cryo_owner_or_capable(file) ? 0 : -EPERM;
}

struct cryo_map_source *cryo_map_source_get(int fd)
{
	struct cryo_map_source *source = kzalloc(sizeof(*source), GFP_KERNEL_ACCOUNT);
	int err = -EBADF;

	if (!source)
		return ERR_PTR(-ENOMEM);
	kref_init(&source->ref);
	source->file = fget(fd);
	if (source->file)
		err = check_file(source->file) ?: deny_write_access(source->file);
	if (!err)
		return source;
	if (source->file)
		fput(source->file);
	kfree(source);
	return ERR_PTR(err);
}

static void source_free(struct kref *ref)
{
	struct cryo_map_source *source = container_of(ref, struct cryo_map_source, ref);

	allow_write_access(source->file);
	fput(source->file);
	kfree(source);
}

void cryo_map_source_put(struct cryo_map_source *source)
{
	if (source)
		kref_put(&source->ref, source_free);
}

void cryo_map_files_put(struct cryo_map_files *files)
{
	u32 i;

	for (i = 0; i < CRYO_MAP_MAX_FILES; i++)
		cryo_map_source_put(files->sources[i]);
}

static struct page *page_at(struct cryo_map_source *source, u64 offset)
{
	struct address_space *mapping = source->file->f_mapping;
	pgoff_t index = offset >> PAGE_SHIFT;

	if (!mapping->a_ops->read_folio)
		return shmem_read_mapping_page(mapping, index);
	return read_mapping_page(mapping, index, source->file);
}

/* ---- the table ---- */

/* At the caller's expense. */
static void *copy_array(u64 from, u32 n, size_t size)
{
	void *array = kvmalloc_array(n, size, GFP_KERNEL_ACCOUNT);

	if (!array)
		return ERR_PTR(-ENOMEM);
	if (!copy_from_user(array, (void __user *)(unsigned long)from, array_size(n, size)))
		return array;
	kvfree(array);
	return ERR_PTR(-EFAULT);
}

static bool is_chunk(struct cryo_map_table *t, const struct cryo_map_chunk *chunk)
{
	loff_t size = i_size_read(file_inode(t->sources[chunk->file]->file));
	u64 bytes = (u64)chunk->nr_pages << PAGE_SHIFT;

	return chunk->nr_pages && chunk->nr_pages <= CRYO_PAGES_MAX &&
	       IS_ALIGNED(chunk->offset, PAGE_SIZE) && chunk->offset <= size &&
	       bytes <= size - chunk->offset;
}

/* Inside of its chunk, and of [@least, @end)? */
static bool is_run(const struct cryo_map_run *run, const struct cryo_map_chunk *chunk, u64 least,
		   u64 end)
{
	u64 bytes = (u64)run->nr_pages << PAGE_SHIFT;

	return run->nr_pages && run->nr_pages <= chunk->nr_pages &&
	       IS_ALIGNED(run->start, PAGE_SIZE) && IS_ALIGNED(run->offset, PAGE_SIZE) &&
	       run->start >= least && run->start < end && bytes <= end - run->start &&
	       run->offset >= chunk->offset &&
	       run->offset - chunk->offset <= ((u64)chunk->nr_pages << PAGE_SHIFT) - bytes;
}

static int fill_runs(struct cryo_map_table *t, const struct cryo_map *args,
		     const struct cryo_map_run *runs)
{
	u64 least = args->start;
	u32 i;

	for (i = 0; i < args->nr_runs; i++) {
		const struct cryo_map_run *run = &runs[i];

		if (run->chunk >= t->nr_chunks ||
		    !is_run(run, &t->chunks[run->chunk], least, args->end))
			return -EINVAL;
		least = run->start + ((u64)run->nr_pages << PAGE_SHIFT);
		t->runs[i] = (struct cryo_map_table_run){
			.page = (run->start - args->start) >> PAGE_SHIFT,
			.nr_pages = run->nr_pages,
			.offset = run->offset,
			.bit = t->bits,
			.chunk = run->chunk,
		};
		t->bits += run->nr_pages;
		cond_resched();
	}
	t->nr_runs = args->nr_runs;
	return 0;
}

static int copy_runs(struct cryo_map_table *t, const struct cryo_map *args)
{
	struct cryo_map_run *runs;
	int err;

	t->runs = kvmalloc_array(args->nr_runs, sizeof(*t->runs), GFP_KERNEL_ACCOUNT);
	if (!t->runs)
		return -ENOMEM;
	runs = copy_array(args->runs, args->nr_runs, sizeof(*runs));
	if (IS_ERR(runs))
		return PTR_ERR(runs);
	err = fill_runs(t, args, runs);
	kvfree(runs);
	if (err)
		return err;
	t->settled = kvcalloc(BITS_TO_LONGS(t->bits), sizeof(long), GFP_KERNEL_ACCOUNT);
	if (!t->settled)
		return -ENOMEM;
	atomic_long_set(&t->unsettled, t->bits);
	return 0;
}

/* Those that chunks are of, which the table keeps. */
static int take_sources(struct cryo_map_table *t, struct cryo_map_files *files)
{
	struct cryo_map_source *source;
	u32 i, file, last = 0;

	for (i = 0; i < t->nr_chunks; i++) {
		last = max_t(u32, last, t->chunks[i].file);
		cond_resched();
	}
	if (last >= CRYO_MAP_MAX_FILES)
		return -EINVAL;
	t->sources = kcalloc(last + 1, sizeof(*t->sources), GFP_KERNEL_ACCOUNT);
	if (!t->sources)
		return -ENOMEM;
	t->nr_sources = last + 1;
	for (i = 0; i < t->nr_chunks; i++) {
		cond_resched();
		file = array_index_nospec(t->chunks[i].file, CRYO_MAP_MAX_FILES);
		if (t->sources[file])
			continue;
		source = READ_ONCE(files->sources[file]);
		if (!source)
			return -ENXIO;
		kref_get(&source->ref);
		t->sources[file] = source;
	}
	return 0;
}

static int copy_chunks(struct cryo_map_table *t, const struct cryo_map *args,
		       struct cryo_map_files *files)
{
	struct cryo_map_chunk *chunks;
	int err;
	u32 i;

	t->states = kvzalloc(args->nr_chunks, GFP_KERNEL_ACCOUNT);
	if (!t->states)
		return -ENOMEM;
	chunks = copy_array(args->chunks, args->nr_chunks, sizeof(*chunks));
	if (IS_ERR(chunks))
		return PTR_ERR(chunks);
	t->chunks = chunks;
	t->nr_chunks = args->nr_chunks;
	err = take_sources(t, files);
	if (err)
		return err;
	for (i = 0; i < t->nr_chunks; i++) {
		if (!is_chunk(t, &chunks[i]))
			return -EINVAL;
		cond_resched();
	}
	return 0;
}

/* Pages that come before others; which of them there are. */
static int fill_first(struct cryo_map_table *t, const struct cryo_map *args,
		      const struct cryo_map_range *ranges)
{
	struct cryo_map_bits bits;
	u64 least = args->start;
	u32 i;

	for (i = 0; i < args->nr_first; i++) {
		const struct cryo_map_range *range = &ranges[i];

		if (range->start < least || range->start >= args->end ||
		    !IS_ALIGNED(range->start, PAGE_SIZE) || !range->nr_pages ||
		    range->nr_pages > (args->end - range->start) >> PAGE_SHIFT)
			return -EINVAL;
		least = range->start + (range->nr_pages << PAGE_SHIFT);
		bits.start = cryo_map_bit(t, (range->start - args->start) >> PAGE_SHIFT);
		bits.end = cryo_map_bit(t, (least - args->start) >> PAGE_SHIFT);
		if (bits.start < bits.end)
			t->first[t->nr_first++] = bits;
		cond_resched();
	}
	return 0;
}

static int copy_first(struct cryo_map_table *t, const struct cryo_map *args)
{
	struct cryo_map_range *ranges;
	int err;

	if (!args->nr_first)
		return 0;
	t->first = kvmalloc_array(args->nr_first, sizeof(*t->first), GFP_KERNEL_ACCOUNT);
	if (!t->first)
		return -ENOMEM;
	ranges = copy_array(args->first, args->nr_first, sizeof(*ranges));
	if (IS_ERR(ranges))
		return PTR_ERR(ranges);
	err = fill_first(t, args, ranges);
	kvfree(ranges);
	return err;
}

static bool has_sane_numbers(const struct cryo_map *args)
{
	return !(args->flags & ~CRYO_MAP_FLAGS) && args->start < args->end &&
	       args->end <= TASK_SIZE && IS_ALIGNED(args->start | args->end, PAGE_SIZE) &&
	       (args->end - args->start) >> PAGE_SHIFT <= U32_MAX && args->nr_runs &&
	       args->nr_runs <= CRYO_MAP_MAX_RUNS && args->nr_chunks &&
	       args->nr_chunks <= CRYO_MAP_MAX_CHUNKS && args->nr_first <= CRYO_MAP_MAX_FIRST &&
	       !args->reserved;
}

static void table_free(struct kref *ref)
{
	struct cryo_map_table *t = container_of(ref, struct cryo_map_table, ref);
	u32 i;

	for (i = 0; i < t->nr_sources; i++)
		cryo_map_source_put(t->sources[i]);
	kfree(t->sources);
	kvfree(t->settled);
	kvfree(t->chunks);
	kvfree(t->states);
	kvfree(t->runs);
	kvfree(t->first);
	mem_cgroup_put(t->memcg);
	kfree(t);
}

static size_t bytes_of(const struct cryo_map_table *t)
{
	return sizeof(*t) + t->nr_chunks * (sizeof(*t->chunks) + sizeof(*t->states)) +
	       t->nr_runs * sizeof(*t->runs) + BITS_TO_LONGS(t->bits) * sizeof(long) +
	       t->nr_first * sizeof(*t->first);
}

static void look_ahead(struct work_struct *work);

struct cryo_map_table *cryo_map_table_make(const struct cryo_map *args,
					   struct cryo_map_files *files)
{
	struct cryo_map_table *t;
	int err;

	if (!has_sane_numbers(args))
		return ERR_PTR(-EINVAL);
	t = kzalloc(sizeof(*t), GFP_KERNEL_ACCOUNT);
	if (!t)
		return ERR_PTR(-ENOMEM);
	kref_init(&t->ref);
	INIT_WORK(&t->look_ahead, look_ahead);
	t->behind = U32_MAX;
	t->pid = task_tgid_nr(current);
	t->memcg = get_mem_cgroup_from_mm(current->mm);
	err = copy_chunks(t, args, files) ?: copy_runs(t, args) ?: copy_first(t, args);
	t->bytes = bytes_of(t);
	if (!err)
		return t;
	cryo_map_table_put(t);
	return ERR_PTR(err);
}

void cryo_map_table_get(struct cryo_map_table *t)
{
	kref_get(&t->ref);
}

void cryo_map_table_put(struct cryo_map_table *t)
{
	kref_put(&t->ref, table_free);
}

/* The first run that ends after @page; @nr_runs when there is none. */
static u32 first_after(struct cryo_map_table *t, unsigned long page)
{
	u32 low = 0, high = t->nr_runs, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (t->runs[mid].page + t->runs[mid].nr_pages > page)
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

/* NULL: it is not in the file. */
struct cryo_map_table_run *cryo_map_find_run(struct cryo_map_table *t, unsigned long page)
{
	u32 i = first_after(t, page);

	return i < t->nr_runs && t->runs[i].page <= page ? &t->runs[i] : NULL;
}

/* The first bit of those of @page and the pages after it. */
unsigned long cryo_map_bit(struct cryo_map_table *t, unsigned long page)
{
	u32 i = first_after(t, page);

	if (i == t->nr_runs)
		return t->bits;
	return t->runs[i].bit + (page > t->runs[i].page ? page - t->runs[i].page : 0);
}

struct cryo_map_table_run *cryo_map_run_of_bit(struct cryo_map_table *t, unsigned long bit)
{
	u32 low = 0, high = t->nr_runs - 1, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (t->runs[mid].bit + t->runs[mid].nr_pages > bit)
			high = mid;
		else
			low = mid + 1;
	}
	return &t->runs[low];
}

/*
 * The first bit from @bit on that comes before others, and where those that follow it end; t->bits:
 * there is none.
 */
unsigned long cryo_map_first_from(struct cryo_map_table *t, unsigned long bit, unsigned long *end)
{
	u32 low = 0, high = t->nr_first, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (t->first[mid].end > bit)
			high = mid;
		else
			low = mid + 1;
	}
	*end = low < t->nr_first ? t->first[low].end : t->bits;
	return low < t->nr_first ? max(bit, t->first[low].start) : t->bits;
}

#define SETTLE_WORDS	4096U	/* without a chance for others */

static unsigned long settle_word(unsigned long *word, unsigned long mask)
{
	unsigned long old = READ_ONCE(*word);

	if ((old & mask) != mask)
		old = atomic_long_fetch_or(mask, (atomic_long_t *)word);
	return hweight_long(mask & ~old);
}

/* The bits [start, end), which are not none. Returns how many were not set. */
unsigned long cryo_map_settle(struct cryo_map_table *t, unsigned long start, unsigned long end,
			      bool sleeps)
{
	unsigned long first = BIT_WORD(start), last = BIT_WORD(end - 1), i, mask, n = 0;

	for (i = first; i <= last; i++) {
		mask = i == first ? BITMAP_FIRST_WORD_MASK(start) : ~0UL;
		if (i == last)
			mask &= BITMAP_LAST_WORD_MASK(end);
		n += settle_word(&t->settled[i], mask);
		if (sleeps && !(i % SETTLE_WORDS))
			cond_resched();
	}
	return n;
}

/* ---- the bytes ---- */

/* With a reference. */
struct page *cryo_map_page(struct cryo_map_table *t, struct cryo_map_table_run *run,
			   unsigned long page)
{
	struct cryo_map_source *source = t->sources[t->chunks[run->chunk].file];

	return page_at(source, run->offset + ((u64)(page - run->page) << PAGE_SHIFT));
}

/*
 * Else the pages would be read one by one, each when the one before has been looked at. For one
 * advice the kernel reads no more than the window of the file, and forgets the rest.
 */
static void read_ahead(struct file *file, const struct cryo_map_chunk *chunk)
{
	u32 window = file->f_ra.ra_pages ?: chunk->nr_pages;
	u32 i;

	for (i = 0; i < chunk->nr_pages; i += window)
		vfs_fadvise(file, chunk->offset + ((u64)i << PAGE_SHIFT),
			    (loff_t)min(window, chunk->nr_pages - i) << PAGE_SHIFT,
			    POSIX_FADV_WILLNEED);
}

static int chunk_checksum(struct cryo_map_table *t, const struct cryo_map_chunk *chunk, u32 *sum)
{
	struct cryo_map_source *source = t->sources[chunk->file];
	struct xxh64_state state;
	struct page *page;
	void *at;
	u32 i;

	read_ahead(source->file, chunk);
	xxh64_reset(&state, 0);
	for (i = 0; i < chunk->nr_pages; i++) {
		page = page_at(source, chunk->offset + ((u64)i << PAGE_SHIFT));
		if (IS_ERR(page))
			return PTR_ERR(page);
		at = kmap_local_page(page);
		xxh64_update(&state, at, PAGE_SIZE);
		kunmap_local(at);
		put_page(page);
		cond_resched();
	}
	*sum = xxh64_digest(&state);
	return 0;
}

/* @err: 0 where it is another than it was. */
static void warn_unusable(struct cryo_map_table *t, const struct cryo_map_chunk *chunk, int err)
{
	struct file *file = t->sources[chunk->file]->file;

	if (err)
		pr_warn_ratelimited("pid %d: %pD: memory from byte %llu on cannot be used: it cannot be read: %pe\n",
				    t->pid, file, chunk->offset, ERR_PTR(err));
	else
		pr_warn_ratelimited("pid %d: %pD: memory from byte %llu on cannot be used: wrong checksum\n",
				    t->pid, file, chunk->offset);
}

static u8 compare_chunk(struct cryo_map_table *t, const struct cryo_map_chunk *chunk, int *err)
{
	u32 sum = 0;

	*err = chunk_checksum(t, chunk, &sum);
	if (!*err && sum == chunk->checksum)
		return CRYO_MAP_GOOD;
	if (*err == -ENOMEM || *err == -EINTR)
		return CRYO_MAP_UNKNOWN;
	warn_unusable(t, chunk, *err);
	*err = -EIO;
	return CRYO_MAP_BAD;
}

/*
 * Are the bytes of the chunk what the context says? Asked once; afterwards it is known. Who comes
 * while somebody else is at it waits for his answer.
 */
int cryo_map_verify(struct cryo_map_table *t, u32 index)
{
	u8 *state = &t->states[index], found;
	struct mem_cgroup *before;
	int err;

	/* Pairs with the release below: what was compared is what is going to be copied. */
	if (smp_load_acquire(state) == CRYO_MAP_GOOD)
		return 0;
	do {
		found = cmpxchg(state, CRYO_MAP_UNKNOWN, CRYO_MAP_BUSY);
		if (found == CRYO_MAP_BUSY &&
		    wait_var_event_killable(state, READ_ONCE(*state) != CRYO_MAP_BUSY))
			return -EINTR;
	} while (found == CRYO_MAP_BUSY);
	if (found != CRYO_MAP_UNKNOWN)
		return found == CRYO_MAP_GOOD ? 0 : -EIO;
	/*
	 * Also where a worker reads, which has none: holes of a file in memory are filled by that.
	 */
	before = set_active_memcg(t->memcg);
	found = compare_chunk(t, &t->chunks[index], &err);
	set_active_memcg(before);
	/* Pairs with the acquire above. */
	smp_store_release(state, found);
	/*
	 * The state is there before the queue is looked at: pairs with the barrier of
	 * prepare_to_wait_event().
	 */
	smp_mb();
	wake_up_var(state);
	return err;
}

/* ---- chunks that are going to be asked for ---- */

#define AHEAD	4	/* chunks */
/* Pages: of two chunks in the page cache, and of what comes at a time with its page tables. */
#define ROOM	(2 * (SZ_2M >> PAGE_SHIFT) + 2 * CRYO_MAP_BATCH)

/* The next one, see cryo_map_table.behind_bit. False: there is none. */
static bool go_on(struct cryo_map_table *t, u32 *chunk, unsigned long *bit)
{
	struct cryo_map_table_run *run;
	unsigned long end;

	if (*bit >= t->bits)
		return ++*chunk < t->nr_chunks;
	while ((*bit = cryo_map_first_from(t, *bit, &end)) < t->bits) {
		run = cryo_map_run_of_bit(t, *bit);
		if (run->chunk != *chunk) {
			*chunk = run->chunk;
			return true;
		}
		*bit = run->bit + run->nr_pages;
	}
	return false;
}

/*
 * A worker that is refused memory by a control group would have the OOM killer look for somebody in
 * it, again and again: so it does not begin where there is little left. What has been read of the
 * context is given back first: it is in memory, or can be read again.
 */
bool cryo_map_has_room(struct cryo_map_table *t)
{
	struct address_space *mapping;
	unsigned int i;

	if (cryo_memcg_margin(t->memcg, false) > ROOM)
		return true;
	for (i = 0; i < t->nr_sources; i++) {
		mapping = t->sources[i] ? t->sources[i]->file->f_mapping : NULL;
		if (mapping && mapping->host->i_sb->s_magic != TMPFS_MAGIC)
			invalidate_mapping_pages(mapping, 0, -1);
	}
	return cryo_memcg_margin(t->memcg, false) > ROOM;
}

static void look_ahead(struct work_struct *work)
{
	struct cryo_map_table *t = container_of(work, struct cryo_map_table, look_ahead);
	unsigned long bit = READ_ONCE(t->behind_bit);
	u32 chunk = READ_ONCE(t->behind), i;

	for (i = 0; i < AHEAD && cryo_map_has_room(t) && go_on(t, &chunk, &bit); i++)
		if (READ_ONCE(t->states[chunk]) == CRYO_MAP_UNKNOWN && cryo_map_verify(t, chunk))
			break;
	cryo_map_table_put(t);
}

/*
 * Another processor compares those behind @chunk, while the pages of this one come: the next ones
 * that have pages which come before others, if @bit is one of those; t->bits: the next ones.
 */
void cryo_map_look_ahead(struct cryo_map_table *t, u32 chunk, unsigned long bit)
{
	if (READ_ONCE(t->behind) == chunk)
		return;
	/*
	 * Should the worker see one of them without the other, it is some other chunks that it
	 * looks at.
	 */
	WRITE_ONCE(t->behind_bit, bit);
	WRITE_ONCE(t->behind, chunk);
	cryo_map_table_get(t);
	if (!queue_work(cryo_map_queue, &t->look_ahead))
		cryo_map_table_put(t);
}
