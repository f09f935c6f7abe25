/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * trace.h - tracepoints, in events/cryo of tracefs: what a checkpoint and a restart do, and when
 *
 * Pids are those of the first pid namespace, as tracefs is root's. What an event says is worked out
 * when it is on, and no event says where anything is in the kernel's memory.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM cryo

#if !defined(CRYO_LIB_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define CRYO_LIB_TRACE_H

#include <linux/atomic.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/tracepoint.h>

TRACE_EVENT(cryo_request_begin,
	TP_PROTO(struct task_struct *target, u32 scope, u32 flags),
	TP_ARGS(target, scope, flags),
	TP_STRUCT__entry(
		__field(pid_t, pid)
		__field(u32, scope)
		__field(u32, flags)
	),
	TP_fast_assign(
		__entry->pid = task_tgid_nr(target);
		__entry->scope = scope;
		__entry->flags = flags;
	),
	TP_printk("pid=%d scope=%u flags=%#x", __entry->pid, __entry->scope, __entry->flags)
);

TRACE_EVENT(cryo_request_end,
	TP_PROTO(struct task_struct *target, int error, const atomic64_t *bytes, u64 pages),
	TP_ARGS(target, error, bytes, pages),
	TP_STRUCT__entry(
		__field(pid_t, pid)
		__field(int, error)
		__field(u64, bytes)
		__field(u64, pages)
	),
	TP_fast_assign(
		__entry->pid = task_tgid_nr(target);
		__entry->error = error;
		__entry->bytes = atomic64_read(bytes);
		__entry->pages = pages;
	),
	TP_printk("pid=%d error=%d bytes=%llu pages=%llu", __entry->pid, __entry->error,
		  __entry->bytes, __entry->pages)
);

/* All threads in scope have parked, or the freeze has failed. */
TRACE_EVENT(cryo_freeze,
	TP_PROTO(struct task_struct *target, unsigned int processes, unsigned int threads,
		 int error),
	TP_ARGS(target, processes, threads, error),
	TP_STRUCT__entry(
		__field(pid_t, pid)
		__field(unsigned int, processes)
		__field(unsigned int, threads)
		__field(int, error)
	),
	TP_fast_assign(
		__entry->pid = task_tgid_nr(target);
		__entry->processes = processes;
		__entry->threads = threads;
		__entry->error = error;
	),
	TP_printk("pid=%d processes=%u threads=%u error=%d", __entry->pid, __entry->processes,
		  __entry->threads, __entry->error)
);

/* @thread waits from here on until it is let go. */
TRACE_EVENT(cryo_park,
	TP_PROTO(struct task_struct *thread, struct task_struct *target),
	TP_ARGS(thread, target),
	TP_STRUCT__entry(
		__field(pid_t, tid)
		__field(pid_t, pid)
	),
	TP_fast_assign(
		__entry->tid = task_pid_nr(thread);
		__entry->pid = task_tgid_nr(target);
	),
	TP_printk("pid=%d tid=%d", __entry->pid, __entry->tid)
);

TRACE_EVENT(cryo_thaw,
	TP_PROTO(struct task_struct *target, u64 pause_ns),
	TP_ARGS(target, pause_ns),
	TP_STRUCT__entry(
		__field(pid_t, pid)
		__field(u64, pause_ns)
	),
	TP_fast_assign(
		__entry->pid = task_tgid_nr(target);
		__entry->pause_ns = pause_ns;
	),
	TP_printk("pid=%d pause_ns=%llu", __entry->pid, __entry->pause_ns)
);

/* @type, @object: as in <cryo/format.h>. */
TRACE_EVENT(cryo_section,
	TP_PROTO(u16 type, u32 object, u64 bytes),
	TP_ARGS(type, object, bytes),
	TP_STRUCT__entry(
		__field(u16, type)
		__field(u32, object)
		__field(u64, bytes)
	),
	TP_fast_assign(
		__entry->type = type;
		__entry->object = object;
		__entry->bytes = bytes;
	),
	TP_printk("type=%u object=%u bytes=%llu", __entry->type, __entry->object, __entry->bytes)
);

/* A batch of pages of the memory @mm has been written: @saved of @looked_at. */
TRACE_EVENT(cryo_pages,
	TP_PROTO(u32 mm, unsigned int looked_at, unsigned int saved),
	TP_ARGS(mm, looked_at, saved),
	TP_STRUCT__entry(
		__field(u32, mm)
		__field(unsigned int, looked_at)
		__field(unsigned int, saved)
	),
	TP_fast_assign(
		__entry->mm = mm;
		__entry->looked_at = looked_at;
		__entry->saved = saved;
	),
	TP_printk("mm=%u looked_at=%u saved=%u", __entry->mm, __entry->looked_at, __entry->saved)
);

/* @thread takes its place in a restart. */
TRACE_EVENT(cryo_restart_join,
	TP_PROTO(struct task_struct *thread, struct pid *coordinator),
	TP_ARGS(thread, coordinator),
	TP_STRUCT__entry(
		__field(pid_t, tid)
		__field(pid_t, coordinator)
	),
	TP_fast_assign(
		__entry->tid = task_pid_nr(thread);
		__entry->coordinator = pid_nr(coordinator);
	),
	TP_printk("coordinator=%d tid=%d", __entry->coordinator, __entry->tid)
);

/* @state: enum cryo_rst_state. */
TRACE_EVENT(cryo_restart_state,
	TP_PROTO(struct pid *coordinator, unsigned int state),
	TP_ARGS(coordinator, state),
	TP_STRUCT__entry(
		__field(pid_t, coordinator)
		__field(unsigned int, state)
	),
	TP_fast_assign(
		__entry->coordinator = pid_nr(coordinator);
		__entry->state = state;
	),
	TP_printk("coordinator=%d state=%s", __entry->coordinator,
		  __print_symbolic(__entry->state, { 0, "gather" }, { 1, "committing" },
				   { 2, "registers" }, { 3, "setup" }, { 4, "tables" },
				   { 5, "go" }, { 6, "aborted" }))
);

/* A thread of @process waits for a page of mapped memory: it comes with those around it. */
TRACE_EVENT(cryo_map_fault,
	TP_PROTO(struct pid *process, unsigned long address),
	TP_ARGS(process, address),
	TP_STRUCT__entry(
		__field(pid_t, pid)
		__field(unsigned long, address)
	),
	TP_fast_assign(
		__entry->pid = pid_nr(process);
		__entry->address = address;
	),
	TP_printk("pid=%d address=%#lx", __entry->pid, __entry->address)
);

/*
 * A page of mapped memory has come, whoever has brought it: from the context, or zeros where that
 * has none.
 */
TRACE_EVENT(cryo_map_page,
	TP_PROTO(struct pid *process, unsigned long address, bool in_context),
	TP_ARGS(process, address, in_context),
	TP_STRUCT__entry(
		__field(pid_t, pid)
		__field(unsigned long, address)
		__field(bool, in_context)
	),
	TP_fast_assign(
		__entry->pid = pid_nr(process);
		__entry->address = address;
		__entry->in_context = in_context;
	),
	TP_printk("pid=%d address=%#lx in_context=%d", __entry->pid, __entry->address,
		  __entry->in_context)
);

#endif /* CRYO_LIB_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH lib
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
