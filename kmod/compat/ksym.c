// SPDX-License-Identifier: GPL-2.0-only
/*
 * ksym.c - every symbol that Cryo uses although the kernel does not export it
 *
 * Found by name when the module is loaded.  kallsyms_lookup_name() itself has
 * not been exported since v5.7 (0bd476e6c671), but a kprobe on it tells where
 * it is.
 *
 * Functions are called through static calls, which are patched to direct calls:
 * kernels built for indirect branch tracking "seal" functions whose address they
 * never take, and an indirect call to a sealed function faults.
 */
#include <linux/err.h>
#include <linux/kprobes.h>
#include <linux/kallsyms.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/printk.h>
#include <linux/ptrace.h>
#include <linux/sched/task.h>
#include <linux/static_call.h>
#include <linux/socket.h>
#include <linux/string.h>
#include <uapi/linux/landlock.h>

#include <cryo/ioctl.h>

#include "cryo_arch.h"
#include "ksym.h"
#include "layouts.h"

cryo_restart_fn cryo_fn_no_restart;
cryo_restart_fn cryo_fn_nanosleep;
cryo_restart_fn cryo_fn_futex;
cryo_restart_fn cryo_fn_poll;
cryo_syscall_fn cryo_fn_seccomp;

static void *addr_ptrace_may_access;
static void *addr_replace_mm_exe_file;
static void *addr_task_work_cancel_match;
static void *addr_wait_task_inactive;
static void *addr_sk_getsockopt;
static void *addr_ip_getsockopt;
static void *addr_ipv6_getsockopt;
static void *addr_tcp_getsockopt;
static void *addr_udp_enqueue;
static void *addr_put_files_struct;
static void *addr_flush_tlb_range;
static void *addr_anon_vma_prepare;
static void *addr_anon_vma_clone;
static void *addr_split_huge_page;
static void *addr_khugepaged_enter;
static void *addr_lru_gen_add;
static void *addr_lru_gen_del;
static void *addr_landlock_access;
static void *addr_landlock_traceme;
static bool landlock_is_asked;
static void *addr_reuseport_lock;
static const int *yama_level;

/* Stand-ins until the real address is known; none is ever called then. */
static unsigned long no_kallsyms_lookup_name(const char *name)
{
	return 0;
}

static bool no_ptrace_may_access(struct task_struct *task, unsigned int mode)
{
	return false;
}

static int no_replace_mm_exe_file(struct mm_struct *mm, struct file *file)
{
	return -EOPNOTSUPP;
}

static struct callback_head *
no_task_work_cancel_match(struct task_struct *task,
			  bool (*match)(struct callback_head *work, void *data), void *data)
{
	return NULL;
}

static unsigned long no_wait_task_inactive(struct task_struct *task, unsigned int state)
{
	return 0;
}

static int no_getsockopt(struct sock *sk, int level, int name, sockptr_t value, sockptr_t len)
{
	return -EOPNOTSUPP;
}

static int no_udp_enqueue(struct sock *sk, struct sk_buff *skb)
{
	return -EOPNOTSUPP;
}

static void no_put_files_struct(struct files_struct *files)
{
}

/* This one is called. */
static int no_anon_vma_prepare(struct vm_area_struct *vma)
{
	return -EOPNOTSUPP;
}

/* So is this one. */
static int no_anon_vma_clone(struct vm_area_struct *dst, struct vm_area_struct *src, int operation)
{
	return -EOPNOTSUPP;
}

/* And this one. */
static int no_split_huge_page(struct page *page, struct list_head *list, unsigned int order)
{
	return -EOPNOTSUPP;
}

static void no_khugepaged_enter(struct vm_area_struct *vma, unsigned long vm_flags)
{
}

static void no_lru_gen(struct mm_struct *mm)
{
}

static void no_flush_tlb_range(struct mm_struct *mm, unsigned long start, unsigned long end,
			       unsigned int stride_shift, bool freed_tables)
{
}

static int no_landlock_access(struct task_struct *child, unsigned int mode)
{
	return -EOPNOTSUPP;
}

static int no_landlock_traceme(struct task_struct *parent)
{
	return -EOPNOTSUPP;
}

