/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cryo.h - what the files of the module share
 *
 * A checkpoint request (request.c) parks the threads of its target (freeze.c),
 * has everything about the target collected and described in memory (capture.c
 * and the save_*.c files, one resource each), and writes that and the pages of
 * memory to a file (stream.c, save_pages.c).  A restart group (restart.c) parks
 * the threads of a process being rebuilt until all are there.
 *
 * doc/locking.md says which locks are taken in which order.
 */
#ifndef CRYO_H
#define CRYO_H

#include <linux/completion.h>
#include <linux/fs.h>
#include <linux/hashtable.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/sizes.h>
#include <linux/socket.h>
#include <linux/task_work.h>
#include <linux/timer.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/xarray.h>

#include <cryo/client.h>
#include <cryo/format.h>
#include <cryo/ioctl.h>

#include "access.h"
#include "buf.h"
#include "log.h"
#include "park_arch.h"

#define CRYO_RELEASE "0.1.0"

struct cryo_request;
struct cryo_capture;
struct cryo_page_writer;
struct cryo_snapshot;
struct sk_buff;
struct sk_buff_head;
struct sock;

/* ---- stream.c: the context as it is written ---- */

/*
 * Pages in a section that we write: CRYO_PAGES_MAX, or fewer where they are larger.  A restart that maps compares the
 * checksum of all of them before it gives the first.
 */
#define CRYO_BATCH_PAGES	(SZ_2M >> PAGE_SHIFT)

struct cryo_stream {
	struct file *file;
	loff_t pos;			/* position in @file */
	u64 offset;			/* bytes since the start of the context */
	struct list_head chunks;	/* metadata not written yet */
	u64 meta;			/* bytes of them; pages kept in memory do not count */
	bool full;			/* there would have been more than CRYO_META_MAX */
	struct cryo_buf index;
	u64 sections;
	u64 page_bytes;
	atomic64_t *written;		/* progress, read by others */
	u64 keep;			/* bytes: up to here page data stay in memory, too; 0: none */
	struct cryo_snapshot *snapshot;	/* NULL: none is being written */
	u32 flags;			/* CRYO_CKPT_* */
	struct file *direct;		/* @file once more, past the page cache; NULL: not opened */
	u64 direct_from;		/* offset from which pages are to go there */
};

int cryo_stream_init(struct cryo_stream *s, struct file *file, atomic64_t *written, u32 flags);
void cryo_stream_free(struct cryo_stream *s);
int cryo_stream_header(struct cryo_stream *s);
int cryo_stream_section(struct cryo_stream *s, u16 type, u32 object, u32 fixed_len,
			const void *payload, size_t len);
int cryo_stream_buf(struct cryo_stream *s, u16 type, u32 object, u32 fixed_len,
		    struct cryo_buf *buf);
int cryo_stream_flush(struct cryo_stream *s);
int cryo_stream_page_data(struct cryo_stream *s, u32 object, struct iov_iter *iter,
			  u32 checksum);
int cryo_stream_end(struct cryo_stream *s);

/* ---- direct.c: pages past the page cache ---- */

struct file *cryo_direct_open(struct file *file, bool always);
bool cryo_direct_takes(const struct iov_iter *iter, loff_t pos);
bool cryo_direct_refused(ssize_t n);

/* ---- freeze.c ---- */

enum cryo_park_state {
	CRYO_PARK_ASKED,	/* task work queued, not run yet */
	CRYO_PARK_PARKED,	/* waits in its task work */
	CRYO_PARK_STOPPED,	/* stopped by job control: stays where it is, work queued; parks before anything else */
	CRYO_PARK_GONE,		/* exiting */
};

/*
 * One thread asked to park.  Referenced by the request and, while the task work is queued or
 * running, by that.
 */
struct cryo_parked {
	struct callback_head work;
	struct kref ref;
	struct list_head node;		/* in cryo_request.parked */
	struct list_head sibling;	/* in cryo_proc.threads */
	struct hlist_node hash;		/* in cryo_index.by_task */
	struct task_struct *task;	/* counted */
	struct cryo_proc *proc;		/* its process; valid while in a list of the request */
	struct cryo_request *req;	/* counted */
	enum cryo_park_state state;	/* under cryo_request.park_lock */
	bool let_go;
	u8 laps;			/* how often other works of the thread went first */
	bool self;			/* the requester's own: not queued, is where it is */
	bool poller;			/* a thread of the kernel: in cryo_request.pollers, not in the context */
	bool counted;			/* is part of the context being written */
	bool changed;			/* became somebody else after it was asked, and went on: see park() */
	struct cryo_identity asked;	/* who it was then */
	s64 wait_ns;			/* remaining time of a timed wait, see timed_wait.c */
	unsigned long wait_switches;	/* the thread's voluntary context switches once it sleeps in that */
	bool has_wait;
	struct cryo_arch_park arch;
};

int cryo_freeze(struct cryo_request *req);
int cryo_freeze_again(struct cryo_request *req);
void cryo_thaw(struct cryo_request *req);
void cryo_look_begin(struct cryo_request *req);
void cryo_look_end(struct cryo_request *req);

