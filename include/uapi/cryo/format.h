/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * format.h - the context file
 *
 * A context is a file header, then sections, the last of which is END.  Each
 * section is self-delimiting, so that it can be written to a pipe in one pass
 * and an unknown one can be skipped.  doc/format.md is the prose that goes with
 * this header.
 *
 * Rules for every structure here:
 *  - little-endian, fixed-width, no implicit padding, no kernel address;
 *  - reserved fields and padding are zero when written;
 *  - structures grow at the end; a section's fixed_len says how long the one in
 *    the file is. A reader takes what it knows and zero-fills what is missing;
 *  - what follows the fixed structure inside a section (a string, an array, raw
 *    bytes) is its tail: payload + fixed_len up to payload + length.  Strings are not
 *    NUL-terminated; a tail that is an array has its entry size in the fixed part;
 *  - values are the kernel's own uapi constants (O_*, SIG*, MAP_*, RLIMIT_*) unless
 *    named CRYO_* here.
 */
#ifndef _UAPI_CRYO_FORMAT_H
#define _UAPI_CRYO_FORMAT_H

#include <linux/types.h>

/* 0x89: not text, 8-bit clean; CR LF and ^Z: damage by text-mode transfers shows at once. */
#define CRYO_MAGIC		"\x89" "CRYO\r\n" "\x1a"
#define CRYO_MAGIC_LEN		8

#define CRYO_FORMAT_MAJOR	1	/* a reader refuses another major */
#define CRYO_FORMAT_MINOR	0	/* additions that older readers can ignore */

/* Values are the ELF machine numbers (EM_*). */
#define CRYO_ARCH_X86_64	62
#define CRYO_ARCH_AARCH64	183
#define CRYO_ARCH_PPC64LE	21

/* Feature bits: a reader that does not know an incompat bit refuses the file ... */
#define CRYO_INCOMPAT_KNOWN	0ULL
/* ... one that does not know a ro_compat bit may show it but not restart it; compat bits only inform. */
#define CRYO_RO_COMPAT_KNOWN	0ULL

struct cryo_file_header {
	__u8  magic[CRYO_MAGIC_LEN];
	__u32 header_len;		/* sizeof(struct cryo_file_header) of the writer */
	__u16 format_major;
	__u16 format_minor;
	__u32 arch;			/* CRYO_ARCH_* */
	__u32 page_size;		/* bytes; page data are aligned to it in the file */
	__u64 incompat;
	__u64 ro_compat;
	__u64 compat;
	__u64 created_ns;		/* CLOCK_REALTIME */
	__u32 reserved;
	__u32 crc;			/* CRC32C of all the bytes of the header before it */
};

/* ---- sections ---------------------------------------------------------- */

#define CRYO_SECTION_MAGIC	0x43455343U	/* "CSEC" */

struct cryo_section {
	__u32 magic;			/* CRYO_SECTION_MAGIC: finds the next one in a damaged file */
	__u16 type;			/* CRYO_SEC_* */
	__u16 flags;			/* CRYO_SECF_* */
	__u64 length;			/* payload bytes, after @pad */
	__u32 pad;			/* zero bytes between this header and the payload, to align it */
	__u32 fixed_len;		/* bytes of the fixed structure at the start of the payload */
	__u32 object;			/* what it belongs to: task (tid), mm, inode or file id; see each type */
	__u32 crc;			/* CRC32C of the payload, or what @flags say */
	__u32 reserved;
	__u32 header_crc;		/* CRC32C of the bytes of this header before it */
};

#define CRYO_SECF_REQUIRED	(1U << 0)	/* a reader that does not know the type must not restart */
#define CRYO_SECF_XXH64		(1U << 1)	/* @crc: the lower half of the payload's XXH64, seed 0; for PAGE_DATA */

/* CRC32C: Castagnoli polynomial, reflected, initial value and final xor 0xffffffff (RFC 3720 appendix B.4; "123456789" gives 0xe3069283). */

/*
 * The comments here and at the fields below are read by a program, tools/schema.pl, which makes of them what the tools
 * know of each section, what cr_info --json shows, and the table in doc/format.md:
 *   object: WHAT[; struct S][; tail: PARTS | ; tail, repeated: PARTS][. Remarks]
 * A part of the tail is [struct S | u32 | u64 | text] [NAME] [[COUNT]]: so many as the field COUNT of the structure
 * says (N * COUNT: bytes), or what is left; bytes without a type. What is repeated starts with a structure, which has the fields.
 * Remarks that mean something: "Not required" (CRYO_SECF_REQUIRED is not set), "Layout" (the reader knows it
 * as part of the layout of a file), "In no file".
 */
