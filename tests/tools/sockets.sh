#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Names of Unix sockets: others' are left alone, and nobody is called to find something out; what is in the way is found by --check.
. "$(dirname "$0")/lib.sh"

# server NAME MODE OWNER [DIRECTORY]: listens, in another directory.
server()
{
	rm -f count
	(cd "${4:-.}" && exec "$here/listener" "$1" "$2" "$3" "$base/work/count" >/dev/null 2>&1) &
	pid=$!
	started+=("$pid")
	wait_for busy_counts
}
hold()
{
	cr --kill -f ctx "$pid"
	wait "$pid" 2>/dev/null
	wait_for is_gone "$pid"
	is_context ctx
}
dry() { rc=0; out=$(cr_restart --check ctx 2>&1) || rc=$?; err=$out; }
# The checkpoint may have come when the listener was writing its counts, to a file that another one has made anew since.
runs()
{
	rm -f count.old
	cp count count.old
	cr_restart --changed-files=warn "$@" ctx 2>"$base/stderr" >/dev/null &
	started+=("$!" "$pid")
	wait_for counts_again
	rc=$?
	err=$(cat "$base/stderr")
	return $rc
}
counts_again() { ! cmp -s count count.old; }
file_is() { same "$(stat -c '%F %a %u %g' "$1")" "socket $2"; }

fresh
server "$base/work/sock" 0600 1000
hold
check "mode and owner of a socket's file" runs
check "... are what they were" file_is sock "600 1000 1000"
end_processes
wait_for is_gone "$pid"
check "once more, with what the restart before has left" runs
check "... the same" file_is sock "600 1000 1000"
end_processes
wait_for is_gone "$pid"
rm sock
check "once more, when nothing is left" runs
check "... the same" file_is sock "600 1000 1000"
end_processes

fresh
mkdir a b
server sock 0666 0 a
hold
rm a/sock
job=$pid
server sock 0600 0 a
other=$pid
pid=$job
dry
check "another one has the name, and answers: refused" eval 'status_is 98 && said "the name $base/work/a/sock now refers to a different socket or file (remove or rename that, or --relocate=OLD=NEW gives the socket of the job another name)"'
sleep 0.5
check "... and has not been called" wait_for eval 'same "$(cut -d" " -f2 count)" 0'
kill -9 "$other"
wait "$other" 2>/dev/null
dry
check "... nor is it replaced when it does not answer" status_is 98
cr_restart ctx >/dev/null 2>&1
check "... by the restart" file_is a/sock "600 0 0"
rm a/sock
echo file >a/sock
dry
check "a file has the name: refused" eval 'status_is 98 && said "now refers to a different socket or file"'
rm a/sock
rmdir a
dry
check "the directory of a relative name has gone: refused" eval 'status_is 2 && said "the socket $base/work/a/sock cannot be made: $base/work/a: No such file"'
mkdir a
check "made again: it runs" runs
check "... with the mode" file_is a/sock "666 0 0"
end_processes

# As that of an X server is when /tmp has been emptied.
fresh
mkdir -p d/e
server "$base/work/d/e/sock" 0666 0
hold
rm -r d
dry
check "two directories of a name have gone: refused, and it is said what helps" \
	eval 'status_is 2 && said "/d/e: No such file or directory (ENOENT) (--restore-files makes the directory)"'
rc=0
err=$(cr_restart --check --restore-files ctx 2>&1) || rc=$?
check "... --restore-files: well" status_is 0
check "... and not made by --check" not exists d
check "... it runs" runs --restore-files
check "... with the mode" file_is d/e/sock "666 0 0"
check "... in directories that are the user's alone" same "$(stat -c '%a %u' d/e)" "700 0"
end_processes

fresh
server "$base/work/sock.tmp" 0600 0
mv sock.tmp sock
hold
echo file >sock.tmp
check "the name before it was renamed is taken: it runs" runs
check "... under its name" file_is sock "600 0 0"
check "... and the other one has the one before" same "$(cat sock.tmp)" file
end_processes
wait_for is_gone "$pid"
rm sock.tmp
check "... and free: it runs" runs
check "... under its name" eval 'file_is sock "600 0 0" && not exists sock.tmp'
end_processes

