// SPDX-License-Identifier: GPL-2.0-only
/*
 * uprobes.c - processes whose functions are watched by uprobes (bpftrace, perf, SystemTap)
 *
 * The kernel puts breakpoints into private copies of code pages, and executes the instructions that
 * were there in an area of its own. The process knows of neither, and neither belongs into its
 * context: where it is restarted the probes may have gone, and a breakpoint without a probe is a
 * SIGTRAP. Where they are still there the kernel sets them anew.
 */
#include <linux/highmem.h>
#include <linux/magic.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/sched/coredump.h>
#include <linux/sched/mm.h>
#include <linux/sched/task_stack.h>
#include <linux/shmem_fs.h>
#include <linux/uprobes.h>

#include <cryo/format.h>

#include "capture/busy_lock.h"
#include "capture/capture.h"
#include "capture/page_scan.h"
#include "capture/read_memory.h"
#include "capture/uprobes.h"
#include "compat/mm.h"
#include "cryo_arch.h"
#include "lib/sighand.h"

#ifdef CONFIG_UPROBES

bool cryo_is_uprobe_area(struct vm_area_struct *vma)
{
	const char *name = NULL;

	if (!vma->vm_file && vma->vm_ops && vma->vm_ops->name)
		name = vma->vm_ops->name(vma);
	return name && (!strcmp(name, "[uprobes]") || !strcmp(name, "[uprobes-trampoline]"));
}

static bool is_in_uprobe_area(struct cryo_request *req, struct mm_struct *mm, unsigned long addr)
{
	struct vm_area_struct *vma;
	bool is = false;

	if (cryo_mmap_read_lock(req, mm))
		return false;
	vma = find_vma(mm, addr);
	if (vma && vma->vm_start <= addr)
		is = cryo_is_uprobe_area(vma);
	mmap_read_unlock(mm);
	return is;
}

static bool is_probed(struct mm_struct *mm)
{
	return cryo_mm_flag(MMF_HAS_UPROBES, mm);
}

/* What there is to know of a thread that stands still. */
struct uprobe_standing {
	unsigned long ip;
	bool active;		/* a probe's handler, or what comes after it */
	bool returns;		/* functions that it is in have return probes */
};

static void note_standing(struct uprobe_standing *s, struct task_struct *task)
{
	s->ip = instruction_pointer(task_pt_regs(task));
	if (!task->utask)
		return;
	s->active = task->utask->active_uprobe;
	s->returns = task->utask->return_instances;
}

static bool look_at_stopped(struct task_struct *task, struct uprobe_standing *s)
{
	struct sighand_struct *sighand = cryo_lock_sighand(task);
	bool stopped;

	if (!sighand)
		return false;
	stopped = task_is_stopped(task);
	if (stopped)
		note_standing(s, task);
	cryo_unlock_sighand(sighand);
	return stopped;
}

/*
 * With a lock without which it does not run on: who is killed has freed all of this, its stack
 * included, before it says so.
 */
static bool look_at_standing(struct cryo_parked *p, struct uprobe_standing *s)
{
	bool parked;

	*s = (struct uprobe_standing){};
	if (p->self) {
		note_standing(s, current);
		return true;
	}
	spin_lock_irq(&p->req->park_lock);
	parked = p->state == CRYO_PARK_PARKED;
	if (parked)
		note_standing(s, p->task);
	spin_unlock_irq(&p->req->park_lock);
	return parked || look_at_stopped(p->task, s);
}

/*
 * Nobody is waited for who is to bring it: it has just been executed. Others may have the memory,
 * and unmap what is there: nothing is known of it before the outsiders have been looked for.
 */
static bool read_touched(struct cryo_parked *p, struct mm_struct *mm, unsigned long addr, u8 *to,
			 unsigned int size)
{
	unsigned long end = PAGE_ALIGN(addr + size), touched_end = 0;
	bool touched;

	if (end <= addr || end > TASK_SIZE || cryo_mmap_read_lock(p->req, mm))
		return false;
	touched = cryo_page_scan(mm, addr & PAGE_MASK, end, ULONG_MAX, &touched_end) <= addr &&
		  touched_end == end;
	mmap_read_unlock(mm);
	return touched && !cryo_read_memory(p->req, p->task, addr, to, size);
}

