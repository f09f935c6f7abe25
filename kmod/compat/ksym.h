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

/**
 * cryo_ksym_init() - find all symbols, and compare private structures with the kernel's
 *
 * What is missing goes to the kernel's log.
 *
 * Context: In the module's init, before the parts that use them.
 *
 * Return: 0; -ENOENT: a symbol is missing without which the module does not work.
 */
int cryo_ksym_init(void);

/**
 * cryo_ksym_features() - what the symbols that have been found allow
 *
 * Return: CRYO_FEATURE_* bits; fixed after cryo_ksym_init().
 */
u64 cryo_ksym_features(void);

/**
 * cryo_ksym_missing() - which symbols and structures are missing
 *
 * Return: their names, separated by commas; "" when none is missing. Static.
 */
const char *cryo_ksym_missing(void);

/* Adds to cryo_ksym_missing(): @kind ("struct ", or "") and @name. */
void cryo_missing_add(const char *kind, const char *name);

/**
 * cryo_ptrace_may_access() - ptrace_may_access()
 * @task: the task
 * @mode: PTRACE_MODE_*
 *
 * Context: Takes task_lock() of @task. Does not sleep.
 *
 * Return: true: the caller may.
 */
bool cryo_ptrace_may_access(struct task_struct *task, unsigned int mode);

/**
 * cryo_replace_mm_exe_file() - replace_mm_exe_file()
 * @mm: the address space
 * @file: the new executable; counted by @mm
 *
 * Context: As of that function, which takes mmap_lock.
 *
 * Return: 0; -EOPNOTSUPP: it has not been found; or another negative errno of it, as -EBUSY: the
 * old one is mapped.
 */
int cryo_replace_mm_exe_file(struct mm_struct *mm, struct file *file);

/**
 * cryo_task_work_cancel() - take a task work back
 * @task: the task at which it is queued
 * @work: the work
 *
 * Return: true: it does not run any more; false: it runs, has run, or was never queued.
 */
bool cryo_task_work_cancel(struct task_struct *task, struct callback_head *work);

/**
 * cryo_wait_task_inactive() - wait_task_inactive(): wait until a task is off its CPU
 * @task: the task
 * @state: that it is to be in
 *
 * Context: May sleep.
 *
 * Return: 0: it is not in @state; else a number that is the same again if it has not run in
 * between.
 */
unsigned long cryo_wait_task_inactive(struct task_struct *task, unsigned int state);

struct sk_buff;
struct sock;

/**
 * cryo_getsockopt() - getsockopt(2), into kernel memory
 * @sk: the socket
 * @level: SOL_SOCKET, IPPROTO_IP, IPPROTO_IPV6 or IPPROTO_TCP
 * @name: of the option
 * @value: gets its value
 * @len: room at @value, in bytes; becomes what is used of it
 *
 * Context: May sleep, for the lock of @sk. With CRYO_FEATURE_SOCKET_OPTIONS only.
 *
 * Return: 0; -ENOPROTOOPT: another level; -EOPNOTSUPP: the symbols have not been found; or another
 * negative errno of the protocol.
 */
int cryo_getsockopt(struct sock *sk, int level, int name, void *value, int *len);

/**
 * cryo_udp_enqueue() - append a datagram to the queue of a UDP socket, with its accounting
 * @sk: the socket
 * @skb: the datagram; the socket's on success, else still the caller's
 *
 * Context: With bottom halves off.
 *
 * Return: 0; -ENOMEM, -ENOBUFS: the queue is full; -EOPNOTSUPP: the symbol has not been found.
 */
int cryo_udp_enqueue(struct sock *sk, struct sk_buff *skb);

/**
 * cryo_has_reuseport_lock() - has the lock of SO_ATTACH_REUSEPORT_CBPF programs been found?
 *
 * Return: true: it has; false: a program may be replaced while it is read.
 */
bool cryo_has_reuseport_lock(void);

