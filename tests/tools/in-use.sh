#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What debugfs tells of who uses the module.
# shellcheck disable=SC2016 # eval expands it later
. "$(dirname "$0")/lib.sh"

in_use=/sys/kernel/debug/cryo
mountpoint -q /sys/kernel/debug || mount -t debugfs debugfs /sys/kernel/debug 2>/dev/null
mountpoint -q /sys/kernel/debug || skip_all "this kernel has no debugfs"

# uses NAME COUNT
uses() { [ "$(cat "$in_use/$1")" = "$2" ]; }
nobody_uses() { ! grep -v '^0$' "$in_use"/*; }

fresh
check "nobody uses it" wait_for nobody_uses
start_quietly 8
# Stopped, it asks for no page after the restart.
kill -STOP "$pid"
wait_for in_state "$pid" T
mkfifo pipe
cr_checkpoint --kill -f - "$pid" >pipe 2>errors & writer=$!
started+=("$writer")
exec 3<pipe
check "a checkpoint whose reader does not read" wait_for uses checkpoints 1
check "... has a work in a thread" wait_for uses works 1
cat <&3 >ctx
exec 3<&-
wait "$writer"
check "it is over" wait_for nobody_uses
wait_for is_gone "$pid"
cr_restart --map --no-populate --kmsg-warning ctx </dev/null >restart.out 2>&1 & restarter=$!
started+=("$restarter")
wait_for in_state "$pid" T
if grep -q 'cannot be mapped, is read in full: Operation not supported' restart.out; then
	echo "# this kernel cannot map (no CONFIG_MMU_NOTIFIER)"
else
	check "a job whose pages have not come" wait_for uses mapped_memories 1
fi
kill -KILL "$pid"
wait "$restarter" 2>/dev/null
check "it has ended" wait_for nobody_uses
check "nobody but root sees it" not runuser -u "$user" -- cat "$in_use/works"
done_testing