fresh
runuser -u "$user" -- "$here/listener" "$base/work/sock.tmp" 0600 1000 "$base/work/count" >/dev/null 2>&1 &
started+=("$!")
wait_for busy_counts
pid=$(pgrep -n -u "$user" -x listener)
started+=("$pid")
mv sock.tmp sock
runuser -u "$user" -- cr_checkpoint --kill -f "$PWD/ctx" "$pid"
wait_for is_gone "$pid"
echo file >sock.tmp
namespaces=$(cat /proc/sys/user/max_user_namespaces)
rc=0
err=$(runuser -u "$user" -- cr_restart --check ctx 2>&1) || rc=$?
check "the same of a user, who may make user namespaces: nothing is in the way" status_is 0
echo 0 >/proc/sys/user/max_user_namespaces
rc=0
err=$(runuser -u "$user" -- cr_restart --check ctx 2>&1) || rc=$?
echo "$namespaces" >/proc/sys/user/max_user_namespaces
check "... and who may not: refused" eval 'status_is 98 && said "it was bound to $base/work/sock.tmp, which is in use: that requires CAP_SYS_CHROOT or unprivileged user namespaces"'

fresh
runuser -u "$user" -- "$here/listener" "$base/work/sock" 0600 1000 "$base/work/count" >/dev/null 2>&1 &
started+=("$!")
wait_for busy_counts
pid=$(pgrep -n -u "$user" -x listener)
started+=("$pid")
chown root sock
runuser -u "$user" -- cr_checkpoint --kill -f "$PWD/ctx" "$pid"
wait_for is_gone "$pid"
rc=0
err=$(runuser -u "$user" -- cr_restart --check ctx 2>&1) || rc=$?
check "the socket's file was root's: refused" eval 'status_is 1 && said "the socket $base/work/sock cannot be given to user 0"'

# is_left_alone ARGUMENT...: a restart of what still runs is refused, by the name of $holder, and the socket goes on as it was.
is_left_alone()
{
	local looks
	rc=0
	err=$(cr_restart --no-restore-pid "$@" ctx 2>&1 </dev/null) || rc=$?
	status_is 98 && said "is in use by $holder (end that, or --relocate=OLD=NEW gives the socket of the job another name)" && exists "$socket" && looks=$(<count) && sleep 0.3 && not same "$(<count)" "$looks"
}
not_called() { same "$(cut -d" " -f2 count)" 0; }

fresh
mkdir a
server "$base/work/a/sock" 0600 0
cr -f ctx "$pid"
mv a b
socket=b/sock
holder="process $pid (listener)"
check "its directory has got another name, and it lives: refused" is_left_alone --relocate "$base/work/a=$base/work/b"
check "... and has not been called" not_called
chmod 0 b/sock
chown "$user" b b/sock ctx count
socket=b/sock
as_user() { setpriv --reuid "$user" --regid "$user" --init-groups "$@"; }
rc=0
err=$(as_user cr_restart --check --no-restore-pid --relocate "$base/work/a=$base/work/b" ctx 2>&1) || rc=$?
check "... nor is it taken for a dead one by who may not write to it" said "is in use by another process (end that"

fresh
rm -f count
unshare --net "$here/listener" "$base/work/sock" 0600 0 "$base/work/count" >/dev/null 2>&1 & pid=$!
started+=("$pid")
wait_for busy_counts
cr -f ctx "$pid"
socket=sock
holder="another process"
check "it lives in another network namespace: refused" is_left_alone
check "... and has not been called" not_called

