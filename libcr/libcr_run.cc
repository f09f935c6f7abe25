// SPDX-License-Identifier: LGPL-2.1-or-later
// libcr_run.so.0: what cr_run(1) preloads.
//
// It runs no code. BLCR needed a signal handler in each process that was to be checkpointed, and this library
// was how an unchanged program got one. Cryo's module needs nothing from the process; the library keeps link
// lines ("-lcr_run -u cr_run_link_me") and LD_PRELOAD settings made for BLCR working.

extern "C" __attribute__((visibility("default"))) int cr_run_link_me;
int cr_run_link_me = 1;
