#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# CLOCK_MONOTONIC is behind where it was at the checkpoint, as after a reboot: a thread that waits until a time of it waits for what was
# left, and the warning says who can have the clock go on. By a time namespace in which it is some seconds back.
# shellcheck disable=SC2016 # expanded later
. "$(dirname "$0")/lib.sh"
unshare -T true 2>/dev/null || skip_all "no time namespaces"

goes_on() { read -rt "${1:-20}" -u 3; }
# The clock has to have something to go back to.
until [ "$(cut -d. -f1 /proc/uptime)" -ge 12 ]; do sleep 0.2; done
set_back() # [sleep|boot]
{
	fresh
	mkfifo lines
	exec 3<>lines
	"$here/until" "$@" >&3 & pid=$!
	started+=("$pid")
	check "a process that waits until a time: ${*:-condition}" goes_on
	cr_checkpoint --kill -f ctx "$pid" 2>err
	check "its checkpoint" same "$(<err)" ""
	wait_for is_gone "$pid"
	while goes_on 0.1; do :; done
	unshare -T --monotonic -10 --boottime -10 --fork cr_restart --redirect 1=lines ctx 2>err </dev/null & started+=("$!")
	begin=$SECONDS
	check "it goes on" goes_on
	check "... soon" test $((SECONDS - begin)) -lt 9
	check "cr_restart warns" grep -qF "absolute timeouts that were computed before, and are waited for later, expire that much later (--time-ns continues the clock)" err
	kill -9 "$pid"
	wait_for is_gone "$pid"
	while goes_on 0.1; do :; done
}
set_back
set_back sleep
set_back boot

# The clock may be ahead by more than the machine has been up, and the time have come while the job was stopped: then it is over.
fresh
mkfifo lines
exec 3<>lines
"$here/until" >&3 & pid=$!
started+=("$pid")
check "another one" goes_on
kill -STOP "$pid"
sleep 1
cr_checkpoint --kill -f ctx "$pid" 2>err
check "stopped, until its time has come: its checkpoint" same "$(<err)" ""
wait_for is_gone "$pid"
while goes_on 0.1; do :; done
unshare -T --monotonic 1000000 --fork cr_restart --redirect 1=lines ctx 2>err </dev/null & started+=("$!")
is_stopped() { grep -q '^State:.T' "/proc/$pid/status" 2>/dev/null; }
check "... in a time namespace whose clock is far ahead: it is restarted" wait_for is_stopped
kill -CONT "$pid"
check "... and its wait is over" goes_on
kill -9 "$pid"
wait_for is_gone "$pid"

# Never stays never, wherever the clock was and is.
without_end() # [sleep|boot]
{
	fresh
	mkfifo lines
	exec 3<>lines
	unshare -T --monotonic 100000 --fork "$here/until" never "$@" >&3 2>/dev/null & started+=("$!")
	check "another one, in a time namespace: ${*:-condition}" wait_for finds
	wait_for waits
	check "a wait without end, in a time namespace" not goes_on 1
	nsenter -T -t "$pid" cr_checkpoint --kill -f ctx "$pid" 2>err
	check "its checkpoint, by one who is there, too" same "$(<err)" ""
	wait_for is_gone "$pid"
	for where in 'unshare -T --monotonic 0 --fork' 'unshare -T --monotonic 1000000 --fork'; do
		$where cr_restart --redirect 1=lines ctx 2>err </dev/null & started+=("$!")
		check "$where: it is restarted" wait_for waits
		check "... and has no end" not goes_on 2
		kill -9 "$pid"
		wait_for is_gone "$pid"
	done
}
finds() { pid=$(pgrep -x until); }
waits() { [ "$(cat /proc/"$pid"/task/*/status 2>/dev/null | grep -c '^State:.S')" = 2 ]; }
without_end
without_end sleep
done_testing
