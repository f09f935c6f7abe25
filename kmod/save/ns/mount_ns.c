// SPDX-License-Identifier: GPL-2.0-only
/*
 * mount_ns.c - mount namespaces other than the requester's, and what is mounted in them
 *
 * What the kernel tells of mounts (mountinfo.c) is saved, beside the requester's own: what both
 * have can be bound from there. The rest has to be of a kind that can be mounted anew: what is in a
 * temporary file system is saved, too (tmpfs.c).
 *
 * To which namespace a file belongs is found out by its mount: each mount point is looked up from
 * the root of a process in there. A mount that is covered by another one is not found, and nor are
 * files on it.
 *
 * A file system that several of the job's namespaces have is made for the first of them.
 */
#include <linux/dcache.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/fs_struct.h>
#include <linux/magic.h>
#include <linux/mount.h>
#include <linux/nsproxy.h>
#include <linux/pid_namespace.h>
#include <linux/proc_fs.h>
#include <linux/proc_ns.h>
#include <linux/quotaops.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/user_namespace.h>
#include <linux/xarray.h>

#include <cryo/format.h>

#include "capture/capture.h"
#include "compat/fs.h"
#include "lib/buf.h"
#include "lib/locked_task.h"
#include "lib/walk_path.h"
#include "paths/find.h"
#include "paths/mounts.h"
#include "paths/paths.h"

static bool is_below(const char *path, const char *root)
{
	size_t len = strlen(root);

	return !strcmp(root, "/") ||
	       (!strncmp(path, root, len) && (!path[len] || path[len] == '/'));
}

/* Does the requester have what @m shows? */
static bool is_ours(const struct cryo_mount_table *ours, const struct cryo_mount_line *m)
{
	const struct cryo_mount_line *other;
	u32 at = CRYO_FIRST_MOUNT;

	while ((other = cryo_next_mount(ours, m->dev, &at)))
		if (is_below(m->root, other->root))
			return true;
	return false;
}

/* Is it the requester's root directory? */
static bool is_our_root(const struct cryo_mount_table *ours, const struct cryo_mount_line *m)
{
	const struct cryo_mount_line *other;
	u32 at = CRYO_FIRST_MOUNT;

	while ((other = cryo_next_mount(ours, m->dev, &at)))
		if (!strcmp(other->point, "/") && !strcmp(other->root, m->root))
			return true;
	return false;
}

struct mount_check {
	struct cryo_capture *c;
	struct cryo_proc *p;		/* the first that is found in it; obstacles name it */
	struct cryo_mounts *m;
	const struct cryo_mount_table *ours;
	struct xarray groups;		/* by number: struct mount_group */
};

/* Of mounts of one namespace. */
struct mount_group {
	u32 members;
	const struct cryo_mount_line *widest;	/* of all members, that which shows most */
};

struct standing_mount {
	struct path at;			/* counted, of the mount with this number */
	u32 id;
};

static void refuse_mount(struct mount_check *k, const struct cryo_mount_line *m, const char *what)
{
	cryo_refuse(k->c, k->p, "mount %s (%s): %s is not supported", m->point, m->type, what);
}

static bool is_namespace_of_job(struct cryo_capture *c, const struct pid_namespace *ns)
{
	struct cryo_proc *p;

	cryo_for_each_proc(p, c->req)
		if (!p->gone && p->task && task_active_pid_ns(p->task) == ns)
			return true;
	return false;
}

/* The pid namespace that a proc file system shows; 0: the requester's. */
static u32 shown_pids(struct mount_check *k, const struct cryo_mount_line *m,
		      struct super_block *sb)
{
	struct pid_namespace *ns = proc_pid_ns(sb);

	if (ns == task_active_pid_ns(current))
		return 0;
	if (!is_namespace_of_job(k->c, ns))
		refuse_mount(k, m, "one of a pid namespace without a process of the job");
	return ns->ns.inum;
}

/* Others that have it mounted would not see the same files afterwards. */
static int classify_tmpfs(struct mount_check *k, const struct cryo_mount_line *m,
			  const struct path *at)
{
	struct super_block *sb = at->dentry->d_sb;

	if (sb->s_user_ns != k->m->owner) {
		refuse_mount(k, m, "a temporary file system of another user namespace");
		return 0;
	}
	if (sb_any_quota_loaded(sb)) {
		refuse_mount(k, m, "a temporary file system with quotas");
		return 0;
	}
	return cryo_tmpfs_look(k->c, k->p, k->m, m->id, m->point, at);
}