/* freeze_pending.c */
int cryo_refuse_traced(struct cryo_request *req);
void cryo_name_pending(struct cryo_request *req);

/* unsettled.c */
bool cryo_unsettled(struct cryo_request *req);

/* ---- scope.c: the processes of a request ---- */

struct cryo_fd_record;
struct cryo_vma_record;

/* Of a memory: what has been used since the checkpoint before (used.c). */
struct cryo_used {
	struct cryo_buf runs;		/* struct cryo_page_run, CRYO_USED_MAX_RUNS at most */
	unsigned long gap;		/* bytes: runs that are no farther apart become one */
	bool unsorted;
	bool others;			/* there are pages that have not been used */
};

/* One process of the scope.  Belongs to the request, and is changed by the requester only. */
struct cryo_proc {
	struct list_head node;		/* in cryo_request.procs */
	struct hlist_node hash;		/* in cryo_index.by_group */
	struct hlist_node claim;	/* among the processes of all requests */
	struct cryo_request *req;	/* not counted: lives in it */
	const struct cred *on_behalf;	/* of the participant who wants it in the scope; NULL: the request itself does */
	struct task_struct *leader;	/* counted; as found: exec() may make another one that */
	struct pid *tgid;		/* counted */
	pid_t pid;			/* in the requester's namespace */
	char comm[TASK_COMM_LEN];
	struct list_head threads;	/* of struct cryo_parked */
	bool zombie;			/* has exited, and its parent, in the scope, has not waited */
	bool gone;			/* has exited, and nobody is going to wait for it: not in the context */
	bool told;			/* its participants, if any, know of the request */
	bool stand_in;			/* of the requester, which has not exited yet: see requester.c */
	bool signalled;			/* has got the signal of the request's end */
	bool tree;			/* its children belong to the scope */
	bool omitted;			/* has left itself out: is not stopped, and not in the context */
	unsigned int children_left_out;	/* see outsiders.c */
	struct cryo_exclusions *excluded;	/* NULL: none; its own; under cryo_participants_lock before all have voted */

	/* What capture.c collects. */
	/* Its leader, parked; another thread when that has exited; or a zombie. Counted elsewhere. */
	struct task_struct *task;
	struct mm_struct *mm;		/* counted */
	u32 mm_id;
	bool no_new_privs;		/* all of its threads have them */
	bool mm_saved;			/* with one that comes before it; or not at all, as somebody else has it, too */
	struct cryo_fd_record *fds;
	unsigned int nr_fds;
	struct hlist_head without_fd;	/* open files that it is the first to have, but not by a descriptor: struct cryo_object */
	struct cryo_vma_record *vmas;
	unsigned int nr_vmas;
	struct cryo_buf mempolicies;	/* struct cryo_mempolicy of the areas */
	struct cryo_buf vma_names;	/* struct cryo_named_vma (save_vma_name.c) */
	struct cryo_buf left_out;	/* struct cryo_excluded */
	struct cryo_buf aio;		/* struct cryo_aio */
	struct cryo_buf unchanged;	/* struct cryo_page_run: as in the parent; ascending */
	struct cryo_used used;
	u32 parent_mm;			/* its number there; 0: cannot be told */
	struct file *exe;
};

#define cryo_for_each_proc(proc, req)	list_for_each_entry(proc, &(req)->procs, node)
/* The thread of @proc after @t (NULL: the first) that is in the context; or NULL. */
struct cryo_parked *cryo_next_thread(struct cryo_proc *proc, struct cryo_parked *t);

/* The scope as it was before one more was added. */
struct cryo_scope_mark {
	struct list_head *last;		/* of cryo_request.procs */
	struct cryo_forward *added;	/* NULL: none has been */
	struct cryo_proc *root;		/* its children did not belong to the scope; NULL: they did, or it is new */
};

struct cryo_forward;
struct cryo_mounts;
struct cryo_mount_table;
int cryo_scope_add(struct cryo_request *req, struct cryo_forward *f, struct cryo_scope_mark *mark);
void cryo_scope_undo(struct cryo_request *req, const struct cryo_scope_mark *mark);
struct pid *cryo_scope_pid(struct task_struct *task, u32 scope);
int cryo_scope_begin(struct cryo_request *req);
int cryo_scope_find(struct cryo_request *req);
int cryo_scope_check(struct cryo_request *req);
unsigned long cryo_jiffies(u32 ms);
int cryo_scope_settle(struct cryo_request *req, bool report);
void cryo_scope_end(struct cryo_request *req);
struct cryo_proc *cryo_find_proc(struct cryo_request *req, struct task_struct *task);

/* timed_wait.c: system calls with a timeout that the kernel itself cannot continue */
void cryo_timed_waits_init(void);
void cryo_timed_waits_find(struct cryo_request *req, struct cryo_parked *p);
bool cryo_timed_wait_found(struct cryo_parked *p);
struct cryo_parked *cryo_find_parked(struct cryo_request *req, struct task_struct *task);
void cryo_timed_wait_arm(s64 remaining_ns, u32 nr, unsigned long first);
long cryo_timed_restart(struct restart_block *rb);
void cryo_timed_waits_disarm(void);

