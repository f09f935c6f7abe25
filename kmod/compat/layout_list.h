/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * layout_list.h - everything that Cryo takes on trust about the kernel: what it uses of structures
 * that are private to one file of the kernel, and the prototypes of functions that no header has
 *
 * GROUP(g, without)			what is off when something of the group differs
 * MEMBER(g, type, member, copy, own)	struct type keeps member where struct copy has own, in the
 *					same size
 * PLACE(g, type, member, copy, own)	... in any size
 * BIT_BEHIND(g, type, member, copy, own)	it begins right behind own
 * SIZE(g, type, copy)			both have one size
 * CONSTANT(g, name, value)		an enumerator
 * FUNCTION(g, name, prototype)
 *
 * Members of one structure are together. layouts.c compares them with the kernel's type information
 * (BTF).
 */

GROUP(EPOLL, "epoll descriptors are refused")
PLACE(EPOLL, epitem, ffd.file, struct cryo_epitem, ffd.file)
MEMBER(EPOLL, epitem, ffd.fd, struct cryo_epitem, ffd.fd)
MEMBER(EPOLL, epitem, rdllink, struct cryo_epitem, rdllink)
MEMBER(EPOLL, epitem, ep, struct cryo_epitem, ep)
MEMBER(EPOLL, epitem, fllink, struct cryo_epitem, fllink)
MEMBER(EPOLL, epitem, event, struct cryo_epitem, event)
PLACE(EPOLL, epitem, rbn, struct cryo_epitem, rbn)
MEMBER(EPOLL, eventpoll, mtx, struct cryo_eventpoll, mtx)
MEMBER(EPOLL, eventpoll, rbr, struct cryo_eventpoll, rbr)

#ifdef CONFIG_TIMERFD
GROUP(TIMERFD, "timerfd descriptors are refused")
MEMBER(TIMERFD, timerfd_ctx, t.tmr, union cryo_timerfd_ctx, timer)
MEMBER(TIMERFD, timerfd_ctx, t.alarm, union cryo_timerfd_ctx, alarm)
#else
GROUP(TIMERFD, "")
#endif

GROUP(EVENTFD, "eventfd descriptors are refused")
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
MEMBER(EVENTFD, eventfd_ctx, flags, struct cryo_eventfd_ctx, flags)
#endif

GROUP(INOTIFY, "inotify descriptors are refused")
#ifdef CONFIG_INOTIFY_USER
MEMBER(INOTIFY, inotify_inode_mark, fsn_mark, struct cryo_inotify_mark, mark)
MEMBER(INOTIFY, inotify_inode_mark, wd, struct cryo_inotify_mark, wd)
MEMBER(INOTIFY, inotify_event_info, fse, struct cryo_inotify_info, event)
MEMBER(INOTIFY, inotify_event_info, mask, struct cryo_inotify_info, mask)
MEMBER(INOTIFY, inotify_event_info, wd, struct cryo_inotify_info, wd)
MEMBER(INOTIFY, inotify_event_info, sync_cookie, struct cryo_inotify_info, cookie)
MEMBER(INOTIFY, inotify_event_info, name_len, struct cryo_inotify_info, name_len)
PLACE(INOTIFY, inotify_event_info, name, struct cryo_inotify_info, name)
#endif

GROUP(URING, "io_uring is refused")
#ifdef CONFIG_IO_URING
MEMBER(URING, io_sq_data, ctx_list>thread, struct cryo_sq_data, thread)
MEMBER(URING, io_sq_data, ctx_list>sq_cpu, struct cryo_sq_data, sq_cpu)
MEMBER(URING, io_ev_fd, cq_ev_fd, struct cryo_io_ev_fd, ctx)
MEMBER(URING, io_tctx_node, ctx_node, struct cryo_tctx_node, ctx_node)
MEMBER(URING, io_tctx_node, task, struct cryo_tctx_node, task)
BIT_BEHIND(URING, io_ev_fd, eventfd_async, struct cryo_io_ev_fd, ctx)
#endif

GROUP(AIO, "contexts of io_setup(2) are refused")
#ifdef CONFIG_AIO
MEMBER(AIO, kioctx_table, nr, struct cryo_kioctx_table, nr)
PLACE(AIO, kioctx_table, table, struct cryo_kioctx_table, table)
MEMBER(AIO, kioctx, reqs, struct cryo_kioctx, reqs)
MEMBER(AIO, kioctx, max_reqs, struct cryo_kioctx, max_reqs)
MEMBER(AIO, kioctx, nr_events, struct cryo_kioctx, nr_events)
MEMBER(AIO, kioctx, mmap_base, struct cryo_kioctx, mmap_base)
MEMBER(AIO, kioctx, mmap_size, struct cryo_kioctx, mmap_size)
#endif

