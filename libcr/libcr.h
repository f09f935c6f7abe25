/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libcr.h - take part in one's own checkpoint, and ask for one
 *
 * Source-compatible with BLCR's header of this name.  See libcr(3), which also
 * says what differs.
 */
#ifndef _LIBCR_H
#define _LIBCR_H

#include <errno.h>
#include <sys/select.h>
#include <sys/time.h>
#include <sys/types.h>

#include "blcr_common.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The BLCR release whose interface this is. */
#define CR_RELEASE_MAJOR 0
#define CR_RELEASE_MINOR 8
#define CR_RELEASE_PATCH 6
#define CR_RELEASE_VERSION "0.8.6"
#define LIBCR_MAJOR 0
#define LIBCR_MINOR 5
#define LIBCR_PATCH 5
#define LIBCR_VERSION "0.5.5"

/* Defined in Cryo's library only. */
#define LIBCR_CRYO 1

typedef int (*cr_callback_t)(void*);
typedef int cr_client_id_t;
typedef int cr_callback_id_t;
typedef unsigned int cr_spinlock_t;
typedef unsigned long cr_checkpoint_handle_t; /* a descriptor, readable when the checkpoint is over */
typedef unsigned long cr_restart_handle_t;

/* ---- callbacks ---- */

#define CR_MAX_CALLBACKS 0x1FFFFFF
#define CR_SIGNAL_CONTEXT 0x2000000 /* in the thread that registered it, inside a signal handler */
#define CR_THREAD_CONTEXT 0x4000000 /* in a thread of the library */
#define CR_ID_CALLBACK ((cr_client_id_t)-1)

cr_client_id_t cr_init(void);
cr_callback_id_t cr_register_callback(cr_callback_t func, void* arg, int flags);
int cr_replace_callback(cr_callback_id_t id, cr_callback_t func, void* arg, int flags);
int cr_replace_self(cr_callback_t func, void* arg, int flags);
int cr_checkpoint(int flags);

struct cr_checkpoint_info {
  int signal;       /* that follows, 0: none */
  const char* dest; /* where the context goes, "": not in a file system */
  pid_t requester;  /* process that asked */
  pid_t target;     /* as given in the request */
  cr_scope_t scope;
};

struct cr_restart_info {
  pid_t requester; /* process that asked for the restart */
  const char* src; /* the context */
};

const struct cr_checkpoint_info* cr_get_checkpoint_info(void);
const struct cr_restart_info* cr_get_restart_info(void);
int cr_forward_checkpoint(cr_scope_t scope, pid_t target);

/* ---- critical sections ---- */

#define CR_STATE_IDLE 0
#define CR_STATE_PENDING 1
#define CR_STATE_ACTIVE 2

int cr_enter_cs(cr_client_id_t id);
int cr_tryenter_cs(cr_client_id_t id);
int cr_leave_cs(cr_client_id_t id);
int cr_status(void);

/* ---- hooks, hold, persistence ---- */

typedef enum {
  CR_HOOK_CONT_SIGNAL_CONTEXT = 0,
  CR_HOOK_CONT_THREAD_CONTEXT = 1,
  CR_HOOK_CONT_NO_CALLBACKS = 2,
  CR_HOOK_RSTRT_SIGNAL_CONTEXT = 3,
  CR_HOOK_RSTRT_THREAD_CONTEXT = 4,
  CR_HOOK_RSTRT_NO_CALLBACKS = 5,
  CR_NUM_HOOKS = 6
} cr_hook_event_t;
typedef void (*cr_hook_fn_t)(cr_hook_event_t);
#define CR_HOOK_FN_ERROR ((cr_hook_fn_t)(~0UL))

cr_hook_fn_t cr_register_hook(cr_hook_event_t event, cr_hook_fn_t func);

#define CR_HOLD_SCOPE_THREAD 0
#define CR_HOLD_SCOPE_INIT 1
#define CR_HOLD_SCOPE_UNINIT 2
#define CR_HOLD_READ (-1)
#define CR_HOLD_NONE 0
#define CR_HOLD_CONT 1
#define CR_HOLD_RSTRT 2
#define CR_HOLD_BOTH 3
#define CR_HOLD_DFLT 4

int cr_hold_ctrl(int scope, int flags);
int cr_inc_persist(void);
int cr_dec_persist(void);

/* ---- before a checkpoint, while all threads still run: not in BLCR ---- */

typedef int (*cr_prepare_func_t)(void*);
typedef int cr_prepare_id_t;