/*
 * What the instruction pointer tells. The kernel frees these areas with the memory only, whatever
 * becomes of the probes.
 */
static bool is_replacement(struct cryo_parked *p, struct mm_struct *mm, unsigned long ip)
{
	u8 code[CRYO_PROBE_CALL];
	long distance;

	if (is_in_uprobe_area(p->req, mm, ip))
		return true;
	return read_touched(p, mm, ip, code, sizeof(code)) &&
	       cryo_arch_probe_call(code, &distance) &&
	       is_in_uprobe_area(p->req, mm, ip + sizeof(code) + distance);
}

static bool is_in_uprobe(struct cryo_parked *p, const struct uprobe_standing *s)
{
	struct mm_struct *mm = get_task_mm(p->task);
	bool is;

	if (!mm)
		return false;
	is = (mm->uprobes_state.xol_area || is_probed(mm)) &&
	     (s->active || is_replacement(p, mm, s->ip));
	mmput(mm);
	return is;
}

bool cryo_in_uprobe(struct cryo_request *req)
{
	struct cryo_parked *p;
	struct uprobe_standing s;

	list_for_each_entry(p, &req->parked, node) {
		/*
		 * Who is stopped stays where it is, and the requester is not there: both are looked
		 * at later. Pairs with set_park_state().
		 */
		if (!p->self && smp_load_acquire(&p->state) == CRYO_PARK_PARKED &&
		    look_at_standing(p, &s) && is_in_uprobe(p, &s))
			return true;
		cond_resched();
	}
	return false;
}

void cryo_check_uprobes(struct cryo_capture *c, struct cryo_proc *p, struct task_struct *task)
{
	struct cryo_parked *t = cryo_find_parked(c->req, task);
	int tid = task_pid_vnr(task);
	struct uprobe_standing s;

	if (!t || !look_at_standing(t, &s))
		return;
	if (!t->self && is_in_uprobe(t, &s))
		cryo_refuse(c, p, "thread %d: is at a uprobe: remove it", tid);
	/* Where it is to return to, the kernel knows, and its stack does not. */
	if (s.returns)
		cryo_refuse(c, p, "thread %d: is in a function with a return probe (uretprobe): remove it",
			    tid);
}

bool cryo_may_have_uprobes(const struct cryo_proc *p, const struct cryo_vma_record *vma)
{
	/*
	 * Code: what else is like a breakpoint is data of the process, of which there is more than
	 * breakpoints.
	 */
	return vma->anon_only && vma->out.kind == CRYO_VMA_FILE &&
	       (vma->out.flags & (CRYO_VMA_EXEC | CRYO_VMA_WRITE)) == CRYO_VMA_EXEC &&
	       is_probed(p->mm);
}

/*
 * What the kernel has put at @at, of @left bytes of the page, and the file has not, as in the file.
 */
static void put_insn_back(struct cryo_capture *c, struct cryo_proc *p, unsigned long addr, u8 *at,
			  const u8 *was, unsigned int left)
{
	const uprobe_opcode_t breakpoint = UPROBE_SWBP_INSN;
	unsigned int size;
	long distance;

	if (!memcmp(at, &breakpoint, UPROBE_SWBP_INSN_SIZE))
		memcpy(at, was, UPROBE_SWBP_INSN_SIZE);
	size = cryo_arch_probe_replacement(at, was, left, &distance);
	if (size && is_in_uprobe_area(c->req, p->mm, addr + size + distance))
		memcpy(at, was, size);
}

static void put_all_back(struct cryo_capture *c, struct cryo_proc *p, unsigned long addr, u8 *now,
			 const u8 *was)
{
	unsigned int i;

	for (i = 0; i < PAGE_SIZE; i += UPROBE_SWBP_INSN_SIZE)
		put_insn_back(c, p, addr + i, now + i, was + i, PAGE_SIZE - i);
}