GROUP(NETLINK, "netlink sockets are refused")
MEMBER(NETLINK, netlink_sock, flags, struct cryo_netlink_sock, flags)
MEMBER(NETLINK, netlink_sock, subscriptions, struct cryo_netlink_sock, subscriptions)
MEMBER(NETLINK, netlink_sock, cb_running, struct cryo_netlink_sock, cb_running)
CONSTANT(NETLINK, NETLINK_F_RECV_PKTINFO, CRYO_NETLINK_PKTINFO)
CONSTANT(NETLINK, NETLINK_F_BROADCAST_SEND_ERROR, CRYO_NETLINK_BROADCAST_ERROR)
CONSTANT(NETLINK, NETLINK_F_RECV_NO_ENOBUFS, CRYO_NETLINK_NO_ENOBUFS)
CONSTANT(NETLINK, NETLINK_F_LISTEN_ALL_NSID, CRYO_NETLINK_LISTEN_ALL_NSID)
CONSTANT(NETLINK, NETLINK_F_CAP_ACK, CRYO_NETLINK_CAP_ACK)
CONSTANT(NETLINK, NETLINK_F_EXT_ACK, CRYO_NETLINK_EXT_ACK)
CONSTANT(NETLINK, NETLINK_F_STRICT_CHK, CRYO_NETLINK_STRICT_CHK)

/* Where it is a module, the kernel's own type information does not have it. */
GROUP(UNIX, "Unix sockets are refused")
#if IS_BUILTIN(CONFIG_UNIX)
MEMBER(UNIX, unix_skb_parms, pid, struct unix_skb_parms, pid)
MEMBER(UNIX, unix_skb_parms, uid, struct unix_skb_parms, uid)
MEMBER(UNIX, unix_skb_parms, gid, struct unix_skb_parms, gid)
MEMBER(UNIX, unix_skb_parms, fp, struct unix_skb_parms, fp)
MEMBER(UNIX, unix_skb_parms, consumed, struct unix_skb_parms, consumed)
#endif

GROUP(N_TTY, "pseudo-terminals are refused")
#ifdef CONFIG_TTY
MEMBER(N_TTY, n_tty_data, read_head, struct cryo_n_tty, read_head)
MEMBER(N_TTY, n_tty_data, echo_head, struct cryo_n_tty, echo_head)
MEMBER(N_TTY, n_tty_data, read_buf, struct cryo_n_tty, read_buf)
MEMBER(N_TTY, n_tty_data, read_flags, struct cryo_n_tty, read_flags)
MEMBER(N_TTY, n_tty_data, read_tail, struct cryo_n_tty, read_tail)
MEMBER(N_TTY, n_tty_data, echo_tail, struct cryo_n_tty, echo_tail)
#endif

GROUP(MQUEUE, "POSIX message queues are refused")
#ifdef CONFIG_POSIX_MQUEUE
MEMBER(MQUEUE, mqueue_inode_info, lock, struct cryo_mq_info, lock)
MEMBER(MQUEUE, mqueue_inode_info, vfs_inode, struct cryo_mq_info, vfs_inode)
MEMBER(MQUEUE, mqueue_inode_info, msg_tree, struct cryo_mq_info, msg_tree)
MEMBER(MQUEUE, mqueue_inode_info, msg_tree_rightmost, struct cryo_mq_info, msg_tree_rightmost)
MEMBER(MQUEUE, mqueue_inode_info, attr, struct cryo_mq_info, attr)
MEMBER(MQUEUE, mqueue_inode_info, notify, struct cryo_mq_info, notify)
MEMBER(MQUEUE, mqueue_inode_info, notify_owner, struct cryo_mq_info, notify_owner)
MEMBER(MQUEUE, mqueue_inode_info, qsize, struct cryo_mq_info, qsize)
MEMBER(MQUEUE, posix_msg_tree_node, rb_node, struct cryo_mq_node, rb_node)
MEMBER(MQUEUE, posix_msg_tree_node, msg_list, struct cryo_mq_node, msg_list)
MEMBER(MQUEUE, msg_msgseg, next, struct cryo_msg_segment, next)
SIZE(MQUEUE, msg_msgseg, struct cryo_msg_segment)
#endif

