// SPDX-License-Identifier: GPL-2.0-only
/*
 * protect.c - take the pages of a parked process so that it copies them before it writes
 *
 * What fork() does to the memory of a parent, without the child: an anonymous page gets one more
 * reference instead of one more mapping, its entry in the page table is made read-only, and the
 * page is marked as one that its process may not have alone (PageAnonExclusive is cleared). The
 * first write then finds somebody else's reference and goes to a copy; after we have dropped ours,
 * it finds none, and the page is written in place again. The rules, and where they come from:
 *
 *  - mmap_lock is held for writing and mm->write_protect_seq says so, as in copy_page_range(): then
 *    get_user_pages_fast(FOLL_PIN) takes back what it took meanwhile.
 *  - A page to which somebody has a reference that is no mapping (I/O into it may be under way, and
 *    not all that do I/O pin) stays the process's own, as in write_protect_page() of KSM, and is
 *    copied here. The entry is made read-only before the references are counted: one that
 *    get_user_pages_fast() takes is seen here, or it sees that the entry has changed.
 *  - Nobody may write by an old entry of the TLB once the process runs: all are flushed before
 *    mmap_lock is given back.
 *
 * What is not present is brought back by get_user_pages() first. Pages that are not exclusive
 * (after a fork, KSM) are copied before they are written anyway: these are only referenced.
 *
 * The same walk clears the soft-dirty bits when it is to be known later what was written since
 * (track.c), and, if the bits tell what was written since the parent was captured, leaves out what
 * was not: such pages are only named. Who has hold of a page may write to it without a fault, and
 * so without setting the bit: of such pages it stays set.
 *
 * And it notes which pages have been used since the checkpoint before (used.c).
 */
#include <linux/highmem.h>
#include <linux/huge_mm.h>
#include <linux/mm.h>
#include <linux/page-flags.h>
#include <linux/pgtable.h>
#include <linux/rcupdate.h>
#include <linux/seqlock.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <cryo/client.h>
#include <cryo/format.h>

#include "capture/busy_lock.h"
#include "capture/capture.h"
#include "capture/page_scan.h"
#include "capture/uprobes.h"
#include "compat/mm.h"
#include "compat/swapops.h"
#include "cryo_arch.h"
#include "lib/buf.h"
#include "memory/memory.h"
#include "memory/snapshot.h"
#include "memory/track.h"
#include "memory/used.h"
#include "request/exclusions.h"

/* What one page table may need: its pages, and an address before each. */
#define TABLE_ROOM	(2 * PTRS_PER_PTE + 1)
#define FAULT_PAGES	64

struct protect_walk {
	struct cryo_capture *c;
	struct cryo_proc *proc;
	struct cryo_snapshot *s;
	struct mm_struct *mm;
	struct cryo_snap_chunk *chunk;	/* with room for a table */
	const struct cryo_vma_record *vma;
	bool anon_only;
	bool probed;			/* the kernel may have put breakpoints into its pages */
	bool copies;			/* there are pages in @chunk that are to be copied */
	bool locked;
	bool stale;			/* the TLB may have what is no longer so */
	unsigned long absent;		/* address that was brought back last */
	struct cryo_track *track;	/* NULL: bits are left alone */
	bool grown;			/* the present area had VM_SOFTDIRTY */
	bool tracked;			/* the bits of its present range are not */
	bool covered;			/* they tell what has been written to */
	unsigned int nr_same;
	struct cryo_page_run same[MAX_PTRS_PER_PTE];	/* of one table, not written to */
	struct cryo_used_table used;	/* likewise */
	/* The large folio looked at last, and how many references to it are ours. */
	struct folio *folio;
	int taken;
	struct page *brought[FAULT_PAGES];
};

static int lock_walked(struct protect_walk *p)
{
	int err = cryo_mmap_write_lock(p->c->req, p->mm);

	if (err)
		return err;
	raw_write_seqcount_begin(&p->mm->write_protect_seq);
	p->locked = true;
	return 0;
}

static void unlock_walked(struct protect_walk *p)
{
	if (!p->locked)
		return;
	p->locked = false;
	if (p->stale)
		cryo_arch_flush_tlb(p->mm);
	p->stale = false;
	raw_write_seqcount_end(&p->mm->write_protect_seq);
	mmap_write_unlock(p->mm);
}

