#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A kernel whose private structures are not where the module looks for them: what its type information (BTF) says is
# changed here, as the module reads it when it is loaded.  Each difference is named, and what depends on it is off.
# shellcheck disable=SC2119 # optional arguments
. "$(dirname "$0")/lib.sh"

btf=/sys/kernel/btf/vmlinux
[ -e "$btf" ] || skip_all "this kernel has no type information (CONFIG_DEBUG_INFO_BTF)"
trap 'umount "$btf" 2>/dev/null; rmmod cryo 2>/dev/null; modprobe cryo; clean_up' EXIT

# load [FILE]: the module, on a kernel that describes itself as in FILE.
load()
{
	umount "$btf" 2>/dev/null
	rmmod cryo
	[ -z "${1-}" ] || mount --bind "$1" "$btf"
	dmesg -C
	modprobe cryo
}
changed() { perl "$here/change-btf" "$plain" "$base/btf" "$@"; }
log_says() { dmesg | grep -qF "$1"; }
info_says() { cr_info --check | grep -qF -- "$1"; }
feature() { cr_info --check | grep -q "^good  *feature  *$1\$"; }
# refused TEXT PERL...: a process that runs the statements and then sleeps is refused, for this.
refused()
{
	# That of the last one says nothing of this one.
	rm -f "$base/ready"
	perl -e "$2; \$| = 1; print STDERR qq(ready\n); sleep 1000" 2>"$base/ready" >/dev/null </dev/null &
	asked=$!
	started+=("$asked")
	wait_for grep -q ready "$base/ready"
	cr "$asked" && not status_is 0 && said "$1"
}
private="a file whose structures this kernel has changed (cr_info --check) is not supported"
plain=$base/plain
cat "$btf" >"$plain"

fresh
load
check "the kernel as it is: the module knows it" info_says "the module knows the private structures of $btf"
check "... and says nothing" not log_says "differs in this kernel from"

members=(epitem.event timerfd_ctx.t inotify_inode_mark.wd netlink_sock.flags unix_skb_parms.fp n_tty_data.read_head
	mqueue_inode_info.qsize sem_array.sem_nsems shmid_kernel.shm_nattch msg_queue.q_stime
	mmu_notifier_subscriptions.has_itree seccomp_filter.prog io_sq_data.sq_cpu kioctx.nr_events)
changed "${members[@]}" NETLINK_F_CAP_ACK=9 >"$base/lacking"
check "the type information has all that is changed" same "$(cat "$base/lacking")" ""
load "$base/btf"
for member in "${members[@]}"; do
	check "$member has moved: the log names it" log_says "cryo: struct ${member%.*} "
	check "... and cr_info" info_says "struct ${member%.*} ${member#*.}"
done
check "a constant: the log names it" log_says "cryo: NETLINK_F_CAP_ACK"
check "... and cr_info, with what is off" info_says "NETLINK_F_CAP_ACK is 9, the module takes it for 5: netlink sockets are refused"
check "the structures are told by the module itself" info_says "not found in this kernel: struct epitem,struct timerfd_ctx,"
check "no snapshots" not feature snapshot
check "a Unix socket is refused" refused "$private" 'use Socket; socketpair(A, B, AF_UNIX, SOCK_STREAM, 0) or die'
check "a netlink socket" refused "$private" 'socket(A, 16, 3, 0) or die'
check "semaphores" refused "System V semaphores in its ipc namespace: this kernel's structures differ from those that Cryo knows" \
	'$id = semget(0, 1, 0600) // die; $SIG{TERM} = sub { semctl($id, 0, 0, 0); exit }'
kill "$asked"; wait "$asked"
check "shared memory" refused "System V shared memory in its ipc namespace: this kernel's structures differ from those that Cryo knows (cr_info --check)" \
	'$id = shmget(0, 1, 0600) // die; $SIG{TERM} = sub { shmctl($id, 0, 0); exit }'