GROUP(SYSV_SHM, "jobs are refused where there is System V shared memory")
GROUP(SYSV_SEM, "jobs are refused where there are System V semaphores")
GROUP(SYSV_MSG, "jobs are refused where there are System V message queues")
#ifdef CONFIG_SYSVIPC
MEMBER(SYSV_SHM, shmid_kernel, shm_perm, struct cryo_shmid, shm_perm)
MEMBER(SYSV_SHM, shmid_kernel, shm_file, struct cryo_shmid, shm_file)
MEMBER(SYSV_SHM, shmid_kernel, shm_nattch, struct cryo_shmid, shm_nattch)
MEMBER(SYSV_SHM, shmid_kernel, shm_segsz, struct cryo_shmid, shm_segsz)
MEMBER(SYSV_SHM, shmid_kernel, shm_atim, struct cryo_shmid, shm_atim)
MEMBER(SYSV_SHM, shmid_kernel, shm_dtim, struct cryo_shmid, shm_dtim)
MEMBER(SYSV_SHM, shmid_kernel, shm_ctim, struct cryo_shmid, shm_ctim)
MEMBER(SYSV_SHM, shmid_kernel, shm_cprid, struct cryo_shmid, shm_cprid)
MEMBER(SYSV_SHM, shmid_kernel, shm_lprid, struct cryo_shmid, shm_lprid)
MEMBER(SYSV_SEM, sem, semval, struct cryo_sem_one, semval)
MEMBER(SYSV_SEM, sem, sempid, struct cryo_sem_one, sempid)
MEMBER(SYSV_SEM, sem, lock, struct cryo_sem_one, lock)
SIZE(SYSV_SEM, sem, struct cryo_sem_one)
MEMBER(SYSV_SEM, sem_array, sem_perm, struct cryo_sem_array, sem_perm)
MEMBER(SYSV_SEM, sem_array, sem_ctime, struct cryo_sem_array, sem_ctime)
MEMBER(SYSV_SEM, sem_array, sem_nsems, struct cryo_sem_array, sem_nsems)
PLACE(SYSV_SEM, sem_array, sems, struct cryo_sem_array, sems)
MEMBER(SYSV_SEM, sem_undo, list_proc, struct cryo_undo, list_proc)
MEMBER(SYSV_SEM, sem_undo, list_id, struct cryo_undo, list_id)
MEMBER(SYSV_SEM, sem_undo, semid, struct cryo_undo, semid)
PLACE(SYSV_SEM, sem_undo, semadj, struct cryo_undo, semadj)
MEMBER(SYSV_SEM, sem_undo_list, refcnt, struct cryo_undo_list, refcnt)
MEMBER(SYSV_SEM, sem_undo_list, lock, struct cryo_undo_list, lock)
MEMBER(SYSV_SEM, sem_undo_list, list_proc, struct cryo_undo_list, list_proc)
MEMBER(SYSV_MSG, msg_queue, q_perm, struct cryo_msq, q_perm)
MEMBER(SYSV_MSG, msg_queue, q_stime, struct cryo_msq, q_stime)
MEMBER(SYSV_MSG, msg_queue, q_rtime, struct cryo_msq, q_rtime)
MEMBER(SYSV_MSG, msg_queue, q_ctime, struct cryo_msq, q_ctime)
MEMBER(SYSV_MSG, msg_queue, q_cbytes, struct cryo_msq, q_cbytes)
MEMBER(SYSV_MSG, msg_queue, q_qnum, struct cryo_msq, q_qnum)
MEMBER(SYSV_MSG, msg_queue, q_qbytes, struct cryo_msq, q_qbytes)
MEMBER(SYSV_MSG, msg_queue, q_lspid, struct cryo_msq, q_lspid)
MEMBER(SYSV_MSG, msg_queue, q_lrpid, struct cryo_msq, q_lrpid)
MEMBER(SYSV_MSG, msg_queue, q_messages, struct cryo_msq, q_messages)
MEMBER(SYSV_MSG, msg_msgseg, next, struct cryo_msg_segment, next)
SIZE(SYSV_MSG, msg_msgseg, struct cryo_msg_segment)
#endif

