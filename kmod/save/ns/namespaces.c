// SPDX-License-Identifier: GPL-2.0-only
/*
 * namespaces.c - in which namespaces a process is, and what they hold
 *
 * Those that the requester has too are nobody's to rebuild, and numbered 0. Others must be owned by
 * the requester's user namespace or one below it.
 *
 * A thread that is parked keeps its namespaces, unless it is killed: so they are looked at with its
 * task_lock() only, and copied.
 */
#include <linux/cgroup.h>
#include <linux/cred.h>
#include <linux/ipc_namespace.h>
#include <linux/nsproxy.h>
#include <linux/pid_namespace.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/time_namespace.h>
#include <linux/user_namespace.h>
#include <linux/utsname.h>
#include <net/net_namespace.h>

#include <cryo/format.h>

#include "capture/capture.h"
#include "lib/buf.h"
#include "lib/locked_task.h"
#include "paths/mounts.h"
#include "resources.h"
#include "save/files.h"
#include "save/ipc.h"
#include "save/ns.h"
#include "save/ns/namespaces.h"

static bool is_below_ours(const struct user_namespace *ns)
{
	for (; ns; ns = ns->parent)
		if (ns == current_user_ns())
			return true;
	return false;
}

static u32 user_number(const struct user_namespace *ns)
{
	return ns == current_user_ns() ? 0 : ns->ns.inum;
}

static u32 pid_ns_number(const struct pid_namespace *ns)
{
	return !ns || ns == task_active_pid_ns(current) ? 0 : ns->ns.inum;
}

/* With task_lock() of the one who has @its. */
static void look_inside(struct cryo_ns_view *v, const struct nsproxy *its)
{
	const struct nsproxy *mine = current->nsproxy;

	if (its->uts_ns != mine->uts_ns) {
		v->ids.uts = its->uts_ns->ns.inum;
		v->owner[CRYO_NS_UTS] = get_user_ns(its->uts_ns->user_ns);
		cryo_view_uts(v, its->uts_ns);
	}
	if (its->ipc_ns != mine->ipc_ns) {
		v->ids.ipc = its->ipc_ns->ns.inum;
		v->owner[CRYO_NS_IPC] = get_user_ns(its->ipc_ns->user_ns);
		cryo_view_ipc(v, its->ipc_ns);
	}
	if (its->net_ns != mine->net_ns) {
		v->ids.net = its->net_ns->ns.inum;
		v->owner[CRYO_NS_NET] = get_user_ns(its->net_ns->user_ns);
		v->its_net = get_net(its->net_ns);
		cryo_view_net(v, its->net_ns);
	}
	if (its->cgroup_ns != mine->cgroup_ns) {
		v->ids.cgroup = its->cgroup_ns->ns.inum;
		v->owner[CRYO_NS_CGROUP] = get_user_ns(its->cgroup_ns->user_ns);
		v->cgroup = its->cgroup_ns->root_cset->dfl_cgrp;
		cgroup_get(v->cgroup);
	}
	if (its->time_ns != mine->time_ns) {
		v->ids.time = its->time_ns->ns.inum;
		v->owner[CRYO_NS_TIME] = get_user_ns(its->time_ns->user_ns);
		cryo_view_time(&v->time, its->time_ns);
	}
	if (its->time_ns_for_children != mine->time_ns)
		v->ids.time_for_children = its->time_ns_for_children->ns.inum;
	if (v->ids.time_for_children != v->ids.time) {
		v->owner[CRYO_NS_CHILDREN_TIME] = get_user_ns(its->time_ns_for_children->user_ns);
		cryo_view_time(&v->children_time, its->time_ns_for_children);
	}
	v->ids.pid_for_children = pid_ns_number(its->pid_ns_for_children);
	if (v->ids.pid_for_children != v->ids.pid)
		v->children_flags = cryo_pid_ns_flags(its->pid_ns_for_children);
}

static int look_at_view(struct cryo_capture *c, struct cryo_proc *p, struct cryo_ns_view *v)
{
	struct task_struct *task = p->task;
	const struct cred *cred = get_task_cred(task);
	struct nsproxy *its;

	memset(v, 0, sizeof(*v));
	v->user = get_user_ns(cred->user_ns);
	put_cred(cred);
	v->ids.user = user_number(v->user);
	v->ids.pid = pid_ns_number(task_active_pid_ns(task));
	task_lock(task);
	its = cryo_nsproxy_of(task);
	if (its)
		look_inside(v, its);
	task_unlock(task);
	v->ids.mnt = cryo_mounts_number(c, task);
	return its ? 0 : -ESRCH;
}

