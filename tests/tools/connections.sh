#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# TCP connections within a job that is killed by its checkpoint leave no port occupied (TIME_WAIT), so that the restart need not wait; those
# that others have an end of, too, end as ever, and a job that goes on has its sockets as it has set them.
. "$(dirname "$0")/lib.sh"

port=47011
connect() # [outside]
{
	rm -f told
	"$here/connected" "$port" "$base/work/told" "$@" >/dev/null 2>&1 &
	pid=$!
	started+=("$pid")
	wait_for is_connected
	[ $# -gt 0 ] && wait_for has_child "$pid" || wait_for test -s told
}
hex=$(printf %04X "$port")
# Sockets in that state (/proc/net/tcp) one end of which has the port.
in_tcp_state() { grep -c "^ *[0-9]*: \(0100007F:$hex [0-9A-F:]*\|[0-9A-F]*:[0-9A-F]* 0100007F:$hex\) $1 " /proc/net/tcp; }
is_connected() { same "$(in_tcp_state 01)" 2; }
ended() { wait "$pid" 2>/dev/null; wait_for is_gone "$pid"; }

fresh
connect
check "a connection of a job with itself" same "$(in_tcp_state 01)" 2
cr -f ctx "$pid"
check "a checkpoint that it survives" status_is 0
rm told
kill -USR1 "$pid"
check "... after which" wait_for test -s told
check "... SO_LINGER is not set" same "$(<told)" "plain 0"
cr --kill -f ctx "$pid"
check "a checkpoint by which it is killed" status_is 0
ended
check "... leaves nothing in TIME_WAIT" same "$(in_tcp_state 06)" 0
check "... nor anything else" same "$(in_tcp_state 01)" 0
rm told
cr_restart ctx >/dev/null 2>"$base/stderr" &
started+=("$!" "$pid")
wait_for in_state "$pid" S
kill -USR1 "$pid"
check "after the restart" wait_for test -s told
check "... SO_LINGER is not set" same "$(<told)" "plain 0"
check "... it is connected" same "$(in_tcp_state 01)" 2

end_processes
wait_for is_gone "$pid"
fresh
port=47012 hex=$(printf %04X 47012)
connect outside
child=$(cut -d' ' -f1 "/proc/$pid/task/$pid/children")
cr --process --kill -f ctx "$pid"
check "one end that a process outside has, too" status_is 0
ended
check "... which is told of its end" wait_for test -s told
check "... by the end of the bytes, not by an error" same "$(<told)" end
kill "$child" 2>/dev/null

done_testing