enum cryo_section_type {
	CRYO_SEC_SYSTEM		= 1,	/* object: 0; struct cryo_system. The first section */
	CRYO_SEC_CPU		= 2,	/* object: arch. What its structure is, arch/<a>/include tells */
	CRYO_SEC_PROCESS	= 3,	/* object: pid; struct cryo_process; tail: text name. Of a zombie; that of others is in their threads */
	CRYO_SEC_CWD		= 4,	/* object: pid; struct cryo_path; tail: text path */
	CRYO_SEC_RLIMITS	= 5,	/* object: pid; struct cryo_array; tail: struct cryo_rlimit[count]. By RLIMIT_* */
	CRYO_SEC_SIGACTIONS	= 6,	/* object: pid; struct cryo_array; tail: struct cryo_sigaction[count]. Signal 1 first */
	CRYO_SEC_SIGPENDING	= 7,	/* object: tid, or pid for shared; struct cryo_sigpending; tail: siginfo[CRYO_SIGINFO_SIZE * count] */
	CRYO_SEC_ITIMERS	= 8,	/* object: pid; struct cryo_array; tail: struct cryo_itimer[count]. ITIMER_REAL first */
	CRYO_SEC_CREDS		= 9,	/* object: pid; struct cryo_creds; tail: u32 gids[nr_groups]. Supplementary ones */
	CRYO_SEC_MM		= 10,	/* object: mm; struct cryo_mm; tail: u64 auxv. The auxiliary vector */
	CRYO_SEC_VDSO		= 86,	/* object: cryo_mm.vdso_crc; struct cryo_vdso; tail: image[image_len], data[data_len] */
	CRYO_SEC_VMA		= 11,	/* object: mm; struct cryo_vma */
	CRYO_SEC_INODE		= 12,	/* object: inode id; struct cryo_inode */
	CRYO_SEC_FILE		= 13,	/* object: file id; struct cryo_file; tail: text path */
	CRYO_SEC_FDS		= 14,	/* object: pid; struct cryo_array; tail: struct cryo_fd[count] */
	CRYO_SEC_THREAD		= 15,	/* object: tid; struct cryo_thread; tail: u64 cpus. Affinity, bit 0 of word 0 is CPU 0 */
	CRYO_SEC_REGSET		= 16,	/* object: tid; struct cryo_regset_head; tail: set. As in a core dump */
	CRYO_SEC_PAGES		= 17,	/* object: mm or inode; struct cryo_pages; tail: struct cryo_page_run[nr_runs]. Layout */
	CRYO_SEC_PAGE_DATA	= 18,	/* object: that of its PAGES, right before it; tail: pages. Page-aligned in the file. Layout */
	CRYO_SEC_PIPE		= 19,	/* object: inode id; struct cryo_pipe; tail, repeated: struct cryo_pipe_packet, data[length] */
	CRYO_SEC_EPOLL		= 20,	/* object: file id; struct cryo_array; tail: struct cryo_epoll_target[count] */
	CRYO_SEC_SOCKET		= 21,	/* object: file id; struct cryo_socket; tail: address, text path[path_len] */
	CRYO_SEC_EVENTFD	= 22,	/* object: file id; struct cryo_eventfd */
	CRYO_SEC_LOCKS		= 23,	/* object: pid; struct cryo_array; tail: struct cryo_lock[count] */
	CRYO_SEC_BUILD_ID	= 52,	/* object: file id; tail: build-id. Of a mapped ELF file, 1 to CRYO_BUILD_ID_MAX bytes */
	CRYO_SEC_TIMERFD	= 36,	/* object: file id; struct cryo_timerfd */
	CRYO_SEC_SIGNALFD	= 37,	/* object: file id; struct cryo_signalfd */
	CRYO_SEC_INOTIFY	= 39,	/* object: file id; struct cryo_inotify; tail, repeated: struct cryo_watch, text path[path_len] */
	CRYO_SEC_POSIX_TIMERS	= 38,	/* object: pid; struct cryo_posix_timers; tail: struct cryo_posix_timer[count] */
	CRYO_SEC_SECCOMP	= 53,	/* object: tid; struct cryo_seccomp; tail, repeated: struct cryo_seccomp_filter, program[CRYO_SECCOMP_INSTRUCTION * length] */
	CRYO_SEC_UCLAMP		= 54,	/* object: tid; struct cryo_uclamp */
	CRYO_SEC_MEMPOLICY	= 55,	/* object: tid, or mm; struct cryo_array; tail: struct cryo_mempolicy[count] */
	CRYO_SEC_CGROUP		= 56,	/* object: pid; tail: text path. In the cgroup2 file system */
	CRYO_SEC_SOCKOPTS	= 30,	/* object: file id; struct cryo_array; tail: struct cryo_sockopt[count] */
	CRYO_SEC_SOCKSTATE	= 31,	/* object: file id; struct cryo_sock_state; tail: name[name_len], peer_name[peer_name_len], text path[path_len] */
	CRYO_SEC_SOCKQUEUE	= 32,	/* object: file id; struct cryo_sock_queue; tail, repeated: struct cryo_sock_message, u32 files[files], address[name_len], data[length] */
	CRYO_SEC_PTY		= 44,	/* object: file id of the master; struct cryo_pty; tail: output[output], input[input], line_ends[input], pending[pending] */
	CRYO_SEC_PTY_SLAVE	= 45,	/* object: file id; struct cryo_pty_slave */
	CRYO_SEC_TERMINAL	= 109,	/* object: pid; struct cryo_terminal. Not required */
	CRYO_SEC_SHM		= 46,	/* object: inode id; struct cryo_shm */
	CRYO_SEC_SEM		= 47,	/* object: id of the set, or CRYO_IPC_ELSEWHERE and a number; struct cryo_sem_set; tail: u32 values[count] */
	CRYO_SEC_SEM_UNDO	= 48,	/* object: pid; struct cryo_array; tail: struct cryo_sem_undo[count] */
	CRYO_SEC_MSG		= 49,	/* object: id of the queue, or as of SEM; struct cryo_msg_queue; tail, repeated: struct cryo_message, message[length] */
	CRYO_SEC_MQUEUE		= 50,	/* object: inode id; struct cryo_mqueue; tail, repeated: struct cryo_message, message[length]. The type is the priority */
	CRYO_SEC_NAMESPACES	= 75,	/* object: pid; struct cryo_namespaces */
	CRYO_SEC_NS		= 76,	/* object: namespace; struct cryo_ns */
	CRYO_SEC_NS_UTS		= 77,	/* object: namespace; struct cryo_ns_uts */
	CRYO_SEC_NS_USER	= 78,	/* object: namespace; struct cryo_ns_user; tail: struct cryo_id_range. Those of uids first */
	CRYO_SEC_NS_TIME	= 79,	/* object: namespace; struct cryo_ns_time */
	CRYO_SEC_NS_IPC		= 80,	/* object: namespace; struct cryo_ns_ipc */
	CRYO_SEC_NS_CGROUP	= 81,	/* object: namespace; tail: text path. Of its root, as CGROUP */
	CRYO_SEC_NS_NET		= 82,	/* object: namespace; struct cryo_ns_net; tail: text settings */
	CRYO_SEC_NS_MNT		= 84,	/* object: namespace; struct cryo_ns_mnt; tail: struct cryo_mount[nr_mounts], text mountinfo[text_len], text outer. That of the requester */
	CRYO_SEC_MOUNT_ENTRY	= 85,	/* object: its number; struct cryo_mount_entry; tail: text path[path_len], text target. Of a link */
	CRYO_SEC_PIDS		= 83,	/* object: pid; struct cryo_array; tail: struct cryo_nested_id[count] */
	CRYO_SEC_PIDFD		= 60,	/* object: file id; struct cryo_pidfd */
	CRYO_SEC_URING		= 88,	/* object: file id; struct cryo_uring; tail: rings. See there */
	CRYO_SEC_INOTIFY_EVENTS	= 118,	/* object: file id; struct cryo_array; tail, repeated: struct cryo_inotify_event, text name[name_len] */
	CRYO_SEC_FANOTIFY	= 89,	/* object: file id; struct cryo_fanotify; tail, repeated: struct cryo_mark, text path[path_len] */
	CRYO_SEC_PAGE_COPIES	= 70,	/* object: mm; struct cryo_array; tail: struct cryo_page_copy[count] */
	CRYO_SEC_THREAD_FS	= 71,	/* object: tid; struct cryo_thread_fs; tail: text path */
	CRYO_SEC_SHARED_TABLES	= 90,	/* object: pid; struct cryo_shared_tables */
	CRYO_SEC_EXCLUDED	= 93,	/* object: mm; struct cryo_array; tail: struct cryo_excluded[count] */
	CRYO_SEC_ANCESTORS	= 97,	/* object: 0; struct cryo_array; tail, repeated: struct cryo_ancestor, text name[name_len] */
	CRYO_SEC_PAGES_ELSEWHERE = 100,	/* object: as of PAGES; struct cryo_pages; tail: struct cryo_elsewhere_run[nr_runs], hashes */
	CRYO_SEC_PAGES_UNCHANGED = 101,	/* object: mm; struct cryo_unchanged; tail: struct cryo_page_run[nr_runs]. In no file, see there */
	CRYO_SEC_SHARED_MEMORY	= 94,	/* object: pid; struct cryo_shared_memory */
	CRYO_SEC_SOCKET_NET	= 95,	/* object: file id of a socket; struct cryo_socket_net */
	CRYO_SEC_OUTER_GROUPS	= 96,	/* object: pid; struct cryo_array; tail: u32 gids[count]. Supplementary ones in the requester's user namespace */
	CRYO_SEC_PAGES_USED	= 103,	/* object: mm; struct cryo_array; tail: struct cryo_page_run[count]. Not required */
	CRYO_SEC_VMA_NAME	= 104,	/* object: mm; struct cryo_vma_name; tail: text name. Not required */
	CRYO_SEC_SOCKET_FILE	= 108,	/* object: file id of a Unix socket; struct cryo_inode. What its name stands for */
	CRYO_SEC_PAGE_TAGS	= 102,	/* object: as of PAGES; struct cryo_page_tags; tail: struct cryo_page_run[nr_runs], tags */
	CRYO_SEC_AIO		= 113,	/* object: mm; struct cryo_aio; tail: events. Each struct io_event */
	CRYO_SEC_HUGETLB	= 114,	/* object: inode; struct cryo_hugetlb */
	CRYO_SEC_CGROUP_DIR	= 116,	/* object: number of a control group; struct cryo_cgroup; tail: text path[path_len], u32 tids[threads]. Not required */
	CRYO_SEC_CGROUP_SETTING	= 117,	/* object: as of CGROUP_DIR, which comes before; struct cryo_cgroup_setting; tail: text name[name_len], text value. Not required */
	CRYO_SEC_GUARDS		= 105,	/* object: mm; struct cryo_array; tail: struct cryo_page_run[count] */
	CRYO_SEC_SOCK_FILTER	= 110,	/* object: file id of a socket; struct cryo_sock_filter; tail: filter[CRYO_SECCOMP_INSTRUCTION * filter], choice[CRYO_SECCOMP_INSTRUCTION * choice] */
	CRYO_SEC_SOCK_GROUPS	= 111,	/* object: file id of a socket; struct cryo_array; tail, repeated: struct cryo_sock_group, sources[16 * sources] */
	CRYO_SEC_THREAD_CREDS	= 112,	/* object: tid; struct cryo_creds; tail: u32 gids[nr_groups]. Of a thread that has not those of its process */
	CRYO_SEC_FILE_OPENER	= 122,	/* object: file id; struct cryo_creds; tail: u32 gids[nr_groups]. Who opened it, with ids of the requester's user namespace, where that is not who has it */
	CRYO_SEC_NS_ROOT	= 123,	/* object: mount namespace; struct cryo_inode. Its root directory, where that is not the requester's */
	CRYO_SEC_SOCK_DEVICES	= 120,	/* object: file id of a socket; struct cryo_array; tail: struct cryo_sock_device[count] */
	CRYO_SEC_FILE_END	= 121,	/* object: inode; struct cryo_file_end. Not required */
	CRYO_SEC_ROOT		= 119,	/* object: tid; struct cryo_inode; tail: text path. Root directory of a process (its pid), or of a thread with THREAD_FS */
	/* 98 and 99 stay unknown: tests have them as sections of a later version */
	CRYO_SEC_INDEX		= 126,	/* object: 0; struct cryo_array; tail: struct cryo_index_entry[count]. Layout */
	CRYO_SEC_END		= 127,	/* object: 0; struct cryo_end. Without it the file is cut. Layout */
};