/**
 * cryo_reuseport_lock() - the lock under which programs of SO_ATTACH_REUSEPORT_CBPF are replaced
 *
 * Context: To be taken with bottom halves off.
 *
 * Return: the lock; another one, which the kernel does not take, if it has not been found.
 */
spinlock_t *cryo_reuseport_lock(void);

struct files_struct;

/**
 * cryo_put_files_struct() - put_files_struct()
 * @files: a reference to a descriptor table, which is dropped
 *
 * Context: With CRYO_FEATURE_SHARED_TABLES only. May sleep: the last reference closes all files.
 */
void cryo_put_files_struct(struct files_struct *files);

/**
 * cryo_anon_vma_prepare() - anon_vma_prepare()
 * @vma: the area
 *
 * Context: With mmap_lock for writing.
 *
 * Return: 0; -ENOMEM; -EOPNOTSUPP: the symbol has not been found.
 */
int cryo_anon_vma_prepare(struct vm_area_struct *vma);

/**
 * cryo_anon_vma_join() - give an area the anon_vma of one of another address space
 * @dst: the area, which has no anon_vma
 * @src: the other one
 *
 * Context: With mmap_lock of both for writing.
 *
 * Return: 0; -ENOMEM; -EOPNOTSUPP: the symbol has not been found.
 */
int cryo_anon_vma_join(struct vm_area_struct *dst, struct vm_area_struct *src);

/**
 * cryo_split_huge_page() - split_huge_page(): make one folio per page of a large folio
 * @page: a page of the folio, which is locked; the caller has the only reference beside its
 *	mappings
 *
 * Afterwards, lock and reference are those of the folio of @page.
 *
 * Return: 0; -EAGAIN or -EBUSY: it is in use otherwise; -EOPNOTSUPP: the symbol has not been found.
 */
int cryo_split_huge_page(struct page *page);

/**
 * cryo_khugepaged_enter() - let khugepaged scan the address space of an area
 * @vma: the area, which is anonymous
 *
 * Nothing if the symbol has not been found.
 *
 * Context: With mmap_lock, and a user of the address space.
 */
void cryo_khugepaged_enter(struct vm_area_struct *vma);

/**
 * cryo_lru_gen_walks() - does MGLRU walk the page tables of an address space from now on?
 * @mm: the address space, which has users
 * @walks: true: it does, and has not so far; false: it learns from the reverse map which pages are
 *	in use, as where it does not walk at all
 *
 * Context: Takes task_lock() of the owner of @mm; does not sleep.
 */
void cryo_lru_gen_walks(struct mm_struct *mm, bool walks);

/**
 * cryo_flush_tlb_range() - flush_tlb_mm_range() of x86
 * @mm: the address space
 * @start: address of the range
 * @end: its end; TLB_FLUSH_ALL: all of it
 * @stride_shift: log2 of the distance of its entries, in bytes
 * @freed_tables: page tables have been freed, too
 *
 * Context: With CRYO_FEATURE_SNAPSHOT only.
 */
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

/**
 * cryo_timed_call_fn() - the function of a system call that timed_wait.c continues
 * @call: the call
 *
 * Return: it, which takes registers; NULL: it has not been found.
 */
cryo_syscall_fn cryo_timed_call_fn(enum cryo_timed_call call);

extern cryo_syscall_fn cryo_fn_seccomp;		/* NULL: not there */

/**
 * cryo_task_landlocked() - has Landlock restricted a thread, or the requester?
 * @task: the thread
 *
 * By Landlock's answers whether @task may trace the requester, and the requester the first process
 * of the machine: a restricted task may not trace one that is not.
 *
 * Context: In the requester.
 *
 * Return: true: it has; false: it has not, is not in use, or cannot be asked.
 */
bool cryo_task_landlocked(struct task_struct *task);

/**
 * cryo_yama_level() - kernel.yama.ptrace_scope
 *
 * Return: its value; -1: there is no Yama, or the symbol has not been found.
 */
int cryo_yama_level(void);

#endif /* CRYO_COMPAT_KSYM_H */
