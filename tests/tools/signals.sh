#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The signal to the process that was checkpointed, and signals to cr_checkpoint.
# shellcheck disable=SC2016,SC2119 # eval expands it later; optional arguments
. "$(dirname "$0")/lib.sh"

for pair in --term:143 --kill:137 --abort:134 -S10:138; do
	fresh
	start
	cr "${pair%:*}" "$pid"
	check "${pair%:*}: success" status_is 0
	check "... and the process ends by the signal" ends_with "${pair#*:}"
	check "... and its context is there" is_context "context.$pid"
done

fresh
start
cr --stop "$pid"
check "--stop: success" status_is 0
check "... and the process is stopped" wait_for in_state "$pid" T
cr "$pid"
check "a stopped process can be checkpointed" status_is 0
check "... and is still stopped" in_state "$pid" T
cr --cont "$pid"
check "--cont: success" status_is 0
check "... and the process goes on" goes_on
cr --kill --run "$pid"
check "--run takes the signal back" goes_on

# The signal is not sent when the file does not come to its place.
fresh
start
echo old >ctx
cr --kill --backup=no/such/place -f ctx "$pid"
check "a context that cannot get its name" status_is 2
check "... is named" said "no/such/place"
check "... and the process goes on without a signal" goes_on
check "... and the old file stays" same "$(cat ctx)" old
check "... and nothing else" no_file_but count ctx

# A request that waits: nobody reads the FIFO, and it holds less than the process has.
for signal in INT TERM HUP; do
	fresh
	start 4
	mkfifo fifo
	exec 8<>fifo
	(trap - INT; exec env --default-signal=INT cr_checkpoint --kill -f fifo "$pid" 2>err) & requester=$!
	started+=("$requester")
	wait_for writes "$requester"
	kill -s "$signal" "$requester"
	rc=0
	wait "$requester" || rc=$?
	err=$(cat err)
	check "SIG$signal to cr_checkpoint ends it" status_is $((128 + $(kill -l "$signal")))
	check "... and it says so" said "cancelled by signal $(kill -l "$signal") "
	check "... and the process goes on without a signal" goes_on
	exec 8<&-
done

done_testing