/* The mount itself, if a path leads to it: @at is counted then. */
static int find_at(const struct cryo_mounts *mounts, const struct cryo_mount_line *m,
		   struct path *at)
{
	int err = cryo_walk_path(&mounts->root, m->point, at);

	if (err)
		return cryo_not_found(err);
	if (at->dentry == at->mnt->mnt_root && at->dentry->d_sb->s_dev == m->dev)
		return 1;
	path_put(at);
	return 0;
}

/* File systems that can be mounted anew. */
static const struct new_kind {
	const char *type;
	unsigned long magic;
} new_kinds[] = {
	{ "proc", PROC_SUPER_MAGIC },
	{ "tmpfs", TMPFS_MAGIC },
	{ "devpts", DEVPTS_SUPER_MAGIC },
};

/* By the text; NULL: of another kind. */
static const struct new_kind *kind_of(const struct cryo_mount_line *m)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(new_kinds); i++)
		if (!strcmp(m->type, new_kinds[i].type))
			return &new_kinds[i];
	return NULL;
}

/*
 * What was in the text may be gone, and its number another's: what is looked into is asked itself.
 */
static bool is_of_kind(const struct super_block *sb, const struct new_kind *kind)
{
	return sb->s_magic == kind->magic && !strcmp(sb->s_type->name, kind->type) &&
	       !(sb->s_flags & SB_KERNMOUNT);
}

/* Not what covers it, which may be a part of the same file system. */
static bool shows_all(const struct path *at)
{
	return at->dentry == at->dentry->d_sb->s_root;
}

/*
 * Of several mounts of one file system that is made anew, one stands for it: the first that shows
 * all of it.
 */
static int find_standing(struct mount_check *k, const struct cryo_mount_line *m,
			 struct standing_mount *same)
{
	const struct new_kind *kind = kind_of(m);
	const struct cryo_mount_line *other;
	u32 next = CRYO_FIRST_MOUNT;
	int found;

	while ((other = cryo_next_mount(k->m->theirs, m->dev, &next))) {
		found = cryo_capture_interrupted(k->c);
		if (!found && !strcmp(other->root, "/"))
			found = find_at(k->m, other, &same->at);
		if (found < 0)
			return found;
		if (!found)
			continue;
		if (shows_all(&same->at) && !is_idmapped_mnt(same->at.mnt) &&
		    is_of_kind(same->at.dentry->d_sb, kind)) {
			same->id = other->id;
			return 1;
		}
		path_put(&same->at);
	}
	return 0;
}

/* For a mount namespace of the job that has been looked at, or for this one. */
static bool is_made(struct cryo_capture *c, dev_t dev)
{
	const dev_t *made = (const dev_t *)c->made_devices.data;
	size_t i;

	for (i = 0; i < c->made_devices.len / sizeof(*made); i++)
		if (made[i] == dev)
			return true;
	return false;
}

/*
 * What the requester does not have, and why it cannot be made; NULL: it can. @at: where it is, or
 * NULL.
 */
static const char *obstacle_to_new(const struct cryo_mount_line *m, const struct path *at,
				   bool stands)
{
	if (!kind_of(m))
		return "a mount that the requester does not have";
	if (at && is_idmapped_mnt(at->mnt))
		return "one with ids mapped, that the requester does not have";
	if (stands)
		return NULL;
	return strcmp(m->root, "/") ? "a mount that the requester does not have" :
	       "one that is covered by another one, and that the requester does not have";
}

/* @at: where it is, or NULL. */
static int classify_new(struct mount_check *k, const struct cryo_mount_line *m,
			const struct path *at, struct cryo_mount *out)
{
	bool made = kind_of(m) && is_made(k->c, m->dev);
	struct standing_mount same = {};
	int stands = kind_of(m) && !made ? find_standing(k, m, &same) : 0;
	const char *obstacle;
	int err = 0;

	if (stands < 0)
		return stands;
	obstacle = obstacle_to_new(m, at, stands || made);
	if (obstacle) {
		refuse_mount(k, m, obstacle);
		goto put;
	}
	out->kind = stands && same.id == m->id ? CRYO_MOUNT_NEW : CRYO_MOUNT_AGAIN;
	if (made)
		return 0;
	/* That of the same processes is the same in each namespace. */
	if (kind_of(m)->magic == PROC_SUPER_MAGIC) {
		out->pid_ns = shown_pids(k, m, same.at.dentry->d_sb);
		goto put;
	}
	/* Whichever comes first: this stands for it, or comes later. */
	if (out->kind == CRYO_MOUNT_AGAIN)
		goto put;
	cryo_buf_put(&k->c->made_devices, &same.at.dentry->d_sb->s_dev, sizeof(dev_t));
	err = k->c->made_devices.error;
	if (err)
		goto put;
	if (kind_of(m)->magic == TMPFS_MAGIC)
		err = classify_tmpfs(k, m, &same.at);
	else if (cryo_devpts_in_use(&same.at))
		refuse_mount(k, m, "one with pseudoterminals that are open");
put:
	if (stands)
		path_put(&same.at);
	return err;
}

