#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# CLOCK_MONOTONIC is behind where it was at the checkpoint, as after a reboot: a thread that waits until a time of it waits for what was
# left, and the warning says who can have the clock go on. By a time namespace in which it is some seconds back.
# shellcheck disable=SC2016 # expanded later
. "$(dirname "$0")/lib.sh"
unshare -T true 2>/dev/null || skip_all "no time namespaces"

fresh
mkfifo lines
exec 3<>lines
"$here/until" >&3 & pid=$!
started+=("$pid")
goes_on() { read -rt "${1:-20}" -u 3; }
# The clock has to have something to go back to.
until [ "$(cut -d. -f1 /proc/uptime)" -ge 12 ]; do sleep 0.2; done
check "a process that waits until a time" goes_on
cr_checkpoint --kill -f ctx "$pid" 2>err
check "its checkpoint" same "$(<err)" ""
wait_for is_gone "$pid"
while goes_on 0.1; do :; done
unshare -T --monotonic -10 --fork cr_restart --redirect 1=lines ctx 2>err </dev/null & started+=("$!")
begin=$SECONDS
check "it goes on" goes_on
check "... soon" test $((SECONDS - begin)) -lt 9
check "cr_restart warns" grep -qF "a time of it that was computed before comes so much later (--time-ns has it go on)" err
kill -9 "$pid"
done_testing
