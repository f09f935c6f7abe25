// SPDX-License-Identifier: GPL-2.0-only
/*
 * arch.c - x86-64 part of the module; the contract is kmod/cryo_arch.h
 */
#include <linux/elf.h>
#include <linux/futex.h>
#include <linux/mm.h>
#include <linux/pkeys.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/sched/task_stack.h>
#include <linux/string.h>
#include <asm/desc.h>
#include <asm/fpu/xcr.h>
#include <asm/mmu.h>
#include <asm/processor.h>
#include <asm/syscall.h>
#include <asm/tlbflush.h>
#include <asm/user.h>

#include <cryo/arch/x86_64.h>
#include <cryo/format.h>

#include "capture/capture.h"
#include "compat/ksym.h"
#include "compat/mm.h"
#include "compat/x86.h"
#include "cryo_arch.h"
#include "lib/buf.h"

u32 cryo_arch_id(void)
{
	return CRYO_ARCH_X86_64;
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

	saved[0] = regs->ax;
	saved[1] = regs->orig_ax;
	regs->ax = result;
	regs->orig_ax = -1;
}

void cryo_arch_self_end(const unsigned long *saved)
{
	struct pt_regs *regs = current_pt_regs();

	regs->ax = saved[0];
	regs->orig_ax = saved[1];
}

unsigned long cryo_arch_vdso(struct mm_struct *mm)
{
	return (unsigned long)mm->context.vdso;
}

u64 cryo_arch_vma_flags(struct vm_area_struct *vma)
{
	return 0;
}

