// SPDX-License-Identifier: GPL-2.0-only
/*
 * tmpfs.c - what is in the temporary file systems of a job's own mount namespaces
 *
 * They are found when the job is looked at, directories first, and written with the namespace;
 * contents of files follow with those of others (save/files/contents.c). Below a mount point is not
 * what is mounted there: every file of such a file system has a dentry as long as it exists, and
 * these are walked instead of paths.
 */
#include <linux/cred.h>
#include <linux/dcache.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/kdev_t.h>
#include <linux/mount.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/stringhash.h>
#include <linux/user_namespace.h>
#include <linux/xattr.h>

#include <cryo/format.h>

#include "capture/capture.h"
#include "lib/buf.h"
#include "paths/mounts.h"

struct tmpfs_reader {
	struct dir_context ctx;
	struct cryo_capture *c;
	struct cryo_proc *p;		/* obstacles name it */
	struct cryo_mounts *m;
	struct cryo_tmpfs_node *dir;
	const char *point;		/* of the mount, for messages */
	int error;
};

static bool is_dot(const char *name, int len)
{
	return name[0] == '.' && (len == 1 || (len == 2 && name[1] == '.'));
}

void cryo_tmpfs_init(struct cryo_mounts *m)
{
	INIT_LIST_HEAD(&m->nodes);
	xa_init_flags(&m->linked, XA_FLAGS_ACCOUNT);
}

static struct file *open_node(const struct path *path, int flags)
{
	struct file *file = dentry_open(path, O_RDONLY | O_LARGEFILE | O_NOATIME | flags,
					current_cred());
	bool is_directory = d_is_dir(path->dentry);
	int err;

	if (IS_ERR(file))
		return file;
	/* What is in a directory is opened without its name. */
	err = file_permission(file, is_directory ? MAY_READ | MAY_EXEC : MAY_READ);
	if (!err)
		return file;
	fput(file);
	return ERR_PTR(err);
}

static bool has_attributes(const struct cryo_tmpfs_node *n)
{
	unsigned int flags = S_APPEND | S_IMMUTABLE | S_NOATIME | S_CASEFOLD;

	return (d_inode(n->path.dentry)->i_flags & flags) ||
	       (n->stat.attributes & STATX_ATTR_NODUMP);
}

/* In nanoseconds a time has to be within 292 years of 1970. */
static bool is_far(const struct timespec64 *t)
{
	return t->tv_sec >= KTIME_SEC_MAX || t->tv_sec <= KTIME_SEC_MIN;
}

/* One that gives nobody a right that he has not anyway. */
static bool is_usual_device(const struct kstat *stat)
{
	static const u32 usual[][2] = CRYO_TMPFS_DEVICES;
	size_t i;

	for (i = 0; S_ISCHR(stat->mode) && i < ARRAY_SIZE(usual); i++)
		if (MAJOR(stat->rdev) == usual[i][0] && MINOR(stat->rdev) == usual[i][1])
			return true;
	return false;
}

/* What cannot be made again; NULL: nothing. */
static const char *node_obstacle(struct cryo_mounts *m, struct cryo_tmpfs_node *n)
{
	const struct kstat *stat = &n->stat;
	struct file *file;

	if ((S_ISCHR(stat->mode) || S_ISBLK(stat->mode)) && !is_usual_device(stat))
		return "device in a temporary file system";
	/* mknod(2) takes CAP_MKNOD of the initial one. */
	if (S_ISCHR(stat->mode) && m->owner != &init_user_ns)
		return "device in a temporary file system of a user namespace";
	if (has_attributes(n))
		return "file with attributes of chattr(1) in a temporary file system";
	if (is_far(&stat->atime) || is_far(&stat->mtime))
		return "file with a time after 2262 or before 1678 in a temporary file system";
	if (!kuid_has_mapping(m->owner, stat->uid) || !kgid_has_mapping(m->owner, stat->gid))
		return "file of a user that is not mapped in the mount namespace";
	if (vfs_listxattr(n->path.dentry, NULL, 0))
		return "file with extended attributes in a temporary file system";
	if (!S_ISREG(stat->mode) && !S_ISDIR(stat->mode))
		return NULL;
	file = open_node(&n->path, 0);
	if (IS_ERR(file))
		return "file in a temporary file system that the requester may not read";
	fput(file);
	return NULL;
}