static void view_free(struct cryo_ns_view *v)
{
	int i;

	put_user_ns(v->user);
	for (i = 0; i < CRYO_NS_KINDS; i++)
		if (v->owner[i])
			put_user_ns(v->owner[i]);
	if (v->cgroup)
		cgroup_put(v->cgroup);
	if (v->its_net)
		put_net(v->its_net);
	kfree(v);
}

static const char *const kind_name[CRYO_NS_KINDS] = {
	[CRYO_NS_UTS] = "uts", [CRYO_NS_IPC] = "ipc", [CRYO_NS_NET] = "network",
	[CRYO_NS_CGROUP] = "cgroup", [CRYO_NS_TIME] = "time", [CRYO_NS_CHILDREN_TIME] = "time",
};

static void refuse_foreign(struct cryo_capture *c, struct cryo_proc *p,
			   const struct cryo_ns_view *v)
{
	struct pid_namespace *ns = task_active_pid_ns(p->task);
	int i;

	if (v->ids.pid && !is_below_ours(ns->user_ns))
		cryo_refuse(c, p, "a pid namespace owned by a user namespace that is not below the requester's is not supported");

	if (!is_below_ours(v->user))
		cryo_refuse(c, p, "a user namespace that is not below the requester's is not supported");
	for (i = 0; i < CRYO_NS_KINDS; i++)
		if (v->owner[i] && !is_below_ours(v->owner[i]))
			cryo_refuse(c, p, "a %s namespace owned by a user namespace that is not below the requester's is not supported",
				    kind_name[i]);
}

/* What cannot be rebuilt. An error: it could not be looked at. */
int cryo_check_namespaces(struct cryo_capture *c, struct cryo_proc *p)
{
	struct cryo_ns_view *v = kmalloc(sizeof(*v), GFP_KERNEL_ACCOUNT);
	struct cryo_mounts *mounts;
	int err = 0;

	if (!v)
		return -ENOMEM;
	if (look_at_view(c, p, v))
		goto free;
	refuse_foreign(c, p, v);
	err = cryo_check_mounts(c, p);
	if (err)
		goto free;
	mounts = cryo_mounts_of(c, p->task);
	if (mounts && mounts->owner && !is_below_ours(mounts->owner))
		cryo_refuse(c, p, "a mount namespace owned by a user namespace that is not below the requester's is not supported");
	cryo_check_pid_namespaces(c, p, v->user);
	cryo_check_parent(c, p);
	if (v->ids.ipc)
		err = cryo_ipc_note(c, p, v->ids.ipc);
	if (err)
		err = cryo_refuse_uninspectable(c, p, "ipc namespace", err);
	if (err)
		goto free;
	if (v->device[0])
		cryo_refuse(c, p, "network device %s in a network namespace other than the requester's is not supported",
			    v->device);
	if (v->address[0])
		cryo_refuse(c, p, "address %s of a network namespace other than the requester's is not supported",
			    v->address);
	if (v->its_net && v->ids.net != c->checked_net) {
		err = cryo_check_net(c, p, v->its_net);
		c->checked_net = v->ids.net;
	}
free:
	view_free(v);
	return err;
}

/* True for the first who asks. */
static bool is_new(struct cryo_capture *c, u32 number)
{
	const u32 *known = (const u32 *)c->namespaces.data;
	size_t i;

	for (i = 0; i < c->namespaces.len / sizeof(*known); i++)
		if (known[i] == number)
			return false;
	cryo_buf_put(&c->namespaces, &number, sizeof(number));
	return true;
}

static int put_head(struct cryo_capture *c, u32 number, const struct cryo_ns *head)
{
	return cryo_stream_section(&c->stream, CRYO_SEC_NS, number, sizeof(*head), head,
				   sizeof(*head));
}

static int save_head(struct cryo_capture *c, u32 number, u32 type, struct user_namespace *owner,
		     u32 parent)
{
	struct cryo_ns out = { .type = type, .owner = user_number(owner), .parent = parent };

	return put_head(c, number, &out);
}

