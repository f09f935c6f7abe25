/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cryo_arch.h - the contract with arch/<a>/kmod
 *
 * Every architecture implements all of these; a missing one is a link error.
 */
#ifndef CRYO_ARCH_H
#define CRYO_ARCH_H

#include <linux/sched.h>

#include "park_arch.h"

struct cryo_buf;
struct cryo_capture;
struct cryo_parked;
struct cryo_proc;
struct cryo_regset;
struct cryo_request;

/**
 * cryo_arch_id() - the architecture's number in a context
 *
 * Return: CRYO_ARCH_* of format.h.
 */
u32 cryo_arch_id(void);

/* ---- parking: system calls that are interrupted ---- */

/**
 * cryo_arch_fixup_syscall() - have an interrupted system call restarted that would return EINTR
 * @p: the thread, current
 *
 * Where the call has already settled on EINTR although no signal handler will run, make it one that
 * is restarted (facts in cryo-time(7)). Calls that had an effect before they returned EINTR, like
 * close(2), must be left alone. Where cryo_timed_wait_found() says that it was a timed wait, with
 * @p->wait_ns left, it must be continued with that time, and not from the start.
 *
 * Context: In the task work, before the thread waits. May sleep.
 */
void cryo_arch_fixup_syscall(struct cryo_parked *p);

/**
 * cryo_arch_within_call() - does current run task works in the middle of a system call?
 * @p: the thread, current
 *
 * Of a call other than io_uring_enter(2), which cryo_arch_fixup_syscall() knows:
 * io_uring_register(2), which waits in IORING_REGISTER_SYNC_CANCEL; exit(2), which cancels requests
 * before the thread counts as exiting; and the stops of a process that is traced, those of
 * io_uring_enter(2) among them. execve(2) is seen by the task.
 *
 * Context: In the task work.
 *
 * Return: true: it must not park there.
 */
bool cryo_arch_within_call(struct cryo_parked *p);

/**
 * cryo_arch_call_is_interrupted() - has the call of a thread an internal result that the kernel has
 * still to handle?
 * @task: current, or a thread that its tracer has stopped
 *
 * The kernel handles it with signals or works only; else the program would see ERESTARTSYS or the
 * like.
 *
 * Return: true: it has.
 */
bool cryo_arch_call_is_interrupted(struct task_struct *task);

/**
 * cryo_arch_note_syscall() - a thread is about to be interrupted
 * @p: the thread
 *
 * What is noted goes into @p->arch, which park_arch.h declares; likewise in the next two.
 *
 * Context: In the requester, before the task work is queued.
 */
void cryo_arch_note_syscall(struct cryo_parked *p);

/**
 * cryo_arch_forget_syscall() - a thread has not parked, and will not any more
 * @p: the thread
 *
 * Context: In the requester.
 */
void cryo_arch_forget_syscall(struct cryo_parked *p);

/**
 * cryo_arch_unfix_syscall() - change back what cryo_arch_fixup_syscall() has changed for the
 * capture only
 * @p: the thread, current: no longer parked, and about to handle its signals
 */
void cryo_arch_unfix_syscall(struct cryo_parked *p);

/**
 * cryo_arch_forget_park() - undo cryo_arch_prepare_park()
 * @task: a thread that its tracer has stopped
 *
 * Context: With siglock.
 */
void cryo_arch_forget_park(struct task_struct *task);

/**
 * cryo_arch_prepare_park() - have a thread return to user mode through the signal path
 * @task: the thread
 *
 * Context: Before the task work is queued: in the requester, with siglock; or in current, which is
 * being restarted.
 */
void cryo_arch_prepare_park(struct task_struct *task);

/**
 * cryo_arch_begin_park() - undo cryo_arch_prepare_park() of current
 *
 * Code that kills the thread from now on must find no trace of it.
 *
 * Context: In the task work, before it waits.
 */
void cryo_arch_begin_park(void);

/**
 * cryo_arch_stay_saved() - keep the saved registers of a thread in place
 * @task: current, or off its CPU; stays in the kernel
 *
 * If it is woken spuriously, or by a kill or SIGCONT, its saved registers must remain valid.
 */
void cryo_arch_stay_saved(struct task_struct *task);

#define CRYO_ARCH_SELF_WORDS	2

/**
 * cryo_arch_self_begin() - give the requester the user registers that a restarted process is to
 * have
 * @saved: room for what cryo_arch_self_end() needs, CRYO_ARCH_SELF_WORDS of them
 * @result: of the system call that it is in
 *
 * When the requester is a thread of the target: as if it had returned from the call with @result.
 */
