// SPDX-License-Identifier: GPL-2.0-only
/* What programs, configure scripts and link lines made for BLCR rely on: layout of structures, values, and data symbols. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <stddef.h>

#include "check.h"

#define AT(type, member, where) is(offsetof(type, member), where, "offset of " #member " in " #type)

static void structures(void)
{
	is(sizeof(struct cr_checkpoint_info), 32, "size of struct cr_checkpoint_info");
	AT(struct cr_checkpoint_info, signal, 0);
	AT(struct cr_checkpoint_info, dest, 8);
	AT(struct cr_checkpoint_info, requester, 16);
	AT(struct cr_checkpoint_info, target, 20);
	AT(struct cr_checkpoint_info, scope, 24);
	is(sizeof(struct cr_restart_info), 16, "size of struct cr_restart_info");
	AT(struct cr_restart_info, requester, 0);
	AT(struct cr_restart_info, src, 8);
	is(sizeof(cr_checkpoint_args_t), 28, "size of cr_checkpoint_args_t");
	AT(cr_checkpoint_args_t, cr_version, 0);
	AT(cr_checkpoint_args_t, cr_scope, 4);
	AT(cr_checkpoint_args_t, cr_target, 8);
	AT(cr_checkpoint_args_t, cr_fd, 12);
	AT(cr_checkpoint_args_t, cr_signal, 16);
	AT(cr_checkpoint_args_t, cr_timeout, 20);
	AT(cr_checkpoint_args_t, cr_flags, 24);
	is(sizeof(cr_restart_args_t), 24, "size of cr_restart_args_t");
	AT(cr_restart_args_t, cr_version, 0);
	AT(cr_restart_args_t, cr_fd, 4);
	AT(cr_restart_args_t, cr_signal, 8);
	AT(cr_restart_args_t, cr_flags, 12);
	AT(cr_restart_args_t, cr_relocate, 16);
	is(sizeof(struct cr_rstrt_relocate), 8, "size of struct cr_rstrt_relocate, without pairs");
	is(sizeof(struct cr_rstrt_relocate_pair), 16, "size of struct cr_rstrt_relocate_pair");
	is(CR_RSTRT_RELOCATE_SIZE(3), 56, "CR_RSTRT_RELOCATE_SIZE(3)");
}

static void types(void)
{
	is(sizeof(cr_version_t), 4, "size of cr_version_t");
	is(sizeof(cr_client_id_t), 4, "size of cr_client_id_t");
	is(sizeof(cr_callback_id_t), 4, "size of cr_callback_id_t");
	is(sizeof(cr_spinlock_t), 4, "size of cr_spinlock_t");
	is(sizeof(cr_checkpoint_handle_t), 8, "size of cr_checkpoint_handle_t");
	is(sizeof(cr_restart_handle_t), 8, "size of cr_restart_handle_t");
	is(sizeof(cr_scope_t), 4, "size of cr_scope_t");
	is(sizeof(cr_hook_event_t), 4, "size of cr_hook_event_t");
}

static void values(void)
{
	is(CR_MAX_CALLBACKS, 0x1FFFFFF, "CR_MAX_CALLBACKS");
	is(CR_THREAD_CONTEXT, 0x4000000, "CR_THREAD_CONTEXT");
	is(CR_SIGNAL_CONTEXT, 0x2000000, "CR_SIGNAL_CONTEXT");
	is(CR_CHECKPOINT_TEMP_FAILURE_CODE(5), 0x50001, "CR_CHECKPOINT_TEMP_FAILURE_CODE(5)");
	is(CR_CHECKPOINT_PERM_FAILURE_CODE(5), 0x50002, "CR_CHECKPOINT_PERM_FAILURE_CODE(5)");
	is(CR_CHECKPOINT_OMIT, 4, "CR_CHECKPOINT_OMIT");
	is(CR_SCOPE_PROC, 0, "CR_SCOPE_PROC");
	is(CR_SCOPE_TREE, 3, "CR_SCOPE_TREE");
	is(CR_CHKPT_DUMP_ALL, 0xE00, "CR_CHKPT_DUMP_ALL");
	is(CR_RSTRT_RESTORE_SID, 8, "CR_RSTRT_RESTORE_SID");
	is(CR_NUM_HOOKS, 6, "CR_NUM_HOOKS");
	is(CR_MAX_RSTRT_RELOC, 16, "CR_MAX_RSTRT_RELOC");
	is(CR_DEST_CWD, -4096, "CR_DEST_CWD");
	is(CR_HOLD_READ, -1, "CR_HOLD_READ");
	is(CR_HOLD_DFLT, 4, "CR_HOLD_DFLT");
}

/* The program is linked with "-lcr_run -u cr_run_link_me -lcr -u cr_link_me". */
static void symbols(void)
{
	const int *number = (const int *)dlsym(RTLD_DEFAULT, "cri_signum");

	ok(number && *number == CR_SIGNUM, "cri_signum is CR_SIGNUM, for those who look for it in what is loaded");
	ok(dlsym(RTLD_DEFAULT, "cr_link_me") != NULL, "-u cr_link_me: libcr is needed");
	ok(dlsym(RTLD_DEFAULT, "cr_run_link_me") != NULL, "-u cr_run_link_me: libcr_run is needed");
	ok(dlsym(RTLD_DEFAULT, "cri_sig_handler") != NULL, "cri_sig_handler");
}

static void has(const char *library, const char *symbol)
{
	void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);

	if (!handle)
		handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	ok(handle && dlsym(handle, symbol) != NULL, "%s has %s", library, symbol);
}

int main(void)
{
	structures();
	types();
	values();
	symbols();
	has("libcr_run.so.0", "cri_run_sig_handler");
	has("libcr_run.so.0", "cri_signum");
	has("libcr_omit.so.0", "cr_omit_link_me");
	has("libcr_omit.so.0", "cri_omit_sig_handler");
	ok(SIGRTMAX == CR_SIGNUM, "SIGRTMAX is as without the library");
	return finish();
}