static void note_pages(struct protect_walk *p, struct page *page, unsigned long addr,
		       unsigned int pages, unsigned long flags)
{
	struct cryo_snap_chunk *chunk = p->chunk;

	if (!chunk->nr || chunk->address != addr || chunk->anon_only != p->anon_only) {
		chunk->entries[chunk->nr++] = addr | CRYO_SNAP_ADDRESS |
					      (p->anon_only ? CRYO_SNAP_ANON_ONLY : 0);
		chunk->anon_only = p->anon_only;
	}
	chunk->entries[chunk->nr++] = (unsigned long)page | flags;
	chunk->address = addr + pages * PAGE_SIZE;
	chunk->pages += pages;
	p->s->pages += pages;
	p->copies |= !!(flags & CRYO_SNAP_COPY);
}

static void add_same(struct protect_walk *p, unsigned long addr, unsigned int pages)
{
	struct cryo_page_run *last = p->nr_same ? &p->same[p->nr_same - 1] : NULL;

	p->c->req->pages_unchanged += pages;
	if (last && last->start + last->nr_pages * PAGE_SIZE == addr)
		last->nr_pages += pages;
	else
		p->same[p->nr_same++] = (struct cryo_page_run){ .start = addr, .nr_pages = pages };
}

/* Without the locks of the tables. */
static int keep_same(struct protect_walk *p)
{
	struct cryo_buf *buf = &p->proc->unchanged;
	struct cryo_page_run *last = NULL;
	unsigned int i;

	if (buf->len)
		last = (struct cryo_page_run *)(buf->data + buf->len) - 1;
	for (i = 0; i < p->nr_same; i++) {
		if (!i && last && last->start + last->nr_pages * PAGE_SIZE == p->same[0].start)
			last->nr_pages += p->same[0].nr_pages;
		else
			cryo_buf_put(buf, &p->same[i], sizeof(p->same[i]));
	}
	p->nr_same = 0;
	return buf->error;
}

static void take_folio(struct protect_walk *p, struct folio *folio, int refs)
{
	folio_ref_add(folio, refs);
	if (!folio_test_large(folio))
		return;
	if (p->folio != folio)
		p->taken = 0;
	p->folio = folio;
	p->taken += refs;
}

/*
 * Has anybody a reference to @folio that is neither a mapping nor the swap cache's? The count is
 * read first: both change together when something is unmapped, and a look in between must not miss
 * one.
 */
static bool in_use(struct protect_walk *p, struct folio *folio)
{
	int refs = folio_ref_count(folio);

	if (folio_test_swapcache(folio))
		refs -= folio_nr_pages(folio);
	if (!folio_test_large(folio))
		return refs > 1;
	if (p->folio == folio)
		refs -= p->taken;
	return refs > cryo_folio_mapcount(folio);
}

/*
 * With its entry read-only: see to it that @page is copied before it is written, or say that we
 * have to copy it now.
 */
static unsigned long share_page(struct protect_walk *p, struct page *page)
{
	struct folio *folio = page_folio(page);

	if (folio_test_ksm(folio) || !PageAnonExclusive(page))
		return CRYO_SNAP_SHARED;
	/* The entry, which was changed by an atomic operation, before the references. */
	smp_mb__after_atomic();
	if (in_use(p, folio))
		return CRYO_SNAP_COPY;
	ClearPageAnonExclusive(page);
	return 0;
}

/*
 * May somebody write to @page who needs no fault for it? As in_use(), of pages that are not
 * exclusive, too.
 */
static bool is_held(struct protect_walk *p, struct page *page, unsigned long flags)
{
	struct folio *folio = page_folio(page);
	int refs = folio_ref_count(folio);

	if (flags != CRYO_SNAP_SHARED)
		return flags == CRYO_SNAP_COPY;
	if (folio_test_swapcache(folio))
		refs -= folio_nr_pages(folio);
	if (p->folio == folio)
		refs -= p->taken;
	return refs > cryo_any_mapcount(folio);
}

