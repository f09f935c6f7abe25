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

# The members of sessions and groups whose leaders are gone are forked by helpers that have them for siblings, and others fork at
# the same time: who is forked with a wrong id is nobody's child in the end.
fresh
cat >job.pl <<-'END'
	use POSIX;
	syscall($ARGV[0], 36, 1, 0, 0, 0); # PR_SET_CHILD_SUBREAPER
	for my $i (1 .. 12) {
		my $leader = fork;
		if (!$leader) {
			$i & 1 ? POSIX::setsid() : setpgrp;
			if (!fork) { $i & 2 ? sleep 1000 : POSIX::_exit(0) }
			POSIX::_exit(0);
		}
		waitpid $leader, 0;
	}
	for (;;) {
		mkdir 'runs';
		select undef, undef, undef, 0.1;
	}
END
cat >storm <<-'END'
	while :; do /bin/true; done
END
prctl=157
[ "$(uname -m)" = x86_64 ] || prctl=167
[ "$(uname -m)" != ppc64le ] || prctl=171
members() { ps -o pid=,pgid=,sess=,stat= --ppid "$1" | awk '{ print $1, $2, $3, substr($4, 1, 1) }'; }
chown -R "$user:" .
"${as_user[@]}" perl job.pl "$prctl" </dev/null >/dev/null 2>&1 & pid=$!
started+=("$pid")
wait_for exists runs
before=$(members "$pid")
check "members of sessions and groups whose leaders are gone" same "$(wc -l <<<"$before")" 12
"${as_user[@]}" cr_checkpoint --tree --kill -f ctx "$pid" 2>out
wait_for is_gone "$pid"
for i in 1 2; do
	bash storm & started+=("$!")
done
after=
for round in {1..4}; do
	rmdir runs
	"${as_user[@]}" cr_restart ctx </dev/null >out 2>&1 & restarter=$!
	started+=("$restarter")
	wait_for exists runs || wait_for exists runs || wait_for exists runs || break
	after=$(members "$pid")
	[ "$after" = "$before" ] || break
	# shellcheck disable=SC2046 # a list
	kill -KILL "$pid" $(awk '{ print $1 }' <<<"$before")
	wait "$restarter" 2>/dev/null
	wait_for is_gone "$pid"
done
err=$(cat out; diff <(echo "$before") <(echo "$after"))
check "... are all that there is after restarts while others fork" eval '[ "$round" = 4 ] && [ "$after" = "$before" ]'
done_testing