static int save_user(struct cryo_capture *c, struct user_namespace *ns)
{
	struct cryo_ns_user out = { .record_size = sizeof(struct cryo_id_range) };
	struct cryo_id_range *ranges;
	struct cryo_buf buf = {};

	ranges = kvmalloc_array(2 * CRYO_MAX_ID_RANGES, sizeof(*ranges), GFP_KERNEL_ACCOUNT);
	if (!ranges)
		return -ENOMEM;
	out.nr_uids = cryo_uid_ranges(ns, ranges);
	out.nr_gids = cryo_gid_ranges(ns, ranges + out.nr_uids);
	out.owner_uid = from_kuid_munged(current_user_ns(), ns->owner);
	if (READ_ONCE(ns->flags) & USERNS_SETGROUPS_ALLOWED)
		out.flags |= CRYO_USER_SETGROUPS;
	cryo_buf_put(&buf, &out, sizeof(out));
	cryo_buf_put(&buf, ranges, (out.nr_uids + out.nr_gids) * sizeof(*ranges));
	kvfree(ranges);
	return save_head(c, ns->ns.inum, CLONE_NEWUSER, ns->parent, 0) ?:
	       cryo_stream_buf(&c->stream, CRYO_SEC_NS_USER, ns->ns.inum, sizeof(out), &buf);
}

/* And those above it, which end at ours unless it has been refused. */
static int save_users(struct cryo_capture *c, struct user_namespace *ns)
{
	int err = 0;

	if (!is_below_ours(ns))
		return 0;
	for (; !err && ns && ns != current_user_ns(); ns = ns->parent)
		if (is_new(c, ns->ns.inum))
			err = save_user(c, ns);
	return err;
}

static int save_cgroup_root(struct cryo_capture *c, u32 number, struct cgroup *cgroup)
{
	char *path = kmalloc(PATH_MAX, GFP_KERNEL_ACCOUNT);
	int len, err;

	if (!path)
		return -ENOMEM;
	len = cgroup_path_ns(cgroup, path, PATH_MAX, current->nsproxy->cgroup_ns);
	err = len > 0 && len < PATH_MAX ?
	      cryo_stream_section(&c->stream, CRYO_SEC_NS_CGROUP, number, 0, path, len) :
	      -ENAMETOOLONG;
	kfree(path);
	return err;
}

static int save_net_settings(struct cryo_capture *c, u32 number, struct cryo_ns_view *v)
{
	struct cryo_buf buf = {};

	/* Once for all that are in it, and with no lock of theirs: there are hundreds. */
	cryo_view_net_settings(v, v->its_net);
	if (v->settings_cut)
		return -ENOBUFS;
	cryo_buf_put(&buf, &v->net, sizeof(v->net));
	cryo_buf_put(&buf, v->settings, v->settings_len);
	return cryo_stream_buf(&c->stream, CRYO_SEC_NS_NET, number, sizeof(v->net), &buf);
}

static int save_ns(struct cryo_capture *c, struct cryo_ns_view *v, int kind, u32 number, u32 type,
		   u16 section, const void *contents, size_t size)
{
	int err;

	if (!number || !is_new(c, number))
		return 0;
	err = save_users(c, v->owner[kind]) ?: save_head(c, number, type, v->owner[kind], 0);
	if (!err && kind == CRYO_NS_CGROUP)
		return save_cgroup_root(c, number, v->cgroup);
	if (!err && kind == CRYO_NS_NET)
		return save_net_settings(c, number, v);
	return err ?: cryo_stream_section(&c->stream, section, number, size, contents, size);
}

/* And those above it. */
static int save_pid_namespaces(struct cryo_capture *c, struct cryo_proc *p)
{
	struct pid_namespace *ns = task_active_pid_ns(p->task);
	int err = 0;

	for (; !err && ns && ns != task_active_pid_ns(current); ns = ns->parent)
		if (is_new(c, ns->ns.inum))
			err = save_users(c, ns->user_ns) ?:
			      save_head(c, ns->ns.inum, CLONE_NEWPID, ns->user_ns,
					pid_ns_number(ns->parent));
	return err;
}

/* One with processes is saved with the first of them. */
static int save_empty_pid_namespace(struct cryo_capture *c, const struct cryo_ns_view *v)
{
	struct cryo_ns out = {
		.type = CLONE_NEWPID,
		.owner = v->ids.user,
		.parent = v->ids.pid,
		.flags = v->children_flags,
	};

	if (!v->children_flags || !is_new(c, v->ids.pid_for_children))
		return 0;
	return put_head(c, v->ids.pid_for_children, &out);
}

