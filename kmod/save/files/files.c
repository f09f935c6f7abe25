// SPDX-License-Identifier: GPL-2.0-only
/*
 * files.c - open files and their inodes
 *
 * Each open file gets a kind that says how a restart opens it again; one that has
 * no kind is refused by name.
 */
#include <linux/dcache.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/kdev_t.h>
#include <linux/magic.h>
#include <linux/major.h>
#include <linux/mount.h>
#include <linux/shmem_fs.h>
#include <linux/slab.h>
#include <linux/stat.h>
#include <linux/string.h>
#include <linux/tty.h>

#include <cryo/format.h>
#include <cryo/ioctl.h>

#include "capture/capture.h"
#include "compat/fs.h"
#include "compat/hugetlb.h"
#include "compat/layouts.h"
#include "device.h"
#include "lib/buf.h"
#include "paths/find.h"
#include "paths/mounts.h"
#include "request/participant.h"
#include "resources.h"
#include "save/files.h"
#include "save/files/open.h"
#include "save/files/uring.h"
#include "save/ipc.h"
#include "save/memory/hugetlb.h"
#include "save/net.h"
#include "save/ns/ns_file.h"
#include "save/process/opener.h"

/* A name for people, of any open file. */
void cryo_describe_file(struct file *file, char *buf, size_t size)
{
	char *name = d_path(cryo_user_path(file), buf, size);

	if (IS_ERR(name))
		strscpy(buf, "?", size);
	else
		memmove(buf, name, strlen(name) + 1);
}

/* Files of the kernel's own shmem mount: memfd, shared anonymous memory, System V segments. */
static bool is_kernel_shmem(struct file *file)
{
	struct super_block *sb = file_inode(file)->i_sb;

	return sb->s_magic == TMPFS_MAGIC && sb->s_flags & SB_KERNMOUNT;
}

static bool has_prefix(struct file *file, const char *prefix)
{
	return !strncmp(file->f_path.dentry->d_name.name, prefix, strlen(prefix));
}

/* Memory of mmap(MAP_SHARED | MAP_ANONYMOUS). */
bool cryo_is_shared_anon(struct file *file)
{
	return (is_kernel_shmem(file) && has_prefix(file, "dev/zero")) ||
	       (cryo_is_kernel_hugetlb(file) && has_prefix(file, "anon_hugepage"));
}

/* A segment, or what shmat() maps of it. */
bool cryo_is_sysv(struct file *file)
{
	return (is_kernel_shmem(file) || cryo_is_kernel_hugetlb(file)) && has_prefix(file, "SYSV");
}

/* memfd, shared anonymous memory and System V segments. Their contents exist nowhere else. */
static const char *classify_kernel_shmem(struct cryo_object *o)
{
	if (has_prefix(o->file, "memfd:"))
		o->inode->inode_flags |= CRYO_INODE_MEMFD;
	else if (cryo_is_shared_anon(o->file))
		o->inode->inode_flags |= CRYO_INODE_SHMEM;
	else if (cryo_is_sysv(o->file))
		o->inode->inode_flags |= CRYO_INODE_SYSV;
	else
		return "kernel shared memory";
	o->inode->inode_flags |= CRYO_INODE_CONTENTS | CRYO_INODE_DELETED;
	o->kind = o->inode->inode_flags & CRYO_INODE_SYSV ? CRYO_FILE_SYSV : CRYO_FILE_CONTENTS;
	if (o->kind == CRYO_FILE_SYSV && o->fd >= 0)
		return "a descriptor of System V shared memory";
	return NULL;
}

/* mqueue, secretmem: regular files whose names lead nowhere. */
static const char *internal_fs(struct super_block *sb)
{
	if (!(sb->s_flags & (SB_KERNMOUNT | SB_NOUSER)))
		return NULL;
	return sb->s_type->name;
}

/*
 * Removed while it was open: NFS keeps such a file under another name until it is closed for the
 * last time, and then removes it; servers in user space do the same.
 */
static bool is_removed(const struct path *path)
{
	static const char hidden[] = ".fuse_hidden";
	struct dentry *dentry = path->dentry;
	bool removed;

	if (d_unlinked(dentry))
		return !cryo_has_other_name(path);
	spin_lock(&dentry->d_lock);
	removed = dentry->d_flags & DCACHE_NFSFS_RENAMED ||
		  (dentry->d_sb->s_magic == FUSE_SUPER_MAGIC &&
		   !strncmp(dentry->d_name.name, hidden, strlen(hidden)));
	spin_unlock(&dentry->d_lock);
	return removed;
}

