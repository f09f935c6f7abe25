#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Incremental contexts by the kernel's account of what was written: after each thing that a process can do to its
# memory, and that others can do to the account, the next generation must make the process that it was, byte by byte.
# shellcheck disable=SC2016,SC2119 # eval expands it later; optional arguments
. "$(dirname "$0")/lib.sh"

dirtier=$here/dirtier
swap=/var/tmp/cryo-test-swap
ksm=/sys/kernel/mm/ksm

# A restart sets what the process has open back to what it was: that is not to be this test's log.
start_dirtier()
{
	rm -f commands answers
	mkfifo commands
	"$dirtier" "$PWD/commands" "$PWD/answers" >/dev/null 2>&1 & pid=$!
	started+=("$pid")
	wait_for exists answers
}

# ask WORD: has it done; sets answer.
ask()
{
	rm -f answers
	echo "$1" >commands
	wait_for exists answers || return
	answer=$(<answers)
}
sum_of() { echo "${1##* }"; }
status_of() { local rest=${1% *}; echo "${rest##* }"; }

sums=() words=()

# Is the number of pages that the kernel knew to be unchanged there, and not small?
accounted() { [[ $err =~ \;\ ([0-9]+)\ of\ them\ known\ to\ be\ unchanged ]] && [ "${BASH_REMATCH[1]}" -ge "${1:-1000}" ]; }
either() { :; }
unaccounted() { not accounted; }
# Another program: what it was before is no parent.
begins_anew() { said "or from a program that this process ran before" && said "this one is full"; }
by_contents() { said "found by their contents"; }

# next WORD [accounted|by_contents]: has it done, and makes a generation, in the way that is expected.
number=0
next()
{
	ask "$1" || { check "$1: an answer" false; return; }
	if [ "$(status_of "$answer")" != 0 ]; then
		echo "# $1: $answer"
		[ "$1" = merge ] || [ "$1" = collapse ] || check "$1: can be done" false
	fi
	take "$1" "${2:-accounted}"
}
take()
{
	cr -v --incremental g "$pid"
	number=$((number + 1))
	sums[number]=$(sum_of "$answer")
	words[number]=$1
	check "generation $number, after $1" status_is 0
	status_is 0 || { done_testing; exit 1; }
	check "... $2" "$2"
}

# makes N: does generation N make the process that it was? That ends then.
makes()
{
	local restarter status=1 old=$answer
	rm -f answers
	cr_restart "g/context.$pid.$1" </dev/null >restart.out 2>&1 & restarter=$!
	started+=("$restarter")
	(echo none >commands) & # waits for a reader
	if wait_for exists answers; then
		[ "$(sum_of "$(<answers)")" = "${sums[$1]}" ] && status=0
		[ "$status" = 0 ] || echo "# $(<answers), expected ${sums[$1]}"
	fi
	answer=$old
	kill -KILL "$pid" 2>/dev/null
	wait "$restarter" 2>/dev/null
	wait_for is_gone "$pid"
	[ "$status" = 0 ] || sed 's/^/# /' restart.out
	return "$status"
}

# all_make: every generation since the last time, and a new process then.
all_make()
{
	local i
	kill -KILL "$pid"
	wait "$pid" 2>/dev/null
	wait_for is_gone "$pid"
	for ((i = 1; i <= number; i++)); do
		check "$1: generation $i, after ${words[i]}, makes the process that it was" makes "$i"
	done
	rm -rf g
}

begin()
{
	fresh
	mkdir g
	number=0
	start_dirtier
	answer=$(<answers)
}

add_swap()
{
	fallocate -l 64M "$swap" && chmod 600 "$swap" && mkswap "$swap" >/dev/null && swapon "$swap"
}

if [ "$(uname -m)" != x86_64 ]; then
	begin
	cr -v --incremental g "$pid"
	cr -v --incremental g "$pid"
	check "this architecture has no account: pages are found by their contents" by_contents
	done_testing
	exit
fi

areas()
{
	begin
	take "the start" unaccounted
	for word in none write drop exchange none insert none replace none empty none protect protect split none poke fork fork none hold look none look; do
		next "$word"
	done
	all_make "areas"
}

large()
{
	begin
	take "the start" unaccounted
	for word in huge none tear huge collapse none tear drop collapse huge none grow none grow; do
		next "$word"
	done
	all_make "large pages, the heap"
}