/* The file that is mapped at @addr, counted, and where in it that is, in pages. */
static struct file *file_mapped_at(struct cryo_capture *c, struct cryo_proc *p, unsigned long addr,
				   pgoff_t *index)
{
	struct mm_struct *mm = p->mm;
	struct file *file = ERR_PTR(-ESTALE);
	struct vm_area_struct *vma;
	int err;

	err = cryo_mmap_read_lock(c->req, mm);
	if (err)
		return ERR_PTR(err);
	vma = find_vma(mm, addr);
	if (vma && vma->vm_start <= addr && vma->vm_file) {
		file = get_file(vma->vm_file);
		*index = linear_page_index(vma, addr);
	}
	mmap_read_unlock(mm);
	return file;
}

/*
 * From the page cache: a process, as that of a file system in user space is, may take as long as it
 * likes to bring it, and nothing ends that.
 */
static struct page *cached_page(struct address_space *mapping, pgoff_t index)
{
	struct page *page = find_get_page(mapping, index);

	if (!page)
		return ERR_PTR(-EAGAIN);
	if (PageUptodate(page))
		return page;
	put_page(page);
	return ERR_PTR(-EAGAIN);
}

/* As the kernel reads it for its probes, of who has it mapped; NULL: it has none in such files. */
static struct page *page_of_file(struct cryo_capture *c, struct cryo_proc *p, unsigned long addr)
{
	struct address_space *mapping;
	struct page *page = NULL;
	struct file *file;
	pgoff_t index;

	file = file_mapped_at(c, p, addr, &index);
	if (IS_ERR(file))
		return ERR_CAST(file);
	mapping = file->f_mapping;
	if (shmem_mapping(mapping))
		page = shmem_read_mapping_page(mapping, index);
	else if (mapping->a_ops->read_folio && mapping->host->i_sb->s_magic == FUSE_SUPER_MAGIC)
		page = cached_page(mapping, index);
	else if (mapping->a_ops->read_folio)
		page = read_mapping_page(mapping, index, file);
	fput(file);
	return page;
}

/* @own gets what is in @page, without breakpoints. Returns whether that is what is in @was. */
static bool copy_own(struct cryo_capture *c, struct cryo_proc *p, unsigned long addr,
		     struct page *own, struct page *page, struct page *was)
{
	u8 *to = page_address(own);
	void *from = kmap_local_page(page);
	void *file;
	bool same;

	memcpy(to, from, PAGE_SIZE);
	kunmap_local(from);
	file = kmap_local_page(was);
	put_all_back(c, p, addr, to, file);
	same = !memcmp(to, file, PAGE_SIZE);
	kunmap_local(file);
	return same;
}

int cryo_without_uprobes(struct cryo_capture *c, struct cryo_proc *p,
			 const struct cryo_vma_record *vma, unsigned long addr, struct page **page)
{
	struct page *own, *was = page_of_file(c, p, addr);
	bool same;

	if (IS_ERR(was)) {
		cryo_warn(c, p, "memory at %lx: the file under it, in which there are uprobes, cannot be read: %pe",
			  addr, was);
		return PTR_ERR(was);
	}
	if (!was)
		return 0;
	own = alloc_page(GFP_KERNEL_ACCOUNT);
	if (!own) {
		put_page(was);
		return -ENOMEM;
	}
	same = copy_own(c, p, addr, own, *page, was);
	put_page(was);
	put_page(*page);
	*page = own;
	if (same) {
		put_page(own);
		*page = NULL;
	}
	return 0;
}

#else /* CONFIG_UPROBES */

bool cryo_is_uprobe_area(struct vm_area_struct *vma)
{
	return false;
}

bool cryo_in_uprobe(struct cryo_request *req)
{
	return false;
}

void cryo_check_uprobes(struct cryo_capture *c, struct cryo_proc *p, struct task_struct *task)
{
}

bool cryo_may_have_uprobes(const struct cryo_proc *p, const struct cryo_vma_record *vma)
{
	return false;
}

int cryo_without_uprobes(struct cryo_capture *c, struct cryo_proc *p,
			 const struct cryo_vma_record *vma, unsigned long addr, struct page **page)
{
	return 0;
}

#endif /* CONFIG_UPROBES */
