#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What stands in the way of a restart, as cr_restart --check says before anything is tried, and what goes round it: parameters of the
# module that are off, the module itself, groups, ids, places that are full.
# shellcheck disable=SC2016 # eval expands it later
. "$(dirname "$0")/lib.sh"

speaker=$here/speaker
parameters=/sys/module/cryo/parameters
switched=()
off() { echo 0 >"$parameters/$1"; switched+=("$1"); }
back_on() { for p in "${switched[@]}"; do echo 1 >"$parameters/$p"; done; switched=(); }
# The module is as it was, whatever has failed.
trap 'modprobe -q cryo; chmod 666 /dev/cryo; back_on; clean_up' EXIT
spoke() { [ -s pid ] && kill -0 "$(<pid)"; }
has() { grep -q "^$2" "$1"; }

# saved_by COMMAND...: the context of a speaker with ARGUMENTS, of the user's, that has ended.
saved_by_user()
{
	fresh
	runuser -u "$user" -- bash -c 'exec "$@" >>log 2>&1 </dev/null' - "$speaker" . "$@" &
	started+=("$!")
	wait_for spoke
	pid=$(<pid)
	runuser -u "$user" -- cr_checkpoint --kill -f ctx "$pid"
	wait_for is_gone "$pid"
	runuser -u "$user" -- cr_info ctx >/dev/null || echo "# no context"
}

# as_user ARGUMENT...: sets rc and err to what the user's cr_restart gives; a process that runs ends soon.
as_user()
{
	rc=0
	touch go
	runuser -u "$user" -- timeout 60 cr_restart "$@" ctx >restart.out 2>"$base/stderr" </dev/null || rc=$?
	rm -f go
	err=$(cat "$base/stderr")
}

# is_found STATUS TEXT PARAMETER: off, it is said by --check, and by the restart, with the same status.
is_found()
{
	off "$3"
	as_user --check
	check "$3 is off: --check says it" eval 'status_is '"$1"' && said "cannot be restarted: pid $pid" && said "'"$2"'"'
	as_user
	check "... the restart says it" eval 'status_is '"$1"' && said "Restart failed: pid $pid" && said "'"$2"'"'
	rc=0
	err=$(cr_restart --other-owner=warn --check ctx 2>&1) || rc=$?
	check "... root may" status_is 0
	back_on
	as_user --check
	check "... on again: nothing is in the way" status_is 0
}

saved_by_user
is_found 1 "requires CAP_CHECKPOINT_RESTORE or the module parameter pid_choice, which is off (see cr_info --check)" pid_choice
is_found 1 "requires CAP_CHECKPOINT_RESTORE or the module parameter exe_link, which is off (see cr_info --check)" exe_link
off exe_link
rc=0
info=$(setpriv --reuid "$user" --regid "$user" --clear-groups cr_info --check) || rc=$?
check "... cr_info --check tells the user that nothing can be restarted" \
	eval 'status_is 1 && grep -q "^MISSING  *user  *without exe-link, you cannot restart any program" <<<"$info"'
rc=0
cr_info --check >/dev/null || rc=$?
check "... and root that all is well" status_is 0
back_on
saved_by_user pair
is_found 1 "requires CAP_SYS_ADMIN or the module parameter peer_pid, which is off (see cr_info --check)" peer_pid
off pid_choice
as_user --no-restore-pid
check "--no-restore-pid: without pid_choice, with connected sockets" status_is 0
check "... whose peer is the process as it is called now" has log "peer self"
info=$(setpriv --reuid "$user" --regid "$user" --clear-groups cr_info --check) || :
check "cr_info --check says what the user's restarts lack" grep -q "^note  *user  *without pid-choice, your restarts cannot bring back pids" <<<"$info"
check "... and not to root" eval '! cr_info --check | grep -q "your restarts"'
back_on
as_user
check "with its own pid: the same" eval 'status_is 0 && [ "$(grep -c "^peer self" log)" -ge 1 ]'
saved_by_user pair child
yama=/proc/sys/kernel/yama/ptrace_scope
if [ -e "$yama" ]; then
	was=$(<"$yama")
	for level in 1 2; do
		echo "$level" >"$yama"
		as_user
		check "a pair that a parent has made: restarted at Yama's level $level" status_is 0
		check "... and names it" same "$(tail -n 1 log)" "peer parent"
	done
	echo "$was" >"$yama"
