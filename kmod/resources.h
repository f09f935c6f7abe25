/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * resources.h - what a process, its memory, its threads and its open files have, and what saves
 * each
 *
 * A resource is one source file of kmod/save/, which has its description at the end, and a line in
 * a list here; it is named nowhere else. Most lists are in the order in which the sections are in a
 * context.
 */
#ifndef CRYO_RESOURCES_H
#define CRYO_RESOURCES_H

#include <linux/types.h>

struct cryo_capture;
struct cryo_object;
struct cryo_parked;
struct cryo_proc;
struct cryo_vma;
struct file;
struct vm_area_struct;

/**
 * struct cryo_resource - what each process, or each address space, has
 * @collect: of each process, before anything is described: look for obstacles, and note what else
 *	savers have to know
 * @collect_memory: the same once for each address space, when all of it is there
 * @collect_area: of each area of it but those of the kernel's code, in ascending order; with
 *	mmap_lock held for reading. The area is described as the last argument says.
 * @save: of each process: add sections to the stream
 * @save_memory: the same once for each address space
 * @release: of each process: free what has been collected, if it was
 *
 * Each may be left out. What is collected of an area goes into the process's notes (enum
 * cryo_note), which need no @release. All return 0 or a negative errno; an obstacle is no error,
 * see cryo_refuse().
 */
struct cryo_resource {
	int (*collect)(struct cryo_capture *c, struct cryo_proc *p);
	int (*collect_memory)(struct cryo_capture *c, struct cryo_proc *p);
	int (*collect_area)(struct cryo_proc *p, struct vm_area_struct *vma,
			    const struct cryo_vma *area);
	int (*save)(struct cryo_capture *c, struct cryo_proc *p);
	int (*save_memory)(struct cryo_capture *c, struct cryo_proc *p);
	void (*release)(struct cryo_proc *p);
};

/*
 * Of processes, and of their memory. Threads come behind locks: their signals before POSIX timers,
 * which send them.
 */
#define CRYO_RESOURCES(R)	\
	R(process_obstacles)	\
	R(process)		\
	R(namespaces)		\
	R(creds)		\
	R(directories)		\
	R(shared_tables)	\
	R(shared_memory)	\
	R(rlimits)		\
	R(sigactions)		\
	R(sigpending)		\
	R(itimers)		\
	R(mm)			\
	R(guards)		\
	R(aio)			\
	R(vma_names)		\
	R(mempolicies)		\
	R(cgroup)		\
	R(terminal)		\
	R(fds)			\
	R(sem_undo)		\
	R(locks)		\
	R(threads)		\
	R(posix_timers)

/*
 * Of those that note something of an address space: it is in cryo_proc.notes until the address
 * space is released.
 */
enum cryo_note {
	CRYO_NOTE_AIO,		/* struct cryo_aio */
	CRYO_NOTE_VMA_NAMES,	/* struct cryo_named_vma (save/memory/vma_name.c) */
	CRYO_NOTE_MEMPOLICIES,	/* struct cryo_mempolicy */
	CRYO_NR_NOTES
};

/**
 * struct cryo_thread_resource - what each thread has
 * @save: of each thread that has not exited: add sections to the stream. Returns 0 or a negative
 *	errno.
 */
struct cryo_thread_resource {
	int (*save)(struct cryo_capture *c, struct cryo_proc *p, struct cryo_parked *t);
};

#define CRYO_THREAD_RESOURCES(R)	\
	R(thread)			\
	R(regsets)			\
	R(seccomp)			\
	R(uclamp)			\
	R(mempolicy)			\
	R(directories)			\
	R(creds)			\
	R(sigpending)

/**
 * struct cryo_file_kind - a kind of open file
 * @kind: CRYO_FILE_*
 * @needs: CRYO_NEEDS_LAYOUT() of the private structures of the kernel that are read; without them,
 *	files of the kind are refused. 0: none are
 * @is: of files without a type (anonymous inodes): is it one? The first that says so has it. NULL:
 *	which files are of the kind is for cryo_classify_files() to say
 * @position: cryo_file.pos, in place of the position in the file
 * @save: of each open file: add sections behind its own
 * @save_inode: the same of what it is a file of, once
 *
 * @save and @save_inode return 0 or a negative errno.
 */
struct cryo_file_kind {
	u32 kind;
	u32 needs;
	bool (*is)(struct file *file);
	u64 (*position)(struct cryo_object *o);
	int (*save)(struct cryo_capture *c, struct cryo_object *o);
	int (*save_inode)(struct cryo_capture *c, struct cryo_object *o);
};

#define CRYO_NEEDS_LAYOUT(group)	(1 + CRYO_LAYOUT_##group)

/* Kinds that have more than a path. Those with @is are asked in this order. */
#define CRYO_KINDS_OF_FILES(K)	\
	K(path)			\
	K(client)		\
	K(request)		\
	K(eventfd)		\
	K(epoll)		\
	K(timerfd)		\
	K(signalfd)		\
	K(inotify)		\
	K(fanotify)		\
	K(uring)		\
	K(pidfd)		\
	K(namespace)		\
	K(pipe)			\
	K(fifo)			\
	K(mqueue)		\
	K(sysv)			\
	K(hugetlb)		\
	K(socket)		\
	K(unix)			\
	K(tcp)			\
	K(udp)			\
	K(raw)			\
	K(netlink)		\
	K(pty_master)		\
	K(pty_slave)

#define CRYO_DECLARE_RESOURCE(name) \
	extern const struct cryo_resource cryo_resource_##name;
#define CRYO_DECLARE_THREAD_RESOURCE(name) \
	extern const struct cryo_thread_resource cryo_thread_resource_##name;
#define CRYO_DECLARE_FILE_KIND(name) \
	extern const struct cryo_file_kind cryo_file_kind_##name;

CRYO_RESOURCES(CRYO_DECLARE_RESOURCE)
CRYO_THREAD_RESOURCES(CRYO_DECLARE_THREAD_RESOURCE)
CRYO_KINDS_OF_FILES(CRYO_DECLARE_FILE_KIND)

/*
 * save/resources.c: what struct cryo_resource says of all of them, in turn, up to the first error
 */
int cryo_collect_process(struct cryo_capture *c, struct cryo_proc *p);
int cryo_collect_memory(struct cryo_capture *c, struct cryo_proc *p);
int cryo_collect_area(struct cryo_proc *p, struct vm_area_struct *vma, const struct cryo_vma *area);
int cryo_save_resources(struct cryo_capture *c, struct cryo_proc *p);
void cryo_release_resources(struct cryo_proc *p);

/* The description of a CRYO_FILE_*; NULL: none, there is nothing but its path. */
const struct cryo_file_kind *cryo_file_kind(u32 kind);

/* That of a file of an anonymous inode; NULL: of none that is known. */
const struct cryo_file_kind *cryo_file_kind_of(struct file *file);

#endif /* CRYO_RESOURCES_H */