const char *cryo_arch_vma_obstacle(struct vm_area_struct *vma)
{
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

void cryo_arch_flush_tlb(struct mm_struct *mm)
{
	cryo_flush_tlb_range(mm, 0, TLB_FLUSH_ALL, 0, true);
}

void cryo_arch_set_pte(struct mm_struct *mm, unsigned long addr, pte_t *pte, pte_t value)
{
	set_pte_at(mm, addr, pte, value);
}

/* As ptep_test_and_clear_young(), which is not exported. */
bool cryo_arch_pte_clear_young(pte_t *pte, unsigned long addr)
{
	return pte_young(ptep_get(pte)) &&
	       test_and_clear_bit(_PAGE_BIT_ACCESSED, (unsigned long *)pte);
}

bool cryo_arch_pmd_clear_young(pmd_t *pmd)
{
	return cryo_arch_pte_clear_young((pte_t *)pmd, 0);
}

#if CRYO_ARCH_SOFT_DIRTY
void cryo_arch_pte_soft_dirty(pte_t *pte, bool dirty)
{
	if (dirty)
		set_bit(_PAGE_BIT_SOFT_DIRTY, (unsigned long *)pte);
	else
		clear_bit(_PAGE_BIT_SOFT_DIRTY, (unsigned long *)pte);
}

void cryo_arch_pmd_soft_dirty(pmd_t *pmd, bool dirty)
{
	cryo_arch_pte_soft_dirty((pte_t *)pmd, dirty);
}
#endif

size_t cryo_arch_vdso_data(void)
{
	return CRYO_X86_VDSO_DATA;
}

int cryo_arch_vma_pkey(struct vm_area_struct *vma)
{
	return vma_pkey(vma);
}

u32 cryo_arch_pkeys(struct mm_struct *mm)
{
#ifdef CONFIG_X86_INTEL_MEMORY_PROTECTION_KEYS
	u32 keys = mm->context.pkey_allocation_map & ~1U;
	int own = mm->context.execute_only_pkey;

	if (!boot_cpu_has(X86_FEATURE_OSPKE))
		return 0;
	return own > 0 ? keys & ~(1U << own) : keys;
#else
	return 0;
#endif
}

static bool has_tls(struct task_struct *task)
{
	int i;

	for (i = 0; i < GDT_ENTRY_TLS_ENTRIES; i++)
		if (!desc_empty(&task->thread.tls_array[i]))
			return true;
	return false;
}

static bool has_io_ports(struct task_struct *task)
{
#ifdef CONFIG_X86_IOPL_IOPERM
	return task->thread.io_bitmap || task->thread.iopl_emul;
#else
	return false;
#endif
}

static bool has_ldt(struct mm_struct *mm)
{
#ifdef CONFIG_MODIFY_LDT_SYSCALL
	return mm->context.ldt;
#else
	return false;
#endif
}

void cryo_arch_check(struct cryo_capture *c, struct cryo_proc *p, struct task_struct *task)
{
	int tid = task_pid_vnr(task);

	if (!user_64bit_mode(task_pt_regs(task)))
		cryo_refuse(c, p, "thread %d: runs 32-bit code, which is not supported", tid);
	if (has_tls(task))
		cryo_refuse(c, p, "thread %d: segments of set_thread_area() are not supported",
			    tid);
	if (has_io_ports(task))
		cryo_refuse(c, p, "thread %d: access to I/O ports (ioperm, iopl) is not supported",
			    tid);
	if (thread_group_leader(task) && has_ldt(p->mm))
		cryo_refuse(c, p, "a local descriptor table (modify_ldt) is not supported");
	if (thread_group_leader(task) && cryo_x86_lam(p->mm))
		cryo_refuse(c, p, "linear address masking is not supported");
}

/* As programs see it: raw, not as the kernel would like to have it. */
static void fill_cpuid(struct cryo_x86_64_cpu *out)
{
	u32 eax, ebx, ecx, edx, highest = cpuid_eax(0);

	cpuid(1, &eax, &ebx, &out->cpuid[CRYO_X86_64_1_ECX], &edx);
	if (highest >= 7) {
		cpuid_count(7, 0, &eax, &out->cpuid[CRYO_X86_64_7_EBX],
			    &out->cpuid[CRYO_X86_64_7_ECX], &out->cpuid[CRYO_X86_64_7_EDX]);
		if (eax >= 1)
			cpuid_count(7, 1, &out->cpuid[CRYO_X86_64_7_1_EAX], &ebx, &ecx, &edx);
	}
	if (highest >= 0xd)
		cpuid_count(0xd, 1, &out->cpuid[CRYO_X86_64_D_1_EAX], &ebx, &ecx, &edx);
	if (cpuid_eax(0x80000000) >= 0x80000001)
		cpuid(0x80000001, &eax, &ebx, &out->cpuid[CRYO_X86_64_80000001_ECX],
		      &out->cpuid[CRYO_X86_64_80000001_EDX]);
}

int cryo_arch_save_cpu(struct cryo_capture *c)
{
	const struct cpuinfo_x86 *cpu = &boot_cpu_data;
	struct cryo_x86_64_cpu out = {
		.family = cpu->x86,
		.model = cpu->x86_model,
		.stepping = cpu->x86_stepping,
	};

	fill_cpuid(&out);
	strscpy((char *)out.vendor, cpu->x86_vendor_id, sizeof(out.vendor));
	if (boot_cpu_has(X86_FEATURE_OSXSAVE)) {
		out.xcr0 = xgetbv(XCR_XFEATURE_ENABLED_MASK);
		out.xstate_size = cpuid_ebx(0xd);
	}
	return cryo_stream_section(&c->stream, CRYO_SEC_CPU, CRYO_ARCH_X86_64, sizeof(out), &out,
				   sizeof(out));
}

bool cryo_arch_want_regset(unsigned int note)
{
	switch (note) {
	case NT_PRSTATUS:
	case NT_X86_XSTATE:
	case CRYO_X86_64_SHSTK:
		return true;
	case NT_PRFPREG:
		/* The XSAVE area has it. */
		return !boot_cpu_has(X86_FEATURE_XSAVE);
	}
	return false;
}

/* Whoever has not used them yet must be able to after a restart. */
int cryo_arch_save_more_regsets(struct cryo_capture *c, struct task_struct *task)
{
	struct cryo_regset_head head = { .note = CRYO_X86_64_XCOMP_PERM, .item_size = sizeof(u64) };
	u64 requested = cryo_x86_requested_registers(task);
	struct cryo_buf buf = {};

	if (!requested)
		return 0;
	cryo_buf_put(&buf, &head, sizeof(head));
	cryo_buf_put(&buf, &requested, sizeof(requested));
	return cryo_stream_buf(&c->stream, CRYO_SEC_REGSET, task_pid_vnr(task), sizeof(head), &buf);
}

u64 cryo_arch_regs_ip(const void *regs, size_t len)
{
	const struct cryo_x86_64_regs *r = regs;

	BUILD_BUG_ON(sizeof(*r) != sizeof(struct user_regs_struct));
	return len >= sizeof(*r) ? r->rip : 0;
}

void cryo_arch_regs_set_ip(void *regs, size_t len, u64 ip)
{
	struct cryo_x86_64_regs *r = regs;

	if (len >= sizeof(*r))
		r->rip = ip;
}

bool cryo_arch_uses_restart_block(struct cryo_request *req, struct task_struct *task)
{
	struct pt_regs *regs = task_pt_regs(task);

	return (long)regs->orig_ax >= 0 && regs->ax == (unsigned long)-ERESTART_RESTARTBLOCK;
}

bool cryo_arch_futex_is_absolute(struct task_struct *task)
{
	/*
	 * restart_syscall(2) leaves the arguments of the call it continues: rsi is the operation.
	 */
	return (task_pt_regs(task)->si & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET;
}