void cryo_arch_self_begin(unsigned long *saved, long result);

/**
 * cryo_arch_self_end() - the end of cryo_arch_self_begin()
 * @saved: what that has noted
 */
void cryo_arch_self_end(const unsigned long *saved);

/* ---- capture: registers ---- */

/**
 * cryo_arch_check() - refuse what only this architecture has and cannot be saved
 * @c: the capture
 * @p: the process
 * @task: a thread of it
 *
 * By cryo_refuse().
 */
void cryo_arch_check(struct cryo_capture *c, struct cryo_proc *p, struct task_struct *task);

/**
 * cryo_arch_save_cpu() - add the CRYO_SEC_CPU section
 * @c: the capture
 *
 * Return: 0 or a negative errno.
 */
int cryo_arch_save_cpu(struct cryo_capture *c);

/**
 * cryo_arch_want_regset() - is a register set saved, and may it be set?
 * @note: core dump note type (NT_*); called for each set in task_user_regset_view()
 *
 * Return: true: it is, and may.
 */
bool cryo_arch_want_regset(unsigned int note);

/**
 * cryo_arch_regset_get() - a register set that the kernel's own regset does not have
 * @task: a thread, off its CPU
 * @note: core dump note type
 * @data: is a buffer for kvfree() then
 *
 * Return: its size in bytes; -ENODATA: there is nothing; -ENOMEM.
 */
int cryo_arch_regset_get(struct task_struct *task, unsigned int note, void **data);

/**
 * cryo_arch_extend_regset() - append to a register set what the kernel leaves out of it
 * @c: the capture
 * @task: the thread
 * @note: core dump note type
 * @buf: has the register set
 */
void cryo_arch_extend_regset(struct cryo_capture *c, struct task_struct *task, unsigned int note,
			     struct cryo_buf *buf);

/**
 * cryo_arch_regset_extension() - the size of what cryo_arch_extend_regset() appends
 * @note: core dump note type
 *
 * Return: bytes.
 */
size_t cryo_arch_regset_extension(unsigned int note);

/**
 * cryo_arch_save_more_regsets() - add CRYO_SEC_REGSET sections that are no regset of the kernel's
 * @c: the capture
 * @task: the thread
 *
 * Return: 0 or a negative errno.
 */
int cryo_arch_save_more_regsets(struct cryo_capture *c, struct task_struct *task);

/**
 * cryo_arch_regs_ip() - the user's instruction pointer in a saved NT_PRSTATUS set
 * @regs: the set
 * @len: its size in bytes
 *
 * Return: the instruction pointer.
 */
u64 cryo_arch_regs_ip(const void *regs, size_t len);

/**
 * cryo_arch_regs_set_ip() - change it
 * @regs: the set
 * @len: its size in bytes
 * @ip: the instruction pointer
 *
 * Threads inside a restartable sequence are moved to its abort handler.
 */
void cryo_arch_regs_set_ip(void *regs, size_t len, u64 ip);

/* ---- capture: memory ---- */

/**
 * cryo_arch_vdso() - where the vdso is
 * @mm: an address space
 *
 * Return: its address; 0: there is none.
 */
unsigned long cryo_arch_vdso(struct mm_struct *mm);

/**
 * cryo_arch_vdso_data() - where the data of the vdso are
 *
 * Return: the offset, in the first of the vdso's areas, of what compat/vdso.h calls its data.
 */
size_t cryo_arch_vdso_data(void);

#define CRYO_PROBE_CALL	5

/**
 * cryo_arch_probe_call() - is this a call that a uprobe has put there in the place of a breakpoint?
 * @code: CRYO_PROBE_CALL bytes
 * @distance: is where it leads then, from its end
 *
 * Return: true: it is a call of that kind.
 */
bool cryo_arch_probe_call(const u8 *code, long *distance);

/**
 * cryo_arch_probe_replacement() - how much of the code belongs to such a call?
 * @now: the code in memory
 * @was: what the file has there
 * @left: how many bytes there are of both
 * @distance: is where the call leads then, from its end
 *
 * Return: bytes; 0: there is none.
 */
unsigned int cryo_arch_probe_replacement(const u8 *now, const u8 *was, unsigned int left,
					 long *distance);