/* Those that are written without CRYO_SECF_REQUIRED: a process that is restarted without one is the same. An initializer. */
#define CRYO_SEC_NOT_REQUIRED	{					\
	CRYO_SEC_PAGES_USED, CRYO_SEC_VMA_NAME, CRYO_SEC_TERMINAL,	\
	CRYO_SEC_CGROUP_DIR, CRYO_SEC_CGROUP_SETTING, CRYO_SEC_FILE_END }

/* Head of a section whose tail is an array of records that may grow. */
struct cryo_array {
	__u32 count;
	__u32 record_size;
};

/* Where and when the context was made. */
struct cryo_system {
	__u8  sysname[64];		/* utsname(2), NUL-padded; the last byte is NUL */
	__u8  release[64];		/* NUL-padded */
	__u8  version[64];		/* NUL-padded */
	__u8  machine[64];		/* NUL-padded */
	__u8  nodename[64];		/* NUL-padded */
	__u8  writer[32];		/* module release, NUL-padded */
	__u64 realtime_ns;		/* clocks at the checkpoint, when all threads were parked */
	__u64 monotonic_ns;
	__u64 boottime_ns;
	__u32 processes;
	__u32 threads;
};

/* ---- processes ---------------------------------------------------------- */

#define CRYO_PROC_STOPPED		(1U << 0)	/* stopped by job control */
#define CRYO_PROC_NO_NEW_PRIVS		(1U << 1)
#define CRYO_PROC_SESSION_LEADER	(1U << 2)
#define CRYO_PROC_CTTY			(1U << 3)	/* has a controlling terminal */
#define CRYO_PROC_CHILD_SUBREAPER	(1U << 4)
#define CRYO_PROC_KEEPCAPS		(1U << 5)
#define CRYO_PROC_ZOMBIE		(1U << 6)	/* has exited, not waited for: this section is all there is of it */
#define CRYO_PROC_CONSENTED		(1U << 7)	/* CRYO_IOC_CONSENT: its user may checkpoint it, Yama or not */
#define CRYO_PROC_STOP_WAITED		(1U << 8)	/* with STOPPED: its parent has waited for that (waitid(2), WSTOPPED) */
#define CRYO_PROC_CONTINUED		(1U << 9)	/* by SIGCONT, and its parent has not waited for that (WCONTINUED) */
#define CRYO_PROC_STOP_BEGUN		(1U << 10)	/* with STOPPED: SIGSTOP pending, or not all threads stopped: its parent has not been notified */

