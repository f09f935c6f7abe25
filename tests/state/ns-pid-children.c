// SPDX-License-Identifier: GPL-2.0-only
/* Pid namespaces for children in which nobody is, in user namespaces. */
#define _GNU_SOURCE
#include "ns-pid-children.h"

static const unsigned int members = PLAIN;

const struct crt_test crt_test = {
	.text = "a pid namespace for children, without any",
	.setup = setup,
	.verify = verify,
};
