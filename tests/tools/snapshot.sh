#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Snapshots: the process goes on while its context is written, which has it as it was before.
# shellcheck disable=SC2016,SC2119 # eval expands it later; optional arguments
. "$(dirname "$0")/lib.sh"

if [ "$(uname -m)" = ppc64le ]; then
	fresh
	start_quietly 16
	cr -v --snapshot -f one "$pid"
	check "this architecture has no snapshot: success all the same" status_is 0
	check "... and that is not claimed" not said "snapshot"
	end_it
	check "... the context makes the process again" restarts one
	done_testing
	exit
fi

# A restart sets what the process has open back to what it was: that is not to be this test's log.
start_quietly() { start "$@" >/dev/null 2>&1; }

# begin OPTION...: a checkpoint whose context nobody reads yet; $requester is its cr_checkpoint.
begin()
{
	rm -f fifo
	mkfifo fifo
	exec 8<>fifo
	cr_checkpoint -v "$@" -f fifo "$pid" 2>err 8<&- & requester=$!
	started+=("$requester")
}

# There is something in the FIFO, of which nobody reads: the context is being written.
is_blocked() { read -rt 0 <&8; }

# finish: somebody reads it, to ctx.
finish()
{
	# Open before the other one is closed: it is never without a reader.
	exec 9<fifo
	cat <&9 >ctx 8<&- & reader=$!
	started+=("$reader")
	exec 8<&- 9<&-
	rc=0
	wait "$requester" || rc=$?
	wait "$reader" 2>/dev/null
	err=$(cat err)
}

counted() { [ $((10#$(<count))) -gt $((10#$1 + 100)) ]; }

# Does the context make a process again that finds its memory as it left it?
restarts()
{
	local before
	kill -KILL "$pid" 2>/dev/null
	wait "$pid" 2>/dev/null
	before=$(<count)
	cr_restart ctx >restart.out 2>&1 & restarter=$!
	started+=("$restarter")
	wait_for eval '[ "$(<count)" != "$before" ]' || return
	# Once through all of it, 64 pages at a time.
	before=$(<count)
	wait_for counted "$before" || wait_for counted "$before" || return
	kill -0 "$restarter"
}

fresh
start_quietly 8 change
begin --snapshot
check "the process goes on while nobody reads its context" eval 'wait_for is_blocked && goes_on && goes_on'
check "... for which cr_checkpoint waits" kill -0 "$requester"
cr --snapshot -f other "$pid"
check "a second checkpoint has to wait" status_is 16
check "... and that is said" said "process $pid is in another checkpoint"
finish
check "the first ends well" status_is 0
check "... and says what it did" said "written from a snapshot"
cr --snapshot -f other "$pid"
check "then there can be another one" status_is 0
check "the context is of one moment" restarts

for signal in USR1 USR2 KILL; do
	case $signal in
	USR1) what="forks, and both write" ;;
	USR2) what="becomes another program" ;;
	KILL) what="is killed" ;;
	esac
	fresh
	start_quietly 8 change
	begin --snapshot
	wait_for is_blocked
	kill -$signal "$pid"
	sleep 0.7
	[ $signal != USR2 ] || check "(it is another one)" same "$(<"/proc/$pid/comm")" sleep
	finish
	check "the process $what meanwhile: no matter" status_is 0
	check "... the context is of the moment before" restarts
done

fresh
start_quietly 8 change
begin --snapshot
wait_for is_blocked
kill -KILL "$requester"
wait "$requester" 2>/dev/null
exec 8<&-
check "cr_checkpoint is killed: the process goes on" goes_on
cr --snapshot -f ctx "$pid"
check "... and can be checkpointed again" status_is 0
check "... for a restart" restarts

fresh
start_quietly 8 change
cr_checkpoint --snapshot -f - "$pid" 2>err | head -c 100000 >/dev/null
rc=${PIPESTATUS[0]} err=$(cat err)
check "the reader goes away" status_is 32
check "... and the process goes on" goes_on

# Of more than 16 MiB, whose writer is got out of its wait all the time to look after the copies.
read_slowly()
{
	local i
	for ((i = 0; i < 100; i++)); do head -c 131072; sleep 0.04; done
	cat
}
fresh
start_quietly 20 change
cr_checkpoint --snapshot -f - "$pid" 2>err | read_slowly >ctx
rc=${PIPESTATUS[0]} err=$(cat err)
check "a slow reader gets all of it" status_is 0
check "... for a restart" restarts

fresh
start_quietly 8 change
mkdir -p "$base/small"
mount -t tmpfs -o size=2m tmpfs "$base/small"
echo old >"$base/small/ctx"
cr --snapshot -f "$base/small/ctx" "$pid"
check "full disk" status_is 28
check "... the old context stays" same "$(cat "$base/small/ctx")" old
check "... and the process goes on" goes_on
umount "$base/small"

fresh
start_quietly 32 change
begin --snapshot --snapshot-limit 1M
check "copies are limited: it is stopped again" wait_for stands_still
check "... as long as nobody reads" stands_still
finish
check "... then it ends well" status_is 0
check "... and says what happened" said "the snapshot has reached its limit"
check "... the process goes on" goes_on
check "... and the context is of the moment of the first stop" restarts

for options in "--no-snapshot" "--snapshot --kill" "--snapshot --cont"; do
	fresh
	start_quietly 8
	# shellcheck disable=SC2086 # words are wanted
	begin $options
	wait_for writes "$requester"
	check "options '$options': it stands still until its context is complete" stands_still
	finish
	check "... which ends well" status_is 0
	check "... without a snapshot" not said "from a snapshot"
done

cr --snapshot-limit 12q "$pid"
check "a bad limit" status_is 255
check "... is named" said "--snapshot-limit '12q' is not a number of bytes"

done_testing
