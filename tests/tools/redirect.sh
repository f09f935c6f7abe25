#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Standard input, output and error of a restart: each is cr_restart's own where the process had a terminal, and --redirect gives it
# another file where it had one.
# shellcheck disable=SC2016,SC2034 # eval expands and uses it later
. "$(dirname "$0")/lib.sh"

speaker=$here/speaker
has() { grep -q "^$2" "$1"; }
has_no() { ! grep -q "^$2" "$1"; }
spoke() { [ -s pid ] && kill -0 "$(<pid)" && [ "$(cut -d ' ' -f 2 <"/proc/$(<pid)/stat")" = "(speaker)" ]; }

# saved COMMAND: the context of the speaker that COMMAND starts, with a terminal of its own; that has ended.
saved()
{
	fresh
	script -qfec "$1" /dev/null </dev/null >screen 2>&1 &
	started+=("$!")
	wait_for spoke
	pid=$(<pid)
	cr --kill -f ctx "$pid"
	wait_for is_gone "$pid"
	is_context ctx
}

# speaks COMMAND: with a terminal of its own; until it has said something more to both, and has read. Sets rc; err is what came to its error.
speaks()
{
	rm -f go
	script -qfec "$1" /dev/null </dev/null >screen 2>&1 & local shell=$!
	started+=("$shell")
	wait_for spoke && sleep 0.3
	touch go
	wait "$shell"
	rc=$?
	err=$(cat screen q.err 2>/dev/null | tr -d '\0' | grep -v '^\(out\|err\|kept\) [0-9]')
}

for kind in "a controlling terminal" "another terminal"; do
	case $kind in
	a*) saved "exec $speaker ." ;;
	*) saved "setsid -w $speaker ." ;;
	esac
	[ "$kind" = "a controlling terminal" ] || check "a program at $kind" said ""
	speaks "cr_restart ctx </dev/null >q.log 2>q.err"
	check "$kind: output goes where cr_restart's goes" eval 'status_is 0 && has q.log out && has_no q.log err'
	check "... errors too" eval 'has q.err err && has_no q.err out'
	check "... and input comes from there" has q.log "in end"
	check "... without a word" eval 'has_no q.err cr_restart && has_no screen cr_restart'
	speaks "cr_restart ctx >q.log 2>&1 </dev/zero"
	check "$kind: both to one file" eval 'has q.log out && has q.log err'
	rm -f go q.log q.err
	setsid -w cr_restart ctx </dev/null >q.log 2>q.err & restarter=$!
	started+=("$restarter")
	wait_for has q.log out
	touch go
	wait "$restarter"
	rc=$?
	check "$kind: where cr_restart has no terminal" eval 'status_is 0 && has q.log out && has q.err err && has q.log "in end"'
	rm -f q.log
	speaks "nohup cr_restart ctx >n.log"
	check "$kind: by nohup" eval 'status_is 0 && has n.log out && has n.log "in end"'
	speaks "cr_restart ctx 2>q.err </dev/null"
	check "$kind: errors alone" eval 'has screen out && has_no screen err && has q.err err'
	speaks "cr_restart ctx"
	check "$kind: nothing redirected" eval 'has screen out && has screen err'
done
speaks "cr_restart ctx 2>q.err </dev/null 1</dev/zero"
check "a descriptor that cannot be written to is not taken" eval 'has q.err out && has q.err err'
check "... which is said" said "becomes descriptor 2 of cr_restart, whose descriptor 1 is not open for writing"
rm -f q.err
speaks "cr_restart ctx 2>q.err >q.log <&-"
check "one that is closed" eval 'status_is 9 && said "whose descriptor 0 is closed (--redirect 0=FILE gives it a file)"'
speaks "cr_restart --redirect 0=/dev/null ctx 2>q.err >q.log <&-"
check "... for which the option helps" eval 'status_is 0 && has q.log out && has q.log "in end"'

