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

/* CRYO_ARCH_* of format.h. */
u32 cryo_arch_id(void);

/*
 * Runs in @current, about to park on its way to user mode.  Where the system
 * call that was interrupted has already settled on EINTR although no signal
 * handler will run, make it one that is restarted (facts in cryo-time(7)).  Calls
 * that had an effect before they returned EINTR, like close(2), must be left alone.
 *
 * cryo_timed_wait_found() tells that it was a timed wait, with @p->wait_ns to go:
 * then the call must be continued with that time and not from the start.
 */
void cryo_arch_fixup_syscall(struct cryo_parked *p);

/*
 * In @current, which runs a work: is it in the middle of a call other than io_uring_enter(2), which cryo_arch_fixup_syscall() knows?
 * There are io_uring_register(2), which waits in IORING_REGISTER_SYNC_CANCEL, exit(2), which cancels requests before the thread counts as
 * exiting, and the stops of a process that is traced, those of io_uring_enter(2) among them; execve(2) is told by the task.
 */
bool cryo_arch_within_call(struct cryo_parked *p);

/*
 * @task is @current, or stands where its tracer has stopped it: has its call been interrupted, so that the kernel has to look at what
 * that has returned?  It does so with signals or works only, and the program would see ERESTARTSYS or the like.
 */
bool cryo_arch_call_is_interrupted(struct task_struct *task);

/*
 * Before that, in the requester: @p->task is about to be interrupted.  And after it, in @current,
 * which is no longer parked and will look at its signals now: what was changed for the capture only
 * is changed back.  cryo_arch_forget_syscall(), in the requester, is for a thread that has not come and
 * will not any more.  All remember in @p->arch, which park_arch.h declares.
 */
void cryo_arch_note_syscall(struct cryo_parked *p);
void cryo_arch_forget_syscall(struct cryo_parked *p);
void cryo_arch_unfix_syscall(struct cryo_parked *p);

/* With siglock, of one that stands where its tracer has stopped it: undoes cryo_arch_prepare_park(). */
void cryo_arch_forget_park(struct task_struct *task);

/*
 * Around the capture, in the requester, when that is a thread of the target: make its user
 * registers those of a thread that has returned from its system call with @result, and
 * give them back.  @saved has room for what the architecture has to remember.
 */
#define CRYO_ARCH_SELF_WORDS	2
void cryo_arch_self_begin(unsigned long *saved, long result);
void cryo_arch_self_end(const unsigned long *saved);

/* Something about @task, of @p, that only this architecture has and that cannot be saved? cryo_refuse() it. */
void cryo_arch_check(struct cryo_capture *c, struct cryo_proc *p, struct task_struct *task);

/* Write the CRYO_SEC_CPU section. */
int cryo_arch_save_cpu(struct cryo_capture *c);

/*
 * Should the regset with core dump note type @note be saved (and may it be
 * set)?  Called for each set in task_user_regset_view().
 */
bool cryo_arch_want_regset(unsigned int note);

/*
 * What @task, which is off its CPU, has in the register set @note although its regset has none: the size, and
 * in @data a buffer for kvfree(); -ENODATA: nothing; -ENOMEM.
 */
int cryo_arch_regset_get(struct task_struct *task, unsigned int note, void **data);

/* Append to @buf, which has the register set of @task with note type @note, what the kernel leaves out of it. */
void cryo_arch_extend_regset(struct cryo_capture *c, struct task_struct *task, unsigned int note,
			     struct cryo_buf *buf);

/* How many bytes that is. */
size_t cryo_arch_regset_extension(unsigned int note);

/* Write CRYO_SEC_REGSET sections of @task that are no regset of the kernel's. */
int cryo_arch_save_more_regsets(struct cryo_capture *c, struct task_struct *task);

/*
 * Give @task, which is parked and off its CPU, the register set @set, if the kernel's own function for that set does
 * not do.  -ENOENT: it does.
 */
int cryo_arch_set_regset(struct task_struct *task, const struct cryo_regset *set);

/* @task, which is parked, has been given the register set @set: do what that has left out. */
int cryo_arch_regset_was_set(struct task_struct *task, const struct cryo_regset *set);

/*
 * The saved NT_PRSTATUS in @regs: return, and set, the user's instruction
 * pointer (threads inside a restartable sequence are moved to its abort handler).
 */
u64 cryo_arch_regs_ip(const void *regs, size_t len);
void cryo_arch_regs_set_ip(void *regs, size_t len, u64 ip);

/* Before the task work is queued: what this architecture needs to return through the signal path. */
void cryo_arch_prepare_park(struct task_struct *task);

/* In the task work, before it waits: whoever kills @current from now on must find nothing of that. */
void cryo_arch_begin_park(void);

/*
 * @task is current or off its CPU, and stays in the kernel: if woken spuriously, or by a kill or
 * SIGCONT, its saved registers must stay in place and remain valid.
 */
void cryo_arch_stay_saved(struct task_struct *task);

/* Address of the vdso in @mm, 0 when there is none. */
unsigned long cryo_arch_vdso(struct mm_struct *mm);

/* Offset of what compat/vdso.h calls the vdso's data in the first of the vdso's areas. */
size_t cryo_arch_vdso_data(void);

/*
 * Where the kernel replaces what is under a uprobe by a call to code of its own, instead of a breakpoint: is @code, of
 * CRYO_PROBE_CALL bytes, one, and where does it lead, from its end? And how many bytes at @now, at most
 * @left, are a call with what belongs to it, in place of what the file has there, @was? 0: none.
 */
