#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A job that forks all the time never gets an id again that a child of it had: neither from a restart, nor while cr_restart ends.
# shellcheck disable=SC2016 # expanded later
. "$(dirname "$0")/lib.sh"

# A shell whose children end at once: it reports each id that is not above the one before it. The kernel's own turn (pid_max) is
# far away: the ids of this machine begin anew at boot.
fresh
cat >forker <<-'END'
	last=0
	while :; do
		: &
		pid=$!
		wait "$pid"
		[ "$pid" -gt "$last" ] || echo "$pid after $last" >>again
		last=$pid
		echo "$last" >last
	done
END
as_user=(setpriv --reuid "$user" --regid "$user" --init-groups)
forks_on()
{
	local before=$now
	now=$(<last)
	[ "${now:-0}" -gt "${before:-0}" ]
}
now=
chown -R "$user:" .
"${as_user[@]}" bash forker </dev/null >/dev/null 2>&1 & pid=$!
started+=("$pid")
wait_for forks_on
for round in {1..8}; do
	"${as_user[@]}" cr_checkpoint --kill -f "ctx.$round" "$pid" 2>out || break
	wait_for is_gone "$pid"
	"${as_user[@]}" cr_restart "ctx.$round" </dev/null >out 2>&1 & started+=("$!")
	wait_for forks_on && wait_for forks_on || break
done
# A shell that is saved in the middle of its "echo >last" has its output there: cr_restart warns, rightly.
err=$(grep -v 'warning: .*descriptor 1 .*: continues to write there' out)
check "checkpoints and restarts while it forks" eval '[ "$round" = 8 ] && [ -z "$err" ]'
check "no child is given an id that another one had" not grep . again
done_testing