struct cryo_process {
	__s32 pid;			/* thread group id, in the requester's pid namespace, like all pids here */
	__s32 ppid;
	__s32 pgid;
	__s32 sid;
	__u32 flags;			/* CRYO_PROC_* */
	__u32 mm;			/* id of its CRYO_SEC_MM */
	__u32 threads;
	__u32 umask;
	__u32 personality;		/* personality(2) */
	__u32 dumpable;			/* PR_GET_DUMPABLE: 0, 1 or 2 */
	__s32 exit_signal;
	__s32 stop_signal;		/* when CRYO_PROC_STOPPED */
	__s32 oom_score_adj;
	__s32 exit_code;		/* when CRYO_PROC_ZOMBIE, or its leader has exited: wait status as of wait4(2) */
};

/* Tail: path as the process sees it from its root. */
struct cryo_path {
	__u64 dev;			/* st_dev, as makedev() of userspace packs it */
	__u64 ino;
	__u32 flags;			/* CRYO_PATH_* */
	__u32 mode;			/* permissions; 0: not known */
};

#define CRYO_PATH_DELETED	(1U << 0)

/* Of a thread that does not share those of its process (unshare(CLONE_FS)). Tail: path of @cwd. */
struct cryo_thread_fs {
	struct cryo_path cwd;
	__u32 umask;
	__s32 same_as;			/* the first thread that has the same, this one if it is that: they share it */
};

/* Of a process that has in common with others what clone(2) made so: the pid of the first that has it, or 0: it is its own. */
struct cryo_shared_tables {
	__s32 files;			/* CLONE_FILES */
	__s32 fs;			/* CLONE_FS: root, working directory, umask */
};

/* The same for processes that are not threads of one another. */
struct cryo_shared_memory {
	__s32 mm;			/* CLONE_VM: they name one cryo_process.mm, too */
	__s32 sighand;			/* CLONE_SIGHAND: the signal handlers; 0 unless the memory is shared */
};

struct cryo_rlimit {
	__u64 cur;			/* ~0: RLIM_INFINITY */
	__u64 max;
};

struct cryo_sigaction {
	__u64 handler;			/* SIG_DFL 0, SIG_IGN 1 */
	__u64 flags;			/* SA_* */
	__u64 restorer;
	__u64 mask;			/* bit N-1 is signal N */
};

#define CRYO_SIGINFO_SIZE	128	/* sizeof(siginfo_t) on every architecture */

/* Tail: count records of record_size bytes, siginfo_t as rt_sigqueueinfo(2) takes it. */
struct cryo_sigpending {
	__u32 count;
	__u32 record_size;
	__u32 flags;			/* CRYO_SIGPENDING_* */
	__u32 reserved;
	__u64 signals;			/* all pending signals; those without a record had no siginfo queued */
};

#define CRYO_SIGPENDING_SHARED	(1U << 0)	/* of the process, not of one thread */

struct cryo_itimer {
	__u64 value_ns;			/* time to the next expiry; 0: not armed */
	__u64 interval_ns;
};

/* Timers of timer_create(2), in no order. */
struct cryo_posix_timers {
	__u32 count;
	__u32 record_size;
	__u32 next_id;			/* tried first by the next timer_create(2) */
	__u32 reserved;
};

#define CRYO_TIMER_ARMED	(1U << 0)	/* going to expire */
#define CRYO_TIMER_ABSOLUTE	(1U << 1)	/* a date: @remaining_ns is to be taken from the clock's time */
#define CRYO_TIMER_PENDING	(1U << 2)	/* has expired; its signal is pending, or would be if not ignored */

struct cryo_posix_timer {
	__s32 id;
	__s32 clockid;			/* CLOCK_*, or negative: a CPU clock, with a pid of 0 in it */
	__s32 clock_tid;		/* whose CPU clock; 0: the process's */
	__u32 flags;			/* CRYO_TIMER_* */
	__u32 notify;			/* SIGEV_* */
	__u32 signal;
	__s32 notify_tid;		/* SIGEV_THREAD_ID */
	__u32 reserved;
	__u64 value;			/* sigval */
	__s64 remaining_ns;		/* to the next expiry, or, when negative, since the first untold one */
	__u64 interval_ns;
	__s64 overrun;			/* expirations more than one that no signal has told of yet; -1: none at all */
	__s64 overrun_last;		/* timer_getoverrun(2) */
};

struct cryo_creds {
	__u32 uid, euid, suid, fsuid;	/* in its own user namespace */
	__u32 gid, egid, sgid, fsgid;
	__u64 cap_inheritable;
	__u64 cap_permitted;
	__u64 cap_effective;
	__u64 cap_bset;
	__u64 cap_ambient;
	__u32 securebits;
	__u32 nr_groups;
};

/* ---- memory ------------------------------------------------------------- */