/* ---- request.c ---- */

/* What makes looking for one among many fast; there while processes are claimed. */
struct cryo_index {
	DECLARE_HASHTABLE(by_group, 10);	/* struct cryo_proc by signal_struct */
	DECLARE_HASHTABLE(by_task, 12);		/* struct cryo_parked */
	DECLARE_HASHTABLE(by_pid, 10);		/* struct cryo_forward of groups and sessions, the first of each */
};

struct cryo_request {
	struct kref ref;
	struct mutex lock;		/* serialises RUN, THAW and close */
	struct cryo_checkpoint args;
	struct file *out;		/* counted, in CRYO_CKPT_RUN */
	const void *out_key;		/* its address, by which it is most likely known again */
	struct task_struct *target;	/* group leader, or thread that stands for it */
	pid_t pid;			/* of @target, in the requester's namespace */
	char comm[TASK_COMM_LEN];
	struct cryo_log log;

	u32 state;			/* CRYO_STATE_*, written under @lock, read anywhere */
	int result;
	bool done;			/* RUN has ended */
	bool went_on;			/* the processes, before the context was written */
	wait_queue_head_t done_wait;	/* poll() */

	struct list_head devices;	/* rules, see device_rules.c; fixed once it runs */
	unsigned int nr_devices;
	struct list_head procs;		/* of struct cryo_proc; changed by the requester only */
	struct cryo_index *index;	/* of @procs, @parked and @pollers; NULL: nobody is claimed */
	unsigned int nr_procs;
	struct pid *scope_pid;		/* of a process group or session; counted */

	spinlock_t park_lock;		/* protects the states of @parked, @pending and @worker */
	struct list_head parked;	/* of struct cryo_parked; changed by the requester only */
	unsigned int threads;		/* in @parked */
	struct list_head pollers;	/* of struct cryo_parked, likewise: of rings with IORING_SETUP_SQPOLL */
	unsigned int pending;		/* of both asked, but neither parked nor stopped nor gone */
	wait_queue_head_t park_wait;	/* the requester: a thread arrived */
	wait_queue_head_t thaw_wait;	/* parked threads: let go */
	bool looking;			/* no thread of @parked may end; under @park_lock */
	struct cryo_proc *lost;		/* somebody of it was killed, or continued, while @looking: that ends. NULL: nobody. Under @park_lock */
	bool lost_continued;		/* he was continued */
	wait_queue_head_t look_wait;	/* those that have been killed meanwhile */

	struct pid *requester;		/* who made the handle; counted */
	char *dest;			/* path of @out, NULL: it has none */
	struct list_head participants;	/* under cryo_participants_lock, see participant.h */
	struct list_head forwards;	/* likewise: not looked at yet */
	unsigned int nr_forwards;	/* likewise: up to now */
	bool no_forwards;		/* likewise: nobody looks at them any more */
	bool news;			/* likewise: a vote against, a forward or a closed handle */
	unsigned int missing;		/* likewise: participants that have not voted */
	struct list_head ending;	/* likewise: participants whose callbacks go on behind the checkpoint */
	unsigned int unended;		/* likewise: how many of them have not come to their end */
	struct list_head forwarded;	/* more scopes; the requester's own */
	wait_queue_head_t forward_wait;	/* those who wait for one of @forwards */
	struct cryo_ckpt_verdict verdict;	/* written by the requester */
	const struct cred *voter;	/* of the vote that is the verdict; counted; NULL: there is none */
	char verdict_comm[TASK_COMM_LEN];
	char verdict_note[CRYO_CLIENT_NOTE_MAX];

	struct task_struct *worker;	/* task in CRYO_CKPT_RUN */
	struct timer_list timer;	/* the request's deadline */
	unsigned long deadline;		/* jiffies */
	bool cancelled;
	bool timed_out;
	bool interrupt_armed;		/* @interrupt is queued at @worker */
	struct callback_head interrupt;

	ktime_t freeze_begin;
	unsigned long uring_limit;	/* jiffies: until then requests of io_uring may end */
	u64 freeze_ns;
	u64 pause_ns;
	atomic64_t written;
	u64 estimate;			/* bytes, upper bound */
	u32 obstacles;			/* CRYO_OBSTACLE_* */
	u64 pages_saved;
	u64 pages_zero;
	u64 pages_unchanged;
	bool has_parent;
	u8 parent[CRYO_HASH_SIZE];	/* identity of the context that this one is compared with */
	u64 track_serial;		/* of this capture, see track.c; 0: none yet */
	unsigned long last_event;	/* jiffies of the last progress event */
};

long cryo_request_create(void __user *arg);
void cryo_request_get(struct cryo_request *req);
void cryo_request_put(struct cryo_request *req);
int cryo_request_interrupted(struct cryo_request *req);
int cryo_request_lock(struct cryo_request *req);
void cryo_request_unlock(struct cryo_request *req);
void cryo_request_poke(struct cryo_request *req);
bool cryo_request_poked(struct cryo_request *req);
void cryo_request_go_on(struct cryo_request *req);
void cryo_request_state(struct cryo_request *req, u32 state);
bool cryo_is_request(struct file *file);
bool cryo_is_command(struct file *file, struct pid *tgid);
struct task_struct *cryo_find_target(pid_t nr, u32 scope);
long cryo_restarted_create(void);

