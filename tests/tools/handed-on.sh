#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What a process of another user gets of root's when root restarts it: not the terminal, nor descriptors of a number that it has
# chosen, nor the session keyring, nor a way out of the control group.
# shellcheck disable=SC2016,SC2119 # eval expands it later; optional arguments
. "$(dirname "$0")/lib.sh"

case $(uname -m) in
x86_64) keyctl=250 ;;
ppc64le) keyctl=271 ;;
*) keyctl=219 ;;
esac
as_user=(setpriv --reuid "$user" --regid "$user" --clear-groups)
differs_from_roots() { [ -s roots ] && ! cmp -s roots keyring; }
group_of() { sed -n 's/^0:://p' "/proc/$1/cgroup"; }

# Says its session keyring each time that it gets SIGUSR1. (KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING)
cat >"$base/keyring" <<EOT
#!/usr/bin/perl
\$SIG{USR1} = sub { open my \$to, ">", "said"; print \$to syscall($keyctl, 0, -3, 0), "\\n"; close \$to; rename "said", "keyring" };
sleep 1 while 1;
EOT
chmod 755 "$base/keyring"

fresh
chmod 777 .
cgroups=/sys/fs/cgroup
mountpoint -q "$cgroups" || mount -t cgroup2 none "$cgroups"
mkdir -p "$cgroups/old" "$cgroups/batch/job"
"${as_user[@]}" perl "$base/keyring" </dev/null >/dev/null 2>&1 &
pid=$!
started+=("$pid")
wait_for eval '[ "$(cat /proc/$pid/comm)" = perl ]'
pause
echo "$pid" >"$cgroups/old/cgroup.procs"
cr_checkpoint --kill -f ctx "$pid"
wait "$pid" 2>/dev/null

rc=0
script -qfec "cr_restart ctx" /dev/null </dev/null >screen 2>&1 || rc=$?
err=$(cat screen)
check "at root's terminal: refused" status_is 1
check "... which is said" said "who could inject input into the terminal of cr_restart (TIOCSTI): start it without one (setsid -w cr_restart FILE </dev/null >LOG 2>&1), or, if he may do that, with --other-owner=warn"
check "... and nothing runs" is_gone "$pid"
rc=0
script -qfec "cr_restart --check --other-owner=warn ctx" /dev/null </dev/null >screen 2>&1 || rc=$?
check "--other-owner=warn permits it" status_is 0

# The same in a user namespace, in which it is root.
"${as_user[@]}" unshare -Ur sleep 1000 </dev/null >/dev/null 2>&1 &
inside=$!
started+=("$inside")
wait_for eval '[ "$(cat /proc/$inside/comm)" = sleep ]'
cr_checkpoint --kill -f inside.ctx "$inside"
wait "$inside" 2>/dev/null
rc=0
script -qfec "cr_restart --check inside.ctx" /dev/null </dev/null >screen 2>&1 || rc=$?
err=$(cat screen)
check "at root's terminal, in a user namespace: refused" status_is 1
check "... which is said, with the user outside" said "belongs to user $(id -u "$user"), who could inject input into the terminal of cr_restart (TIOCSTI)"
rc=0
setsid -w cr_restart --check inside.ctx </dev/null >screen 2>&1 || rc=$?
err=$(cat screen)
check "... without a terminal: not" status_is 0

# Its standard input, and another pipe at a number of its choice, come from somebody who is left out.
sleep 1000 | "${as_user[@]}" sleep 1001 16< <(exec sleep 1002) >/dev/null 2>&1 &
started+=($!)
piped=''
wait_for eval 'piped=$(pgrep -x -u "$user" sleep)'
check "a process with pipes from outside" test -e "/proc/$piped/fd/16"
cr_checkpoint -p --kill -f piped.ctx "$piped"
pkill -x -f 'sleep 100[02]'
rc=0
script -qfec "setsid -w cr_restart --check piped.ctx" /dev/null </dev/null >screen 2>&1 || rc=$?
err=$(cat screen)
check "standard input is a terminal of root's, which controls nothing: refused" status_is 1
check "... which is said" said "who could read from the terminal that is descriptor 0 of cr_restart: start it without one (setsid -w cr_restart FILE </dev/null >LOG 2>&1), or, if he may do that, with --other-owner=warn"
rc=0
script -qfec "setsid -w cr_restart --check --other-owner=warn piped.ctx" /dev/null </dev/null >screen 2>&1 || rc=$?
check "--other-owner=warn permits it" status_is 0
rc=0
err=$(setsid -w cr_restart --check piped.ctx </dev/null 16</etc/shadow 2>&1) || rc=$?
check "cr_restart has a descriptor of the number: refused" status_is 1
check "... which is said" said "and would get descriptor 16 of cr_restart: close it (16>&- in the shell), or, if he may have it, use --other-owner=warn"
rc=0
err=$(setsid -w cr_restart --check --other-owner=warn piped.ctx </dev/null 16</etc/shadow 2>&1) || rc=$?
check "--other-owner=warn permits that, too" status_is 0
check "... with a warning" said "gets descriptor 16 of cr_restart, which is not its user's ($(id -u "$user"))"
rc=0
err=$(setsid -w cr_restart --check piped.ctx </dev/null 2>&1) || rc=$?
check "without it, standard input will do" status_is 0

# Root has a session keyring, in a control group of a batch job; both are cr_restart's.
setsid -w bash -c 'echo $$ >'"$cgroups"'/batch/job/cgroup.procs
	exec perl -e '"'"'open my $to, ">", "roots"; print $to syscall('"$keyctl"', 1, 0), "\n"; close $to;
		exec "cr_restart", "--verbose", "ctx"'"'" </dev/null >log 2>&1 &
restarter=$!
started+=("$restarter")
check "without a terminal: it runs" wait_for eval '[ "$(cat /proc/$pid/comm 2>/dev/null)" = perl ]'
wait_for eval 'grep -q "runs" log'
check "... in the control group of cr_restart" same "$(group_of "$pid")" /batch/job
err=$(cat log)
check "... which is said" said "it is outside of that one, and cr_restart is privileged"
kill -USR1 "$pid"
check "... it says its session keyring" wait_for test -s keyring
check "... which is not root's" differs_from_roots
kill -KILL "$pid"
wait "$restarter" 2>/dev/null

# Inside of cr_restart's own group, it comes back to where it was.
mkdir -p "$cgroups/batch/job/inner"
"${as_user[@]}" sleep 1000 </dev/null >/dev/null 2>&1 &
pid=$!
started+=("$pid")
wait_for eval '[ "$(cat /proc/$pid/comm)" = sleep ]'
echo "$pid" >"$cgroups/batch/job/inner/cgroup.procs"
cr_checkpoint --kill -f inner "$pid"
wait "$pid" 2>/dev/null
setsid -w bash -c "echo \$\$ >$cgroups/batch/cgroup.procs; exec cr_restart --verbose inner" </dev/null >log 2>&1 &
restarter=$!
started+=("$restarter")
wait_for eval '[ "$(cat /proc/$pid/comm 2>/dev/null)" = sleep ]'
wait_for eval 'grep -q "runs" log'
check "inside of it, the old group is joined" wait_for eval '[ "$(group_of "$pid")" = /batch/job/inner ]'
kill -KILL "$pid"
wait "$restarter" 2>/dev/null
rmdir "$cgroups/batch/job/inner" "$cgroups/batch/job" "$cgroups/batch" "$cgroups/old" 2>/dev/null
done_testing
