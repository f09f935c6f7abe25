// SPDX-License-Identifier: GPL-2.0-only
/* The same by IPv6, from an address that only root can give to the machine. */
#define FLAGS CRT_ROOT
#include "sock-tcp-over.c"
