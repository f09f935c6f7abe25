/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ksym.h - what Cryo needs from the kernel and the kernel does not export
 *
 * See ksym.c for the reason of each and what is lost without it.
 */
#ifndef CRYO_COMPAT_KSYM_H
#define CRYO_COMPAT_KSYM_H

#include <linux/fs.h>
#include <linux/mm_types.h>
#include <linux/restart_block.h>
#include <linux/sched.h>
#include <linux/sockptr.h>
#include <linux/spinlock_types.h>
#include <linux/task_work.h>

typedef long (*cryo_restart_fn)(struct restart_block *rb);

int cryo_ksym_init(void);

/* CRYO_FEATURE_* bits that the symbols found allow. */
u64 cryo_ksym_features(void);
/* Comma-separated names of those not found, "" when none is missing. */
const char *cryo_ksym_missing(void);
/* One more of these: @kind ("struct ", or "") and @name. */
void cryo_missing_add(const char *kind, const char *name);

bool cryo_ptrace_may_access(struct task_struct *task, unsigned int mode);
int cryo_replace_mm_exe_file(struct mm_struct *mm, struct file *file);
bool cryo_task_work_cancel(struct task_struct *task, struct callback_head *work);
/* 0: @task is not in @state. Else the same value again says that it has not run in between. */
unsigned long cryo_wait_task_inactive(struct task_struct *task, unsigned int state);

struct sk_buff;
struct sock;

/* getsockopt(2) of levels SOL_SOCKET, IPPROTO_IP, IPPROTO_IPV6 and IPPROTO_TCP. */
int cryo_getsockopt(struct sock *sk, int level, int name, void *value, int *len);

/* Appends to the queue of a UDP socket, with its accounting; with bottom halves off. */
int cryo_udp_enqueue(struct sock *sk, struct sk_buff *skb);

/*
 * Under which programs of SO_ATTACH_REUSEPORT_CBPF are replaced, with bottom halves off; another
 * one where it is not found.
 */
bool cryo_has_reuseport_lock(void);
spinlock_t *cryo_reuseport_lock(void);

struct files_struct;

/* Only when CRYO_FEATURE_SHARED_TABLES is there. */
void cryo_put_files_struct(struct files_struct *files);

/* With mmap_lock for writing; -EOPNOTSUPP where there is no such function. */
int cryo_anon_vma_prepare(struct vm_area_struct *vma);

/*
 * @dst, which has no anon_vma, gets that of @src, of another mm. With both mmap_locks for writing;
 * -EOPNOTSUPP where there is no such function.
 */
int cryo_anon_vma_join(struct vm_area_struct *dst, struct vm_area_struct *src);

/*
 * split_huge_page(): of the large folio that @page is in, one folio per page. The folio is locked,
 * and the caller has the only reference beside its mappings, to @page, of whose folio it has lock
 * and reference afterwards. -EAGAIN, -EBUSY: it is in use; -EOPNOTSUPP where there is no
 * such function.
 */
int cryo_split_huge_page(struct page *page);

/*
 * Lets khugepaged look through the memory that @vma, which is anonymous, is of. With mmap_lock, and
 * a user of the memory. Nothing where there is no such function.
 */
void cryo_khugepaged_enter(struct vm_area_struct *vma);

/*
 * Does MGLRU walk the page tables of @mm from now on? If not, it learns from the reverse map which
 * of its pages are in use, as where it does not walk. It does not yet or any more when it is to
 * begin; @mm has users.
 */
void cryo_lru_gen_walks(struct mm_struct *mm, bool walks);

/* flush_tlb_mm_range() of x86; only when CRYO_FEATURE_SNAPSHOT is there. */
void cryo_flush_tlb_range(struct mm_struct *mm, unsigned long start, unsigned long end,
			  unsigned int stride_shift, bool freed_tables);

/*
 * Restart functions, to be compared with or stored in a restart_block; all but the first NULL when
 * not found.
 */
extern cryo_restart_fn cryo_fn_no_restart;
extern cryo_restart_fn cryo_fn_nanosleep;
extern cryo_restart_fn cryo_fn_futex;
extern cryo_restart_fn cryo_fn_poll;

/*
 * System calls that timed_wait.c continues.  The kernel has a function for each that takes the
 * registers; NULL when it was not found.
 */
enum cryo_timed_call {
	CRYO_CALL_EPOLL_WAIT,
	CRYO_CALL_EPOLL_PWAIT,
	CRYO_CALL_EPOLL_PWAIT2,
	CRYO_CALL_SIGTIMEDWAIT,
	CRYO_CALL_SEMTIMEDOP,
	CRYO_NR_TIMED_CALLS
};

typedef long (*cryo_syscall_fn)(const struct pt_regs *regs);

cryo_syscall_fn cryo_timed_call_fn(enum cryo_timed_call call);
extern cryo_syscall_fn cryo_fn_seccomp;		/* NULL: not there */

/* Has Landlock restricted @task, or the requester? */
bool cryo_task_landlocked(struct task_struct *task);

/* kernel.yama.ptrace_scope; -1: there is no Yama, or it is not known. */
int cryo_yama_level(void);

#endif /* CRYO_COMPAT_KSYM_H */
