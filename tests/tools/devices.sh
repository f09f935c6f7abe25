#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Devices by policy: --device of cr_checkpoint and cr_restart.
. "$(dirname "$0")/lib.sh"

block=$(find /sys/class/block -mindepth 1 -printf '/dev/%f\n' | sort | while read -r name; do
	head -c 1 "$name" >/dev/null 2>&1 && echo "$name" && break
done)

# hold DEVICE: a process with the device at descriptor 5.
hold()
{
	fresh
	# Not the log of this test, which a restart would cut back.
	"$busy" count 5<"$1" >/dev/null 2>&1 &
	pid=$!
	started+=("$pid")
	wait_for busy_counts
}
end() { kill -KILL "$pid"; wait_for is_gone "$pid"; }

# runs ARGUMENT...: restarts in the background and waits until it counts.
runs()
{
	cp count count.old
	cr_restart "$@" ctx 2>"$base/stderr" &
	started+=("$!" "$pid")
	wait_for counts_again
	rc=$?
	err=$(cat "$base/stderr")
	return $rc
}
counts_again() { ! cmp -s count count.old; }
fd5() { readlink "/proc/$pid/fd/5"; }

for device in /dev/kmsg "$block"; do
	hold "$device"
	cr -f ctx "$pid"
	check "$device is an obstacle" status_is 52
	check "... named, with what can be done" said "fd 5 ($device): "
	check "... by an option" said "--device"
	cr --device "$device=fail" -f ctx "$pid"
	check "... =fail is the default" status_is 52
	cr --device "$device=reopen" --kill -f ctx "$pid"
	check "=reopen: a checkpoint" status_is 0
	check "... and a restart" runs
	check "... with the device" same "$(fd5)" "$device"
	end
	rc=0
	err=$(cr_restart --device "$device=fail" ctx 2>&1) || rc=$?
	check "... which cr_restart can refuse" eval 'status_is 52 && said "descriptor 5 ($device)"'
	check "... or leave closed" eval 'runs --device "$device=close" && not exists "/proc/$pid/fd/5"'
	cr --device "$device=close" --kill -f ctx "$pid"
	check "a checkpoint of that" status_is 0

	hold "$device"
	cr --device "$device=close" --kill -f ctx "$pid"
	check "=close: a checkpoint" status_is 0
	check "... and a restart" runs
	check "... without the descriptor" not exists "/proc/$pid/fd/5"
	end
	check "... which cr_restart can reopen" eval 'runs --device "$device=reopen" && same "$(fd5)" "$device"'
done

hold /dev/null
cr --device /etc/passwd=close "$pid"
check "what is no device" eval 'status_is 19 && said "/etc/passwd is no device"'
cr --device /nonexistent=close "$pid"
check "what is not there" eval 'status_is 2 && said "/nonexistent"'
cr --device /dev/kmsg=perhaps "$pid"
check "no policy" eval 'status_is 255 && said "=perhaps"'
cr --device /dev/null=close --kill -f ctx "$pid"
check "a device without state too" runs
check "... is closed on request" not exists "/proc/$pid/fd/5"
end
rc=0
err=$(cr_restart --check --device /dev/kvm=reopen ctx 2>&1 </dev/null) || rc=$?
check "a device that the context does not have" eval 'status_is 22 && said "--device /dev/kvm: no process of the context has that device open"'

done_testing
