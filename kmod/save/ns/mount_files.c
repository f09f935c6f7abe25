// SPDX-License-Identifier: GPL-2.0-only
/*
 * mount_files.c - files in mount namespaces other than the requester's: what of them can be opened,
 * or bound, again there
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
#include "lib/walk_path.h"
#include "paths/find.h"
#include "paths/mounts.h"

/*
 * Where the name of a Unix socket is, if that is in a mount namespace of the job's own: counted
 * then.
 */
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

/* What it was bound to. */
static const char *address_of(const struct sock *sk)
{
	/* pairs with bind(), which publishes a finished name */
	const struct unix_address *addr = smp_load_acquire(&unix_sk(sk)->addr);

	return addr ? addr->name->sun_path : "";
}

/* Is @address, a relative one, how the path @name ends? */
static bool is_end_of(const char *name, const char *address)
{
	size_t len, whole = strlen(name);

	while (!strncmp(address, "./", 2))
		address += 2;
	len = strlen(address);
	return len && whole > len && name[whole - len - 1] == '/' &&
	       !strcmp(name + whole - len, address);
}

/*
 * Puts what the symbolic link @link has in front of @rest, in @page. False: that is not at hand, or
 * too long.
 */
static bool put_target(struct dentry *link, const char *rest, char *page)
{
	const char *target = READ_ONCE(d_backing_inode(link)->i_link);
	size_t len = target ? strlen(target) : 0;

	if (!len || len + strlen(rest) >= PATH_MAX)
		return false;
	memmove(page + len, rest, strlen(rest) + 1);
	memcpy(page, target, len);
	return true;
}

/* One part of the path @rest, of @len bytes, further: from @at, which then is what it leads to. */
static int step_to_part(struct path *at, const char *rest, size_t len)
{
	char part[NAME_MAX + 1];
	struct path next;
	int err;

	if (len > NAME_MAX)
		return -ENAMETOOLONG;
	memcpy(part, rest, len);
	part[len] = '\0';
	/* Upwards is not what it knows. */
	err = strcmp(part, "..") ? cryo_walk_path(at, part, &next) : -EXDEV;
	if (err)
		return err;
	path_put(at);
	*at = next;
	return 0;
}

/*
 * Where bind(2) goes by the absolute path in @page, from @root on, as far as that is known: through
 * symbolic links, but to the name itself. In @at, counted in any case.
 */
static int walk_through_links(const struct path *root, char *page, struct path *at)
{
	char *rest = page;
	struct path dir;
	int links = 0, err = 0;
	size_t len;

	*at = *root;
	path_get(at);
	for (rest += strspn(rest, "/"); !err && *rest; rest += strspn(rest, "/")) {
		dir = *at;
		path_get(&dir);
		len = strcspn(rest, "/");
		err = step_to_part(at, rest, len);
		rest += len;
		if (!err && *rest && d_is_symlink(at->dentry)) {
			err = links++ < 40 && put_target(at->dentry, rest, page) ? 0 : -ELOOP;
			path_put(at);
			*at = *page == '/' ? *root : dir;
			path_get(at);
			rest = page;
		}
		path_put(&dir);
	}
	return err;
}

/* Does the absolute path @address lead to @at in the namespace? 1, 0 or an error. */
static int leads_inside(const struct cryo_mounts *m, const char *address, const struct path *at)
{
	char *page = kmalloc(PATH_MAX, GFP_KERNEL_ACCOUNT);
	struct path found;
	int err;

	if (!page)
		return -ENOMEM;
	strscpy(page, address, PATH_MAX);
	err = walk_through_links(&m->root, page, &found);
	err = err ? cryo_not_found(err) : path_equal(&found, at);
	path_put(&found);
	kfree(page);
	return err;
}

/* Its name has not been found, by the error @err; 0: another one, or none, has been. */
static const char *unseen_name_obstacle(struct cryo_capture *c, int err)
{
	if (err != -ENOMEM)
		err = cryo_capture_interrupted(c);
	if (err)
		return ERR_PTR(err);
	return "socket that may have another name by now, in another mount namespace,";
}

/*
 * Why it cannot be bound again in the namespace, to the name that it has there; NULL: nothing is in
 * the way; or an error.
 */
static const char *bound_name_obstacle(struct cryo_capture *c, const struct sock *sk,
				       const struct path *at, const char *name)
{
	const char *address = address_of(sk);
	int leads;

	if (*address != '/')
		leads = is_end_of(name, address);
	else if (!strcmp(address, name))
		leads = 1;
	else
		leads = leads_inside(cryo_in_mounts(c, at->mnt), address, at);
	if (leads < 0)
		return ERR_PTR(leads);
	if (!leads)
		return unseen_name_obstacle(c, 0);
	if (READ_ONCE(d_backing_inode(at->dentry)->i_nlink) > 1)
		return "socket with several names in another mount namespace";
	/* What is mounted is read-only again before sockets are bound. */
	if (__mnt_is_readonly(at->mnt))
		return "socket in what is mounted read-only in another mount namespace";
	return NULL;
}

/* The same of one whose name may lead the requester to it, who binds it then. */
static const char *name_inside_obstacle(struct cryo_capture *c, struct cryo_object *o,
					const struct path *at, const char *name)
{
	int leads = cryo_path_leads_to(name, d_backing_inode(at->dentry));
	const char *obstacle;

	if (leads)
		return leads < 0 ? ERR_PTR(leads) : NULL;
	obstacle = bound_name_obstacle(c, sock_from_file(o->file)->sk, at, name);
	if (!obstacle)
		o->name_mnt = cryo_in_mounts(c, at->mnt)->number;
	return obstacle;
}

/*
 * It is bound again by the requester's path, where that leads to the same file of what both have
 * mounted, or else in the namespace. A name that has gone is had for a moment, wherever that can
 * be. NULL: nothing is in the way; or an error.
 */
static const char *socket_name_obstacle(struct cryo_capture *c, struct cryo_object *o)
{
	const char *obstacle = NULL;
	char *page, *name;
	struct path at;
	bool other;

	if (!get_place_inside(c, o, &at))
		return NULL;
	page = kmalloc(PATH_MAX, GFP_KERNEL_ACCOUNT);
	if (!page) {
		obstacle = ERR_PTR(-ENOMEM);
	} else if (!d_unlinked(at.dentry) || cryo_has_other_name(&at)) {
		name = cryo_find_name(c, &at, page, &other);
		obstacle = IS_ERR(name) ? unseen_name_obstacle(c, PTR_ERR(name)) :
			   name_inside_obstacle(c, o, &at, name);
	}
	kfree(page);
	path_put(&at);
	return obstacle;
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

/*
 * What stands in the way of opening the file again in its mount namespace; NULL: nothing; or an
 * error.
 */
const char *cryo_mount_obstacle(struct cryo_capture *c, struct cryo_object *o)
{
	const char *obstacle;
	int outside;

	if (list_empty(&c->mount_spaces))
		return NULL;
	if (o->kind == CRYO_FILE_INOTIFY && o->fd < 0 && cryo_mount_space(o->proc->task))
		return "inotify in a message, in a mount namespace other than the requester's,";
	if (o->kind == CRYO_FILE_FANOTIFY && cryo_mount_space(o->proc->task))
		return "fanotify in a mount namespace other than the requester's";
	obstacle = socket_name_obstacle(c, o);
	if (obstacle)
		return obstacle;
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