DEFINE_STATIC_CALL(cryo_sc_lookup_name, no_kallsyms_lookup_name);
DEFINE_STATIC_CALL(cryo_sc_may_access, no_ptrace_may_access);
DEFINE_STATIC_CALL(cryo_sc_replace_exe, no_replace_mm_exe_file);
DEFINE_STATIC_CALL(cryo_sc_cancel_match, no_task_work_cancel_match);
DEFINE_STATIC_CALL(cryo_sc_wait_inactive, no_wait_task_inactive);
DEFINE_STATIC_CALL(cryo_sc_sk_getsockopt, no_getsockopt);
DEFINE_STATIC_CALL(cryo_sc_ip_getsockopt, no_getsockopt);
DEFINE_STATIC_CALL(cryo_sc_ipv6_getsockopt, no_getsockopt);
DEFINE_STATIC_CALL(cryo_sc_tcp_getsockopt, no_getsockopt);
DEFINE_STATIC_CALL(cryo_sc_udp_enqueue, no_udp_enqueue);
DEFINE_STATIC_CALL(cryo_sc_put_files, no_put_files_struct);
DEFINE_STATIC_CALL(cryo_sc_flush_tlb_range, no_flush_tlb_range);
DEFINE_STATIC_CALL(cryo_sc_anon_vma_prepare, no_anon_vma_prepare);
DEFINE_STATIC_CALL(cryo_sc_anon_vma_clone, no_anon_vma_clone);
DEFINE_STATIC_CALL(cryo_sc_split_huge_page, no_split_huge_page);
DEFINE_STATIC_CALL(cryo_sc_khugepaged_enter, no_khugepaged_enter);
DEFINE_STATIC_CALL(cryo_sc_lru_gen_add, no_lru_gen);
DEFINE_STATIC_CALL(cryo_sc_lru_gen_del, no_lru_gen);
DEFINE_STATIC_CALL(cryo_sc_landlock_access, no_landlock_access);
DEFINE_STATIC_CALL(cryo_sc_landlock_traceme, no_landlock_traceme);

/* In place of a feature: the module does not load without it, or it is worth no bit of its own. */
#define NEEDED		0
#define NO_FEATURE	BIT_ULL(63)

/* When it is looked up. */
enum ksym_use {
	ALWAYS,
	IN_LANDLOCK,	/* where Landlock is in use */
	IN_SNAPSHOT,	/* where the architecture protects memory for snapshots */
	IN_LRU_GEN,	/* where MGLRU walks page tables */
};

/* How. */
/* the function of a system call that takes registers; of the call */
#define SYSCALL		1
#define OR_NEXT		2	/* of some kernels: the first of the rows with one place counts */
#define QUIETLY		4	/* nothing is said where it lacks */

static cryo_syscall_fn timed_call_fns[CRYO_NR_TIMED_CALLS];
static cryo_syscall_fn landlock_create;

