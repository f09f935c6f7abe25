#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A job stopped by one of the terminal's signals is stopped by that signal again.
. "$(dirname "$0")/lib.sh"

# What waitpid(2) tells the parent of a stopped process, if it has not looked yet.
stopped_by() { sed 's/.*) //' "/proc/$1/stat" | cut -d ' ' -f 50; }

# In a process group of its own, as a shell with job control does it: an orphaned group would not be stopped.
# Not by `set -m`: a shell that sees a job stopped leaves its loops, and the test with them.
# And without the log of this test, which a restart would cut back.
start_job()
{
	rm -f "$base/work/count"
	perl -e 'setpgrp; exec @ARGV' "$busy" "$base/work/count" >/dev/null 2>&1 &
	pid=$!
	started+=("$pid")
	wait_for busy_counts
}

for signal in TSTP TTIN TTOU STOP; do
	fresh
	start_job
	kill -"$signal" "$pid"
	wait_for in_state "$pid" T
	number=$(kill -l "$signal")
	check "SIG$signal stops it" in_state "$pid" T
	cr --kill -f ctx "$pid"
	check "... a checkpoint" status_is 0
	wait_for is_gone "$pid"
	cr_restart ctx &
	started+=("$!" "$pid")
	wait_for in_state "$pid" T
	check "... and it is stopped again" in_state "$pid" T
	check "... by the same signal" same "$(stopped_by "$pid")" "$number"
	kill -CONT "$pid"
	check "... until it goes on" goes_on
done

# Without job control nobody could continue its group.
fresh
start_job
kill -TSTP "$pid"
wait_for in_state "$pid" T
cr --kill -f ctx "$pid"
wait_for is_gone "$pid"
setsid cr_restart ctx &
started+=("$!" "$pid")
wait_for in_state "$pid" T
check "in an orphaned group: stopped all the same" in_state "$pid" T
check "... by SIGSTOP" same "$(stopped_by "$pid")" 19
kill -CONT "$pid"
check "... until it goes on" goes_on

# The first process of a pid namespace takes no signals from inside, where the restart resumes it; by itself, and below its parent.
# first_process WHOM: WHOM is checkpointed.
first_process()
{
	local what=$1 parent first target
	fresh
	setsid unshare -fp --mount-proc "$busy" "$base/work/count" </dev/null >/dev/null 2>&1 &
	parent=$!
	wait_for busy_counts
	first=$(pgrep -P "$parent")
	started+=("$parent" "$first")
	kill -STOP "$first"
	wait_for in_state "$first" T
	target=${!what}
	cr --tree --kill -f ctx "$target"
	check "the first process of a pid namespace, by its $what: a checkpoint" status_is 0
	kill -KILL "$parent" 2>/dev/null
	wait "$parent" 2>/dev/null
	wait_for is_gone "$first"
	pid=$first
	cr_restart ctx </dev/null >/dev/null 2>&1 &
	started+=("$!" "$parent" "$first")
	wait_for in_state "$first" T
	check "... it is stopped again" in_state "$first" T
	kill -CONT "$first"
	check "... until it goes on" goes_on
}
first_process first
first_process parent

done_testing