fi
saved_by_user datagram
is_found 1 "requires CAP_NET_RAW or the module parameter datagrams, which is off (see cr_info --check)" datagrams
saved_by_user sysv
ipcrm --all=msg
is_found 1 "requires CAP_CHECKPOINT_RESTORE or the module parameter ipc_id_choice, which is off (see cr_info --check)" ipc_id_choice

# The module.
saved_by_user
rm log
chmod 600 /dev/cryo
as_user --check
check "no right to the device: --check says it, beside what else is in the way" \
	eval 'status_is 2 && said "cannot open /dev/cryo: Permission denied" && said "log): cannot be found"'
chmod 666 /dev/cryo
mv /dev/cryo /dev/cryo.away
as_user --check
check "no /dev/cryo: --check does not say that there is no module" \
	eval 'status_is 2 && said "the kernel module cryo is loaded, but /dev/cryo does not exist" && not said "not loaded"'
cr "$$"
check "... nor does cr_checkpoint" eval 'status_is 38 && said "the kernel module cryo is loaded, but /dev/cryo does not exist"'
mv /dev/cryo.away /dev/cryo
end_processes
rmmod cryo
as_user --check
check "no module: --check says it, beside what else is in the way" \
	eval 'status_is 2 && said "the kernel module cryo is not loaded (there is no /dev/cryo; try: modprobe cryo)" && said "log): cannot be found"'
touch log
chown "$user" log
as_user --check --changed-files=warn
check "... alone: its status" status_is 38
modprobe cryo
wait_for eval '[ "$(stat -c %a /dev/cryo)" = 666 ]'

# Groups.
saved_by_user
for_user() { setpriv --reuid "$user" --regid "$user" "$@"; }
rc=0
err=$(for_user --groups 4,27 cr_restart --check ctx 2>&1) || rc=$?
check "other groups: both lists are named, and the option" \
	eval 'status_is 1 && said "its supplementary groups (" && said ") are not those of cr_restart (4, 27); --groups=own continues"'
touch go
rc=0
err=$(for_user --groups 4,27 cr_restart --groups=own ctx 2>&1 </dev/null) || rc=$?
check "--groups=own: it runs" status_is 0
rm go
for_user --groups 4,27 cr_restart --groups=own ctx >/dev/null 2>&1 </dev/null &
started+=("$!")
wait_for kill -0 "$pid"
wait_for eval '[ "$(<"/proc/$pid/comm")" = speaker ]'
check "... with these" same "$(sed -n 's/^Groups:[[:space:]]*\(.*[^ ]\) *$/\1/p' "/proc/$pid/status")" "4 27"
end_it
rc=0
err=$(cr_restart --groups=own --check ctx 2>&1) || rc=$?
check "... not for who has no need of it, and would give root's to a user" eval 'status_is 22 && said "--groups=own"'
rc=0
err=$(cr_restart --groups=x ctx 2>&1) || rc=$?
check "... --groups=x is wrong usage" status_is 255

# An id that another one has.
saved_by_user
holder=''
for ((i = 0; i < 5; i++)); do
	echo $((pid - 1)) >/proc/sys/kernel/ns_last_pid
	sleep 100 & holder=$!
	started+=("$holder")
	[ "$holder" = "$pid" ] && break
done
as_user --check
check "a pid in use: what helps is said" \
	eval 'status_is 16 && said "is in use by sleep" && said "hint: all ids are free in a new pid namespace: use --pid-ns;" && said "--no-restore-pid"'
touch go
rc=0
runuser -u "$user" -- cr_restart --pid-ns ctx </dev/null >restart.out 2>&1 || rc=$?
err=$(<restart.out)
check "... --pid-ns does" status_is 0