static const char *classify_regular(struct cryo_object *o)
{
	const char *internal;

	if (is_kernel_shmem(o->file))
		return classify_kernel_shmem(o);
	if (cryo_is_hugetlb(o->file))
		return cryo_classify_hugetlb(o, is_removed(cryo_user_path(o->file)));
	if (o->inode->inode_flags & CRYO_INODE_POSIX_SHM) {
		o->kind = CRYO_FILE_POSIX_SHM;
		return NULL;
	}
	if (cryo_is_mqueue(o->file)) {
		o->kind = CRYO_FILE_MQUEUE;
		o->inode->kind = CRYO_FILE_MQUEUE;
		if (d_unlinked(o->file->f_path.dentry))
			o->inode->inode_flags |= CRYO_INODE_DELETED;
		return NULL;
	}
	internal = internal_fs(file_inode(o->file)->i_sb);
	if (internal)
		return internal;
	if (is_removed(cryo_user_path(o->file)))
		o->inode->inode_flags |= CRYO_INODE_CONTENTS | CRYO_INODE_DELETED;
	/* Needed without its name, by a mapping or because it has none. */
	o->kind = o->inode->inode_flags & CRYO_INODE_CONTENTS && (o->fd < 0 ||
		  o->inode->inode_flags & CRYO_INODE_DELETED) ?
		  CRYO_FILE_CONTENTS : CRYO_FILE_PATH;
	return NULL;
}

static const char *take_as_stdio(struct cryo_object *o)
{
	o->kind = CRYO_FILE_STDIO;
	return NULL;
}

/* Whether the requester has said what to do with the device. */
static bool classify_by_rule(struct cryo_capture *c, struct cryo_object *o)
{
	switch (cryo_device_rule(c->req, file_inode(o->file))) {
	case CRYO_DEVICE_REOPEN:
		o->kind = CRYO_FILE_DEVICE;
		return true;
	case CRYO_DEVICE_CLOSE:
		o->kind = CRYO_FILE_CLOSED;
		return true;
	}
	return false;
}

static const char *classify_block(struct cryo_capture *c, struct cryo_object *o)
{
	return classify_by_rule(c, o) ? NULL : "block device (without --device)";
}

static const char *classify_char(struct cryo_capture *c, struct cryo_object *o)
{
	dev_t dev = file_inode(o->file)->i_rdev;

	o->kind = cryo_pty_kind(c, o);
	if (o->kind)
		return NULL;
	if (classify_by_rule(c, o))
		return NULL;
	if (cryo_is_device(o->file)) {
		o->kind = CRYO_FILE_PATH;
		return NULL;
	}
	if (MAJOR(dev) == MEM_MAJOR) {
		switch (MINOR(dev)) {
		case 3: /* null */
		case 5: /* zero */
		case 7: /* full */
		case 8: /* random */
		case 9: /* urandom */
			o->kind = CRYO_FILE_PATH;
			return NULL;
		}
	}
	if (o->stdio_fd != U32_MAX)
		return take_as_stdio(o);
	/* /dev/tty (5:0) or the terminal itself */
	if (dev == MKDEV(TTYAUX_MAJOR, 0) || cryo_is_ctty(o->proc->task, o->file)) {
		o->kind = CRYO_FILE_CTTY;
		return NULL;
	}
	return "character device (without --device)";
}

static const char *classify_fifo(struct cryo_object *o)
{
	bool inside = !cryo_pipe_is_shared(o);

	if (o->file->f_mode & FMODE_PATH) {
		o->kind = CRYO_FILE_PATH;
		return NULL;
	}
	if (o->stdio_fd != U32_MAX && !inside)
		return take_as_stdio(o);
	if (d_unlinked(o->file->f_path.dentry) && !cryo_has_other_name(&o->file->f_path)) {
		if (!inside)
			return "deleted FIFO that another process has open";
		o->inode->inode_flags |= CRYO_INODE_DELETED;
	}
	o->kind = CRYO_FILE_FIFO;
	/* What is in it stays where it is while others have it open. */
	if (inside)
		o->inode->kind = CRYO_FILE_FIFO;
	return NULL;
}

