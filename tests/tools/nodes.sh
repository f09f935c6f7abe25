#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Memory of NUMA nodes that cannot be had in the control group that a process is going to be in.  Takes a machine that has two:
#
#     tests/vm/run --append numa=fake=2 -- /cryo/tests/tools/nodes.sh
# shellcheck disable=SC2016 # eval expands it later
. "$(dirname "$0")/lib.sh"

groups=/sys/fs/cgroup
[ -e /sys/devices/system/node/node1 ] || skip_all "takes two NUMA nodes"
[ -e $groups/cgroup.controllers ] || skip_all "no control groups of version 2"
echo +cpuset >$groups/cgroup.subtree_control || skip_all "no cpusets"
few=$groups/cryo-few # with the first node only
own=$groups/cryo-own # the job's, with the second one
mkdir -p $few $own/inner
echo 0 >$few/cpuset.mems
echo 1 >$own/cpuset.mems
trap 'end_processes; rmdir $few $own/inner $own 2>/dev/null; clean_up' EXIT

# job: with memory of the second node, in the control group $in.
job()
{
	fresh
	(echo "$BASHPID" >"$in/cgroup.procs" && exec "$here/bound" 1 "$busy" "$PWD/count" >/dev/null 2>&1) &
	pid=$!
	started+=("$pid")
	wait_for busy_counts
	cr --kill -f ctx "$pid"
	wait "$pid" 2>/dev/null
	wait_for is_gone "$pid"
}
# restart ARGUMENT...: in the control group $from.
restart() { rc=0; err=$( (echo "$BASHPID" >"$from/cgroup.procs" && exec cr_restart "$@" ctx) 2>&1) || rc=$?; }
counts_again() { ! cmp -s count count.old; }
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
# On any of its pages that have a node.
binds() { grep -q ' bind[=:a-z]*1 .*N1=' "/proc/$pid/numa_maps"; }
warned() { said "warning: thread $pid: its NUMA memory policy: node 1 cannot be had: it is left out"; }

in=$own/inner from=$few
job
restart --check --cgroups=make
check "its control group has the node, that of cr_restart has not: --check says nothing" eval 'status_is 0 && ! said NUMA'
check "... it runs" runs --cgroups=make
check "... without a warning" eval '! said NUMA'
check "... bound to its node" binds
end_job
restart --check --cgroups=leave
check "... it stays in that of cr_restart: --check warns" eval 'status_is 0 && warned'
check "... it runs" runs --cgroups=leave
check "... with a warning" warned
check "... and no policy" not binds
end_job

echo 0 >$own/cpuset.mems
from=$groups
restart --check
check "its control group has lost the node, that of cr_restart has it: --check warns" eval 'status_is 0 && warned'
check "... it runs" runs
check "... with a warning" warned
check "... and no policy" not binds
end_job
rmdir $own/inner $own
restart --check
check "... is gone: --check says nothing" eval 'status_is 0 && ! said NUMA'
check "... it runs" runs
check "... bound to its node" binds
end_job

done_testing