/**
 * cryo_arch_vma_flags() - flags of an area that only this architecture has
 * @vma: the area; with mmap_lock held
 *
 * Return: of cryo_vma.flags, from bit 32 on.
 */
u64 cryo_arch_vma_flags(struct vm_area_struct *vma);

/**
 * cryo_arch_vma_obstacle() - what about an area only this architecture has, and cannot be saved
 * @vma: the area; with mmap_lock held
 *
 * Return: a text for cryo_refuse(); NULL: there is nothing.
 */
const char *cryo_arch_vma_obstacle(struct vm_area_struct *vma);

/**
 * cryo_arch_tag_bytes() - what the tags of a page take in the format (save/memory/tags.c)
 *
 * Return: bytes; 0: memory has no tags here.
 */
size_t cryo_arch_tag_bytes(void);

/**
 * cryo_arch_is_tagged() - does an area have tags?
 * @vma_flags: its cryo_vma.flags
 *
 * Return: true: it has.
 */
bool cryo_arch_is_tagged(u64 vma_flags);

/**
 * cryo_arch_read_tags() - the tags of a page
 * @page: the page
 * @tags: cryo_arch_tag_bytes() bytes
 *
 * Return: false: all are zero.
 */
bool cryo_arch_read_tags(struct page *page, u8 *tags);

/**
 * cryo_arch_vma_pkey() - the protection key of an area
 * @vma: the area; with mmap_lock held
 *
 * Return: 0: none.
 */
int cryo_arch_vma_pkey(struct vm_area_struct *vma);

/**
 * cryo_arch_pkeys() - the protection keys that a program has allocated
 * @mm: its address space
 *
 * Return: bit N: key N. Not among them are 0 and the one by which the kernel makes memory
 * executable only: mprotect(PROT_EXEC) allocates that again.
 */
u32 cryo_arch_pkeys(struct mm_struct *mm);

/* ---- system calls that are continued ---- */

/**
 * cryo_arch_futex_is_absolute() - does a futex wait have an absolute timeout?
 * @task: a thread in that system call
 *
 * Return: true: it has.
 */
bool cryo_arch_futex_is_absolute(struct task_struct *task);

/**
 * cryo_arch_uses_restart_block() - will a thread continue by restart_syscall(2)?
 * @req: the request
 * @task: a thread of it, parked
 *
 * Return: true: it will.
 */
bool cryo_arch_uses_restart_block(struct cryo_request *req, struct task_struct *task);

/**
 * cryo_arch_syscall3() - call the function of a system call with three arguments
 * @fn: the function
 * @a: first argument
 * @b: second argument
 * @c: third argument
 *
 * In the name of current.
 *
 * Return: its result.
 */
long cryo_arch_syscall3(long (*fn)(const struct pt_regs *regs), unsigned long a,
			unsigned long b, unsigned long c);

/**
 * cryo_arch_syscall_prefix() - the prefix of functions of system calls that take struct pt_regs
 *
 * Return: "__x64_sys_" or the like.
 */
const char *cryo_arch_syscall_prefix(void);

/**
 * cryo_timed_wait_known() - can cryo_arch_continue_timed() continue a system call?
 * @nr: its number
 *
 * Return: true: it can.
 */
bool cryo_timed_wait_known(u32 nr);

/**
 * cryo_arch_continue_timed() - make a timed system call with the time that was left of it
 * @nr: its number; the registers of current still hold its arguments, and stay as they are
 * @remaining_ns: in the place of its timeout
 *
 * Context: In restart_syscall(2) of current.
 *
 * Return: the result of the call.
 */
long cryo_arch_continue_timed(u32 nr, s64 remaining_ns);

/* ---- restart ---- */

/**
 * cryo_arch_set_regset() - set a register set for which the kernel's own function does not do
 * @task: a parked thread, off its CPU
 * @set: the register set
 *
 * Return: 0; -ENOENT: the kernel's own function is to be used; or another negative errno.
 */
int cryo_arch_set_regset(struct task_struct *task, const struct cryo_regset *set);

/**
 * cryo_arch_regset_was_set() - do what the kernel's own function has left out
 * @task: a parked thread
 * @set: the register set that it has been given
 *
 * Return: 0 or a negative errno.
 */
int cryo_arch_regset_was_set(struct task_struct *task, const struct cryo_regset *set);

/**
 * cryo_arch_resume_begin() - will the kernel handle signals and an interrupted call after this
 * work?
 *
 * Context: In current, in the work in which it will get its registers.
 *
 * Return: true: it will, on its way to user mode; false: it is in the middle of that, and has
 * looked at the call already.
 */