/*
 * What comes from and goes to the outside is the restarting shell's affair, at whatever number: csh
 * has its standard input and output at 16 to 19.
 */
static const char *outside_pipe(struct cryo_capture *c, struct cryo_object *o)
{
	if (o->stdio_fd == U32_MAX) {
		cryo_warn(c, o->proc, "fd %d (pipe): its other end belongs to a process outside the checkpoint; a restart puts a descriptor of cr_restart in its place",
			  o->fd);
		o->stdio_fd = o->fd;
	}
	return take_as_stdio(o);
}

static const char *classify_pipe(struct cryo_capture *c, struct cryo_object *o)
{
	bool shared;

	if (!cryo_is_pipe(o->file))
		return classify_fifo(o);
	shared = cryo_pipe_is_shared(o);
	if (shared && o->fd >= 0)
		return outside_pipe(c, o);
	/* On its way in a message. */
	if (shared)
		return "pipe whose other end belongs to a process outside the checkpoint";
	o->kind = CRYO_FILE_PIPE;
	return NULL;
}

static const char *classify_socket(struct cryo_capture *c, struct cryo_object *o)
{
	const char *obstacle = NULL;

	if (o->file->f_flags & O_PATH) {
		o->kind = CRYO_FILE_PATH;
		return NULL;
	}
	o->kind = cryo_classify_socket(c, o, &obstacle);
	return obstacle;
}

static const char *classify_anon(struct cryo_object *o)
{
	const struct cryo_file_kind *kind = cryo_file_kind_of(o->file);

	if (!kind)
		return "descriptor of this type";
	o->kind = kind->kind;
	return NULL;
}

/* A place in the file system, whatever is there; the file itself is not open. */
static const char *classify_o_path(struct cryo_object *o)
{
	if (file_inode(o->file)->i_sb->s_flags & (SB_KERNMOUNT | SB_NOUSER))
		return "O_PATH descriptor of what has no path";
	o->kind = CRYO_FILE_PATH;
	if (!is_removed(cryo_user_path(o->file)))
		return NULL;
	return S_ISREG(file_inode(o->file)->i_mode) ?
	       classify_regular(o) : "O_PATH descriptor of a deleted file that is no regular one";
}

static const char *classify_directory(struct cryo_object *o)
{
	/* F_NOTIFY makes its caller the owner; for nothing else has a directory one. */
	if (cryo_has_owner(o->file))
		return "directory notification (dnotify)";
	o->kind = CRYO_FILE_PATH;
	if (d_unlinked(cryo_user_path(o->file)->dentry)) {
		o->inode->inode_flags |= CRYO_INODE_DELETED;
		o->kind = CRYO_FILE_REMOVED_DIR;
	}
	return NULL;
}

static const char *classify_pidfd(struct cryo_capture *c, struct cryo_object *o)
{
	const char *obstacle = NULL;

	o->kind = cryo_classify_pidfd(c, o, &obstacle);
	return obstacle;
}

static const char *classify_by_type(struct cryo_capture *c, struct cryo_object *o)
{
	const char *obstacle = cryo_proc_file_obstacle(c, o);

	if (obstacle)
		return obstacle;
	/* Regular files on newer kernels, on older ones without a type. */
	if (cryo_is_pidfd(o->file))
		return classify_pidfd(c, o);
	if (cryo_is_ns_file(o->file)) {
		o->kind = CRYO_FILE_NAMESPACE;
		return cryo_ns_file_obstacle(c, o);
	}
	if (o->file == c->req->out) {
		o->kind = CRYO_FILE_OUTPUT;
		return NULL;
	}
	if (o->file->f_flags & O_PATH && !S_ISDIR(file_inode(o->file)->i_mode))
		return classify_o_path(o);
	switch (file_inode(o->file)->i_mode & S_IFMT) {
	case S_IFREG:
		return classify_regular(o);
	case S_IFDIR:
		return classify_directory(o);
	case S_IFCHR:
		return classify_char(c, o);
	case S_IFIFO:
		return classify_pipe(c, o);
	case S_IFSOCK:
		return classify_socket(c, o);
	case S_IFBLK:
		return classify_block(c, o);
	}
	/* Anonymous inodes have no type. */
	return classify_anon(o);
}

