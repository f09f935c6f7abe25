#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A process that sleeps in vfork() does not come to rest: it and its child are named, and go on unharmed.
. "$(dirname "$0")/lib.sh"

fresh
start vfork
wait_for has_child "$pid"
child=$(<"/proc/$pid/task/$pid/children")
child=${child% }
before=$(date +%s)
cr --time 2 -f ctx "$pid"
check "a parent in vfork(): no checkpoint" status_is 110
check "... after the time that was given" [ $(($(date +%s) - before)) -lt 8 ]
reason="cannot be frozen: state D (uninterruptible, or waits for a vfork() child)"
check "... it is named" said "pid $pid (busy), thread $pid (busy): $reason"
check "... and so is the child" said \
	"pid $child (busy): cannot be frozen: shares its parent's memory until it executes a program (vfork, posix_spawn)"
check "... there is no context" no_file_but count
touch go
check "it goes on when the child has ended" goes_on
cr -f ctx "$pid"
check "... and can be checkpointed" status_is 0

done_testing