/* The first name of a file stands for it. */
static int find_link(struct cryo_mounts *m, struct cryo_tmpfs_node *n)
{
	unsigned long key = (unsigned long)d_inode(n->path.dentry);
	struct cryo_tmpfs_node *first;

	if (S_ISDIR(n->stat.mode) || n->stat.nlink == 1)
		return 0;
	first = xa_load(&m->linked, key);
	n->link = first ? first->id : 0;
	return first ? 0 : xa_err(xa_store(&m->linked, key, n, GFP_KERNEL_ACCOUNT));
}

/* All of them: @name is not terminated. */
static struct cryo_tmpfs_node *new_node(struct tmpfs_reader *r, const char *name, int len)
{
	const char *above = r->dir ? r->dir->name : "";
	struct cryo_tmpfs_node *n;
	size_t size = strlen(above) + 1 + len + 1;

	if (size > PATH_MAX)
		return ERR_PTR(-ENAMETOOLONG);
	n = kvzalloc(struct_size(n, name, size), GFP_KERNEL_ACCOUNT);
	if (!n)
		return ERR_PTR(-ENOMEM);
	snprintf(n->name, size, "%s%s%.*s", above, *above ? "/" : "", len, name);
	return n;
}

static int add_node(struct tmpfs_reader *r, struct dentry *dentry, const char *name, int len,
		    u32 mount)
{
	struct cryo_tmpfs_node *n;
	const char *what;
	int err;

	if (fatal_signal_pending(current))
		return -EINTR;
	if (r->c->nr_mount_entries == CRYO_MAX_MOUNT_ENTRIES)
		return -EMFILE;
	n = new_node(r, name, len);
	if (IS_ERR(n))
		return PTR_ERR(n);
	n->mount = mount;
	n->id = ++r->c->nr_mount_entries;
	n->path.mnt = mntget(r->m->reading);
	n->path.dentry = dget(dentry);
	list_add_tail(&n->list, &r->m->nodes);
	err = vfs_getattr(&n->path, &n->stat, STATX_BASIC_STATS, AT_STATX_SYNC_AS_STAT) ?:
	      find_link(r->m, n);
	if (err)
		return err;
	what = node_obstacle(r->m, n);
	n->refused = what;
	if (what)
		cryo_refuse(r->c, r->p, "mount %s: /%s: %s is not supported",
			    r->point, n->name, what);
	return 0;
}

static bool add_name(struct dir_context *ctx, const char *name, int len, loff_t pos, u64 ino,
		     unsigned int type)
{
	struct tmpfs_reader *r = container_of(ctx, struct tmpfs_reader, ctx);
	struct qstr key = QSTR_INIT(name, len);
	struct dentry *dentry;

	if (is_dot(name, len))
		return true;
	key.hash = full_name_hash(r->dir->path.dentry, name, len);
	dentry = d_lookup(r->dir->path.dentry, &key);
	if (!dentry || d_really_is_negative(dentry))
		r->error = -ESTALE;
	else
		r->error = add_node(r, dentry, name, len, r->dir->mount);
	dput(dentry);
	return !r->error;
}

static int read_directory(struct tmpfs_reader *r)
{
	struct file *file;
	int err;

	if (fatal_signal_pending(current))
		return -EINTR;
	cond_resched();
	file = open_node(&r->dir->path, O_DIRECTORY);
	if (IS_ERR(file))
		return r->dir->refused ? 0 : PTR_ERR(file);
	r->ctx.pos = 0;
	err = iterate_dir(file, &r->ctx);
	fput(file);
	return err ?: r->error;
}

static int read_tmpfs(struct tmpfs_reader *r, const struct path *at, u32 mount)
{
	int err = add_node(r, at->dentry, "", 0, mount);

	if (err)
		return err;
	r->dir = list_last_entry(&r->m->nodes, struct cryo_tmpfs_node, list);
	list_for_each_entry_from(r->dir, &r->m->nodes, list) {
		if (S_ISDIR(r->dir->stat.mode))
			err = read_directory(r);
		if (err)
			return err;
	}
	return 0;
}

