// SPDX-License-Identifier: GPL-2.0-only
/* The same as ns-mount-inotify.c by root. */
#define INOTIFY_FLAGS CRT_ROOT
#include "ns-mount-inotify.c"
