// SPDX-License-Identifier: GPL-2.0-only
/* The same as file-modes.c by root, who gives them away (fchown(2)), too: to users who have nothing else to do with them. */
#define MODES_FLAGS CRT_ROOT
#include "file-modes.c"
