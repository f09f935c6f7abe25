#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A shell with jobs in the background becomes cr_restart (exec): its jobs are neither taken for processes of the restart,
# nor waited for, nor killed, whether the restart succeeds or not.
. "$(dirname "$0")/lib.sh"

fresh
exec 9>lock
flock 9
start_quietly
exec 9>&-
cr -f ctx "$pid"
check "a process with a lock is checkpointed" status_is 0
end_it

# One job sleeps, one fails when the shell is cr_restart.
# shellcheck disable=SC2016
shell='sleep 300 & echo $! >sleeping; (sleep 0.3; exit 3) & exec cr_restart ctx'
sleeps() { in_state "$(<sleeping)" S; }
kept_zombie() { [ "$(for child in $(<"/proc/$1/task/$1/children"); do state_of "$child"; done | grep -c Z)" = "$2" ]; }

before=$(<count)
bash -c "$shell" </dev/null >restart.out 2>&1 & restarter=$!
started+=("$restarter")
wait_for differs "$before"
check "a shell with jobs becomes cr_restart, which restarts it" goes_on
check "... the job that has ended has not been waited for" wait_for kept_zombie "$restarter" 1
check "... the other one lives" sleeps
kill -KILL "$pid"
wait "$restarter"
check "cr_restart ends as the process did" same $? 137
check "... and the job lives on" sleeps
kill "$(<sleeping)"

exec 8>lock
flock 8
timeout -k 1 20 bash -c "$shell" </dev/null >restart.out 2>&1
check "the restart fails when somebody else has the lock, and ends" same $? 11
err=$(<restart.out)
check "... for that reason" said "lock"
check "... the job lives" sleeps
kill "$(<sleeping)"
done_testing