# One that waits for a datagram's reader, and tells then whom it is from: who sent it has been closed.
cat >"$base/receiver.pl" <<'END'
use Socket;
my ($to, $from);
socket($to, AF_UNIX, SOCK_DGRAM, 0) && bind($to, sockaddr_un("to")) or die;
socket($from, AF_UNIX, SOCK_DGRAM, 0) && bind($from, sockaddr_un($ARGV[0])) or die;
defined send($from, "text", 0, sockaddr_un("to")) or die;
close $from;
open(my $ready, ">", "ready") and close $ready;
select(undef, undef, undef, 0.05) until -e "go";
my $who = recv($to, my $text, 9, 0);
open(my $told, ">", "told.new") or die;
print $told $text, " of ", length($who) > 2 ? unpack_sockaddr_un($who) : "nobody";
close $told;
rename "told.new", "told";
END
fresh
runuser -u "$user" -- perl "$base/receiver.pl" "$PWD/from" >/dev/null 2>&1 &
started+=("$!")
wait_for exists ready
pid=$(pgrep -n -u "$user" -x perl)
started+=("$pid")
runuser -u "$user" -- cr_checkpoint --kill -f "$PWD/ctx" "$pid"
wait_for is_gone "$pid"
touch go
runuser -u "$user" -- cr_restart ctx >/dev/null 2>"$base/stderr"
err=$(cat "$base/stderr")
check "a datagram of a socket that has been closed: it tells whose it was" same "$(cat told)" "text of $PWD/from"
check "... without a word" eval '! said "sender"'
rm told
echo 0 >/proc/sys/user/max_user_namespaces
runuser -u "$user" -- cr_restart ctx >/dev/null 2>"$base/stderr"
err=$(cat "$base/stderr")
echo "$namespaces" >/proc/sys/user/max_user_namespaces
check "... where the user may not make user namespaces: it does not" same "$(cat told)" "text of nobody"
check "... a warning says so" \
	said "a datagram that waits will have lost its sender's name $PWD/from: it requires CAP_SYS_CHROOT or unprivileged user namespaces"

# sun_path has 108 bytes, of which a name may take all.
fresh
runuser -u "$user" -- perl "$base/receiver.pl" "$(printf 'x%.0s' {1..108})" >/dev/null 2>&1 &
started+=("$!")
wait_for exists ready
pid=$(pgrep -n -u "$user" -x perl)
started+=("$pid")
runuser -u "$user" -- cr_checkpoint --kill -f "$PWD/ctx" "$pid"
wait_for is_gone "$pid"
touch go
runuser -u "$user" -- cr_restart ctx >/dev/null 2>"$base/stderr"
err=$(cat "$base/stderr")
check "a datagram whose sender had a name of 108 bytes: it tells no name" same "$(cat told)" "text of nobody"
check "... a warning says so" said "a datagram that waits will have lost its sender's name, which is too long"

# A pipe that root has made, and given to a program of the user.
cat >"$base/mode.pl" <<'END'
open(my $pipe, "<&=", $ARGV[0]) or die;
open(my $ready, ">", "ready") and close $ready;
select(undef, undef, undef, 0.05) until -e "go";
my @now = stat $pipe;
open(my $told, ">", "told.new") or die;
printf $told "%o of %d", $now[2] & 07777, $now[4];
close $told;
rename "told.new", "told";
END
fresh
# shellcheck disable=SC2016 # perl expands it
perl -e '$^F = 9; pipe($r, $w) or die; chmod(0604, $r) or die; exec @ARGV, fileno $r' \
	runuser -u "$user" -- perl "$base/mode.pl" >/dev/null 2>&1 &
started+=("$!")
wait_for exists ready
pid=$(pgrep -n -u "$user" -x perl)
started+=("$pid")
runuser -u "$user" -- cr_checkpoint --kill -f "$PWD/ctx" "$pid"
wait_for is_gone "$pid"
touch go
cr_restart --other-owner=warn ctx >/dev/null 2>"$base/stderr"
err=$(cat "$base/stderr")
check "mode and owner of a pipe that root has made, restarted by root" same "$(cat told)" "604 of 0"
rm told
runuser -u "$user" -- cr_restart ctx >/dev/null 2>"$base/stderr"
err=$(cat "$base/stderr")
check "... by the user, who may not give it to root: the mode" same "$(cat told)" "604 of $(id -u "$user")"
done_testing