/* The fields of struct prctl_mm_map (PR_SET_MM_MAP), and the kernel's own mappings. */
struct cryo_mm {
	__u64 start_code, end_code;
	__u64 start_data, end_data;
	__u64 start_brk, brk;
	__u64 start_stack;
	__u64 arg_start, arg_end;
	__u64 env_start, env_end;
	__u32 exe_file;			/* file id, 0: none */
	__u32 nr_vmas;
	__u64 def_flags;		/* CRYO_VMA_READ ...: LOCKED, LOCKONFAULT of mlockall(MCL_FUTURE) */
	__u64 vdso;			/* address of the vdso image, 0: none */
	__u32 vdso_crc;			/* CRC32C of the vdso's bytes: tells one kernel's from another's */
	__u32 thp_disabled;		/* PR_GET_THP_DISABLE */
	__u32 membarrier;		/* MEMBARRIER_CMD_REGISTER_* commands to repeat */
	__u32 pkeys;			/* bit N: the program has allocated protection key N */
};

/* The code that the kernel mapped, and the start of the data (of [vvar]) with which it asks the kernel for the time. */
struct cryo_vdso {
	__u32 image_len;		/* whole pages, 1 to CRYO_VDSO_MAX bytes */
	__u32 data_len;			/* 0 to a page */
};
#define CRYO_VDSO_MAX		(1U << 20)
#define CRYO_VMA_READ		(1ULL << 0)
#define CRYO_VMA_WRITE		(1ULL << 1)
#define CRYO_VMA_EXEC		(1ULL << 2)
#define CRYO_VMA_SHARED		(1ULL << 3)
#define CRYO_VMA_MAYREAD	(1ULL << 4)
#define CRYO_VMA_MAYWRITE	(1ULL << 5)	/* shared: the file was open for writing */
#define CRYO_VMA_MAYEXEC	(1ULL << 6)
#define CRYO_VMA_GROWSDOWN	(1ULL << 7)
#define CRYO_VMA_LOCKED		(1ULL << 8)
#define CRYO_VMA_LOCKONFAULT	(1ULL << 9)
#define CRYO_VMA_NORESERVE	(1ULL << 10)
#define CRYO_VMA_DONTFORK	(1ULL << 11)
#define CRYO_VMA_DONTDUMP	(1ULL << 12)
#define CRYO_VMA_WIPEONFORK	(1ULL << 13)
#define CRYO_VMA_HUGEPAGE	(1ULL << 14)
#define CRYO_VMA_NOHUGEPAGE	(1ULL << 15)
#define CRYO_VMA_MERGEABLE	(1ULL << 16)
#define CRYO_VMA_SEQ_READ	(1ULL << 17)
#define CRYO_VMA_RAND_READ	(1ULL << 18)
#define CRYO_VMA_SYNC		(1ULL << 19)
#define CRYO_VMA_DROPPABLE	(1ULL << 20)	/* the kernel may empty it at any time: no contents */
#define CRYO_VMA_SHADOW_STACK	(1ULL << 21)	/* return addresses, written by the CPU only: map_shadow_stack(2) */
#define CRYO_VMA_HUGETLB	(1ULL << 22)	/* in pages of hugetlbfs, of @huge_shift */

#define CRYO_VMA_ANON		0	/* private anonymous (heap and stack too) */
#define CRYO_VMA_FILE		1	/* @file, at @offset; private or shared */
#define CRYO_VMA_SHMEM		2	/* shared anonymous: @file's inode has its contents */
#define CRYO_VMA_VDSO		3	/* the kernel's code page(s) */
#define CRYO_VMA_VVAR		4	/* the kernel's data page(s) for the vdso */
#define CRYO_VMA_SYSV		6	/* System V shared memory: @file's inode has a SHM section */
#define CRYO_VMA_AIO		7	/* ring of io_setup(2), which has an AIO section */
#define CRYO_VMA_VSYSCALL	5	/* never in vm_area_structs, listed for completeness */

struct cryo_vma {
	__u64 start;
	__u64 end;
	__u64 offset;			/* bytes into the file */
	__u64 flags;			/* CRYO_VMA_READ ... */
	__u32 kind;			/* CRYO_VMA_ANON ... */
	__u32 file;			/* file id, 0: none */
	__u32 pkey;			/* protection key; one not in @pkeys is the kernel's, of memory to execute only */
	__u32 huge_shift;		/* CRYO_VMA_HUGETLB: its pages are of 1 << @huge_shift bytes; else 0 */
};

/* ---- files --------------------------------------------------------------- */

#define CRYO_INODE_DELETED	(1U << 0)	/* no name any more at the checkpoint */
#define CRYO_INODE_CONTENTS	(1U << 1)	/* its bytes are in the context (PAGES of kind INODE; holes are zero) */
#define CRYO_INODE_MEMFD	(1U << 2)	/* memfd_create(2); the file's tail is its name */
#define CRYO_INODE_SHMEM	(1U << 3)	/* shared anonymous memory */
#define CRYO_INODE_FALLBACK	(1U << 10)	/* CONTENTS of what is opened by its path, for when that is gone or has changed */
#define CRYO_INODE_SYSV		(1U << 8)	/* System V shared memory */
#define CRYO_INODE_POSIX_SHM	(1U << 9)	/* POSIX shared memory or semaphore, with its name */

struct cryo_inode {
	__u64 dev;			/* st_dev, as makedev() of userspace packs it */
	__u64 ino;
	__u64 size;			/* bytes */
	__s64 mtime_sec;
	__u32 mtime_nsec;
	__u32 mode;			/* st_mode */
	__u32 uid;
	__u32 gid;
	__u64 rdev;			/* of character and block devices */
	__u32 nlink;
	__u32 flags;			/* CRYO_INODE_* */
	__u32 seals;			/* F_GET_SEALS, memfd */
	__u32 reserved;
	/* Not in early contexts: */
	__s64 btime_sec;		/* when it was made; both 0: not known */
	__u32 btime_nsec;
	__u32 fs_magic;			/* of its file system, as statfs(2) tells it; 0: not known */
};