/* Of a mount namespace. */
static int save_ns_root(struct cryo_capture *c, struct cryo_mounts *m)
{
	struct cryo_inode out = {};
	struct cryo_buf buf = {};
	int err;

	if (!m->other_root)
		return 0;
	err = cryo_describe_inode(&m->root, &out);
	if (err)
		return err;
	cryo_buf_put(&buf, &out, sizeof(out));
	return cryo_stream_buf(&c->stream, CRYO_SEC_NS_ROOT, m->number, sizeof(out), &buf);
}

static int save_mount_namespace(struct cryo_capture *c, struct cryo_proc *p, u32 number)
{
	struct cryo_mounts *m = cryo_mounts_of(c, p->task);

	/* What could not be looked at has been refused: there is nothing to be saved. */
	if (!m || !m->theirs || !number || !is_new(c, number))
		return 0;
	return save_users(c, m->owner) ?: save_head(c, number, CLONE_NEWNS, m->owner, 0) ?:
	       cryo_save_mounts(c, m) ?: save_ns_root(c, m);
}

static int save_view(struct cryo_capture *c, struct cryo_proc *p, struct cryo_ns_view *v)
{
	static const struct cryo_namespaces ours;

	if (!memcmp(&v->ids, &ours, sizeof(ours)))
		return 0;
	return cryo_stream_section(&c->stream, CRYO_SEC_NAMESPACES, p->pid, sizeof(v->ids),
				   &v->ids, sizeof(v->ids)) ?:
	       save_users(c, v->user) ?:
	       save_pid_namespaces(c, p) ?:
	       save_empty_pid_namespace(c, v) ?:
	       (v->ids.pid ? cryo_save_pids(c, p) : 0) ?:
	       save_mount_namespace(c, p, v->ids.mnt) ?:
	       save_ns(c, v, CRYO_NS_UTS, v->ids.uts, CLONE_NEWUTS, CRYO_SEC_NS_UTS, &v->uts,
		       sizeof(v->uts)) ?:
	       save_ns(c, v, CRYO_NS_IPC, v->ids.ipc, CLONE_NEWIPC, CRYO_SEC_NS_IPC, &v->ipc,
		       sizeof(v->ipc)) ?:
	       save_ns(c, v, CRYO_NS_NET, v->ids.net, CLONE_NEWNET, CRYO_SEC_NS_NET, NULL, 0) ?:
	       save_ns(c, v, CRYO_NS_CGROUP, v->ids.cgroup, CLONE_NEWCGROUP, CRYO_SEC_NS_CGROUP,
		       NULL, 0) ?:
	       save_ns(c, v, CRYO_NS_TIME, v->ids.time, CLONE_NEWTIME, CRYO_SEC_NS_TIME, &v->time,
		       sizeof(v->time)) ?:
	       (v->owner[CRYO_NS_CHILDREN_TIME] ?
		save_ns(c, v, CRYO_NS_CHILDREN_TIME, v->ids.time_for_children, CLONE_NEWTIME,
			CRYO_SEC_NS_TIME, &v->children_time, sizeof(v->children_time)) : 0) ?:
	       c->namespaces.error;
}

/* Those of the process, and what of them nobody before it had. */
static int save_namespaces(struct cryo_capture *c, struct cryo_proc *p)
{
	struct cryo_ns_view *v = kmalloc(sizeof(*v), GFP_KERNEL_ACCOUNT);
	int err;

	if (!v)
		return -ENOMEM;
	err = look_at_view(c, p, v);
	if (!err)
		err = save_view(c, p, v);
	view_free(v);
	return err;
}

int cryo_save_zombie_namespaces(struct cryo_capture *c, struct cryo_proc *p)
{
	u32 number = pid_ns_number(task_active_pid_ns(p->task));
	struct cryo_namespaces out = { .pid = number, .pid_for_children = number };

	if (!number)
		return 0;
	return cryo_stream_section(&c->stream, CRYO_SEC_NAMESPACES, p->pid, sizeof(out), &out,
				   sizeof(out)) ?:
	       save_pid_namespaces(c, p) ?: cryo_save_pids(c, p);
}

const struct cryo_resource cryo_resource_namespaces = {
	.save = save_namespaces,
};
