#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A shell with a child, as a session, a process group or a control group: cr_restart stands in for the shell, whatever comes first
# in the context, and does not report a failure once the job runs.
# shellcheck disable=SC2016 # eval expands it later
. "$(dirname "$0")/lib.sh"

# start_leader: a shell that leads its session waits for its child, and ends with 23 or by what the trap says.
start_leader()
{
	fresh
	cat >lead <<-'END'
		trap 'echo told >told; exit 24' TERM
		"$1" count >/dev/null 2>&1 &
		wait $!
		exit 23
	END
	setsid -f sh lead "$busy" </dev/null >/dev/null 2>&1
	wait_for busy_counts
	pid=$(pgrep -xf "sh lead $busy")
	child=$(pgrep -P "$pid")
	started+=("$pid" "$child")
}

# restart ARGUMENT...: in the background, until it counts.
restart()
{
	cp count count.old
	cr_restart "$@" ctx </dev/null >restart.out 2>&1 & restarter=$!
	started+=("$restarter")
	wait_for counts_again
}
counts_again() { ! cmp -s count count.old; }
# ended: cr_restart, with status $rc then.
ended()
{
	wait_for is_gone "$restarter" || return
	rc=0
	wait "$restarter" || rc=$?
	err=$(<restart.out)
}

for scope in --tree --session --pgid; do
	start_leader
	cr "$scope" --kill -f ctx "$pid"
	check "$scope: a checkpoint" status_is 0
	check "... cr_info names their directory once" same "$(cr_info ctx | sed '1,/^a restart needs/d' | grep -c '^  directory')" 1
	wait_for eval 'is_gone "$pid" && is_gone "$child"'
	check "... a restart" restart
	kill -KILL "$child"
	check "... ends when the shell does" ended
	check "... with its status" eval 'status_is 23 && [ -z "$err" ]'
	check "... a restart once more" restart
	kill -TERM "$restarter"
	check "... a signal goes to the shell" eval 'ended && status_is 24 && [ -e told ]'
	kill -KILL "$child"
done

# A pipeline whose producer ends before its consumer does.
start_pipeline()
{
	fresh
	mkfifo hold
	cat >producer <<-'END'
		trap 'echo producer >>told; exit 7' TERM
		exec 9<>hold
		until [ -e go ]; do read -rt 0.1 -u 9; done
		echo line
		exit 3
	END
	cat >consumer <<-'END'
		trap 'echo consumer >>told; exit 8' TERM
		exec 9<>hold
		read -r line
		echo "$line" >got
		until [ -e end ]; do read -rt 0.1 -u 9; done
		exit 5
	END
	bash -c 'set -m; bash producer | bash consumer & echo $!' </dev/null >last 2>/dev/null
	last=$(<last)
	wait_for eval '[ "$(ps -o comm= -p "$last")" = bash ] && pgrep -f "^bash producer" >/dev/null && pgrep -f "^bash consumer" >/dev/null'
	group=$(ps -o pgid= -p "$last" | tr -d " ")
	pids=$(pgrep -g "$group")
	# shellcheck disable=SC2206 # a list
	started+=($pids)
}
gone() { local p; for p in $pids; do is_gone "$p" || return; done; }
pipeline_restart() { cr_restart "$@" ctx </dev/null >restart.out 2>&1 & restarter=$!; started+=("$restarter"); wait_for runs_again; }
runs_again() { local p; for p in $pids; do [ -e "/proc/$p" ] || return; done; sleep 0.5; }
start_pipeline
check "a pipeline: two processes" same "$(wc -w <<<"$pids" | tr -d " ")" 2
cr --pgid --kill -f ctx "$group"
check "... a checkpoint of the group" status_is 0
wait_for gone
check "... a restart" pipeline_restart
touch go
check "... ends with the producer" eval 'ended && status_is 3'
kill -KILL "$last"
wait_for gone
rm -f go got
check "... --wait=all: a restart" pipeline_restart --wait=all
touch go
wait_for test -s got
wait_for is_gone "$group"
sleep 0.5
check "... does not end with the producer" not is_gone "$restarter"
touch end
check "... ends with the consumer, and with its status" eval 'ended && status_is 5'
rm -f go end
check "... once more" pipeline_restart --wait=all
kill -TERM "$restarter"
check "... a signal goes to both" eval 'ended && status_is 8 && same "$(sort told)" "$(printf "consumer\nproducer")"'
rc=0
err=$(cr_restart --wait=some ctx 2>&1) || rc=$?
check "--wait=some: there is no such way" eval 'status_is 255 && said "--wait takes '"'leader'"' or '"'all'"', not '"'some'"'"'

# An orphan in the session, which comes first in the context.
orphan_of() { pgrep -s "$pid" -xf "sleep 1234"; }
fresh
cat >lead <<-'END'
	"$1" count >/dev/null 2>&1 & child=$!
	(sleep 1234 </dev/null >/dev/null 2>&1 &)
	wait $child
	exit 23
END
setsid -f sh lead "$busy" </dev/null >/dev/null 2>&1
wait_for busy_counts
pid=$(pgrep -xf "sh lead $busy")
child=$(pgrep -P "$pid" -x busy)
wait_for eval "[ -n \"\$(orphan_of)\" ]"
orphan=$(orphan_of)
started+=("$pid" "$child" "$orphan")
cr -s --kill -f ctx "$pid"
check "with an orphan: a checkpoint" status_is 0
wait_for eval 'is_gone "$pid" && is_gone "$child" && is_gone "$orphan"'
check "... a restart" restart
kill -KILL "$orphan"
pause; pause
check "... the orphan ends, and cr_restart does not" kill -0 "$restarter"
kill -KILL "$child"
check "... but with the shell" eval 'ended && status_is 23'

# The end of children is not told to who ignores it.
start_leader
cr --tree --kill -f ctx "$pid"
wait_for eval 'is_gone "$pid" && is_gone "$child"'
cp count count.old
(trap '' CHLD; exec cr_restart ctx) </dev/null >restart.out 2>&1 & restarter=$!
started+=("$restarter")
wait_for counts_again
kill -KILL "$child"
check "SIGCHLD is ignored where cr_restart is started: it ends with the status all the same" \
	eval 'ended && status_is 23 && [ -z "$err" ]'

# Advice for what cannot be had.
start_leader
cr --kill -f ctx "$child"
wait_for is_gone "$child"
rc=0
err=$(cr_restart --check --restore-sid --restore-pgid ctx 2>&1) || rc=$?
check "a session that is gone: --restore-sid is refused, with advice" \
	eval 'not status_is 0 && said "(without --restore-sid, it gets that of cr_restart)"'
done_testing