/* What is to be read of it lies in a private structure of the kernel. */
static bool layout_fits(const struct cryo_object *o)
{
	const struct cryo_file_kind *kind = cryo_file_kind(o->kind);

	return !kind || !kind->needs || cryo_layout_fits(kind->needs - 1);
}

static const char *layout_obstacle(struct cryo_object *o)
{
	if (layout_fits(o))
		return NULL;
	/* Nothing is looked at. */
	o->kind = 0;
	o->inode->kind = 0;
	return "a file whose structures this kernel has changed (cr_info --check)";
}

/* Give @o its kind, or refuse it by name. */
static int classify_file(struct cryo_capture *c, struct cryo_object *o)
{
	const char *obstacle;
	char *name;

	obstacle = classify_by_type(c, o) ?: cryo_mount_obstacle(c, o) ?:
		   cryo_name_obstacle(c, o) ?: layout_obstacle(o);
	if (IS_ERR_OR_NULL(obstacle))
		return PTR_ERR(obstacle);
	name = kmalloc(PATH_MAX, GFP_KERNEL_ACCOUNT);
	if (!name)
		return -ENOMEM;
	cryo_describe_file(o->file, name, PATH_MAX);
	if (o->fd >= 0)
		cryo_refuse(c, o->proc, "fd %d (%s): %s is not supported", o->fd, name, obstacle);
	else if (o->carrier >= 0)
		cryo_refuse(c, o->proc, "file passed through fd %d (%s): %s is not supported",
			    o->carrier, name, obstacle);
	else
		cryo_refuse(c, o->proc, "memory at %lx (%s): %s is not supported",
			    o->vma_start, name, obstacle);
	kfree(name);
	return 0;
}

int cryo_classify_files(struct cryo_capture *c)
{
	struct cryo_object *o;
	int err = cryo_find_ttys(c);

	list_for_each_entry(o, &c->files, node) {
		err = err ?: cryo_capture_interrupted(c) ?: classify_file(c, o);
		if (err)
			break;
		if (o->kind == CRYO_FILE_PIPE)
			o->inode->kind = CRYO_FILE_PIPE;
		if (o->fd < 0)
			hlist_add_head(&o->of_proc, &o->proc->without_fd);
		cond_resched();
	}
	if (!err)
		cryo_find_outside(c);
	return err ?: cryo_choose_open_files(c);
}

/* Which one it is, whose, and how long. */
int cryo_describe_inode(const struct path *path, struct cryo_inode *out)
{
	struct kstat stat;
	int err = vfs_getattr(path, &stat, STATX_BASIC_STATS | STATX_BTIME, AT_STATX_DONT_SYNC);

	if (err)
		return err;
	out->dev = new_encode_dev(stat.dev);
	out->ino = stat.ino;
	out->size = stat.size;
	out->mtime_sec = stat.mtime.tv_sec;
	out->mtime_nsec = stat.mtime.tv_nsec;
	out->mode = stat.mode;
	out->uid = from_kuid_munged(current_user_ns(), stat.uid);
	out->gid = from_kgid_munged(current_user_ns(), stat.gid);
	out->rdev = new_encode_dev(stat.rdev);
	out->nlink = stat.nlink;
	out->fs_magic = path->dentry->d_sb->s_magic;
	if (stat.result_mask & STATX_BTIME) {
		out->btime_sec = stat.btime.tv_sec;
		out->btime_nsec = stat.btime.tv_nsec;
	}
	return 0;
}

static int save_inode(struct cryo_capture *c, struct cryo_object *o)
{
	struct cryo_inode out = { .flags = o->inode_flags };
	int err = cryo_describe_inode(cryo_user_path(o->file), &out);

	if (err)
		return err;
	o->size = out.size;
	if (o->inode_flags & CRYO_INODE_MEMFD)
		out.seals = cryo_is_hugetlb(o->file) ? cryo_hugetlb_seals(file_inode(o->file)) :
						       SHMEM_I(file_inode(o->file))->seals;
	return cryo_stream_section(&c->stream, CRYO_SEC_INODE, o->id, sizeof(out), &out,
				   sizeof(out));
}

/* Special files keep more than a name. */
static int save_inode_state(struct cryo_capture *c, struct cryo_object *o)
{
	const struct cryo_file_kind *kind = cryo_file_kind(o->kind);

	return kind && kind->save_inode ? kind->save_inode(c, o) : 0;
}