static const struct cryo_ksym {
	const char *name;
	void *where;
	u64 feature;
	const char *why;
	enum ksym_use use;
	unsigned int how;
} ksyms[] = {
	{ "ptrace_may_access", &addr_ptrace_may_access, NEEDED,
	  "who may checkpoint whom; without it there is no safe answer" },
	{ "task_work_cancel_match", &addr_task_work_cancel_match, NEEDED,
	  "takes back what was queued at a stopped process, so that the module can be unloaded" },
	{ "wait_task_inactive", &addr_wait_task_inactive, NEEDED,
	  "a thread's registers can be set only while it is known to stay off its CPU" },
	{ "replace_mm_exe_file", &addr_replace_mm_exe_file, CRYO_FEATURE_EXE_LINK,
	  "/proc/PID/exe of a restarted process; prctl(2) wants CAP_CHECKPOINT_RESTORE" },
	{ "hrtimer_nanosleep_restart", &cryo_fn_nanosleep, CRYO_FEATURE_RESTART_BLOCK,
	  "interrupted nanosleep(2) continues with its remaining time" },
	{ "futex_wait_restart", &cryo_fn_futex, CRYO_FEATURE_RESTART_BLOCK,
	  "same of futex(2) with a timeout" },
	{ "do_restart_poll", &cryo_fn_poll, CRYO_FEATURE_RESTART_BLOCK,
	  "same of poll(2)" },
	{ "sk_getsockopt", &addr_sk_getsockopt, CRYO_FEATURE_SOCKET_OPTIONS,
	  "options of sockets; what is exported writes to a program's memory" },
	{ "do_ip_getsockopt", &addr_ip_getsockopt, CRYO_FEATURE_SOCKET_OPTIONS,
	  "same of IPv4" },
	{ "do_ipv6_getsockopt", &addr_ipv6_getsockopt, CRYO_FEATURE_SOCKET_OPTIONS,
	  "same of IPv6" },
	{ "do_tcp_getsockopt", &addr_tcp_getsockopt, CRYO_FEATURE_SOCKET_OPTIONS,
	  "same of TCP" },
	{ "__udp_enqueue_schedule_skb", &addr_udp_enqueue, CRYO_FEATURE_DATAGRAMS,
	  "queued UDP datagrams keep their sender; exported up to 6.12" },
	{ "put_files_struct", &addr_put_files_struct, CRYO_FEATURE_SHARED_TABLES,
	  "a process that shares another's descriptors gives up its own" },
	{ "__anon_vma_prepare", &addr_anon_vma_prepare, NO_FEATURE,
	  "an area can be copied by fork() before it has any page; else a page has to come" },
	{ "anon_vma_clone", &addr_anon_vma_clone, NO_FEATURE,
	  "areas of several restarts have one reverse map; else each has pages of its own" },
	{ "__split_huge_page_to_list_to_order", &addr_split_huge_page, NO_FEATURE,
	  "what split_huge_page() calls in 7.2", ALWAYS, OR_NEXT },
	{ "split_huge_page_to_list_to_order", &addr_split_huge_page, NO_FEATURE,
	  "in 6.12", ALWAYS, OR_NEXT },
	{ "split_huge_page_to_list", &addr_split_huge_page, NO_FEATURE,
	  "several restarts share pages that khugepaged has collapsed" },
	{ "khugepaged_enter_vma", &addr_khugepaged_enter, NO_FEATURE,
	  "khugepaged is notified of memory loaded from a context; else its pages stay small" },
	{ "reuseport_lock", &addr_reuseport_lock, NO_FEATURE,
	  "a reuseport program is not replaced while it is read" },
	{ "ptrace_scope", &yama_level, NO_FEATURE,
	  "Yama's level, for consents; needs CONFIG_KALLSYMS_ALL", ALWAYS, QUIETLY },
	{ "epoll_wait", &timed_call_fns[CRYO_CALL_EPOLL_WAIT], CRYO_FEATURE_TIMED_WAITS,
	  "continues with its remaining timeout; else it starts afresh", ALWAYS, SYSCALL },
	{ "epoll_pwait", &timed_call_fns[CRYO_CALL_EPOLL_PWAIT], CRYO_FEATURE_TIMED_WAITS,
	  "same", ALWAYS, SYSCALL },
	{ "epoll_pwait2", &timed_call_fns[CRYO_CALL_EPOLL_PWAIT2], CRYO_FEATURE_TIMED_WAITS,
	  "same", ALWAYS, SYSCALL },
	{ "rt_sigtimedwait", &timed_call_fns[CRYO_CALL_SIGTIMEDWAIT], CRYO_FEATURE_TIMED_WAITS,
	  "same", ALWAYS, SYSCALL },
	{ "semtimedop", &timed_call_fns[CRYO_CALL_SEMTIMEDOP], CRYO_FEATURE_TIMED_WAITS,
	  "same", ALWAYS, SYSCALL },
	/* By a thread that is being restarted: kmod/restart/install_seccomp.c. */
	{ "seccomp", &cryo_fn_seccomp, CRYO_FEATURE_SECCOMP,
	  "brings filters back", ALWAYS, SYSCALL },
	{ "landlock_create_ruleset", &landlock_create, CRYO_FEATURE_LANDLOCK,
	  "whether Landlock is in use", ALWAYS, SYSCALL },
	{ "hook_ptrace_access_check", &addr_landlock_access, CRYO_FEATURE_LANDLOCK,
	  "whether the requester is restricted by Landlock", IN_LANDLOCK },
	{ "hook_ptrace_traceme", &addr_landlock_traceme, CRYO_FEATURE_LANDLOCK,
	  "whether a process is restricted by Landlock, which is refused", IN_LANDLOCK },
	{ CRYO_ARCH_TLB_SYMBOL, &addr_flush_tlb_range, CRYO_FEATURE_SNAPSHOT,
	  "processes resume before their memory is written", IN_SNAPSHOT },
	{ "lru_gen_add_mm", &addr_lru_gen_add, CRYO_FEATURE_MAP,
	  "memory is loaded from the context on first access", IN_LRU_GEN },
	{ "lru_gen_del_mm", &addr_lru_gen_del, CRYO_FEATURE_MAP, "same", IN_LRU_GEN },
};