swapping()
{
	begin
	swapped=0
	add_swap && swapped=1
	take "the start" unaccounted
	if [ "$swapped" = 1 ]; then
		for word in touch-out none out touch touch-out none touch touch write out none; do
			next "$word"
		done
		swapoff "$swap"
		next none
		next touch
		rm -f "$swap"
	else
		echo "# no swap space"
	fi
	all_make "swap space"
}

# kill_requester [OPTION]: of a checkpoint of which the first bytes have been written.
kill_requester()
{
	local requester
	[ -e fifo ] || mkfifo fifo
	exec 8<>fifo
	cr_checkpoint "$@" --parent "g/context.$pid.$number" -f fifo "$pid" & requester=$!
	started+=("$requester")
	wait_for eval 'read -rt 0 <&8'
	kill -KILL "$requester"
	wait "$requester" 2>/dev/null
	exec 8<&-
}

# What others do, and checkpoints of other kinds in between.
others()
{
	begin
	take "the start" unaccounted
	next write
	ask write
	echo 4 >"/proc/$pid/clear_refs"
	take "clear_refs" by_contents
	next write
	ask write
	rc=0
	(ulimit -f 30; cr_checkpoint --incremental g "$pid" >/dev/null 2>&1) || rc=$?
	check "a checkpoint that fails" not status_is 0
	ask touch
	take "a checkpoint that failed" by_contents
	next write
	ask write
	kill_requester
	ask touch
	take "a checkpoint that was killed" by_contents
	next write
	ask write
	cr -f full "$pid"
	check "a full one in between" status_is 0
	take "a full one" accounted
	ask write
	cr -v --no-track --parent "g/context.$pid.$number" -f other "$pid"
	check "--no-track" eval 'status_is 0 && by_contents'
	take "--no-track" accounted
	ask write
	cr -v --parent "g/context.$pid.$number" -f other "$pid"
	check "another child of the parent" eval 'status_is 0 && accounted'
	ask write
	take "another child of the parent" by_contents
	ask write
	cr -v --no-snapshot --parent "g/context.$pid.$number" -f other "$pid"
	check "--no-snapshot" eval 'status_is 0 && accounted && not said "from a snapshot"'
	take "... whose child this is not" by_contents
	ask write
	cr -v --no-snapshot --incremental g "$pid"
	number=$((number + 1)) words[number]="--no-snapshot" sums[number]=$(sum_of "$answer")
	check "--no-snapshot, the next generation" eval 'status_is 0 && accounted'
	next write
	ask write
	cr -v --no-snapshot --no-track --parent "g/context.$pid.$number" -f other "$pid"
	check "--no-snapshot --no-track" eval 'status_is 0 && by_contents'
	take "that" accounted
	stopped_fails
	ask write
	cr --track -f "$base/work/g/context.$pid.$((number + 1))" "$pid"
	number=$((number + 1)) words[number]="--track" sums[number]=$(sum_of "$answer")
	next write
	ask exec
	take "exec" begins_anew
	next write
	merging
	all_make "others"
}

# A full file, and a requester that is killed, while the process is stopped: no harm, and no account.
stopped_fails()
{
	ask write
	rc=0
	(ulimit -f 30; cr_checkpoint --no-snapshot --incremental g "$pid" >/dev/null 2>&1) || rc=$?
	check "--no-snapshot, and it fails" not status_is 0
	ask touch
	take "--no-snapshot that failed" by_contents
	next write
	ask write
	kill_requester --no-snapshot
	ask touch
	take "--no-snapshot that was killed" by_contents
	next write
}

merging()
{
	local before
	[ -w "$ksm/run" ] || return
	before=$(<"$ksm/run")
	echo 2000 >"$ksm/pages_to_scan"
	echo 5 >"$ksm/sleep_millisecs"
	echo 1 >"$ksm/run"
	next merge by_contents
	next write by_contents
	next unmerge by_contents
	echo "$before" >"$ksm/run"
	next write either # the kernel may have noticed by now that there is nothing to be merged
}

# All of them, or those that are asked for.
[ $# -gt 0 ] || set -- areas large swapping others
for group in "$@"; do
	"$group"
done

done_testing
