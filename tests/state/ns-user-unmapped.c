// SPDX-License-Identifier: GPL-2.0-only
/* A user namespace without ids, made by an ordinary user. */
#define _GNU_SOURCE
#include "ns-user-unmapped.h"

const struct crt_test crt_test = {
	.text = "a user namespace without ids",
	.setup = unshare_users,
	.verify = verify,
	.cases = "dropped",
};
