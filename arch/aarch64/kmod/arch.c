// SPDX-License-Identifier: GPL-2.0-only
/*
 * arch.c - aarch64 part of the module; the contract is kmod/cryo_arch.h
 */
#include <linux/elf.h>
#include <linux/mm.h>
#include <linux/pkeys.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/sched/task_stack.h>
#include <asm/arch_timer.h>
#include <asm/compat.h>
#include <asm/cpufeature.h>
#include <asm/cputype.h>
#include <asm/mmu.h>
#include <asm/mte.h>
#include <asm/mte-def.h>
#include <asm/processor.h>
#include <asm/tlbflush.h>
#ifdef CONFIG_ARM64_GCS
#include <asm/gcs.h>
#endif

#include <cryo/arch/aarch64.h>
#include <cryo/format.h>
#include <cryo/ioctl.h>

#include "access/access.h"
#include "capture/capture.h"
#include "cryo_arch.h"
#include "interrupted.h"
#include "lib/buf.h"
#include "lib/shadow_stack.h"

/* ---- guarded control stacks, v6.13 (and only where configured) ---- */

#ifdef CONFIG_ARM64_GCS
/*
 * What @current has called is in memory for others to read; of a thread that is off its CPU it is
 * anyway.
 */
static void flush_gcs(void)
{
	if (task_gcs_el0_enabled(current))
		gcsb_dsync();
}

static void save_gcs_stack(struct task_struct *task, struct cryo_buf *buf)
{
	u64 stack[] = { task->thread.gcs_base, task->thread.gcs_size };

	cryo_buf_put(buf, stack, sizeof(stack));
}

/* What the thread is bound to is for who may trace it: nobody else has the kernel change that. */
static int check_gcs(struct task_struct *task, const struct cryo_regset *set)
{
	const struct cryo_aarch64_gcs *gcs = (const void *)(unsigned long)set->data;
	u64 locked = task->thread.gcs_el0_locked;

	if (set->length != sizeof(*gcs))
		return -EINVAL;
	/* Taken off, or not as it was. */
	locked &= ~gcs->locked | (gcs->enabled ^ task->thread.gcs_el0_mode);
	return locked && !cryo_may_trace(task) ? -EPERM : -ENOENT;
}

/* The thread will unmap it when it exits: it must not be other memory. */
static int set_gcs_stack(struct task_struct *task, const struct cryo_regset *set)
{
	const struct cryo_aarch64_gcs *gcs = (const void *)(unsigned long)set->data;
	int err = 0;

	if (set->length != sizeof(*gcs))
		return -EINVAL;
	if (gcs->stack || gcs->stack_size)
		err = cryo_check_shadow_stack(task, gcs->stack, gcs->stack_size);
	if (err)
		return err;
	task->thread.gcs_base = gcs->stack;
	task->thread.gcs_size = gcs->stack_size;
	return 0;
}
#else
static void flush_gcs(void)
{
}

static void save_gcs_stack(struct task_struct *task, struct cryo_buf *buf)
{
}

static int check_gcs(struct task_struct *task, const struct cryo_regset *set)
{
	return -ENOENT;
}

static int set_gcs_stack(struct task_struct *task, const struct cryo_regset *set)
{
	return -EINVAL;
}
#endif

u32 cryo_arch_id(void)
{
	return CRYO_ARCH_AARCH64;
}

void cryo_arch_prepare_park(struct task_struct *task)
{
}

void cryo_arch_forget_park(struct task_struct *task)
{
}

void cryo_arch_begin_park(void)
{
}

/* Registers come back on the way to user mode only. */
void cryo_arch_stay_saved(struct task_struct *task)
{
}

void cryo_arch_self_begin(unsigned long *saved, long result)
{
	struct pt_regs *regs = current_pt_regs();

	saved[0] = regs->regs[0];
	regs->regs[0] = result;
	flush_gcs();
}

void cryo_arch_self_end(const unsigned long *saved)
{
	current_pt_regs()->regs[0] = saved[0];
}

unsigned long cryo_arch_vdso(struct mm_struct *mm)
{
	return (unsigned long)mm->context.vdso;
}