#define CRYO_PROBE_CALL	5
bool cryo_arch_probe_call(const u8 *code, long *distance);
unsigned int cryo_arch_probe_replacement(const u8 *now, const u8 *was, unsigned int left,
					 long *distance);

/* Does the system call in progress of @task, a futex wait, have a timeout that is absolute? */
bool cryo_arch_futex_is_absolute(struct task_struct *task);

/* The flags of @vma that only this architecture has: of cryo_vma.flags, from bit 32 on. */
u64 cryo_arch_vma_flags(struct vm_area_struct *vma);

/* What about @vma only this architecture has and cannot be saved, or NULL. */
const char *cryo_arch_vma_obstacle(struct vm_area_struct *vma);

/*
 * Tags of memory (save/memory/tags.c): what those of a page take in the format, 0 where memory has none; whether
 * an area with these cryo_vma.flags has them; and those of @page, false if all are zero.
 */
size_t cryo_arch_tag_bytes(void);
bool cryo_arch_is_tagged(u64 vma_flags);
bool cryo_arch_read_tags(struct page *page, u8 *tags);

/* The protection key of @vma, 0 for none. */
int cryo_arch_vma_pkey(struct vm_area_struct *vma);

/*
 * Bit N: the program has allocated protection key N.  Not among them are 0 and the one that the
 * kernel itself uses to make memory executable only: mprotect(PROT_EXEC) brings that back.
 */
u32 cryo_arch_pkeys(struct mm_struct *mm);

/* Will @task, parked, go on by restart_syscall(2)? */
bool cryo_arch_uses_restart_block(struct cryo_request *req, struct task_struct *task);

/*
 * In @current, in the work in which it will get its registers.  True: on its way to user mode the kernel will look, after this
 * work, at signals and at the call that they end.  False: it is in the middle of that, and has looked at the call.
 */
bool cryo_arch_resume_begin(void);

/*
 * In @current, which has got its registers by @sets: where a system call had been interrupted, the registers are to say so,
 * if the kernel @will_look at that.
 */
void cryo_arch_resume_call(const struct cryo_regset *sets, unsigned int n, bool will_look);

/*
 * In @current, which is being restarted and has got its registers, in a call that sets a mask of signals for as long as it
 * takes: will a signal that comes now end the call, and leave the mask of before behind?  Not where the kernel decides
 * either before it runs the work in which this is called: then the mask of before is set, and the call is made again, which
 * finds the signal itself.
 */
bool cryo_arch_keeps_sigmask(void);

/* Call the function of a system call with three arguments, in the name of @current. */
long cryo_arch_syscall3(long (*fn)(const struct pt_regs *regs), unsigned long a,
			unsigned long b, unsigned long c);

/* The prefix of the functions of system calls that take struct pt_regs: "__x64_sys_" or the like. */
const char *cryo_arch_syscall_prefix(void);

/* Can cryo_arch_continue_timed() continue the system call @nr? */
bool cryo_timed_wait_known(u32 nr);

/*
 * In restart_syscall(2) of @current, whose registers still hold the arguments of
 * the call @nr: make that call with @remaining_ns instead of its timeout, and
 * return its result. The registers of user mode stay as they are.
 */
long cryo_arch_continue_timed(u32 nr, s64 remaining_ns);

/*
 * In park_arch.h, where type information (BTF) tells of system calls as of functions that take registers:
 *
 *	#define CRYO_ARCH_REGS_CALL(call)	prefix##call
 */

/*
 * Snapshots (protect.c).  An architecture that has what they take says so in park_arch.h:
 *
 *	#define CRYO_ARCH_SNAPSHOT	1
 *	#define CRYO_ARCH_TLB_SYMBOL	"name"	if that takes a symbol that is not exported
 *
 * and forgets, by this, what the processors remember of the page tables of @mm, which has no notifiers, or none that
 * have to be told.  (Without snapshots: if it can.)
 */
#ifndef CRYO_ARCH_SNAPSHOT
#define CRYO_ARCH_SNAPSHOT	0
#endif
#ifndef CRYO_ARCH_TLB_SYMBOL
#define CRYO_ARCH_TLB_SYMBOL	NULL
#endif
void cryo_arch_flush_tlb(struct mm_struct *mm);

/*
 * Pages in common (map_share.c), on top of snapshots.  An architecture that has what they take says so in park_arch.h:
 *
 *	#define CRYO_ARCH_SHARE	1
 *
 * and enters @value, of an ordinary page that is not executable, into the empty entry @pte. With the lock of the table held.
 */
#ifndef CRYO_ARCH_SHARE
#define CRYO_ARCH_SHARE	0
#endif
void cryo_arch_set_pte(struct mm_struct *mm, unsigned long addr, pte_t *pte, pte_t value);

/*
 * What a process has used (used.c): has a processor noted in the present entry @pte, of the page at @addr, that
 * it was used?  The note is taken away; others that processors make meanwhile stay.  With the lock of the table held,
 * for one entry after the other, and after all else that is to be changed in it.
 */
bool cryo_arch_pte_clear_young(pte_t *pte, unsigned long addr);
bool cryo_arch_pmd_clear_young(pmd_t *pmd);

/*
 * Tracking of what is written (track.c), on top of snapshots. An architecture with soft-dirty bits says so in
 * park_arch.h:
 *
 *	#define CRYO_ARCH_SOFT_DIRTY	1	if the kernel is built with them
 *
 * and sets or clears that of a present entry, of which processors may change the accessed and the dirty bit
 * meanwhile; with the lock of its table held.
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
