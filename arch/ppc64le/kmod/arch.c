// SPDX-License-Identifier: GPL-2.0-only
/*
 * arch.c - ppc64le part of the module; the contract is kmod/cryo_arch.h
 */
#include <linux/elf.h>
#include <linux/mm.h>
#include <linux/pkeys.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/task_stack.h>
#include <linux/slab.h>
#include <asm/cputable.h>
#include <asm/mmu.h>
#include <asm/paca.h>
#include <asm/processor.h>
#include <asm/ptrace.h>
#include <asm/reg.h>
#include <asm/syscall.h>
#include <asm/time.h>
#include <asm/tlbflush.h>

#include <cryo/arch/ppc64le.h>
#include <cryo/format.h>
#include <cryo/ioctl.h>

#include "capture/capture.h"
#include "compat/powerpc.h"
#include "cryo_arch.h"
#include "lib/buf.h"

u32 cryo_arch_id(void)
{
	return CRYO_ARCH_PPC64LE;
}

/*
 * v6.1 gives back all registers on the way to user mode only where a signal is pending: not those
 * of a call that is to be made again, nor those that have been set, where there is nothing but a
 * work.
 */
void cryo_arch_prepare_park(struct task_struct *task)
{
	set_tsk_thread_flag(task, TIF_SIGPENDING);
}

/*
 * What recalc_sigpending() does, which is for the caller alone; signals that are blocked leave the
 * flag: it is looked at again.
 */
void cryo_arch_forget_park(struct task_struct *task)
{
	lockdep_assert_held(&task->sighand->siglock);
	if (sigisemptyset(&task->pending.signal) &&
	    sigisemptyset(&task->signal->shared_pending.signal) &&
	    !(task->jobctl & (JOBCTL_PENDING_MASK | JOBCTL_TRAP_FREEZE)))
		clear_tsk_thread_flag(task, TIF_SIGPENDING);
}

/*
 * The way to user mode has looked at the flag when the work runs. While it is set, the kernel takes
 * the thread for one that is about to look at its signals, and does not let one that kills wake it.
 */
void cryo_arch_begin_park(void)
{
	spin_lock_irq(&current->sighand->siglock);
	recalc_sigpending();
	spin_unlock_irq(&current->sighand->siglock);
}

/*
 * Who has used them lately gets floating point and vectors back whenever it comes to a CPU, in the
 * kernel too, and what is there then is taken for theirs: who reads it for another thread makes the
 * kernel stop for that. With nothing to be brought back, they come when they are used.
 */
void cryo_arch_stay_saved(struct task_struct *task)
{
	WRITE_ONCE(task->thread.load_fp, 0);
	WRITE_ONCE(task->thread.load_vec, 0);
}

/* What the kernel saves of a thread when it leaves the CPU, which the requester has not done. */
static void save_own_registers(void)
{
	struct thread_struct *t = &current->thread;

	preempt_disable();
	if (cpu_has_feature(CPU_FTR_ALTIVEC))
		t->vrsave = mfspr(SPRN_VRSAVE);
	if (cpu_has_feature(CPU_FTR_DSCR))
		t->dscr = mfspr(SPRN_DSCR);
	if (cpu_has_feature(CPU_FTR_ARCH_207S)) {
		t->bescr = mfspr(SPRN_BESCR);
		t->ebbhr = mfspr(SPRN_EBBHR);
		t->ebbrr = mfspr(SPRN_EBBRR);
		t->tar = mfspr(SPRN_TAR);
	}
	preempt_enable();
}

void cryo_arch_self_begin(unsigned long *saved, long result)
{
	struct pt_regs *regs = current_pt_regs();

	save_own_registers();
	saved[0] = regs->gpr[3];
	saved[1] = regs->ccr;
	regs->gpr[3] = result;
	regs->ccr &= ~CRYO_PPC64LE_CR0_SO;
}

void cryo_arch_self_end(const unsigned long *saved)
{
	struct pt_regs *regs = current_pt_regs();

	regs->gpr[3] = saved[0];
	regs->ccr = saved[1];
}

unsigned long cryo_arch_vdso(struct mm_struct *mm)
{
	return (unsigned long)mm->context.vdso;
}

/* Entries of hashed page tables take more than that. */
void cryo_arch_flush_tlb(struct mm_struct *mm)
{
	if (radix_enabled())
		radix__flush_tlb_mm(mm);
}

/* There, nothing counts as used. */
bool cryo_arch_pte_clear_young(pte_t *pte, unsigned long addr)
{
	return radix_enabled() && pte_young(ptep_get(pte)) &&
	       __radix_pte_update(pte, _PAGE_ACCESSED, 0) & _PAGE_ACCESSED;
}

bool cryo_arch_pmd_clear_young(pmd_t *pmd)
{
	return cryo_arch_pte_clear_young(pmdp_ptep(pmd), 0);
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
	return CRYO_POWERPC_VDSO_DATA;
}

u64 cryo_arch_vma_flags(struct vm_area_struct *vma)
{
	return vma->vm_flags & VM_SAO ? CRYO_PPC64LE_VMA_SAO : 0;
}

