#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Commands at work on a checkpoint, and readers of what they write, that are processes of the job.
# shellcheck disable=SC2016 # eval expands it later
. "$(dirname "$0")/lib.sh"

# in_job SCRIPT: runs it by a shell, for 60 s at most; what it has said on standard error is in err.
in_job() { rc=0; err=$(timeout -k 5 60 bash -c "$1" 2>&1 >out </dev/null) || rc=$?; }

for option in --kill --stop --term --no-snapshot; do
	fresh
	in_job 'trap "" TERM; cr_checkpoint '$option' -f - $$ | cat >ctx; exit "${PIPESTATUS[0]}"'
	check "$option: refused, as the reader would stand still" \
		eval 'status_is 35 && said "standard output is read by pid " && said "(cat), which is part of the checkpoint and stands still"'
	fresh
	in_job 'mkfifo -m 600 fifo; cat fifo >ctx & cr_checkpoint '$option' -z -f fifo $$; exit $?'
	check "$option, a FIFO: refused as well" eval 'status_is 35 && said "fifo is read by pid " && said "(cat), which is part of"'
done

fresh
in_job 'cr_checkpoint -f - $$ | cat >ctx; exit "${PIPESTATUS[0]}"'
check "with a snapshot: success" status_is 0
check "... and a warning" eval 'said "warning: standard output is read by pid " && said "(cat), which is part of the checkpoint, with the file that it writes to"'
fresh
in_job 'cr_checkpoint -q -f - $$ | cat >ctx; exit "${PIPESTATUS[0]}"'
check "... not with --quiet" eval 'status_is 0 && [ -z "$err" ]'

# A reader outside of the job.
fresh
start_quietly 4
cr_checkpoint --kill -f - "$pid" 2>"$base/stderr" | cat >ctx
rc=${PIPESTATUS[0]} err=$(<"$base/stderr")
check "a reader elsewhere: nothing is said" eval 'status_is 0 && [ -z "$err" ] && is_context ctx'

# A command of the job that is at work on a checkpoint, of another process.
fresh
start_quietly 4
other=$pid
mkfifo -m 600 fifo
exec 7<>fifo
setsid bash -c "cr_checkpoint -q -f fifo $other; sleep 1000" >/dev/null 2>&1 </dev/null &
parent=$!
started+=("$parent")
wait_for eval 'pgrep -x cr_checkpoint >/dev/null'
worker=$(pgrep -x cr_checkpoint)
pause
cr -t 20 -f ctx "$parent"
check "a command at work on another checkpoint is not part of this one: refused" eval 'status_is 16 && said "pid $worker (cr_checkpoint): is performing a checkpoint itself"'
check "... and nothing is left" not exists ctx
cat <&7 >/dev/null &
drain=$!
started+=("$drain")
wait_for is_gone "$worker"
cr -f ctx "$parent"
check "... when it has ended there is nothing against it" eval 'status_is 0 && is_context ctx'
done_testing