/* After the entry has been made read-only: see cryo_arch.h. */
static void note_use(struct protect_walk *p, pte_t *pte, unsigned long addr, struct page *page)
{
	if (!p->anon_only)
		p->stale |= cryo_used_pte(&p->used, pte, addr, page);
}

static void note_use_of_huge(struct protect_walk *p, pmd_t *pmdp, unsigned long addr,
			     unsigned long end)
{
	if (!p->anon_only)
		p->stale |= cryo_used_huge(&p->proc->used, &p->used, pmdp, addr, end);
}

static bool is_unchanged(struct protect_walk *p, pte_t value)
{
	if (!p->covered)
		return false;
	if (pte_present(value))
		return !pte_soft_dirty(value) && !pte_write(value);
	return cryo_swap_entries_tell_changes() && cryo_pte_in_swap(value) &&
	       !pte_swp_soft_dirty(value);
}

/* False: there is something at @addr that is to be brought back first. */
static bool protect_pte(struct protect_walk *p, pte_t *pte, unsigned long addr)
{
	pte_t value = ptep_get(pte);
	unsigned long flags;
	struct page *page;

	if (pte_none(value) || cryo_pte_guard(value))
		return true;
	if (!pte_present(value)) {
		if (!is_unchanged(p, value))
			return false;
		add_same(p, addr, 1);
		return true;
	}
	if (is_zero_pfn(pte_pfn(value)))
		return true;
	if (pte_special(value) || !pfn_valid(pte_pfn(value)))
		return p->anon_only;
	page = pfn_to_page(pte_pfn(value));
	if (!PageAnon(page))
		return p->anon_only;
	if (is_unchanged(p, value)) {
		add_same(p, addr, 1);
		note_use(p, pte, addr, page);
		return true;
	}
	if (pte_write(value)) {
		ptep_set_wrprotect(p->mm, addr, pte);
		p->stale = true;
	}
	note_use(p, pte, addr, page);
	flags = share_page(p, page);
	if (p->tracked)
		cryo_arch_pte_soft_dirty(pte, is_held(p, page, flags));
	take_folio(p, page_folio(page), 1);
	note_pages(p, page, addr, 1, flags);
	return true;
}

/* The table that @pmdp leads to. Returns where something is to be brought back, or @end. */
static unsigned long protect_ptes(struct protect_walk *p, pmd_t *pmdp, unsigned long addr,
				  unsigned long end)
{
	spinlock_t *ptl;	/* of the entries */
	pmd_t pmd;
	pte_t *pte;

	rcu_read_lock();
	pmd = READ_ONCE(*pmdp);
	if (pmd_none(pmd))
		addr = end;
	/* One that is being moved, or has just become a huge one: the next look tells. */
	if (addr == end || !pmd_present(pmd) || pmd_trans_huge(pmd))
		goto out;
	ptl = pte_lockptr(p->mm, &pmd);
	pte = pte_offset_kernel(&pmd, addr);
	spin_lock(ptl);
	if (pmd_same(pmd, READ_ONCE(*pmdp)))
		while (addr < end && protect_pte(p, pte, addr)) {
			addr += PAGE_SIZE;
			pte++;
		}
	spin_unlock(ptl);
out:
	rcu_read_unlock();
	return addr;
}

/* With the lock: @pmd, at *@pmdp, is a huge page. */
static void protect_huge(struct protect_walk *p, pmd_t *pmdp, pmd_t pmd, unsigned long addr,
			 unsigned long end)
{
	unsigned int first = (addr & ~HPAGE_PMD_MASK) >> PAGE_SHIFT;
	unsigned int n = (end - addr) >> PAGE_SHIFT;
	struct page *head = pmd_page(pmd);
	unsigned long flags;
	unsigned int i;

	/* In anonymous memory, the huge page of zeros; else the file's. */
	if (!PageAnon(head))
		return;
	if (p->covered && !pmd_soft_dirty(pmd) && !pmd_write(pmd)) {
		add_same(p, addr, n);
		note_use_of_huge(p, pmdp, addr, end);
		return;
	}
	if (pmd_write(pmd)) {
		pmdp_set_wrprotect(p->mm, addr & HPAGE_PMD_MASK, pmdp);
		p->stale = true;
	}
	note_use_of_huge(p, pmdp, addr, end);
	flags = share_page(p, head);
	if (p->tracked)
		cryo_arch_pmd_soft_dirty(pmdp, is_held(p, head, flags));
	if (n == HPAGE_PMD_NR && flags != CRYO_SNAP_COPY) {
		take_folio(p, page_folio(head), 1);
		note_pages(p, head, addr, n, flags | CRYO_SNAP_HUGE);
		return;
	}
	take_folio(p, page_folio(head), n);
	for (i = 0; i < n; i++)
		note_pages(p, head + first + i, addr + i * PAGE_SIZE, 1, flags);
}

