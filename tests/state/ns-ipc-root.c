// SPDX-License-Identifier: GPL-2.0-only
/* The same as ipc-sysv.c in an ipc namespace of root, with limits of its own. */
#define IPC_FLAGS CRT_ROOT
#define IPC_NAMESPACE
#include "ipc-sysv.c"