/* device_rules.c */
int cryo_device_rule_add(struct cryo_request *req, void __user *arg);
u32 cryo_device_rule(struct cryo_request *req, struct inode *inode);
void cryo_device_rules_free(struct cryo_request *req);

/* client.c, notify.c: processes that take part in their own checkpoint */
long cryo_client_create(void __user *arg);
bool cryo_is_client(struct file *file);
bool cryo_is_helper(struct cryo_capture *c, struct task_struct *task);
u64 cryo_client_saved(struct file *file);
int cryo_notify(struct cryo_request *req);
/* hold.c: threads of a restarted process that wait until its callbacks are through */
struct cryo_held;
struct cryo_held *cryo_held_alloc(void);
void cryo_held_start(struct cryo_held *h);
bool cryo_held_signal(struct pid *tgid, int signal);
void cryo_held_free(struct cryo_held *h);
void cryo_notify_end(struct cryo_request *req, int result);
bool cryo_notify_ends_later(struct cryo_proc *proc);
void cryo_notify_wait(struct cryo_request *req);
long cryo_verdict(struct cryo_request *req, void __user *arg);

/* ---- events.c ---- */

int cryo_events_init(void);
void cryo_events_exit(void);
void cryo_event_state(struct cryo_request *req);
void cryo_event_progress(struct cryo_request *req);

/* ---- capture.c and what it calls ---- */

/* An inode or an open file, found once and given an id. */
struct cryo_object {
	struct hlist_node hash;
	struct list_head node;		/* in order of discovery */
	const void *key;		/* address of the struct inode or struct file: identity only */
	u32 id;
	struct file *file;		/* counted; of an inode: one through which it was found */
	struct cryo_object *inode;	/* of a file */
	struct cryo_proc *proc;		/* the first that has it */
	struct hlist_node of_proc;	/* in its without_fd, when fd is -1 */
	bool several;			/* others have it, too */
	int fd;				/* lowest descriptor in @proc, or -1 */
	unsigned long vma_start;	/* first mapping, when fd is -1 */
	u32 kind;			/* CRYO_FILE_* */
	char *name;			/* by which it is found again, where that is not its path */
	u32 stdio_fd;			/* number of cr_restart's descriptor that takes its place; U32_MAX: none, nor is it one of 0 to 2 */
	u32 inode_flags;		/* CRYO_INODE_* */
	struct cryo_object *opened;	/* of an inode: its first open file */
	unsigned int ends;		/* of an inode: open for reading, and open for writing, in the scope */
	bool written, omitted, cloexec;	/* see save_open.h */
	loff_t size;			/* of an inode, as its section says */
	unsigned long attached;		/* areas of memory that show it: System V shared memory */
	bool is_inode;
	bool locks_saved;		/* those of the open file itself */
	struct cryo_proc *locks_of;	/* last process whose locks were looked for here */
	/* Of sockets and what goes through them. */
	struct sock *sk;		/* counted; of a connection that nobody has accepted, which has no file */
	struct cryo_object *listener;	/* of such a one */
	struct cryo_object *first_waiting;	/* of a listening socket; the others are behind it in the list */
	int carrier;			/* descriptor of a socket through which it is being passed, or -1 */
};

struct cryo_fd_record {
	unsigned int fd;
	bool cloexec;
	struct file *file;		/* counted */
};

struct cryo_vma_record {
	struct cryo_vma out;
	bool pages;			/* has private pages to be saved */
	bool anon_only;			/* only copied-on-write pages */
	unsigned long huge;		/* bytes of its pages, if these are of hugetlbfs; else 0 */
};

/* See shared_pages.h. */
struct cryo_shared_pages {
	unsigned int memories;		/* address spaces in the context: with one, nothing is shared */
	unsigned long count, most;	/* remembered pages; how many may be */
	struct xarray places;		/* page number: its place in the context, in pages; the page is counted */
};

/* An ipc namespace that processes of the job are in. */
struct cryo_ipc_space {
	struct list_head node;
	u32 number;			/* 0: the requester's */
	struct ipc_namespace *ns;
	struct file *file;		/* counted, keeps it; NULL: the requester's */
	u32 told;			/* kinds of objects that have been refused as a whole */
};

struct cryo_capture {
	struct cryo_request *req;
	struct cryo_stream stream;
	struct cryo_shared_pages shared;
	struct cryo_proc *p;		/* the process being looked at; obstacles name it */
	struct cryo_proc *stand_in;	/* of the requester; NULL: none is needed */
	struct cryo_proc *waits_for_requester;	/* with @stand_in: its parent */
	unsigned int obstacles;

