#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Generations of several jobs that have had one id, in one directory: --keep removes nobody else's, and a job that is restarted
# goes on with its own.
# shellcheck disable=SC2016,SC2119 # eval expands it later; optional arguments
. "$(dirname "$0")/lib.sh"

names() { (cd g && echo context.*); }
needs() { cr_info --chain "g/context.$id.$1"; }
# start_as ID: another job, with that id and a file of its own.  Nothing else is forked in between.
start_as()
{
	for _ in 1 2 3 4 5; do
		echo $(($1 - 1)) >/proc/sys/kernel/ns_last_pid
		"$busy" "$base/work/other" 4 >/dev/null 2>&1 &
		pid=$!
		started+=("$pid")
		wait_for test -s "$base/work/other"
		[ "$pid" = "$1" ] && return
		end_it
	done
	return 1
}
# are NUMBER...: these are there, and no others.
are() { same "$(names | tr ' ' '\n' | sort)" "$(printf "context.$id.%s\n" "$@" | sort)"; }

fresh
mkdir g
start_quietly 4
id=$pid
cr --incremental g "$pid"
wait_for goes_on
cr --incremental g "$pid"
check "a job has two generations" eval 'status_is 0 && are 1 2'
end_it
check "another job gets its id" start_as "$id"
cr --incremental g --keep 1 "$pid"
check "its first generation: success" status_is 0
check "... it is told whose the others are" said "g/context.$id.2 and 1 more are from another job that had the id $id"
check "... and what to do" said "use a separate directory for each job"
check "... it is a full one" eval 'needs 3 | grep -q "needs no other context"'
check "... those of the first job stay" are 1 2 3
cr -q --incremental g --keep 1 "$pid"
check "the next one: the others still stay" eval 'status_is 0 && [ -z "$err" ] && [ -e "g/context.$id.1" ] && [ -e "g/context.$id.2" ]'
check "... its parent is its own" eval 'needs 4 | grep -q "needs context.$id.3: .*, good" && ! needs 4 | grep -q "needs context.$id.[12]:"'
end_it

# The first job is restarted: it goes on with its own.
cr_restart "g/context.$id.2" </dev/null >/dev/null 2>&1 &
started+=($!)
pid=$id
wait_for goes_on
check "the first job is restarted" goes_on
cr --incremental g --keep 1 "$pid"
check "its next generation: success" status_is 0
check "... it is told of the other job" said "g/context.$id.4 and 1 more are from another job"
check "... its parent is its own" eval 'needs 5 | grep -q "needs context.$id.2: .*, good\|needs context.$id.1: .*, good"'
check "... which can be restarted" cr_info --chain "g/context.$id.5"
check "... those of the other job stay" eval '[ -e "g/context.$id.4" ] && cr_info --chain "g/context.$id.4" >/dev/null'
for i in 6 7; do
	wait_for goes_on
	cr -z --incremental g --keep 1 "$pid"
	[ "$rc" = 0 ] || break
done
check "compressed ones: success" status_is 0
check "... what the newest needs is there" cr_info --chain "g/context.$id.7.zst"
# Its page may be what the newest one needs.
check "... one that nobody needs is not" \
	eval 'not exists "g/context.$id.6.zst" || cr_info --chain "g/context.$id.7.zst" | grep -q "needs context.$id.6.zst:"'
check "... those of the other job stay" cr_info --chain "g/context.$id.4"
end_it
check "the newest of the first one makes that again" restarts "g/context.$id.7.zst"

# A program that runs another one begins anew.
fresh
mkdir g
mkfifo go
bash -c 'read -r line <go; exec "$0" "$1" 4' "$busy" "$base/work/count" >/dev/null 2>&1 &
pid=$!
id=$pid
started+=("$pid")
wait_for eval '[ "$(<"/proc/$pid/comm")" = bash ]'
cr --incremental g --keep 1 "$pid"
echo >go
wait_for busy_counts
cr --incremental g --keep 1 "$pid"
check "a process that has run another program: success" status_is 0
check "... what it was before stays, and is no parent" eval 'are 1 2 && needs 2 | grep -q "needs no other context"'
check "... which is said" said "g/context.$id.1 is from another job that had the id $id, or from a program that this process ran before"

done_testing
