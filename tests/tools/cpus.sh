#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Threads whose CPUs are off, or not in the cpuset of who restarts them: they run on others, and cr_restart says so.
# shellcheck disable=SC2016 # eval expands it later
. "$(dirname "$0")/lib.sh"

groups=/sys/fs/cgroup
[ -e $groups/cgroup.controllers ] || skip_all "no control groups of version 2"
echo +cpuset >$groups/cgroup.subtree_control || skip_all "no cpusets"
[ "$(nproc)" -ge 2 ] || skip_all "takes two CPUs"
few=$groups/cryo-few # with the first CPU only
own=$groups/cryo-own # the job's, with the second one
mkdir -p $few $own
echo 0 >$few/cpuset.cpus
echo 1 >$own/cpuset.cpus
trap 'end_processes; echo 1 >/sys/devices/system/cpu/cpu1/online; rmdir $few $own 2>/dev/null; clean_up' EXIT

cpus_of() { sed -n 's/^Cpus_allowed_list:\t//p' "/proc/$1/status"; }
counts_again() { ! cmp -s count count.old; }
# job COMMAND...: begins with COMMAND, in the control group $in.
job()
{
	fresh
	(echo "$BASHPID" >"$in/cgroup.procs" && exec "$@" "$busy" "$PWD/count" >/dev/null 2>&1) &
	pid=$!
	started+=("$pid")
	wait_for busy_counts
	cr --kill -f ctx "$pid"
	wait "$pid" 2>/dev/null
	wait_for is_gone "$pid"
}
# restart ARGUMENT...: in the control group $from.
restart() { rc=0; err=$( (echo "$BASHPID" >"$from/cgroup.procs" && exec cr_restart "$@" ctx) 2>&1) || rc=$?; }
runs()
{
	cp count count.old
	(echo "$BASHPID" >"$from/cgroup.procs" && exec cr_restart "$@" ctx 2>"$base/stderr") &
	started+=("$!" "$pid")
	wait_for counts_again
	rc=$?
	err=$(cat "$base/stderr")
	return $rc
}
end_job() { end_processes; wait_for is_gone "$pid"; }
warned() { said "warning: thread $pid: none of the CPUs in its affinity mask (1) is available: it may run on 0"; }

in=$groups from=$groups
job taskset -c 1
echo 0 >/sys/devices/system/cpu/cpu1/online
restart --check
check "its CPU is off: --check warns" eval 'status_is 0 && warned'
check "... it runs" runs
check "... with a warning" warned
check "... on the other one" same "$(cpus_of "$pid")" 0
end_job
echo 1 >/sys/devices/system/cpu/cpu1/online
restart --check
check "... on: --check says nothing" eval 'status_is 0 && ! said CPU'
check "... it runs" runs
check "... there" same "$(cpus_of "$pid")" 1
end_job

from=$few
restart --check
check "its CPU is not in the cpuset: --check warns" eval 'status_is 0 && warned'
check "... it runs" runs
check "... on the one that is" same "$(cpus_of "$pid")" 0
end_job

job taskset -c 0,1
restart --check
check "of all CPUs there is one left: --check says nothing" eval 'status_is 0 && ! said CPU'
check "... it runs" runs
check "... there" same "$(cpus_of "$pid")" 0
end_job

in=$own from=$groups
job taskset -c 1
restart --check
check "its control group has its CPU: --check says nothing" eval 'status_is 0 && ! said CPU'
check "... it runs" runs
check "... there" same "$(cpus_of "$pid")" 1
end_job
echo 0 >$own/cpuset.cpus
restart --check
check "... and has another one by now: --check warns" eval 'status_is 0 && warned'
check "... it runs" runs
check "... there" same "$(cpus_of "$pid")" 0
end_job
restart --check --cgroups=leave
check "... is left: --check says nothing" eval 'status_is 0 && ! said CPU'
check "... it runs" runs --cgroups=leave
check "... there" same "$(cpus_of "$pid")" 1
end_job
rmdir $own
from=$few
restart --check
check "... is gone: --check warns where that CPU cannot be had" eval 'status_is 0 && warned'
check "... it runs" runs
check "... on the one that can" same "$(cpus_of "$pid")" 0
end_job

done_testing