GROUP(NOTIFIERS, "no snapshots, no tracking, no shared pages")
#ifdef CONFIG_MMU_NOTIFIER
MEMBER(NOTIFIERS, mmu_notifier_subscriptions, list, struct cryo_notifier_list, list)
MEMBER(NOTIFIERS, mmu_notifier_subscriptions, has_itree, struct cryo_notifier_list, has_itree)
#endif

GROUP(SECCOMP, "processes with seccomp filters are refused")
#ifdef CONFIG_SECCOMP_FILTER
MEMBER(SECCOMP, seccomp_filter, refs, struct cryo_seccomp_copy, refs)
MEMBER(SECCOMP, seccomp_filter, users, struct cryo_seccomp_copy, users)
MEMBER(SECCOMP, seccomp_filter, log, struct cryo_seccomp_copy, log)
MEMBER(SECCOMP, seccomp_filter, wait_killable_recv, struct cryo_seccomp_copy, wait_killable_recv)
MEMBER(SECCOMP, seccomp_filter, prev, struct cryo_seccomp_copy, prev)
MEMBER(SECCOMP, seccomp_filter, prog, struct cryo_seccomp_copy, prog)
MEMBER(SECCOMP, seccomp_filter, notif, struct cryo_seccomp_copy, notif)
#endif

/* By name: ksym.c uses none that differs. */
GROUP(FUNCTIONS, "as if it were not there, see cryo(4)")
FUNCTION(FUNCTIONS, ptrace_may_access, "1p4")
FUNCTION(FUNCTIONS, task_work_cancel_match, "pppp")
FUNCTION(FUNCTIONS, wait_task_inactive, "8p4")
FUNCTION(FUNCTIONS, replace_mm_exe_file, "4pp")
FUNCTION(FUNCTIONS, hrtimer_nanosleep_restart, "8p")
FUNCTION(FUNCTIONS, futex_wait_restart, "8p")
FUNCTION(FUNCTIONS, do_restart_poll, "8p")
FUNCTION(FUNCTIONS, sk_getsockopt, "4p44ss")
FUNCTION(FUNCTIONS, do_ip_getsockopt, "4p44ss")
FUNCTION(FUNCTIONS, do_ipv6_getsockopt, "4p44ss")
FUNCTION(FUNCTIONS, do_tcp_getsockopt, "4p44ss")
FUNCTION(FUNCTIONS, __udp_enqueue_schedule_skb, "4pp")
FUNCTION(FUNCTIONS, put_files_struct, "vp")
FUNCTION(FUNCTIONS, hook_ptrace_access_check, "4p4")
FUNCTION(FUNCTIONS, hook_ptrace_traceme, "4p")
FUNCTION(FUNCTIONS, flush_tlb_mm_range, "vp8841")
FUNCTION(FUNCTIONS, __anon_vma_prepare, "4p")
/* A third argument is given to all of these; those that have none do not look at it. */
FUNCTION(FUNCTIONS, anon_vma_clone, "4pp|4pp4")
FUNCTION(FUNCTIONS, split_huge_page_to_list, "4pp")
FUNCTION(FUNCTIONS, split_huge_page_to_list_to_order, "4pp4")
FUNCTION(FUNCTIONS, __split_huge_page_to_list_to_order, "4pp4")
FUNCTION(FUNCTIONS, khugepaged_enter_vma, "vp8")
FUNCTION(FUNCTIONS, lru_gen_add_mm, "vp")
FUNCTION(FUNCTIONS, lru_gen_del_mm, "vp")
#ifdef CRYO_ARCH_REGS_CALL
FUNCTION(FUNCTIONS, CRYO_ARCH_REGS_CALL(epoll_wait), "8p")
FUNCTION(FUNCTIONS, CRYO_ARCH_REGS_CALL(epoll_pwait), "8p")
FUNCTION(FUNCTIONS, CRYO_ARCH_REGS_CALL(epoll_pwait2), "8p")
FUNCTION(FUNCTIONS, CRYO_ARCH_REGS_CALL(rt_sigtimedwait), "8p")
FUNCTION(FUNCTIONS, CRYO_ARCH_REGS_CALL(semtimedop), "8p")
FUNCTION(FUNCTIONS, CRYO_ARCH_REGS_CALL(seccomp), "8p")
FUNCTION(FUNCTIONS, CRYO_ARCH_REGS_CALL(landlock_create_ruleset), "8p")
#endif

#undef GROUP
#undef MEMBER
#undef PLACE
#undef BIT_BEHIND
#undef SIZE
#undef CONSTANT
#undef FUNCTION
