#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Files that a process could not open by their names: it was given them, or made them read-only; and names that have gone.
# shellcheck disable=SC2016 # eval expands it later
. "$(dirname "$0")/lib.sh"

# user_job REDIRECTION: as the ordinary user, of a file that root has opened.
user_job()
{
	rm -f count
	eval "runuser -u $user -- \"$busy\" \"$PWD/count\" $1 >/dev/null 2>&1 &"
	started+=("$!")
	wait_for busy_counts
	pid=$(pgrep -n -u "$user" -x busy)
	started+=("$pid")
}
by_user() { rc=0; err=$(runuser -u "$user" -- "$@" 2>&1) || rc=$?; }
hold() { by_user cr_checkpoint --kill -f "$PWD/ctx" "$pid"; wait_for is_gone "$pid"; }
runs()
{
	rm -f count.old
	cp count count.old
	runuser -u "$user" -- cr_restart "$@" ctx >/dev/null 2>"$base/stderr" &
	started+=("$!" "$pid")
	wait_for counts_again
	rc=$?
	err=$(cat "$base/stderr")
	return $rc
}
counts_again() { ! cmp -s count count.old; }
read_by_job() { head -c 100 "/proc/$pid/fd/$1"; }

fresh
echo "for root" >secret
chmod 600 secret
user_job '5<secret'
hold
check "a descriptor that its user could not open: saved" eval 'status_is 0 && [ -z "$err" ]'
by_user cr_restart --check ctx
check "... --check finds nothing" eval 'status_is 0 && [ -z "$err" ]'
check "... and it runs" runs
check "... with the contents" same "$(read_by_job 5)" "for root"
end_processes

fresh
echo "for root" >secret
chmod 600 secret
user_job '5>>secret'
warned() { said "WARNING: fd 5 ($PWD/secret): the process may not reopen it for writing: restart as root, from a process that has this file open, or with cr_restart --redirect 5=FILE"; }
by_user cr_checkpoint --dry-run "$pid"
check "one that is written to: --dry-run warns" eval 'status_is 0 && warned'
by_user cr_checkpoint -q -f "$PWD/ctx" "$pid"
check "... -q: nothing" eval 'status_is 0 && [ -z "$err" ]'
hold
check "... a checkpoint warns, without -v" eval 'status_is 0 && warned'
by_user cr_restart --check ctx
check "... its user cannot restart it" eval 'status_is 13 && said "descriptor 5 ($PWD/secret): "'
touch mine
chown "$user" mine
check "... but with the option that the warning names" runs --redirect 5=mine
end_processes
wait_for is_gone "$pid"

fresh
echo "for root" >secret
chmod 600 secret
user_job '5>>secret'
hold
runs_as_root() { rm -f count.old; cp count count.old; cr_restart --other-owner=warn ctx >/dev/null 2>"$base/stderr" & started+=("$!" "$pid"); wait_for counts_again; }
check "... and root can" runs_as_root
end_processes

fresh
touch own
chown "$user" own
user_job '5<>own'
chmod 444 own
hold
by_user cr_restart --check ctx
check "a read-only file, open for writing by its owner: --check finds nothing" eval 'status_is 0 && [ -z "$err" ]'
check "... and it runs" runs
check "... and the file is as read-only as before" same "$(stat -c %a own)" 444
check "... and open for writing" eval '(( $(sed -n "s/^flags:\t//p" /proc/$pid/fdinfo/5) & 2 ))'
end_processes
wait_for is_gone "$pid"
# Its lease is somebody's, who does not give it up: the restart waits, and is killed.
perl -e '$SIG{IO} = "IGNORE"; open(F, "<", "own") && fcntl(F, 1024, 0) or die; open(O, ">", "held"); sleep 100' & holder=$!
started+=("$holder")
wait_for exists held
runuser -u "$user" -- cr_restart ctx >/dev/null 2>&1 &
started+=("$!")
restarts_now() { pgrep -u "$user" -x cr_restart >/dev/null; }
wait_for restarts_now
sleep 3
check "... while somebody has a lease of it the restart waits" restarts_now
pkill -TERM -u "$user" -x cr_restart
wait_for not restarts_now
check "... given up, it leaves the file as it was" same "$(stat -c %a own)" 444
kill -KILL "$holder"
wait "$holder" 2>/dev/null
check "... and runs when that has gone" runs
check "... with the file as read-only as before" same "$(stat -c %a own)" 444
end_processes

# What is no file: nothing of it is in the context. lent WHAT REDIRECTION TEXT OPTION
lent()
{
	# shellcheck disable=SC2034 # eval expands it
	local text=$3
	user_job "$2"
	by_user cr_checkpoint --dry-run "$pid"
	check "$1 that its user could not open: --dry-run warns" \
		eval 'status_is 0 && said "WARNING: fd 5 ($PWD/secret): the process may not reopen $text"'
	hold
	check "... so does a checkpoint, of nothing else" eval 'status_is 0 && said "WARNING: fd 5" && same "$(grep -c . <<<"$err")" 1'
	by_user cr_restart --check ctx
	check "... its user cannot restart it" eval 'status_is 13 && said "descriptor 5 ($PWD/secret): "'
	check "... but with the option that the warning names" runs "$4"
	end_processes
	wait_for is_gone "$pid"
}
fresh
mkdir -m 700 secret
lent "a directory" '5<secret' "this directory by its path: restart as root, or with cr_restart --relocate=OLD=NEW" --relocate="$PWD/secret=/tmp"
fresh
mkfifo -m 600 secret
mkfifo mine
chown "$user" mine
redirect="it by this path with its access mode: restart as root, or with cr_restart --redirect 5=FILE"
lent "a FIFO" '5<>secret' "$redirect" --redirect=5=mine
fresh
mknod -m 600 secret c 1 3
lent "a device" '5<secret' "$redirect" --redirect=5=/dev/null
fresh
mkdir secret
user_job '5<secret'
hold
check "a directory that it can open: nothing is said" eval 'status_is 0 && [ -z "$err" ]'
end_processes

