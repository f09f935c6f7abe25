/* SPDX-License-Identifier: GPL-2.0-only */
/* events.h - progress, by generic netlink */
#ifndef CRYO_REQUEST_EVENTS_H
#define CRYO_REQUEST_EVENTS_H

#include <linux/types.h>

struct cryo_request;

/* events.c: progress by generic netlink, for progress bars and schedulers */

/**
 * cryo_events_init() - register the family of the events
 *
 * Return: 0 or a negative errno.
 */
int cryo_events_init(void);

/**
 * cryo_events_exit() - take it away again
 */
void cryo_events_exit(void);

/**
 * cryo_event_state() - send all listeners the new state of a request
 * @req: the request
 *
 * Best effort, as all events.
 *
 * Context: May sleep.
 */
void cryo_event_state(struct cryo_request *req);

/**
 * cryo_event_progress() - send all listeners the progress of a request
 * @req: the request
 *
 * Ten times a second at most, however often it is called.
 *
 * Context: In its worker. May sleep.
 */
void cryo_event_progress(struct cryo_request *req);

#endif /* CRYO_REQUEST_EVENTS_H */