/* flush_tlb_mm() would do, but calls what is not exported for those who have notifiers. */
void cryo_arch_flush_tlb(struct mm_struct *mm)
{
	flush_tlb_all();
}

/*
 * set_pte_at() would look for tags, which areas with pages in common do not have, by what is not
 * exported.
 */
void cryo_arch_set_pte(struct mm_struct *mm, unsigned long addr, pte_t *pte, pte_t value)
{
	set_pte(pte, value);
}

/*
 * Where they do not, the next use of each page would be a fault, so that all count as used. Asking
 * traps in virtual machines, hence only once; other processors are taken to be like this one.
 */
static bool processors_note_use(void)
{
	static int noted = -1;
	int known = READ_ONCE(noted);

	if (known < 0) {
		known = cpu_has_hw_af();
		WRITE_ONCE(noted, known);
	}
	return known;
}

static bool clear_young(pteval_t *entry)
{
	if (!processors_note_use())
		return true;
	return atomic64_fetch_andnot(PTE_AF, (atomic64_t *)entry) & PTE_AF;
}

/*
 * Entries of which the kernel has made one for the processors (PTE_CONT) have one note together, in
 * any of them: it goes with the last one, so that all of them have been used, or none.
 */
bool cryo_arch_pte_clear_young(pte_t *pte, unsigned long addr)
{
	pte_t value = ptep_get(pte);	/* with the note of all of them */
	int i;

	if (!pte_young(value))
		return false;
	if (!pte_cont(value))
		return clear_young(&pte_val(*pte));
	if (IS_ALIGNED(addr + PAGE_SIZE, CONT_PTE_SIZE))
		for (i = 0; i < CONT_PTES; i++)
			clear_young(&pte_val(pte[-i]));
	return true;
}

bool cryo_arch_pmd_clear_young(pmd_t *pmd)
{
	return pmd_young(READ_ONCE(*pmd)) && clear_young(&pmd_val(*pmd));
}

bool cryo_arch_probe_call(const u8 *code, long *distance)
{
	return false;
}

unsigned int cryo_arch_probe_replacement(const u8 *now, const u8 *was, unsigned int left,
					 long *distance)
{
	return 0;
}

size_t cryo_arch_vdso_data(void)
{
	return 0;
}

u64 cryo_arch_vma_flags(struct vm_area_struct *vma)
{
	return (vma->vm_flags & VM_ARM64_BTI ? CRYO_AARCH64_VMA_BTI : 0) |
	       (vma->vm_flags & VM_MTE ? CRYO_AARCH64_VMA_MTE : 0);
}

const char *cryo_arch_vma_obstacle(struct vm_area_struct *vma)
{
	return NULL;
}

size_t cryo_arch_tag_bytes(void)
{
	return system_supports_mte() ? PAGE_SIZE / CRYO_TAG_GRANULE / 2 : 0;
}

bool cryo_arch_is_tagged(u64 vma_flags)
{
	return vma_flags & CRYO_AARCH64_VMA_MTE;
}

#ifdef CONFIG_ARM64_MTE
static u8 tag_at(const void *address)
{
	u64 tagged = (u64)address;

	asm volatile(__MTE_PREAMBLE "ldg %0, [%0]" : "+r" (tagged) : : "memory");
	return (tagged & MTE_TAG_MASK) >> MTE_TAG_SHIFT;
}

bool cryo_arch_read_tags(struct page *page, u8 *tags)
{
	const u8 *granule = page_address(page);
	u8 any = 0;
	size_t i;

	/*
	 * Without the flag, nobody has had it with tags, and what the memory holds is not its own.
	 */
	if (!page_mte_tagged(page))
		return false;
	for (i = 0; i < cryo_arch_tag_bytes(); i++, granule += 2 * CRYO_TAG_GRANULE) {
		tags[i] = tag_at(granule) | tag_at(granule + CRYO_TAG_GRANULE) << 4;
		any |= tags[i];
	}
	return any;
}
#else
bool cryo_arch_read_tags(struct page *page, u8 *tags)
{
	return false;
}
#endif

int cryo_arch_vma_pkey(struct vm_area_struct *vma)
{
	return vma_pkey(vma);
}