	struct hlist_head *objects;	/* by their keys */
	unsigned int object_bits;
	unsigned int nr_objects;
	struct list_head inodes;
	struct list_head files;
	struct cryo_buf sharers[5];	/* by enum cryo_shared, see save_sharing.c */
	struct xarray memories;		/* numbers of address spaces, by struct mm_struct */
	struct list_head waiting;	/* connections that nobody has accepted */
	struct list_head ipc_spaces;	/* the requester's first */
	struct cryo_ipc_space own_ipc;
	const int *undone;		/* sorted: while semaphores are saved, see save_sem.c */
	unsigned int nr_undone;
	struct cryo_buf namespaces;	/* numbers of those that are described: u32 each */
	struct list_head mount_spaces;	/* struct cryo_mounts, of those that the requester is not in */
	struct xarray seen_mounts;	/* their struct cryo_mounts, by struct vfsmount */
	struct cryo_buf made_devices;	/* dev_t: file systems in them that are made anew */
	size_t mount_bytes;		/* that their tables take, and the requester's */
	struct cryo_mount_table *own_mounts;	/* the requester's; NULL: not read */
	struct vfsmount *proc;		/* own_proc.c; NULL: not made */
	struct xarray filters;		/* of seccomp: tids of the first thread of @p that has each */
	struct cryo_buf ttys;		/* open files of pseudo-terminals, see save_pty.c */
	u32 nr_mount_entries;
	unsigned int holders_named;	/* of other ends of sockets, see save_sockstate.c */
	const struct net *looked_net;	/* identity: which one is_rebuilt() was asked about last, and its answer */
	bool looked_net_is_rebuilt;
	u32 checked_net;		/* number of the network namespace looked at last */
	u32 next_id;
	u32 vdso_crc;			/* of the vdso that is in the context */
	struct cryo_snapshot *snapshot;	/* NULL: none is being taken */
	struct cryo_page_writer *writer;	/* while memory is written with everybody stopped */
	bool contents_saved, huge_saved;	/* of files, and all tags; private pages of hugetlbfs: in the stream */
	unsigned long aio_limit;	/* until when requests under way are waited for; 0: none yet */
	bool terminal_saved;		/* the terminal from outside, see save_tty.c */
	bool said_gone;			/* the log names who was killed */
	bool released;			/* nothing of the processes is referenced any more */
};

int cryo_capture(struct cryo_request *req);

/* Why the look at everybody should end now: 0, or a negative errno. Asked in all loops over what a user can have many of. */
int cryo_look_interrupted(struct cryo_capture *c);

/* Note an obstacle: "pid N (comm): <fmt>".  The checkpoint will be refused. */
__printf(2, 3) void cryo_refuse(struct cryo_capture *c, const char *fmt, ...);
int cryo_refuse_unseen(struct cryo_capture *c, const char *what, int err);
/* "pid N (comm)" of @task if the requester may trace it, and sees it; "another process" if not. */
#define CRYO_WHO_MAX	(TASK_COMM_LEN + 24)
void cryo_describe_task(struct task_struct *task, char *buf, size_t size);
/* Note what is worth knowing but no obstacle. */
__printf(2, 3) void cryo_warn(struct cryo_capture *c, const char *fmt, ...);

/* objects.c */
int cryo_objects_init(struct cryo_capture *c);
struct cryo_object *cryo_object_file(struct cryo_capture *c, struct file *file);
struct cryo_object *cryo_object_find(struct cryo_capture *c, const void *key);
struct cryo_object *cryo_object_waiting(struct cryo_capture *c, struct sock *sk,
					struct cryo_object *listener);
void cryo_objects_free(struct cryo_capture *c);

/* One resource per file: collect (find and check), then save (describe). */
int cryo_check_process(struct cryo_capture *c);
int cryo_save_system(struct cryo_capture *c);
int cryo_save_process(struct cryo_capture *c);
int cryo_save_zombie(struct cryo_capture *c);
int cryo_save_cwd(struct cryo_capture *c);
int cryo_save_thread_fs(struct cryo_capture *c, struct task_struct *task);
void cryo_check_fs(struct cryo_capture *c, struct task_struct *task);
int cryo_check_directories(struct cryo_capture *c);
int cryo_save_tables(struct cryo_capture *c);
bool cryo_has_table_of_other(struct cryo_capture *c);

/* save_sharing.c: what processes may have in common */
enum cryo_shared {
	CRYO_SHARED_MM,
	CRYO_SHARED_SIGHAND,
	CRYO_SHARED_FILES,
	CRYO_SHARED_FS,
	CRYO_SHARED_UNDO,
	CRYO_NR_SHARED
};

#define CRYO_UNDO_SHARED	\
	"System V semaphore adjustments (SEM_UNDO) shared with another process (CLONE_SYSVSEM) are not supported"

/* A process that has what others may have, too. */
struct cryo_sharer {
	const void *key;		/* identity only */
	u32 order;			/* of the process in the scope */
	struct cryo_proc *proc;
	/* Of the first one that has it. */
	struct cryo_proc *top;		/* see save_sharing.c; NULL: not looked for */
	bool told;			/* has been refused: somebody who is left out has it */
};

