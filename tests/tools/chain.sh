#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Twenty generations of a process whose threads write at random, that forks, moves and drops memory, maps over it
# and becomes another program in between: each makes the process that it was.
# shellcheck disable=SC2016,SC2119 # eval expands it later; optional arguments
. "$(dirname "$0")/lib.sh"

changer=$here/changer
generations=20

start_changer()
{
	"$changer" "$base/work/count" >/dev/null 2>changer.err & pid=$!
	started+=("$pid")
	wait_for busy_counts
}

# The next trick, and then some more writing.
trick()
{
	kill -USR1 "$pid"
	wait_for eval '[ "$(cat count.trick)" = "done '"$1"'" ]' || return
	moves
}

differs() { [ "$(<"$base/work/count")" != "$1" ]; }
# In a program that has just been started the count may begin again.
moves() { local i; for i in 1 2 3; do wait_for differs "$(<"$base/work/count")" || return; done; }

# looks_good CONTEXT: all of its memory is what was written to it.
looks_good()
{
	local restarter status=0
	cr_restart "$1" </dev/null >restart.out 2>&1 & restarter=$!
	started+=("$restarter")
	moves
	kill -USR2 "$pid"
	wait "$restarter" || status=$?
	[ "$status" = 0 ] || sed 's/^/# /' restart.out
	wait_for is_gone "$pid"
	return "$status"
}

fresh
start_changer
mkdir g
tricks=0
for ((i = 1; i <= generations; i++)); do
	cr --incremental g "$pid"
	[ "$rc" = 0 ] || break
	if ((i % 3 == 0)); then
		tricks=$((tricks + 1))
		trick "$tricks" || break
	fi
	moves || break
done
check "$generations generations" status_is 0
check "... with $tricks tricks between them" test "$i" -gt "$generations" -a "$tricks" -ge 5
newest=g/context.$pid.$generations
check "all of the last one is there" eval 'cr_info --chain "$newest" >/dev/null'
files=$(cr_info --chain "$newest" | grep -c "needs context")
echo "# it needs $files other contexts; bytes: $(stat -c %s g/* | tr '\n' ' ')"
# Of pages of 64 KiB, most have been written to when the next generation is made.
check "... in several files" test "$files" -ge $(($(getconf PAGE_SIZE) == 4096 ? 3 : 1))
cr_merge "$newest" -o merged
check "they are merged" is_context merged
kill -KILL "$pid"
wait "$pid" 2>/dev/null
wait_for is_gone "$pid"
for i in $generations 16 13 10 7 4 1; do
	check "generation $i makes the process that it was" looks_good "g/context.$pid.$i"
done
rm -rf g
check "... and so does what they were merged to" looks_good merged

done_testing
