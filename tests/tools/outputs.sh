#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What has come to output files since the checkpoint: nothing of it is lost, unless somebody says so.
. "$(dirname "$0")/lib.sh"

# hold REDIRECTION: the context of a program that has the file log open so, and has ended; then somebody writes to the file.
hold()
{
	fresh
	echo before >log
	eval "\"$busy\" count $1 >/dev/null 2>&1 &"
	pid=$!
	started+=("$pid")
	wait_for busy_counts
	cr --kill -f ctx "$pid"
	wait "$pid" 2>/dev/null
	wait_for is_gone "$pid"
	is_context ctx
	echo "of others" >>log
}

# runs ARGUMENT...: restarts in the background and waits until it counts.
runs()
{
	rm -f count.old
	cp count count.old
	cr_restart "$@" ctx 2>"$base/stderr" >/dev/null &
	started+=("$!" "$pid")
	wait_for counts_again
	rc=$?
	err=$(cat "$base/stderr")
	return $rc
}
counts_again() { ! cmp -s count count.old; }
dry() { rc=0; out=$(cr_restart --check ctx 2>&1) || rc=$?; err=$out; }
whole=$'before\nof others'

hold '6>>log'
dry
check "appended to: --check says what stays" eval 'status_is 0 && said "10 bytes have come since the checkpoint; they stay"'
check "... and so does the restart" eval 'runs && said "they stay"'
check "... and they are there" same "$(cat log)" "$whole"
check "... and nowhere else" not exists log.cut.1
hold '6>>log'
check "appended to, --truncate: nothing is said" eval 'runs --truncate && [ -z "$err" ]'
check "... and they are gone" same "$(cat log)" before

hold '6<>log'
dry
check "written to: --check says where they are kept" eval 'status_is 0 && said "are kept in $base/work/log.cut.1"'
check "... and makes nothing" not exists log.cut.1
check "... the restart says it" eval 'runs && said "are kept in $base/work/log.cut.1"'
check "... and they are there" same "$(cat log.cut.1)" "of others"
check "... and the file is what it was" same "$(cat log)" before
end_processes
wait_for is_gone "$pid"
echo again >>log
check "once more: under another name" eval 'runs && said "are kept in $base/work/log.cut.2"'
check "... and the first is as it was" same "$(cat log.cut.1 log.cut.2)" $'of others\nagain'
hold '6<>log'
check "written to, --no-truncate: nothing is said" eval 'runs --no-truncate && [ -z "$err" ]'
check "... and they stay" same "$(cat log)" "$whole"
hold '6<>log'
check "written to, --truncate: nothing is said" eval 'runs --truncate && [ -z "$err" ]'
check "... and they are gone" same "$(cat log; ls log*)" $'before\nlog'

hold '6<>log'
truncate -s 3 log
dry
check "a shorter file is an obstacle, and the line says what helps" \
	eval 'status_is 116 && said "shorter than at the checkpoint: it has 3 bytes, and had 7; --changed-files=warn takes it"'
check "... which it does" runs --changed-files=warn
check "... and nothing is written there" same "$(cat log)" bef

# What is kept takes a place.
fresh
mkdir own
echo before >own/log
chown "$user" own/log
chmod 666 own/log
runuser -u "$user" -- "$busy" "$PWD/count" 6<>own/log >/dev/null 2>&1 &
started+=("$!")
wait_for busy_counts
pid=$(pgrep -u "$user" -x busy)
started+=("$pid")
runuser -u "$user" -- cr_checkpoint --kill -f "$PWD/ctx" "$pid"
wait_for is_gone "$pid"
echo "of others" >>own/log
rc=0
err=$(runuser -u "$user" -- cr_restart --check ctx 2>&1) || rc=$?
check "where they cannot be kept: refused" eval 'status_is 13 && said "10 bytes have come since the checkpoint, and cannot be kept in $base/work/own/log.cut.1: Permission denied (--truncate cuts them"'

# A script and the job that it restarts write to one file.
fresh
cat >script <<END
"$busy" "$PWD/count" & pid=\$!
until [ -s "$PWD/count" ]; do sleep 0.1; done
echo "script: before"
cr_checkpoint --kill -f "$PWD/ctx" \$pid
wait \$pid 2>/dev/null
echo "script: after"
cp "$PWD/count" "$PWD/old"
cr_restart "$PWD/ctx" & restart=\$!
while cmp -s "$PWD/count" "$PWD/old"; do sleep 0.1; done
readlink /proc/\$pid/fd/1 >"$PWD/link"
kill \$pid
wait \$restart 2>/dev/null
echo "script: end"
END
bash script >log 2>&1
check "a log that is cr_restart's own output, too: all lines are there" \
	same "$(grep '^script: [a-z]*$' log)" $'script: before\nscript: after\nscript: end'
check "... and no hole" eval '! grep -qaP "\\x00" log'
check "... the job has it" same "$(cat link)" "$PWD/log"

done_testing