static bool is_deleted(const char *root)
{
	static const char suffix[] = "//deleted";
	size_t len = strlen(root);

	return len >= strlen(suffix) && !strcmp(root + len - strlen(suffix), suffix);
}

static bool is_related(const struct cryo_mount_line *m, const struct cryo_mount_line *other)
{
	return (m->shared && (other->shared == m->shared || other->master == m->shared)) ||
	       (m->master && other->shared == m->master);
}

static bool any_related(const struct cryo_mount_line *m, const struct cryo_mount_table *others)
{
	u32 i;

	for (i = 0; i < others->n; i++)
		if (is_related(m, &others->lines[i]))
			return true;
	return false;
}

/* NULL: no mount of the namespace is in it. */
static const struct mount_group *mount_group_of(struct mount_check *k, u32 number)
{
	return number ? xa_load(&k->groups, number) : NULL;
}

static int count_member(struct mount_check *k, const struct cryo_mount_line *m)
{
	struct mount_group *group = xa_load(&k->groups, m->shared);
	int err;

	if (!group) {
		group = kzalloc(sizeof(*group), GFP_KERNEL_ACCOUNT);
		if (!group)
			return -ENOMEM;
		group->widest = m;
		err = xa_err(xa_store(&k->groups, m->shared, group, GFP_KERNEL_ACCOUNT));
		if (err) {
			kfree(group);
			return err;
		}
	}
	group->members++;
	if (strlen(m->root) < strlen(group->widest->root))
		group->widest = m;
	return 0;
}

static int count_groups(struct mount_check *k)
{
	const struct cryo_mount_line *m = k->m->theirs->lines, *end = m + k->m->theirs->n;
	int err = 0;

	for (; !err && m < end; m++) {
		if (m->shared)
			err = count_member(k, m);
		cond_resched();
	}
	return err;
}

static void free_groups(struct mount_check *k)
{
	struct mount_group *group;
	unsigned long number;

	xa_for_each(&k->groups, number, group)
		kfree(group);
	xa_destroy(&k->groups);
}

/* The restart has a mount join a group by one that is in it and shows all that the former does. */
static bool can_join(const struct mount_group *group, const struct cryo_mount_line *m)
{
	return !group || (group->widest->dev == m->dev && is_below(m->root, group->widest->root));
}

/* Within a namespace: there it is restored. */
static void check_own_groups(struct mount_check *k, const struct cryo_mount_line *m)
{
	const struct mount_group *peers = mount_group_of(k, m->shared);
	const struct mount_group *master = mount_group_of(k, m->master);

	if (master || (peers && peers->members > 1))
		k->m->has_groups = true;
	if (!can_join(peers, m) || !can_join(master, m))
		refuse_mount(k, m, "propagation between mounts of one namespace of which none shows what all others do");
}

/*
 * What is mounted at one place would not be seen at the other: each shared mount comes back with a
 * group of its own.
 */
static void check_propagation(struct mount_check *k, const struct cryo_mount_line *m)
{
	struct cryo_mounts *other;

	if (!m->shared && !m->master)
		return;
	check_own_groups(k, m);
	list_for_each_entry(other, &k->c->mount_spaces, list) {
		if (other == k->m || !other->theirs || !any_related(m, other->theirs))
			continue;
		refuse_mount(k, m, "propagation between mount namespaces of the job");
		return;
	}
}

static int put_seen(struct mount_check *k, const struct path *at)
{
	int err;

	cryo_buf_put(&k->m->seen, at, sizeof(*at));
	if (k->m->seen.error) {
		path_put(at);
		return k->m->seen.error;
	}
	/* A mount is in one namespace only. */
	err = xa_insert(&k->c->seen_mounts, (unsigned long)at->mnt, k->m, GFP_KERNEL_ACCOUNT);
	return err == -EBUSY ? 0 : err;
}

/* Has it the root directory of the namespace? All others are below it. */
static bool is_root_mount(const struct cryo_mount_table *theirs, const struct cryo_mount_line *m)
{
	u32 i;

	if (strcmp(m->point, "/"))
		return false;
	for (i = 0; i < theirs->n; i++)
		if (theirs->lines[i].id == m->parent)
			return false;
	return true;
}

