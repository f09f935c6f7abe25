#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Refusals: exit status, text, and everything as it was.
# shellcheck disable=SC2016,SC2119 # eval expands it later; optional arguments
. "$(dirname "$0")/lib.sh"

# cr_user ARGUMENT...: as cr, but as an ordinary user.
cr_user()
{
	rc=0
	out=$(setpriv --reuid "$user" --regid "$user" --clear-groups cr_checkpoint "$@" 2>"$base/stderr") || rc=$?
	err=$(cat "$base/stderr")
}

free_pid()
{
	local candidate=4000000
	while [ -e "/proc/$candidate" ]; do candidate=$((candidate + 1)); done
	echo "$candidate"
}

fresh
start
nobody=$(free_pid)
cr "$nobody"
check "no such process" status_is 3
check "... named" said "there is no process $nobody"
check "... no file" no_file_but count
"$here/until" >lines & other=$!
started+=("$other")
wait_for test -s lines
thread=$(find /proc/"$other"/task -mindepth 1 -maxdepth 1 -printf '%f\n' | grep -vx "$other")
cr "$thread"
check "a thread" eval 'status_is 3 && said "$thread is a thread of process $other"'
kill "$other"
rm lines
cr -g "$nobody"
check "no such process group" eval 'status_is 3 && said "there is no process group $nobody"'
cr -s "$nobody"
check "no such session" eval 'status_is 3 && said "there is no session $nobody"'
cr 2
check "a kernel thread" eval 'status_is 1 && said "process 2 is a kernel thread"'
cr -z 9 "$pid"
check "a level of its own" eval 'status_is 255 && said "a level is written without a space: -z9"'
rc=0
err=$( (ulimit -f 10; cr_checkpoint "$pid") 2>&1) || rc=$?
check "the limit of file size" eval 'status_is 27 && said "larger than the limit of file size allows (10.0 KiB; ulimit -f)"'
cr_user "$pid"
check "another user's process" status_is 1
check "... named, with both users" said "process $pid runs as user 0, cr_checkpoint as user $(id -u "$user"): you may not trace it (run cr_checkpoint as root)"
check "... no file" no_file_but count
setpriv --reuid nobody --regid nogroup --clear-groups "$here/until" >lines & other=$!
started+=("$other")
wait_for test -s lines
cr_user "$other"
check "... who is not root" said "process $other runs as user $(id -u nobody), cr_checkpoint as user $(id -u "$user"): you may not trace it (run cr_checkpoint as that user or as root)"
kill "$other"
rm lines
rc=0
err=$(bash -c 'echo $$; exec cr_checkpoint $$' 2>&1) || rc=$?
check "cr_checkpoint itself" [ "$rc" -ne 0 ]
check "... named" said "pid ${err%%$'\n'*} (cr_checkpoint): is the calling process: its own checkpoint requires --self (CRYO_CKPT_SELF)"
cr_user 1
check "init" status_is 1
check "--quiet says nothing" eval 'cr -q "$nobody"; status_is 3 && silent'
check "--verbose gives figures" eval 'cr -v "$pid"; status_is 0 && said "process $pid is in context.$pid"'
rc=0
cr_checkpoint -v "$pid" 2>/dev/full || rc=$?
check "... and if they cannot be written, that changes nothing" status_is 0
rc=0
cr_checkpoint "$nobody" 2>/dev/full || rc=$?
check "... nor does it after a failure" status_is 3
rm -f "context.$pid"

cr -f /dev/full "$pid"
check "a device that is always full" eval 'status_is 28 && said "cannot write to /dev/full: No space left on device"'
cr -f /nonexistent/ctx "$pid"
check "a directory that is not there" status_is 2
check "... named" said "/nonexistent/ctx"
cr -f . "$pid"
check "a directory as file" status_is 21
setpriv --reuid "$user" --regid "$user" --clear-groups "$busy" mine & own=$!
started+=("$own")
wait_for test -s mine
cr_user -d / "$own"
check "a directory without permission" status_is 13
check "... named" said "//context.$own"
cr_user "$own"
check "an ordinary user's own process" status_is 0
check "... belongs to him" same "$(stat -c %U "context.$own")" "$user"
cr_user -f "$base/work/context.$own" "$own"
check "... and a context of mode 400 can be replaced" status_is 0

# refused_by TEXT COMMAND...: the user may not checkpoint a process of his own that COMMAND makes.
refused_by()
{
	local text=$1
	shift
	rm -f lines
	"$@" >lines & other=$!
	started+=("$other")
	wait_for test -s lines
	cr_user "$other"
	kill "$other"
	rm lines
	status_is 1 && said "process $other $text"
}
as_own() { exec setpriv --reuid "$user" --clear-groups "$@"; }
group=$(id -g "$user") other_group=$(id -g daemon)
check "an ordinary user's own process with another group: by its group" \
	refused_by "runs with group $other_group, cr_checkpoint with group $group: you may not trace it (sg GROUP -c \"cr_checkpoint ...\" runs it with that group)" \
	as_own --regid daemon "$here/until"
