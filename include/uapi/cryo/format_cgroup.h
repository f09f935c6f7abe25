/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * format_cgroup.h - sections about control groups of version 2
 *
 * Part of format.h, which includes it: the rules there hold for these structures, too.
 */
#ifndef _UAPI_CRYO_FORMAT_CGROUP_H
#define _UAPI_CRYO_FORMAT_CGROUP_H

#include <linux/types.h>

#define CRYO_MAX_CGROUPS	65536	/* in a context: of more, nothing is saved */
#define CRYO_CGROUP_SETTINGS	256	/* of one group, at most */
#define CRYO_CGROUP_NAME_MAX	127	/* bytes of a file's name */
#define CRYO_CGROUP_VALUE_MAX	16384	/* bytes of its text */

#define CRYO_CGROUP_OWN		(1U << 0)	/* in it and in all below it there were only processes of the context */
#define CRYO_CGROUP_PARTIAL	(1U << 1)	/* there were more settings, or longer ones, than are saved */

/*
 * A control group that the job had to itself, or in which there were threads whose process was in another one. A group comes
 * after the one that it is in. Tail: path, as CGROUP; tids, u32 each: threads that were in it, while the CGROUP section of
 * their process names another one.
 */
struct cryo_cgroup {
	__u32 flags;			/* CRYO_CGROUP_OWN ... */
	__u32 mode;			/* permissions of its directory */
	__u32 uid;			/* whose that was */
	__u32 gid;
	__u32 files_uid;		/* whose cgroup.procs was: another one's, who may put processes into it */
	__u32 files_gid;
	__u32 path_len;			/* bytes */
	__u32 threads;			/* tids */
};

/*
 * A file of the group that can be read and written, but for those that are commands. Tail: its name, its text without the
 * newline at the end. Those that have no text are left out.
 */
struct cryo_cgroup_setting {
	__u32 name_len;			/* bytes */
	__u32 reserved;
};

#endif /* _UAPI_CRYO_FORMAT_CGROUP_H */