static u64 features = CRYO_FEATURE_EXE_LINK | CRYO_FEATURE_RESTART_BLOCK |
		      CRYO_FEATURE_TIMED_WAITS | CRYO_FEATURE_SECCOMP | CRYO_FEATURE_LANDLOCK |
		      CRYO_FEATURE_SOCKET_OPTIONS | CRYO_FEATURE_DATAGRAMS |
		      CRYO_FEATURE_SHARED_TABLES | CRYO_FEATURE_SNAPSHOT | CRYO_FEATURE_MAP;
static char missing[256];

/*
 * The address of a kprobe may lie behind the function's entry (an ENDBR, the
 * global entry code of ppc64): ask for the offset, and take it off.
 */
static unsigned long find_lookup_name(void)
{
	struct kprobe kp = { .symbol_name = "kallsyms_lookup_name" };
	char text[KSYM_SYMBOL_LEN];
	unsigned long offset = 0;
	char *plus;
	int err = register_kprobe(&kp);

	if (err) {
		pr_err("cannot find kallsyms_lookup_name (are kprobes enabled?): %pe\n",
		       ERR_PTR(err));
		return 0;
	}
	unregister_kprobe(&kp);
	sprint_symbol(text, (unsigned long)kp.addr);
	plus = strchr(text, '+');
	if (!plus || sscanf(plus, "+0x%lx/", &offset) != 1) {
		pr_err("cannot find kallsyms_lookup_name: its probe is at no symbol\n");
		return 0;
	}
	return (unsigned long)kp.addr - offset;
}

void cryo_missing_add(const char *kind, const char *name)
{
	static const char more[] = ",...";
	size_t used = strlen(missing);

	if (used + strlen(kind) + strlen(name) + sizeof(",") + sizeof(more) <= sizeof(missing))
		snprintf(missing + used, sizeof(missing) - used, "%s%s%s", used ? "," : "", kind,
			 name);
	else if (!strstr(missing, more))
		strlcat(missing, more, sizeof(missing));
}

static void *look_up(const char *name)
{
	return cryo_prototype_differs(name) ? NULL :
	       (void *)static_call(cryo_sc_lookup_name)(name);
}

static int resolve_ksym(const struct cryo_ksym *sym)
{
	void **where = sym->where;
	char name[KSYM_NAME_LEN];

	/* Else none is needed here, or that of another kernel has been found. */
	if (!sym->name || *where)
		return 0;
	snprintf(name, sizeof(name), "%s%s", sym->how & SYSCALL ? cryo_arch_syscall_prefix() : "",
		 sym->name);
	*where = look_up(name);
	if (*where || sym->how & (OR_NEXT | QUIETLY))
		return 0;
	if (sym->feature == NEEDED) {
		pr_err("cannot find %s in this kernel (%s)\n", name, sym->why);
		return -ENOENT;
	}
	pr_info("cannot find %s in this kernel (%s): off\n", name, sym->why);
	features &= ~sym->feature;
	cryo_missing_add("", name);
	return 0;
}

static int resolve(enum ksym_use use)
{
	size_t i;
	int err;

	for (i = 0; i < ARRAY_SIZE(ksyms); i++) {
		err = ksyms[i].use == use ? resolve_ksym(&ksyms[i]) : 0;
		if (err)
			return err;
	}
	return 0;
}

/*
 * Landlock is asked who may trace whom. Where it is not in use, and it cannot become so later, it
 * must not be: it has never been told then which part of the credentials is its own. Its version is
 * something that only a Landlock in use has.
 */
static void resolve_landlock(void)
{
	if (!landlock_create ||
	    cryo_arch_syscall3(landlock_create, 0, 0, LANDLOCK_CREATE_RULESET_VERSION) <= 0)
		return;
	resolve(IN_LANDLOCK);
	if (!(features & CRYO_FEATURE_LANDLOCK))
		return;
	static_call_update(cryo_sc_landlock_access, addr_landlock_access);
	static_call_update(cryo_sc_landlock_traceme, addr_landlock_traceme);
	landlock_is_asked = true;
}

/*
 * Who is restricted may not trace who is not, or not in the same way. The first process of all
 * never is: a requester that may not trace it is restricted itself, and then all that it may trace
 * are.
 */