/* How a file is opened again. */
#define CRYO_FILE_PATH		1	/* by path: regular file, directory, device */
#define CRYO_FILE_CONTENTS	2	/* made anew from the contents of its inode */
#define CRYO_FILE_CTTY		3	/* the controlling terminal: cr_restart's */
#define CRYO_FILE_STDIO		4	/* terminal, pipe or socket as stdio, pipe to the outside: cr_restart's descriptor of that number */
#define CRYO_FILE_PIPE		5	/* pipe with both ends in the process */
#define CRYO_FILE_EPOLL		6
#define CRYO_FILE_SOCKET	7	/* listening socket */
#define CRYO_FILE_EVENTFD	8
#define CRYO_FILE_DEVICE	40	/* character or block device, opened by its path as if for the first time */
#define CRYO_FILE_CLOSED	41	/* device that is not open after the restart */
#define CRYO_FILE_REMOVED_DIR	42	/* directory that has been removed: made, opened and removed again */
#define CRYO_FILE_TIMERFD	25
#define CRYO_FILE_SIGNALFD	26
#define CRYO_FILE_INOTIFY	27
#define CRYO_FILE_UNIX		20	/* Unix socket that does not listen */
#define CRYO_FILE_TCP		21	/* TCP socket that does not listen */
#define CRYO_FILE_UDP		22
#define CRYO_FILE_NETLINK	23
#define CRYO_FILE_WAITING	24	/* no open file: a connection that has not been accepted yet */
#define CRYO_FILE_PTY_MASTER	33	/* pseudo-terminal of the context's own */
#define CRYO_FILE_PTY_SLAVE	34	/* its other end, or one that was hung up */
#define CRYO_FILE_FIFO		35	/* named FIFO; with a PIPE section when all ends were in the context */
#define CRYO_FILE_SYSV		36	/* System V shared memory, in mappings only */
#define CRYO_FILE_MQUEUE	37	/* POSIX message queue */
#define CRYO_FILE_POSIX_SHM	38	/* POSIX shared memory: by its name, with the contents of its inode */
#define CRYO_FILE_PIDFD		50	/* of a process of the context, or of one that is gone */
#define CRYO_FILE_URING		56	/* io_uring, with no request under way */
#define CRYO_FILE_FANOTIFY	57
#define CRYO_FILE_NAMESPACE	58	/* of /proc/PID/ns: opened again */
#define CRYO_FILE_RAW		61	/* raw or ping socket (SOCK_DGRAM with IPPROTO_ICMP), IPv4 or IPv6 */
#define CRYO_FILE_HUGETLB	59	/* of hugetlbfs: with the contents of its inode, which has a HUGETLB section; by its name, if it has one */
#define CRYO_FILE_CLIENT	90	/* Cryo: registration of a process that takes part in checkpoints */
#define CRYO_FILE_REQUEST	91	/* Cryo: checkpoint handle, which tells of the restart afterwards */
#define CRYO_FILE_OUTPUT	92	/* what this context was written to: /dev/null after a restart */

struct cryo_file {
	__u32 inode;			/* inode id, 0: none */
	__u32 kind;			/* CRYO_FILE_* */
	__u32 flags;			/* O_* as F_GETFL reports them, O_PATH and access mode included */
	__s32 owner_pid;		/* F_GETOWN: a process, or a group if negative; 0: none */
	__u64 pos;			/* offset; of directories: the file system's cookie; of FIFOs: CRYO_FIFO_QUIET;
					 * CRYO_FILE_CLIENT: low half: pid of the process that it is of, 0: unknown;
					 * high half: 0, or the thread that holds the others after a restart;
					 * CRYO_FILE_NAMESPACE: low half: object of an NS section, 0: cr_restart's own; high half: CLONE_NEW* */
	__u32 stdio_fd;			/* CRYO_FILE_STDIO: 0, 1 or 2; of a pipe any */
	__u32 owner_signal;		/* F_GETSIG */
	__u32 owner_thread;		/* 1: @owner_pid is a thread (F_SETOWN_EX, F_OWNER_TID) */
	__u32 mnt;			/* mount namespace of its path; 0: the requester's */
	__u32 how;			/* CRYO_OPENED_* */
	__u32 reserved;
	/* Not in early contexts: */
	__u32 owner_uid;		/* with whose rights signals are sent to @owner_pid: real and */
	__u32 owner_euid;		/* effective user of who has set it; only if */
	__u32 owner_known;		/* 1 */
	__u32 reserved2;
	__u32 outside;			/* CRYO_OUTSIDE_*: of a regular file that is open for writing by a descriptor, or in a message */
	__u32 reserved3;
};

#define CRYO_OUTSIDE_SHARED	(1U << 0)	/* who is not in the context has this open file, too, with its offset */
#define CRYO_OUTSIDE_WRITER	(1U << 1)	/* another open file of the inode, for writing */

#define CRYO_OPENED_MADE	(1U << 0)	/* of a memfd: as memfd_create(2) gave it, which is open for writing, but does not keep it from being executed */

#define CRYO_FIFO_QUIET		1	/* open for reading; no writer has come since, so that poll() tells of no hangup */

#define CRYO_FD_CLOEXEC		(1U << 0)

struct cryo_fd {
	__u32 fd;
	__u32 file;			/* file id: two descriptors with one id share offset and flags */
	__u32 flags;			/* CRYO_FD_* */
	__u32 reserved;
};

#define CRYO_LOCK_POSIX		1	/* F_SETLK: of the process, lost when it closes any descriptor of the file */
#define CRYO_LOCK_FLOCK		2	/* flock(2): of the open file */
#define CRYO_LOCK_OFD		3	/* F_OFD_SETLK: of the open file */
#define CRYO_LOCK_LEASE		4	/* F_SETLEASE: of the open file */

struct cryo_lock {
	__u32 file;			/* file id */
	__u32 kind;			/* CRYO_LOCK_* */
	__u32 type;			/* F_RDLCK or F_WRLCK */
	__s32 owner;			/* of flock and leases: pid of the process that took it; 0: not in the context */
	__u64 start;			/* bytes; of flock: 0 */
	__u64 end;			/* last byte; ~0 >> 1: to the end of the file, whatever its size */
};

/* Tail: packets, each a struct cryo_pipe_packet and its bytes, in reading order. */
struct cryo_pipe {
	__u32 capacity;			/* bytes, F_GETPIPE_SZ */
	__u32 packets;
};

struct cryo_pipe_packet {
	__u32 length;
	__u32 flags;			/* 1: a packet of an O_DIRECT pipe */
};