cr_prepare_id_t cr_register_prepare(cr_prepare_func_t func, void* arg, unsigned int timeout_ms);
int cr_replace_prepare(cr_prepare_id_t id, cr_prepare_func_t func, void* arg, unsigned int timeout_ms);

/* ---- memory that is not saved: not in BLCR ---- */

int cr_exclude_memory(void* addr, size_t len);
int cr_include_memory(void* addr, size_t len);

/* ---- how the restart was asked for: not in BLCR ---- */

const char* cr_get_restart_env(const char* name);
int cr_get_restart_path(const char* path, char* buffer, size_t size);

/* ---- requests ---- */

#define CR_CHECKPOINT_ARGS_VERSION 1
#define CR_RESTART_ARGS_VERSION 1

struct cr_checkpoint_args {
  cr_version_t cr_version;
  cr_scope_t cr_scope;
  pid_t cr_target;         /* 0: the caller, its group, its session */
  int cr_fd;               /* where the context goes */
  int cr_signal;           /* follows the checkpoint, 0: none */
  unsigned int cr_timeout; /* seconds, 0: none */
  unsigned int cr_flags;   /* CR_CHKPT_* */
};
typedef struct cr_checkpoint_args cr_checkpoint_args_t;

struct cr_restart_args {
  cr_version_t cr_version;
  int cr_fd;
  int cr_signal;
  unsigned int cr_flags; /* CR_RSTRT_* */
  struct cr_rstrt_relocate* cr_relocate;
};
typedef struct cr_restart_args cr_restart_args_t;

#define CR_POLL_CHKPT_ERR_PRE (-1)
#define CR_POLL_CHKPT_ERR_POST (-2)
#define CR_POLL_CHKPT_ERR_LOG (-3)
#define CR_POLL_RSTRT_ERR_PRE (-1)
#define CR_POLL_RSTRT_ERR_POST (-2)
#define CR_POLL_RSTRT_ERR_LOG (-3)

int cri_init_checkpoint_args_t(cr_version_t version, cr_checkpoint_args_t* args);
#define cr_initialize_checkpoint_args_t(args) cri_init_checkpoint_args_t(CR_CHECKPOINT_ARGS_VERSION, (args))
int cr_request_checkpoint(cr_checkpoint_args_t* args, cr_checkpoint_handle_t* handle);
int cr_wait_checkpoint(cr_checkpoint_handle_t* handle, struct timeval* timeout);
int cr_log_checkpoint(cr_checkpoint_handle_t* handle, unsigned int len, char* msg);
int cr_reap_checkpoint(cr_checkpoint_handle_t* handle);
int cr_poll_checkpoint_msg(cr_checkpoint_handle_t* handle, struct timeval* timeout, char** msg_p);
int cr_poll_checkpoint(cr_checkpoint_handle_t* handle, struct timeval* timeout);

int cri_init_restart_args_t(cr_version_t version, cr_restart_args_t* args);
#define cr_initialize_restart_args_t(args) cri_init_restart_args_t(CR_RESTART_ARGS_VERSION, (args))
int cr_request_restart(cr_restart_args_t* args, cr_restart_handle_t* handle);
int cr_wait_restart(cr_restart_handle_t* handle, struct timeval* timeout);
int cr_log_restart(cr_restart_handle_t* handle, unsigned int len, char* msg);
int cr_reap_restart(cr_restart_handle_t* handle);
int cr_poll_restart_msg(cr_restart_handle_t* handle, struct timeval* timeout, char** msg_p);
int cr_poll_restart(cr_restart_handle_t* handle, struct timeval* timeout);

#if defined(__GNUC__) && !defined(_CR_DEPRECATED)
#define _CR_DEPRECATED __attribute__((__deprecated__))
#elif !defined(_CR_DEPRECATED)
#define _CR_DEPRECATED
#endif
void cr_request(void) _CR_DEPRECATED;
void cr_request_file(const char* filename) _CR_DEPRECATED;
void cr_request_fd(int fd) _CR_DEPRECATED;

/* ---- others ---- */

#define CR_SPINLOCK_INITIALIZER 0U
void cr_spinlock_init(cr_spinlock_t* lock);
void cr_spinlock_lock(cr_spinlock_t* lock);
void cr_spinlock_unlock(cr_spinlock_t* lock);
int cr_spinlock_trylock(cr_spinlock_t* lock);

const char* cr_strerror(int error);

/* To be named by a linker's -u, so that --as-needed keeps the library. */
extern int cr_link_me;
extern const int cri_signum;

#ifdef __cplusplus
}
#endif

#endif /* _LIBCR_H */
