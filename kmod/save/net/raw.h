/* SPDX-License-Identifier: GPL-2.0-only */
/* raw.h - raw and ping sockets, and what they have in common with UDP's */
#ifndef CRYO_RAW_H
#define CRYO_RAW_H

#include <linux/types.h>

struct cryo_buf;
struct cryo_capture;
struct cryo_object;
struct sock;

/* raw.c */
bool cryo_is_raw(const struct sock *sk);
bool cryo_is_raw_or_ping(const struct sock *sk);
const char *cryo_raw_obstacle(struct cryo_capture *c, struct cryo_object *o);
void cryo_put_raw_options(struct sock *sk, struct cryo_buf *buf);
int cryo_save_raw(struct cryo_capture *c, struct cryo_object *o);

/* sockopt.c */
void cryo_put_sockopt(int level, int name, const void *value, size_t length,
		      struct cryo_buf *buf);

/* inet.c */
bool cryo_has_ip_options(struct sock *sk);

#endif /* CRYO_RAW_H */