bool cryo_is_saved(struct cryo_proc *p);
/* Those of the context that have the same as @task, who may be anybody: the first of them. NULL: there is none. */
struct cryo_sharer *cryo_sharers_with(struct cryo_capture *c, enum cryo_shared what,
				      struct task_struct *task);
void cryo_sharers_leave_memory(struct cryo_capture *c, struct cryo_sharer *first);
int cryo_find_sharers(struct cryo_capture *c);
struct cryo_proc *cryo_first_with(struct cryo_capture *c, enum cryo_shared what);
void cryo_check_sharing(struct cryo_capture *c);
int cryo_check_outsiders(struct cryo_capture *c);
int cryo_save_sharing(struct cryo_capture *c);
int cryo_save_rlimits(struct cryo_capture *c);
int cryo_save_creds(struct cryo_capture *c);
int cryo_save_thread_creds(struct cryo_capture *c, struct task_struct *task);
int cryo_save_sigactions(struct cryo_capture *c);
int cryo_save_sigpending(struct cryo_capture *c, struct task_struct *task, bool shared);
int cryo_save_itimers(struct cryo_capture *c);
int cryo_save_posix_timers(struct cryo_capture *c);
int cryo_collect_fds(struct cryo_capture *c);
int cryo_save_fds(struct cryo_capture *c);
int cryo_collect_vmas(struct cryo_capture *c);
int cryo_save_mm(struct cryo_capture *c);
u32 cryo_special_kind(struct vm_area_struct *vma);
int cryo_save_vdso(struct cryo_capture *c, struct cryo_mm *mm);
int cryo_save_inodes(struct cryo_capture *c);
int cryo_save_files(struct cryo_capture *c);
int cryo_classify_files(struct cryo_capture *c);
int cryo_describe_inode(const struct path *path, struct cryo_inode *out);
bool cryo_is_shared_anon(struct file *file);
bool cryo_is_sysv(struct file *file);
int cryo_is_posix_shm(struct file *file);
int cryo_is_shm_descriptor(struct file *file);
char *cryo_posix_shm_name(struct file *file, char *buf, size_t size);
u32 cryo_membarrier_commands(struct mm_struct *mm);
int cryo_save_locks(struct cryo_capture *c);
int cryo_save_thread(struct cryo_capture *c, struct cryo_parked *p);
int cryo_save_exited_leader(struct cryo_capture *c);
void cryo_check_seccomp(struct cryo_capture *c, struct task_struct *task);
int cryo_save_seccomp(struct cryo_capture *c, struct task_struct *task);
void cryo_forget_seccomp(struct cryo_capture *c);
int cryo_note_vma_name(struct cryo_capture *c, struct vm_area_struct *vma);
int cryo_save_guards(struct cryo_capture *c);
int cryo_save_vma_names(struct cryo_capture *c);
int cryo_note_mempolicy(struct cryo_capture *c, struct vm_area_struct *vma);
int cryo_save_mempolicies(struct cryo_capture *c);
int cryo_save_thread_mempolicy(struct cryo_capture *c, struct task_struct *task);
int cryo_save_uclamp(struct cryo_capture *c, struct task_struct *task);
int cryo_save_cgroup(struct cryo_capture *c);
int cryo_save_cgroups(struct cryo_capture *c);
int cryo_check_namespaces(struct cryo_capture *c);
int cryo_save_namespaces(struct cryo_capture *c);
int cryo_save_zombie_namespaces(struct cryo_capture *c);
int cryo_save_regsets(struct cryo_capture *c, struct task_struct *task);
int cryo_read_memory(struct cryo_request *req, struct task_struct *task, unsigned long addr,
		     void *to, int size);
u64 cryo_estimate(struct cryo_capture *c);
int cryo_save_memory(struct cryo_capture *c);
int cryo_save_unchanged(struct cryo_capture *c);
int cryo_save_used(struct cryo_capture *c);

/* exclude.c: memory that a process does not want to be saved */
struct cryo_exclusions {
	struct mm_struct *mm;		/* whose addresses these are; kept from being reused */
	u32 nr;
	struct cryo_client_range ranges[];
};

struct cryo_exclusions *cryo_exclusions_copy(void __user *arg);
void cryo_exclusions_free(struct cryo_exclusions *x);
const struct cryo_client_range *cryo_exclusions_find(const struct cryo_proc *p, u64 start, u64 end);
int cryo_exclusions_note(struct cryo_capture *c, const struct cryo_vma_record *v, u64 from, u64 to);
int cryo_save_exclusions(struct cryo_capture *c);

int cryo_save_contents(struct cryo_capture *c);

/* save_tags.c: of private memory; of a file that is open for nobody else */
int cryo_save_tags(struct cryo_capture *c);
int cryo_save_file_tags(struct cryo_capture *c, struct file *file, loff_t size, u32 kind, u32 id);

