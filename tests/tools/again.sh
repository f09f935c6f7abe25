#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A tree in which cr_restart waits for its job: it is a program like others.
. "$(dirname "$0")/lib.sh"

# restart CONTEXT: runs cr_restart, whose process is $restarter then.
restart()
{
	setsid cr_restart "$1" </dev/null >"$1.out" 2>&1 &
	restarter=$!
	started+=("$restarter")
}

fresh
start >job.out 2>&1
cr --kill -f ctx "$pid"
wait "$pid" 2>/dev/null
restart ctx
check "a job is restarted" goes_on
cr --tree --kill -f both "$restarter"
check "it is checkpointed together with its cr_restart" status_is 0
wait "$restarter" 2>/dev/null
check "... and both have ended" wait_for is_gone "$pid"
rm ctx
restart both
check "... and go on" goes_on
check "... under their own names" same "$(<"/proc/$restarter/comm")" cr_restart
kill -TERM "$pid"
rc=0
wait "$restarter" || rc=$?
err=$(cat both.out)
check "... and the end of the job is that of both" status_is $((128 + 15))

done_testing
