/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * sock_filter.h - filters of sockets (SO_ATTACH_FILTER), multicast groups that they are in, network
 * interfaces that they name
 */
#ifndef CRYO_SOCK_FILTER_H
#define CRYO_SOCK_FILTER_H

#include <linux/types.h>

struct cryo_capture;
struct cryo_object;
struct sock;

const char *cryo_sock_filter_obstacle(struct sock *sk);
bool cryo_has_filter_of(struct sock *sk, struct sock *listener);
int cryo_save_sock_filter(struct cryo_capture *c, struct cryo_object *o);
int cryo_save_sock_groups(struct cryo_capture *c, struct cryo_object *o);
int cryo_save_sock_devices(struct cryo_capture *c, struct cryo_object *o);

#endif /* CRYO_SOCK_FILTER_H */
