#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Files that have changed between checkpoint and restart; what becomes of output files.
. "$(dirname "$0")/lib.sh"

# hold: checkpoints a copy of busy with descriptors 5 (only read) and 6 (appended to), and ends it.
hold()
{
	fresh
	cp "$busy" prog
	echo "read me" >input
	echo "before" >log
	# Not the log of this test, which a restart would cut back.
	./prog count 5<input 6>>log >/dev/null 2>&1 &
	pid=$!
	started+=("$pid")
	wait_for busy_counts
	cr --kill -f ctx "$pid"
	wait "$pid" 2>/dev/null
	is_context ctx
}

# restart ARGUMENT...: with --check: nothing is made.
restart()
{
	rc=0
	out=$(cr_restart "$@" ctx 2>"$base/stderr") || rc=$?
	err=$(cat "$base/stderr")
}

# runs ARGUMENT...: restarts in the background and waits until it counts.
runs()
{
	rm -f count.old
	cp count count.old
	cr_restart "$@" ctx 2>"$base/stderr" &
	started+=("$!" "$pid")
	wait_for counts_again
	rc=$?
	err=$(cat "$base/stderr")
	return $rc
}
counts_again() { ! cmp -s count count.old; }
lines() { grep -c . "$base/stderr"; }

hold
check "a checkpoint" status_is 0
check "it has the build-id" eval 'cr_info -v --json ctx | grep -q build_id'
restart --check
check "nothing has changed: nothing is said" eval 'status_is 0 && silent'

touch -d 2001-02-03 prog
restart --check
check "the program touched: only a warning" status_is 0
check "... that says why it will do" said "same size and build-id"
restart --check --changed-files=refuse
check "... refused on request" status_is 116
restart --check --changed-files=ignore
check "... or ignored" eval 'status_is 0 && silent'

echo "more" >>prog
touch -d 2001-02-03 prog
size=$(stat -c %s "$busy")
restart --check
check "the program longer: refused" status_is 116
check "... with both sizes" said "work/prog: size $size -> $((size + 5)), modified 2001-02-03 00:00:00 (was 2"
check "... and its role" said "; mapped code"
check "... in one line" same "$(lines)" 1
restart --check --changed-files=warn
check "... a warning on request" eval 'status_is 0 && said warning'

cp "$busy" prog
for at in $(LC_ALL=C grep -obUaP 'GNU\x00' prog | cut -d: -f1); do
	printf '\377\377' | dd of=prog bs=1 seek=$((at + 4)) conv=notrunc 2>/dev/null
done
restart --check
check "another build-id: refused" status_is 116
check "... and said" said "build-id "

hold
echo "something else" >input
restart --check
check "a file that is only read has changed: a warning" eval 'status_is 0 && said "work/input: size 8 -> 15, modified "'
check "... that names the descriptor" said "descriptor 5 of pid $pid, only read"
restart --check --changed-files=refuse
check "... refused on request" status_is 116
restart --check --changed-files=ignore
check "... ignored on request" eval 'status_is 0 && silent'

hold
echo "after" >>log
restart --check
check "what the job itself writes may change" eval 'status_is 0 && said "6 bytes were added since the checkpoint and are kept"'
check "--no-truncate: it runs" runs --no-truncate
check "... and the shared log is whole" same "$(cat log)" "before
after"
cr --kill -f ctx "$pid"
echo "later" >>log
check "--truncate: it runs" runs --truncate
check "... and what came later is cut off" same "$(cat log)" "before
after"
truncate -s 3 log
kill -KILL "$pid"
wait_for is_gone "$pid"
restart --check
check "an output file that is shorter is an obstacle" eval 'status_is 116 && said "shorter than at the checkpoint"'

hold
chmod 644 prog
restart --check
check "a program that may not be executed any more is an obstacle" \
	eval 'status_is 13 && said "program $base/work/prog: cannot be the executable of a process: Permission denied"'

done_testing