/* False: it is none, or no longer. */
static bool protect_if_huge(struct protect_walk *p, pmd_t *pmdp, unsigned long addr,
			    unsigned long end)
{
	spinlock_t *ptl;	/* of the entries */
	bool huge;
	pmd_t pmd;

	if (!pmd_trans_huge(READ_ONCE(*pmdp)))
		return false;
	ptl = pmd_lock(p->mm, pmdp);
	pmd = READ_ONCE(*pmdp);
	huge = pmd_present(pmd) && pmd_trans_huge(pmd);
	if (huge)
		protect_huge(p, pmdp, pmd, addr, end);
	spin_unlock(ptl);
	return huge;
}

static struct page *copy_of(struct page *page)
{
	struct page *copy = alloc_page(GFP_HIGHUSER | __GFP_ACCOUNT | __GFP_NOWARN);
	void *from, *to;

	if (!copy)
		return NULL;
	from = kmap_local_page(page);
	to = kmap_local_page(copy);
	memcpy(to, from, PAGE_SIZE);
	kunmap_local(to);
	kunmap_local(from);
	return copy;
}

static int no_room(struct protect_walk *p)
{
	return cryo_no_snapshot(p->c, p->proc, p->s, "not enough memory for it");
}

/* Those that are in use, from the entry @i on. */
static int copy_pages(struct protect_walk *p, unsigned int i)
{
	unsigned long *entry;
	struct page *page, *copy;

	for (; i < p->chunk->nr; i++) {
		entry = &p->chunk->entries[i];
		if (*entry & CRYO_SNAP_ADDRESS || !(*entry & CRYO_SNAP_COPY))
			continue;
		page = (struct page *)(*entry & ~CRYO_SNAP_FLAGS);
		copy = ++p->s->copied <= p->s->limit ? copy_of(page) : NULL;
		if (!copy)
			return no_room(p);
		*entry = (unsigned long)copy | CRYO_SNAP_COPY;
		put_page(page);
		/*
		 * May be the last, if it was to be given back meanwhile: its count is not ours to
		 * know.
		 */
		p->folio = NULL;
	}
	p->copies = false;
	return 0;
}

/*
 * What cannot be had but by get_user_pages(), twice in a row: as it is. But for breakpoints of the
 * kernel's.
 */
static int copy_brought(struct protect_walk *p, unsigned long addr, long n)
{
	unsigned int first;
	int err = 0;
	long i;

	p->chunk = cryo_snapshot_chunk(p->s, p->proc->mm_id, TABLE_ROOM);
	if (!p->chunk)
		return no_room(p);
	first = p->chunk->nr;
	for (i = 0; i < n; i++) {
		if (p->anon_only && !PageAnon(p->brought[i]))
			continue;
		if (p->probed)
			err = cryo_without_uprobes(p->c, p->proc, p->vma, addr + i * PAGE_SIZE,
						   &p->brought[i]);
		if (err)
			return err;
		if (!p->brought[i])
			continue;
		get_page(p->brought[i]);
		note_pages(p, p->brought[i], addr + i * PAGE_SIZE, 1, CRYO_SNAP_COPY);
	}
	return copy_pages(p, first);
}

/* What comes back is not used by that. */
static long take_refs(struct protect_walk *p, unsigned long start, long n)
{
	unsigned long end = start + n * PAGE_SIZE;

	if (!p->anon_only)
		cryo_used_look(&p->proc->used, p->mm, start, end);
	n = cryo_get_user_pages_remote(p->mm, start, n, FOLL_FORCE, p->brought);
	if (!p->anon_only)
		cryo_used_look(NULL, p->mm, start, end);
	return n;
}

