/* SPDX-License-Identifier: GPL-2.0-only */
/* namespaces.h - what namespaces.c and view_namespaces.c share */
#ifndef CRYO_NAMESPACES_H
#define CRYO_NAMESPACES_H

#include <linux/if.h>

#include <cryo/format.h>

struct cgroup;
struct cryo_capture;
struct cryo_id_range;
struct cryo_ns_time;
struct cryo_proc;
struct ipc_namespace;
struct net;
struct pid_namespace;
struct time_namespace;
struct user_namespace;
struct uts_namespace;

enum cryo_ns_kind {
	CRYO_NS_UTS,
	CRYO_NS_IPC,
	CRYO_NS_NET,
	CRYO_NS_CGROUP,
	CRYO_NS_TIME,
	CRYO_NS_CHILDREN_TIME,		/* when it is another than the process's own */
	CRYO_NS_KINDS,
};

/* A copy of what is in the namespaces of one process, as far as they are not the requester's. */
struct cryo_ns_view {
	struct cryo_namespaces ids;
	struct user_namespace *user;			/* counted */
	struct user_namespace *owner[CRYO_NS_KINDS];	/* counted */
	u32 children_flags;				/* CRYO_PIDNS_*, of that for children */
	struct cgroup *cgroup;				/* counted: root of the cgroup namespace */
	struct net *its_net;				/* counted */
	struct cryo_ns_uts uts;
	struct cryo_ns_ipc ipc;
	struct cryo_ns_net net;
	struct cryo_ns_time time;
	struct cryo_ns_time children_time;
	char settings[16384];				/* of @its_net, see net_settings.c */
	size_t settings_len;
	bool settings_cut;
	/* Obstacles. */
	char device[IFNAMSIZ];
	char address[48];
};

/* check_parent.c */
void cryo_check_parent(struct cryo_capture *c, struct cryo_proc *p);

/* pid_ns.c */
/* Of a process that is in @user. */
void cryo_check_pid_namespaces(struct cryo_capture *c, struct cryo_proc *p,
			       const struct user_namespace *user);
/* CRYO_PIDNS_* */
u32 cryo_pid_ns_flags(const struct pid_namespace *ns);
int cryo_save_pids(struct cryo_capture *c, struct cryo_proc *p);

/* view_namespaces.c: none of these sleeps */
void cryo_view_uts(struct cryo_ns_view *v, const struct uts_namespace *ns);
void cryo_view_ipc(struct cryo_ns_view *v, const struct ipc_namespace *ns);
void cryo_view_net(struct cryo_ns_view *v, struct net *net);
void cryo_view_time(struct cryo_ns_time *out, const struct time_namespace *ns);
/*
 * net_settings.c: of a namespace that is counted; fills the settings of @v, which have to be empty
 */
void cryo_view_net_settings(struct cryo_ns_view *v, struct net *net);
/* net_obstacles.c */
int cryo_check_net(struct cryo_capture *c, struct cryo_proc *p, struct net *net);
u32 cryo_uid_ranges(struct user_namespace *ns, struct cryo_id_range *out);
u32 cryo_gid_ranges(struct user_namespace *ns, struct cryo_id_range *out);

#endif /* CRYO_NAMESPACES_H */