# All of it in a directory that its user may not enter, as root's prolog has started it there.
fresh
mkdir hidden
echo "for all" >hidden/read
cp "$busy" hidden/busy
touch hidden/out mine
chown "$user" hidden/out mine
# shellcheck disable=SC2094 # the one that writes is another file
(cd hidden && exec setpriv --reuid "$user" --regid "$user" --init-groups ./busy "$base/work/count" 5<"read" 6>out >/dev/null 2>&1) & pid=$!
started+=("$pid")
wait_for busy_counts
chmod 700 hidden
hold
wait "$pid" 2>/dev/null
check "a working directory that its user may not enter: a checkpoint warns" \
	eval 'status_is 0 && said "WARNING: thread $pid: may not enter its working directory $PWD/hidden by this path: restart as root, or with cr_restart --relocate=OLD=NEW"'
check "... and of an output file there" said "WARNING: fd 6 ($PWD/hidden/out): the process may not reopen it for writing"
check "... and of nothing else" same "$(grep -c . <<<"$err")" 2
by_user cr_restart --check ctx
check "... its user cannot restart it for these" \
	eval 'status_is 13 && said "working directory $PWD/hidden" && said "descriptor 6 ($PWD/hidden/out)" && not said hidden/read && not said hidden/busy'
check "... but with what the warnings name" runs --relocate="$PWD/hidden=$PWD" --redirect 6=mine
check "... what it read is in the context" same "$(read_by_job 5)" "for all"
end_processes
wait_for is_gone "$pid"

# Mapped, and not open: as nscd's cache is by the C library.
mapped_job()
{
	echo "first text" >cache
	chmod 600 cache
	runuser -u "$user" -- "$here/mapper" 5 "$PWD/looks" 5<cache >/dev/null 2>&1 &
	started+=("$!")
	wait_for test -s looks
	pid=$(pgrep -n -u "$user" -x mapper)
	started+=("$pid")
}
looks_again() { [ "$(cut -d' ' -f1 looks)" != "$(cut -d' ' -f1 looks.old)" ]; }
mapped_runs()
{
	cp looks looks.old
	runuser -u "$user" -- cr_restart "$@" ctx >/dev/null 2>"$base/stderr" &
	started+=("$!" "$pid")
	wait_for looks_again
}
for option in --kill --save-shared --save-private --save-all; do
	fresh
	mapped_job
	by_user cr_checkpoint "$option" --kill -f "$PWD/ctx" "$pid"
	check "mapped, and its user could not open it, $option: saved" eval 'status_is 0 && [ -z "$err" ]'
	wait_for is_gone "$pid"
	rm cache
	[ "$option" = --save-all ] || echo "second text" >cache
	by_user cr_restart --check ctx
	check "... --check finds nothing" eval 'status_is 0 && [ -z "$err" ]'
	check "... and it runs" mapped_runs
	check "... with what it was" same "$(cut -d' ' -f2- looks)" "first text"
	end_processes
done

# By root.
hold_own() { cr --kill -f ctx "$pid"; wait "$pid" 2>/dev/null; wait_for is_gone "$pid"; is_context ctx; }
job()
{
	eval "\"$busy\" count $1 >/dev/null 2>&1 &"
	pid=$!
	started+=("$pid")
	wait_for busy_counts
}
runs_own()
{
	rm -f count.old
	cp count count.old
	cr_restart ctx >/dev/null 2>"$base/stderr" &
	started+=("$!" "$pid")
	wait_for counts_again
	rc=$?
	err=$(cat "$base/stderr")
	return $rc
}

fresh
mkfifo -m 640 one
ln one two
job '5<>one 6<>two'
hold_own
rm one two
check "a FIFO with two names, both gone: it runs" runs_own
check "... and both are there again" same "$(stat -c %F-%h-%a one two)" $'fifo-2-640\nfifo-2-640'
end_processes
wait_for is_gone "$pid"
check "once more, with what is there: it runs" runs_own
end_processes
wait_for is_gone "$pid"
rm one two
mkfifo -m 600 one
chown "$user" one
rc=0
err=$(cr_restart --check ctx 2>&1) || rc=$?
check "somebody else's FIFO has the name: refused" eval 'status_is 116 && said "its name now refers to a different FIFO; --changed-files=warn accepts it"'

fresh
mknod null c 1 3
job '5<>null'
rm null
hold_own
check "a removed device file of /dev/null's number: it runs" runs_own
check "... and is that device" same "$(stat -L -c %t:%T "/proc/$pid/fd/5")" 1:3
end_processes

done_testing