bool cryo_task_landlocked(struct task_struct *task)
{
	if (!landlock_is_asked)
		return false;
	return static_call(cryo_sc_landlock_access)(&init_task, PTRACE_MODE_READ_REALCREDS |
								PTRACE_MODE_NOAUDIT) ||
	       static_call(cryo_sc_landlock_traceme)(task);
}

bool cryo_has_reuseport_lock(void)
{
	return addr_reuseport_lock;
}

spinlock_t *cryo_reuseport_lock(void)
{
	static DEFINE_SPINLOCK(instead);

	return addr_reuseport_lock ?: &instead;
}

int cryo_yama_level(void)
{
	return yama_level ? READ_ONCE(*yama_level) : -1;
}

/*
 * What an architecture needs to make processors forget the page tables of another process, if that
 * is not inline: without it, memory cannot be protected for a snapshot.
 */
static void resolve_snapshot(void)
{
	if (!CRYO_ARCH_SNAPSHOT) {
		features &= ~CRYO_FEATURE_SNAPSHOT;
		return;
	}
	resolve(IN_SNAPSHOT);
	if (addr_flush_tlb_range)
		static_call_update(cryo_sc_flush_tlb_range, addr_flush_tlb_range);
}

/*
 * Kernels that age memory by walking page tables (MGLRU) warn of areas that have operations and no
 * file. Where the walk is not built the functions are not needed; that has a name since v6.8
 * (61dd3f246b8d).
 */
static void resolve_lru_gen(void)
{
	bool walks = IS_ENABLED(CONFIG_LRU_GEN_WALKS_MMU);

	if (LINUX_VERSION_CODE < KERNEL_VERSION(6, 8, 0))
		walks |= IS_ENABLED(CONFIG_LRU_GEN);
	if (!walks)
		return;
	resolve(IN_LRU_GEN);
	if (!addr_lru_gen_add || !addr_lru_gen_del)
		return;
	static_call_update(cryo_sc_lru_gen_add, addr_lru_gen_add);
	static_call_update(cryo_sc_lru_gen_del, addr_lru_gen_del);
}

void cryo_khugepaged_enter(struct vm_area_struct *vma)
{
	static_call(cryo_sc_khugepaged_enter)(vma, vma->vm_flags);
}

static void change_lru_gen(struct mm_struct *mm, bool walks)
{
	if (walks)
		static_call(cryo_sc_lru_gen_add)(mm);
	else
		static_call(cryo_sc_lru_gen_del)(mm);
}

/*
 * With the lock under which the kernel moves memory from control group to control group, and so
 * from list to list.
 */
void cryo_lru_gen_walks(struct mm_struct *mm, bool walks)
{
#ifdef CONFIG_MEMCG
	struct task_struct *owner;
	bool changed = false;

	rcu_read_lock();
	while (!changed && (owner = rcu_dereference(mm->owner)) != NULL) {
		task_lock(owner);
		changed = owner == rcu_access_pointer(mm->owner);
		if (changed)
			change_lru_gen(mm, walks);
		task_unlock(owner);
	}
	if (!changed)
		change_lru_gen(mm, walks);
	rcu_read_unlock();
#else
	change_lru_gen(mm, walks);
#endif
}

int cryo_anon_vma_prepare(struct vm_area_struct *vma)
{
	return vma->anon_vma ? 0 : static_call(cryo_sc_anon_vma_prepare)(vma);
}

/*
 * Newer kernels are told what it is for (VMA_OP_SPLIT: an equal one is made); others do not look at
 * a third argument.
 */
int cryo_anon_vma_join(struct vm_area_struct *dst, struct vm_area_struct *src)
{
	int err;

	/* As a part of an area that is cut in two has that of the whole. */
	dst->anon_vma = src->anon_vma;
	err = static_call(cryo_sc_anon_vma_clone)(dst, src, 0);
	if (err)
		dst->anon_vma = NULL;
	return err;
}

/* Older kernels split into single pages only, and do not look at a third argument. */
int cryo_split_huge_page(struct page *page)
{
	return static_call(cryo_sc_split_huge_page)(page, NULL, 0);
}

void cryo_flush_tlb_range(struct mm_struct *mm, unsigned long start, unsigned long end,
			  unsigned int stride_shift, bool freed_tables)
{
	static_call(cryo_sc_flush_tlb_range)(mm, start, end, stride_shift, freed_tables);
}