int cryo_save_inodes(struct cryo_capture *c)
{
	struct cryo_object *o;
	int err = 0;

	list_for_each_entry(o, &c->inodes, node) {
		err = cryo_capture_interrupted(c) ?: save_inode(c, o) ?: save_inode_state(c, o);
		cryo_refuse_too_big(c, o->proc, err);
		if (err)
			break;
		cond_resched();
	}
	return err;
}

/* The path, also of what has been removed; of a memfd its name alone. */
static char *saved_path(struct cryo_object *o, char *buf)
{
	static const char memfd[] = "/memfd:";
	bool deleted;
	char *name;

	if (o->name)
		return o->name;
	if (o->kind == CRYO_FILE_POSIX_SHM)
		return cryo_posix_shm_name(o->file, buf, PATH_MAX) ?: ERR_PTR(-ENOENT);
	name = cryo_path_name(cryo_user_path(o->file), buf, PATH_MAX, &deleted);
	if (IS_ERR(name))
		return name;
	if (o->inode->inode_flags & CRYO_INODE_MEMFD && !strncmp(name, memfd, strlen(memfd)))
		name += strlen(memfd);
	return name;
}

static int save_open_file(struct cryo_capture *c, struct cryo_object *o, char *page)
{
	struct cryo_file out = {
		.inode = o->inode->id,
		.kind = o->kind,
		.flags = o->file->f_flags,
	};
	struct cryo_mounts *mounts = cryo_in_mounts(c, cryo_user_path(o->file)->mnt);
	const struct cryo_file_kind *kind = cryo_file_kind(o->kind);
	struct cryo_buf buf = {};
	char *name;

	o->outside &= cryo_outside_now(o);
	out.outside = o->outside;
	out.pos = kind && kind->position ? kind->position(o) : cryo_saved_position(c, o);
	if (o->kind == CRYO_FILE_STDIO)
		out.stdio_fd = o->stdio_fd;
	if (mounts)
		out.mnt = mounts->number;
	/* open(2) would count as one who writes. */
	if (o->inode->inode_flags & CRYO_INODE_MEMFD && o->file->f_mode & FMODE_WRITE &&
	    !(o->file->f_mode & FMODE_WRITER))
		out.how |= CRYO_OPENED_MADE;
	cryo_save_owner(o->file, &out);
	name = saved_path(o, page);
	if (IS_ERR(name)) {
		cryo_refuse(c, o->proc, "fd %d: its path cannot be resolved: %pe",
			    o->fd, name);
		return 0;
	}
	cryo_buf_put(&buf, &out, sizeof(out));
	cryo_buf_put(&buf, name, strlen(name));
	return cryo_stream_buf(&c->stream, CRYO_SEC_FILE, o->id, sizeof(out), &buf);
}

static int save_file_state(struct cryo_capture *c, struct cryo_object *o)
{
	const struct cryo_file_kind *kind = cryo_file_kind(o->kind);

	return kind && kind->save ? kind->save(c, o) : 0;
}

int cryo_save_files(struct cryo_capture *c)
{
	char *page = kmalloc(PATH_MAX, GFP_KERNEL_ACCOUNT);
	struct cryo_object *o;
	int err = page ? 0 : -ENOMEM;

	list_for_each_entry(o, &c->files, node) {
		if (err)
			break;
		/*
		 * Refused ones have no kind: they are left out of what is not going to be written.
		 */
		if (o->kind)
			err = cryo_capture_interrupted(c) ?: save_open_file(c, o, page) ?:
			      cryo_save_opener(c, o) ?: save_file_state(c, o);
		cryo_refuse_too_big(c, o->proc, err);
		cond_resched();
	}
	kfree(page);
	return err;
}

static int save_by_path(struct cryo_capture *c, struct cryo_object *o)
{
	return cryo_save_build_id(c, o) ?: cryo_save_file_end(c, o);
}

static u64 client_position(struct cryo_object *o)
{
	return cryo_client_saved(o->file);
}

const struct cryo_file_kind cryo_file_kind_path = {
	.kind = CRYO_FILE_PATH,
	.save = save_by_path,
};

const struct cryo_file_kind cryo_file_kind_client = {
	.kind = CRYO_FILE_CLIENT,
	.is = cryo_is_client,
	.position = client_position,
};

const struct cryo_file_kind cryo_file_kind_request = {
	.kind = CRYO_FILE_REQUEST,
	.is = cryo_is_request,
};
