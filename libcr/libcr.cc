// SPDX-License-Identifier: LGPL-2.1-or-later
// libcr.so.0: the library with which a program takes part in its own checkpoint.
//
// This release has no functions yet: processes are checkpointed without their help. What is here is the symbol
// by which a link with "-lcr -u cr_link_me" makes sure that --as-needed does not drop the library.

extern "C" __attribute__((visibility("default"))) int cr_link_me;
int cr_link_me = 1;