saved "setsid -w $speaker . 7>&1"
speaks "cr_restart ctx </dev/null >q.log 2>q.err"
check "a copy of the terminal at a higher number goes with the output" eval 'has q.log kept && has_no q.err kept'
check "... which is said" said "(--redirect 7=FILE gives it a file)"
speaks "cr_restart --redirect 7=kept.log --redirect 2=e.log ctx </dev/null >q.log 2>q.err"
check "... each can be redirected" eval 'has kept.log kept && has_no q.log kept && has e.log err && has_no q.err err && has q.log out'

# Files.
saved "exec $speaker . >log 2>&1"
cp log log.old
speaks "cr_restart ctx >new 2>q.err"
check "a process whose output is a file: it stays there" eval '[ ! -s new ] && has log "in end"'
check "... which is said" said "descriptor 1 ($PWD/log): continues to write there, not to standard output of cr_restart (--redirect 1=FILE"
cp log.old log
echo something >new
speaks "cr_restart ctx >>new 2>q.err"
check "... not where there is other output already" eval 'has_no q.err "cr_restart.*descriptor 1 .*continues to write there"'
rm log
speaks "cr_restart ctx 2>q.err"
check "it is gone: refused, and the line says what helps" eval 'status_is 2 && said "cannot be found: No such file or directory (ENOENT) (--redirect 1=FILE"'
speaks "cr_restart --redirect 1=fresh ctx 2>q.err"
check "--redirect: it is made" eval 'status_is 0 && has fresh out && has fresh err && has fresh "in end"'
check "... with the mode that the umask leaves" same "$(stat -c %a fresh)" 644
echo "of others" >fresh
speaks "cr_restart --redirect 1=fresh ctx 2>q.err"
check "... what was in it stays" eval 'same "$(head -n 1 fresh)" "of others" && has fresh out'
speaks "cr_restart --redirect 1=/dev/null ctx 2>q.err"
check "... a device" eval 'status_is 0 && ! said cr_restart'
rm -f go
speaks "cr_restart --redirect $pid:2=fresh --redirect 1=$PWD/fresh ctx 2>q.err"
check "... by pid, and both names of one open file" eval 'status_is 0 && has fresh err'
for bad in 1 =x x=y 1= x:1=y -1=y 0:1=y; do
	rc=0
	err=$(cr_restart --redirect "$bad" --check ctx 2>&1) || rc=$?
	check "--redirect $bad is wrong usage" eval 'status_is 255 && said "--redirect takes FD=FILE or PID:FD=FILE"'
done
refused() # STATUS TEXT REDIRECTION...
{
	local wanted=$1 text=$2 options=() to
	shift 2
	for to; do options+=(--redirect "$to"); done
	rc=0
	err=$(cr_restart "${options[@]}" --check ctx 2>&1) || rc=$?
	check "--redirect $*: $text" eval 'status_is "$wanted" && said "$text"'
}
refused 22 "no process of the context has a descriptor 99" 99=x
refused 22 "no process 999999 is in the context" 999999:1=x
refused 22 "it is the same open file as another descriptor, which goes to" 1=x 2=y
refused 21 "is a directory" 1=.
refused 2 "cannot be created: No such file or directory" 1=nowhere/x
check "... and makes nothing" not exists x

# With the rights of whose process it is.
fresh
mkdir own
chmod 700 own
runuser -u "$user" -- "$speaker" "$PWD" >log 2>&1 </dev/null &
started+=("$!")
wait_for spoke
pid=$(<pid)
cr --kill -f ctx "$pid"
wait_for is_gone "$pid"
rm log
refused 13 "cannot be opened: Permission denied" 1=own/x
cr_restart --redirect 1=mine ctx </dev/null 2>q.err &
started+=("$!")
wait_for has mine out
check "root's restart makes the file of the process's user" same "$(stat -c %U mine)" "$user"
end_it

# What fails later leaves nothing.
fresh
(flock 6; exec "$speaker" "$PWD" >log 2>&1 </dev/null) 6>lock &
started+=("$!")
wait_for spoke
pid=$(<pid)
cr --kill -f ctx "$pid"
wait_for is_gone "$pid"
exec 6>lock
flock 6
rc=0
err=$(cr_restart --redirect 1=made ctx 2>&1) || rc=$?
exec 6>&-
check "a restart that fails later" status_is 11
check "... has not made the file" not exists made

done_testing