# Signals by name.
saved_by_user
rc=0
err=$(cr_restart --check -S NOSIG ctx 2>&1) || rc=$?
check "-S NOSIG is wrong usage" eval 'status_is 255 && said "neither a signal number"'
for name in TERM SIGTERM 15; do
	rc=0
	err=$(runuser -u "$user" -- bash -c "cr_restart -S $name ctx </dev/null >/dev/null 2>&1; echo status \$?") || rc=$?
	check "-S $name" said "status 143"
done
start
cr -S KILL -f ctx2 "$pid"
check "cr_checkpoint -S KILL" eval 'status_is 0 && wait_for is_gone "$pid"'
cr -S XYZ -f ctx2 "$pid"
check "cr_checkpoint -S XYZ is wrong usage" status_is 255

# What never comes, and where there is no room.
mkfifo fifo
for arguments in "--check fifo" "--check -F 8" "--check -"; do
	# shellcheck disable=SC2086 # two words
	cr_restart --run-on-failure 'echo given up >hook' $arguments 8<>fifo <&8 2>"$base/stderr" & restarter=$!
	started+=("$restarter")
	wait_for eval '[ "$(<"/proc/$restarter/comm")" = cr_restart ] && grep -q "^SigBlk:.*[1-9a-f]" "/proc/$restarter/status"'
	kill -TERM "$restarter"
	check "$arguments: nothing comes, and SIGTERM ends it" wait_for is_gone "$restarter"
	rc=0
	wait "$restarter" || rc=$?
	err=$(cat "$base/stderr")
	check "... with the status for that" eval 'status_is 4 && said "interrupted by a signal" && [ -s hook ]'
	rm -f hook
done
fresh
start 8
cr -z1 --kill -f big.zst "$pid"
mkdir "$base/small"
mount -t tmpfs -o size=1m tmpfs "$base/small"
rc=0
err=$(TMPDIR=$base/small cr_restart --check big.zst 2>&1) || rc=$?
check "a full \$TMPDIR: on in /var/tmp" eval 'status_is 0 && ! said TMPDIR'
rc=0
err=$(dd if=big.zst bs=64k status=none | TMPDIR=$base/small cr_restart --check - 2>&1) || rc=$?
check "... from a pipe, too" eval 'status_is 0'
mount -t tmpfs -o size=1m tmpfs /var/tmp
rc=0
err=$(TMPDIR=$base/small cr_restart --run-on-fail-temp 'echo temp >hook' --check big.zst 2>&1) || rc=$?
umount /var/tmp
check "... when that is full as well: the status says so" eval 'status_is 28 && said "No space left on device" && [ -s hook ]'
check "... and nothing is left" same "$(find "$base/small" -type f)" ""
umount "$base/small"

# A lock that another process has by now.
fresh
touch lock
chown "$user" lock
runuser -u "$user" -- bash -c 'exec 9>lock; flock 9; exec "$@" >>log 2>&1 </dev/null' - "$speaker" . &
started+=("$!")
wait_for spoke
pid=$(<pid)
runuser -u "$user" -- cr_checkpoint --kill -f ctx "$pid"
wait_for is_gone "$pid"
flock -s lock sleep 1000 &
holder=$!
started+=("$holder")
wait_for not flock -n lock true
as_user --check
check "a lock that another process has: --check says it" eval 'status_is 11 && said "cannot lock $PWD/lock again: process $holder (flock) holds a lock on it"'
as_user
check "... the restart says it" eval 'status_is 11 && said "cannot lock $PWD/lock again"'
pkill -P "$holder"
wait_for is_gone "$holder"
as_user --check
check "... which has gone: nothing is in the way" status_is 0
as_user
check "... it is restarted" status_is 0
nr_open=$(</proc/sys/fs/nr_open)
echo 256 >/proc/sys/fs/nr_open
rc=0
err=$(cr_restart --other-owner=warn --check ctx 2>&1) || rc=$?
echo "$nr_open" >/proc/sys/fs/nr_open
check "fewer open files allowed than its hard limit: --check says it, to root, too" eval 'status_is 1 && said "its hard limit of open files (RLIMIT_NOFILE) is" && said "/proc/sys/fs/nr_open allows 256 (root can raise it with sysctl)"'
done_testing