/*
 * Bring pages back from *@addr on: from swap, or from where they are being moved. Without the lock.
 */
static int fault_in(struct protect_walk *p, unsigned long *addr, unsigned long end)
{
	bool again = p->absent == *addr;
	unsigned long start, to;
	long n, i;
	int err;

	p->absent = *addr;
	err = cryo_mmap_read_lock(p->c->req, p->mm);
	if (err)
		return err;
	start = cryo_page_scan(p->mm, *addr, end, FAULT_PAGES * PAGE_SIZE, &to);
	n = min_t(long, (to - start) >> PAGE_SHIFT, FAULT_PAGES);
	if (start < to)
		n = take_refs(p, start, n);
	mmap_read_unlock(p->mm);
	if (n < 0 || (!n && start < to)) {
		cryo_warn(p->c, p->proc, "memory at %lx: cannot be read: %pe", start,
			  ERR_PTR(n ?: -EFAULT));
		return n ?: -EFAULT;
	}
	if (again)
		err = copy_brought(p, start, n);
	for (i = 0; i < n; i++)
		if (p->brought[i])
			put_page(p->brought[i]);
	if (again)
		*addr = start + n * PAGE_SIZE;
	return err;
}

/* One table. *@addr: how far this went; true: something is to be brought back there. */
static int protect_table(struct protect_walk *p, pmd_t *pmdp, unsigned long *addr,
			 unsigned long next, bool *absent)
{
	unsigned long start = *addr;
	unsigned int first;

	p->chunk = cryo_snapshot_chunk(p->s, p->proc->mm_id, TABLE_ROOM);
	if (!p->chunk)
		return no_room(p);
	first = p->chunk->nr;
	if (protect_if_huge(p, pmdp, *addr, next))
		*addr = next;
	else
		*addr = protect_ptes(p, pmdp, *addr, next);
	*absent = *addr < next;
	cryo_used_keep(&p->proc->used, &p->used, start);
	if (keep_same(p))
		return no_room(p);
	return p->copies ? copy_pages(p, first) : 0;
}

static int protect_tables(struct protect_walk *p, unsigned long *addr, unsigned long end,
			  bool *absent)
{
	unsigned long next;
	pmd_t *pmdp;
	int err = 0;

	lockdep_assert_held_write(&p->mm->mmap_lock);
	while (!err && !*absent && *addr < end) {
		pmdp = cryo_find_pmd(p->mm, *addr, end, &next);
		if (pmdp && !pmd_none(READ_ONCE(*pmdp)))
			err = protect_table(p, pmdp, addr, next, absent);
		else
			*addr = next;
		cond_resched();
		err = err ?: cryo_request_interrupted(p->c->req);
	}
	return err;
}

/* The area that has all of it, as far as there are bits for it that tell something. */
static struct vm_area_struct *find_whole(struct protect_walk *p, unsigned long addr,
					 unsigned long end)
{
	struct vm_area_struct *vma = find_vma(p->mm, addr);

	if (!vma || vma->vm_start > addr || vma->vm_end < end || !vma_is_anonymous(vma))
		return NULL;
	return vma->vm_flags & (VM_SHARED | VM_HUGETLB) || p->anon_only ? NULL : vma;
}

/*
 * What may be done with the bits from @addr on? @first: of a range. The lock may have been given
 * back since the areas were collected.
 */
static void look_at_bits(struct protect_walk *p, unsigned long addr, unsigned long end, bool first)
{
	struct vm_area_struct *vma = p->track && addr < end ? find_whole(p, addr, end) : NULL;

	lockdep_assert_held_write(&p->mm->mmap_lock);
	p->covered = false;
	if (!vma) {
		p->tracked = false;
		return;
	}
	p->grown |= !!(vma->vm_flags & VM_SOFTDIRTY);
	if (!p->grown)
		p->covered = cryo_track_covers(p->track, vma, addr, end);
	if (first)
		p->tracked = cryo_track_add(p->track, vma, addr, end);
	if (p->tracked && vma->vm_flags & VM_SOFTDIRTY)
		cryo_vma_clear_flags(vma, VM_SOFTDIRTY);
}

