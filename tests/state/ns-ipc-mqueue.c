// SPDX-License-Identifier: GPL-2.0-only
/* The same as ipc-mqueue.c in an ipc namespace of a user. */
#define IPC_FLAGS 0
#define IPC_NAMESPACE
#include "ipc-mqueue.c"
