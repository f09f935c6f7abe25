/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * events.h - progress by generic netlink
 *
 * Family CRYO_GENL_NAME, multicast group CRYO_GENL_GROUP, in the network
 * namespace of the requester.  Events carry numbers only: no path, no name.
 */
#ifndef _UAPI_CRYO_EVENTS_H
#define _UAPI_CRYO_EVENTS_H

#define CRYO_GENL_NAME		"cryo"
#define CRYO_GENL_VERSION	1
#define CRYO_GENL_GROUP		"events"

enum cryo_event {
	CRYO_EVENT_UNSPEC,
	CRYO_EVENT_STATE,		/* the request entered CRYO_EA_STATE */
	CRYO_EVENT_PROGRESS,		/* at most ten per second while memory is written */
	__CRYO_EVENT_MAX
};

enum cryo_event_attr {
	CRYO_EA_UNSPEC,
	CRYO_EA_TARGET,			/* u32: pid of the target, in the requester's namespace */
	CRYO_EA_REQUESTER,		/* u32: pid (thread group) of the requester */
	CRYO_EA_STATE,			/* u32: CRYO_STATE_* of ioctl.h */
	CRYO_EA_RESULT,			/* s32: 0 or negative errno, with DONE, HELD and FAILED */
	CRYO_EA_BYTES_DONE,		/* u64: written so far */
	CRYO_EA_BYTES_TOTAL,		/* u64: an upper estimate */
	CRYO_EA_PAD,
	__CRYO_EA_MAX
};
#define CRYO_EA_MAX (__CRYO_EA_MAX - 1)

#endif /* _UAPI_CRYO_EVENTS_H */