u32 cryo_arch_pkeys(struct mm_struct *mm)
{
#ifdef CONFIG_ARCH_HAS_PKEYS
	/* There is no key of the kernel's own. */
	return arch_pkeys_enabled() ? mm->context.pkey_allocation_map & ~1U : 0;
#else
	return 0;
#endif
}

void cryo_arch_check(struct cryo_capture *c, struct cryo_proc *p, struct task_struct *task)
{
	int tid = task_pid_vnr(task);

	if (is_compat_thread(task_thread_info(task)))
		cryo_refuse(c, p, "thread %d: runs 32-bit code, which is not supported", tid);
}

int cryo_arch_save_cpu(struct cryo_capture *c)
{
	struct cryo_aarch64_cpu out = {
		.midr = read_cpuid_id(),
		.counter_hz = arch_timer_get_cntfrq(),
		.isar1 = read_sanitised_ftr_reg(SYS_ID_AA64ISAR1_EL1),
		.isar2 = read_sanitised_ftr_reg(SYS_ID_AA64ISAR2_EL1),
	};

	return cryo_stream_section(&c->stream, CRYO_SEC_CPU, CRYO_ARCH_AARCH64, sizeof(out), &out,
				   sizeof(out));
}

bool cryo_arch_want_regset(unsigned int note)
{
	switch (note) {
	case CRYO_AARCH64_PRSTATUS:
	/* The vector registers' lower halves, for CPUs that have no SVE. */
	case CRYO_AARCH64_PRFPREG:
	case CRYO_AARCH64_TLS:
	case CRYO_AARCH64_CALL:
	case CRYO_AARCH64_SVE:
	case CRYO_AARCH64_SSVE:
	case CRYO_AARCH64_ZA:
	case CRYO_AARCH64_ZT:
	case CRYO_AARCH64_PAC_MASK:
	case CRYO_AARCH64_PAC_ENABLED_KEYS:
	case CRYO_AARCH64_PACA_KEYS:
	case CRYO_AARCH64_PACG_KEYS:
	case CRYO_AARCH64_TAGGED_ADDR_CTRL:
	case CRYO_AARCH64_FPMR:
	case CRYO_AARCH64_POE:
	case CRYO_AARCH64_GCS:
		return true;
	}
	return false;
}

int cryo_arch_regset_get(struct task_struct *task, unsigned int note, void **data)
{
	return -ENODATA;
}

size_t cryo_arch_regset_extension(unsigned int note)
{
	switch (note) {
	case CRYO_AARCH64_GCS:
		return sizeof(struct cryo_aarch64_gcs) - offsetof(struct cryo_aarch64_gcs, stack);
	case CRYO_AARCH64_CALL:
		return sizeof_field(struct cryo_aarch64_call, error);
	}
	return 0;
}

void cryo_arch_extend_regset(struct cryo_capture *c, struct task_struct *task, unsigned int note,
			     struct cryo_buf *buf)
{
	if (note == CRYO_AARCH64_GCS)
		save_gcs_stack(task, buf);
	else if (note == CRYO_AARCH64_CALL)
		cryo_interrupted_save(c, task, buf);
}

int cryo_arch_save_more_regsets(struct cryo_capture *c, struct task_struct *task)
{
	return 0;
}

/* That of a call is for the thread itself. */
int cryo_arch_set_regset(struct task_struct *task, const struct cryo_regset *set)
{
	switch (set->note) {
	case CRYO_AARCH64_CALL:
		return cryo_interrupted_check(set);
	case CRYO_AARCH64_GCS:
		return check_gcs(task, set);
	}
	return -ENOENT;
}

int cryo_arch_regset_was_set(struct task_struct *task, const struct cryo_regset *set)
{
	return set->note == CRYO_AARCH64_GCS ? set_gcs_stack(task, set) : 0;
}

u64 cryo_arch_regs_ip(const void *regs, size_t len)
{
	const struct cryo_aarch64_regs *r = regs;

	BUILD_BUG_ON(sizeof(*r) != sizeof(struct user_pt_regs));
	return len >= sizeof(*r) ? r->pc : 0;
}

void cryo_arch_regs_set_ip(void *regs, size_t len, u64 ip)
{
	struct cryo_aarch64_regs *r = regs;

	if (len >= sizeof(*r))
		r->pc = ip;
}