/* The kernel's own key for memory that can be executed only comes with mprotect(PROT_EXEC). */
const char *cryo_arch_vma_obstacle(struct vm_area_struct *vma)
{
	int key = vma_pkey(vma);

	if (key && key != vma->vm_mm->context.execute_only_pkey)
		return "memory with a protection key";
	return NULL;
}

size_t cryo_arch_tag_bytes(void)
{
	return 0;
}

bool cryo_arch_is_tagged(u64 vma_flags)
{
	return false;
}

bool cryo_arch_read_tags(struct page *page, u8 *tags)
{
	return false;
}

int cryo_arch_vma_pkey(struct vm_area_struct *vma)
{
	return 0;
}

/* Which of them the program has allocated and which are the kernel's, no exported symbol tells. */
u32 cryo_arch_pkeys(struct mm_struct *mm)
{
	return 0;
}

void cryo_arch_check(struct cryo_capture *c, struct cryo_proc *p, struct task_struct *task)
{
	const struct pt_regs *regs = task_pt_regs(task);
	int tid = task_pid_vnr(task);

	if (is_tsk_32bit_task(task))
		cryo_refuse(c, p, "thread %d: runs 32-bit code, which is not supported", tid);
	if (!(regs->msr & MSR_LE))
		cryo_refuse(c, p, "thread %d: runs big-endian code, which is not supported", tid);
	if (MSR_TM_ACTIVE(regs->msr))
		cryo_refuse(c, p, "thread %d: an active transaction is not supported", tid);
	if (task->thread.align_ctl)
		cryo_refuse(c, p, "thread %d: control of unaligned accesses (PR_SET_UNALIGN) is not supported",
			    tid);
}

int cryo_arch_save_cpu(struct cryo_capture *c)
{
	struct cryo_ppc64le_cpu out = {
		.pvr = mfspr(SPRN_PVR),
		.timebase_hz = ppc_tb_freq,
	};

	return cryo_stream_section(&c->stream, CRYO_SEC_CPU, CRYO_ARCH_PPC64LE, sizeof(out), &out,
				   sizeof(out));
}

bool cryo_arch_want_regset(unsigned int note)
{
	switch (note) {
	case CRYO_PPC64LE_PRSTATUS:
	case CRYO_PPC64LE_PRFPREG:
	case CRYO_PPC64LE_VMX:
	case CRYO_PPC64LE_VSX:
	case CRYO_PPC64LE_TAR:
	case CRYO_PPC64LE_PPR:
	case CRYO_PPC64LE_DSCR:
	case CRYO_PPC64LE_EBB:
	case CRYO_PPC64LE_PMU:
	case CRYO_PPC64LE_HASHKEYR:
		return true;
	}
	return false;
}

void cryo_arch_extend_regset(struct cryo_capture *c, struct task_struct *task, unsigned int note,
			     struct cryo_buf *buf)
{
}

size_t cryo_arch_regset_extension(unsigned int note)
{
	return 0;
}

/*
 * Every thread has the registers for event-based branches, but debuggers see them only of one that
 * has had an event that can cause such branches.
 */
int cryo_arch_regset_get(struct task_struct *task, unsigned int note, void **data)
{
	const struct thread_struct *t = &task->thread;
	u64 regs[] = { t->ebbrr, t->ebbhr, t->bescr };

	if (note != CRYO_PPC64LE_EBB || !cpu_has_feature(CPU_FTR_ARCH_207S) ||
	    !(regs[0] | regs[1] | regs[2]))
		return -ENODATA;
	*data = kmemdup(regs, sizeof(regs), GFP_KERNEL_ACCOUNT);
	return *data ? sizeof(regs) : -ENOMEM;
}

int cryo_arch_save_more_regsets(struct cryo_capture *c, struct task_struct *task)
{
	return 0;
}

int cryo_arch_set_regset(struct task_struct *task, const struct cryo_regset *set)
{
	return -ENOENT;
}

/*
 * The mode of floating-point exceptions shows in the machine state, but is not taken from there;
 * and a thread has the machine's data stream control until it is known to have set its own.
 */
int cryo_arch_regset_was_set(struct task_struct *task, const struct cryo_regset *set)
{
	const struct cryo_ppc64le_regs *regs = (const void *)(unsigned long)set->data;

	if (set->note == CRYO_PPC64LE_PRSTATUS && set->length >= sizeof(*regs))
		task->thread.fpexc_mode = regs->msr & (MSR_FE0 | MSR_FE1);
	if (set->note == CRYO_PPC64LE_DSCR && task->thread.dscr != get_paca()->dscr_default)
		task->thread.dscr_inherit = 1;
	return 0;
}

u64 cryo_arch_regs_ip(const void *regs, size_t len)
{
	const struct cryo_ppc64le_regs *r = regs;

	BUILD_BUG_ON(sizeof(*r) != sizeof(struct user_pt_regs));
	return len >= sizeof(*r) ? r->nip : 0;
}

void cryo_arch_regs_set_ip(void *regs, size_t len, u64 ip)
{
	struct cryo_ppc64le_regs *r = regs;

	if (len >= sizeof(*r))
		r->nip = ip;
}
