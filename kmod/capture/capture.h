/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * capture.h - state shared by the savers while a job is inspected
 *
 * struct cryo_capture holds what has been found; a saver adds to it, describes it with the calls of
 * capture/stream.h, and reports obstacles with cryo_refuse().
 */
#ifndef CRYO_CAPTURE_CAPTURE_H
#define CRYO_CAPTURE_CAPTURE_H

#include <linux/fs.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/socket.h>
#include <linux/types.h>
#include <linux/xarray.h>

#include <cryo/format.h>

#include "capture/stream.h"
#include "lib/buf.h"
#include "request/request.h"

struct cryo_mount_table;
struct cryo_page_writer;
struct cryo_snapshot;
struct ipc_namespace;
struct net;
struct sock;
struct vfsmount;

/* An inode or an open file, found once and given an id. */
struct cryo_object {
	struct hlist_node hash;
	struct list_head node;		/* in order of discovery */
	/* address of the struct inode or struct file: identity only */
	const void *key;
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
	/*
	 * number of cr_restart's descriptor that takes its place; U32_MAX: none, nor is it one of 0
	 * to 2
	 */
	u32 stdio_fd;
	u32 inode_flags;		/* CRYO_INODE_* */
	struct cryo_object *opened;	/* of an inode: its first open file */
	/* of an inode: open for reading, and open for writing, in the scope */
	unsigned int ends;
	unsigned int writers;		/* of an inode: of its @i_writecount, those in the scope */
	/* of a file: its references that are ours or of processes in the scope */
	unsigned long refs;
	u32 outside;			/* of a file: CRYO_OUTSIDE_*, see save/files/outside.c */
	bool written, omitted, cloexec;	/* see save_open.h */
	loff_t size;			/* of an inode, as its section says */
	bool end_saved;			/* of an inode, see save/files/end.c */
	unsigned long attached;		/* areas of memory that show it: System V shared memory */
	/* of /proc, about a thread other than the first: opened when that is there */
	bool of_thread;
	bool is_inode;
	bool locks_saved;		/* those of the open file itself */
	struct cryo_proc *locks_of;	/* last process whose locks were looked for here */
	/* Of sockets and what goes through them. */
	/* counted; of a connection that has not been accepted, which has no file */
	struct sock *sk;
	struct cryo_object *listener;	/* of such a one */
	bool calling;			/* connect(2) had not been answered when it was checked */
	/* of a listening socket; the others are behind it in the list */
	struct cryo_object *first_waiting;
	/* mount namespace of the job that a Unix socket's name is in; 0: the requester's */
	u32 name_mnt;
	/* descriptor of a socket through which it is being passed, or -1 */
	int carrier;
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
	/* address spaces in the context: with one, nothing is shared */
	unsigned int memories;
	unsigned long count, most;	/* remembered pages; how many may be */
	/* page number: its place in the context, in pages; the page is counted */
	struct xarray places;
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
	struct cryo_proc *stand_in;	/* of the requester; NULL: none is needed */
	struct cryo_proc *waits_for_requester;	/* with @stand_in: its parent */
	unsigned int obstacles;

	struct hlist_head *objects;	/* by their keys */
	unsigned int object_bits;
	unsigned int nr_objects;
	struct list_head inodes;
	struct list_head files;
	struct cryo_buf sharers[5];	/* by enum cryo_shared, see save/process/sharing.c */
	/* of the process whose threads are saved, see save/process/seccomp.c */
	struct xarray filters;
	struct xarray memories;		/* numbers of address spaces, by struct mm_struct */
	struct list_head waiting;	/* connections that have not been accepted */
	struct list_head ipc_spaces;	/* the requester's first */
	struct cryo_ipc_space own_ipc;
	const int *undone;		/* sorted: while semaphores are saved, see save/ipc/sem.c */
	unsigned int nr_undone;
	struct cryo_buf namespaces;	/* numbers of those that are described: u32 each */
	/* struct cryo_mounts, of those that the requester is not in */
	struct list_head mount_spaces;
	struct xarray seen_mounts;	/* their struct cryo_mounts, by struct vfsmount */
	struct cryo_buf made_devices;	/* dev_t: file systems in them that are made anew */
	size_t mount_bytes;		/* that their tables take, and the requester's */
	struct cryo_mount_table *own_mounts;	/* the requester's; NULL: not read */
	struct vfsmount *proc;		/* own_proc.c; NULL: not made */
	/* their struct cryo_object, by cryo_index_of() their contexts */
	struct xarray eventfds;
	bool eventfds_found;		/* they are looked for when the first ring is saved */
	struct cryo_buf ttys;		/* open files of pseudo-terminals, see save/files/pty.c */
	u32 nr_mount_entries;
	unsigned int position_tries;	/* that are left, see cryo_saved_position() */
	unsigned int holders_named;	/* of other ends of sockets, see save/net/sockstate.c */
	/* identity: which one is_rebuilt() was asked about last, and its answer */
	const struct net *looked_net;
	bool looked_net_is_rebuilt;
	u32 checked_net;		/* number of the network namespace looked at last */
	u32 next_id;
	u32 vdso_crc;			/* of the vdso that is in the context */
	struct cryo_snapshot *snapshot;	/* NULL: none is being taken */
	struct cryo_page_writer *writer;	/* while memory is written with everybody stopped */
	/* of files, and all tags; private pages of hugetlbfs: in the stream */
	bool contents_saved, huge_saved;
	/* until when requests under way are waited for; 0: none yet */
	unsigned long aio_limit;
	bool terminal_saved;		/* the terminal from outside, see save/files/tty.c */
	bool said_gone;			/* the log names the killed process */
	bool said_too_big;		/* and what was more than a context may have */
	bool released;			/* nothing of the processes is referenced any more */
};