bool cryo_is_ctty(struct task_struct *task, struct file *file);
int cryo_save_terminal(struct cryo_capture *c);
bool cryo_is_pipe(struct file *file);
bool cryo_pipe_is_shared(struct cryo_object *o);
int cryo_save_pipe(struct cryo_capture *c, struct cryo_object *inode);
int cryo_collect_shm(struct cryo_capture *c);
int cryo_collect_mqueues(struct cryo_capture *c);
int cryo_save_shm(struct cryo_capture *c);
int cryo_save_sems(struct cryo_capture *c);
int cryo_save_sem_undo(struct cryo_capture *c, struct task_struct *task, u32 pid);
int cryo_save_msgs(struct cryo_capture *c);
bool cryo_is_mqueue(struct file *file);
int cryo_save_mqueue(struct cryo_capture *c, struct cryo_object *o);
int cryo_find_ttys(struct cryo_capture *c);
u32 cryo_pty_kind(struct cryo_capture *c, struct cryo_object *o);
bool cryo_tty_is_saved(struct cryo_capture *c, struct tty_struct *tty);
int cryo_save_pty(struct cryo_capture *c, struct cryo_object *o);
int cryo_save_pty_slave(struct cryo_capture *c, struct cryo_object *o);
bool cryo_is_eventfd(struct file *file);
int cryo_save_eventfd(struct cryo_capture *c, struct cryo_object *o);
bool cryo_is_epoll(struct file *file);
int cryo_save_epoll(struct cryo_capture *c, struct cryo_object *o);
bool cryo_is_timerfd(struct file *file);
int cryo_save_timerfd(struct cryo_capture *c, struct cryo_object *o);
bool cryo_is_inotify(struct file *file);
int cryo_save_inotify(struct cryo_capture *c, struct cryo_object *o);
bool cryo_is_fanotify(struct file *file);
bool cryo_fanotify_unread(struct file *file);
int cryo_save_fanotify(struct cryo_capture *c, struct cryo_object *o);
bool cryo_is_pidfd(struct file *file);
int cryo_classify_pidfd(struct cryo_capture *c, struct cryo_object *o, const char **obstacle);
int cryo_save_pidfd(struct cryo_capture *c, struct cryo_object *o);
bool cryo_is_signalfd(struct file *file);
int cryo_save_signalfd(struct cryo_capture *c, struct cryo_object *o);
int cryo_save_socket(struct cryo_capture *c, struct cryo_object *o);
int cryo_save_build_id(struct cryo_capture *c, struct cryo_object *o);
void cryo_save_owner(struct file *file, struct cryo_file *out);
bool cryo_has_owner(struct file *file);
void cryo_describe_file(struct file *file, char *buf, size_t size);

/* Time to an expiry as the format has it. */
static inline s64 cryo_cut_remaining(s64 ns)
{
	return clamp_t(s64, ns, -CRYO_MAX_REMAINING_NS, CRYO_MAX_REMAINING_NS);
}

/* own_proc.c */
struct file *cryo_proc_open(struct cryo_capture *c, const char *name);
void cryo_proc_free(struct cryo_capture *c);

/* walk_path.c */
int cryo_walk_path(const struct path *root, const char *name, struct path *found);
int cryo_walk_own_path(const char *name, struct path *found);
bool cryo_is_at_hand(const struct super_block *sb);

/* save_socket.c: all families; save_sockopt.c: options */
int cryo_collect_sockets(struct cryo_capture *c);
int cryo_classify_socket(struct cryo_capture *c, struct cryo_object *o, const char **obstacle);
int cryo_save_connection(struct cryo_capture *c, struct cryo_object *o);
int cryo_save_waiting(struct cryo_capture *c);
int cryo_save_sockopts(struct cryo_capture *c, struct cryo_object *o);

/* save_sockstate.c: what all families have in common */
struct cryo_sock_names {
	struct sockaddr_storage name;
	struct sockaddr_storage peer;
	unsigned int len, peer_len;
	const char *path;		/* NULL: none */
};

/* References to the buffers of a queue. */
struct cryo_skbs {
	struct sk_buff **skb;
	unsigned int n;
};

struct sock *cryo_sock_of(struct cryo_object *o);
struct cryo_object *cryo_object_of_sock(struct cryo_capture *c, struct sock *sk);
void cryo_describe_holder(struct cryo_capture *c, struct sock *sk, char *buf, size_t size);
s32 cryo_sock_peer_pid(struct sock *sk);
void cryo_sock_peercred(struct sock *sk, struct cryo_sock_state *out);
int cryo_save_sockstate(struct cryo_capture *c, struct cryo_object *o,
			struct cryo_sock_state *out, const struct cryo_sock_names *names);
int cryo_skbs_take(struct sk_buff_head *queue, struct cryo_skbs *s);
void cryo_skbs_drop(struct cryo_skbs *s);
void cryo_queue_begin(struct cryo_buf *buf);
int cryo_queue_bytes(struct cryo_buf *buf, const struct sk_buff *skb, unsigned int offset,
		     unsigned int length);
int cryo_queue_end(struct cryo_capture *c, struct cryo_object *o, struct cryo_buf *buf, int err);

