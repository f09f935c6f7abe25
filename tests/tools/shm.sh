#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# POSIX shared memory between a checkpoint and a restart: left behind, gone, in use, somebody else's.
. "$(dirname "$0")/lib.sh"

dir=$(mktemp -d /dev/shm/cryo-tools-XXXXXX)
memory=$dir/count.shm
trap 'end_processes; rm -rf "$dir"; clean_up' EXIT

restart()
{
	rc=0
	out=$(cr_restart "$@" ctx 2>"$base/stderr") || rc=$?
	err=$(cat "$base/stderr")
}

counts() { [ -s "$dir/count" ]; }
counts_on() { ! cmp -s "$dir/count" count.old; }

# runs: restarts, waits until it counts, and ends it. It would have ended itself if the memory was not as
# it left it.
runs()
{
	local status
	cp "$dir/count" count.old
	cr_restart ctx 2>"$base/stderr" &
	started+=("$!" "$pid")
	wait_for counts_on && sleep 0.2 && wait_for in_state "$pid" S
	status=$?
	err=$(cat "$base/stderr")
	end_processes
	wait_for is_gone "$pid"
	return $status
}

fresh
"$busy" "$dir/count" shm >/dev/null 2>&1 &	# not the log of this test, which a restart would cut back
pid=$!
started+=("$pid")
wait_for counts
cr --kill -f ctx "$pid"
wait "$pid" 2>/dev/null
check "a checkpoint" is_context ctx
check "cr_info tells what it is" eval 'cr_info -v --json ctx | grep -q posix-shared-memory'
check "left behind: it goes on" runs
check "changed since: it goes on from the checkpoint" runs
rm "$memory"
check "gone: it is made anew" runs
check "... with its mode" same "$(stat -c %a "$memory")" 644
check "made anew by a restart: known by the next one" runs

# Who only looks at it has it all the time: for a moment empty, and never without pages.
"$here/onlooker" "$memory" >looks & onlooker=$!
wait_for test -s looks
for round in {1..6}; do
	runs || break
done
check "somebody has it mapped for reading: it goes on" same "$round" 6
check "... and who looks at it is not ended by SIGBUS" kill -0 "$onlooker"
kill "$onlooker" 2>/dev/null
wait "$onlooker" 2>/dev/null

# What is somebody's memory stays as it is.
before=$(md5sum <"$memory")
exec 9<>"$memory"
restart
check "open elsewhere: refused" status_is 17
check "... by name and reason" said "mapped file $memory: is in use: its contents cannot be put back"
exec 9>&-
check "... and left alone" same "$(md5sum <"$memory")" "$before"
cp "$memory" other
rm "$memory"
: >"$dir/hole"		# takes the number that the object had, if that is given out again
cp other "$memory"	# with a time of its own
restart
check "another one of that name: refused" status_is 17
check "... by name and reason" said "mapped file $memory: another object than at the checkpoint has its name"
check "... and left alone" cmp -s "$memory" other
rm "$memory"
mkdir "$memory"
restart --check
check "a directory of that name: refused" said "mapped file $memory: "
rmdir "$memory"
restart --check --relocate "$memory=$dir/moved"
check "--relocate: made where it is wanted" status_is 0
done_testing