/* "pid N (comm)" of @task if the requester may trace it, and sees it; "another process" if not. */
#define CRYO_WHO_MAX	(TASK_COMM_LEN + 24)

/*
 * Of an object of the kernel in an xarray: neighbours in memory are neighbours there, which takes a
 * tenth of the room.
 */
static inline unsigned long cryo_index_of(const void *object)
{
	return (unsigned long)object / sizeof(object);
}

/* Time to an expiry as the format has it. */
static inline s64 cryo_cut_remaining(s64 ns)
{
	return clamp_t(s64, ns, -CRYO_MAX_REMAINING_NS, CRYO_MAX_REMAINING_NS);
}

/* obstacles.c: what is in the way of a checkpoint, and what else is worth saying */

/**
 * cryo_capture_interrupted() - should the inspection stop now?
 * @c: the capture
 *
 * Asked in all loops over what a user can have many of.
 *
 * Return: 0 or a negative errno.
 */
int cryo_capture_interrupted(struct cryo_capture *c);

/**
 * cryo_refuse() - note an obstacle: the checkpoint will be refused
 * @c: the capture
 * @p: the process that has it
 * @fmt: what, with the thing that it is about
 * @...: as for printk()
 *
 * The message begins with "pid N (comm): ". The capture goes on, to find all others.
 */
__printf(3, 4)
void cryo_refuse(struct cryo_capture *c, const struct cryo_proc *p, const char *fmt, ...);

/**
 * cryo_refuse_uninspectable() - something could not be inspected
 * @c: the capture
 * @p: the process that has it
 * @what: as in "its ... cannot be inspected"
 * @err: a negative errno
 *
 * That is an obstacle; but lack of memory or time, or a killed process, is an error.
 *
 * Return: 0, or @err if the capture is to end.
 */
int cryo_refuse_uninspectable(struct cryo_capture *c, const struct cryo_proc *p, const char *what,
			      int err);

/**
 * cryo_refuse_too_big() - name, once, what was more than a context may have
 * @c: the capture
 * @p: whose it is
 * @err: from saving it
 *
 * Nothing is said if that was not why.
 */
void cryo_refuse_too_big(struct cryo_capture *c, const struct cryo_proc *p, int err);

/**
 * cryo_describe_task() - how a message names another process
 * @task: any task
 * @buf: gets "pid N (comm)", or "another process" if the requester may not trace it
 * @size: CRYO_WHO_MAX is enough
 */
void cryo_describe_task(struct task_struct *task, char *buf, size_t size);

/**
 * cryo_warn() - note what is worth knowing, but no obstacle
 * @c: the capture
 * @p: the process that it is about
 * @fmt: the message
 * @...: as for printk()
 */
__printf(3, 4)
void cryo_warn(struct cryo_capture *c, const struct cryo_proc *p, const char *fmt, ...);

/**
 * cryo_warn_always() - the same, of what keeps a user from restarting the context
 * @c: the capture
 * @p: the process that it is about
 * @fmt: the message
 * @...: as for printk()
 *
 * cr_checkpoint shows it without being asked, too.
 */
__printf(3, 4)
void cryo_warn_always(struct cryo_capture *c, const struct cryo_proc *p, const char *fmt, ...);

/* objects.c: identity */

/**
 * cryo_objects_init() - make room for the objects of a capture
 * @c: the capture
 *
 * Return: 0 or -ENOMEM.
 */
int cryo_objects_init(struct cryo_capture *c);

/**
 * cryo_object_file() - the object of an open file, new or known
 * @c: the capture
 * @p: the process that has it
 * @file: the file; counted by the object
 *
 * Return: the object, which belongs to @c; NULL: no memory.
 */
struct cryo_object *cryo_object_file(struct cryo_capture *c, struct cryo_proc *p,
				     struct file *file);

/**
 * cryo_object_find() - the object that is known by an address
 * @c: the capture
 * @key: of a struct file or struct inode: identity only
 *
 * Return: NULL: not known.
 */
struct cryo_object *cryo_object_find(struct cryo_capture *c, const void *key);

/**
 * cryo_object_waiting() - the object of a connection that has not been accepted
 * @c: the capture
 * @sk: its socket; counted by the object
 * @listener: the socket in whose queue it is
 *
 * Return: NULL: no memory.
 */
struct cryo_object *cryo_object_waiting(struct cryo_capture *c, struct sock *sk,
					struct cryo_object *listener);

/**
 * cryo_objects_free() - free all objects of a capture
 * @c: the capture
 */
void cryo_objects_free(struct cryo_capture *c);

#endif /* CRYO_CAPTURE_CAPTURE_H */
