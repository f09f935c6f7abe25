/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * blcr_common.h - types and numbers that libcr.h shares with old clients
 *
 * Names and values are those of BLCR 0.8, so that programs written for it compile
 * and mean the same.  Include libcr.h instead.
 */
#ifndef _BLCR_COMMON_H
#define _BLCR_COMMON_H

#include <sys/types.h>

typedef int cr_version_t;

/* What a request is about. */
typedef enum {
  CR_SCOPE_PROC = 0, /* one process */
  CR_SCOPE_PGRP = 1, /* a process group */
  CR_SCOPE_SESS = 2, /* a session */
  CR_SCOPE_TREE = 3  /* a process and all its descendants */
} cr_scope_t;

typedef enum { cr_format_vmadump = 0 } cr_format_t;

typedef long cr_bool_t;

/* The signal that the library keeps for itself. */
#define CR_SIGNUM 64

/* Descriptor that means: files in the working directory.  Not supported: EINVAL. */
#define CR_DEST_CWD (-4096)

/* What cr_checkpoint() is called with. */
#define CR_CHECKPOINT_READY 0x0000
#define CR_CHECKPOINT_TEMP_FAILURE 0x0001
#define CR_CHECKPOINT_PERM_FAILURE 0x0002
#define CR_CHECKPOINT_OMIT 0x0004
#define CR_CHECKPOINT_ABORT_MASK 0x0007
#define _CR_CHECKPOINT_STUB 0x4000
/* With a number of your own, 1 to 65535, that the requester gets. */
#define CR_CHECKPOINT_TEMP_FAILURE_CODE(code) (CR_CHECKPOINT_TEMP_FAILURE | ((code) << 16))
#define CR_CHECKPOINT_PERM_FAILURE_CODE(code) (CR_CHECKPOINT_PERM_FAILURE | ((code) << 16))

/* cr_flags of a checkpoint. */
#define CR_CHKPT_PROHIBIT_SELF 0x0001 /* EDEADLK if the requester is in the scope */
#define CR_CHKPT_PTRACED_ALLOW 0x0002
#define CR_CHKPT_PTRACED_SKIP 0x0004
#define CR_CHKPT_PTRACER_SKIP 0x0008
#define CR_CHKPT_ASYNC_ERR 0x0010 /* report errors when the result is asked for */
#define CR_CHKPT_DUMP_EXEC 0x0200
#define CR_CHKPT_DUMP_PRIVATE 0x0400
#define CR_CHKPT_DUMP_SHARED 0x0800
#define CR_CHKPT_DUMP_ALL (CR_CHKPT_DUMP_EXEC | CR_CHKPT_DUMP_PRIVATE | CR_CHKPT_DUMP_SHARED)
#define CR_CHKPT_DUMP_OPEN 0x20000 /* not in BLCR: small files that are open for reading only */
#define CR_CHKPT_SNAPSHOT 0x10000  /* not in BLCR: processes go on before their memory is written */

/* cr_flags of a restart. */
#define CR_RSTRT_ASYNC_ERR 0x0001
#define CR_RSTRT_RESTORE_PID 0x0002
#define CR_RSTRT_RESTORE_PGID 0x0004
#define CR_RSTRT_RESTORE_SID 0x0008

#define CR_MAX_RSTRT_RELOC 16

struct cr_rstrt_relocate_pair {
  const char* oldpath;
  const char* newpath;
};

struct cr_rstrt_relocate {
  unsigned int count;
#ifdef __GNUC__
  __extension__
#endif
      struct cr_rstrt_relocate_pair path[];
};

/* Bytes of a struct cr_rstrt_relocate with room for n pairs. */
#define CR_RSTRT_RELOCATE_SIZE(n) \
  (sizeof(struct cr_rstrt_relocate) + (n) * sizeof(struct cr_rstrt_relocate_pair))

/* Error numbers beyond errno's: cr_strerror() has their texts. */
#define CR_MIN_ERRCODE 2353
#define CR_ETEMPFAIL 2354  /* a callback put the checkpoint off */
#define CR_EPERMFAIL 2355  /* a callback refused it for good; the processes were killed */
#define CR_ENOSUPPORT 2356 /* a process holds what cannot be saved */
#define CR_EVERSION 2357   /* library and module do not fit together */
#define CR_EOMITTED 2358   /* the process left itself out */
#define CR_EBADARCH 2359   /* context of another architecture */
#define CR_EPTRACED 2360   /* a process is being traced */
#define CR_EPTRACER 2361   /* a process traces others */
#define CR_ERSTRTABRT 2362 /* a callback gave the restart up */
#define CR_ERESTARTED 2363 /* the request was made before the restart */
#define CR_ENOTCB 2364     /* only in a callback */
#define CR_ENOINIT 2365    /* the thread has not called cr_init() */
#define CR_MAX_ERRCODE 2366

#endif /* _BLCR_COMMON_H */
