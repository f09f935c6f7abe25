// SPDX-License-Identifier: GPL-2.0-only
/*
 * mount_files.c - files in mount namespaces other than the requester's: what of them can be opened, or bound, again there
 */
#include <linux/dcache.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mount.h>
#include <linux/net.h>
#include <linux/path.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/un.h>
#include <net/af_unix.h>
#include <net/sock.h>

#include <cryo/format.h>

#include "capture/capture.h"
#include "compat/fs.h"
#include "paths/find.h"
#include "paths/mounts.h"

/* Where the name of a Unix socket is, if that is in a mount namespace of the job's own: counted then. */
static bool get_place_inside(struct cryo_capture *c, struct cryo_object *o, struct path *at)
{
	struct socket *sock = sock_from_file(o->file);
	struct sock *sk = sock ? sock->sk : NULL;

	*at = (struct path){};
	if (!sk || sk->sk_family != AF_UNIX)
		return false;
	unix_state_lock(sk);
	if (unix_sk(sk)->path.dentry && cryo_in_mounts(c, unix_sk(sk)->path.mnt)) {
		*at = unix_sk(sk)->path;
		path_get(at);
	}
	unix_state_unlock(sk);
	return at->dentry;
}

/* Does bind(2), called with what it was called with, lead to @name again? */
static bool is_bound_as(const struct sock *sk, const char *name)
{
	/* pairs with bind(), which publishes a finished name */
	const struct unix_address *addr = smp_load_acquire(&unix_sk(sk)->addr);
	const char *path = addr ? addr->name->sun_path : "";
	size_t len, whole = strlen(name);

	if (*path == '/')
		return !strcmp(path, name);
	while (!strncmp(path, "./", 2))
		path += 2;
	len = strlen(path);
	return len && whole > len && name[whole - len - 1] == '/' &&
	       !strcmp(name + whole - len, path);
}

/* Of one with a name in the namespace that leads the requester elsewhere. 1: it is in the way. */
static int note_name_inside(struct cryo_capture *c, struct cryo_object *o, const struct path *at,
			    const char *name)
{
	int leads = cryo_path_leads_to(name, d_backing_inode(at->dentry));

	if (leads)
		return leads < 0 ? leads : 0;
	if (!is_bound_as(sock_from_file(o->file)->sk, name))
		return 1;
	o->name_mnt = cryo_in_mounts(c, at->mnt)->number;
	return 0;
}

/*
 * It is bound again by the requester's path, where that leads to the same file of what both have mounted, or else in the
 * namespace.  A name that has gone is had for a moment, wherever that can be.  1: in the way, 0 or an error.
 */
static int look_at_name(struct cryo_capture *c, struct cryo_object *o)
{
	int err = 0;
	char *page, *name;
	struct path at;
	bool other;

	if (!get_place_inside(c, o, &at))
		return 0;
	page = kmalloc(PATH_MAX, GFP_KERNEL_ACCOUNT);
	if (!page) {
		err = -ENOMEM;
	} else if (!d_unlinked(at.dentry) || cryo_has_other_name(&at)) {
		name = cryo_find_name(c, &at, page, &other);
		if (!IS_ERR(name))
			err = note_name_inside(c, o, &at, name);
		else
			err = cryo_capture_interrupted(c) ?:
			      (name == ERR_PTR(-ENOMEM) ? -ENOMEM : 1);
	}
	kfree(page);
	path_put(&at);
	return err;
}

/* Is it what a path leads the requester to? 1, 0 or -ENOMEM. */
static int is_outside(struct file *file)
{
	char *page = kmalloc(PATH_MAX, GFP_KERNEL_ACCOUNT), *name;
	int outside = 0;

	if (!page)
		return -ENOMEM;
	name = d_path(cryo_user_path(file), page, PATH_MAX);
	if (!IS_ERR(name))
		outside = cryo_path_leads_to(name, file_inode(file));
	kfree(page);
	return outside;
}

/* What stands in the way of opening the file again in its mount namespace; NULL: nothing; or an error. */
const char *cryo_mount_obstacle(struct cryo_capture *c, struct cryo_object *o)
{
	int outside, inside;

	if (list_empty(&c->mount_spaces))
		return NULL;
	if (o->kind == CRYO_FILE_INOTIFY && o->fd < 0 && cryo_mount_space(o->proc->task))
		return "inotify in a message, in a mount namespace other than the requester's,";
	if (o->kind == CRYO_FILE_FANOTIFY && cryo_mount_space(o->proc->task))
		return "fanotify in a mount namespace other than the requester's";
	inside = look_at_name(c, o);
	if (inside < 0)
		return ERR_PTR(inside);
	if (inside)
		return "socket with a changed name in a mount namespace other than the requester's";
	if (!cryo_in_mounts(c, cryo_user_path(o->file)->mnt)) {
		outside = o->kind == CRYO_FILE_PATH ? is_outside(o->file) : 1;
		if (outside < 0)
			return ERR_PTR(outside);
		return outside ? NULL : "file on a mount that no path leads to";
	}
	switch (o->kind) {
	case CRYO_FILE_PATH:
	case CRYO_FILE_STDIO:
	case CRYO_FILE_CTTY:
	case CRYO_FILE_CLOSED:
	case CRYO_FILE_CONTENTS:
	case CRYO_FILE_REMOVED_DIR:
	case CRYO_FILE_FIFO:
	/* Of the requester's instance, or their mount has been refused. */
	case CRYO_FILE_PTY_MASTER:
	case CRYO_FILE_PTY_SLAVE:
		return NULL;
	}
	return "what is not a file with a path, in a mount namespace other than the requester's,";
}