kill "$asked"; wait "$asked"
check "message queues" refused "System V message queues in its ipc namespace" \
	'$id = msgget(0, 0600) // die; $SIG{TERM} = sub { msgctl($id, 0, 0); exit }'
kill "$asked"; wait "$asked"
if [ "$(uname -m)" = x86_64 ]; then
	check "an epoll descriptor" refused "$private" 'syscall(291, 0) >= 0 or die'
	check "a timerfd" refused "$private" 'syscall(283, 1, 0) >= 0 or die'
	check "an inotify descriptor" refused "$private" 'syscall(294, 0) >= 0 or die'
	check "a message queue" refused "$private" \
		'syscall(240, $name = "layouts", 0102, 0600, 0) >= 0 or die; syscall(241, $name) == 0 or die'
	check "io_uring" refused "$private" '$params = "\0" x 120; syscall(425, 1, $params) >= 0 or die'
	check "a context of io_setup" \
		refused "asynchronous I/O contexts (io_setup), whose structures differ in this kernel from those that Cryo knows (cr_info --check), are not supported" \
		'$id = "\0" x 8; syscall(206, 4, $id) == 0 or die'
	check "a pseudo-terminal" refused "$private" 'open A, "+<", "/dev/ptmx" or die'
	check "a seccomp filter" refused "a seccomp filter, kept in an unknown way" \
		'$code = pack("SCCL", 6, 0, 0, 0x7fff0000); $program = pack("SxxxxxxP", 1, $code); syscall(157, 38, 1, 0, 0, 0) == 0 or die; syscall(317, 1, 0, $program) == 0 or die'
fi
fresh
ipcrm --all
start
cr "$pid"
check "what has none of these can be checkpointed" status_is 0

# Functions with another prototype are as good as missing.
prefix=__x64_sys_
[ "$(uname -m)" = x86_64 ] || prefix=__arm64_sys_
changed "${prefix}epoll_pwait2()" 'anon_vma_clone()' 'khugepaged_enter_vma()' >"$base/lacking"
if [ -s "$base/lacking" ]; then
	check "functions # SKIP $(tr '\n' ' ' <"$base/lacking")" true
else
	load "$base/btf"
	check "a system call is another one: no timed waits" not feature timed-waits
	check "... for the others the features stay" feature socket-options
	check "all three are told by the module" \
		info_says "not found in this kernel: anon_vma_clone,khugepaged_enter_vma,${prefix}epoll_pwait2"
	check "... and by cr_info" info_says "anon_vma_clone() returns and takes v"
fi
changed "ptrace_may_access()" >/dev/null
check "without ptrace_may_access() the module does not load" not load "$base/btf" 2>/dev/null
check "... and says so" log_says "cryo: cannot find ptrace_may_access in this kernel"

# What is no type information, or damaged, is as if there were none.
printf 'no such thing' >"$base/btf"
load "$base/btf"
check "garbage: the module says that nothing was compared" log_says "private structures have not been compared"
check "... and cr_info" info_says "not checked: cannot read type information (BTF)"
size=$(stat -c %s "$plain")
for length in 10 24 1000 $((size / 3)) $((size - 1)); do
	head -c "$length" "$plain" >"$base/btf"
	check "$length bytes of it: the module loads" load "$base/btf"
	check "... and says that nothing was compared" log_says "private structures have not been compared"
done
RANDOM=1
for round in 1 2 3 4 5; do
	cp "$plain" "$base/btf"
	for ((i = 0; i < 200; i++)); do
		printf "\\x$(printf %x $((RANDOM % 256)))" |
			dd of="$base/btf" bs=1 seek=$(((RANDOM * 32768 + RANDOM) % size)) conv=notrunc status=none
	done
	load "$base/btf" || :
	check "damaged anywhere ($round): nothing breaks" true
done
check "the kernel as it is: the module loads" load
check "... and knows it" info_says "the module knows the private structures of $btf"
done_testing