/* save_unix.c */
struct sock *cryo_unix_peer_get(struct sock *sk);
int cryo_collect_unix(struct cryo_capture *c, struct cryo_object *o);
bool cryo_unix_is_whole(struct cryo_capture *c, struct cryo_object *o);
void cryo_unix_peer_holder(struct cryo_capture *c, struct cryo_object *o, char *buf, size_t size);
const char *cryo_unix_obstacle(struct cryo_object *o);
const char *cryo_unix_path(struct cryo_capture *c, struct sock *sk, char *page, bool *unlinked);
const char *cryo_unix_name_obstacle(struct cryo_capture *c, struct sock *sk);
int cryo_save_socket_file(struct cryo_capture *c, struct cryo_object *o);
int cryo_save_unix(struct cryo_capture *c, struct cryo_object *o);

/* save_netlink.c */
bool cryo_netlink_unread(const struct sock *sk);
const char *cryo_netlink_obstacle(struct cryo_object *o);
int cryo_save_netlink(struct cryo_capture *c, struct cryo_object *o);
void cryo_put_netlink_options(struct sock *sk, struct cryo_buf *buf);

/* save_tcp.c, save_udp.c, save_inet.c */
int cryo_collect_tcp(struct cryo_capture *c, struct cryo_object *o);
bool cryo_tcp_is_whole(struct cryo_capture *c, struct cryo_object *o);
void cryo_tcp_peer_holder(struct cryo_capture *c, struct cryo_object *o, char *buf, size_t size);
void cryo_tcp_addresses(struct cryo_object *o, char *buf, size_t size);
bool cryo_tcp_deferred(struct sock *sk);
bool cryo_tcp_unsettled(struct sock *sk);
const char *cryo_tcp_obstacle(struct cryo_object *o);
int cryo_save_tcp(struct cryo_capture *c, struct cryo_object *o);
const char *cryo_udp_obstacle(struct cryo_object *o);
int cryo_save_udp(struct cryo_capture *c, struct cryo_object *o);
void cryo_inet_bind_flags(struct sock *sk, u32 *flags, u32 freebind, u32 reuseport);
void cryo_inet_names(struct sock *sk, struct cryo_sock_names *names, bool connected);

/* restart_block.c */
void cryo_restart_block_save(struct cryo_capture *c, struct task_struct *task,
			     struct cryo_thread *out);
int cryo_restart_block_check(const struct cryo_restart_block *rb);
void cryo_restart_block_set(const struct cryo_restart_block *rb);
u64 cryo_restart_block_features(void);

/* optional.c */
bool cryo_task_syscall_dispatch(struct task_struct *task);
bool cryo_same_creds(struct task_struct *a, struct task_struct *b);

/* sighand.c */
struct sighand_struct *cryo_lock_sighand(struct task_struct *task);
void cryo_unlock_sighand(struct sighand_struct *sighand);

/* ---- main.c ---- */

bool cryo_is_device(struct file *file);

/* ---- restart.c, pid_cursor.c ---- */

/* In a work of @current: on its way to user mode the kernel looks at signals and at what the system call has returned. */
static inline void cryo_look_at_signals(void)
{
	set_thread_flag(TIF_NOTIFY_SIGNAL);
}

long cryo_restart_create(void __user *arg);
bool cryo_is_being_restarted(struct file *file);
long cryo_restart_timer(void __user *arg);
long cryo_restart_epoll_disarm(void __user *arg);
/* Who restarts: the process that made the handle, and its credentials then. */
struct cryo_restarter {
	struct pid *coordinator;
	const struct cred *cred;
};
long cryo_restart_signal(const struct cryo_restarter *by, void __user *arg);
long cryo_restart_peer_pid(const struct cryo_restarter *by, void __user *arg);
long cryo_restart_port(void __user *arg);
long cryo_restart_datagram(void __user *arg);
long cryo_restart_inotify_event(const struct cred *maker, void __user *arg);
long cryo_restart_uring(void __user *arg);
int cryo_restart_uring_mmap(struct vm_area_struct *vma);
/* Makes the caller's descriptor `fd` the executable of its memory; -EBADF, -EACCES: not of a file that may be run. */
int cryo_restart_take_exe(const struct cred *maker, int fd);
int cryo_check_shadow_stack(struct task_struct *task, u64 start, u64 size);

/* map_populate.c: memory that comes from a context when it is used first */
int cryo_map_init(void);
void cryo_map_exit(void);
int cryo_map_complete(struct cryo_request *req, struct mm_struct *mm);

/* args.c */
int cryo_copy_args(void *args, size_t known, size_t least, void __user *from);
void *cryo_copy_data(u64 from, size_t length);
char *cryo_copy_text(u64 from, size_t length);

/* pid_cursor.c */
long cryo_pid_cursor(void __user *arg);
long cryo_restart_pid_cursor(struct pid *coordinator, void __user *arg);
long cryo_restart_outer_pid(struct pid *coordinator, void __user *arg);

/* ---- ipc.c ---- */

void cryo_ipc_spaces_init(struct cryo_capture *c);
void cryo_ipc_spaces_free(struct cryo_capture *c);
int cryo_ipc_note(struct cryo_capture *c, struct task_struct *task, u32 number);
long cryo_ipc_id(void __user *arg);

#endif /* CRYO_H */
