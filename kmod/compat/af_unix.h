/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * net/af_unix.h: what a Unix socket keeps with each buffer went from there to
 * net/unix/af_unix.h in v6.17 (84960bf24031), unchanged.
 */
#ifndef CRYO_COMPAT_AF_UNIX_H
#define CRYO_COMPAT_AF_UNIX_H

#include <linux/skbuff.h>
#include <linux/uidgid.h>
#include <net/af_unix.h>
#include <net/scm.h>

#ifndef UNIXCB
struct unix_skb_parms {
	struct pid *pid;
	kuid_t uid;
	kgid_t gid;
	struct scm_fp_list *fp;
#ifdef CONFIG_SECURITY_NETWORK
	u32 secid;
#endif
	u32 consumed;
} __randomize_layout;

#define UNIXCB(skb)	(*(struct unix_skb_parms *)&((skb)->cb))
#endif

/* A byte sent with MSG_OOB that has not been read. */
static inline bool cryo_unix_has_oob(struct sock *sk)
{
#if IS_ENABLED(CONFIG_AF_UNIX_OOB)
	return READ_ONCE(unix_sk(sk)->oob_skb);
#else
	return false;
#endif
}

#endif