#define CRYO_EPOLL_QUEUED	(1U << 0)	/* its readiness has not been reported since it came about */

struct cryo_epoll_target {
	__u32 fd;			/* descriptor number at EPOLL_CTL_ADD */
	__u32 events;			/* without any but EPOLLET and the like: a disarmed EPOLLONESHOT */
	__u64 data;
	__u32 file;			/* file id; 0, in early contexts: what has the number */
	__u32 flags;			/* CRYO_EPOLL_* */
};

/* Of a socket that is not in the requester's network namespace, whatever its kind. */
struct cryo_socket_net {
	__u32 net;			/* object of an NS section of this type; 0: the requester's */
	__u32 mnt;			/* the same, of a Unix socket: where its name is */
};

/* Tail: address as struct sockaddr, path. */
struct cryo_socket {
	__u32 family;
	__u32 type;
	__u32 protocol;
	__u32 backlog;
	__u32 flags;			/* CRYO_SOCK_REUSEADDR ... */
	__u32 path_len;			/* of a name in the file system: where it is now, or was (then 0 where the name
					 * itself says that; also in early contexts, where it begins with "/") */
	__s32 peer_pid;			/* Unix: SO_PEERCRED of those that connect to it; 0: none */
	__u32 reserved;
};

#define CRYO_SOCK_REUSEADDR	(1U << 0)
#define CRYO_SOCK_REUSEPORT	(1U << 1)	/* when it was bound; the option may have been cleared since */
#define CRYO_SOCK_V6ONLY	(1U << 2)
#define CRYO_SOCK_UNLINKED	(1U << 3)	/* Unix: its name has been removed from the file system */
#define CRYO_SOCK_FREEBIND	(1U << 4)	/* its address was not the machine's (IP_FREEBIND, IP_TRANSPARENT) */

#define CRYO_SOCKOPT_SIZE	32

/* One socket option, as getsockopt(2) told it. */
struct cryo_sockopt {
	__u32 level;
	__u32 name;
	__u32 length;			/* bytes of @value in use */
	__u32 reserved;
	__u8  value[CRYO_SOCKOPT_SIZE];
};

#define CRYO_SOCK_FILTER_LOCKED	(1U << 0)	/* SO_LOCK_FILTER */

/* Programs of classic BPF. Tail: instructions of the filter, then of @choice, CRYO_SECCOMP_INSTRUCTION bytes each. */
struct cryo_sock_filter {
	__u32 flags;			/* CRYO_SOCK_FILTER_* */
	__u32 filter;			/* instructions, SO_ATTACH_FILTER; 0: none */
	__u32 choice;			/* instructions, SO_ATTACH_REUSEPORT_CBPF; 0: none */
	__u32 place;			/* with @choice: number among the sockets that it chooses from */
};

/* A multicast group that a socket is in. Tail: @sources addresses of 16 bytes each. */
struct cryo_sock_group {
	__u8  group[16];		/* address; of IPv4 4 bytes, the rest is zero, as of the sources */
	__u8  device[16];		/* network interface, NUL-padded */
	__u32 family;			/* AF_INET or AF_INET6, which need not be the socket's */
	__u32 mode;			/* MCAST_EXCLUDE 0: all sources but these, MCAST_INCLUDE 1: these alone */
	__u32 sources;
	__u32 reserved;
};

/* An option of SOCKOPTS whose value has the index of a network interface, which is another one on another machine. */
struct cryo_sock_device {
	__u32 level;
	__u32 name;			/* IP_MULTICAST_IF, IP_UNICAST_IF, IPV6_MULTICAST_IF, IPV6_UNICAST_IF */
	__u8  device[16];		/* NUL-padded; empty: it has gone, and the option with it */
};

#define CRYO_SOCK_UNCONNECTED	0
#define CRYO_SOCK_CONNECTED	1	/* to @peer; a datagram socket's peer need not be connected to it */
#define CRYO_SOCK_PEER_GONE	2	/* was connected; the other end is closed */
#define CRYO_SOCK_RESET		3	/* was connected to the outside: is found reset after a restart */
#define CRYO_SOCK_CONNECTING	4	/* TCP: connect(2) has not ended; the restart calls the peer's name again */

/* A socket that does not listen. Tail: name, peer's name (both struct sockaddr), path. */
struct cryo_sock_state {
	__u32 family;
	__u32 type;
	__u32 protocol;
	__u32 state;			/* CRYO_SOCK_UNCONNECTED ... */
	__u32 shutdown;			/* bit 0: no reading, bit 1: no writing */
	__u32 error;			/* SO_ERROR that waits to be seen, 0: none */
	__u32 peer;			/* file id of the other end, 0: none */
	__u32 listener;			/* CRYO_FILE_WAITING: file id of the socket that has not accepted it */
	__u32 name_len;
	__u32 peer_name_len;
	__u32 path_len;			/* of a name in the file system: where it is now, or was (then 0 where the name
					 * itself says that; also in early contexts, where it begins with "/") */
	__u32 flags;			/* CRYO_SOCK_STATE_* */
	__s32 peer_pid;			/* SO_PEERCRED, 0: none */
	__u32 peer_uid;
	__u32 peer_gid;
	__u32 groups;			/* netlink: multicast groups 1 to 32, bit 0 is group 1 */
};

#define CRYO_SOCK_STATE_UNLINKED	(1U << 0)	/* its name has been removed from the file system */
#define CRYO_SOCK_STATE_LISTENER	(1U << 1)	/* has the address of a socket that listens in the context */
#define CRYO_SOCK_STATE_ANY_ADDRESS	(1U << 2)	/* UDP: bound to a port alone; its address is one that connect() chose */
#define CRYO_SOCK_STATE_FREEBIND	(1U << 3)	/* as CRYO_SOCK_FREEBIND */
#define CRYO_SOCK_STATE_REUSEPORT	(1U << 4)	/* as CRYO_SOCK_REUSEPORT */
#define CRYO_SOCK_STATE_BOUND		(1U << 5)	/* CRYO_SOCK_CONNECTING: the program has chosen address or port by bind(2) */