bool cryo_arch_resume_begin(void);

/**
 * cryo_arch_resume_call() - have the registers of current say that a system call was interrupted
 * @sets: the register sets that it has got
 * @n: how many
 * @will_look: what cryo_arch_resume_begin() has returned
 */
void cryo_arch_resume_call(const struct cryo_regset *sets, unsigned int n, bool will_look);

/**
 * cryo_arch_keeps_sigmask() - will a signal that arrives now end the call of current, and leave its
 * mask behind?
 *
 * Of a call that sets a mask of signals for as long as it takes. Not where the kernel decides both
 * before it runs the work in which this is called: then the mask of before is set, and the call is
 * made again, which finds the signal itself.
 *
 * Context: In current, which is being restarted and has got its registers.
 *
 * Return: true: it will.
 */
bool cryo_arch_keeps_sigmask(void);

/*
 * In park_arch.h, where type information (BTF) tells of system calls as of functions that take
 * registers:
 *
 *	#define CRYO_ARCH_REGS_CALL(call)	prefix##call
 */

/*
 * Snapshots (protect.c).  An architecture that has what they take says so in park_arch.h:
 *
 *	#define CRYO_ARCH_SNAPSHOT	1
 *	#define CRYO_ARCH_TLB_SYMBOL	"name"	if that takes a symbol that is not exported
 *
 * and has cryo_arch_flush_tlb(). (Without snapshots: if it can.)
 */
#ifndef CRYO_ARCH_SNAPSHOT
#define CRYO_ARCH_SNAPSHOT	0
#endif
#ifndef CRYO_ARCH_TLB_SYMBOL
#define CRYO_ARCH_TLB_SYMBOL	NULL
#endif

/**
 * cryo_arch_flush_tlb() - have all processors forget what they remember of page tables
 * @mm: the address space; has no notifiers, or none that have to be called
 */
void cryo_arch_flush_tlb(struct mm_struct *mm);

/*
 * Pages in common (map_share.c), on top of snapshots. An architecture that has what they take says
 * so in park_arch.h:
 *
 *	#define CRYO_ARCH_SHARE	1
 *
 * and has cryo_arch_set_pte().
 */
#ifndef CRYO_ARCH_SHARE
#define CRYO_ARCH_SHARE	0
#endif

/**
 * cryo_arch_set_pte() - fill an empty page table entry
 * @mm: the address space
 * @addr: of the page
 * @pte: the entry
 * @value: of an ordinary page that is not executable
 *
 * Context: With the lock of the table.
 */
void cryo_arch_set_pte(struct mm_struct *mm, unsigned long addr, pte_t *pte, pte_t value);

/**
 * cryo_arch_pte_clear_young() - test and clear the accessed bit of a page table entry (used.c)
 * @pte: a present entry
 * @addr: of the page
 *
 * Other bits that processors set meanwhile stay.
 *
 * Context: With the lock of the table; entry by entry, after all else that is to be changed in it.
 *
 * Return: true: it was set.
 */
bool cryo_arch_pte_clear_young(pte_t *pte, unsigned long addr);

/**
 * cryo_arch_pmd_clear_young() - the same of a huge page
 * @pmd: a present entry
 *
 * Context: As of cryo_arch_pte_clear_young().
 *
 * Return: true: it was set.
 */
bool cryo_arch_pmd_clear_young(pmd_t *pmd);

/*
 * Tracking of what is written (track.c), on top of snapshots. An architecture with soft-dirty bits
 * says so in park_arch.h:
 *
 *	#define CRYO_ARCH_SOFT_DIRTY	1	if the kernel is built with them
 *
 * and sets or clears that of a present entry, of which processors may change the accessed and the
 * dirty bit meanwhile; with the lock of its table held.
 */
#ifndef CRYO_ARCH_SOFT_DIRTY
#define CRYO_ARCH_SOFT_DIRTY	0
#endif
#if CRYO_ARCH_SOFT_DIRTY
void cryo_arch_pte_soft_dirty(pte_t *pte, bool dirty);
void cryo_arch_pmd_soft_dirty(pmd_t *pmd, bool dirty);
#else
static inline void cryo_arch_pte_soft_dirty(pte_t *pte, bool dirty) {}
static inline void cryo_arch_pmd_soft_dirty(pmd_t *pmd, bool dirty) {}
#endif

#endif /* CRYO_ARCH_H */