/* With the lock, in and out; an error may leave it without. */
static int protect_range(struct protect_walk *p, unsigned long addr, unsigned long end)
{
	bool absent, first = true;
	int err;

	lockdep_assert_held(&p->mm->mmap_lock);
	for (;;) {
		absent = false;
		look_at_bits(p, addr, end, first);
		first = false;
		if (addr < end)
			cryo_vma_start_write(p->mm, addr);
		err = protect_tables(p, &addr, end, &absent);
		if (err || !absent)
			return err;
		unlock_walked(p);
		err = fault_in(p, &addr, end) ?: lock_walked(p);
		if (err)
			return err;
	}
}

/* What the kernel has changed is not protected, but copied. With the lock, as above. */
static int copy_probed(struct protect_walk *p, unsigned long addr, unsigned long end)
{
	int err = 0;

	lockdep_assert_held(&p->mm->mmap_lock);
	unlock_walked(p);
	while (!err && addr < end) {
		p->absent = addr;
		err = fault_in(p, &addr, end);
		cond_resched();
		err = err ?: cryo_request_interrupted(p->c->req);
	}
	return err ?: lock_walked(p);
}

static int note_excluded(struct protect_walk *p, unsigned long start, unsigned long end)
{
	unlock_walked(p);
	return cryo_exclusions_note(p->c, p->proc, p->vma, start, end) ?: lock_walked(p);
}

/* The same, with what is excluded left out. Pages of hugetlbfs are copied before (capture.c). */
static int protect_vma(struct protect_walk *p, const struct cryo_vma_record *vma)
{
	unsigned long addr = vma->out.start, end = vma->out.end;
	const struct cryo_client_range *skip = NULL;
	unsigned long from, to;
	int err = 0;

	p->vma = vma;
	p->anon_only = vma->anon_only;
	p->probed = cryo_may_have_uprobes(p->proc, vma);
	p->grown = false;
	if (p->probed)
		return copy_probed(p, addr, end);
	while (!err && addr < end) {
		if (vma->out.kind == CRYO_VMA_ANON)
			skip = cryo_exclusions_find(p->proc, addr, end);
		from = skip ? max_t(unsigned long, addr, skip->start) : end;
		to = skip ? min_t(unsigned long, end, skip->end) : end;
		if (!vma->huge)
			err = protect_range(p, addr, from);
		if (!err && from < to)
			err = note_excluded(p, from, to);
		addr = to;
	}
	return err;
}

/* A second owner of the page tables, such as a virtual machine, would have to be told. */
static int check_lone(struct protect_walk *p)
{
	if (cryo_track_is_lone(p->track, p->mm, NULL))
		return 0;
	return cryo_no_snapshot(p->c, p->proc, p->s, "a device or virtual machine uses its memory");
}

static int protect_vmas(struct protect_walk *p)
{
	struct cryo_proc *proc = p->proc;
	unsigned int i;
	int err = lock_walked(p) ?: check_lone(p);

	for (i = 0; !err && i < proc->nr_vmas; i++)
		if (proc->vmas[i].pages)
			err = protect_vma(p, &proc->vmas[i]);
	unlock_walked(p);
	return err;
}

int cryo_protect_memory(struct cryo_capture *c, struct cryo_proc *proc, struct cryo_snapshot *s)
{
	struct protect_walk *p;
	int err;

	if (!CRYO_ARCH_SNAPSHOT)
		return CRYO_NO_SNAPSHOT;
	p = kvzalloc(sizeof(*p), GFP_KERNEL_ACCOUNT);
	if (!p)
		return -ENOMEM;
	p->c = c;
	p->proc = proc;
	p->s = s;
	p->mm = proc->mm;
	p->absent = ULONG_MAX;
	p->track = cryo_track_begin(c, proc);
	if (p->track)
		proc->parent_mm = cryo_track_parent(p->track);
	err = protect_vmas(p);
	if (p->track)
		cryo_track_end(c, p->track, !err);
	kvfree(p);
	return err;
}