/*
 * What waits to be received.  Tail: messages, each a struct cryo_sock_message, @files ids (u32) of
 * files passed with it, the sender's address, and the bytes.  Of a stream the messages are parts.
 */
struct cryo_sock_queue {
	__u32 messages;
	__u32 record_size;		/* sizeof(struct cryo_sock_message) */
	__u64 bytes;			/* in all messages */
};

struct cryo_sock_message {
	__u32 length;
	__u32 files;
	__u32 name_len;
	__u32 sender;			/* file id of the socket that sent it, 0: not in the context */
	__u32 flags;			/* CRYO_SOCK_MESSAGE_* */
	__s32 pid;			/* SCM_CREDENTIALS */
	__u32 uid;
	__u32 gid;
};

#define CRYO_SOCK_MESSAGE_CREDS	(1U << 0)

/* Of a message in the queue of a UDP socket, in place of the sender's address. */
struct cryo_udp_origin {
	__u8  from[16];			/* address; of IPv4 4 bytes, the rest is zero */
	__u8  to[16];
	__u16 family;			/* of the packet: AF_INET or AF_INET6 */
	__u16 from_port;
	__u16 to_port;
	__u8  tos;			/* IPv6: traffic class */
	__u8  ttl;			/* IPv6: hop limit */
	__u32 ifindex;			/* network interface by which it came */
	__u32 reserved;
	__u64 time_ns;			/* when it came, if anybody wanted to know (SO_TIMESTAMP); else 0 */
};

/* ---- threads -------------------------------------------------------------- */

#define CRYO_THREAD_LEADER		(1U << 0)
#define CRYO_THREAD_RESTORE_SIGMASK	(1U << 1)	/* inside sigsuspend(), ppoll() ...: @saved_sigmask comes back */
#define CRYO_THREAD_RSEQ		(1U << 2)
#define CRYO_THREAD_EXITED		(1U << 3)	/* leader that has exited while others live: id, name and timer slack only */
#define CRYO_THREAD_NO_NEW_PRIVS	(1U << 4)	/* where not all threads have it: else CRYO_PROC_NO_NEW_PRIVS */

struct cryo_thread {
	__s32 tid;
	__s32 pid;
	__u32 flags;			/* CRYO_THREAD_* */
	__s32 nice;
	__u8  comm[16];			/* NUL-padded */
	__u64 sigmask;			/* blocked signals in force */
	__u64 saved_sigmask;
	__u64 altstack_sp;		/* sigaltstack(2) */
	__u64 altstack_size;
	__u32 altstack_flags;
	__u32 rseq_len;
	__u64 clear_child_tid;		/* set_tid_address(2) */
	__u64 robust_list;		/* set_robust_list(2) */
	__u64 robust_list_len;
	__u64 rseq;			/* user address, 0: not registered */
	__u32 rseq_sig;
	__u32 sched_policy;		/* SCHED_* */
	__u64 sched_flags;		/* SCHED_FLAG_* of sched_setattr(2) */
	__u32 sched_priority;
	__u32 pdeath_signal;
	__u64 sched_runtime;		/* SCHED_DEADLINE, nanoseconds */
	__u64 sched_deadline;
	__u64 sched_period;
	__u64 timer_slack_ns;
	__u64 default_timer_slack_ns;
	__u32 ioprio;			/* ioprio_get(2) */
	__u32 nr_cpus;			/* bits in the mask at the tail */
	struct {			/* as struct cryo_restart_block in ioctl.h, same meaning */
		__u32 kind;
		__u32 time_flags;
		__s64 time_ns;
		__u32 clockid;
		__u32 nanosleep_type;
		__u64 uaddr;
		__u32 val;
		__u32 futex_flags;
		__u32 futex_bitset;
		__u32 reserved;
	} restart;
	/* tail: CPU affinity mask, u64 words, bit 0 of word 0 is CPU 0 */
};

/* Utilization clamps that were asked for by sched_setattr(2). */
struct cryo_uclamp {
	__u32 min;
	__u32 max;
};

#define CRYO_UCLAMP_NONE	(~0U)	/* not asked for */

#define CRYO_MAX_NODES		1024

/* NUMA policy of a thread (set_mempolicy(2)), or of an area of memory (mbind(2)). */
struct cryo_mempolicy {
	__u64 start;			/* of a thread: 0 */
	__u64 end;
	__u32 mode;			/* MPOL_* */
	__u32 flags;			/* MPOL_F_* as the calls take them */
	__s32 home_node;		/* -1: none */
	__u32 of_mm;			/* 1: of areas of the mm in the section's object, 0: of a thread */
	__u64 nodes[CRYO_MAX_NODES / 64];
};

#define CRYO_SECCOMP_INSTRUCTION	8	/* bytes: sizeof(struct sock_filter) */

/* Tail: filters, the oldest first, each a struct cryo_seccomp_filter and its instructions. */
struct cryo_seccomp {
	__u32 mode;			/* SECCOMP_MODE_STRICT or SECCOMP_MODE_FILTER */
	__u32 filters;
	__s32 shared_with;		/* tid of a thread of the process, before this one; 0: @shared is 0 */
	__u32 shared;			/* so many filters, the oldest, are the very ones that it has, not equal ones */
};

struct cryo_seccomp_filter {
	__u32 flags;			/* SECCOMP_FILTER_FLAG_LOG */
	__u32 length;			/* instructions */
};

struct cryo_regset_head {
	__u32 note;			/* NT_* core dump note type */
	__u32 item_size;		/* bytes of one item, for generic display */
};

/* ---- end ------------------------------------------------------------------ */

struct cryo_index_entry {
	__u64 offset;			/* of the section header, from the start of the context */
	__u32 type;
	__u32 object;
};

struct cryo_end {
	__u64 total_len;		/* bytes of the context, this section included */
	__u64 index_offset;		/* of the INDEX section header */
	__u64 sections;			/* number of sections, INDEX and END included */
	__u64 page_bytes;		/* in all PAGE_DATA sections */
};

#include <cryo/format_cgroup.h>
#include <cryo/format_events.h>
#include <cryo/format_ipc.h>
#include <cryo/format_memory.h>
#include <cryo/format_namespaces.h>
#include <cryo/format_terminal.h>

#endif /* _UAPI_CRYO_FORMAT_H */