/* What can be made before there is a process in the namespace: the restart begins with it. */
static void judge_root(struct mount_check *k, const struct cryo_mount_line *m, u32 kind)
{
	if (is_our_root(k->ours, m))
		return;
	k->m->other_root = true;
	if (kind != CRYO_MOUNT_BIND && strcmp(m->type, "tmpfs"))
		refuse_mount(k, m, "a root directory other than the requester's");
}

/* @at: where it is, or NULL. */
static int judge_mount(struct mount_check *k, const struct cryo_mount_line *m,
		       const struct path *at)
{
	struct cryo_mount out = { .id = m->id, .kind = CRYO_MOUNT_BIND };
	int err = 0;

	if (is_deleted(m->root))
		refuse_mount(k, m, "one whose source has been deleted");
	else if (!is_ours(k->ours, m))
		err = classify_new(k, m, at, &out);
	if (err)
		return err;
	if (is_root_mount(k->m->theirs, m))
		judge_root(k, m, out.kind);
	check_propagation(k, m);
	if (k->m->records.len / sizeof(out) == CRYO_MAX_MOUNTS)
		return -E2BIG;
	cryo_buf_put(&k->m->records, &out, sizeof(out));
	return k->m->records.error;
}

static int look_at_mount(struct mount_check *k, const struct cryo_mount_line *m)
{
	struct path at;
	int found = find_at(k->m, m, &at);
	int err = found < 0 ? found : judge_mount(k, m, found ? &at : NULL);

	if (found <= 0)
		return err;
	if (!err)
		return put_seen(k, &at);
	path_put(&at);
	return err;
}

static int look_at_each(struct mount_check *k)
{
	int err = 0;
	u32 i;

	for (i = 0; !err && i < k->m->theirs->n; i++) {
		err = cryo_capture_interrupted(k->c) ?: look_at_mount(k, &k->m->theirs->lines[i]);
		cond_resched();
	}
	return err;
}

static void free_mounts(struct cryo_mounts *m)
{
	struct path *seen = (struct path *)m->seen.data;
	size_t i;

	for (i = 0; i < m->seen.len / sizeof(*seen); i++)
		path_put(&seen[i]);
	cryo_tmpfs_free(m);
	cryo_buf_free(&m->seen);
	cryo_buf_free(&m->records);
	path_put(&m->root);
	if (m->owner)
		put_user_ns(m->owner);
	cryo_mount_table_free(m->theirs);
	kfree(m);
}

void cryo_mounts_free(struct cryo_capture *c)
{
	struct cryo_mounts *m, *next;

	list_for_each_entry_safe(m, next, &c->mount_spaces, list)
		free_mounts(m);
	INIT_LIST_HEAD(&c->mount_spaces);
	xa_destroy(&c->seen_mounts);
	cryo_buf_free(&c->made_devices);
	cryo_mount_table_free(c->own_mounts);
	c->own_mounts = NULL;
}

/* Number and owner. */
static int identify_mounts(struct cryo_capture *c, struct cryo_mounts *m, pid_t pid)
{
	struct ns_common *ns = NULL;
	char name[48];
	struct file *file;

	snprintf(name, sizeof(name), "%d/ns/mnt", pid);
	file = cryo_proc_open(c, name);
	if (IS_ERR(file))
		return PTR_ERR(file);
	if (file_inode(file)->i_sb->s_magic == NSFS_MAGIC)
		ns = get_proc_ns(file_inode(file));
	if (!ns || strcmp(ns->ops->name, "mnt")) {
		fput(file);
		return -EIO;
	}
	m->number = ns->inum;
	m->owner = get_user_ns(ns->ops->owner(ns));
	fput(file);
	return 0;
}

static int read_tables(struct mount_check *k, pid_t pid)
{
	struct cryo_mount_table *theirs = cryo_mount_table_of(k->c, pid);

	if (IS_ERR(theirs))
		return PTR_ERR(theirs);
	k->m->theirs = theirs;
	k->ours = cryo_own_mounts(k->c);
	return PTR_ERR_OR_ZERO(k->ours);
}

/* Which one @task is in, not to be looked into; NULL: the requester's, or it is being killed. */
const void *cryo_mount_space(struct task_struct *task)
{
	const void *space = NULL;
	struct nsproxy *in;

	task_lock(task);
	in = cryo_nsproxy_of(task);
	if (in && in->mnt_ns != current->nsproxy->mnt_ns)
		space = in->mnt_ns;
	task_unlock(task);
	return space;
}

/*
 * Is the root directory of @task, which is counted in @root then, that of its mount namespace, not
 * one somewhere in it (chroot)?
 */
