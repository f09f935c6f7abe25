/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * linux/udp.h: options that are bits of udp_flags since v6.7 (a0002127cd746 and others, also in
 * later 6.1 and 6.6).
 */
#ifndef CRYO_COMPAT_UDP_H
#define CRYO_COMPAT_UDP_H

#include <linux/udp.h>

static inline bool cryo_udp_is_corked(const struct sock *sk)
{
#ifdef udp_test_bit
	return udp_test_bit(CORK, sk);
#else
	return READ_ONCE(udp_sk(sk)->corkflag);
#endif
}

static inline bool cryo_udp_gathers(const struct sock *sk)
{
#ifdef udp_test_bit
	return udp_test_bit(GRO_ENABLED, sk);
#else
	return READ_ONCE(udp_sk(sk)->gro_enabled);
#endif
}

#endif /* CRYO_COMPAT_UDP_H */
