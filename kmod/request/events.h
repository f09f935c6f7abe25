/* SPDX-License-Identifier: GPL-2.0-only */
/* events.h - progress, by generic netlink */
#ifndef CRYO_REQUEST_EVENTS_H
#define CRYO_REQUEST_EVENTS_H

#include <linux/types.h>

struct cryo_request;

/* events.c: progress by generic netlink, for progress bars and schedulers */

int cryo_events_init(void);
void cryo_events_exit(void);
void cryo_event_state(struct cryo_request *req);
void cryo_event_progress(struct cryo_request *req);

#endif /* CRYO_REQUEST_EVENTS_H */