static int get_whole_root(struct task_struct *task, struct path *root, char *page)
{
	char *name;

	task_lock(task);
	if (task->fs)
		get_fs_root(task->fs, root);
	task_unlock(task);
	if (!root->dentry)
		return 0;
	name = d_path(root, page, PATH_MAX);
	if (!IS_ERR(name) && !strcmp(name, "/"))
		return 1;
	path_put(root);
	*root = (struct path){};
	return 0;
}

/*
 * A process of the namespace that sees all of it: the kernel tells each of what is below its root
 * directory only. 0: there is none, or an error.
 */
static pid_t find_witness(struct cryo_capture *c, struct cryo_mounts *m)
{
	char *page = kmalloc(PATH_MAX, GFP_KERNEL_ACCOUNT);
	struct cryo_proc *p;
	pid_t pid = 0;

	if (!page)
		return -ENOMEM;
	cryo_for_each_proc(p, c->req) {
		pid = cryo_capture_interrupted(c);
		if (!pid && !p->gone && !p->zombie && p->task &&
		    cryo_mount_space(p->task) == m->space &&
		    get_whole_root(p->task, &m->root, page))
			pid = p->pid;
		if (pid)
			break;
	}
	kfree(page);
	return pid;
}

static int look_at_mounts(struct cryo_capture *c, struct cryo_proc *p, struct cryo_mounts *m)
{
	struct mount_check k = { .c = c, .p = p, .m = m };
	pid_t pid = find_witness(c, m);
	int err = pid < 0 ? pid : identify_mounts(c, m, pid ?: p->pid);

	if (err)
		return err;
	if (!pid) {
		cryo_refuse(c, p, "a mount namespace all of whose processes have another root directory (chroot) is not supported");
		return 0;
	}
	xa_init_flags(&k.groups, XA_FLAGS_ACCOUNT);
	err = read_tables(&k, pid) ?: count_groups(&k) ?: look_at_each(&k);
	free_groups(&k);
	return err;
}

/* That which @task is in; NULL: the requester's, or one that nobody has looked at. */
struct cryo_mounts *cryo_mounts_of(struct cryo_capture *c, struct task_struct *task)
{
	const void *space = cryo_mount_space(task);
	struct cryo_mounts *m;

	list_for_each_entry(m, &c->mount_spaces, list)
		if (m->space == space)
			return m;
	return NULL;
}

/* The number of the one that @task is in; 0: the requester's. */
u32 cryo_mounts_number(struct cryo_capture *c, struct task_struct *task)
{
	struct cryo_mounts *m = cryo_mounts_of(c, task);

	return m ? m->number : 0;
}

/* That of the process: what of it cannot be made again. */
int cryo_check_mounts(struct cryo_capture *c, struct cryo_proc *p)
{
	const void *space = cryo_mount_space(p->task);
	struct cryo_mounts *m;
	int err = -ENOMEM;

	/* What has become too much is said once, and no more is read. */
	if (!space || cryo_mounts_of(c, p->task) || c->mount_bytes > CRYO_META_MAX)
		return 0;
	m = kzalloc(sizeof(*m), GFP_KERNEL_ACCOUNT);
	if (m) {
		m->space = space;
		cryo_tmpfs_init(m);
		list_add_tail(&m->list, &c->mount_spaces);
		err = look_at_mounts(c, p, m);
	}
	if (err == -E2BIG) {
		cryo_refuse(c, p, "a job whose mount namespaces have so many mounts that their tables take more than %u MiB is not supported",
			    CRYO_META_MAX / SZ_1M);
		return 0;
	}
	return err ? cryo_refuse_uninspectable(c, p, "mounts", err) : 0;
}

int cryo_save_mounts(struct cryo_capture *c, struct cryo_mounts *m)
{
	struct cryo_ns_mnt out = { .record_size = sizeof(struct cryo_mount) };
	const struct cryo_mount_table *ours = cryo_own_mounts(c);
	struct cryo_buf buf = {};

	out.nr_mounts = m->records.len / sizeof(struct cryo_mount);
	if (IS_ERR(ours))
		return PTR_ERR(ours);
	out.text_len = strlen(m->theirs->text);
	out.flags = m->has_groups ? CRYO_NS_MNT_GROUPS : 0;
	cryo_buf_put(&buf, &out, sizeof(out));
	cryo_buf_put(&buf, m->records.data, m->records.len);
	cryo_buf_put(&buf, m->theirs->text, out.text_len);
	cryo_buf_put(&buf, ours->text, strlen(ours->text));
	return cryo_stream_buf(&c->stream, CRYO_SEC_NS_MNT, m->number, sizeof(out), &buf) ?:
	       cryo_save_tmpfs(c, m);
}