/* All that the mount with the number @mount, at @at, shows. */
int cryo_tmpfs_look(struct cryo_capture *c, struct cryo_proc *p, struct cryo_mounts *m, u32 mount,
		    const char *point, const struct path *at)
{
	struct tmpfs_reader r = { .ctx.actor = add_name, .c = c, .p = p, .m = m, .point = point };
	int err;

	/* Of a user that the namespace does not know: as empty as a new one. */
	if (simple_empty(at->dentry) && !kuid_has_mapping(m->owner, d_inode(at->dentry)->i_uid))
		return 0;
	m->reading = at->mnt;
	err = read_tmpfs(&r, at, mount);
	if (err == -EMFILE)
		cryo_refuse(c, p, "mount %s: more than %u files in temporary file systems are not supported",
			    point, CRYO_MAX_MOUNT_ENTRIES);
	else if (err == -ENAMETOOLONG)
		cryo_refuse(c, p, "mount %s: a path of more than %u bytes in a temporary file system is not supported",
			    point, PATH_MAX);
	else
		return err;
	return 0;
}

void cryo_tmpfs_free(struct cryo_mounts *m)
{
	struct cryo_tmpfs_node *n, *next;

	list_for_each_entry_safe(n, next, &m->nodes, list) {
		list_del(&n->list);
		path_put(&n->path);
		kvfree(n);
	}
	xa_destroy(&m->linked);
}

static bool is_other(struct dir_context *ctx, const char *name, int len, loff_t pos, u64 ino,
		     unsigned int type)
{
	struct tmpfs_reader *r = container_of(ctx, struct tmpfs_reader, ctx);

	if (!is_dot(name, len) && (len != 4 || memcmp(name, "ptmx", 4)))
		r->error = -ENOTEMPTY;
	return !r->error;
}

/* Is a pseudoterminal of the devpts at @at open? */
bool cryo_devpts_in_use(const struct path *at)
{
	struct tmpfs_reader r = { .ctx.actor = is_other };
	struct file *file = open_node(at, O_DIRECTORY);

	if (IS_ERR(file))
		return true;
	r.error = iterate_dir(file, &r.ctx) ?: r.error;
	fput(file);
	return r.error;
}

static int save_node(struct cryo_capture *c, const struct cryo_mounts *m,
		     const struct cryo_tmpfs_node *n)
{
	struct cryo_mount_entry out = {
		.ns = m->number,
		.mount = n->mount,
		.mode = n->stat.mode,
		.uid = from_kuid(m->owner, n->stat.uid),
		.gid = from_kgid(m->owner, n->stat.gid),
		.path_len = strlen(n->name),
		.link = n->link,
		.rdev = S_ISCHR(n->stat.mode) ? new_encode_dev(n->stat.rdev) : 0,
		.size = S_ISREG(n->stat.mode) && !n->link ? n->stat.size : 0,
		.atime_ns = timespec64_to_ns(&n->stat.atime),
		.mtime_ns = timespec64_to_ns(&n->stat.mtime),
	};
	DEFINE_DELAYED_CALL(done);
	const char *target = "";
	struct cryo_buf buf = {};

	if (S_ISLNK(n->stat.mode) && !n->link)
		target = vfs_get_link(n->path.dentry, &done);
	if (IS_ERR(target))
		return PTR_ERR(target);
	cryo_buf_put(&buf, &out, sizeof(out));
	cryo_buf_put(&buf, n->name, out.path_len);
	cryo_buf_put(&buf, target, strlen(target));
	do_delayed_call(&done);
	return cryo_stream_buf(&c->stream, CRYO_SEC_MOUNT_ENTRY, n->id, sizeof(out), &buf);
}

int cryo_save_tmpfs(struct cryo_capture *c, struct cryo_mounts *m)
{
	struct cryo_tmpfs_node *n;
	int err = 0;

	list_for_each_entry(n, &m->nodes, list) {
		err = save_node(c, m, n);
		if (err)
			break;
		cond_resched();
	}
	return err;
}
