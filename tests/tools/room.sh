#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# No room for what a restart writes: contents of files, and memory.
# shellcheck disable=SC2016 # eval expands it later
. "$(dirname "$0")/lib.sh"

small=$base/small
group=/sys/fs/cgroup/cryo-room
mkdir "$small"
mount -t tmpfs -o size=4m tmpfs "$small"
trap 'end_processes; rmdir $group 2>/dev/null; clean_up' EXIT

# hold COMMAND [MIB]: the context of a program that had the file open at 6, after that command.
hold()
{
	fresh
	rm -rf "${small:?}"/*
	truncate -s 100M "$small/file"
	head -c 1M /dev/urandom | dd of="$small/file" bs=1M seek=50 conv=notrunc status=none
	"$busy" "$PWD/count" ${2-} 6<>"$small/file" >/dev/null 2>&1 &
	pid=$!
	started+=("$pid")
	wait_for busy_counts
	eval "$1"
	cr --kill -f ctx "$pid"
	wait "$pid" 2>/dev/null
	wait_for is_gone "$pid"
}
try() { rc=0; err=$(cr_restart "$@" ctx </dev/null 2>&1) || rc=$?; }
counts_again() { ! cmp -s count count.old; }
runs()
{
	cp count count.old
	cr_restart "$@" ctx >/dev/null 2>&1 &
	started+=("$!" "$pid")
	wait_for counts_again && end_processes && wait_for is_gone "$pid"
}

hold 'rm "$small/file"'
try --check
check "a deleted file with a hole: there is room" eval 'status_is 0 && [ -z "$err" ]'
check "... it runs" runs
head -c 3500k /dev/zero >"$small/others"
try --check
check "... and now there is none: --check says so" \
	eval 'status_is 28 && said "$small/file: its contents take 1048576 bytes, and " && said "are free in its file system (--relocate=OLD=NEW selects another one)"'
mkdir other
check "... elsewhere there is" runs --relocate="$small=$PWD/other"
try
check "... nothing of it is made" eval 'status_is 28 && same "$(ls "$small")" others'

# Two names of one file take its room once.
hold 'ln "$small/file" "$small/link"; rm "$small/file" "$small/link"'
head -c 2500k /dev/zero >"$small/others"
try --check
check "a file of two names takes its room once" eval 'status_is 0 && [ -z "$err" ]'

# What is moved out of an output file goes there, too.
fresh
rm -rf "${small:?}"/*
echo before >"$small/log"
head -c 2M /dev/urandom >"$small/file"
"$busy" "$PWD/count" 6<>"$small/file" 7<>"$small/log" >/dev/null 2>&1 &
pid=$!
started+=("$pid")
wait_for busy_counts
rm "$small/file"
cr --kill -f ctx "$pid"
wait "$pid" 2>/dev/null
wait_for is_gone "$pid"
head -c 1200k /dev/zero >>"$small/log"
try --check
check "contents, and what is kept aside: each has room, both have not" \
	eval 'status_is 28 && said "moves them to $small/log.cut.1" && said "$small/file: its contents take 2097152 bytes"'
try --check --truncate
check "... without the one there is" status_is 0

if echo +memory >/sys/fs/cgroup/cgroup.subtree_control && mkdir -p $group; then
	hold : 200
	echo $((150 << 20)) >$group/memory.max
	in_group() { rc=0; err=$( (echo "$BASHPID" >$group/cgroup.procs && exec cr_restart "$@" ctx </dev/null) 2>&1) || rc=$?; }
	in_group --check
	check "less memory in the control group than the job had: --check warns" \
		eval 'status_is 0 && [[ $err =~ "warning: the job has "[0-9]+" bytes of memory in the context, and "[0-9]+" can be had in its control group (see $group/memory.max)" ]]'
	in_group --check --no-populate
	check "... not where it comes when it is used" eval 'status_is 0 && ! said "bytes of memory"'
	echo max >$group/memory.max
	in_group --check
	check "... and not where there is no limit" eval 'status_is 0 && ! said "bytes of memory"'
else
	count=$((count + 1))
	echo "ok $count - # SKIP no memory controller"
fi

done_testing
