#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Open files of /proc about a thread, where that gets another number.
# shellcheck disable=SC2016 # expanded later
. "$(dirname "$0")/lib.sh"

# told WORD...: what the process tells of itself and its thread: PID TID, and what three files say.
told() { [ -s told ] && read -r now thread first second third <told && [ "$first" -gt 0 ]; }
is_other() { told && [ "$now" != "$pid" ]; }

fresh
"$here/threaded" </dev/null >/dev/null 2>&1 & pid=$!
started+=("$pid")
wait_for told
old=$thread
cr --kill -f ctx "$pid"
check "a process with files of /proc about its thread" status_is 0
wait_for is_gone "$pid"
rm -f told
# Somebody has the number.
sleep 1000 & started+=("$!")
cr_restart --no-restore-pid ctx >restart.out 2>&1 </dev/null & restarter=$!
started+=("$restarter")
check "--no-restore-pid: it is another process" wait_for is_other
check "... with another thread" [ "$thread" != "$old" ]
check "... of which its files in /proc tell" same "$first $second $third" "$thread $thread $thread"
kill -KILL "$now"
wait "$restarter" 2>/dev/null
done_testing