cryo_syscall_fn cryo_timed_call_fn(enum cryo_timed_call call)
{
	return timed_call_fns[call];
}

int cryo_ksym_init(void)
{
	unsigned long lookup_name = find_lookup_name();
	int err;

	if (!lookup_name)
		return -ENOENT;
	static_call_update(cryo_sc_lookup_name, (void *)lookup_name);
	cryo_layouts_init();
	if (!cryo_layout_fits(CRYO_LAYOUT_NOTIFIERS))
		features &= ~CRYO_FEATURE_SNAPSHOT;
	err = resolve(ALWAYS);
	if (err)
		return err;
	resolve_landlock();
	resolve_snapshot();
	resolve_lru_gen();
	/* Whose process is only ever idle, and has nothing to restart. */
	cryo_fn_no_restart = init_task.restart_block.fn;
	static_call_update(cryo_sc_may_access, addr_ptrace_may_access);
	static_call_update(cryo_sc_cancel_match, addr_task_work_cancel_match);
	static_call_update(cryo_sc_wait_inactive, addr_wait_task_inactive);
	if (addr_replace_mm_exe_file)
		static_call_update(cryo_sc_replace_exe, addr_replace_mm_exe_file);
	if (features & CRYO_FEATURE_SOCKET_OPTIONS) {
		static_call_update(cryo_sc_sk_getsockopt, addr_sk_getsockopt);
		static_call_update(cryo_sc_ip_getsockopt, addr_ip_getsockopt);
		static_call_update(cryo_sc_ipv6_getsockopt, addr_ipv6_getsockopt);
		static_call_update(cryo_sc_tcp_getsockopt, addr_tcp_getsockopt);
	}
	if (addr_udp_enqueue)
		static_call_update(cryo_sc_udp_enqueue, addr_udp_enqueue);
	if (addr_put_files_struct)
		static_call_update(cryo_sc_put_files, addr_put_files_struct);
	if (addr_anon_vma_prepare)
		static_call_update(cryo_sc_anon_vma_prepare, addr_anon_vma_prepare);
	if (addr_anon_vma_clone)
		static_call_update(cryo_sc_anon_vma_clone, addr_anon_vma_clone);
	if (addr_khugepaged_enter)
		static_call_update(cryo_sc_khugepaged_enter, addr_khugepaged_enter);
	if (addr_split_huge_page)
		static_call_update(cryo_sc_split_huge_page, addr_split_huge_page);
	return 0;
}

u64 cryo_ksym_features(void)
{
	return features;
}

const char *cryo_ksym_missing(void)
{
	return missing;
}

bool cryo_ptrace_may_access(struct task_struct *task, unsigned int mode)
{
	return static_call(cryo_sc_may_access)(task, mode);
}

int cryo_replace_mm_exe_file(struct mm_struct *mm, struct file *file)
{
	return static_call(cryo_sc_replace_exe)(mm, file);
}

int cryo_udp_enqueue(struct sock *sk, struct sk_buff *skb)
{
	return static_call(cryo_sc_udp_enqueue)(sk, skb);
}

void cryo_put_files_struct(struct files_struct *files)
{
	static_call(cryo_sc_put_files)(files);
}

static bool is_work(struct callback_head *work, void *data)
{
	return work == data;
}

bool cryo_task_work_cancel(struct task_struct *task, struct callback_head *work)
{
	return static_call(cryo_sc_cancel_match)(task, is_work, work);
}

unsigned long cryo_wait_task_inactive(struct task_struct *task, unsigned int state)
{
	return static_call(cryo_sc_wait_inactive)(task, state);
}

int cryo_getsockopt(struct sock *sk, int level, int name, void *value, int *len)
{
	sockptr_t to = KERNEL_SOCKPTR(value), size = KERNEL_SOCKPTR(len);

	switch (level) {
	case SOL_SOCKET:
		return static_call(cryo_sc_sk_getsockopt)(sk, level, name, to, size);
	case IPPROTO_IP:
		return static_call(cryo_sc_ip_getsockopt)(sk, level, name, to, size);
	case IPPROTO_IPV6:
		return static_call(cryo_sc_ipv6_getsockopt)(sk, level, name, to, size);
	case IPPROTO_TCP:
		return static_call(cryo_sc_tcp_getsockopt)(sk, level, name, to, size);
	}
	return -ENOPROTOOPT;
}