if command -v sg >/dev/null; then
	setpriv --reuid "$user" --regid 4711 --clear-groups "$here/until" >lines & other=$!
	started+=("$other")
	wait_for test -s lines
	echo "cryo-words:x:4711:$user" >>/etc/group
	rc=0
	err=$(runuser -u "$user" -- sg cryo-words -c "cr_checkpoint -f $PWD/by-sg $other" 2>&1) || rc=$?
	sed -i '/^cryo-words:/d' /etc/group
	check "... and by sg(1) he may" eval 'status_is 0 && is_context by-sg'
	kill "$other"
	rm -f lines by-sg
fi
check "... with another effective group" \
	refused_by "runs with group $group (effective $other_group, saved $other_group), cr_checkpoint with group $group: you may not trace it (run cr_checkpoint as root)" \
	as_own --rgid "$user" --egid daemon "$here/until"
check "... that has a capability" \
	refused_by "has capabilities that cr_checkpoint lacks: you may not trace it (run cr_checkpoint as root)" \
	as_own --regid "$user" --inh-caps +net_admin --ambient-caps +net_admin "$here/until"
cp "$here/until" "$base/unreadable" && chmod 111 "$base/unreadable"
check "... of a program that he may not read" \
	refused_by "is not dumpable (PR_SET_DUMPABLE of prctl(2)): you may not trace it (run cr_checkpoint as root)" \
	as_own --regid "$user" bash -c "exec $base/unreadable"
rc=0
err=$(setpriv --reuid "$user" --regid "$user" --clear-groups unshare -c cr_checkpoint "$own" 2>&1) || rc=$?
check "... that is outside of his user namespace" \
	eval 'status_is 1 && said "process $own is protected by its user namespace or a security module: you may not trace it"'
yama=/proc/sys/kernel/yama/ptrace_scope
if [ -e "$yama" ]; then
	was=$(<"$yama")
	for level in "1: start the program by cr_run, or have CAP_SYS_PTRACE" "2: that requires CAP_SYS_PTRACE"; do
		echo "${level%%:*}" >"$yama"
		cr_user "$own"
		check "Yama's level ${level%%:*}: refused" status_is 1
		check "... named, with what helps" said "you may not trace it (kernel.yama.ptrace_scope is $level)"
	done
	echo "$was" >"$yama"
fi
exec 7</dev/null
cr -F 7 "$pid"
check "a descriptor that is open for reading" status_is 9
check "... named" said "descriptor 7"
exec 7<&-
cr -F 7 "$pid"
check "a descriptor that is closed" status_is 9
for usage in "" "0" "x" "-1" "--nonsense $pid" "-t x $pid" "-z0 $pid" "$pid $pid"; do
	# shellcheck disable=SC2086 # words are wanted
	cr $usage
	check "wrong usage: '$usage'" status_is 255
done
check "no files came of all that" no_file_but count mine "context.$own"
check "the process goes on" goes_on

fresh
start
cr --dry-run "$pid"
check "--dry-run: success" status_is 0
check "... says so" same "$out" "process $pid can be checkpointed"
check "... and writes nothing" no_file_but count
start_obstacle
cr --dry-run "$parent"
check "--dry-run: obstacles" status_is 52
check "... named" said "$parent"

fresh
start 4
mkfifo fifo
exec 8<>fifo
cr_checkpoint -q --no-snapshot -f fifo "$pid" & requester=$!
started+=("$requester")
wait_for writes "$requester"
cr "$pid"
check "a process that is being checkpointed already" status_is 16
check "... named" said "pid $pid (busy): another checkpoint of it is running"
cat <&8 >/dev/null & reader=$!
started+=("$reader")
check "... and the other checkpoint is not disturbed" wait "$requester"
kill "$reader"
exec 8<&-
mkfifo fifo2
exec 8<>fifo2
cr -t 1 -f fifo2 "$pid"
check "--time" status_is 110
check "... says so" said "not complete within 1 s"
check "... and the process goes on" goes_on
exec 8<&-

fresh
# What each process of a restart has until all go: a handle of CRYO_IOC_RESTART, here for one thread.
perl -e 'open(D, "+<", "/dev/cryo") or die; my $args = pack("LLLL", 16, 0, 1, 1);
	 ioctl(D, 0xa142, $args) or die $!; open(R, ">", "ready"); sleep 1000' & holder=$!
started+=("$holder")
wait_for test -e ready
cr "$holder"
check "a process that is being restarted" status_is 16
check "... named" said "pid $holder (perl): is being restarted"
check "... no file" no_file_but ready
kill "$holder"

fresh
start
if lsmod | grep -q '^cryo ' && rmmod cryo; then
	cr "$pid"
	check "without the module" status_is 38
	check "... says so" said "not loaded"
	check "... and the process goes on" goes_on
	modprobe cryo || exit 1
	cr "$pid"
	check "with it again" status_is 0
else
	ok 1 "the module can be unloaded when no request is under way"
fi

done_testing
